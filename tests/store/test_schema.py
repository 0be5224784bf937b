"""The content of a new file, and the setup of every connection to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest
from support.clocks import HeldClock
from support.store import a_writer, plain_sql

from memd.base.errors import StorageError
from memd.store.file.connect import (
    APPLICATION_ID,
    PAGE_BYTES,
    SCHEMA_VERSION,
    Reading,
    check_library,
    prepare_reader,
    schema_sql,
)
from memd.store.file.database import open_database

GOLDEN = Path(__file__).parents[1] / "golden"


def objects(conn: apsw.Connection) -> dict[str, str]:
    """Return the text of everything that is no cache, without comments and layout."""
    return {
        name: plain_sql(sql)
        for name, sql in conn.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
        if not name.startswith(("fts_", "sqlite_"))
    }


def of_text(sql: str) -> dict[str, str]:
    memory = apsw.Connection(":memory:")
    memory.execute(sql)
    return objects(memory)


def test_a_new_file_is_exactly_the_schema(tmp_path: Path) -> None:
    with a_writer(tmp_path / "memd.db") as conn:
        assert objects(conn) == of_text(schema_sql())


def test_the_schema_of_a_released_version_is_never_edited() -> None:
    frozen = (GOLDEN / f"schema-{SCHEMA_VERSION}.sql").read_text("utf-8")
    assert of_text(schema_sql()) == of_text(frozen), "a new schema is a new version and a migration"


def test_the_file_says_whose_it_is_and_is_laid_out_for_vectors(tmp_path: Path) -> None:
    with a_writer(tmp_path / "memd.db") as conn:
        assert conn.pragma("application_id") == APPLICATION_ID == int.from_bytes(b"memd", "big")
        assert conn.pragma("user_version") == SCHEMA_VERSION
        assert conn.pragma("page_size") == PAGE_BYTES
        assert conn.pragma("auto_vacuum") == 2  # incremental
        assert conn.reserve_bytes() == 8


def test_the_writer_loses_nothing_it_acknowledged_and_leaves_nothing_it_forgot(
    tmp_path: Path,
) -> None:
    with a_writer(tmp_path / "memd.db") as conn:
        assert conn.pragma("journal_mode") == "wal"
        assert conn.pragma("synchronous") == 2  # full
        assert conn.pragma("fullfsync") == 1
        assert conn.pragma("checkpoint_fullfsync") == 1
        assert conn.pragma("wal_autocheckpoint") == 0
        assert conn.pragma("secure_delete") == 1
        assert conn.pragma("foreign_keys") == 1
        assert conn.pragma("mmap_size") == 0
        assert conn.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, -1) == 0
        assert conn.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, -1) == 1
        assert conn.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, -1) == 0


def test_a_reader_cannot_write(tmp_path: Path) -> None:
    with a_writer(tmp_path / "memd.db"):
        reader = Reading(str(tmp_path / "memd.db"))
        prepare_reader(reader)
        with pytest.raises(apsw.ReadOnlyError):
            reader.execute("DELETE FROM meta")
        assert reader.pragma("mmap_size") == 0
        prepare_reader(reader, mmap=True)
        assert reader.pragma("mmap_size") > 1 << 30
        reader.close()


async def test_only_its_owner_can_read_the_file(tmp_path: Path) -> None:
    async with open_database(tmp_path / "memd.db", HeldClock()):
        assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


BAD_ROWS: list[tuple[str, dict[str, Any]]] = [
    ("memory", {"category": "'rumour'"}),
    ("memory", {"level": "'for ever'"}),
    ("memory", {"state": "'lost'"}),
    ("memory", {"origin": "'nowhere'"}),
    ("memory", {"trust": "3"}),
    ("memory", {"importance": "1.5"}),
    ("memory", {"confidence": "-0.1"}),
    ("memory", {"token_count": "0"}),
    ("memory", {"content": "x'00'"}),
    ("memory", {"memory_id": "NULL"}),
    ("memory", {"agent_key": "99"}),
    ("archive", {"reason": "'a whim'"}),
    ("trash", {"reason": "'a whim'"}),
    ("embedding", {"kind": "'borrowed'"}),
    ("agent", {"level": "'for ever'"}),
    ("agent", {"retention_days": "0"}),
    ("reply", {"reply": "'{'"}),
]

GOOD_ROWS = {
    "agent": {"agent_id": "'eve'", "created_at_us": "1"},
    "memory": {
        "memory_id": "'m2'", "agent_key": "1", "namespace": "'default'", "category": "'semantic'",
        "level": "'persistent'", "origin": "'person'", "trust": "2", "content": "'a cat'",
        "token_count": "1", "importance": "0.5", "confidence": "1.0", "content_hash": "x'00'",
        "created_at_us": "1", "row_hash": "x'00'", "salt": "x'00'", "state": "'active'",
    },
    "archive": {
        "memory_key": "1", "archival_id": "'x'", "reason": "'cap'", "state_before": "'active'",
        "archived_at_us": "1",
    },
    "trash": {
        "memory_key": "1", "reason": "'deleted'", "state_before": "'active'",
        "deleted_at_us": "1", "erase_after_us": "2",
    },
    "embedding": {
        "memory_key": "1", "model_key": "1", "kind": "'own'",
        "checksum": "x'00'", "vector": "x'00'",
    },
    "reply": {
        "client": "'c'", "idempotency_key": "'k'", "request_hash": "x'00'", "reply": "'{}'",
        "created_at_us": "1",
    },
}  # fmt: skip


def insert(conn: apsw.Connection, table: str, **changed: str) -> None:
    row = {**GOOD_ROWS[table], **changed}
    conn.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join(row.values())})")


@pytest.mark.parametrize(("table", "change"), BAD_ROWS)
def test_the_file_refuses_what_no_value_can_be(
    tmp_path: Path, table: str, change: dict[str, str]
) -> None:
    with a_writer(tmp_path / "memd.db") as conn:
        insert(conn, "agent", agent_id="'ada'")
        insert(conn, "memory", memory_id="'m1'")
        conn.execute(
            "INSERT INTO embedding_model (fingerprint, name, dimension, created_at_us) "
            "VALUES ('f', 'n', 4, 1)"
        )
        insert(conn, table)  # the row is good but for the change
        conn.execute(f"DELETE FROM {table} WHERE rowid = last_insert_rowid()")
        with pytest.raises(apsw.ConstraintError):
            insert(conn, table, **change)


def test_a_library_that_can_corrupt_a_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    check_library()
    monkeypatch.setattr(apsw, "SQLITE_VERSION_NUMBER", 3_051_002)
    with pytest.raises(StorageError, match="too old"):
        check_library()
