"""What a nap will store, computed beforehand so that its transaction only writes. Pure.

Secrets are replaced first: nothing that is consolidated, stored, written beside the usage
file or drafted here contains one. The messages that the caller gets back are its own,
unchanged.

Lessons are drafted too: every sentence that says it is one (docs/decisions/0077).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from memd.domain.encoding import ChunkingConfig, TokenCounter
from memd.domain.sleep.sleep import NapDetail
from memd.ingest.draft import draft_text
from memd.sleep.distil.distil import distil
from memd.sleep.distil.exchanges import NapMemory
from memd.sleep.nap.blocks import parse_turn
from memd.sleep.nap.cleaning import Message, clean
from memd.sleep.nap.consolidator import MemoryConsolidator
from memd.sleep.nap.drafting import (
    NapDraft,
    content_hash,
    draft_distilled,
    draft_fact,
    draft_lesson,
)
from memd.sleep.nap.echoes import remove_echoes
from memd.sleep.nap.erasures import SessionHistory, find_erased
from memd.sleep.nap.facts import HEADER, Fact
from memd.sleep.nap.messages import StoredMessage, to_stored
from memd.text.lessons import extract_lessons, parse_lesson

_CHUNKING = ChunkingConfig()


@dataclass(frozen=True, slots=True)
class PreparedNap:
    """A nap that is ready to be stored. *shorter* has no secrets, *answer* is the caller's list."""

    stored_messages: tuple[StoredMessage | None, ...]
    drafts: tuple[NapDraft, ...]
    """The memories to store, some of which may exist already; new facts and lessons only."""
    known_count: int
    """How many facts and lessons were left out because the session has them."""
    shorter: tuple[Message, ...]
    answer: tuple[Message, ...]
    summary: str
    detail: NapDetail


@dataclass(frozen=True, slots=True)
class NapExtract:
    """The texts of a nap that are worth storing, before they are drafted (:class:`PreparedNap`)."""

    messages: Sequence[Message]
    """All messages, without secrets."""
    spoken: Sequence[Message]
    """The same messages without memd's own texts, in the same places."""
    earlier: Sequence[Message]
    """The session's messages before them, at the places below 0."""
    facts: tuple[Fact, ...]
    lessons: tuple[Fact, ...]
    """New lessons; like *facts* without known ones. They are not facts of SPEC 6."""
    distilled: tuple[NapMemory, ...]
    known_count: int
    has_news: bool
    """Whether anything seems to be new; what is stored is decided within the transaction."""
    shorter: tuple[Message, ...]
    answer: tuple[Message, ...]
    summary: str
    detail: NapDetail


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


class SessionContext(NamedTuple):
    """What memd has of a session: hashes of its texts, earlier messages, and injected texts."""

    known_count: frozenset[bytes] = frozenset()
    earlier: Sequence[Message] = ()
    injected: Sequence[str] = ()


NO_CONTEXT = SessionContext()


def extract(
    given: Sequence[Message],
    *,
    rule: MemoryConsolidator,
    context: SessionContext = NO_CONTEXT,
    last: bool = False,
    distils: bool = False,
) -> NapExtract:
    """Consolidate *given* by *rule* and extract the texts to store.

    With *distils* these are memories distilled from the messages and those earlier in the
    session. Without it, they are the facts of SPEC 6 in the messages that the summary
    replaces, or with *last* in all messages, as no later nap will cover the rest.
    Texts that the session has already need no draft.
    Lessons are stored besides, in place of a fact with the same text. memd's own texts
    teach nothing, nor does an assistant that repeats them.
    """
    known_hashes, earlier, injected = context
    messages = [clean(message) for message in given]
    shorter, summary = rule.consolidate(messages)
    tail = len(shorter) - 1 if summary else len(shorter)
    start = len(messages) if last else len(messages) - tail
    facts = rule.facts(messages[:start] if last else messages)
    facts = tuple(fact for fact in facts if fact.index < start)
    spoken = remove_echoes(messages, injected)
    lessons = find_lessons(spoken[:start])
    lesson_texts = {lesson.text for lesson in lessons}
    plain_facts = (
        () if distils else tuple(f for f in facts if parse_lesson(f.text) not in lesson_texts)
    )
    memories = _distil(remove_echoes(earlier, injected), spoken) if distils else ()
    new_facts, new_lessons = (
        tuple(each for each in some if content_hash(each.text) not in known_hashes)
        for some in (plain_facts, lessons)
    )
    return NapExtract(
        messages=messages,
        spoken=spoken,
        earlier=earlier,
        facts=new_facts,
        lessons=new_lessons,
        distilled=memories,
        known_count=len(plain_facts) + len(lessons) - len(new_facts) - len(new_lessons),
        has_news=bool(new_facts or new_lessons)
        or any(content_hash(each.text) not in known_hashes for each in memories),
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


def _distil(earlier: Sequence[Message], spoken: Sequence[Message]) -> tuple[NapMemory, ...]:
    """Distil both; the places of *earlier* messages are below 0, the last is at -1."""
    if not earlier:
        return distil(spoken)
    count = len(earlier)
    return tuple(
        each._replace(places=tuple(place - count for place in each.places))
        for each in distil([*earlier, *spoken])
    )


def draft_memories(
    extracted: NapExtract,
    counter: TokenCounter,
    session_id: str | None,
    chunking: ChunkingConfig = _CHUNKING,
) -> PreparedNap:
    """Draft the extracted texts; of several memories with one slot the last one is drafted."""
    cached = _CachedCounter(counter)
    make_drafts = partial(draft_text, counter=cached, chunking=chunking)
    messages = extracted.messages
    memories = {each.slot: each for each in extracted.distilled}.values()

    def at(place: int) -> Message:
        return (extracted.earlier if place < 0 else messages)[place]

    return PreparedNap(
        stored_messages=to_stored(messages),
        drafts=(
            *(draft_fact(fact, messages, make_drafts, session_id) for fact in extracted.facts),
            *(
                draft_lesson(lesson, messages, make_drafts, session_id)
                for lesson in extracted.lessons
            ),
            *(draft_distilled(each, at, cached, session_id) for each in memories),
        ),
        known_count=extracted.known_count,
        shorter=extracted.shorter,
        answer=extracted.answer,
        summary=extracted.summary,
        detail=extracted.detail,
    )


def remove_erased(given: Sequence[Message], history: SessionHistory) -> list[Message]:
    """Return *given* without the messages that were forgotten since an earlier nap."""
    stored = to_stored([clean(message) for message in given])
    erased = find_erased(
        [None if one is None else (one.sha256, one.nth) for one in stored], history
    )
    return [message for place, message in enumerate(given) if place not in erased]


SPEAKING_ROLES = frozenset({"user", "human", "assistant"})


def find_lessons(messages: Sequence[Mapping[str, Any]]) -> tuple[Fact, ...]:
    """Return the lessons in messages of user and assistant, each once at its first place.

    Tools' answers teach nothing, and the lessons of an earlier summary are known.
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
