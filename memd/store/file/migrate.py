"""Migrate a file of an older schema: in one transaction, after a verified backup.

Each step changes tables and rows from one version to the next; a released step is never edited. At
the end all views and triggers are created anew from ``schema.sql``, and the indexes that are
missing, so steps do not contain them. Every path ends in exactly ``schema.sql`` (a test compares
the texts). A crash leaves the old version or the new one.

A file of the current version must have the shape of ``schema.sql``: every table, column, index and
view. One that was changed by hand, or written by an early memd under the same version, would fail
in the middle of a write with a message of SQLite's; it is refused at the start and left as it is.
A trigger that is not memd's is refused as well: it would run at every write.
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
from memd.store.search import caches

Step = Callable[[Writing], None]


def _from_1(conn: Writing) -> None:
    """Add the times of messages, the messages that a nap's memory comes from, and slots.

    Each memory that naps stored until now came from one message, its source. The full-text index of
    sessions is not part of the schema: it is built when the file is opened.
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
        CREATE TABLE nap_slot (
            slot_key INTEGER PRIMARY KEY,
            session_key INTEGER NOT NULL REFERENCES session (session_key) ON DELETE CASCADE,
            slot TEXT NOT NULL,
            memory_key INTEGER UNIQUE REFERENCES memory (memory_key) ON DELETE CASCADE,
            row_hash BLOB
        ) STRICT;
        INSERT INTO memory_turn (memory_key, ordinal, source_key)
        SELECT m.memory_key, 0, m.source_key
          FROM memory AS m
               JOIN run AS r ON r.run_id = m.batch AND r.kind = 'nap'
         WHERE m.source_key IS NOT NULL
        """
    )


def _from_2(conn: Writing) -> None:
    """Add turns in passing, injections, the origin of preferences, and row hashes.

    Existing turns keep their state. The origin of a preference set by name is unknown, so the owner
    has to confirm it. A preference that a memory states takes the memory's origin, and is confirmed
    when a person stated it through the owner's commands or a client with a key. Clients,
    preferences, lessons and patterns get a row hash.
    """
    conn.execute(
        """
        CREATE TABLE passing (
            memory_key INTEGER PRIMARY KEY REFERENCES memory (memory_key) ON DELETE CASCADE,
            kind TEXT NOT NULL CHECK (kind IN ('question', 'request', 'acknowledgement', 'remark'))
        ) STRICT;
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
         WHERE m.memory_key = preference.memory_key;
        ALTER TABLE client ADD COLUMN row_hash BLOB;
        ALTER TABLE preference ADD COLUMN row_hash BLOB;
        ALTER TABLE learning ADD COLUMN row_hash BLOB;
        ALTER TABLE playbook ADD COLUMN row_hash BLOB;
        UPDATE client
           SET row_hash = sealed(client_id, agent_key, key_hash, seniority, autonomy_level, scopes,
                                 revoked_at_us);
        UPDATE preference
           SET row_hash = sealed(agent_key, name, value, origin, confirmed_at_us);
        UPDATE learning
           SET row_hash = sealed(learning_id, agent_key, task_type, approach, outcome, lesson,
                                 at_us);
        UPDATE playbook
           SET row_hash = sealed(agent_key, pattern_id, task_type, description, tool_sequence,
                                 prompt_template)
        """
    )


def _from_3(conn: Writing) -> None:
    """Give each agent its own windows: the key now includes the agent.

    Until now the agent that reported last owned the window, but transcript, folder and model could
    be those of the agent before. Where another agent has a session with the same id, these columns
    are cleared; the next report sets them.
    """
    conn.execute(
        """
        ALTER TABLE usage_window RENAME TO old_window;
        CREATE TABLE usage_window (
            agent_key INTEGER NOT NULL REFERENCES agent (agent_key) ON DELETE CASCADE,
            source TEXT NOT NULL,
            session_id TEXT NOT NULL,
            used_tokens INTEGER,
            window_tokens INTEGER,
            compact_at_tokens INTEGER,
            used_percent REAL,
            model TEXT,
            cwd TEXT,
            transcript_path TEXT,
            event TEXT,
            armed INTEGER NOT NULL CHECK (armed IN (0, 1)),
            seen_at_us INTEGER NOT NULL,
            napped_at_us INTEGER,
            PRIMARY KEY (agent_key, source, session_id)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO usage_window (agent_key, source, session_id, used_tokens, window_tokens,
                                  compact_at_tokens, used_percent, model, cwd, transcript_path,
                                  event, armed, seen_at_us, napped_at_us)
        SELECT agent_key, source, session_id, used_tokens, window_tokens, compact_at_tokens,
               used_percent, model, cwd, transcript_path, event, armed, seen_at_us, napped_at_us
          FROM old_window;
        DROP TABLE old_window;
        UPDATE usage_window
           SET model = NULL, cwd = NULL, transcript_path = NULL
          FROM session AS s
         WHERE s.session_id = usage_window.session_id AND s.agent_key != usage_window.agent_key
        """
    )


def _from_4(conn: Writing) -> None:
    """Add token vectors. The embedding queue computes those of existing memories."""
    conn.execute("ALTER TABLE embedding ADD COLUMN tokens BLOB")


def _from_5(conn: Writing) -> None:
    """Change the archive reason of memories archived by hand from "consolidated" to "manual".

    These are the rows without a run, since a night records its run. Their images in the undo log
    change alike, or an undo would take the row for changed. Such a memory no longer counts as
    hidden by a summary, so it moves to another part of the caches.
    """
    by_hand = conn.list_ints(
        """
        SELECT memory_key
          FROM archive JOIN behind USING (memory_key)
         WHERE reason = 'consolidated' AND run IS NULL
        """
    )
    with caches.reindexing(conn, by_hand):
        conn.pragma("legacy_alter_table", True)  # or RENAME would change the views to old_archive
        conn.execute(
            """
            ALTER TABLE archive RENAME TO old_archive;
            CREATE TABLE archive (
                memory_key INTEGER PRIMARY KEY REFERENCES memory (memory_key) ON DELETE CASCADE,
                archival_id TEXT NOT NULL UNIQUE,
                reason TEXT NOT NULL CHECK (reason IN ('low_importance', 'consolidated',
                    'compressed', 'cap', 'superseded', 'manual')),
                state_before TEXT NOT NULL,
                run TEXT,
                archived_at_us INTEGER NOT NULL
            ) STRICT;
            INSERT INTO archive (memory_key, archival_id, reason, state_before, run, archived_at_us)
            SELECT memory_key, archival_id,
                   iif(reason = 'consolidated' AND run IS NULL, 'manual', reason),
                   state_before, run, archived_at_us
              FROM old_archive;
            DROP TABLE old_archive;
            UPDATE run_change
               SET before = json_set(before, '$.archive[1]', 'manual')
             WHERE before ->> '$.archive[1]' = 'consolidated' AND before ->> '$.archive[3]' IS NULL;
            UPDATE run_change
               SET after = json_set(after, '$.archive[1]', 'manual')
             WHERE after ->> '$.archive[1]' = 'consolidated' AND after ->> '$.archive[3]' IS NULL
            """
        )
        conn.pragma("legacy_alter_table", False)


def _from_6(conn: Writing) -> None:
    """Change no table: only the views of the full-text indexes changed, they split signs (0380)."""


def _from_7(conn: Writing) -> None:
    """Add the table of forgotten texts; those that were erased before are not known (0386)."""
    conn.execute(
        """
        CREATE TABLE forgotten_text (
            agent_key INTEGER NOT NULL REFERENCES agent (agent_key) ON DELETE CASCADE,
            mark BLOB NOT NULL,
            PRIMARY KEY (agent_key, mark)
        ) STRICT, WITHOUT ROWID
        """
    )


def _from_8(conn: Writing) -> None:
    """Add the table of deletions; what was deleted before is not known (0399)."""
    conn.execute(
        """
        CREATE TABLE deletion (
            agent_key INTEGER NOT NULL REFERENCES agent (agent_key) ON DELETE CASCADE,
            mark BLOB NOT NULL,
            deleted_at_us INTEGER NOT NULL,
            PRIMARY KEY (agent_key, mark)
        ) STRICT, WITHOUT ROWID
        """
    )


STEPS: Mapping[int, Step] = {
    1: _from_1,
    2: _from_2,
    3: _from_3,
    4: _from_4,
    5: _from_5,
    6: _from_6,
    7: _from_7,
    8: _from_8,
}
"""The step from each version to the next. Version 1 is the first."""
_SPLITS_SIGNS = 7
"""The first version whose full-text indexes split signs: older indexes are rebuilt."""


def migrate(
    conn: Writing, database: Path, version: int, steps: Mapping[int, Step] = STEPS
) -> Path | None:
    """Migrate a file of *version* to this schema and return its backup; None when it is current.

    Raises DamagedError, with the file untouched, when the backup or the migrated file fails its
    check, when steps are missing, or when a file of the current version has another shape. Foreign
    keys are off during the steps, so that dropping a table does not delete rows that reference it.
    """
    if version == SCHEMA_VERSION:
        check_shape(conn)
        return None
    if not all(at in steps for at in range(version, SCHEMA_VERSION)):
        raise DamagedError(
            "the file's schema cannot be migrated to this one; the file was not changed",
            hint="restore a backup",
        )
    saved = database.with_name(f"{database.stem}-v{version}{backup.SUFFIX}")
    if not saved.exists():
        backup.make(conn, saved)
    conn.pragma("foreign_keys", False)
    conn.execute("BEGIN IMMEDIATE")
    try:
        for at in range(version, SCHEMA_VERSION):
            steps[at](conn)
        _create_derived(conn)
        if version < _SPLITS_SIGNS:
            caches.index_signs(conn)
        _check_integrity(conn)
        conn.pragma("user_version", SCHEMA_VERSION)
        conn.execute("COMMIT")
    except BaseException:
        if conn.in_transaction:
            conn.execute("ROLLBACK")
        raise
    finally:
        conn.pragma("foreign_keys", True)
    return saved


def _create_derived(conn: Writing) -> None:
    """Create the views and triggers of ``schema.sql`` anew, and its indexes that are missing."""
    with closing(apsw.Connection(":memory:")) as fresh:
        fresh.execute(schema_sql())
        derived = fresh.execute(
            """
            SELECT type, name, sql
              FROM sqlite_schema
             WHERE type IN ('view', 'trigger', 'index') AND sql IS NOT NULL
            """
        ).fetchall()
    for kind, name, _ in derived:
        if kind != "index":
            conn.execute(f"DROP {kind} IF EXISTS {name}")
    for kind, name, sql in derived:
        if kind != "index" or not conn.exists(_HAS_INDEX, (name,)):
            conn.execute(str(sql))


_HAS_INDEX = "SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = ?"


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
    """Raise DamagedError if the file does not have the shape of ``schema.sql``.

    Its cause is apsw.CorruptError when a page of the schema is damaged, as for damage that SQLite
    itself detects.
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
        if kind != "trigger":  # rows written without a trigger lack their hash, which checks detect
            yield f"{kind} {name} is missing"
    for kind, name in _without_columns(existing - expected):
        yield f"{kind} {name} is none of memd's"


def _without_columns(rows: AbstractSet[tuple[apsw.SQLiteValue, ...]]) -> list[tuple[str, str]]:
    """Return the objects sorted, without the columns of tables that are in *rows* themselves."""
    tables = {str(name) for kind, name in rows if kind == "table"}
    objects = [(str(kind), str(name)) for kind, name in rows]
    return sorted(
        item for item in objects if item[1].split(".")[0] not in tables or "." not in item[1]
    )


def _is_damaged(conn: Writing) -> bool:
    pages = conn.execute("SELECT pageno FROM dbstat WHERE name = 'sqlite_schema'").fetchall()
    path = Path(conn.filename)
    return any(any(page_sums.find_damaged(conn, path, int(str(page)), 1)) for (page,) in pages)
