"""Turns in passing, which state nothing: marked on arrival, promoted when somebody means them."""

from __future__ import annotations

from collections.abc import Sequence

from memd.domain.enums import Passing
from memd.store.file.connect import Writing, keys_array
from memd.store.search import caches, centroids


def mark(conn: Writing, key: int, kind: Passing) -> None:
    """Mark a new memory as a turn in passing, before it is indexed."""
    conn.execute(
        "INSERT INTO passing (memory_key, kind) VALUES (:key, :kind)", {"key": key, "kind": kind}
    )


def promote(conn: Writing, keys: Sequence[int]) -> int:
    """Turn those of *keys* that are turns in passing into memories; returns how many.

    From then on every search reads them, and their vectors count for novelty.
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
