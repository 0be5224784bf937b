"""What of a session is worth keeping when its window is full (SPEC 6.6-6.13, 6.15).

Plain rules and no language model: what tools answered, lines that announce a
result, short things that the user said. A summary is a message of bullets, one
fact each, and can be read back: whatever :func:`bullets` writes,
:func:`from_summary` returns, facts of several lines and of Markdown lists
included. So a session can be consolidated again and again without a fact
becoming a bullet in a bullet.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from memd.sleep.nap.blocks import TOOL_ROLE, Pairs, TranscriptTurn, paired, turn

HEADER = "[Session context consolidated]"
NO_FACTS = "Previous context had no extractable key facts."
SUMMARY_ROLE = "summary"

TOOL_TEXT_CHARS = 200
SHORT_MESSAGE_CHARS = 120  # a message of the user with fewer is kept whole
KEYWORDS = (
    "result:", "decided:", "found:", "error:", "success:",
    "created:", "updated:", "deleted:", "confirmed:", "output:",
)  # fmt: skip

_MARK = "- "
# A line within a fact that looks like a bullet gets a backslash, one that has some gets one more.
_INNER_MARK = re.compile(r"(?<=\n)(?=\\*- )")
_MARKED = re.compile(r"(?<=\n)\\(?=\\*- )")


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact, and from where it is.

    *role* is that of the message, ``tool`` for whatever a tool answered, and
    ``summary`` for a fact of an earlier consolidation. *tool* is the tool's name
    where it answered; *index* the message's place in the list that was given.
    """

    text: str
    role: str
    tool: str | None
    index: int


def facts(messages: Sequence[object]) -> tuple[Fact, ...]:
    """Return the facts of *messages* in order, each text once, where it came first (SPEC 6.7).

    >>> [fact.text for fact in facts([{"role": "user", "content": "use tabs"}])]
    ['use tabs']
    """
    turns = [turn(message) for message in messages]
    return facts_of(turns, paired(turns), len(turns))


def facts_of(turns: Sequence[TranscriptTurn], pairs: Pairs, end: int) -> tuple[Fact, ...]:
    """Return the facts of the first *end* of *turns*; *pairs* are those of all of them."""
    first: dict[str, Fact] = {}
    for index, one in enumerate(turns[:end]):
        for fact in _of_turn(one, index, pairs):
            first.setdefault(fact.text, fact)
    return tuple(first.values())


def bullet(text: str) -> str:
    r"""Return *text* as a bullet of one line or more.

    >>> bullet("b\n- c")
    '- b\n\\- c'
    """
    return _MARK + (_INNER_MARK.sub(r"\\", text) if _MARK in text else text)


def bullets(texts: Iterable[str]) -> str:
    """Return a bullet for each of *texts*; without any, one that says so (SPEC 6.6)."""
    return "\n".join(map(bullet, texts)) or bullet(NO_FACTS)


def from_summary(text: str) -> list[str] | None:
    r"""Return the facts of a summary message, or None if *text* is none (SPEC 6.15).

    >>> from_summary("[Session context consolidated]\n\n- a\n- b\n\\- c")
    ['a', 'b\n- c']
    """
    if not text.startswith(HEADER):
        return None
    body = text[len(HEADER) :].lstrip("\r\n")
    if not body.startswith(_MARK):
        return None
    parts = (_MARKED.sub("", part) for part in body[len(_MARK) :].split(f"\n{_MARK}"))
    return [part for part in parts if part.strip() and part != NO_FACTS]


def _of_turn(one: TranscriptTurn, index: int, pairs: Pairs) -> Iterator[Fact]:
    for number, result in enumerate(one.results):
        # Cut first, then stripped: a text that begins with much space may leave nothing.
        text = result.text[:TOOL_TEXT_CHARS].strip()
        if text:
            name = pairs.names[index, number]
            yield Fact(f"[{name}] {text}", TOOL_ROLE, name, index)
    earlier = from_summary(one.text) if one.role == "user" else None
    if earlier is not None:
        yield from (Fact(text, SUMMARY_ROLE, None, index) for text in earlier)
    else:
        yield from (Fact(text, one.role, None, index) for text in _spoken(one))
    for name in pairs.unanswered.get(index, ()):
        yield Fact(f"called {name}", one.role, name, index)


def _spoken(one: TranscriptTurn) -> Iterator[str]:
    """Yield the lines with a keyword, verbatim, and a short message of the user as it is."""
    text = one.text
    if one.role == "user" and text.startswith(HEADER):
        text = text[len(HEADER) :]
    if _announces(text):
        for line in text.splitlines():
            if _announces(line):
                yield line.strip()
    if one.role == "user" and len(text) < SHORT_MESSAGE_CHARS and text.strip():
        yield text


def _announces(text: str) -> bool:
    r"""Return whether a keyword is anywhere in *text*, within a word too (SPEC 6.8).

    >>> _announces("No Error: fine"), _announces("newfound: x"), _announces("errors found")
    (True, True, False)
    """
    if ":" not in text:
        return False
    folded = text.lower()
    return any(keyword in folded for keyword in KEYWORDS)
