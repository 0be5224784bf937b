"""Renew what ``memd rebuild`` rebuilds besides the caches: indexes, contexts, damaged vectors.

All of these are computed from rows, which have their own hashes. A damaged vector is copied from
the vector cache if it is intact there; otherwise the queue embeds the text again. Rows themselves
are repaired by ``memd repair`` or a backup.
"""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from memd.store.access import changes
from memd.store.file.connect import Reading, Writing, keys_array
from memd.store.search import caches, centroids, fulltext, vectors
from memd.store.search.vectors import VectorCache


def list_indexes(conn: Reading) -> list[str]:
    """Return the names of the indexes of ordinary tables, without those inside virtual tables."""
    return conn.list_texts(
        """
        SELECT name
          FROM sqlite_schema
         WHERE type = 'index' AND tbl_name NOT LIKE 'fts\\_%' ESCAPE '\\'
           AND tbl_name NOT LIKE 'vec\\_%' ESCAPE '\\'
           AND tbl_name NOT IN (SELECT name FROM pragma_table_list WHERE wr)
            OR type = 'index' AND sql IS NOT NULL
         ORDER BY name
        """
    )


def reindex(conn: Writing, name: str) -> None:
    conn.execute(f"REINDEX {name}")  # a name of the schema


def find_damaged_vectors(conn: Reading) -> list[int]:
    """Return the memories with a vector that does not match its checksum; reads all of them."""
    rows = conn.execute("SELECT memory_key, checksum, vector FROM embedding ORDER BY memory_key")
    return [key for key, checksum, vector in rows if vectors.checksum(vector) != checksum]


def renew_vectors(conn: Writing, keys: Sequence[int]) -> None:
    """Restore the damaged vectors of *keys* from the cache, and delete those it does not have.

    The memories then lack token vectors or a vector, which the queue computes again. The centroids
    of their agents are rebuilt, because a damaged vector cannot be subtracted.
    """
    cache = vectors.current_cache(conn)
    rows = conn.execute(
        """
        SELECT embedding_key, memory_key, model_key, checksum, vector
          FROM embedding
         WHERE memory_key IN (SELECT value FROM carray(:keys))
        """,
        {"keys": keys_array(keys)},
    )
    lost: list[int] = []
    for embedding_key, key, model_key, checksum, vector in list(rows):
        if vectors.checksum(vector) == checksum:  # rewritten meanwhile
            continue
        cached = _read_cached(conn, cache, key) if cache and cache.model_key == model_key else None
        changes.touch(conn, b"vector made anew", checksum)
        if cached is not None and vectors.checksum(cached) == checksum:
            conn.execute(
                "UPDATE embedding SET vector = :vector, tokens = NULL WHERE embedding_key = :key",
                {"vector": cached, "key": embedding_key},
            )
        else:
            lost.append(key)
            conn.execute("DELETE FROM embedding WHERE embedding_key = ?", (embedding_key,))
    vectors.unindex(conn, lost)
    centroids.rebuild(conn, lost)


def _read_cached(conn: Reading, cache: VectorCache, key: int) -> bytes | None:
    try:
        sql = f"SELECT vector FROM {cache.table} WHERE rowid = ?"  # noqa: S608  # a name of ours
        return conn.get_bytes(sql, (key,))
    except apsw.Error:
        return None


def renew_contexts(conn: Writing, after: int, limit: int) -> int | None:
    """Rewrite the stale contexts of the *limit* memories after key *after*.

    Returns the key to continue after, None when there are no more memories.
    """
    rows: list[tuple[int, int]] = list(
        conn.execute(
            """
            SELECT memory_key, state IN ('active', 'pending')
              FROM memory
             WHERE memory_key > :after
             ORDER BY memory_key
             LIMIT :limit
            """,
            {"after": after, "limit": limit},
        )
    )
    if not rows:
        return None
    # A hidden memory keeps the context that it had when it was hidden: only others can be stale.
    stale = caches.find_stale_contexts(conn, [key for key, visible in rows if visible])
    fulltext.unindex(conn, stale)
    caches.write_contexts(conn, stale)
    fulltext.index(conn, stale)
    return rows[-1][0]
