"""The steps of a night: each finds what is due and plans how to do it.

A task never writes. It plans one small transaction at a time from the end of the
last one (its *cursor*, stored in the ledger), so a killed night resumes where it
was; the transaction checks the plan again before it applies it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memd.base.clock import DAY_US
from memd.base.ids import Ids
from memd.base.work import Work
from memd.domain.encoding import TokenCounter
from memd.domain.enums import ArchiveReason, MemoryCategory, MemoryState
from memd.sleep.night.task import Cursor, NightScope, PlannedStep, next_members
from memd.sleep.strategies import compression
from memd.sleep.strategies.batches import Batch, NewSummary, group_by_place, summary_row
from memd.sleep.strategies.compression import SessionText
from memd.sleep.strategies.operations import CondensedGroup, ConsolidationOp, GroupMember
from memd.store.access import names
from memd.store.file.connect import Writing
from memd.store.file.database import Database
from memd.store.memory import groups, transitions
from memd.store.memory.groups import Due, MemberRow
from memd.store.memory.rows import MemoryRow
from memd.store.memory.transitions import PlannedSummary, RunStep

HOUR_US = 3_600_000_000
AGE_US_MIN = DAY_US  # younger memories are not consolidated (SPEC D9)
IDLE_US = 6 * HOUR_US  # a session that is quiet for longer has ended (SPEC D2)
CLIENT = "memd"

Context = Callable[[int], Awaitable[Sequence[str]]]
"""Returns summaries of an agent's latest tasks."""
Cutoffs = Callable[[str, int], Awaitable[Mapping[MemoryCategory, int]]]
"""Returns, for an agent at a time, the oldest time that each category keeps."""


@dataclass(frozen=True)
class Retention:
    """Move memories older than their category allows to the trash (SPEC 16.4, D21)."""

    db: Database
    cutoffs_us: Cutoffs
    undo_us: int
    name: str = "retention"

    async def plan(self, scope: NightScope, cursor: Cursor, limit: int) -> PlannedStep | None:
        cutoffs = await self.cutoffs_us(scope.agent_id, scope.now_us)
        if not cutoffs:
            return None
        keys = await self.db.read(
            groups.list_past_retention, scope.agent_key, cutoffs, cursor.get("after", 0), limit
        )
        if not keys:
            return None
        return PlannedStep(
            len(keys),
            {"after": keys[-1]},
            lambda conn, step: transitions.trash_expired(conn, step, keys, self.undo_us),
        )


@dataclass(frozen=True)
class Consolidation:
    """Summarise groups of old memories, which are then hidden behind the summary (SPEC 16.5, D9).

    Sessions first, each by itself; then memories of no session, by place and time.
    """

    db: Database
    ids: Ids
    work: Work
    counter: TokenCounter
    operation: ConsolidationOp
    threshold: int
    context: Context | None = None
    """Context for a language model, read once for each transaction."""
    name: str = "consolidation"

    async def plan(self, scope: NightScope, cursor: Cursor, limit: int) -> PlannedStep | None:
        due = Due(scope.agent_key, scope.now_us - AGE_US_MIN, self.threshold)
        while True:
            group = await self.db.read(next_members, due, cursor)
            if group is None:
                return None
            batches = await self.work.run(group.batches, self.threshold, self.counter.count)
            if batches:
                break
            cursor = group.next_cursor
        batches_now = _take_batches(batches, limit)
        context = () if self.context is None else await self.context(scope.agent_key)
        condensations = [(batch, await self._condense(batch, context)) for batch in batches_now]
        tokens = await self.work.run(
            lambda: [self.counter.count(condensed.text) for _, condensed in condensations]
        )

        def apply(conn: Writing, step: RunStep) -> int:
            summaries = []
            for (batch, condensed), count in zip(condensations, tokens, strict=True):
                hidden = batch.select_removed(condensed.removable_ids)
                if not hidden:
                    continue  # too long for a summary
                sources = [
                    member for member in batch.members if member in hidden or member is batch.kept
                ]
                new = new_summary(conn, scope, self.ids, group.session_key, count)
                row = summary_row(new, sources, condensed.text, batch.category, condensed.tags)
                summaries.append(_plan_summary(row, sources, hidden, ArchiveReason.CONSOLIDATED))
            return _write_summaries(conn, step, summaries)

        is_reduced = any(condensed.removable_ids for _, condensed in condensations)
        has_more = is_reduced and len(batches_now) < len(batches)
        rows = sum(len(batch.to_remove) for batch in batches_now)
        return PlannedStep(rows, group.cursor if has_more else group.next_cursor, apply)

    async def _condense(self, batch: Batch, context: Sequence[str]) -> CondensedGroup:
        members = [GroupMember(member.memory_id, member.own) for member in batch.to_remove]
        kept = GroupMember(batch.kept.memory_id, batch.kept.own)
        return await self.operation.condense(batch.category, members, kept=kept, context=context)


def _take_batches(batches: Sequence[Batch], limit: int) -> list[Batch]:
    """Return the first of *batches*: about *limit* memories in all, at least one batch."""
    batches_now: list[Batch] = []
    rows = 0
    for batch in batches:
        if batches_now and rows + len(batch.members) > limit:
            break
        batches_now.append(batch)
        rows += len(batch.members)
    return batches_now


def new_summary(
    conn: Writing, scope: NightScope, ids: Ids, session_key: int | None, tokens: int
) -> NewSummary:
    """Return the columns of a new summary for *scope*; creates the row of memd's own client."""
    return NewSummary(
        memory_id=ids.new(),
        salt=ids.salt(),
        agent_key=scope.agent_key,
        session_key=session_key,
        client_key=names.ensure_client(conn, CLIENT, scope.now_us),
        token_count=max(1, tokens),
        now_us=scope.now_us,
    )


def _plan_summary(
    row: MemoryRow,
    sources: Sequence[MemberRow],
    hidden: Sequence[MemberRow],
    reason: ArchiveReason,
) -> tuple[PlannedSummary, list[transitions.PlannedRow]]:
    """Return a summary to write, and the state that its sources must still have."""
    summary = PlannedSummary(
        row,
        [source.memory_key for source in sources],
        [source.memory_key for source in hidden],
        reason,
    )
    planned_rows = [
        transitions.PlannedRow(source.memory_key, source.row_hash, source.state)
        for source in sources
    ]
    return summary, planned_rows


def _write_summaries(
    conn: Writing,
    step: RunStep,
    planned: Sequence[tuple[PlannedSummary, list[transitions.PlannedRow]]],
) -> int:
    """Write the summaries whose sources are unchanged; return the number of rows hidden."""
    summaries = [
        summary for summary, planned_rows in planned if transitions.is_unchanged(conn, planned_rows)
    ]
    if summaries:
        transitions.summarise(conn, step, summaries)
    return sum(len(summary.hidden) for summary in summaries)


Summarise = Callable[[Sequence[SessionText]], Awaitable[tuple[str, Sequence[int]]]]
"""Returns a summary of the texts, "" without one, and the indexes of the texts it covers."""


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
    summarise: Summarise
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
        texts = [SessionText(member.own, is_active=_is_active(member)) for member in members]
        text, places = await self.summarise(texts)
        return SessionSummary(text, [members[place] for place in places])

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
                row = summary_row(new, members, text, MemoryCategory.SEMANTIC, (compression.TAG,))
                hidden = summary.active_members
                summaries.append(_plan_summary(row, members, hidden, ArchiveReason.COMPRESSED))
            hidden_count = _write_summaries(conn, step, summaries)
            names.set_compressed(conn, session_key)
            return hidden_count

        rows = sum(len(summary.active_members) for summary in summaries_of_session)
        return PlannedStep(rows, following, apply)


def _is_active(member: MemberRow) -> bool:
    return member.state == MemoryState.ACTIVE


def _needs_summary(part: Sequence[MemberRow]) -> bool:
    return len(part) > 1 and any(map(_is_active, part))


@dataclass(frozen=True)
class Ageing:
    """Archive memories that were consolidated long ago (SPEC D9)."""

    db: Database
    age_us: int
    name: str = "ageing"

    async def plan(self, scope: NightScope, cursor: Cursor, limit: int) -> PlannedStep | None:
        keys = await self.db.read(
            groups.list_due_for_archive,
            scope.agent_key,
            scope.now_us - self.age_us,
            cursor.get("after", 0),
            limit,
        )
        if not keys:
            return None

        return PlannedStep(
            len(keys),
            {"after": keys[-1]},
            lambda conn, step: transitions.archive_compressed(conn, step, keys),
        )


@dataclass(frozen=True)
class Cap:
    """Archive the oldest memories of an agent that has more than it may (SPEC 16.3.7, D21)."""

    db: Database
    memories_max: int
    name: str = "cap"

    async def plan(self, scope: NightScope, cursor: Cursor, limit: int) -> PlannedStep | None:
        left = cursor.get("left")
        if left is None:
            left = await self.db.read(groups.count_visible, scope.agent_key) - self.memories_max
        if left <= 0:
            return None
        count = min(limit, left)
        keys = await self.db.read(groups.list_oldest, scope.agent_key, count)
        if not keys:
            return None
        # Fewer keys than asked for: the remaining memories may not be archived.
        left = left - len(keys) if len(keys) == count else 0

        def apply(conn: Writing, step: RunStep) -> int:
            return transitions.hide(conn, step, keys, ArchiveReason.CAP, MemoryState.ARCHIVED)

        return PlannedStep(len(keys), {"left": left}, apply)
