"""The steps of a night: each finds what is due, and says how it would be done.

A task never writes. It plans one small transaction at a time from where the last
one ended (its *cursor*, kept in the ledger), so a killed night goes on where it
was; the plan is checked again inside the transaction that carries it out.
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
from memd.sleep.strategies.batches import Batch, NewSummary, alike, summary_row
from memd.sleep.strategies.compression import SessionText
from memd.sleep.strategies.operations import Condensed, ConsolidationOp, GroupMember
from memd.store.access import names
from memd.store.file.connect import Writing
from memd.store.file.database import Database
from memd.store.memory import groups, transitions
from memd.store.memory.groups import Due, MemberRow
from memd.store.memory.rows import MemoryRow
from memd.store.memory.transitions import PlannedSummary, RunStep

HOUR_US = 3_600_000_000
AGE_US_MIN = DAY_US  # what is younger is not consolidated (SPEC D9)
IDLE_US = 6 * HOUR_US  # a session that was quiet for so long has ended (SPEC D2)
CLIENT = "memd"

Context = Callable[[int], Awaitable[Sequence[str]]]
"""Of an agent: how its latest tasks went."""
Cutoffs = Callable[[str, int], Awaitable[Mapping[MemoryCategory, int]]]
"""Of an agent, at a time: from when on each category is kept."""


@dataclass(frozen=True)
class Retention:
    """Throw away what its category keeps no longer (SPEC 16.4, D21)."""

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
    """Put summaries in front of old memories, which stay behind them (SPEC 16.5, D9).

    Sessions first, each on its own; then what no session lists, by place and time.
    """

    db: Database
    ids: Ids
    work: Work
    counter: TokenCounter
    operation: ConsolidationOp
    threshold: int
    context: Context | None = None
    """What helps a language model to understand, read once for each transaction."""
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
            cursor = group.following
        some = _some(batches, limit)
        context = () if self.context is None else await self.context(scope.agent_key)
        ready = [(batch, await self._condensed(batch, context)) for batch in some]
        tokens = await self.work.run(
            lambda: [self.counter.count(condensed.text) for _, condensed in ready]
        )

        def apply(conn: Writing, step: RunStep) -> int:
            summaries = []
            for (batch, condensed), count in zip(ready, tokens, strict=True):
                gone = batch.those(condensed.removable_ids)
                if not gone:
                    continue  # too long to be shortened
                sources = [each for each in batch.members if each in gone or each is batch.kept]
                made = new_summary(conn, scope, self.ids, group.session_key, count)
                row = summary_row(made, sources, condensed.text, batch.category, condensed.tags)
                summaries.append(_summary(row, sources, gone, ArchiveReason.CONSOLIDATED))
            return _summarise(conn, step, summaries)

        done = any(condensed.removable_ids for _, condensed in ready)
        more = done and len(some) < len(batches)
        rows = sum(len(batch.removed) for batch in some)
        return PlannedStep(rows, group.here if more else group.following, apply)

    async def _condensed(self, batch: Batch, context: Sequence[str]) -> Condensed:
        members = [GroupMember(each.memory_id, each.own) for each in batch.removed]
        kept = GroupMember(batch.kept.memory_id, batch.kept.own)
        return await self.operation.condense(batch.category, members, kept=kept, context=context)


def _some(batches: Sequence[Batch], limit: int) -> list[Batch]:
    """Return the first of *batches*, of about *limit* memories in all, but one at least."""
    some: list[Batch] = []
    rows = 0
    for batch in batches:
        if some and rows + len(batch.members) > limit:
            break
        some.append(batch)
        rows += len(batch.members)
    return some


def new_summary(
    conn: Writing, scope: NightScope, ids: Ids, session_key: int | None, tokens: int
) -> NewSummary:
    return NewSummary(
        memory_id=ids.new(),
        salt=ids.salt(),
        agent_key=scope.agent_key,
        session_key=session_key,
        client_key=names.client(conn, CLIENT, scope.now_us),
        token_count=max(1, tokens),
        now_us=scope.now_us,
    )


def _summary(
    row: MemoryRow,
    sources: Sequence[MemberRow],
    hidden: Sequence[MemberRow],
    reason: ArchiveReason,
) -> tuple[PlannedSummary, list[transitions.PlannedRow]]:
    """Return a summary to be made, and what its sources must still be."""
    summary = PlannedSummary(
        row, [each.memory_key for each in sources], [each.memory_key for each in hidden], reason
    )
    were = [transitions.PlannedRow(each.memory_key, each.row_hash, each.state) for each in sources]
    return summary, were


def _summarise(
    conn: Writing,
    step: RunStep,
    planned: Sequence[tuple[PlannedSummary, list[transitions.PlannedRow]]],
) -> int:
    """Carry out what none of whose memories was touched since; returns the rows hidden."""
    ready = [summary for summary, were in planned if transitions.is_unchanged(conn, were)]
    if ready:
        transitions.summarise(conn, step, ready)
    return sum(len(summary.hidden) for summary in ready)


Shorten = Callable[[Sequence[SessionText]], Awaitable[tuple[str, Sequence[int]]]]
"""Of what was told: a summary, empty when there is none, and the places of what it is of."""


class Short(NamedTuple):
    """A summary, and the memories that it is of."""

    text: str
    members: Sequence[MemberRow]

    @property
    def left_over(self) -> list[MemberRow]:
        """Return those that are to be put behind it; the others have a list in front."""
        return [member for member in self.members if _is_left_over(member)]


@dataclass(frozen=True)
class Compression:
    """Put a few sentences in place of the oldest sessions (SPEC 3), one transaction each.

    A summary is of the whole session, also of what a consolidation has put behind a list
    before, which stays there. A session that was filed in several places has a summary in
    each of them; where it has one memory alone it has none.
    """

    db: Database
    ids: Ids
    counter: TokenCounter
    shorten: Shorten
    threshold: int
    sessions: int | None = None
    force: bool = False
    name: str = "compression"

    async def plan(self, scope: NightScope, cursor: Cursor, limit: int) -> PlannedStep | None:
        del limit  # a session is one transaction, whole
        passed: list[int] = cursor.get("passed", [])
        waiting = await self.db.read(
            groups.list_uncompressed, scope.agent_key, scope.now_us - IDLE_US, passed
        )
        left = cursor.get("left", self._how_many(len(waiting)))
        while left > 0 and waiting:
            session_key = waiting.pop(0)
            passed = [*passed, session_key]
            members = await self.db.read(groups.list_episodes, session_key)
            parts = [part for part in alike(members) if _needs_a_summary(part)]
            all_shorts = [await self._short(part) for part in parts]
            shorts = [short for short in all_shorts if short.text]
            if shorts:
                following = {"left": left - 1, "passed": passed}
                return self._planned(scope, session_key, shorts, following)
        return None

    async def _short(self, members: Sequence[MemberRow]) -> Short:
        texts = [SessionText(member.own, left_over=_is_left_over(member)) for member in members]
        text, places = await self.shorten(texts)
        return Short(text, [members[place] for place in places])

    def _how_many(self, waiting: int) -> int:
        if not self.force and waiting <= self.threshold:
            return 0
        return self.sessions or max(1, self.threshold // 2)

    def _planned(
        self, scope: NightScope, session_key: int, shorts: Sequence[Short], following: Cursor
    ) -> PlannedStep:
        def apply(conn: Writing, step: RunStep) -> int:
            summaries = []
            for short in shorts:
                text, members = short
                made = new_summary(conn, scope, self.ids, session_key, self.counter.count(text))
                row = summary_row(made, members, text, MemoryCategory.SEMANTIC, (compression.TAG,))
                hidden = short.left_over
                summaries.append(_summary(row, members, hidden, ArchiveReason.COMPRESSED))
            done = _summarise(conn, step, summaries)
            names.set_compressed(conn, session_key)
            return done

        rows = sum(len(short.left_over) for short in shorts)
        return PlannedStep(rows, following, apply)


def _is_left_over(member: MemberRow) -> bool:
    return member.state == MemoryState.ACTIVE


def _needs_a_summary(part: Sequence[MemberRow]) -> bool:
    return len(part) > 1 and any(map(_is_left_over, part))


@dataclass(frozen=True)
class Ageing:
    """Move what was consolidated long ago to the archive (SPEC D9)."""

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
    """Put the oldest away when an agent has more memories than it may (SPEC 16.3.7, D21)."""

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
        left = left - len(keys) if len(keys) == count else 0  # what is left may not be put away

        def apply(conn: Writing, step: RunStep) -> int:
            return transitions.hide(conn, step, keys, ArchiveReason.CAP, MemoryState.ARCHIVED)

        return PlannedStep(len(keys), {"left": left}, apply)
