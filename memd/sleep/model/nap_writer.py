"""A nap's facts and digest as a language model writes them, checked against the transcript.

The model names for each fact the turns that say it; what those turns do not hold is dropped
(``checked``). What it wrote takes the place of what was found by rule in the turns that it
read; turns that it did not read, or did not answer for, keep what the rules found. So a model
that is out of reach, silent or wrong costs nothing but itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, NamedTuple

from pydantic import Field

from memd.base import log
from memd.base.errors import ProviderError
from memd.domain.enums import Origin
from memd.domain.values import PlainText, Value
from memd.llm.llm import LanguageModel
from memd.llm.provider import CompletionRequest
from memd.llm.purposes import Purpose
from memd.sleep.distil.digest import DIGEST_TOKENS_MAX, FIELDS, WENT_WRONG, tokens
from memd.sleep.distil.exchanges import Distilled, NapKind
from memd.sleep.model.checking import TurnCheck
from memd.sleep.nap.cleaning import Message
from memd.sleep.nap.messages import role_of, stored_text
from memd.sleep.nap.preparation import NapExtract
from memd.view.view import untrusted_content_directive, wrapped

WINDOW_CHARS = 24_000
"""Of the transcript in one prompt: some 6,000 tokens, what small models still read."""
WINDOWS_MAX = 8
"""Of one nap, the newest: what lies before keeps what the rules found."""
TURN_CHARS = 2_000
FACTS_MAX = 40
FACT_CHARS_MIN, FACT_CHARS_MAX = 12, 600
REPLY_TOKENS = 2_000
ASKED_FACTS_MAX, ASKED_FACT_CHARS_MAX, ASKED_LINE_CHARS_MAX, ASKED_TURNS_MAX = 10, 300, 200, 6
"""Of one answer, as its schema says: with them it ends within REPLY_TOKENS. A server that
writes by the schema keeps them; what another writes beyond them is read all the same."""
_TAG = "turn"

_KINDS = tuple(kind for kind in NapKind if kind is not NapKind.DIGEST)
_BY_OWNER = frozenset({NapKind.PREFERENCE, NapKind.CORRECTION, NapKind.CONSTRAINT})
_TRUST = (Origin.TOOL, Origin.ASSISTANT, Origin.PERSON)

_SYSTEM = (
    "You read a part of a recorded session between a user and a coding assistant, and write down "
    "what is worth knowing in a later session: decisions with their reasons, corrections, "
    "preferences and rules of the user, constraints, facts of the environment, what went wrong "
    "and what mended it, and how things ended. Each fact stands for itself: it names what it is "
    "about, and keeps names, numbers, paths and commands exactly as they are written. Use the "
    "words of the session. Name for each fact the numbers of the turns that say it. Write no fact "
    "that is not said. Then write a digest: what was asked and done, how it ended, what is open; "
    "each line with its label and its turns. Answer with JSON alone."
)


_Turns = Annotated[tuple[int, ...], Field(json_schema_extra={"maxItems": ASKED_TURNS_MAX})]


class WrittenFact(Value):
    """One fact as the model wrote it."""

    kind: NapKind
    text: Annotated[PlainText, Field(json_schema_extra={"maxLength": ASKED_FACT_CHARS_MAX})]
    turns: _Turns

    @property
    def line(self) -> str:
        """Its text in one line."""
        return " ".join(self.text.split())


class WrittenLine(Value):
    """One line of a digest."""

    label: Annotated[PlainText, Field(json_schema_extra={"enum": [*FIELDS]})]
    text: Annotated[PlainText, Field(json_schema_extra={"maxLength": ASKED_LINE_CHARS_MAX})]
    turns: _Turns


class WrittenNap(Value):
    """What a model is to answer with."""

    facts: tuple[WrittenFact, ...] = Field((), json_schema_extra={"maxItems": ASKED_FACTS_MAX})
    digest: tuple[WrittenLine, ...] = Field((), json_schema_extra={"maxItems": len(FIELDS)})


class NapWindow(NamedTuple):
    """Turns that stand in one prompt: their places, and what each said."""

    places: tuple[int, ...]
    texts: tuple[str, ...]


class NapWriter:
    """Asks *model* to write what a nap keeps."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    async def write(self, draft: NapExtract, agent_id: str) -> NapExtract:
        """Return *draft* with what the model wrote; as it is where nothing of that holds."""
        if not self._model.serves(Purpose.NAP):
            return draft
        read: set[int] = set()
        facts: list[Distilled] = []
        lines: dict[str, WrittenLine] = {}
        for window in windows(draft.spoken):
            try:
                answer = await self._model.answer(_request(window, agent_id), WrittenNap)
            except ProviderError as error:
                log.warning("a nap goes on by rule", kind=error.kind, read=len(read))
                break
            held = checked(answer, draft.spoken, window)
            if held.facts:
                read.update(window.places)
            facts += held.facts
            for line in held.digest:
                if line.label != "Asked first" or line.label not in lines:
                    lines[line.label] = line
        return merged(draft, facts, read, digest_of(lines, draft.spoken))


def windows(messages: Sequence[Message]) -> list[NapWindow]:
    """Return the turns of *messages* that say something in windows, the newest ones at most."""
    made: list[NapWindow] = []
    places: list[int] = []
    texts: list[str] = []
    used = 0
    for place, message in enumerate(messages):
        text = stored_text(message).strip()
        if not text or message.get("role") in {"system", "developer"}:
            continue
        text = text if len(text) <= TURN_CHARS else f"{text[: TURN_CHARS - 200]} … {text[-200:]}"
        if places and used + len(text) > WINDOW_CHARS:
            made.append(NapWindow(tuple(places), tuple(texts)))
            places, texts, used = [], [], 0
        places.append(place)
        texts.append(text)
        used += len(text)
    if places:
        made.append(NapWindow(tuple(places), tuple(texts)))
    return made[-WINDOWS_MAX:]


def _request(window: NapWindow, agent_id: str) -> CompletionRequest:
    prompt = "\n".join(
        f"Turn {place}:\n{wrapped(_TAG, text)}"
        for place, text in zip(window.places, window.texts, strict=True)
    )
    labels = ", ".join(FIELDS)
    kinds = ", ".join(_KINDS)
    shape = f"Labels of the digest: {labels}. Kinds of facts: {kinds}."
    system = f"{_SYSTEM} {shape}\n\n{untrusted_content_directive((_TAG,))}"
    return CompletionRequest(
        prompt, Purpose.NAP, system=system, max_tokens=REPLY_TOKENS, agent_id=agent_id
    )


class CheckedNap(NamedTuple):
    """What of an answer the transcript holds."""

    facts: tuple[Distilled, ...]
    digest: tuple[WrittenLine, ...]


def checked(answer: WrittenNap, messages: Sequence[Message], window: NapWindow) -> CheckedNap:
    """Return what of *answer* is held by the turns that it names, each of them in *window*."""
    held = TurnCheck(dict(zip(window.places, window.texts, strict=True)))
    facts: dict[str, Distilled] = {}
    for number, fact in enumerate(answer.facts[:FACTS_MAX]):
        text = fact.line
        if not FACT_CHARS_MIN <= len(text) <= FACT_CHARS_MAX or fact.kind not in _KINDS:
            continue
        if held.by(text, fact.turns):
            facts.setdefault(text, _fact(fact, messages, window, number))
    lines = tuple(
        line
        for line in answer.digest
        if line.label in FIELDS and line.text.strip() and held.by(line.text, line.turns)
    )
    return CheckedNap(tuple(facts.values()), lines)


def _fact(
    fact: WrittenFact, messages: Sequence[Message], window: NapWindow, number: int
) -> Distilled:
    places = tuple(dict.fromkeys(fact.turns))
    origin = _least_trusted(messages, places)
    kind = fact.kind
    if kind in _BY_OWNER and origin is not Origin.PERSON:
        kind = NapKind.OUTCOME  # only the user's own words say what the user wants
    first = window.texts[window.places.index(places[0])]
    about = hashlib.sha256(first.encode()).hexdigest()[:16]
    return Distilled(fact.line, kind, places, f"written-{about}-{number}", origin)


def _least_trusted(messages: Sequence[Message], places: Sequence[int]) -> Origin:
    return min((_origin(messages[place]) for place in places), key=_TRUST.index)


def _origin(message: Message) -> Origin:
    role = role_of(message)
    if role in {"user", "human"}:
        return Origin.PERSON
    return Origin.ASSISTANT if role == "assistant" else Origin.TOOL


def digest_of(lines: dict[str, WrittenLine], messages: Sequence[Message]) -> Distilled | None:
    """Return the digest of the *lines* in the order of its fields, None without any.

    Lines that leave no room go, the last fields first to stay.
    """
    shown = {label: " ".join(lines[label].text.split()) for label in FIELDS if label in lines}
    while shown and tokens(_text(shown)) > DIGEST_TOKENS_MAX:
        del shown[max(shown, key=lambda label: len(shown[label]))]
    if not shown:
        return None
    places = tuple(dict.fromkeys(place for label in shown for place in lines[label].turns))
    origin = _least_trusted(messages, places)
    if origin is Origin.PERSON:
        origin = Origin.ASSISTANT  # its words are the model's
    text = _text(shown)
    if WENT_WRONG in text:
        origin = Origin.TOOL
    return Distilled(text, NapKind.DIGEST, places, NapKind.DIGEST.value, origin)


def _text(shown: dict[str, str]) -> str:
    return "\n".join(f"{label}: {text}" for label, text in shown.items())


def merged(
    draft: NapExtract, facts: Sequence[Distilled], read: set[int], digest: Distilled | None
) -> NapExtract:
    """Return *draft* with *facts* in place of what rules make of the turns *read*."""
    by_rule = [each for each in draft.distilled if not _replaced(each, read, digest)]
    memories = tuple(_in_order([*by_rule, *facts, *([digest] if digest else [])]))
    if memories == draft.distilled:
        return draft
    return replace(draft, distilled=memories, has_news=draft.has_news or bool(facts or digest))


def _replaced(memory: Distilled, read: set[int], digest: Distilled | None) -> bool:
    if memory.kind is NapKind.DIGEST:
        return digest is not None
    # What an earlier nap read is in the store already, in its words or by rule.
    return bool(read) and (memory.places[0] in read or memory.places[0] < 0)


def _in_order(memories: Sequence[Distilled]) -> Iterator[Distilled]:
    last = [each for each in memories if each.kind is NapKind.DIGEST]
    yield from sorted(
        (each for each in memories if each.kind is not NapKind.DIGEST),
        key=lambda each: each.places[0],
    )
    yield from last
