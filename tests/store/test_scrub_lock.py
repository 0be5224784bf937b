"""The file is written below SQLite only while no reader is at work, and nobody else waits long."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing, contextmanager

import apsw
import pytest
from support.clocks import HeldClock
from support.daemon import until
from support.store import ADA, stored

from memd.backends.rooms import Rooms
from memd.store.file import scrub
from memd.store.file.connect import Reading, Writing


@contextmanager
def _reading(house: Rooms) -> Iterator[None]:
    """Another program reads the file, and needs its log."""
    with closing(apsw.Connection(str(house.db.path))) as conn:
        conn.execute("BEGIN")
        conn.execute("SELECT count(*) FROM memory").fetchall()
        yield


def _count(conn: Reading) -> int:
    return conn.get_int("SELECT count(*) FROM memory WHERE state <> 'trashed'") or 0


async def test_a_read_waits_until_the_pages_are_written(house: Rooms) -> None:
    await stored(house, "bees", caller=ADA)
    order: list[str] = []
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()

    def write(_conn: Writing, _vfs: str | None) -> None:
        order.append("writing")
        setting = asyncio.run_coroutine_threadsafe(_set(begun), loop)
        setting.result()
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0.1), loop).result()
        order.append("written")

    def read(conn: Reading) -> None:
        conn.execute("SELECT 1 FROM memory").fetchall()
        order.append("read")

    writing = asyncio.create_task(house.db.empty_log(write))
    await begun.wait()
    await asyncio.gather(house.db.read(read), house.db.scan(read))
    await writing

    assert order == ["writing", "written", "read", "read"]


async def test_others_read_and_write_while_a_reader_keeps_the_log(house: Rooms) -> None:
    (secret,) = await stored(house, "The word is Xylophanes.", caller=ADA)
    with _reading(house):
        forgetting = asyncio.create_task(house.trash.forget(ADA, ids=[secret]))
        await until(lambda: house.db.files.erasure_count > 0, "forgetting empties the log")
        await stored(house, "The hive is green.", caller=ADA)
        await house.db.scan(_count)
        assert await house.db.read(_count) == 1
        assert not forgetting.done()
    assert (await forgetting).count == 1


async def test_others_write_between_the_steps_of_a_large_erasure(
    house: Rooms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memd.archive.erasure.ErasureSteps.size", 2)
    ids = await stored(house, *(f"Hive {number} is green." for number in range(30)), caller=ADA)
    forgetting = asyncio.create_task(house.trash.forget(ADA, ids=ids))
    await until(lambda: house.db.waiting_writes > 0, "the first step is written")
    await stored(house, "The lake is cold.", caller=ADA)
    assert not forgetting.done()
    forgotten = await forgetting
    assert (forgotten.count, set(forgotten.ids)) == (30, set(ids))
    assert await house.db.read(_count) == 1


async def test_what_a_reader_kept_in_the_file_is_removed_by_a_later_purge(
    house: Rooms, clock: HeldClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memd.store.file.database.BUSY_MS_MAX", 1)
    (secret,) = await stored(house, "The word is Xylophanes.", caller=ADA)
    await house.trash.delete(ADA, secret)
    await house.db.checkpoint(truncate=True)
    with _reading(house):
        clock.advance(days=8)
        assert await house.trash.purge() == 1
        assert await house.db.read(scrub.has_residue)
    assert await house.trash.purge() == 0
    assert not await house.db.read(scrub.has_residue)
    await house.db.checkpoint(truncate=True)
    assert b"xylophan" not in house.db.path.read_bytes().lower()


async def _set(event: asyncio.Event) -> None:
    event.set()
