"""Tables of records that an earlier memd created, with other rules than today's (decision 0202)."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from support.clocks import HeldClock
from support.recording import a_record, some_records

from memd.base.record_errors import ConstraintViolationError, MigrationError
from memd.domain.caller import Caller
from memd.records.entities import ENTITIES
from memd.store.file.database import open_database

ME = Caller()
FIRST = Path(__file__).parents[1] / "golden" / "records-1.sql"
"""Every table with a row, as the first memd that had records made them; never changed."""
STATUSES = "'rejected', 'auth_required')"


async def a_file(folder: Path, *changes: tuple[str, str]) -> Path:
    """Make a file whose tables of records are the first ones, with *changes* of their text."""
    text = FIRST.read_text("utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    async with open_database(folder / "memd.db", HeldClock()) as db:
        await db.write(ME, lambda conn: conn.execute(text))
    return folder / "memd.db"


def schema_of(file: Path) -> dict[str, str]:
    with closing(apsw.Connection(str(file))) as conn:
        assert conn.execute("PRAGMA foreign_key_check").fetchall() == []
        assert conn.pragma("integrity_check") == "ok"
        rows = conn.execute(
            "SELECT name, sql FROM sqlite_schema WHERE name GLOB 'record_*' AND sql IS NOT NULL"
        ).fetchall()
    return {str(name): str(text) for name, text in rows}


def declared(name: str) -> dict[str, str]:
    table = ENTITIES[name].table
    text = table.ddl.split(";\n")[0]
    return {table.name: text} | {index.name: index.ddl for index in table.index_ddls}


@pytest.mark.parametrize("name", ENTITIES)
async def test_the_first_memd_s_records_are_read_and_its_tables_follow(
    tmp_path: Path, name: str
) -> None:
    file = await a_file(tmp_path)
    async with some_records(tmp_path) as records:
        assert await records.list(ME, ENTITIES[name], {}) == (a_record(name),)
    schema = schema_of(file)
    assert {each: schema[each] for each in declared(name)} == declared(name)


WIDER = [
    ("tasks", STATUSES, "'rejected')", {"id": "t2", "status": "auth_required"}),
    ("tasks", '"title" TEXT NOT NULL', '"title" TEXT NOT NULL CHECK (length("title") < 10)',
     {"id": "t2", "title": "A title that is longer"}),
    ("artifacts", "'tests', 'documentation')", "'tests')", {"id": "f2", "type": "documentation"}),
    ("projects", '"lead" TEXT,', '"lead" TEXT NOT NULL,', {"id": "p2", "lead": None}),
    ("users", "'observer', 'system')", "'observer')", {"id": "u2", "role": "system"}),
]  # fmt: skip


@pytest.mark.parametrize("case", WIDER, ids=lambda case: f"{case[0]}-{next(iter(case[3]))}")
async def test_a_rule_that_has_changed_is_followed_around_the_same_rows(
    tmp_path: Path, case: tuple[str, str, str, dict[str, str]]
) -> None:
    name, now, before, fields = case
    file = await a_file(tmp_path, (now, before))
    async with some_records(tmp_path) as records:
        added = a_record(name, **fields)
        await records.save(ME, ENTITIES[name], added)
        kept = await records.list(ME, ENTITIES[name], {})
        assert len(kept) == 2
        assert added in kept
        for other in ENTITIES:  # and who refers to it
            assert await records.get(
                ME, ENTITIES[other], [getattr(a_record(other), key) for key in ENTITIES[other].key]
            ) == a_record(other)
        with pytest.raises(ConstraintViolationError):
            await records.delete(ME, ENTITIES["tasks"], {"id": "t1"})
        with pytest.raises(ConstraintViolationError):
            await records.delete(ME, ENTITIES["users"], {"id": "u1"})
    schema = schema_of(file)
    assert schema.items() >= declared(name).items()
    assert not [each for each in schema if "_before" in each]


async def test_a_table_made_anew_gains_columns_and_indexes_too(tmp_path: Path) -> None:
    gone = '"max_retries" INTEGER NOT NULL CHECK ("max_retries" >= 0),\n'
    index = 'CREATE INDEX record_tasks_by_project ON record_tasks ("project");\n'
    other = 'CREATE INDEX record_tasks_by_status ON record_tasks ("status");\n'
    file = await a_file(
        tmp_path,
        (STATUSES, "'rejected')"),
        (gone, ""),
        ("NULL, 1, NULL, NULL, 'auto'", "NULL, NULL, NULL, 'auto'"),
        (index, 'CREATE INDEX record_tasks_by_priority ON record_tasks ("priority");\n'),
        (other, 'CREATE INDEX record_tasks_by_status ON record_tasks ("status", "title");\n'),
    )
    async with some_records(tmp_path) as records:
        assert await records.list(ME, ENTITIES["tasks"], {}) == (a_record("tasks"),)
    schema = schema_of(file)
    assert {k: v for k, v in schema.items() if k.startswith("record_tasks")} == declared("tasks")


REFUSED = [
    ((STATUSES, "'rejected', 'auth_required', 'x')"), ("'created', 'medium'", "'x', 'medium'"),
     "has a status that this memd does not allow"),
    (('"title" TEXT NOT NULL', '"title" TEXT'), ("'t1', 'Write it'", "'t1', NULL"),
     "has a title that this memd does not allow"),
    (('"task_structure" TEXT,', '"task_structure" TEXT NOT NULL,'),
     ('    PRIMARY KEY ("id")\n) STRICT, WITHOUT ROWID;\nCREATE INDEX record_tasks_by_assigned_to',
      '    PRIMARY KEY ("id", "type")\n) STRICT, WITHOUT ROWID;\n'
      "CREATE INDEX record_tasks_by_assigned_to"),
     "has another key than id"),
    (('"title" TEXT NOT NULL', '"title" BLOB NOT NULL'), ("'Write it'", "x'00'"),
     "has another title than this memd"),
]  # fmt: skip


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case[2].split()[-1] + case[2].split()[2])
async def test_what_a_row_or_a_key_forbids_is_refused_and_nothing_is_touched(
    tmp_path: Path, case: tuple[tuple[str, str], tuple[str, str], str]
) -> None:
    *changes, message = case
    alone = FIRST.read_text("utf-8").partition("CREATE TABLE record_cost_records")[0]
    for old, new in changes:
        alone = alone.replace(old, new)
    async with open_database(tmp_path / "memd.db", HeldClock()) as db:
        await db.write(
            ME, lambda conn: conn.execute(alone.replace("NULL, NULL, 'auto'", "NULL, 'x', 'auto'"))
        )
    before = schema_of(tmp_path / "memd.db")
    async with some_records(tmp_path) as records:
        for _ in range(2):
            with pytest.raises(MigrationError, match=message):
                await records.list(ME, ENTITIES["tasks"], {})
        assert await records.list(ME, ENTITIES["projects"], {}) == ()
    assert schema_of(tmp_path / "memd.db") == before


async def test_a_migration_that_fails_half_way_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    file = await a_file(tmp_path, (STATUSES, "'rejected')"))
    with closing(apsw.Connection(str(file))) as conn:  # a cost without its task: no copy is allowed
        conn.execute("PRAGMA foreign_keys = OFF; UPDATE record_cost_records SET task_id = 'none'")
        before = conn.execute("SELECT sql FROM sqlite_schema ORDER BY name").fetchall()
    async with some_records(tmp_path) as records:
        with pytest.raises(MigrationError, match="has a row that this memd does not allow"):
            await records.list(ME, ENTITIES["tasks"], {})
    with closing(apsw.Connection(str(file))) as conn:
        assert conn.execute("SELECT sql FROM sqlite_schema ORDER BY name").fetchall() == before
        assert conn.execute("SELECT count(*) FROM record_tasks").get == 1
        rows = conn.execute("SELECT id, title FROM record_tasks").fetchall()
    assert json.dumps(rows) == '[["t1", "Write it"]]'
