"""Checking the whole file: what is said to be in it is in it, bit for bit (PROMISES P6).

Rows against their hashes, vectors against their checksums, the caches against
the rows, pages and foreign keys by SQLite itself, the audit against its chain.
Findings name a memory or a cache, never a text.
"""

from __future__ import annotations

from collections.abc import Iterator

import apsw

from memd.store import changes, vectors, words
from memd.store.connect import Reading, Writing
from memd.store.rows import HASHED, hash_of, tags_of

PROBLEMS_MAX = 100


def rows(conn: Reading) -> Iterator[str]:
    """Yield what is wrong with rows and vectors; reads everything once."""
    yield from _pages(conn)
    yield from _hashes(conn)
    yield from _checksums(conn)
    broken = changes.verify(conn)
    if broken is not None:
        yield f"audit: link {broken} does not follow from the one before"


def caches(conn: Writing) -> Iterator[str]:
    """Yield what is wrong with the caches; ``memd rebuild`` mends it."""
    if not words.is_sound(conn):
        yield "words cache: it does not agree with the memories; run: memd rebuild"
    yield from _vector_cache(conn)


def counts(conn: Reading) -> dict[str, int]:
    """Return how much there is to check."""
    row = conn.execute(
        """
        SELECT (SELECT count(*) FROM memory), (SELECT count(*) FROM embedding),
               (SELECT count(*) FROM change)
        """
    ).fetchone()
    assert row is not None
    return dict(zip(("memories", "vectors", "changes"), map(_whole, row), strict=True))


def _whole(value: apsw.SQLiteValue) -> int:
    assert isinstance(value, int)
    return value


def _pages(conn: Reading) -> Iterator[str]:
    for (finding,) in conn.execute("PRAGMA integrity_check(20)"):
        if finding != "ok":
            yield f"file: {finding}"
    for table, rowid, parent, _ in conn.execute("PRAGMA foreign_key_check"):
        yield f"file: row {rowid} of {table} points to a missing {parent}"


def _hashes(conn: Reading) -> Iterator[str]:
    keys = [key for (key,) in conn.execute("SELECT memory_key FROM memory ORDER BY memory_key")]
    for key in keys:
        try:
            row = conn.execute(HASHED, {"key": key}).fetchone()
            stored = conn.execute(_STORED, {"key": key}).fetchone()
        except UnicodeDecodeError:
            yield f"memory row {key}: its text is damaged"
            continue
        assert row is not None
        assert stored is not None
        memory_id, row_hash, content_matches = stored
        if row_hash != hash_of(tuple(row[:-1]), tags_of(conn, key)):
            yield f"memory {memory_id}: the row does not match its hash"
        elif not content_matches:
            yield f"memory {memory_id}: the content hash is wrong"


_STORED = """
SELECT memory_id, row_hash, length(content_hash) = 32
  FROM memory
 WHERE memory_key = :key
"""


def _checksums(conn: Reading) -> Iterator[str]:
    for memory_id, model_key, checksum, vector in conn.execute(
        """
        SELECT m.memory_id, e.model_key, e.checksum, e.vector
          FROM embedding AS e
               JOIN memory AS m ON m.memory_key = e.memory_key
        """
    ):
        assert isinstance(vector, bytes)
        if checksum != vectors.checksum(vector):
            yield f"memory {memory_id}: its vector of model {model_key} does not match its checksum"


def _vector_cache(conn: Reading) -> Iterator[str]:
    cache = vectors.live(conn)
    if cache is None:
        return
    wrong = vectors.wrong_rows(conn, cache)
    if wrong:
        yield f"vector cache: {wrong} rows do not agree with the vectors; run: memd rebuild"
