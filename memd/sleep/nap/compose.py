"""An exchange becomes memories: the user's words, with what they answer and how it ended.

A message becomes one memory, or a few where it says much. What in it asks, thanks or
wants something done now is left out; a short answer is kept with what it answers.
Pure.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memd.model.enums import Origin
from memd.sleep.nap.acts import WORTH, Act, Judged, act, approves, kind_of
from memd.sleep.nap.answers import Answered, answered, cut
from memd.sleep.nap.candidates import Candidate, Distilled, Kind
from memd.sleep.nap.exchanges import Exchange, Said
from memd.sleep.nap.words import Words, is_interruption, sentences, words

CHARS_MAX = 700
PART_CHARS = 480
"""The user's own words in one memory; what is longer becomes a second one."""
_BESIDE = 0.3
_ANSWERED = 0.6
_ALONE_CHARS = 160
_TEMPLATE_CHARS = 600
_LEFT_OUT = frozenset({Act.QUESTION, Act.REQUEST, Act.ACKNOWLEDGEMENT})


class Part(NamedTuple):
    """Some of the user's words in one message that belong together."""

    text: str
    judged: Judged


def composed(exchanges: Sequence[Exchange]) -> list[Candidate]:
    """Return what of *exchanges* may be remembered, in their order."""
    found: list[Candidate] = []
    count: Counter[str] = Counter()
    said: list[Said] = []
    stopped = False
    command = ""
    for exchange in exchanges:
        count[exchange.user] += 1
        slot = slot_of(exchange.user, count[exchange.user])
        own = words(exchange.user)
        if is_interruption(exchange.user):
            stopped = True
        elif not (command and len(exchange.user) > _TEMPLATE_CHARS):
            found += _memories(exchange, own, said, slot, stopped=stopped)
            stopped = stopped and not own.paragraphs
        # What follows a command at once is what the program made of it.
        command = "" if exchange.said else own.command
        said += exchange.said
    return found


def slot_of(text: str, number: int) -> str:
    """Return the name of the *number*-th message that says *text*, whatever its place is."""
    return hashlib.sha256(f"{number}:{text}".encode(errors="replace")).hexdigest()[:12]


def parts(own: Words, *, stopped: bool = False) -> list[Part]:
    """Return what of a message is worth keeping, in parts of at most PART_CHARS characters."""
    found: list[Part] = []
    for paragraph in own.paragraphs:
        for piece in _pieces(paragraph, stopped=stopped):
            last = found[-1] if found else None
            if last and len(last.text) + len(piece.text) < PART_CHARS:
                best = max(last.judged, piece.judged, key=lambda judged: judged.score)
                found[-1] = Part(f"{last.text}\n{piece.text}", best)
            else:
                found.append(piece)
    return found


def _pieces(paragraph: str, *, stopped: bool) -> Iterator[Part]:
    """Yield what is worth keeping of *paragraph*, of each line what stands beside it too."""
    lines = [(line, act(line, stopped=stopped)) for line in paragraph.split("\n")]
    if max(judged.score for _, judged in lines) < WORTH:
        return
    kept: list[tuple[str, Judged]] = []
    for line, judged in lines:
        if judged.score < _BESIDE or (judged.score < WORTH and judged.act in _LEFT_OUT):
            continue
        kept += [(text, judged) for text in _within(line, PART_CHARS)]
    yield from (Part(text, judged) for text, judged in kept)


def _within(line: str, room: int) -> Iterator[str]:
    """Yield *line* in texts of at most *room* characters, whole sentences where they fit."""
    text = ""
    for sentence in sentences(line):
        if text and len(text) + len(sentence) >= room:
            yield text
            text = ""
        text = cut(f"{text} {sentence}".strip(), room)
    if text:
        yield text


def _memories(
    exchange: Exchange, own: Words, said: Sequence[Said], slot: str, *, stopped: bool
) -> Iterator[Candidate]:
    whole = "\n".join(own.paragraphs)
    asked = answered(whole, said) if whole else None
    kept = parts(own, stopped=stopped)
    if not kept and asked and _answers(whole, asked):
        kept = [Part(whole, Judged(Act.DECISION, _ANSWERED))]
    for number, part in enumerate(kept):
        kind = kind_of(part.judged) or Kind.DECISION
        beside = asked if len(part.text) <= _ALONE_CHARS and len(kept) == 1 else None
        text = f"Agent: {beside.text}\nUser: {part.text}" if beside else part.text
        memory = Distilled(
            cut(text, CHARS_MAX),
            kind,
            (exchange.place, *([beside.place] if beside else ())),
            f"{slot}-{number}" if number else slot,
            Origin.ASSISTANT if beside else Origin.PERSON,
        )
        yield Candidate(memory, part.judged.score)


def _answers(text: str, asked: Answered) -> bool:
    """Return whether *text* settles what was *asked*: it agrees, or names what it is about."""
    judged = act(text)
    return approves(text) or (asked.is_marked and judged.act is not Act.QUESTION)
