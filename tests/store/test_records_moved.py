"""Records from an earlier memd, and records exported to another store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest
from support.clocks import HeldClock
from support.recording import EXAMPLES, a_record, referred, some_records
from support.store import a_house

from memd.backends.rooms import Rooms
from memd.base.errors import InvalidError
from memd.base.record_errors import MigrationError
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
    assert indexes >= {index.name for index in ENTITIES[name].table.index_ddls}


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
