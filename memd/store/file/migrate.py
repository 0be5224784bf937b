"""Migration of an older file to this schema: one transaction, after a verified backup.

Each step takes the file from one version to the next; a released step is never edited. Every path
ends in exactly ``schema.sql`` (a test compares the texts). A crash leaves the old version or the
new one.

A file must have the shape that its version promises: every table, column, index and view. One that
was changed by hand, or written by an early memd under the same version, would fail in the middle of
a write with a message of SQLite's. It is refused at the start instead and left as it is. A trigger
that is not memd's is refused as well: it would act on every write.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import closing
from pathlib import Path

import apsw

from memd.base.errors import DamagedError
from memd.store.file import backup, page_sums
from memd.store.file.connect import SCHEMA_VERSION, Writing, schema_sql

Step = Callable[[Writing], None]


def _from_1(conn: Writing) -> None:
    """Add when messages were said, which messages naps' memories come from, and their slots.

    Each memory that naps stored so far came from one message, its source. The full-text index of
    sessions is no part of the schema: it is built when the file is opened.
    """
    conn.execute(
        """
        ALTER TABLE session_message ADD COLUMN said_at_us INTEGER;
        CREATE TABLE memory_turn (
            memory_key INTEGER NOT NULL REFERENCES memory (memory_key) ON DELETE CASCADE,
            ordinal INTEGER NOT NULL CHECK (ordinal >= 0),
            source_key INTEGER REFERENCES source (source_key) ON DELETE SET NULL,
            PRIMARY KEY (memory_key, ordinal)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX memory_turn_by_source ON memory_turn (source_key) WHERE source_key IS NOT NULL;
        CREATE VIEW session_words (source_key, content, owner) AS
        SELECT o.source_key, unpacked(o.zlib), 'a' || o.agent_key
          FROM source AS o
         WHERE EXISTS (SELECT 1 FROM session_message AS g WHERE g.source_key = o.source_key);
        CREATE TABLE nap_slot (
            slot_key INTEGER PRIMARY KEY,
            session_key INTEGER NOT NULL REFERENCES session (session_key) ON DELETE CASCADE,
            slot TEXT NOT NULL,
            memory_key INTEGER UNIQUE REFERENCES memory (memory_key) ON DELETE CASCADE,
            row_hash BLOB
        ) STRICT;
        CREATE INDEX nap_slot_by_session ON nap_slot (session_key);
        CREATE INDEX nap_slot_by_name ON nap_slot (slot);
        INSERT INTO memory_turn (memory_key, ordinal, source_key)
        SELECT m.memory_key, 0, m.source_key
          FROM memory AS m
               JOIN run AS r ON r.run_id = m.batch AND r.kind = 'nap'
         WHERE m.source_key IS NOT NULL
        """
    )


def _from_2(conn: Writing) -> None:
    """Add turns in passing, injections, the origin of preferences, and row hashes.

    Existing turns keep their state. The origin of a preference set by name is unknown, so it waits
    for the owner's confirmation. One that a memory states takes that memory's origin, and is
    confirmed when the owner's own commands or a client with a key brought it. Clients, preferences,
    lessons and patterns get a row hash.
    """
    conn.execute(
        """
        CREATE TABLE passing (
            memory_key INTEGER PRIMARY KEY REFERENCES memory (memory_key) ON DELETE CASCADE,
            kind TEXT NOT NULL CHECK (kind IN ('question', 'request', 'acknowledgement', 'remark'))
        ) STRICT;
        DROP VIEW cache_part;
        CREATE VIEW cache_part (memory_key, part) AS
        SELECT m.memory_key,
               CASE WHEN m.is_summary THEN 's'
                    WHEN m.state IN ('active', 'pending')
                         OR EXISTS (SELECT 1 FROM behind AS b WHERE b.memory_key = m.memory_key)
                    THEN iif(EXISTS (SELECT 1 FROM passing AS q WHERE q.memory_key = m.memory_key),
                             'p', 'a')
                    ELSE 'h'
               END
          FROM memory AS m
         WHERE m.state IN ('active', 'pending', 'compressed', 'archived');
        CREATE TABLE session_window (
            session_key INTEGER PRIMARY KEY REFERENCES session (session_key) ON DELETE CASCADE,
            emptied_at_us INTEGER NOT NULL,
            announced INTEGER NOT NULL CHECK (announced IN (0, 1))
        ) STRICT;
        CREATE TABLE injection (
            session_key INTEGER NOT NULL REFERENCES session (session_key) ON DELETE CASCADE,
            client_key INTEGER NOT NULL REFERENCES client (client_key) ON DELETE CASCADE,
            item_id TEXT NOT NULL,
            memory_key INTEGER REFERENCES memory (memory_key) ON DELETE CASCADE,
            at_us INTEGER NOT NULL,
            PRIMARY KEY (session_key, client_key, item_id)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX injection_by_memory ON injection (memory_key) WHERE memory_key IS NOT NULL;
        CREATE INDEX memory_by_event ON memory (agent_key, occurred_at_us)
            WHERE occurred_at_us IS NOT NULL;
        ALTER TABLE preference ADD COLUMN origin TEXT NOT NULL DEFAULT 'assistant'
            CHECK (origin IN ('person', 'assistant', 'tool', 'web', 'import'));
        ALTER TABLE preference
            ADD COLUMN client_key INTEGER REFERENCES client (client_key) ON DELETE SET NULL;
        ALTER TABLE preference ADD COLUMN confirmed_at_us INTEGER;
        UPDATE preference
           SET origin = m.origin,
               client_key = m.client_key,
               confirmed_at_us = iif(m.origin = 'person'
                                     AND (c.client_id = 'operator' OR c.key_hash IS NOT NULL),
                                     preference.updated_at_us, NULL)
          FROM memory AS m
               LEFT JOIN client AS c ON c.client_key = m.client_key
         WHERE m.memory_key = preference.memory_key
        """
    )
    conn.execute(_SEALS)


_SEALS = """
ALTER TABLE client ADD COLUMN row_hash BLOB;
ALTER TABLE preference ADD COLUMN row_hash BLOB;
ALTER TABLE learning ADD COLUMN row_hash BLOB;
ALTER TABLE playbook ADD COLUMN row_hash BLOB;
CREATE TRIGGER client_sealed AFTER INSERT ON client
BEGIN
    UPDATE client
       SET row_hash = sealed(new.client_id, new.agent_key, new.key_hash, new.seniority,
                         new.autonomy_level, new.scopes, new.revoked_at_us)
     WHERE client_key = new.client_key;
END;
CREATE TRIGGER client_resealed AFTER UPDATE OF client_id, agent_key, key_hash, seniority,
    autonomy_level, scopes, revoked_at_us ON client
BEGIN
    UPDATE client
       SET row_hash = sealed(new.client_id, new.agent_key, new.key_hash, new.seniority,
                         new.autonomy_level, new.scopes, new.revoked_at_us)
     WHERE client_key = new.client_key;
END;
CREATE TRIGGER preference_sealed AFTER INSERT ON preference
BEGIN
    UPDATE preference
       SET row_hash = sealed(new.agent_key, new.name, new.value, new.origin,
                         new.confirmed_at_us)
     WHERE preference_key = new.preference_key;
END;
CREATE TRIGGER preference_resealed AFTER UPDATE OF agent_key, name, value, origin, confirmed_at_us
    ON preference
BEGIN
    UPDATE preference
       SET row_hash = sealed(new.agent_key, new.name, new.value, new.origin,
                         new.confirmed_at_us)
     WHERE preference_key = new.preference_key;
END;
CREATE TRIGGER learning_sealed AFTER INSERT ON learning
BEGIN
    UPDATE learning
       SET row_hash = sealed(new.learning_id, new.agent_key, new.task_type, new.approach,
                         new.outcome, new.lesson, new.at_us)
     WHERE learning_key = new.learning_key;
END;
CREATE TRIGGER learning_resealed AFTER UPDATE OF learning_id, agent_key, task_type, approach,
    outcome, lesson, at_us ON learning
BEGIN
    UPDATE learning
       SET row_hash = sealed(new.learning_id, new.agent_key, new.task_type, new.approach,
                         new.outcome, new.lesson, new.at_us)
     WHERE learning_key = new.learning_key;
END;
CREATE TRIGGER playbook_sealed AFTER INSERT ON playbook
BEGIN
    UPDATE playbook
       SET row_hash = sealed(new.agent_key, new.pattern_id, new.task_type, new.description,
                         new.tool_sequence, new.prompt_template)
     WHERE agent_key = new.agent_key AND pattern_id = new.pattern_id;
END;
CREATE TRIGGER playbook_resealed AFTER UPDATE OF agent_key, pattern_id, task_type, description,
    tool_sequence, prompt_template ON playbook
BEGIN
    UPDATE playbook
       SET row_hash = sealed(new.agent_key, new.pattern_id, new.task_type, new.description,
                         new.tool_sequence, new.prompt_template)
     WHERE agent_key = new.agent_key AND pattern_id = new.pattern_id;
END;
UPDATE client SET agent_key = agent_key;
UPDATE preference SET agent_key = agent_key;
UPDATE learning SET agent_key = agent_key;
UPDATE playbook SET agent_key = agent_key;
"""


STEPS: Mapping[int, Step] = {1: _from_1, 2: _from_2}
"""The step from each version to the next. Version 1 is the first."""


def migrate(
    conn: Writing,
    database: Path,
    version: int,
    steps: Mapping[int, Step] = STEPS,
    target: int = SCHEMA_VERSION,
) -> Path | None:
    """Migrate a file of *version* to *target* and return its backup; None when it is current.

    Raises DamagedError, with the file untouched, when the backup or the outcome fails its check,
    when no steps lead to *target*, or when a current file has another shape. Foreign keys are off
    meanwhile, so that rebuilding a table does not empty those that reference it.
    """
    if version == target:
        if target == SCHEMA_VERSION:
            check_shape(conn)
        return None
    if not all(at in steps for at in range(version, target)):
        raise DamagedError(
            "no way leads from the file's schema to this one; it was left as it was",
            hint="restore a backup",
        )
    saved = database.with_name(f"{database.stem}-v{version}{backup.SUFFIX}")
    if not saved.exists():
        backup.make(conn, saved)
    conn.pragma("foreign_keys", False)
    conn.execute("BEGIN IMMEDIATE")
    try:
        for at in range(version, target):
            steps[at](conn)
        _check_integrity(conn)
        conn.pragma("user_version", target)
        conn.execute("COMMIT")
    except BaseException:
        if conn.in_transaction:
            conn.execute("ROLLBACK")
        raise
    finally:
        conn.pragma("foreign_keys", True)
    return saved


def _check_integrity(conn: Writing) -> None:
    broken = conn.execute("PRAGMA foreign_key_check").fetchone() is not None
    if broken or conn.pragma("quick_check") != "ok":
        raise DamagedError(
            "the migrated file does not check; it was left as it was", hint="run: memd check"
        )


_LISTED_MAX = 3
_OBJECTS = r"""
SELECT type, name
  FROM sqlite_schema
 WHERE name NOT LIKE 'sqlite\_%' ESCAPE '\' AND name NOT LIKE 'fts\_%' ESCAPE '\'
   AND name NOT LIKE 'vec\_%' ESCAPE '\'
   AND NOT (name LIKE 'record\_%' ESCAPE '\' AND type IN ('table', 'index'))
 UNION ALL
SELECT 'column', m.name || '.' || c.name
  FROM sqlite_schema AS m
       JOIN pragma_table_info(m.name) AS c
 WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite\_%' ESCAPE '\'
   AND m.name NOT LIKE 'fts\_%' ESCAPE '\' AND m.name NOT LIKE 'vec\_%' ESCAPE '\'
   AND m.name NOT LIKE 'record\_%' ESCAPE '\'
"""


def check_shape(conn: Writing) -> None:
    """Raise DamagedError for a file of another shape than ``schema.sql``.

    The cause is apsw.CorruptError when a page of its schema is damaged, as if SQLite had found it.
    """
    differences = list(_differences(conn))
    if not differences:
        return
    suffix = (
        "" if len(differences) <= _LISTED_MAX else f", and {len(differences) - _LISTED_MAX} more"
    )
    error = DamagedError(
        f"the file is not of the shape of schema {SCHEMA_VERSION}: "
        f"{', '.join(differences[:_LISTED_MAX])}{suffix}; it was left as it was",
        hint="run: memd repair, or restore a backup",
    )
    raise error from (apsw.CorruptError("a page of the schema") if _is_damaged(conn) else None)


@functools.cache
def _declared_objects() -> frozenset[tuple[apsw.SQLiteValue, ...]]:
    """Return the objects that ``schema.sql`` creates."""
    with closing(apsw.Connection(":memory:")) as fresh:
        fresh.execute(schema_sql())
        return frozenset(fresh.execute(_OBJECTS))


def _differences(conn: Writing) -> Iterator[str]:
    expected = _declared_objects()
    existing = set(conn.execute(_OBJECTS))
    for kind, name in _without_columns(expected - existing):
        if kind != "trigger":  # a row written without one is found by its missing hash
            yield f"{kind} {name} is missing"
    for kind, name in _without_columns(existing - expected):
        yield f"{kind} {name} is none of memd's"


def _without_columns(rows: AbstractSet[tuple[apsw.SQLiteValue, ...]]) -> list[tuple[str, str]]:
    """Return the objects in order, without columns whose table is in the list itself."""
    tables = {str(name) for kind, name in rows if kind == "table"}
    objects = [(str(kind), str(name)) for kind, name in rows]
    return sorted(
        item for item in objects if item[1].split(".")[0] not in tables or "." not in item[1]
    )


def _is_damaged(conn: Writing) -> bool:
    pages = conn.execute("SELECT pageno FROM dbstat WHERE name = 'sqlite_schema'").fetchall()
    path = Path(conn.filename)
    return any(any(page_sums.find_damaged(conn, path, int(str(page)), 1)) for (page,) in pages)
