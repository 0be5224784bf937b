"""Let a language model write the facts and the digest of a nap, checked against the transcript.

For each fact the model cites the turns that say it. A fact that these do not support is dropped
(``check_answer``). Its facts replace those found by rule in the turns that it read; other turns
keep the rules' facts. So a model that is unreachable, silent or wrong does no harm.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, NamedTuple

from pydantic import Field

from memd.base import log
from memd.base.errors import ProviderError
from memd.domain.enums import Origin
from memd.domain.values import PlainText, Value
from memd.llm.llm import LanguageModel
from memd.llm.provider import CompletionRequest, Purpose
from memd.sleep.distil.digest import DIGEST_TOKENS_MAX, FIELDS, tokens
from memd.sleep.distil.distil import digest_messages
from memd.sleep.distil.exchanges import USERS_KINDS, NapKind, NapMemory
from memd.sleep.nap.preparation import NapExtract
from memd.sleep.transcript.consolidator import count_things
from memd.sleep.transcript.messages import Message, role_of, text_to_store
from memd.text.words import ENGLISH_FUNCTION_WORDS
from memd.view.view import untrusted_content_directive, wrap_stored

WINDOW_CHARS = 24_000
"""Characters of the transcript in one prompt: about 6,000 tokens, for small models."""
WINDOWS_MAX = 8
"""Prompts of one nap, for the newest turns; earlier turns keep the rules' facts."""
TURN_CHARS = 2_000
"""Characters of one turn in a prompt."""
FACTS_MAX = 40
FACT_CHARS_MIN, FACT_CHARS_MAX = 12, 600
REPLY_TOKENS = 2_000
SCHEMA_FACTS_MAX, SCHEMA_FACT_CHARS_MAX, SCHEMA_LINE_CHARS_MAX, SCHEMA_TURNS_MAX = 10, 300, 200, 6
"""Limits in the schema of an answer, so that it ends within REPLY_TOKENS.

The answer of a server that ignores the schema may exceed them, and is accepted.
"""
_TAG = "turn"

WORDS_SHARE_MIN = 0.6
"""The least share of a fact's content words that its turns must contain."""
_STEM_CHARS = 5  # words with the same first five letters count as the same
_WORD = re.compile(r"[^\W_][\w'-]*")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NAME = re.compile(r"(?<![.!?:]\s)(?<!^)\b[A-Z][\w-]+")  # capitalised, not first in its sentence
_CAPITALS = re.compile(r"\b[A-Z]{2,}\b")
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|without|cannot|nicht|kein\w*|nie|ohne|pas|jamais|sans|nunca|sin)\b"
    r"|n['\u2019]t\b",
    re.IGNORECASE,
)
_CALL = "()"
_WENT_WRONG = "Went wrong"
"""A field of the digest in which the model may repeat a tool's output, whatever turns it cites."""

_KINDS = tuple(kind for kind in NapKind if kind is not NapKind.DIGEST)
_BY_OWNER = frozenset({NapKind.PREFERENCE, NapKind.CORRECTION, NapKind.CONSTRAINT})
_BY_TRUST = (Origin.TOOL, Origin.ASSISTANT, Origin.PERSON)  # the least trusted first

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


_Turns = Annotated[tuple[int, ...], Field(json_schema_extra={"maxItems": SCHEMA_TURNS_MAX})]


class WrittenFact(Value):
    """One fact as the model wrote it."""

    kind: NapKind
    text: Annotated[PlainText, Field(json_schema_extra={"maxLength": SCHEMA_FACT_CHARS_MAX})]
    turns: _Turns

    @property
    def line(self) -> str:
        """The text in one line."""
        return " ".join(self.text.split())


class WrittenLine(Value):
    """One line of a digest."""

    label: Annotated[PlainText, Field(json_schema_extra={"enum": [*FIELDS]})]
    text: Annotated[PlainText, Field(json_schema_extra={"maxLength": SCHEMA_LINE_CHARS_MAX})]
    turns: _Turns


class WrittenNap(Value):
    """The answer expected of the model."""

    facts: tuple[WrittenFact, ...] = Field((), json_schema_extra={"maxItems": SCHEMA_FACTS_MAX})
    digest: tuple[WrittenLine, ...] = Field((), json_schema_extra={"maxItems": len(FIELDS)})


class NapWindow(NamedTuple):
    """The turns of one prompt: the indexes of their messages, and their texts."""

    places: tuple[int, ...]
    texts: tuple[str, ...]


class NapWriter:
    """Lets *model* write the facts and the digest of naps."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    async def write(self, draft: NapExtract, agent_id: str) -> NapExtract:
        """Return *draft* with the supported facts and digest lines that the model wrote."""
        if not self._model.serves(Purpose.NAP):
            return draft
        places_read: set[int] = set()
        facts: list[NapMemory] = []
        lines: dict[str, WrittenLine] = {}
        for window in split_windows(draft.conversation):
            try:
                answer = await self._model.answer(_build_request(window, agent_id), WrittenNap)
            except ProviderError as error:
                log.warning("a nap goes on by rule", kind=error.kind, read=len(places_read))
                break
            supported = check_answer(answer, draft.conversation, window)
            if supported.facts:
                places_read.update(window.places)
            facts += supported.facts
            for line in supported.digest:
                if line.label != "Asked first" or line.label not in lines:
                    lines[line.label] = line
        return merge(draft, facts, places_read, build_digest(lines, draft.conversation))


def split_windows(messages: Sequence[Message]) -> list[NapWindow]:
    """Return the WINDOWS_MAX newest windows of the turns of *messages* that have text."""
    windows: list[NapWindow] = []
    places: list[int] = []
    texts: list[str] = []
    used = 0
    for place, message in enumerate(messages):
        text = text_to_store(message).strip()
        if not text or message.get("role") in {"system", "developer"}:
            continue
        text = text if len(text) <= TURN_CHARS else f"{text[: TURN_CHARS - 200]} … {text[-200:]}"
        if places and used + len(text) > WINDOW_CHARS:
            windows.append(NapWindow(tuple(places), tuple(texts)))
            places, texts, used = [], [], 0
        places.append(place)
        texts.append(text)
        used += len(text)
    if places:
        windows.append(NapWindow(tuple(places), tuple(texts)))
    return windows[-WINDOWS_MAX:]


def _build_request(window: NapWindow, agent_id: str) -> CompletionRequest:
    prompt = "\n".join(
        f"Turn {place}:\n{wrap_stored(_TAG, text)}"
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
    """The facts and digest lines of an answer that the transcript supports."""

    facts: tuple[NapMemory, ...]
    digest: tuple[WrittenLine, ...]


def check_answer(answer: WrittenNap, messages: Sequence[Message], window: NapWindow) -> CheckedNap:
    """Return the facts and lines of *answer* that their cited turns support.

    All cited turns must be in *window*.
    """
    turns = dict(zip(window.places, window.texts, strict=True))
    facts: dict[str, NapMemory] = {}
    for number, fact in enumerate(answer.facts[:FACTS_MAX]):
        text = fact.line
        if not FACT_CHARS_MIN <= len(text) <= FACT_CHARS_MAX or fact.kind not in _KINDS:
            continue
        if is_supported(text, fact.turns, turns):
            facts.setdefault(text, _fact(fact, messages, window, number))
    lines = tuple(
        line
        for line in answer.digest
        if line.label in FIELDS and line.text.strip() and is_supported(line.text, line.turns, turns)
    )
    return CheckedNap(tuple(facts.values()), lines)


def _fact(
    fact: WrittenFact, messages: Sequence[Message], window: NapWindow, number: int
) -> NapMemory:
    places = tuple(dict.fromkeys(fact.turns))
    origin = _least_trusted(messages, places)
    kind = fact.kind
    if kind in _BY_OWNER and origin is not Origin.PERSON:
        kind = NapKind.OUTCOME  # only a user's turn states a preference or a correction
    first_text = window.texts[window.places.index(places[0])]
    about = hashlib.sha256(first_text.encode()).hexdigest()[:16]
    return NapMemory(fact.line, kind, places, f"written-{about}-{number}", origin)


def _least_trusted(messages: Sequence[Message], places: Sequence[int]) -> Origin:
    return min((_origin(messages[place]) for place in places), key=_BY_TRUST.index)


def _origin(message: Message) -> Origin:
    role = role_of(message)
    if role in {"user", "human"}:
        return Origin.PERSON
    return Origin.ASSISTANT if role == "assistant" else Origin.TOOL


def build_digest(lines: dict[str, WrittenLine], messages: Sequence[Message]) -> NapMemory | None:
    """Return the digest of *lines* in the order of its fields, None if there are none.

    The longest lines are dropped until it has at most DIGEST_TOKENS_MAX.
    """
    lines_by_label = {
        label: " ".join(lines[label].text.split()) for label in FIELDS if label in lines
    }
    while lines_by_label and tokens(_join_lines(lines_by_label)) > DIGEST_TOKENS_MAX:
        del lines_by_label[max(lines_by_label, key=lambda label: len(lines_by_label[label]))]
    if not lines_by_label:
        return None
    places = tuple(dict.fromkeys(place for label in lines_by_label for place in lines[label].turns))
    origin = _least_trusted(messages, places)
    if origin is Origin.PERSON:
        origin = Origin.ASSISTANT  # the model wrote the text
    if _WENT_WRONG in lines_by_label:
        origin = Origin.TOOL
    text = _join_lines(lines_by_label)
    return NapMemory(text, NapKind.DIGEST, places, NapKind.DIGEST.value, origin)


def _join_lines(lines_by_label: dict[str, str]) -> str:
    return "\n".join(f"{label}: {text}" for label, text in lines_by_label.items())


def merge(
    draft: NapExtract, facts: Sequence[NapMemory], places_read: set[int], digest: NapMemory | None
) -> NapExtract:
    """Return *draft* with *facts* instead of the rules' facts in the turns *places_read*.

    A digest by rule leaves out what other memories state. If some of those are replaced, and the
    model wrote no digest, it becomes the whole digest.
    """
    replaced = [memory for memory in draft.memories if _is_replaced(memory, places_read, digest)]
    by_rule = [memory for memory in draft.memories if memory not in replaced]
    if digest is None and any(memory.kind in USERS_KINDS for memory in replaced):
        whole = digest_messages([*draft.earlier, *draft.conversation])
        by_rule = [
            memory._replace(text=whole) if memory.kind is NapKind.DIGEST else memory
            for memory in by_rule
        ]
    memories = tuple(_order([*by_rule, *facts, *([digest] if digest else [])]))
    if memories == draft.memories:
        return draft
    return replace(draft, memories=memories, has_news=draft.has_news or bool(facts or digest))


def _is_replaced(memory: NapMemory, places_read: set[int], digest: NapMemory | None) -> bool:
    if memory.kind is NapKind.DIGEST:
        return digest is not None
    # Facts with a negative place are from an earlier nap, so the store has them already.
    return bool(places_read) and (memory.places[0] in places_read or memory.places[0] < 0)


def _order(memories: Sequence[NapMemory]) -> Iterator[NapMemory]:
    """Yield the facts in the order of their turns, then the digest."""
    digests = [memory for memory in memories if memory.kind is NapKind.DIGEST]
    yield from sorted(
        (memory for memory in memories if memory.kind is not NapKind.DIGEST),
        key=lambda memory: memory.places[0],
    )
    yield from digests


def is_supported(text: str, places: Sequence[int], turns: Mapping[int, str]) -> bool:
    """Return whether the *turns* at *places* support *text*; False without places.

    This checks the wording, not the truth. Every concrete thing (a path, a number, a name in code,
    a capitalised word) must occur in these turns, and so must most of the other content words. A
    negation must not be new. Inventions of a model usually name things that the turns lack.

    >>> turns = {3: "We deploy with ansible to port 8443."}
    >>> is_supported("Deploys go by ansible to port 8443", [3], turns)
    True
    >>> is_supported("Deploys go to port 9000", [3], turns), is_supported("We use it", [4], turns)
    (False, False)
    """
    if not places or any(place not in turns for place in places):
        return False
    source = "\n".join(turns[place] for place in dict.fromkeys(places)).casefold()
    if any(thing.casefold() not in source for thing in _things(text)):
        return False
    if _NEGATION.search(text) and not _NEGATION.search(source):
        return False
    words = [word for word in map(str.casefold, _WORD.findall(text)) if _is_content_word(word)]
    if not words:
        return False
    stems = {word[:_STEM_CHARS] for word in _WORD.findall(source)}
    return sum(word[:_STEM_CHARS] in stems for word in words) >= WORDS_SHARE_MIN * len(words)


def _things(text: str) -> set[str]:
    """Return the parts of *text* that must occur in its source, in any letter case."""
    names = {thing.removesuffix(_CALL) for thing in count_things(text)}
    names.update(_NUMBER.findall(text))
    for pattern in (_NAME, _CAPITALS):
        names.update(pattern.findall(text))
    return names


def _is_content_word(word: str) -> bool:
    return word not in ENGLISH_FUNCTION_WORDS and not word.isdigit()
