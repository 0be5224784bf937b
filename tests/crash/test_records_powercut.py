"""The power may go while a table of records is made anew: it is the old one or the new (0202)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from support.nights import settled
from support.powercut import Op, images, leave_as_it_is
from support.recorded_connection import a_recorded_bed
from support.sample_records import a_record
from support.store import a_writer

from memd.base.errors import MemdError
from memd.domain.caller import Caller
from memd.records.entities import ENTITIES
from memd.records.records import Records
from memd.store.check import check
from memd.store.file.connect import Writing
from memd.store.records import shape

FIRST = Path(__file__).parents[1] / "golden" / "records-1.sql"
EARLIER = FIRST.read_text("utf-8").replace("'rejected', 'auth_required')", "'rejected')")
TABLES = ("record_tasks", "record_cost_records")


async def traced(folder: Path) -> tuple[list[Op], int]:
    """Make tables of an earlier rule anew, on the disk that remembers."""
    folder.mkdir()
    async with a_recorded_bed(folder, settled()) as (vfs, db, bed):
        await db.write(Caller(), lambda conn: conn.execute(EARLIER))
        start = len(vfs.trace)
        tasks = await Records(db, bed.house.ids).list(Caller(), ENTITIES["tasks"], {})
        assert tasks == (a_record("tasks"),)
        return list(vfs.trace), start


def shapes(conn: apsw.Connection) -> tuple[Any, ...]:
    """Return whether the rule is the new one, the tables that there are, and their rows."""
    schema = conn.execute(
        "SELECT name, sql FROM sqlite_schema WHERE name GLOB 'record_*' AND type = 'table'"
    ).fetchall()
    texts = {str(name): str(text) for name, text in schema}
    rows = tuple(conn.execute(f"SELECT * FROM {name}").fetchall() for name in TABLES)  # its own
    return "auth_required" in texts["record_tasks"], frozenset(texts), str(rows)


def wrong(folder: Path, trace: list[Op], start: int) -> Iterator[str | bool]:
    """Yield what is wrong with each image, or whether it has the new rule."""
    image = folder / "image"
    image.mkdir()
    for cut in images(trace, image, start=start, hows=("none", "torn")):
        if not cut.fresh:
            continue
        try:
            with a_writer(image / "memd.db") as conn:
                leave_as_it_is(conn)
                is_new, names, rows = shapes(conn)
                yield from [*check.check_rows(conn), *check.check_caches(conn)]
        except (apsw.Error, MemdError, KeyError) as error:
            yield type(error).__name__
            continue
        if names != {entity.table.name for entity in ENTITIES.values()}:
            yield "other tables"
        if "'t1'" not in rows or "'c1'" not in rows:
            yield "rows are gone"
        yield is_new


async def test_a_cut_at_any_operation_leaves_the_old_table_or_the_new_one(tmp_path: Path) -> None:
    trace, start = await traced(tmp_path / "live")
    assert set(wrong(tmp_path, trace, start)) == {False, True}


async def test_a_table_that_is_made_anew_in_two_transactions_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = shape._copy

    def later(conn: Writing, *given: Any) -> None:
        conn.execute("RELEASE halves; COMMIT; BEGIN IMMEDIATE; SAVEPOINT halves")
        copy(conn, *given)

    make = shape._rebuild

    def halved(conn: Writing, *given: Any) -> None:
        conn.execute("SAVEPOINT halves")
        make(conn, *given)
        conn.execute("RELEASE halves")

    monkeypatch.setattr(shape, "_copy", later)
    monkeypatch.setattr(shape, "_rebuild", halved)
    monkeypatch.setattr(Writing, "__enter__", lambda self: self)
    monkeypatch.setattr(Writing, "__exit__", lambda *_given: None)
    trace, start = await traced(tmp_path / "live")
    assert {"other tables", "rows are gone"} & set(wrong(tmp_path, trace, start))
