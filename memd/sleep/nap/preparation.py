"""What a nap will store, worked out beforehand, so that its transaction only writes. Pure.

Secrets are replaced first: what is consolidated, kept, written beside the usage
file or drafted into memories here has none. A message of the list that the
caller gave is handed back to the caller as it was.

Lessons are drafted, too: whatever says that it is one (docs/decisions/0077).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from memd.domain.encoding import ChunkingConfig, TokenCounter
from memd.domain.sleep.sleep import NapDetail
from memd.ingest.draft import drafts
from memd.sleep.distil.distil import distilled
from memd.sleep.distil.exchanges import Distilled
from memd.sleep.nap.blocks import turn
from memd.sleep.nap.cleaning import Message, clean
from memd.sleep.nap.consolidator import MemoryConsolidator
from memd.sleep.nap.drafting import Drafted, known_as, of_distilled, of_fact, of_lesson
from memd.sleep.nap.echoes import without_echoes
from memd.sleep.nap.erased import History, erased
from memd.sleep.nap.facts import HEADER, Fact
from memd.sleep.nap.messages import KeptMessage, kept_messages
from memd.text.lessons import as_lesson, lessons_in

_CHUNKING = ChunkingConfig()


@dataclass(frozen=True, slots=True)
class Prepared:
    """A nap but for the storing. *shorter* has no secrets, *answer* is the caller's own tail."""

    kept: tuple[KeptMessage | None, ...]
    drafted: tuple[Drafted, ...]
    """What is to be stored, and is perhaps there already; of facts only what is not."""
    known: int
    """How many other facts there are."""
    shorter: tuple[Message, ...]
    answer: tuple[Message, ...]
    summary: str
    detail: NapDetail


@dataclass(frozen=True, slots=True)
class Sifted:
    """What of a nap's messages is worth storing, before it is drafted (see :class:`Prepared`)."""

    messages: Sequence[Message]
    """Without secrets."""
    heard: Sequence[Message]
    """The same without what memd said itself, in the same places."""
    earlier: Sequence[Message]
    """What the session said before them, at the places below 0."""
    facts: tuple[Fact, ...]
    lessons: tuple[Fact, ...]
    """Those that are new, as are the facts; they are none of the documents' list."""
    distilled: tuple[Distilled, ...]
    known: int
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
        count = self._known.get(text)
        if count is None:
            count = self._known[text] = self._counter.count(text)
        return count


class Before(NamedTuple):
    """What a session has of before: hashes of its texts, messages, and what memd told it."""

    known: frozenset[bytes] = frozenset()
    earlier: Sequence[Message] = ()
    others: Sequence[str] = ()


NOTHING = Before()


def sifted(
    given: Sequence[Message],
    *,
    rule: MemoryConsolidator,
    before: Before = NOTHING,
    last: bool = False,
    distils: bool = False,
) -> Sifted:
    """Consolidate *given* by *rule* and find what is to be stored.

    With *distils* that is what all of the messages say that is worth a memory, and those
    earlier in the session, else the facts of the documents: of the messages that the
    summary replaces, with *last* of all of them, because nobody will nap over the rest.
    Facts among the texts that the session knows need no draft.
    Lessons are stored beside the others, in the place of a fact that says the same. What
    memd said itself teaches nothing, nor what an assistant repeats of what it was told.
    """
    known, earlier, known_elsewhere = before
    messages = [clean(message) for message in given]
    shorter, summary = rule.consolidate(messages)
    tail = len(shorter) - 1 if summary else len(shorter)
    start = len(messages) if last else len(messages) - tail
    facts = rule.facts(messages[:start] if last else messages)
    facts = tuple(fact for fact in facts if fact.index < start)
    heard = without_echoes(messages, known_elsewhere)
    lessons = taught(heard[:start])
    said_so = {lesson.text for lesson in lessons}
    listed = () if distils else tuple(f for f in facts if as_lesson(f.text) not in said_so)
    memories = _distilled(without_echoes(earlier, known_elsewhere), heard) if distils else ()
    new, learnt = (
        tuple(each for each in some if known_as(each.text) not in known)
        for some in (listed, lessons)
    )
    return Sifted(
        messages=messages,
        heard=heard,
        earlier=earlier,
        facts=new,
        lessons=learnt,
        distilled=memories,
        known=len(listed) + len(lessons) - len(new) - len(learnt),
        learns=bool(new or learnt) or any(known_as(each.text) not in known for each in memories),
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


def _distilled(earlier: Sequence[Message], heard: Sequence[Message]) -> tuple[Distilled, ...]:
    """Return the memories of both; the places of those *earlier* are below 0, the last at -1."""
    if not earlier:
        return distilled(heard)
    count = len(earlier)
    return tuple(
        each._replace(places=tuple(place - count for place in each.places))
        for each in distilled([*earlier, *heard])
    )


def drafted(
    contents: Sifted,
    counter: TokenCounter,
    session_id: str | None,
    chunking: ChunkingConfig = _CHUNKING,
) -> Prepared:
    """Draft what was found, of one slot the last; each text is counted once."""
    counted = _Counted(counter)
    draft = partial(drafts, counter=counted, chunking=chunking)
    messages = contents.messages
    memories = {each.slot: each for each in contents.distilled}.values()

    def at(place: int) -> Message:
        return (contents.earlier if place < 0 else messages)[place]

    return Prepared(
        kept=kept_messages(messages),
        drafted=(
            *(of_fact(fact, messages, draft, session_id) for fact in contents.facts),
            *(of_lesson(lesson, messages, draft, session_id) for lesson in contents.lessons),
            *(of_distilled(each, at, counted, session_id) for each in memories),
        ),
        known=contents.known,
        shorter=contents.shorter,
        answer=contents.answer,
        summary=contents.summary,
        detail=contents.detail,
    )


def remembered(given: Sequence[Message], history: History) -> list[Message]:
    """Return *given* without the messages that were forgotten since they were napped over."""
    kept = kept_messages([clean(message) for message in given])
    gone = erased([None if one is None else (one.sha256, one.nth) for one in kept], history)
    return [message for place, message in enumerate(given) if place not in gone]


SPEAKING_ROLES = frozenset({"user", "human", "assistant"})


def taught(messages: Sequence[Mapping[str, Any]]) -> tuple[Fact, ...]:
    """Return what messages of user and assistant say as lessons, each once, where it came first.

    What a tool answered teaches nothing, and an earlier summary's lessons are known.
    """
    first: dict[str, Fact] = {}
    for index, message in enumerate(messages):
        if message.get("role") not in SPEAKING_ROLES:
            continue
        speaker_turn = turn(message)
        if speaker_turn.text.startswith(HEADER):
            continue
        for text in lessons_in(speaker_turn.text):
            first.setdefault(text, Fact(text, speaker_turn.role, None, index))
    return tuple(first.values())
