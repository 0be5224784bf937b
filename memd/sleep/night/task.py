"""The protocol of a night's tasks, and the members of their groups.

The tasks themselves are imported when a night begins. A consolidation first takes
every session by itself, in its order; then the memories of no session, or of one
that has too few: by place, in order of time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from memd.base.limits import NIGHT_PAGE_ROWS
from memd.sleep.strategies.batches import Batch, place_of, split_by_time, split_session
from memd.store.file.connect import Reading
from memd.store.memory import groups
from memd.store.memory.groups import Due, GroupKey, MemberRow

if TYPE_CHECKING:
    from memd.store.file.connect import Writing
    from memd.store.memory.transitions import RunStep


Cursor = dict[str, Any]
"""Where a task continues; stored in the ledger."""


class NightScope(NamedTuple):
    """The agent whose memories a task works on, and the time when the run began."""

    agent_key: int
    agent_id: str
    now_us: int


class PlannedStep(NamedTuple):
    """One transaction of a task: the number of memories it changes, and the next cursor."""

    rows: int
    cursor: Cursor
    apply: Callable[[Writing, RunStep], int]


class NightTask(Protocol):
    """One kind of step of a night."""

    @property
    def name(self) -> str: ...

    async def plan(self, scope: NightScope, cursor: Cursor, limit: int) -> PlannedStep | None:
        """Return the next transaction, of about *limit* memories; None when all is done."""
        ...


_SESSIONS_PAGE = 100
_START = (-1, "")


class Members(NamedTuple):
    """Memories of one session, or of none, that are split into groups.

    *cursor* finds them again while some of them are left, *next_cursor* finds the
    next ones.
    """

    session_key: int | None
    rows: Sequence[MemberRow]
    cursor: Cursor
    next_cursor: Cursor

    def batches(self, threshold: int, count: Callable[[str], int]) -> list[Batch]:
        """Return the groups, each of at least *threshold* members; *count* counts tokens."""
        split_members = split_by_time if self.session_key is None else split_session
        return split_members(self.rows, threshold, count)


def next_members(conn: Reading, due: Due, cursor: Cursor) -> Members | None:
    """Return the next members from *cursor* on; None when there are no more."""
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
    """Return the next page of a place, or of the next place that has enough members."""
    place = GroupKey(*cursor["place"]) if "place" in cursor else None
    after = tuple(cursor.get("after", _START))
    while True:
        rows = (
            []
            if place is None
            else groups.list_loose_members(conn, due, place, after, NIGHT_PAGE_ROWS)
        )
        if place is not None and len(rows) >= due.threshold:
            own_cursor = {"place": list(place), "after": list(after)}
            next_cursor = {**own_cursor, "after": [rows[-1].created_at_us, rows[-1].memory_id]}
            return Members(None, rows, own_cursor, next_cursor)
        place, after = _next_place(groups.list_loose_groups(conn, due), place), _START
        if place is None:
            return None


def _next_place(places: Sequence[GroupKey], last: GroupKey | None) -> GroupKey | None:
    if last is None:
        return places[0] if places else None
    return next((place for place in places if place_of(place) > place_of(last)), None)
