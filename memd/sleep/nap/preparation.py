"""Compute what a nap will store, so that its transaction only writes. Pure.

:func:`read` replaces secrets: no text that is consolidated, drafted, stored or written beside the
usage file contains one. The messages that the caller gets back are its own, unchanged.
:func:`extract` finds the texts that are worth storing, including every sentence that is marked as a
lesson (docs/decisions/0077). :func:`draft_memories` makes drafts of memories of these texts, with
category, tags and origin.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from memd.base.limits import TEXT_CHARS_MAX
from memd.domain.encoding import ChunkingConfig, SentenceLogits, TokenCounter
from memd.domain.enums import MemoryCategory, Origin
from memd.domain.ingest import IngestRequest
from memd.domain.settings.retrieval import NON_INFERABLE_TAG
from memd.domain.sleep.consolidation import EVERYWHERE_TAG, LESSON_TAG, NAP_TAG
from memd.domain.sleep.sleep import NapDetail
from memd.ingest.draft import Drafts, draft_text
from memd.sleep.distil.context_worth import Addition, find_additions
from memd.sleep.distil.distil import SessionTurns, distil
from memd.sleep.distil.environment.commands import COMMANDS_SLOT
from memd.sleep.distil.exchanges import USERS_KINDS, NapKind, NapMemory, without_private
from memd.sleep.nap.source import NO_CONTEXT, SessionContext
from memd.sleep.transcript.blocks import TOOL_ROLE, parse_turn
from memd.sleep.transcript.consolidator import MemoryConsolidator
from memd.sleep.transcript.facts import HEADER, SUMMARY_ROLE, USER_ROLES, Fact
from memd.sleep.transcript.messages import (
    Message,
    StoredMessage,
    clean,
    remove_echoes,
    timestamp_of,
    to_stored,
)
from memd.sleep.transcript.roles import with_known_role
from memd.text.chunk import clean as clean_text
from memd.text.lessons import extract_lessons, parse_lesson
from memd.text.route import route
from memd.text.words import sentences

_CATEGORIES = {
    NapKind.PREFERENCE: MemoryCategory.PROCEDURAL,
    NapKind.FIX: MemoryCategory.PROCEDURAL,
    NapKind.DIGEST: MemoryCategory.EPISODIC,
}
"""The categories of distilled memories; other kinds are semantic."""
_TAGS = {NapKind.FIX: (NON_INFERABLE_TAG,)}
"""Tags besides the kind, for distilled memories that are lessons too (``learn/propose.py``)."""
_CHUNKING = ChunkingConfig()

MakeDrafts = Callable[[IngestRequest], Drafts]


@dataclass(frozen=True, slots=True)
class NapExtract:
    """The texts of a nap that are worth storing, to be drafted (:class:`PreparedNap`)."""

    messages: Sequence[Message]
    """All messages, without secrets."""
    conversation: Sequence[Message]
    """The same messages without memd's own texts and private content, in the same places."""
    earlier: Sequence[Message]
    """The session's messages before them, at the places below 0."""
    facts: tuple[Fact, ...]
    """New facts (SPEC 6)."""
    lessons: tuple[Fact, ...]
    """New lessons, which are no facts of SPEC 6."""
    memories: tuple[NapMemory, ...]
    known_count: int
    """How many facts and lessons were left out because the session has them already."""
    has_news: bool
    """Whether any text seems to be new; the transaction decides."""
    shorter: tuple[Message, ...]
    """The shorter list, without secrets."""
    answer: tuple[Message, ...]
    """The same list of the caller's own messages."""
    summary: str
    detail: NapDetail


class NapReading(NamedTuple):
    """The messages of a nap, prepared for :func:`extract`."""

    caller_messages: Sequence[Message]
    """The caller's own messages."""
    messages: Sequence[Message]
    """The same without secrets."""
    conversation: Sequence[Message]
    """The session's earlier messages and these, without memd's own texts and private content."""
    context: SessionContext
    session: SessionTurns | None
    """*conversation* by turns, None if no memories are distilled."""


def read(
    given: Sequence[Message], context: SessionContext = NO_CONTEXT, *, distils: bool = False
) -> NapReading:
    """Return *given* without secrets and without memd's own texts.

    With *distils*, roles of other programs get memd's names (``roles``) and the session is split
    into turns. Without it, only the roles of SPEC 6 are known.
    """
    messages = [clean(with_known_role(message) if distils else message) for message in given]
    parts = (context.earlier, messages)
    # Each part by itself, so that the number of earlier messages stays the same.
    echoless = [message for part in parts for message in remove_echoes(part, context.injected)]
    heard = without_private(echoless)
    return NapReading(given, messages, heard, context, SessionTurns.of(heard) if distils else None)


def extract(
    reading: NapReading,
    *,
    rule: MemoryConsolidator,
    last: bool = False,
    logits: Sequence[Sequence[SentenceLogits]] = (),
    additions: frozenset[int] = frozenset(),
) -> NapExtract:
    """Consolidate the messages of *reading* by *rule* and extract the texts to store.

    An automatic nap distils memories of the whole session; *logits* are a model's output for its
    sentences, *additions* the places of messages to keep (``distil``). A nap on request takes the
    facts of SPEC 6 in the messages that the summary replaces, or with *last* in all messages, as no
    later nap will cover the others. Facts and lessons that the session has already are left out. A
    lesson replaces a fact with the same text. memd's own texts, and an assistant's repetition of
    them, are ignored.
    """
    given, messages, context = reading.caller_messages, reading.messages, reading.context
    distils = reading.session is not None
    own = reading.conversation[len(context.earlier) :]
    memories = _distil(reading, logits, additions)
    # Summarise *own*: memd's own texts would lose their fences in a summary, a message of the user.
    shorter, summary = rule.consolidate_spoken(messages, own, _users_words(memories))
    tail = len(shorter) - 1 if summary else len(shorter)
    start = len(messages) if last else len(messages) - tail
    facts = rule.facts(own[:start] if last else own)
    facts = tuple(fact for fact in facts if fact.index < start)
    lessons = find_lessons(own[:start])
    lesson_texts = {lesson.text for lesson in lessons}
    plain_facts = tuple(
        fact for fact in facts if not distils and parse_lesson(fact.text) not in lesson_texts
    )

    def is_new(text: str) -> bool:
        return content_hash(text) not in context.known_hashes

    new_facts = tuple(fact for fact in plain_facts if is_new(fact.text))
    new_lessons = tuple(lesson for lesson in lessons if is_new(lesson.text))
    return NapExtract(
        messages=messages,
        conversation=own,
        earlier=context.earlier,
        facts=new_facts,
        lessons=new_lessons,
        memories=memories,
        known_count=len(plain_facts) + len(lessons) - len(new_facts) - len(new_lessons),
        has_news=bool(new_facts or new_lessons) or any(is_new(memory.text) for memory in memories),
        shorter=tuple(shorter),
        answer=(shorter[0], *given[len(given) - tail :]) if summary else tuple(given),
        summary=summary,
        detail=NapDetail(
            messages_before=len(messages),
            messages_after=len(shorter),
            messages_removed=len(messages) - tail,
            facts=len(facts),
            summary_chars=len(summary),
            tokens_before=rule.estimate_tokens(messages),
            tokens_after=rule.estimate_tokens(shorter),
        ),
    )


def _distil(
    reading: NapReading, logits: Sequence[Sequence[SentenceLogits]], additions: frozenset[int]
) -> tuple[NapMemory, ...]:
    """Distil the whole session; places of earlier messages are below 0, the last one is at -1."""
    if reading.session is None:
        return ()
    count = len(reading.context.earlier)
    return tuple(
        memory._replace(places=tuple(place - count for place in memory.places))
        for memory in distil(reading.session, logits, additions)
    )


def list_additions(
    reading: NapReading, memories: Iterable[NapMemory], known: Iterable[tuple[int, str]]
) -> list[Addition]:
    """Return what may add to *known* memories (key and text) of the messages in no memory."""
    if reading.session is None:
        return []
    count = len(reading.context.earlier)
    used = {
        place + count
        for memory in memories
        if memory.kind is not NapKind.DIGEST
        for place in memory.places
    }
    turns = (read.turn for read in reading.session.turns)
    own = ((turn.exchange.place, turn.own) for turn in turns)
    return find_additions(((place, text) for place, text in own if place not in used), known)


def _users_words(memories: Iterable[NapMemory]) -> Iterator[Fact]:
    """Yield the user's words in *memories* as facts, so that the summary contains them."""
    for memory in memories:
        if memory.kind in USERS_KINDS and (words := memory.users_words):
            yield Fact(words, "user", None, memory.places[0])


SPEAKING_ROLES = frozenset({"user", "human", "assistant"})


def find_lessons(messages: Sequence[Mapping[str, Any]]) -> tuple[Fact, ...]:
    """Return the lessons in messages of user and assistant, each once at its first place.

    Results of tools are no source of lessons, and those of an earlier summary are known.
    """
    first: dict[str, Fact] = {}
    for index, message in enumerate(messages):
        if message.get("role") not in SPEAKING_ROLES:
            continue
        speaker_turn = parse_turn(message)
        if speaker_turn.text.startswith(HEADER):
            continue
        for text in extract_lessons(speaker_turn.text):
            first.setdefault(text, Fact(text, speaker_turn.role, None, index))
    return tuple(first.values())


def content_hash(text: str) -> bytes:
    """Return the hash under which *text* is stored if it becomes a single memory."""
    return hashlib.sha256(clean_text(text[:TEXT_CHARS_MAX]).encode()).digest()


# Drafts.


class NapDraft(NamedTuple):
    """A text that becomes one or more memories.

    *places* are the indexes of the messages that it is made of, the most relevant one first. The
    *slot* identifies its subject within the session; facts and lessons have none. *old_runners* are
    the runners of commands that no longer exist.
    """

    request: IngestRequest
    drafts: Drafts
    places: tuple[int, ...]
    slot: str | None = None
    old_runners: tuple[str, ...] = ()

    @property
    def is_command(self) -> bool:
        """Whether the text is a memory of commands."""
        return (self.slot or "").startswith(COMMANDS_SLOT)

    @property
    def sha256(self) -> bytes:
        """The hash of the text; only for a draft of one memory."""
        return hashlib.sha256(self.drafts.items[0].content.encode()).digest()


@dataclass(frozen=True, slots=True)
class PreparedNap:
    """A nap that is ready to be stored."""

    extract: NapExtract
    stored_messages: tuple[StoredMessage | None, ...]
    drafts: tuple[NapDraft, ...]
    """The memories to store. Distilled ones may exist already; facts and lessons are new."""


class _CachedCounter:
    """Counts the tokens of each text once; a draft counts the same texts several times."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._known: dict[str, int] = {}

    def count(self, text: str) -> int:
        count = self._known.get(text)
        if count is None:
            count = self._known[text] = self._counter.count(text)
        return count


def draft_memories(
    extracted: NapExtract,
    counter: TokenCounter,
    session_id: str | None,
    chunking: ChunkingConfig = _CHUNKING,
) -> PreparedNap:
    """Draft the extracted texts; of several distilled memories with one slot, only the last."""
    cached = _CachedCounter(counter)
    make_drafts = partial(draft_text, counter=cached, chunking=chunking)
    messages = extracted.messages
    memories = {memory.slot: memory for memory in extracted.memories}.values()

    def at(place: int) -> Message:
        return (extracted.earlier if place < 0 else messages)[place]

    return PreparedNap(
        extract=extracted,
        stored_messages=to_stored(without_private(messages, forgets=True)),
        drafts=(
            *(draft_fact(fact, messages, make_drafts, session_id) for fact in extracted.facts),
            *(
                draft_lesson(lesson, messages, make_drafts, session_id)
                for lesson in extracted.lessons
            ),
            *(draft_distilled(memory, at, cached, session_id) for memory in memories),
        ),
    )


def draft_fact(
    fact: Fact, messages: Sequence[Message], make_drafts: MakeDrafts, session_id: str | None
) -> NapDraft:
    """Draft a fact of a consolidation."""
    request = _request(fact, messages, session_id)
    return NapDraft(request, make_drafts(request), (fact.index,))


def draft_lesson(
    lesson: Fact, messages: Sequence[Message], make_drafts: MakeDrafts, session_id: str | None
) -> NapDraft:
    """Draft a lesson. It is injected if it fits a question, so it is never a preference."""
    kind = route(lesson.text, by_owner=False)
    if kind is not MemoryCategory.SEMANTIC:
        kind = MemoryCategory.PROCEDURAL
    fields = {"tags": (NAP_TAG, LESSON_TAG), "category": kind}
    request = _request(lesson, messages, session_id).model_copy(update=fields)
    result = make_drafts(request)
    items = tuple(replace(item, preference=None) for item in result.items)
    return NapDraft(request, replace(result, items=items), (lesson.index,))


def draft_distilled(
    memory: NapMemory,
    message_at: Callable[[int], Message],
    counter: TokenCounter,
    session_id: str | None,
) -> NapDraft:
    """Draft one distilled memory as a single chunk, in the category of its kind.

    It becomes a named preference only if it is a preference of one sentence: every prompt of every
    project has those.
    """
    category = _CATEGORIES.get(memory.kind, MemoryCategory.SEMANTIC)
    place = max(memory.places) if memory.kind is NapKind.DIGEST else memory.places[0]
    request = IngestRequest(
        text=clean_text(memory.text),
        session_id=session_id,
        occurred_at=timestamp_of(message_at(place)),
        tags=(NAP_TAG, memory.kind, *_TAGS.get(memory.kind, ())),
        origin=memory.origin,
    )
    result = draft_text(request, counter, whole=True)
    prefers = memory.kind is NapKind.PREFERENCE and len(sentences(memory.text)) == 1
    items = tuple(
        replace(item, category=category, preference=item.preference if prefers else None)
        for item in result.items
    )
    # A named preference is in every prompt anyway.
    if memory.is_everywhere and not any(item.preference for item in items):
        result = replace(result, tags=(*result.tags, EVERYWHERE_TAG))
    return NapDraft(
        request, replace(result, items=items), memory.places, memory.slot, memory.old_runners
    )


def _request(fact: Fact, messages: Sequence[Message], session_id: str | None) -> IngestRequest:
    return IngestRequest(
        text=fact.text[:TEXT_CHARS_MAX],
        session_id=session_id,
        occurred_at=timestamp_of(messages[fact.index]),
        tags=(NAP_TAG,),
        origin=_origin(fact),
    )


def _origin(fact: Fact) -> Origin:
    """Return the origin of a fact.

    In an earlier summary only facts of tools are recognisable, by their "[" at the beginning.
    """
    if fact.role == TOOL_ROLE or (fact.role == SUMMARY_ROLE and fact.text.startswith("[")):
        return Origin.TOOL
    return Origin.PERSON if fact.role in USER_ROLES else Origin.ASSISTANT
