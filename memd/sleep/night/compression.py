"""Compression: an old session is replaced by a few sentences (SPEC 3.4-3.6).

A language model writes them if there is one, else a rule. The prompt is verbatim from the
specification, except that the conversation is fenced and the instructions say how to read a fence.
A model that is unreachable or fails costs detail: the rule replaces it. A model with an empty
answer found nothing to keep: the session stays as it is, and the next night asks again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memd.base.ids import Ids
from memd.base.work import Work
from memd.domain.encoding import TokenCounter
from memd.domain.enums import ArchiveReason, MemoryCategory, MemoryState, Origin
from memd.domain.sleep.consolidation import COMPRESSED_TAG, LLMConsolidationConfig
from memd.extract.passing import passing_kind
from memd.sleep.night.tasks import (
    Cursor,
    NightScope,
    PlannedStep,
    new_summary,
    plan_summary,
    write_summaries,
)
from memd.sleep.strategies.ask import Model, request_answer
from memd.sleep.strategies.batches import group_by_place, summary_row
from memd.sleep.strategies.shorten import truncate
from memd.store.access import names
from memd.store.file.connect import Writing
from memd.store.file.database import Database
from memd.store.memory import groups
from memd.store.memory.groups import MemberRow
from memd.store.memory.transitions import RunStep
from memd.store.session.sessions import IDLE_US
from memd.text.words import SENTENCE_GAP, sentences
from memd.view.view import untrusted_content_directive, wrap_stored

SENTENCES = 3
CHARS = 900
LEAST_CHARS = 40  # of each active memory
PROMPT = """\
Summarize the following conversation into 2-3 sentences capturing key facts,
decisions, and topics discussed. Be specific and preserve names, numbers, and
technical details. Do not include pleasantries.
Conversation:
{session_content}"""

_Part = tuple[list[str], bool]
"""Sentences of one memory, and whether it is active."""
_OWN = frozenset({Origin.PERSON, Origin.IMPORT})
_FENCE = "conversation"


class SessionText(NamedTuple):
    """The text of one memory of a session; one that is not *is_active* is in a summary already.

    *is_own* is what the user said or brought, and no assistant, tool or page.
    """

    text: str
    is_active: bool = True
    is_own: bool = True


def summarise_by_rule(texts: Sequence[SessionText]) -> str:
    """Return the first three statements of *texts*, then the beginnings of other active ones.

    If all are active, only the statements (SPEC 3.5, decision 0345). An active text appears in no
    other summary, so each gets an equal share of the remaining characters.

    >>> texts = [SessionText("We met. It rained. We left.", False), SessionText("Ann won.")]
    >>> summarise_by_rule(texts)
    'We met. It rained. We left. Ann won.'
    """
    parts = _list_statements(texts)
    short = first_sentences([" ".join(statements) for statements, _ in parts])
    if all(memory.is_active for memory in texts):
        return short
    left = (
        " ".join(each for each in statements if each not in short)
        for statements, is_active in parts
        if is_active
    )
    missing = [text for text in left if text]
    if not missing:
        return short
    short = truncate(short, CHARS // 2)
    room = max(LEAST_CHARS, (CHARS - len(short)) // len(missing) - len(" ..."))
    return " ".join([short, *(_end_sentence(truncate(text, room)) for text in missing)])[:CHARS]


def _list_statements(texts: Sequence[SessionText]) -> list[_Part]:
    """Return what the user states in *texts*, each once; or what others state.

    An answer says little without its question. A text that states nothing counts as a whole.

    >>> _list_statements([SessionText("ok. A cat came! From where?"), SessionText("a cat came")])
    [(['A cat came!'], True)]
    """
    known: set[str] = set()
    parts: list[_Part] = []
    for text, is_active, is_own in [each for each in texts if each.is_own] or texts:
        every = sentences(" ".join(text.split()))
        stating = [each for each in every if passing_kind(each, by_assistant=not is_own) is None]
        picked = {each.casefold().rstrip(".!?"): _end_sentence(each) for each in stating or every}
        new = [picked[words] for words in picked if words not in known]
        known.update(picked)
        if new:
            parts.append((new, is_active))
    return parts


def first_sentences(contents: Sequence[str]) -> str:
    """Return the first three sentences of *contents*, at most 900 characters.

    >>> first_sentences(["We met.  It rained!", "We left", "and more"])
    'We met. It rained! We left and more.'
    """
    joined = " ".join(" ".join(contents).split())
    short = " ".join(SENTENCE_GAP.split(joined)[:SENTENCES])[:CHARS]
    return _end_sentence(short)


def _end_sentence(text: str) -> str:
    return f"{text}." if text and text[-1].isalnum() else text


def build_prompt(contents: Sequence[str]) -> str:
    """Return the prompt for a session's texts, in order."""
    fenced = wrap_stored(_FENCE, "\n".join(contents))
    return PROMPT.replace("{session_content}", fenced)


def select_fitting(
    texts: Sequence[SessionText], *, each_max: int, chars_max: int
) -> dict[int, str]:
    """Return the texts that fit into a prompt, truncated, by their indexes and in order.

    Active texts are selected first, so that a summary always covers some of them; at least
    one text is selected.

    >>> texts = [SessionText("abcdef"), SessionText("ab"), SessionText("abc")]
    >>> select_fitting(texts, each_max=4, chars_max=8)
    {0: 'abcd', 1: 'ab'}
    """
    texts_by_place: dict[int, str] = {}
    room = chars_max
    for place in sorted(range(len(texts)), key=lambda place: not texts[place].is_active):
        short = texts[place].text[:each_max]
        room -= len(short) + len("\n")
        if texts_by_place and room < 0:
            break
        texts_by_place[place] = short
    return dict(sorted(texts_by_place.items()))


# The task.


class SessionSummary(NamedTuple):
    """A summary, and the memories that it covers."""

    text: str
    members: Sequence[MemberRow]

    @property
    def active_members(self) -> list[MemberRow]:
        """Return the members that this summary hides; the others are hidden already."""
        return [member for member in self.members if _is_active(member)]


@dataclass(frozen=True)
class Compression:
    """Replace the oldest sessions by a few sentences (SPEC 3), one transaction each.

    A summary covers the whole session, including memories that a consolidation has hidden
    already, which stay hidden. A session filed in several places has a summary in
    each of them, except in one where it has a single memory.
    """

    db: Database
    ids: Ids
    counter: TokenCounter
    work: Work
    model: Model | None
    """Writes the summaries; without one they are made by rule."""
    bounds: LLMConsolidationConfig
    """How much of a session one prompt holds."""
    threshold: int
    sessions: int | None = None
    force: bool = False
    name: str = "compression"

    async def plan(self, scope: NightScope, cursor: Cursor, limit: int) -> PlannedStep | None:
        del limit  # a session is one transaction, whole
        done_keys: list[int] = cursor.get("passed", [])
        waiting = await self.db.read(
            groups.list_uncompressed, scope.agent_key, scope.now_us - IDLE_US, done_keys
        )
        left = cursor.get("left", self._session_limit(len(waiting)))
        while left > 0 and waiting:
            session_key = waiting.pop(0)
            done_keys = [*done_keys, session_key]
            members = await self.db.read(groups.list_episodes, session_key)
            parts = [part for part in group_by_place(members) if _needs_summary(part)]
            all_summaries = [await self._summarise_part(part) for part in parts]
            summaries_of_session = [summary for summary in all_summaries if summary.text]
            if summaries_of_session:
                following = {"left": left - 1, "passed": done_keys}
                return self._plan_step(scope, session_key, summaries_of_session, following)
        return None

    async def _summarise_part(self, members: Sequence[MemberRow]) -> SessionSummary:
        texts = [
            SessionText(member.own, _is_active(member), member.origin in _OWN) for member in members
        ]
        text, places = await self._summarise(texts)
        return SessionSummary(text, [members[place] for place in places])

    async def _summarise(self, texts: Sequence[SessionText]) -> tuple[str, Sequence[int]]:
        """Return a summary of *texts*, "" without one, and the indexes of the texts it covers."""
        if self.model is not None:
            texts_by_place = select_fitting(
                texts,
                each_max=self.bounds.max_entry_input_chars,
                chars_max=self.bounds.max_total_user_content_chars,
            )
            answer = await request_answer(
                self.model,
                build_prompt(list(texts_by_place.values())),
                system=untrusted_content_directive((_FENCE,)),
            )
            if answer is not None:
                return answer, list(texts_by_place)
        return await self.work.run(summarise_by_rule, texts), range(len(texts))

    def _session_limit(self, waiting: int) -> int:
        if not self.force and waiting <= self.threshold:
            return 0
        return self.sessions or max(1, self.threshold // 2)

    def _plan_step(
        self,
        scope: NightScope,
        session_key: int,
        summaries_of_session: Sequence[SessionSummary],
        following: Cursor,
    ) -> PlannedStep:
        def apply(conn: Writing, step: RunStep) -> int:
            summaries = []
            for summary in summaries_of_session:
                text, members = summary
                new = new_summary(conn, scope, self.ids, session_key, self.counter.count(text))
                row = summary_row(new, members, text, MemoryCategory.SEMANTIC, (COMPRESSED_TAG,))
                hidden = summary.active_members
                summaries.append(plan_summary(row, members, hidden, ArchiveReason.COMPRESSED))
            hidden_count = write_summaries(conn, step, summaries)
            names.set_compressed(conn, session_key)
            return hidden_count

        rows = sum(len(summary.active_members) for summary in summaries_of_session)
        return PlannedStep(rows, following, apply)


def _is_active(member: MemberRow) -> bool:
    return member.state == MemoryState.ACTIVE


def _needs_summary(part: Sequence[MemberRow]) -> bool:
    return len(part) > 1 and any(map(_is_active, part))
