"""Turns that state nothing: noted as they arrive, made memories when somebody means them."""

from __future__ import annotations

from collections.abc import Sequence

from memd.domain.enums import Passing
from memd.store.file.connect import Writing
from memd.store.file.keys import keys_array
from memd.store.search import caches, centroids


def put(conn: Writing, key: int, kind: Passing) -> None:
    """Note what a new memory is, before it is in the caches."""
    conn.execute(
        "INSERT INTO passing (memory_key, kind) VALUES (:key, :kind)", {"key": key, "kind": kind}
    )


def admit(conn: Writing, keys: Sequence[int]) -> int:
    """Make memories of those of *keys* that are turns in passing; returns how many they were.

    From then on every search reads them, and their vectors count as known.
    """
    if not keys:
        return 0
    rows = conn.execute(
        "SELECT memory_key FROM passing WHERE memory_key IN (SELECT value FROM carray(:keys))",
        {"keys": keys_array(keys)},
    )
    admitted = [key for (key,) in rows]
    if not admitted:
        return 0
    with caches.reindexing(conn, admitted):
        conn.execute(
            "DELETE FROM passing WHERE memory_key IN (SELECT value FROM carray(:keys))",
            {"keys": keys_array(admitted)},
        )
    centroids.add_memories(conn, admitted)
    return len(admitted)
