"""Flag suspicious memories, quarantine and release them.

A row of table ``flagged`` has the flags of a memory. With ``state_before`` the memory is, or was,
in quarantine: stored unchanged, but in no search, listing, summary or graph edge. A quarantined
memory has no vector and no share in a centroid; after its release the embedding queue makes both,
as for a new memory.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from memd.base.limits import BURST_ITEMS_MAX
from memd.domain.enums import MemoryState
from memd.domain.trust import Flag
from memd.store.access import changes, names
from memd.store.file.connect import Reading, Writing
from memd.store.memory import memories
from memd.store.memory.rows import hash_row, read_hashed
from memd.store.org import extraction
from memd.store.search import centroids


class FlaggedRow(NamedTuple):
    """The flags of a memory, the client that stored it, and when it was flagged and released."""

    memory_key: int
    memory_id: str
    agent_id: str
    state: str
    flags: str
    client: str | None
    flagged_at_us: int
    released_at_us: int | None


def flag(
    conn: Writing, key: int, flags: Sequence[Flag], before: MemoryState | None, now_us: int
) -> None:
    """Flag a memory; *before* is the state that a release gives it, None when not quarantined.

    The audit records it under the memory's salt.
    """
    value = json.dumps(sorted(flags))
    row = {"memory_key": key, "flags": value, "state_before": before, "flagged_at_us": now_us}
    conn.put("flagged", {**row, "released_at_us": None}, "memory_key")
    changes.touch(conn, read_hashed(conn, key).salt, hash_row(("flagged", key, value, before), ()))


def quarantine(conn: Writing, key: int, flags: Sequence[Flag], now_us: int) -> None:
    """Quarantine a visible memory; deletes its vector, graph edges and share in the centroids."""
    centroids.subtract(conn, [key])
    memories.set_state(conn, [key], MemoryState.QUARANTINED, now_us)
    conn.execute("DELETE FROM embedding WHERE memory_key = :key", {"key": key})
    extraction.requeue(conn, key)
    flag(conn, key, flags, MemoryState.PENDING, now_us)


def release(conn: Writing, key: int, now_us: int) -> bool:
    """Release a memory from quarantine; False when it is not there. Keeps its trust."""
    before = conn.get_text(
        """
        SELECT f.state_before
          FROM flagged AS f
               JOIN memory AS m ON m.memory_key = f.memory_key
         WHERE f.memory_key = :key AND m.state = 'quarantined'
        """,
        {"key": key},
    )
    if before is None:
        return False
    conn.execute(
        "UPDATE flagged SET released_at_us = :now_us WHERE memory_key = :key",
        {"now_us": now_us, "key": key},
    )
    memories.set_state(conn, [key], MemoryState(before), now_us)
    extraction.requeue(conn, key)
    return True


def is_released(conn: Reading, key: int) -> bool:
    """Return whether the owner released the memory; it is then never quarantined automatically."""
    return conn.exists(
        "SELECT released_at_us IS NOT NULL FROM flagged WHERE memory_key = :key", {"key": key}
    )


def count_recent_external(conn: Reading, agent_key: int, client_key: int, since_us: int) -> int:
    """Return how many texts of tools and web pages a client stored after *since_us*.

    Counts all sessions, since a client may name any, among the agent's newest
    4 * BURST_ITEMS_MAX memories.
    """
    return conn.get_count(
        """
        SELECT count(*)
          FROM (SELECT client_key, origin, part, batch
                  FROM memory
                 WHERE agent_key = :agent_key AND created_at_us > :since_us
                 ORDER BY created_at_us DESC
                 LIMIT :most)
         WHERE client_key = :client_key
           AND origin IN ('tool', 'web') AND part = 0 AND batch IS NULL
        """,
        {
            "agent_key": agent_key,
            "client_key": client_key,
            "since_us": since_us,
            "most": 4 * BURST_ITEMS_MAX,
        },
    )


_COLUMNS = """
SELECT m.memory_key, m.memory_id, coalesce(p.agent_id, a.agent_id), m.state, f.flags,
       c.client_id, f.flagged_at_us, f.released_at_us
  FROM flagged AS f
       JOIN memory AS m ON m.memory_key = f.memory_key
       JOIN agent AS a ON a.agent_key = m.agent_key
       LEFT JOIN client AS c ON c.client_key = m.client_key
       LEFT JOIN shared AS h ON h.memory_key = m.memory_key
       LEFT JOIN agent AS p ON p.agent_key = h.publisher_key
"""


def get(conn: Reading, key: int) -> FlaggedRow | None:
    """Return the flags of a memory, None when it has none."""
    return conn.find_row(FlaggedRow, f"{_COLUMNS} WHERE f.memory_key = :key", {"key": key})


def list_page(
    conn: Reading, agent_key: int | None, after: str | None, limit: int, *, quarantined: bool
) -> list[FlaggedRow]:
    """Return up to *limit* flagged memories, newest first, without those in the trash.

    *agent_key* selects the memories of an agent and those that it shared; None means all agents.
    *after* is the memory id that the previous page ended with; InvalidError if it is not an id.
    With *quarantined* only memories in quarantine are returned.
    """
    names.check_cursor(conn, after)
    return conn.list_rows(
        FlaggedRow,
        f"""
        {_COLUMNS}
         WHERE (:agent_key IS NULL OR m.agent_key = :agent_key OR h.publisher_key = :agent_key)
           AND (:after IS NULL OR m.memory_id < :after)
           AND m.state <> 'trashed' AND (NOT :quarantined OR m.state = 'quarantined')
         ORDER BY m.memory_id DESC
         LIMIT :limit
        """,
        {"agent_key": agent_key, "after": after, "limit": limit, "quarantined": quarantined},
    )
