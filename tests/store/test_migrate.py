"""From an older file to this schema: exactly, once, after a backup, or not at all (P9)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from support.clocks import HeldClock
from support.store import ADA, a_house, a_writer, source_hash, stored, tampering, visible

from memd.base.errors import DamagedError
from memd.store.connect import SCHEMA_VERSION, Writing
from memd.store.database import opened

# As if there had been a version 0: no weights, another name for a column, no index for the trash.
OLDER = """
DROP TABLE weights;
DROP INDEX trash_by_time;
ALTER TABLE trash RENAME COLUMN deleted_at_us TO thrown_at_us;
PRAGMA user_version = 0;
"""


def to_1(conn: Writing) -> None:
    conn.execute(
        """
        CREATE TABLE weights (
            weights_key INTEGER PRIMARY KEY,
            name TEXT NOT NULL,
            body TEXT NOT NULL CHECK (json_valid(body)),
            active INTEGER NOT NULL DEFAULT 0 CHECK (active IN (0, 1)),
            created_at_us INTEGER NOT NULL
        ) STRICT;
        ALTER TABLE trash RENAME COLUMN thrown_at_us TO deleted_at_us;
        CREATE INDEX trash_by_time ON trash (erase_after_us);
        """
    )


def breaks_off(conn: Writing) -> None:
    to_1(conn)
    raise RuntimeError("planted")


def loses_an_agent(conn: Writing) -> None:
    to_1(conn)
    conn.execute("DELETE FROM agent")


async def an_older_file(path: Path) -> set[str]:
    async with a_house(path) as house:
        await stored(house, "Ann keeps bees in Lisbon.", "Bob sails.", session_id="s")
        ids = await visible(house)
    with tampering(path) as conn:
        conn.execute(OLDER)
        conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    return ids


async def test_an_older_file_becomes_exactly_this_schema_and_keeps_its_memories(
    tmp_path: Path,
) -> None:
    path, new = tmp_path / "memd.db", tmp_path / "new.db"
    ids = await an_older_file(path)
    async with opened(path, HeldClock(), steps={0: to_1}):
        pass
    with a_writer(path) as conn, a_writer(new) as other:
        assert schema(conn) == schema(other)
        assert conn.pragma("user_version") == SCHEMA_VERSION
        assert conn.pragma("foreign_keys") == 1
    async with a_house(path) as house:
        assert await visible(house) == ids
        assert (await house.upkeep.check(ADA)).ok


def schema(conn: apsw.Connection) -> dict[str, str]:
    rows = conn.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
    return {
        name: " ".join(sql.replace('"', "").split())
        for name, sql in rows
        if not name.startswith(("fts_", "vec_"))
    }


async def test_the_older_file_is_kept_as_a_backup_that_can_be_opened(tmp_path: Path) -> None:
    path = tmp_path / "memd.db"
    await an_older_file(path)
    async with opened(path, HeldClock(), steps={0: to_1}):
        pass
    saved = apsw.Connection(str(tmp_path / "memd-v0.backup.db"))
    assert saved.pragma("user_version") == 0
    assert saved.execute("SELECT count(*) FROM memory").get == 2
    assert saved.pragma("integrity_check") == "ok"
    saved.close()
    async with opened(path, HeldClock(), steps={0: to_1}):  # nothing is left to do
        assert len(list(tmp_path.glob("*.backup.db"))) == 1


@pytest.mark.parametrize(
    ("step", "error"), [(breaks_off, RuntimeError), (loses_an_agent, DamagedError)]
)
async def test_a_migration_that_fails_leaves_the_older_file(
    tmp_path: Path, step: Callable[[Writing], None], error: type[Exception]
) -> None:
    path = tmp_path / "memd.db"
    await an_older_file(path)
    before = apsw.Connection(str(path))
    schema_before = schema(before)
    before.close()
    with pytest.raises(error):
        async with opened(path, HeldClock(), steps={0: step}):
            pass
    after = apsw.Connection(str(path))
    assert schema(after) == schema_before
    assert after.pragma("user_version") == 0
    after.close()
    async with opened(path, HeldClock(), steps={0: to_1}) as db:  # and it can be tried again
        assert await db.read(lambda conn: conn.execute("SELECT count(*) FROM memory").get) == 2


async def test_rebuilding_a_table_does_not_empty_those_that_point_to_it(tmp_path: Path) -> None:
    """With foreign keys on, DROP TABLE agent would delete every memory."""
    path = tmp_path / "memd.db"
    await an_older_file(path)

    def rebuilds(conn: Writing) -> None:
        to_1(conn)
        sql = conn.execute("SELECT sql FROM sqlite_schema WHERE name = 'agent'").get
        assert isinstance(sql, str)
        conn.execute(sql.replace("TABLE agent", "TABLE fresh"))
        conn.execute("INSERT INTO fresh SELECT * FROM agent; DROP TABLE agent")
        conn.execute("ALTER TABLE fresh RENAME TO agent")

    async with opened(path, HeldClock(), steps={0: rebuilds}) as db:
        assert await db.read(lambda conn: conn.execute("SELECT count(*) FROM memory").get) == 2
        assert await db.read(source_hash)
