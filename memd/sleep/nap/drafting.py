"""Drafts of memories from a nap's findings, with their category, tags and origin. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from memd.base.limits import TEXT_CHARS_MAX
from memd.domain.encoding import TokenCounter
from memd.domain.enums import MemoryCategory, Origin
from memd.domain.ingest import IngestRequest
from memd.domain.learn import NON_INFERABLE_TAG
from memd.domain.sleep.consolidation import LESSON_TAG, NAP_TAG
from memd.ingest.draft import Drafts, draft_text
from memd.sleep.distil.exchanges import NapKind, NapMemory
from memd.sleep.nap.blocks import TOOL_ROLE
from memd.sleep.nap.cleaning import Message
from memd.sleep.nap.facts import SUMMARY_ROLE, Fact
from memd.sleep.nap.messages import timestamp_of
from memd.text.chunk import clean as clean_text
from memd.text.route import route

_USER_ROLES = frozenset({"user", "human"})
_CATEGORIES = {
    NapKind.PREFERENCE: MemoryCategory.PROCEDURAL,
    NapKind.FIX: MemoryCategory.PROCEDURAL,
    NapKind.DIGEST: MemoryCategory.EPISODIC,
}
"""The categories of distilled memories; other kinds are semantic."""
_TAGS = {NapKind.FIX: (NON_INFERABLE_TAG,)}
"""Tags besides the kind, for distilled memories that are lessons too (``learn/propose.py``)."""

MakeDrafts = Callable[[IngestRequest], Drafts]


class NapDraft(NamedTuple):
    """One text that is to become memories.

    *places* are the indexes of the messages that it is made of, the most relevant one first. A
    *slot* identifies its subject within the session; facts and lessons have none.
    """

    request: IngestRequest
    drafts: Drafts
    places: tuple[int, ...]
    slot: str | None = None

    @property
    def sha256(self) -> bytes:
        """The hash of the text; only for a draft of one memory."""
        return hashlib.sha256(self.drafts.items[0].content.encode()).digest()


def draft_fact(
    fact: Fact, messages: Sequence[Message], make_drafts: MakeDrafts, session_id: str | None
) -> NapDraft:
    """Draft a fact of a consolidation."""
    request = _request(fact, messages, session_id)
    return NapDraft(request, make_drafts(request), (fact.index,))


def draft_lesson(
    lesson: Fact, messages: Sequence[Message], make_drafts: MakeDrafts, session_id: str | None
) -> NapDraft:
    """Draft a lesson. It is injected when it fits a question, so it is never a preference."""
    kind = route(lesson.text, by_owner=False)
    if kind is not MemoryCategory.SEMANTIC:
        kind = MemoryCategory.PROCEDURAL
    fields = {"tags": (NAP_TAG, LESSON_TAG), "category": kind}
    request = _request(lesson, messages, session_id).model_copy(update=fields)
    result = make_drafts(request)
    items = tuple(replace(each, preference=None) for each in result.items)
    return NapDraft(request, replace(result, items=items), (lesson.index,))


def draft_distilled(
    memory: NapMemory,
    message_at: Callable[[int], Message],
    counter: TokenCounter,
    session_id: str | None,
) -> NapDraft:
    """Draft one distilled memory: one chunk whatever its length, in the category of its kind.

    It is a named preference only if it is one in its owner's words.
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
    prefers = memory.kind is NapKind.PREFERENCE
    items = tuple(
        replace(each, category=category, preference=each.preference if prefers else None)
        for each in result.items
    )
    return NapDraft(request, replace(result, items=items), memory.places, memory.slot)


def content_hash(text: str) -> bytes:
    """Return the hash under which *text* is stored, if it is one memory."""
    return hashlib.sha256(clean_text(text[:TEXT_CHARS_MAX]).encode()).digest()


def _request(fact: Fact, messages: Sequence[Message], session_id: str | None) -> IngestRequest:
    return IngestRequest(
        text=fact.text[:TEXT_CHARS_MAX],
        session_id=session_id,
        occurred_at=timestamp_of(messages[fact.index]),
        tags=(NAP_TAG,),
        origin=_origin(fact),
    )


def _origin(fact: Fact) -> Origin:
    """Return the origin of a fact; of an earlier summary's facts only tools' can be told apart."""
    if fact.role == TOOL_ROLE or (fact.role == SUMMARY_ROLE and fact.text.startswith("[")):
        return Origin.TOOL
    return Origin.PERSON if fact.role in _USER_ROLES else Origin.ASSISTANT
