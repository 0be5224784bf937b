"""Consolidate groups of old memories: summarise each and hide its members (SPEC 16.5, D9).

First each session is consolidated by itself, in its order. Then memories of no session are, by
place and source, in order of time. Sessions and sources with too few memories are not changed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memd.base.clock import DAY_US
from memd.base.ids import Ids
from memd.base.limits import NIGHT_PAGE_ROWS
from memd.base.work import Work
from memd.domain.encoding import TokenCounter
from memd.domain.enums import ArchiveReason, Origin
from memd.domain.trust import TALKS
from memd.extract.passing import passing_kind
from memd.sleep.night.tasks import (
    Cursor,
    NightScope,
    PlannedStep,
    new_summary,
    plan_summary,
    write_summaries,
)
from memd.sleep.strategies.batches import (
    Batch,
    place_of,
    split_by_source,
    split_session,
    summary_row,
)
from memd.sleep.strategies.operations import CondensedGroup, ConsolidationOp, GroupMember
from memd.store.file.connect import Reading, Writing
from memd.store.file.database import Database
from memd.store.memory import groups
from memd.store.memory.groups import Due, GroupKey, MemberRow
from memd.store.memory.transitions import RunStep
from memd.text.words import sentences

AGE_US_MIN = DAY_US  # younger memories are not consolidated (SPEC D9)
_SESSIONS_PAGE = 100
_START = (-1, "")  # before the creation time and id of any memory

Context = Callable[[int], Awaitable[Sequence[str]]]
"""Returns summaries of the latest tasks of an agent, given by its key."""


@dataclass(frozen=True)
class Consolidation:
    """The task that consolidates groups of old memories."""

    db: Database
    ids: Ids
    work: Work
    counter: TokenCounter
    operation: ConsolidationOp
    threshold: int
    context: Context | None = None
    """Context for a language model, read once for each transaction."""
    chars_max: int | None = None
    """Longer memories are not consolidated: the summary would have only their beginnings."""
    name: str = "consolidation"

    async def plan(self, scope: NightScope, cursor: Cursor, limit: int) -> PlannedStep | None:
        due = Due(scope.agent_key, scope.now_us - AGE_US_MIN, self.threshold)
        while True:
            group = await self.db.read(next_members, due, cursor)
            if group is None:
                return None
            group = group.shorter_than(self.chars_max)
            batches = await self.work.run(group.batches, self.threshold, self.counter.count)
            if batches:
                break
            cursor = group.next_cursor
        step_batches = _take_batches(batches, limit)
        context = () if self.context is None else await self.context(scope.agent_key)
        of_session = group.session_key is not None
        condensations = [
            (batch, await self._condense(batch, context, of_session=of_session))
            for batch in step_batches
        ]
        tokens = await self.work.run(
            lambda: [self.counter.count(condensed.text) for _, condensed in condensations]
        )

        def apply(conn: Writing, step: RunStep) -> int:
            summaries = []
            for (batch, condensed), count in zip(condensations, tokens, strict=True):
                hidden = batch.select_removed(condensed.removable_ids)
                if not hidden:
                    continue  # no member fits into a summary
                sources = [
                    member
                    for member in batch.members
                    if member in hidden or member is batch.visible
                ]
                new = new_summary(conn, scope, self.ids, group.session_key, count)
                row = summary_row(new, sources, condensed.text, batch.category, condensed.tags)
                summaries.append(plan_summary(row, sources, hidden, ArchiveReason.CONSOLIDATED))
            return write_summaries(conn, step, summaries)

        is_reduced = any(condensed.removable_ids for _, condensed in condensations)
        has_more = is_reduced and len(step_batches) < len(batches)
        rows = sum(len(batch.to_remove) for batch in step_batches)
        return PlannedStep(rows, group.cursor if has_more else group.next_cursor, apply)

    async def _condense(
        self, batch: Batch, context: Sequence[str], *, of_session: bool
    ) -> CondensedGroup:
        is_list = self.chars_max is not None and of_session
        members = [
            GroupMember(member.memory_id, stated_line(member) if is_list else member.text)
            for member in batch.to_remove
        ]
        kept = GroupMember(batch.visible.memory_id, batch.visible.text)
        return await self.operation.condense(batch.category, members, kept=kept, context=context)


def stated_line(member: MemberRow) -> str:
    """Return the statements of a turn in one line, for a listing (decision 0364).

    Its questions and requests are left out. A turn without statements is returned whole.
    """
    origin = Origin(member.origin)
    text = " ".join(member.text.split())
    if origin not in TALKS or member.reference is not None:
        return text
    by_assistant = origin is Origin.ASSISTANT
    statements = [
        sentence
        for sentence in sentences(text)
        if passing_kind(sentence, by_assistant=by_assistant) is None
    ]
    return " ".join(statements) or text


def _take_batches(batches: Sequence[Batch], limit: int) -> list[Batch]:
    """Return the first *batches*, of at most *limit* memories in all, but at least one batch."""
    step_batches: list[Batch] = []
    rows = 0
    for batch in batches:
        if step_batches and rows + len(batch.members) > limit:
            break
        step_batches.append(batch)
        rows += len(batch.members)
    return step_batches


class Members(NamedTuple):
    """Memories of one session, or of no session, that are split into batches.

    *cursor* finds them again while some are not consolidated, *next_cursor* finds the next ones.
    """

    session_key: int | None
    rows: Sequence[MemberRow]
    cursor: Cursor
    next_cursor: Cursor

    def shorter_than(self, chars_max: int | None) -> Members:
        """Return these without the members of more than *chars_max* characters."""
        if chars_max is None:
            return self
        return self._replace(rows=[row for row in self.rows if len(row.text) <= chars_max])

    def batches(self, threshold: int, count: Callable[[str], int]) -> list[Batch]:
        """Return the batches, each of at least *threshold* members; *count* counts tokens."""
        split_members = split_by_source if self.session_key is None else split_session
        return split_members(self.rows, threshold, count)


def next_members(conn: Reading, due: Due, cursor: Cursor) -> Members | None:
    """Return the next members from *cursor* on; None if there are no more."""
    if "place" not in cursor:
        group = _session_members(conn, due, cursor.get("session", 0))
        if group is not None:
            return group
    return _place_members(conn, due, cursor)


def _session_members(conn: Reading, due: Due, start: int) -> Members | None:
    """Return the members of the next session that has enough, from session key *start* on."""
    while True:
        keys = groups.list_sessions(conn, due.agent_key, start, limit=_SESSIONS_PAGE)
        if not keys:
            return None
        for key in keys:
            members = groups.list_members(conn, key, due.before_us)
            if len(members) >= due.threshold:
                return Members(key, members, {"session": key}, {"session": key + 1})
        start = keys[-1] + 1


def _place_members(conn: Reading, due: Due, cursor: Cursor) -> Members | None:
    """Return the next page of members of a place, or of the next place that has enough."""
    place = GroupKey(*cursor["place"]) if "place" in cursor else None
    after = tuple(cursor.get("after", _START))
    while True:
        rows = (
            []
            if place is None
            else groups.list_loose_members(conn, due, place, after, NIGHT_PAGE_ROWS)
        )
        if place is not None and len(rows) >= due.threshold:
            page_cursor = {"place": list(place), "after": list(after)}
            next_cursor = {**page_cursor, "after": [rows[-1].created_at_us, rows[-1].memory_id]}
            return Members(None, rows, page_cursor, next_cursor)
        place, after = _next_place(groups.list_loose_groups(conn, due), place), _START
        if place is None:
            return None


def _next_place(places: Sequence[GroupKey], last: GroupKey | None) -> GroupKey | None:
    if last is None:
        return places[0] if places else None
    return next((place for place in places if place_of(place) > place_of(last)), None)
