"""Store and read the publishers of shared memories.

A shared memory is an ordinary memory of the reserved agent ``__shared__``; table ``shared`` has its
publisher. A shared memory without a publisher is returned under the reserved agent's name, and
nobody may retract it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memd.base.errors import MemoryStoreError
from memd.domain.enums import VISIBLE
from memd.domain.values import RESERVED_AGENT
from memd.store.access import changes, names
from memd.store.file.connect import Reading, Writing, keys_array
from memd.store.memory import memories
from memd.store.memory.rows import StoredMemory, hash_row, read_hashed


def record_publisher(conn: Writing, memory_key: int, publisher_key: int) -> None:
    """Record the publisher of a memory; the audit has it under the memory's salt."""
    conn.insert("shared", {"memory_key": memory_key, "publisher_key": publisher_key})
    salt = read_hashed(conn, memory_key).salt
    changes.touch(conn, salt, hash_row(("published", memory_key, publisher_key), ()))


def publisher(conn: Reading, memory_key: int) -> int | None:
    """Return the key of the agent that published the memory, None when it is not known."""
    return conn.get_int(
        "SELECT publisher_key FROM shared WHERE memory_key = :memory_key",
        {"memory_key": memory_key},
    )


def filter_published(conn: Reading, publisher_key: int, keys: Sequence[int]) -> list[int]:
    """Return those of *keys* that the agent published, in order of arrival."""
    return conn.list_ints(
        """
        SELECT memory_key
          FROM shared
         WHERE publisher_key = :publisher_key
           AND memory_key IN (SELECT value FROM carray(:keys))
         ORDER BY memory_key
        """,
        {"publisher_key": publisher_key, "keys": keys_array(keys)},
    )


def find_row(conn: Reading, memory_id: str, now_us: int) -> StoredMemory | None:
    """Return a shared memory with its publisher as the agent, None when it is not visible."""
    row = memories.by_id(conn, names.find_agent(conn, RESERVED_AGENT), memory_id)
    if row is None or row.state not in VISIBLE or row.is_expired(now_us):
        return None
    return with_publishers(conn, {row.memory_key: row})[row.memory_key]


def refuse_change(conn: Reading, memory_id: str, now_us: int) -> None:
    """Raise MemoryStoreError if the memory is shared: no agent may change or delete such a one."""
    row = find_row(conn, memory_id, now_us)
    if row is not None:
        by = "" if row.agent_id == RESERVED_AGENT else f" by {row.agent_id}"
        raise MemoryStoreError(
            f"{memory_id} is shared{by}", field="id", hint="its publisher may retract it"
        )


def with_publishers(conn: Reading, rows: Mapping[int, StoredMemory]) -> dict[int, StoredMemory]:
    """Return *rows* with the agent of shared memories replaced by their publisher."""
    keys = [key for key, row in rows.items() if row.agent_id == RESERVED_AGENT]
    if not keys:
        return dict(rows)
    publishers = conn.execute(
        """
        SELECT h.memory_key, a.agent_id
          FROM shared AS h
               JOIN agent AS a ON a.agent_key = h.publisher_key
         WHERE h.memory_key IN (SELECT value FROM carray(:keys))
        """,
        {"keys": keys_array(keys)},
    )
    published = {key: rows[key]._replace(agent_id=agent_id) for key, agent_id in publishers}
    return {**rows, **published}
