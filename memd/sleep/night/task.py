"""What a night needs to know of its tasks; the tasks themselves are read when one begins.

A consolidation takes first every session on its own, in its order. Then what no session
will list, which belongs to none or to one that has too few: by place, in order of time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from memd.base.limits import NIGHT_PAGE_ROWS
from memd.sleep.strategies.batches import Batch, cut, cut_by_time
from memd.store.file.connect import Reading
from memd.store.memory import groups
from memd.store.memory.groups import Due, GroupKey, MemberRow

if TYPE_CHECKING:
    from memd.store.file.connect import Writing
    from memd.store.memory.transitions import RunStep


Cursor = dict[str, Any]
"""Where a task goes on; kept in the ledger."""


class NightScope(NamedTuple):
    """Whose memories a task works on, and when the run began."""

    agent_key: int
    agent_id: str
    now_us: int


class PlannedStep(NamedTuple):
    """One transaction of a task: how many memories it changes, and where the next one begins."""

    rows: int
    cursor: Cursor
    apply: Callable[[Writing, RunStep], int]


class NightTask(Protocol):
    """One kind of step."""

    @property
    def name(self) -> str: ...

    async def plan(self, scope: NightScope, cursor: Cursor, limit: int) -> PlannedStep | None:
        """Return the next transaction, of about *limit* memories; None when all is done."""
        ...


_SESSIONS_AT_ONCE = 100
_START = (-1, "")


class Members(NamedTuple):
    """Memories from which groups are cut, of one session or of none.

    *here* is where they are found again as long as some of them are left, *following*
    where the next ones are.
    """

    session_key: int | None
    rows: Sequence[MemberRow]
    here: Cursor
    following: Cursor

    def batches(self, threshold: int, count: Callable[[str], int]) -> list[Batch]:
        """Return the groups, each of at least *threshold*; *count* counts tokens."""
        how = cut_by_time if self.session_key is None else cut
        return how(self.rows, threshold, count)


def next_members(conn: Reading, due: Due, cursor: Cursor) -> Members | None:
    """Return the next memories from *cursor* on; None when there are no more."""
    if "place" not in cursor:
        group = _of_a_session(conn, due, cursor.get("session", 0))
        if group is not None:
            return group
    return _of_a_place(conn, due, cursor)


def _of_a_session(conn: Reading, due: Due, start: int) -> Members | None:
    """Return those of the next session with enough of them, from session key *start* on."""
    while True:
        keys = groups.list_sessions(conn, due.agent_key, start, limit=_SESSIONS_AT_ONCE)
        if not keys:
            return None
        for key in keys:
            members = groups.list_members(conn, key, due.before_us)
            if len(members) >= due.threshold:
                return Members(key, members, {"session": key}, {"session": key + 1})
        start = keys[-1] + 1


def _of_a_place(conn: Reading, due: Due, cursor: Cursor) -> Members | None:
    """Return those of the next page of a place, or of the next place with enough of them."""
    place = GroupKey(*cursor["place"]) if "place" in cursor else None
    after = tuple(cursor.get("after", _START))
    while True:
        rows = (
            []
            if place is None
            else groups.list_loose_members(conn, due, place, after, NIGHT_PAGE_ROWS)
        )
        if place is not None and len(rows) >= due.threshold:
            here = {"place": list(place), "after": list(after)}
            following = {**here, "after": [rows[-1].created_at_us, rows[-1].memory_id]}
            return Members(None, rows, here, following)
        place, after = _after(groups.list_loose_groups(conn, due), place), _START
        if place is None:
            return None


def _after(places: Sequence[GroupKey], last: GroupKey | None) -> GroupKey | None:
    if last is None:
        return places[0] if places else None
    return next((place for place in places if _named(place) > _named(last)), None)


def _named(place: GroupKey) -> tuple[str, str, str, int]:
    return place.category, place.namespace, place.level, place.project_key or 0
