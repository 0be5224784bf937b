"""What a nap will store, worked out beforehand, so that its transaction only writes. Pure.

Secrets are replaced first: what is consolidated, kept, written beside the usage
file or drafted into memories here has none. A message of the list that the
caller gave is handed back to the caller as it was.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from memd.base.limits import TEXT_CHARS_MAX
from memd.encode.clean import clean as as_stored
from memd.encode.lessons import as_lesson
from memd.encode.route import route
from memd.ingest.draft import Drafts, drafts
from memd.model.chunking import ChunkingConfig
from memd.model.consolidation import LESSON_TAG, NAP_TAG
from memd.model.encoding import TokenCounter
from memd.model.enums import MemoryCategory, Origin
from memd.model.ingest import IngestRequest
from memd.model.sleep import NapDetail
from memd.sleep.nap.blocks import TOOL_ROLE
from memd.sleep.nap.cleaning import Message, clean
from memd.sleep.nap.consolidator import CHARS_PER_TOKEN, SUMMARY_SHARE, MemoryConsolidator
from memd.sleep.nap.erased import History, erased
from memd.sleep.nap.excerpts import excerpts, taught
from memd.sleep.nap.facts import SUMMARY_ROLE, Fact
from memd.sleep.nap.messages import KeptMessage, kept_messages, moment_of, role_of, said

_USER_ROLES = frozenset({"user", "human"})
_CHUNKING = ChunkingConfig()
_Draft = Callable[[IngestRequest], Drafts]


class DraftedFact(NamedTuple):
    """One fact on its way to become a memory, and the place of the message it is from."""

    request: IngestRequest
    drafts: Drafts
    message: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """A nap but for the storing. *shorter* has no secrets, *answer* is the caller's own tail."""

    kept: tuple[KeptMessage | None, ...]
    facts: tuple[DraftedFact, ...]
    """Those that the session does not know yet."""
    known: int
    """How many others there are."""
    excerpts: tuple[DraftedFact, ...]
    """Lines that name what no fact does, to be found where the messages are not memories."""
    shorter: tuple[Message, ...]
    answer: tuple[Message, ...]
    summary: str
    detail: NapDetail


@dataclass(frozen=True, slots=True)
class Sifted:
    """What of a nap's messages is worth storing, before it is drafted (see :class:`Prepared`)."""

    messages: Sequence[Message]
    """Without secrets."""
    new: tuple[Fact, ...]
    lessons: tuple[Fact, ...]
    """Those that are new; they are no facts of the documents' list."""
    known: int
    lines: tuple[Fact, ...]
    learns: bool
    """Whether anything seems to be new; what is stored is decided when it is."""
    shorter: tuple[Message, ...]
    answer: tuple[Message, ...]
    summary: str
    detail: NapDetail


class _Counted:
    """Counts the tokens of each text once: a draft asks for the same ones several times."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._known: dict[str, int] = {}

    def count(self, text: str) -> int:
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = self._counter.count(text)
        return found


def prepared(
    given: Sequence[Message],
    counter: TokenCounter,
    *,
    rule: MemoryConsolidator,
    session_id: str | None,
    known: frozenset[bytes] = frozenset(),
    last: bool = False,
) -> Prepared:
    """Consolidate *given* by *rule* and draft what is to be stored: :func:`sifted`, then drafts."""
    return drafted(sifted(given, rule=rule, known=known, last=last), counter, session_id)


def sifted(
    given: Sequence[Message],
    *,
    rule: MemoryConsolidator,
    known: frozenset[bytes] = frozenset(),
    last: bool = False,
) -> Sifted:
    """Consolidate *given* by *rule* and find what is to be stored.

    With an enumeration of what no fact names, the lines that name it are stored
    beside the facts. Both are taken from the messages that the summary replaces;
    with *last* from all of them, because nobody will nap over the rest. *known* are
    the hashes of texts that the session has, which need no draft. Lessons are stored
    beside the facts, in the place of one that says the same.
    """
    messages = [clean(message) for message in given]
    shorter, summary = rule.consolidate(messages)
    tail = len(shorter) - 1 if summary else len(shorter)
    start = len(messages) if last else len(messages) - tail
    found = rule.facts(messages[:start] if last else messages)
    found = tuple(fact for fact in found if fact.index < start)
    lessons = taught(messages[:start])
    said_so = {lesson.text for lesson in lessons}
    told = tuple(fact for fact in found if as_lesson(fact.text) not in said_so)
    new, learnt = (
        tuple(each for each in some if _hash(each.text) not in known) for some in (told, lessons)
    )
    lines = _excerpts(messages[:start], (*found, *lessons), rule) if rule.mention_share else ()
    return Sifted(
        messages=messages,
        new=new,
        lessons=learnt,
        known=len(told) + len(lessons) - len(new) - len(learnt),
        lines=lines,
        learns=bool(new or learnt) or any(_is_new(line, known) for line in lines),
        shorter=tuple(shorter),
        answer=(shorter[0], *given[len(given) - tail :]) if summary else tuple(given),
        summary=summary,
        detail=NapDetail(
            messages_before=len(messages),
            messages_after=len(shorter),
            messages_removed=len(messages) - tail,
            facts=len(found),
            summary_chars=len(summary),
            tokens_before=rule.estimate_tokens(messages),
            tokens_after=rule.estimate_tokens(shorter),
        ),
    )


def drafted(
    found: Sifted,
    counter: TokenCounter,
    session_id: str | None,
    chunking: ChunkingConfig = _CHUNKING,
) -> Prepared:
    """Draft what was found; each text is counted once."""
    draft = partial(drafts, counter=_Counted(counter), chunking=chunking)
    facts, lines = (
        tuple(_drafted(fact, found.messages[fact.index], draft, session_id) for fact in some)
        for some in (found.new, found.lines)
    )
    lessons = tuple(
        _of_lesson(lesson, found.messages[lesson.index], draft, session_id)
        for lesson in found.lessons
    )
    return Prepared(
        kept=kept_messages(found.messages),
        facts=facts + lessons,
        known=found.known,
        excerpts=lines,
        shorter=found.shorter,
        answer=found.answer,
        summary=found.summary,
        detail=found.detail,
    )


def remembered(given: Sequence[Message], history: History) -> list[Message]:
    """Return *given* without the messages that were forgotten since they were napped over."""
    kept = kept_messages([clean(message) for message in given])
    gone = erased([None if one is None else (one.sha256, one.nth) for one in kept], history)
    return [message for place, message in enumerate(given) if place not in gone]


def _drafted(fact: Fact, message: Message, draft: _Draft, session_id: str | None) -> DraftedFact:
    request = _request(fact, message, session_id)
    return DraftedFact(request, draft(request), fact.index)


def _of_lesson(
    lesson: Fact, message: Message, draft: _Draft, session_id: str | None
) -> DraftedFact:
    """Draft a lesson: told when it fits a question, so no preference, whatever its words."""
    kind = route(lesson.text, by_owner=False)
    if kind is not MemoryCategory.SEMANTIC:
        kind = MemoryCategory.PROCEDURAL
    said = {"tags": (NAP_TAG, LESSON_TAG), "category": kind}
    request = _request(lesson, message, session_id).model_copy(update=said)
    made = draft(request)
    items = tuple(replace(each, preference=None) for each in made.items)
    return DraftedFact(request, replace(made, items=items), lesson.index)


def _request(fact: Fact, message: Message, session_id: str | None) -> IngestRequest:
    return IngestRequest(
        text=fact.text[:TEXT_CHARS_MAX],
        session_id=session_id,
        occurred_at=moment_of(message),
        tags=(NAP_TAG,),
        origin=_origin(fact),
    )


def _hash(text: str) -> bytes:
    """Return the hash under which *text* is stored, if it is one memory."""
    return hashlib.sha256(as_stored(text[:TEXT_CHARS_MAX]).encode()).digest()


def _is_new(line: Fact, known: frozenset[bytes]) -> bool:
    """Return whether no part of an excerpt is known: a session repeats it word for word."""
    return known.isdisjoint(map(_hash, (line.text, *line.text.split("\n\n"))))


def _excerpts(
    messages: Sequence[Message], found: Sequence[Fact], rule: MemoryConsolidator
) -> tuple[Fact, ...]:
    """Return the lines that first name a thing; as many as a summary may have."""
    room = int(SUMMARY_SHARE * rule.max_tokens) * CHARS_PER_TOKEN
    kept = excerpts([said(message) for message in messages], found, room)
    return tuple(Fact(text, role_of(messages[place]), None, place) for place, text in kept.items())


def _origin(fact: Fact) -> Origin:
    """Return who said a fact; of an earlier summary's facts only a tool's can be told apart."""
    if fact.role == TOOL_ROLE or (fact.role == SUMMARY_ROLE and fact.text.startswith("[")):
        return Origin.TOOL
    return Origin.PERSON if fact.role in _USER_ROLES else Origin.ASSISTANT
