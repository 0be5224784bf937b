"""List the projects of an agent, and move sessions and memories from one project to another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from memd.store.access import names
from memd.store.check import integrity
from memd.store.file.connect import Reading, Writing
from memd.store.memory import memories
from memd.store.search import embedding_queue


class MovedRows(NamedTuple):
    """How many rows a move has changed."""

    sessions: int
    memories: int


def list_page(conn: Reading, agent_id: str, after: str | None, limit: int) -> list[str]:
    """Return up to *limit* projects of the agent's sessions and memories after *after*, by id."""
    return conn.list_texts(
        """
        SELECT project_id
          FROM project
         WHERE (:after IS NULL OR project_id > :after)
           AND project_key IN (SELECT project_key FROM session WHERE agent_key = :agent_key
                                UNION
                               SELECT project_key FROM memory WHERE agent_key = :agent_key)
         ORDER BY project_id
         LIMIT :limit
        """,
        {"agent_key": names.agent_key(conn, agent_id), "after": after, "limit": limit},
    )


def move(conn: Writing, agent_key: int, project_key: int | None, new_key: int | None) -> MovedRows:
    """Move the agent's sessions and memories, in any state, to another project.

    A key of None means "no project". Memories of level project are not moved to no project, because
    no prompt would include them; nor is what :func:`move_memories` leaves out.
    """
    params = {"agent_key": agent_key, "project_key": project_key, "new_key": new_key}
    sessions = conn.list_ints(
        """
        UPDATE session
           SET project_key = :new_key
         WHERE agent_key = :agent_key AND project_key IS :project_key
        RETURNING session_key
        """,
        params,
    )
    keys = conn.list_ints(
        """
        SELECT memory_key
          FROM memory
         WHERE agent_key = :agent_key AND project_key IS :project_key
           AND (:new_key IS NOT NULL OR level <> 'project')
        """,
        params,
    )
    return MovedRows(len(sessions), move_memories(conn, keys, new_key))


def move_memories(conn: Writing, keys: Sequence[int], new_key: int | None) -> int:
    """Move memories, in any state, to another project, and return how many were moved.

    A damaged memory is not moved (:func:`rehashing`).
    """
    with rehashing(conn, keys) as intact:
        conn.executemany(
            "UPDATE memory SET project_key = :new_key WHERE memory_key = :key",
            ({"new_key": new_key, "key": key} for key in intact),
        )
    return len(intact)


@contextmanager
def rehashing(conn: Writing, keys: Sequence[int]) -> Iterator[list[int]]:
    """Yield those of *keys* whose rows may be changed, and renew their row hashes at the end.

    Naps still recognise their memories and runs can still be undone, since slots and ledger get the
    new hashes. A damaged memory must not be changed: a new hash would hide the damage.
    """
    keys = integrity.memories(conn, keys)
    before = memories.row_hashes(conn, keys)
    yield keys
    for key in keys:
        embedding_queue.rehash(conn, key)
    hashes = zip(before, memories.row_hashes(conn, keys), strict=True)
    _replace_hashes(conn, [(key, old, new) for (key, _, old), (_, _, new) in hashes])


def _replace_hashes(conn: Writing, changed: Sequence[tuple[int, bytes, bytes]]) -> None:
    """Replace the old row hashes of memories by the new ones in slots and in the ledger of runs."""
    conn.executemany(
        "UPDATE nap_slot SET row_hash = :new WHERE memory_key = :key AND row_hash = :old",
        ({"key": key, "old": old, "new": new} for key, old, new in changed),
    )
    conn.executemany(
        """
        UPDATE run_change
           SET before = replace(before, hex(:old), hex(:new)),
               after = replace(after, hex(:old), hex(:new))
         WHERE memory_key = :key
        """,
        ({"key": key, "old": old, "new": new} for key, old, new in changed),
    )
