"""Records of an earlier memd, also with other rules than today's (0202), or of another store."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest
from support.clocks import HeldClock
from support.sample_records import EXAMPLES, a_record, referred, some_records
from support.store import a_house

from memd.backends.rooms import Rooms
from memd.base.errors import ConstraintViolationError, InvalidError, MigrationError
from memd.domain.caller import Caller
from memd.records.columns import to_row
from memd.records.entities import ENTITIES, Entity
from memd.records.records import Records
from memd.store.file.database import open_database
from memd.store.records import rows

ME = Caller()


async def saved(records: Records, name: str) -> None:
    for each in (*referred(ENTITIES[name]), name):
        await records.save(ME, ENTITIES[each], a_record(each))


def narrower(name: str, *left_out: str) -> Entity:
    """Return the entity as an earlier memd may have declared it: without some fields."""
    entity = ENTITIES[name]
    table = entity.table
    columns = tuple(column for column in table.columns if column.name not in left_out)
    indexes = tuple(index for index in table.indexes if not set(index) & set(left_out))
    earlier = replace(entity)
    earlier.__dict__["table"] = replace(table, columns=columns, indexes=indexes)
    return earlier


async def written_before(folder: Path, name: str, *left_out: str) -> None:
    """Write the example of *name* into a table that has not all columns yet."""
    earlier = narrower(name, *left_out)
    row = {key: value for key, value in to_row(a_record(name)).items() if key not in left_out}
    async with open_database(folder / "memd.db", HeldClock()) as db:
        await db.write(ME, lambda conn: rows.insert(conn, earlier.table, row))


ADDED = [
    ("tasks", "priority", "assigned_to", "delegation_chain", "max_retries"),
    ("messages", "attachments", "priority"),
    ("lifecycle_events", "details", "metadata"),
    ("api_keys", "expires_at_us", "revoked"),
    ("artifacts", "size_bytes", "project_id"),
]


@pytest.mark.parametrize("case", ADDED, ids=lambda case: case[0])
async def test_a_column_that_was_declared_later_is_added_to_what_is_there(
    tmp_path: Path, case: tuple[str, ...]
) -> None:
    name, *left_out = case
    if name == "api_keys":
        await written_before(tmp_path, "users")
    await written_before(tmp_path, name, *left_out)
    record = a_record(name)
    if name == "messages":
        record = record.model_copy(update={"attachments": ()})
    async with some_records(tmp_path) as records:
        entity = ENTITIES[name]
        assert await records.list(ME, entity, {}) == (record,)
        where = {field: getattr(record, field) for field in entity.filters}
        assert await records.list(ME, entity, where) == (record,)
    async with some_records(tmp_path) as records:  # once more, now that it is as declared
        assert await records.count(ME, ENTITIES[name], {}) == 1
    conn = apsw.Connection(str(tmp_path / "memd.db"))
    indexes = {row[0] for row in conn.execute("SELECT name FROM sqlite_schema WHERE sql GLOB ?",
                                              ("CREATE INDEX record_*",))}  # fmt: skip
    conn.close()
    assert indexes >= ENTITIES[name].table.index_ddls.keys()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("ALTER TABLE record_messages ADD COLUMN mood TEXT", "has mood, which this memd"),
        ("ALTER TABLE record_messages DROP COLUMN sender", "has no sender, and a record must"),
        ("type", "has another priority than this memd"),
    ],
)
async def test_what_cannot_follow_its_declaration_is_refused_and_nothing_is_touched(
    tmp_path: Path, change: str, message: str
) -> None:
    async with some_records(tmp_path) as records:
        await saved(records, "messages")
        await saved(records, "projects")
    conn = apsw.Connection(str(tmp_path / "memd.db"))
    if change == "type":
        conn.execute("ALTER TABLE record_messages DROP COLUMN priority")
        change = "ALTER TABLE record_messages ADD COLUMN priority INTEGER"
    conn.execute(change)
    before = conn.execute("SELECT sql FROM sqlite_schema ORDER BY name").fetchall()
    conn.close()
    async with some_records(tmp_path) as records:
        for _ in range(2):
            with pytest.raises(MigrationError, match=message):
                await records.list(ME, ENTITIES["messages"], {})
            with pytest.raises(MigrationError, match=message):
                await records.save(ME, ENTITIES["messages"], a_record("messages", id="m2"))
        assert await records.count(ME, ENTITIES["projects"], {}) == 1
    conn = apsw.Connection(str(tmp_path / "memd.db"))
    assert conn.execute("SELECT sql FROM sqlite_schema ORDER BY name").fetchall() == before
    conn.close()


async def test_an_export_of_a_table_that_cannot_follow_is_refused_and_not_shorter(
    house: Rooms,
) -> None:
    await Records(house.db, house.ids).save(ME, ENTITIES["projects"], a_record("projects"))
    await house.db.write(
        ME, lambda conn: conn.execute("ALTER TABLE record_projects ADD COLUMN mood TEXT")
    )
    with pytest.raises(MigrationError):
        await house.moving.dump(None, 100)


async def test_every_record_moves_to_another_store_and_none_twice(tmp_path: Path) -> None:
    async with a_house(tmp_path / "a.db") as here, a_house(tmp_path / "b.db") as there:
        records = Records(here.db, here.ids)
        for name in ENTITIES:
            await records.save(ME, ENTITIES[name], a_record(name))
        await here.sessions.start(ME, "s")
        await here.notes.flush()
        items: list[dict[str, Any]] = []
        after: str | None = None
        while True:  # page by page
            page = await here.moving.dump(after, 2)
            assert len(page.items) <= 2
            items += [dict(item) for item in page.items]
            after = page.next
            if after is None:
                break
        moved = [item for item in items if item["kind"] == "record"]
        assert [item["entity"] for item in moved] == list(ENTITIES)  # memd's own note stays
        assert (await there.moving.load(ME, items)).stored == len(items)
        for name in ENTITIES:
            assert await Records(there.db, there.ids).list(ME, ENTITIES[name], {}) == (
                a_record(name),
            )
        again = await there.moving.load(ME, items)
        assert (again.stored, again.known) == (0, len(items))


async def test_what_is_here_stays_and_a_bad_line_stops_no_other(house: Rooms) -> None:
    records = Records(house.db, house.ids)
    await records.save(ME, ENTITIES["projects"], a_record("projects", name="Ours"))
    line = {"kind": "record", "entity": "projects", "record": EXAMPLES["projects"]}
    secret = "AKIA" + "QZ7XJ4WKPM2LVN3T"
    lines = [
        line,
        {**line, "entity": "invoices"},
        {**line, "record": {"id": "p2"}},
        {**line, "entity": "cost_records", "record": EXAMPLES["cost_records"]},  # no such task
        {**line, "entity": "cost_records", "record": {**EXAMPLES["cost_records"], "id": None}},
        {**line, "record": {**EXAMPLES["projects"], "id": "p3", "name": secret}},
    ]
    done = await house.moving.load(ME, lines)
    assert (done.stored, done.known) == (1, 1)
    assert [problem.index for problem in done.problems] == [1, 2, 3, 4]
    names = {each.name for each in await records.list(ME, ENTITIES["projects"], {})}
    assert "Ours" in names
    assert secret not in repr(names)
    for after in ('["record", "x"]', '["record", "tasks", 1]', '["record"', '["record", "tasks"]'):
        with pytest.raises(InvalidError):
            await house.moving.dump(after, 10)


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
    return {table.name: text} | table.index_ddls


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
