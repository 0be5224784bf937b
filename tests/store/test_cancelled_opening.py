"""A connection is closed, also where who opens, uses or closes it is cancelled meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from pathlib import Path

import apsw
import pytest
from support.clocks import HeldClock
from support.daemon import WAIT_S

from memd.backends.rooms import Rooms
from memd.store.file.connect import Reading
from memd.store.file.database import open_database


async def test_a_connection_that_was_cancelled_while_it_opened_keeps_no_thread(
    house: Rooms,
) -> None:
    before = threading.active_count()
    for turn in range(20):
        task = asyncio.create_task(
            house.db.read_dedicated(lambda conn: conn.execute("SELECT 1").get)
        )
        for _ in range(turn % 4):
            await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    async with asyncio.timeout(WAIT_S):
        while threading.active_count() > before:  # noqa: ASYNC110  # a thread tells nobody
            await asyncio.sleep(0.01)


async def test_a_long_read_that_is_cancelled_twice_ends_before_its_store_is_closed(
    tmp_path: Path,
) -> None:
    """As a background task of a daemon that is cancelled: once by it, once by its TaskGroup."""
    started, go_on = threading.Event(), threading.Event()
    conns: list[Reading] = []

    def work(conn: Reading) -> None:
        conns.append(conn)
        started.set()
        assert go_on.wait(WAIT_S)

    async with open_database(tmp_path / "memd.db", HeldClock()) as db:
        task = asyncio.create_task(db.read_dedicated(work))
        assert await asyncio.to_thread(started.wait, WAIT_S)
        for _ in range(2):
            task.cancel()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task
        asyncio.get_running_loop().call_later(0.2, go_on.set)
    with pytest.raises(apsw.ConnectionClosedError):
        conns[0].total_changes()


async def test_a_store_is_closed_though_who_closes_it_is_cancelled(tmp_path: Path) -> None:
    """As a daemon that is cancelled while it stops because it was told to."""
    started, go_on = threading.Event(), threading.Event()
    conns: list[Reading] = []
    loop = asyncio.get_running_loop()

    def work(conn: Reading) -> None:
        conns.append(conn)
        started.set()
        assert go_on.wait(WAIT_S)

    async def leave_a_store_that_is_read() -> None:
        async with open_database(tmp_path / "memd.db", HeldClock()) as db:
            reading.append(asyncio.create_task(db.read(work)))
            assert await asyncio.to_thread(started.wait, WAIT_S)
            loop.call_later(0.1, closing.cancel)
            loop.call_later(0.2, go_on.set)

    reading: list[asyncio.Task[None]] = []
    closing = asyncio.create_task(leave_a_store_that_is_read())
    with pytest.raises(asyncio.CancelledError):
        await closing
    with pytest.raises(apsw.ConnectionClosedError):
        conns[0].total_changes()
    await reading[0]
