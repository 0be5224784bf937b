"""Make a new file of the readable rows of a damaged one, which is kept.

The damaged file is copied, with its log, and only the copy is read. Rows are copied unchanged.
Contexts, indexes, the full-text indexes and the vector cache are rebuilt; a memory without its
vector becomes pending and is embedded again. Lost rows are listed by kind and id.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import apsw

from memd.base.errors import DamagedError
from memd.domain.caller import Caller
from memd.store.access import changes
from memd.store.access.changes import GENESIS, AuditLink
from memd.store.check import check
from memd.store.file import page_sums, restore
from memd.store.file.backup import PARTIAL, fsync
from memd.store.file.connect import (
    PAGE_BYTES,
    PAGE_SUM_BYTES,
    SCHEMA_VERSION,
    Writing,
    prepare,
    prepare_writer,
)
from memd.store.file.faults import translate
from memd.store.memory.rows import hash_row, read_hashed, tags_of
from memd.store.org import fact_index
from memd.store.records.table import RecordTable
from memd.store.repair.pages import FilePages
from memd.store.repair.salvage import Salvage
from memd.store.search import caches, fulltext, vectors
from memd.store.search.vectors import VectorCache
from memd.store.session import message_index

_STEP = 500
_CALLER = Caller(client="memd", method="repair")


class RepairReport(NamedTuple):
    """The outcome of a repair.

    *damaged* is the path of the old file, *kept* the number of rows by table, *lost* a sentence for
    each lost row; *remaining* are the findings of a check of the new file.
    """

    path: str
    damaged: str
    kept: dict[str, int]
    lost: tuple[str, ...]
    remaining: tuple[str, ...]


def repair(
    database: Path, anchors: Path, stamp: str, now_us: int, records: Sequence[RecordTable] = ()
) -> RepairReport:
    """Replace *database* by a new file of its readable rows; call only while holding its locks.

    The damaged file is kept as ``NAME-STAMP-damaged.backup.db``, with its log and audit anchors.
    *records* are the tables of operational records: those in the damaged file are created again.
    After a crash the old or the new file exists, complete. Raises DamagedError for a file of
    another schema or without a readable row, and then nothing has changed.
    """
    copy = database.with_name(f".{database.stem}-salvaged{PARTIAL}")
    new_file = database.with_name(f".{database.stem}-repaired{PARTIAL}")
    try:
        _merge_log(database, copy)
        salvage = _build(copy, new_file, now_us, records)
        remaining = _check(new_file)
        damaged_file = restore.keep_old(database, anchors, stamp, "damaged")
        restore.replace_store(new_file, database)
    except apsw.Error as error:
        raise translate(error) from error
    finally:
        for path in (copy, new_file):
            for ending in ("", "-wal", "-shm", "-journal"):
                path.with_name(f"{path.name}{ending}").unlink(missing_ok=True)
    return RepairReport(
        str(database), str(damaged_file), dict(salvage.kept), tuple(salvage.lost), tuple(remaining)
    )


def _merge_log(database: Path, copy: Path) -> None:
    """Copy the file and its log, and checkpoint the log into the copy if SQLite can."""
    restore.copy_store(database, copy)
    with suppress(apsw.Error), closing(apsw.Connection(str(copy))) as conn:
        conn.execute("SELECT count(*) FROM sqlite_schema").get  # noqa: B018  # opens the log
        conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)


def _build(copy: Path, new_file: Path, now_us: int, records: Sequence[RecordTable]) -> Salvage:
    if copy.stat().st_size < PAGE_BYTES:
        raise DamagedError("nothing of the file is readable", hint="restore a backup")
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    with (
        copy.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as raw,
        closing(Writing(str(new_file), flags=flags, vfs=page_sums.vfs())) as conn,
    ):
        pages = FilePages(raw, PAGE_BYTES, PAGE_SUM_BYTES)
        if pages.version not in (None, 0, SCHEMA_VERSION):
            raise DamagedError(
                f"the file has schema {pages.version}, memd repairs {SCHEMA_VERSION}",
                hint="repair it with the memd that wrote it, or restore a backup",
            )
        prepare_writer(conn)
        conn.pragma("foreign_keys", False)
        salvage = Salvage(conn, pages, records)
        with conn:
            salvage.run()
            if not salvage.kept:
                raise DamagedError("nothing of the file is readable", hint="restore a backup")
            _restore_consistency(conn, salvage)
            _copy_audit(conn, salvage, now_us)
        conn.pragma("foreign_keys", True)
        _rebuild_caches(conn)
        conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    fsync(new_file)
    return salvage


def _restore_consistency(conn: Writing, salvage: Salvage) -> None:
    """Make the salvaged rows consistent: remove dangling references, add rows that others need."""
    conn.execute("DELETE FROM memory WHERE memory_id IN (SELECT memory_id FROM forgotten)")
    before = set(conn.list_ints(_REFERENCED))
    conn.execute(_LOST_AGENTS)
    for _ in range(3):  # removing a row may leave others that refer to it; chains are short
        for table in salvage.tables:
            _drop_dangling(conn, table, salvage)
    conn.execute(_FACTS)
    conn.execute(_QUARANTINED)
    conn.execute(_WITHOUT_VECTOR)
    keys = conn.list_ints("SELECT memory_key FROM memory")
    lost_count = len(before - set(keys))
    if lost_count:
        salvage.lost.append(f"memory: {lost_count} of which only vectors, tags or counts are left")
    for key in keys:
        _rehash(conn, key, salvage)
        caches.write_contexts(conn, [key])


def _drop_dangling(conn: Writing, table: str, salvage: Salvage) -> None:
    """Remove references to lost rows, or the rows themselves where the reference is required."""
    nullable = {c.name for c in salvage.tables[table].columns if not (c.is_required or c.primary)}
    links = conn.execute(
        'SELECT "table", "from", "to" FROM pragma_foreign_key_list(:table)', {"table": table}
    ).fetchall()
    for parent, column, target_column in links:
        key = target_column or next(
            c.name for c in salvage.tables[str(parent)].columns if c.primary
        )
        missing = f"""
             WHERE {column} IS NOT NULL
               AND NOT EXISTS (SELECT 1 FROM {parent} AS p WHERE p.{key} = {table}.{column})
        """  # noqa: S608  # names of the schema
        try:
            if column in nullable:
                conn.execute(f"UPDATE {table} SET {column} = NULL {missing}")  # noqa: S608
                continue
        except apsw.ConstraintError:
            pass  # a CHECK forbids NULL here together with another column
        conn.execute(f"DELETE FROM {table} {missing}")  # noqa: S608
        if conn.changes():
            salvage.lost.append(f"{table}: {conn.changes()} that belonged to what is lost")


_REFERENCED = """
SELECT memory_key FROM embedding
 UNION
SELECT memory_key FROM memory_tag
 UNION
SELECT memory_key FROM memory_use
"""
_LOST_AGENTS = """
INSERT OR IGNORE INTO agent (agent_key, agent_id, created_at_us)
SELECT agent_key, 'lost-' || agent_key, min(created_at_us)
  FROM memory
 GROUP BY agent_key
"""
_FACTS = """
INSERT INTO org_fact (fact_id, operation_key, version, category, content, tags, created_at_us,
                      retracted_at_us)
SELECT o.fact_id, o.operation_key, o.version, o.category, p.content, o.tags, r.created_at_us,
       CASE WHEN o.kind = 'RETRACT' THEN o.at_us END
  FROM (SELECT fact_id, max(version) AS version, min(at_us) AS created_at_us,
               max(CASE WHEN kind = 'PUBLISH' THEN version END) AS published
          FROM org_operation
         GROUP BY fact_id) AS r
       JOIN org_operation AS o ON o.fact_id = r.fact_id AND o.version = r.version
       JOIN org_operation AS p ON p.fact_id = r.fact_id AND p.version = r.published
 ORDER BY r.created_at_us, o.operation_key
"""
_QUARANTINED = """
INSERT OR IGNORE INTO flagged (memory_key, flags, state_before, flagged_at_us)
SELECT memory_key, '["owner"]', 'active', created_at_us
  FROM memory
 WHERE state = 'quarantined'
"""
_WITHOUT_VECTOR = """
UPDATE memory
   SET state = 'pending'
 WHERE state = 'active'
   AND NOT EXISTS (SELECT 1 FROM embedding AS e WHERE e.memory_key = memory.memory_key)
"""


def _rehash(conn: Writing, key: int, salvage: Salvage) -> None:
    """Update the hash of a memory whose text is intact but which lost tags or references."""
    new_hash = hash_row(read_hashed(conn, key).columns, tags_of(conn, key))
    [(memory_id, row_hash)] = conn.execute(
        "SELECT memory_id, row_hash FROM memory WHERE memory_key = ?", (key,)
    )
    if new_hash != row_hash:
        conn.execute("UPDATE memory SET row_hash = ? WHERE memory_key = ?", (new_hash, key))
        salvage.lost.append(f"memory {memory_id}: the text is whole, tags or fields are not")


def _copy_audit(conn: Writing, salvage: Salvage, now_us: int) -> None:
    """Copy the links of the audit up to the first broken one, and append a link of the repair."""
    prev = GENESIS
    for seq in range(1, len(salvage.links) + 1):
        row = salvage.links.get(seq)
        link = None if row is None else AuditLink(**row)  # type: ignore[arg-type]
        if link is None or link.prev != prev:
            break
        if changes.hash_link(prev, link.content, link.digest) != link.hash:
            break
        conn.insert("change", link._asdict())
        prev = link.hash
        salvage.kept["change"] += 1
    cut_off = len(salvage.links) - salvage.kept["change"]
    if cut_off:
        salvage.lost.append(f"audit: {cut_off} links that follow a lost one")
    changes.touch(conn, b"", prev)
    changes.record(conn, _CALLER, now_us, None)


def _rebuild_caches(conn: Writing) -> None:
    """Rebuild the full-text indexes and the vector cache."""
    caches.ensure(conn)
    with conn:
        fact_index.rebuild(conn)
        message_index.start_build(conn)
        fulltext.start_build(conn)
    for step in (message_index.step_build, fulltext.step_build):
        while _run_step(conn, step):
            pass
    model = conn.execute(_MODEL).fetchone()
    if model is None:
        return
    model_key, dimension = model
    cache = VectorCache(model_key, 1)
    with conn:
        vectors.create(conn, cache, dimension)
        vectors.activate(conn, cache)
        keys = conn.list_ints("SELECT memory_key FROM memory")
        for at in range(0, len(keys), _STEP):
            vectors.index(conn, keys[at : at + _STEP])


_MODEL = """
SELECT m.model_key, m.dimension
  FROM embedding AS e
       JOIN embedding_model AS m ON m.model_key = e.model_key
 GROUP BY m.model_key
 ORDER BY count(*) DESC, m.model_key DESC
 LIMIT 1
"""


def _run_step(conn: Writing, step: Callable[[Writing, int], bool]) -> bool:
    conn.execute("BEGIN IMMEDIATE")
    is_more = step(conn, _STEP)
    conn.execute("COMMIT")
    return is_more


def _check(new_file: Path) -> list[str]:
    """Return the findings of a check of the new file."""
    with restore.open_offline(new_file) as conn:
        prepare(conn)
        return list(islice(check.check_rows(conn), check.PROBLEMS_MAX))
