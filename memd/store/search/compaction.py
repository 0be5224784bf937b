"""Compaction of the caches, so that a search does not pay for what was removed."""

from __future__ import annotations

from memd.domain.caller import Caller
from memd.store.file.connect import Reading, Writing
from memd.store.file.database import Database
from memd.store.search import fulltext, vectors

# Table names carry a model's key and a generation; nothing else is ever put into the SQL.
# ruff: noqa: S608
CHUNKS_MIN, CHUNKS_SHARE = 8, 1.5
"""From so many chunks on, and times those that are needed, the cache of vectors is written anew."""
_BUILD_ROWS = 500


async def compact(db: Database, caller: Caller) -> None:
    """Merge the full-text index and write a sparse cache of vectors anew, beside the live one.

    One step at a time, so that other writes come in between. What a kill leaves unfinished is
    finished by the next one.
    """
    while await db.write(caller, fulltext.merge):
        pass
    if await db.read(vectors.current_build) is None and await db.read(is_sparse):
        await db.write(caller, vectors.start_build)
    while await db.write(caller, _step_build):
        pass


def _step_build(conn: Writing) -> bool:
    return vectors.step_build(conn, _BUILD_ROWS)


def is_sparse(conn: Reading) -> bool:
    """Return whether the live cache has many more chunks than its rows need.

    A search scans chunks, and vec0 drops one only when its last row is deleted.
    """
    cache = vectors.current_cache(conn)
    if cache is None:
        return False
    chunks = conn.get_count(f"SELECT count(*) FROM {cache.table}_chunks")
    needed = conn.get_int(
        f"""
        SELECT sum((rows + {vectors.CHUNK_ROWS} - 1) / {vectors.CHUNK_ROWS})
          FROM (SELECT count(*) AS rows
                  FROM {cache.table}_rowids AS r
                       JOIN {cache.table}_chunks AS c USING (chunk_id)
                 GROUP BY c.partition00)
        """
    )
    return chunks >= CHUNKS_MIN and chunks > CHUNKS_SHARE * (needed or 0)
