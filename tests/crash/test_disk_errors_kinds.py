"""The disk fails at any operation of a fact or a file: an error, then all of it or nothing (P5)."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from support.clocks import HeldClock
from support.failing_disk import HEALTHY, FailingVFS
from support.nights import a_bed
from support.operation_kinds import Desk
from support.recorded_connection import held
from support.store import a_writer

from memd.base.errors import MemdError
from memd.org import temporal
from memd.store.check import check
from memd.store.file.connect import Writing
from memd.store.org.org import Operation

PATH = "/memories/plan.md"
OPERATIONS = 200  # of one write, at most
EVERY = 5  # operation is one at which the disk fails; in the long test each is
WRITES: dict[str, Callable[[Desk], Awaitable[None]]] = {
    "a fact's version": lambda desk: desk.write("web", "The shop uses Litestar."),
    "a file's edit": lambda desk: desk.file("str_replace", path=PATH, old_str="Ann", new_str="Bob"),
}


async def filled(folder: Path) -> dict[str, str]:
    folder.mkdir()
    async with a_bed(folder) as bed:
        desk = Desk(bed.house, folder)
        await desk.write("web", "The shop uses Django.")
        await desk.file("create", path=PATH, file_text="Call Ann.")
        return desk.ids


def now(path: Path) -> str:
    """Return a hash over what the file holds; it must be sound."""
    with a_writer(path) as conn:
        assert [*check.check_rows(conn), *check.check_caches(conn)] == []
        return held(conn)


@pytest.mark.parametrize("every", [EVERY, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("times", [1, 30])
@pytest.mark.parametrize("write", WRITES)
async def test_a_disk_error_within_a_write_leaves_what_was_before(
    tmp_path: Path, disk: FailingVFS, write: str, times: int, every: int
) -> None:
    """And mended, the same write again is whole."""
    ids = await filled(tmp_path / "full")
    before, met, refused = now(tmp_path / "full" / "memd.db"), True, 0
    for number in range(1, OPERATIONS, every):
        folder = tmp_path / "live"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(tmp_path / "full", folder)
        async with a_bed(folder, HeldClock()) as bed:
            desk = Desk(bed.house, folder, dict(ids))
            disk.fail(number, times)
            error = await failed(WRITES[write](desk))
            met, disk.left = disk.left <= 0, HEALTHY
            assert await bed.house.db.recover()
            refused += error
            assert not error or now(folder / "memd.db") == before, number
            if error:
                await WRITES[write](desk)
                assert now(folder / "memd.db") != before
        if not met:
            break
    assert not met  # the last one came after the end: there was no later operation
    assert refused > 3


async def failed(done: Awaitable[None]) -> bool:
    try:
        await done
    except MemdError:
        return True
    return False


async def test_a_fact_whose_statements_came_apart_from_it_would_be_found_out(
    tmp_path: Path, disk: FailingVFS, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn = temporal.learn

    def later(conn: Writing, operation: Operation) -> None:
        conn.execute("COMMIT")
        conn.execute("BEGIN IMMEDIATE")
        learn(conn, operation)

    monkeypatch.setattr(temporal, "learn", later)
    with pytest.raises(AssertionError):
        await test_a_disk_error_within_a_write_leaves_what_was_before(
            tmp_path, disk, "a fact's version", 1, EVERY
        )
