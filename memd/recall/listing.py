"""Read without searching: one memory, pages of memories, preferences, provenance."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic_core import to_json

from memd.base.clock import from_us
from memd.base.errors import cursor_error
from memd.base.limits import PAGE_BYTES_MAX
from memd.domain.caller import Caller
from memd.domain.enums import Origin, RunKind
from memd.domain.memory import MemoryEntry, MemoryFilter, Preference
from memd.domain.recall import CreatingRun, EarlierText, Provenance, SourceMessage
from memd.guard.redaction import redact, redact_entry
from memd.store.access import names
from memd.store.file.connect import Reading
from memd.store.memory import filters, lineage, memories, preferences, shared, versions
from memd.store.memory.rows import StoredMemory
from memd.store.session import turns
from memd.store.session.turns import TurnRow

_CURSOR = re.compile(r"(-?[0-9]{1,18})/([^/]+)")  # 18 digits fit into SQLite's integers
READABLE = frozenset({"active", "pending", "compressed", "archived"})


def find_entry(
    conn: Reading, caller: Caller, memory_id: str, now_us: int, *, shares: bool = False
) -> MemoryEntry | None:
    """Return a memory by id, also a hidden one; None when unknown, foreign, expired or trashed.

    With *shares* also one that any agent shared, under its publisher's name.
    """
    row = _find_readable(conn, caller, memory_id, now_us)
    if row is None and shares:
        row = shared.find_row(conn, memory_id, now_us)
    return None if row is None else redact_entry(row.entry())


def _find_readable(
    conn: Reading, caller: Caller, memory_id: str, now_us: int
) -> StoredMemory | None:
    row = memories.of_agent(conn, caller.agent_id, memory_id)
    if row is None or row.state not in READABLE or row.is_expired(now_us):
        return None
    return row


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which page to list; with *sources*, the sources of a summary in place of the summary.

    Without *passing* turns in passing are left out, with *projectless* what is of a project.
    """

    after: str | None
    limit: int
    sources: bool = False
    passing: bool = True
    projectless: bool = False


def list_page(
    conn: Reading, caller: Caller, where: MemoryFilter, paging: PageRequest, now_us: int
) -> tuple[tuple[MemoryEntry, ...], str | None]:
    """Return a page of matching memories, newest first, and the cursor of the next page.

    With sources, for exports, these are in the order in which they were stored. The page ends
    early, with a cursor, where its texts would exceed one answer.
    """
    place = None if paging.after is None else _parse_cursor(paging.after)
    agent_key = names.find_agent(conn, caller.agent_id)
    if agent_key is None:
        return (), None
    params = filters.bind(agent_key, where, now_us, active=caller)
    if paging.sources:
        params = filters.bind_search(params, hidden=False)
    if not paging.passing:
        params = filters.without_passing(params)
    if paging.projectless:
        params = filters.without_project(params)
    by_event = not paging.sources
    rows = memories.list_page(conn, params, paging.limit + 1, place, by_event=by_event)
    count = min(paging.limit, _count_fitting(rows))
    entries = tuple(redact_entry(row.entry()) for row in rows[:count])
    return entries, _cursor(rows[count - 1], by_event=by_event) if len(rows) > count else None


def _count_fitting(rows: Sequence[StoredMemory]) -> int:
    """Return how many of *rows* fit one answer; one always does."""
    left = PAGE_BYTES_MAX
    for count, row in enumerate(rows):
        left -= len(to_json(row.content))
        if left < 0:
            return max(1, count)
    return len(rows)


def _cursor(row: StoredMemory, *, by_event: bool) -> str:
    is_known = by_event and row.occurred_at_us is not None
    return f"{row.occurred_at_us if is_known else row.created_at_us}/{row.memory_id}"


def _parse_cursor(cursor: str) -> tuple[int, str]:
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise cursor_error()
    return int(match[1]), match[2]


def list_preferences(conn: Reading, caller: Caller, now_us: int) -> tuple[Preference, ...]:
    """Return the agent's preferences, newest first."""
    agent_key = names.agent_key(conn, caller.agent_id)
    return tuple(
        Preference(
            name=row.name,
            value=redact(row.value),
            confidence=row.confidence,
            memory_id=row.memory_id,
            updated_at=from_us(row.updated_at_us),
            origin=Origin(row.origin),
            client=row.client,
            confirmed=row.confirmed_at_us is not None,
            project_id=row.project_id,
        )
        for row in preferences.list_preferences(conn, agent_key, now_us)
    )


TURN_CHARS_MAX = 400
SOURCES_MAX = 50
EARLIER_MAX = 10


def find_provenance(
    conn: Reading, caller: Caller, memory_id: str, now_us: int, *, full: bool
) -> Provenance | None:
    """Return what made a memory of the caller's agent, and its earlier texts, or None.

    Each message is cut to TURN_CHARS_MAX unless *full*.
    """
    row = _find_readable(conn, caller, memory_id, now_us)
    if row is None:
        return None
    run = turns.find_run(conn, row.memory_key)
    keys = lineage.list_sources(conn, row.memory_key)
    rows = memories.by_keys(conn, keys[:SOURCES_MAX])
    return Provenance(
        memory=redact_entry(row.entry()),
        client=turns.find_client(conn, row.memory_key),
        made_by=None
        if run is None
        else CreatingRun(run_id=run[0], kind=RunKind(run[1]), at=from_us(run[2])),
        turns=tuple(_turn(turn, full=full) for turn in turns.turns_of(conn, row.memory_key)),
        sources=tuple(redact_entry(rows[key].entry()) for key in keys[:SOURCES_MAX] if key in rows),
        sources_left=max(0, len(keys) - SOURCES_MAX),
        earlier=tuple(
            EarlierText(content=redact(text), replaced_at=from_us(replaced_at_us))
            for text, replaced_at_us in versions.list_texts(conn, row.memory_key, EARLIER_MAX)
        ),
    )


def _turn(row: TurnRow, *, full: bool) -> SourceMessage:
    if row.text is None:
        is_damaged = row.at_us is not None  # else it is deleted
        at = from_us(row.at_us)
        return SourceMessage(ordinal=row.place, role=row.role, at=at, damaged=is_damaged)
    text = redact(row.text)
    whole = full or len(text) <= TURN_CHARS_MAX
    return SourceMessage(
        ordinal=row.place,
        role=row.role,
        at=from_us(row.at_us),
        text=text if whole else text[: TURN_CHARS_MAX - 1] + "…",
        whole=whole,
    )
