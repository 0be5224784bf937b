"""Check that everything in the file is as it was written, bit for bit (PROMISES P6).

Rows, earlier versions and sources are compared with their hashes, vectors with their checksums, and
the caches with the rows. SQLite checks pages and foreign keys. The audit chain is verified.
Findings contain ids of memories and names of caches, never a text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import apsw

from memd.store.access import changes
from memd.store.check import integrity
from memd.store.check.row_checks import check_facts, check_references
from memd.store.file import page_sums
from memd.store.file.connect import Reading, Writing, hash_columns
from memd.store.memory.rows import hash_row, read_hashed, tags_of
from memd.store.org import fact_index
from memd.store.search import embedding_queue, fulltext, vectors
from memd.store.search.vectors import VectorCache
from memd.store.session import message_index

# Table names carry a model's key and a generation; nothing else is ever put into the SQL.
# ruff: noqa: S608
PROBLEMS_MAX = 100
"""Findings that a check reports; it stops after them."""


def check_rows(conn: Reading) -> Iterator[str]:
    """Yield the problems of rows, vectors and the vector cache; reads the whole file once."""
    for part in (
        _page_sums, _pages, _hashes, check_sealed_rows, _versions, _sources, _checksums,
        check_facts, check_references, _audit, _vector_cache,
    ):  # fmt: skip
        try:
            yield from part(conn)
        except (apsw.Error, TypeError, ValueError, AssertionError) as error:
            what = part.__name__.removeprefix("check").replace("_", " ")
            yield f"file: reading{what} failed: {type(error).__name__}"


def check_caches(conn: Writing) -> Iterator[str]:
    """Yield the problems of the full-text indexes, which only a writer can check."""
    try:
        yield from _caches(conn)
    except (apsw.Error, TypeError, ValueError, AssertionError) as error:
        yield f"file: reading the caches failed: {type(error).__name__}; run: memd repair"


def _caches(conn: Writing) -> Iterator[str]:
    if not fulltext.is_intact(conn):
        yield "full-text index: it does not agree with the memories; run: memd rebuild"
    if not fact_index.TABLE.is_intact(conn):
        yield "full-text index of facts: it does not agree with them; run: memd rebuild"
    if not message_index.is_intact(conn):
        yield "full-text index of sessions: it does not agree with the messages; run: memd rebuild"


def counts(conn: Reading) -> dict[str, int]:
    """Return the numbers of rows to check, and of memories without a vector yet."""
    rows = {
        name: conn.get_count(f"SELECT count(*) FROM {table}")
        for name, table in (
            ("memories", "memory"),
            ("vectors", "embedding"),
            ("changes", "change"),
            ("operations", "org_operation"),
        )
    }
    return {**rows, "pending": embedding_queue.count_pending(conn)}


def _page_sums(conn: Reading) -> Iterator[str]:
    for page in page_sums.find_damaged(conn, Path(conn.filename)):
        yield page_finding(conn, page)


def page_finding(conn: Reading, page: int) -> str:
    """Return the finding for a page that does not match its checksum."""
    where = page_sums.table_of_page(conn, page)
    return f"file: page {page} ({where}) is damaged, or another program wrote it"


def _pages(conn: Reading) -> Iterator[str]:
    fulltext.refresh(conn)
    fact_index.TABLE.refresh(conn)
    message_index.refresh(conn)
    for (finding,) in conn.execute("PRAGMA integrity_check(20)"):
        if finding != "ok":
            yield f"file: {finding}"
    for table, rowid, parent, _ in conn.execute("PRAGMA foreign_key_check"):
        yield f"file: row {rowid} of {table} points to a missing {parent}"


def _hashes(conn: Reading) -> Iterator[str]:
    for key in conn.list_ints("SELECT memory_key FROM memory ORDER BY memory_key"):
        try:
            row = read_hashed(conn, key)
            stored = conn.execute(_STORED, {"key": key}).fetchone()
            tags = tags_of(conn, key)
        except UnicodeDecodeError:
            yield f"memory row {key}: its text is damaged"
            continue
        assert stored is not None
        memory_id, content, content_hash, row_hash = stored
        assert isinstance(content, str)
        if row_hash != hash_row(row.columns, tags):
            yield f"memory {memory_id}: the row does not match its hash"
        elif content_hash != hashlib.sha256(content.encode()).digest():
            yield f"memory {memory_id}: the content hash is wrong"


_STORED = """
SELECT memory_id, content, content_hash, row_hash
  FROM memory
 WHERE memory_key = :key
"""


def check_sealed_rows(conn: Reading) -> Iterator[str]:
    """Yield damaged clients, preferences, lessons and patterns."""
    for table in integrity.SEALED_TABLES:
        query = f"SELECT {table.select('t')} FROM {table.name} AS t"
        rows = conn.execute(query)
        while True:
            try:
                *covered, seal = next(rows)
            except StopIteration:
                break
            except UnicodeDecodeError:
                yield f"{table.kind}: the text of one is damaged"
                continue
            if hash_columns(*covered) != seal:
                row_id = covered[table.columns.index(table.id_column)]
                yield f"{table.kind} {row_id}: the row does not match its hash"


def _versions(conn: Reading) -> Iterator[str]:
    for memory_id, version, snapshot, row_hash in conn.execute(
        """
        SELECT m.memory_id, v.version, v.snapshot, v.row_hash
          FROM memory_version AS v
               JOIN memory AS m ON m.memory_key = v.memory_key
        """
    ):
        try:
            *columns, tags = json.loads(str(snapshot))
            matches = row_hash == hash_row(tuple(columns), tuple(tags))
        except ValueError:
            matches = False
        if not matches:
            yield f"memory {memory_id}: its version {version} does not match its hash"


def _sources(conn: Reading) -> Iterator[str]:
    for key, sha256, packed in conn.execute("SELECT source_key, sha256, zlib FROM source"):
        if integrity.unpack(packed, sha256) is None:
            yield f"source {key}: the text does not match its hash"


def _audit(conn: Reading) -> Iterator[str]:
    broken = changes.verify(conn)
    if broken is not None:
        yield f"audit: link {broken} does not follow from the one before"


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
    cache = vectors.current_cache(conn)
    if cache is None:
        return
    wrong = count_wrong_rows(conn, cache)
    if wrong:
        yield f"vector cache: {wrong} rows do not agree with the vectors; run: memd rebuild"


def count_wrong_rows(conn: Reading, cache: VectorCache) -> int:
    """Return how many rows of the cache are missing, surplus, in the wrong part, or changed."""
    expected = {
        key: (owner, digest)
        for key, owner, digest in conn.execute(
            f"""
            SELECT m.memory_key, {vectors.PARTITION}, e.checksum
              FROM memory AS m
                   JOIN cache_part AS p ON p.memory_key = m.memory_key
                   JOIN embedding AS e ON e.memory_key = m.memory_key
             WHERE e.model_key = {cache.model_key} AND e.kind = 'own'
            """
        )
    }
    wrong = 0
    for key, owner, vector in conn.execute(f"SELECT rowid, owner, vector FROM {cache.table}"):
        assert isinstance(vector, bytes)
        wrong += expected.pop(key, None) != (owner, vectors.checksum(vector))
    return wrong + len(expected)
