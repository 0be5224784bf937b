"""From what a nap found to drafts of memories: where each is filed, and whose word it is. Pure."""

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
from memd.ingest.draft import Drafts, drafts
from memd.sleep.distil.exchanges import Distilled, NapKind
from memd.sleep.nap.blocks import TOOL_ROLE
from memd.sleep.nap.cleaning import Message
from memd.sleep.nap.facts import SUMMARY_ROLE, Fact
from memd.sleep.nap.messages import moment_of
from memd.text.clean import clean as as_stored
from memd.text.route import route

_USER_ROLES = frozenset({"user", "human"})
_CATEGORIES = {
    NapKind.PREFERENCE: MemoryCategory.PROCEDURAL,
    NapKind.FIX: MemoryCategory.PROCEDURAL,
    NapKind.DIGEST: MemoryCategory.EPISODIC,
}
"""Where what is distilled is filed; the other kinds are knowledge."""
_TAGS = {NapKind.FIX: (NON_INFERABLE_TAG,)}
"""What is a lesson besides bears its tag (``learn/fixes.py``)."""

Draft = Callable[[IngestRequest], Drafts]


class Drafted(NamedTuple):
    """One text on its way to become memories.

    *places* are those of the messages that it is made of, the one it is about first. A
    *slot* is what it is about in its session; facts and lessons have none.
    """

    request: IngestRequest
    drafts: Drafts
    places: tuple[int, ...]
    slot: str | None = None

    @property
    def sha256(self) -> bytes:
        """The hash of the text of what is one memory."""
        return hashlib.sha256(self.drafts.items[0].content.encode()).digest()


def of_fact(
    fact: Fact, messages: Sequence[Message], draft: Draft, session_id: str | None
) -> Drafted:
    """Draft a fact of the documents' list."""
    request = _request(fact, messages, session_id)
    return Drafted(request, draft(request), (fact.index,))


def of_lesson(
    lesson: Fact, messages: Sequence[Message], draft: Draft, session_id: str | None
) -> Drafted:
    """Draft a lesson: told when it fits a question, so no preference, whatever its words."""
    kind = route(lesson.text, by_owner=False)
    if kind is not MemoryCategory.SEMANTIC:
        kind = MemoryCategory.PROCEDURAL
    fields = {"tags": (NAP_TAG, LESSON_TAG), "category": kind}
    request = _request(lesson, messages, session_id).model_copy(update=fields)
    made = draft(request)
    items = tuple(replace(each, preference=None) for each in made.items)
    return Drafted(request, replace(made, items=items), (lesson.index,))


def of_distilled(
    memory: Distilled,
    message_at: Callable[[int], Message],
    counter: TokenCounter,
    session_id: str | None,
) -> Drafted:
    """Draft one memory of a session, whole: never cut, and filed by its kind.

    It has a preference by name only where it is one in the words of its owner.
    """
    category = _CATEGORIES.get(memory.kind, MemoryCategory.SEMANTIC)
    place = max(memory.places) if memory.kind is NapKind.DIGEST else memory.places[0]
    request = IngestRequest(
        text=as_stored(memory.text),
        session_id=session_id,
        occurred_at=moment_of(message_at(place)),
        tags=(NAP_TAG, memory.kind, *_TAGS.get(memory.kind, ())),
        origin=memory.origin,
    )
    made = drafts(request, counter, whole=True)
    prefers = memory.kind is NapKind.PREFERENCE
    items = tuple(
        replace(each, category=category, preference=each.preference if prefers else None)
        for each in made.items
    )
    return Drafted(request, replace(made, items=items), memory.places, memory.slot)


def known_as(text: str) -> bytes:
    """Return the hash under which *text* is stored, if it is one memory."""
    return hashlib.sha256(as_stored(text[:TEXT_CHARS_MAX]).encode()).digest()


def _request(fact: Fact, messages: Sequence[Message], session_id: str | None) -> IngestRequest:
    return IngestRequest(
        text=fact.text[:TEXT_CHARS_MAX],
        session_id=session_id,
        occurred_at=moment_of(messages[fact.index]),
        tags=(NAP_TAG,),
        origin=_origin(fact),
    )


def _origin(fact: Fact) -> Origin:
    """Return who said a fact; of an earlier summary's facts only a tool's can be told apart."""
    if fact.role == TOOL_ROLE or (fact.role == SUMMARY_ROLE and fact.text.startswith("[")):
        return Origin.TOOL
    return Origin.PERSON if fact.role in _USER_ROLES else Origin.ASSISTANT
