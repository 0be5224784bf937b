"""What a search reads beside the rows, kept in step with them inside their transaction.

The caches are the full-text index and the vectors. A context is the words of a turn's neighbours,
half of a short turn's meaning (decision 0032): each memory of a session stores those of the one
before and the one after, in the order of ordinal, part, key. Adding, hiding or erasing a memory
rewrites its neighbours' contexts, so no forgotten word remains in a context.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from memd.domain.caller import Caller
from memd.store.file.connect import Reading, Writing, keys_array
from memd.store.org import fact_index
from memd.store.search import fulltext, vectors
from memd.store.session import message_index

if TYPE_CHECKING:
    from memd.store.file.database import Database  # which creates the caches

# Table names carry a model's key and a generation; nothing else is ever put into the SQL.
# ruff: noqa: S608

SIDE_CHARS = 600  # of a long neighbour only the end that adjoins this memory

# The next memory of the session in one direction: naps' have neighbours of their own.
_NEXT = """
(SELECT n.memory_key
          FROM memory AS n INDEXED BY memory_beside
         WHERE n.session_key = m.session_key
           AND (n.ordinal, n.part, n.memory_key) {beyond} (m.ordinal, m.part, m.memory_key)
           AND n.state IN ('active', 'pending')
           AND m.is_napped =
               EXISTS (SELECT 1 FROM run AS r WHERE r.run_id = n.batch AND r.kind = 'nap')
         ORDER BY n.ordinal {order}, n.part {order}, n.memory_key {order}
         LIMIT 1)
"""
_NEIGHBOURS = f"""
SELECT {_NEXT.format(beyond="<", order="DESC")} AS before_key,
       {_NEXT.format(beyond=">", order="ASC")} AS after_key
  FROM (SELECT m.memory_key, m.session_key, m.ordinal, m.part,
               EXISTS (SELECT 1 FROM run AS r WHERE r.run_id = m.batch AND r.kind = 'nap')
                   AS is_napped
          FROM memory AS m
         WHERE m.memory_key = :memory_key) AS m
"""  # constants of this module


def ensure(conn: Writing) -> None:
    """Create the full-text indexes that the file lacks: in a new file, and after a migration."""
    if not fulltext.generation(conn):
        with conn:
            fulltext.create(conn, 1)
            fulltext.activate(conn, 1)
            fact_index.create(conn)
    with conn:
        message_index.ensure(conn)


def index_signs(conn: Writing) -> None:
    """Index texts with signs anew, in files that were indexed without pairs (schema 6).

    Only indexes that have such texts are built; the others have the same words as before.
    """
    if fulltext.generation(conn) and _has_signs(conn, "memory", "content"):
        fulltext.rebuild(conn)
    if _has_signs(conn, "org_fact", "content"):
        fact_index.rebuild(conn)
    if message_index.exists(conn) and _has_signs(conn, "source", "unpacked(zlib)"):
        message_index.start_build(conn)


def _has_signs(conn: Reading, table: str, text: str) -> bool:
    return conn.exists(f"SELECT 1 FROM {table} WHERE split_signs(CAST({text} AS BLOB)) <> {text}")


def index(conn: Writing, keys: Sequence[int]) -> None:
    fulltext.index(conn, keys)
    vectors.index(conn, keys)


@contextmanager
def reindexing(conn: Writing, keys: Sequence[int]) -> Iterator[None]:
    """Remove the memories from both caches, let the body change or delete them, index them again.

    Those that the body made invisible, or deleted, stay out.
    """
    fulltext.unindex(conn, keys)
    vectors.unindex(conn, keys)
    yield
    index(conn, keys)


@contextmanager
def reindexing_words(conn: Writing, keys: Sequence[int]) -> Iterator[None]:
    """Do as :func:`reindexing`, where only words change and the vectors stay where they are."""
    fulltext.unindex(conn, keys)
    yield
    fulltext.index(conn, keys)


# Contexts.


def filter_in_session(conn: Reading, keys: Sequence[int]) -> list[int]:
    """Return those of *keys* that are of a session; no other memory has neighbours or a context."""
    if not keys:
        return []
    return conn.list_ints(
        """
        SELECT memory_key
          FROM memory
         WHERE memory_key IN (SELECT value FROM carray(:keys)) AND session_key IS NOT NULL
        """,
        {"keys": keys_array(keys)},
    )


def adjacent(conn: Reading, key: int) -> tuple[int | None, int | None]:
    """Return the visible memories before and after *key* in its session."""
    row = conn.execute(_NEIGHBOURS, {"memory_key": key}).fetchone()
    return (None, None) if row is None else (row[0], row[1])


def neighbours(conn: Reading, keys: Sequence[int]) -> list[int]:
    """Return the neighbours of *keys* that are not themselves among them."""
    mine = frozenset(keys)
    others = {other for key in keys for other in adjacent(conn, key) if other is not None}
    return sorted(others - mine)


def find_quoting(conn: Reading, keys: Sequence[int]) -> list[int]:
    """Return the other memories, in any state, whose context contains words of *keys*.

    A hidden memory's context is as old as its hiding, so the keys that it quotes are stored with
    it.
    """
    if not keys:
        return []
    rows = conn.execute(
        """
        SELECT memory_key
          FROM memory_context
         WHERE before_key IN (SELECT value FROM carray(:keys))
         UNION
        SELECT memory_key
          FROM memory_context
         WHERE after_key IN (SELECT value FROM carray(:keys))
        """,
        {"keys": keys_array(keys)},
    )
    mine = frozenset(keys)
    return sorted(key for (key,) in rows if key not in mine)


def write_contexts(conn: Writing, keys: Sequence[int]) -> None:
    """Write the contexts of *keys* from their sessions; their words must be unindexed."""
    for key in keys:
        write_context(conn, key, *adjacent(conn, key))


def write_context(conn: Writing, key: int, before: int | None, after: int | None) -> None:
    """Write the context of *key* from these two neighbours; its words must be unindexed."""
    context = _context(conn, before, after)
    if context:
        row = {"memory_key": key, "before_key": before, "after_key": after, "context": context}
        conn.put("memory_context", row, "memory_key")
    else:
        conn.execute(
            "DELETE FROM memory_context WHERE memory_key = :memory_key", {"memory_key": key}
        )


def find_stale_contexts(conn: Reading, keys: Sequence[int]) -> list[int]:
    """Return those of the visible memories *keys* whose context differs from their neighbours."""
    stale: list[int] = []
    for key in keys:
        stored = conn.execute(
            "SELECT CAST(context AS BLOB) FROM memory_context WHERE memory_key = ?", (key,)
        ).get
        if (stored or b"") != _context(conn, *adjacent(conn, key)).encode():
            stale.append(key)
    return stale


def _context(conn: Reading, before: int | None, after: int | None) -> str:
    sides = (_text(conn, before)[-SIDE_CHARS:], _text(conn, after)[:SIDE_CHARS])
    return "\n".join(filter(None, sides))


def context_parts(conn: Reading, key: int) -> tuple[str, str]:
    """Return what *key* gives to the context of the memory after it, and of the one before it."""
    text = _text(conn, key)
    return text[-SIDE_CHARS:], text[:SIDE_CHARS]


def text_of(table: str) -> str:
    """Return the SQL of what a row of *table* says: who, what, and the caption of a picture."""
    return (
        f"iif({table}.speaker IS NULL, '', {table}.speaker || ': ') || {table}.content"
        f" || iif({table}.caption IS NULL, '', ' [shares photo: ' || {table}.caption || ']')"
    )


def _text(conn: Reading, key: int | None) -> str:
    if key is None:
        return ""
    try:
        text = conn.get_text(
            f"SELECT {text_of('m')} FROM memory AS m WHERE m.memory_key = :memory_key",
            {"memory_key": key},
        )
    except UnicodeDecodeError:  # a damaged memory has no words for its neighbours
        return ""
    return text or ""


# Compaction, so that a search does not pay for what was removed.

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
