"""Each connection is closed, whatever it does meanwhile; a closed store answers with an error."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from pathlib import Path
from typing import cast

import apsw
import pytest
from support.clocks import HeldClock
from support.daemon import WAIT_S
from support.store import ADA

from memd.backends.rooms import Rooms
from memd.base.errors import StoppingError
from memd.base.limits import READERS
from memd.store.file.connect import Reading, Writing
from memd.store.file.connections import Pool
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


async def test_a_connection_of_its_own_is_closed_with_the_store(tmp_path: Path) -> None:
    started, go_on = threading.Event(), threading.Event()
    conns: list[Reading] = []

    def work(conn: Reading) -> object:
        conns.append(conn)
        started.set()
        assert go_on.wait(WAIT_S)
        return conn.execute("SELECT count(*) FROM memory").get

    async with open_database(tmp_path / "memd.db", HeldClock()) as db:
        reading = asyncio.create_task(db.read_dedicated(work))
        assert await asyncio.to_thread(started.wait, WAIT_S)
        asyncio.get_running_loop().call_later(0.1, go_on.set)
    with pytest.raises(apsw.ConnectionClosedError):
        conns[0].total_changes()
    assert await reading == 0


async def test_a_closed_store_refuses_at_once(tmp_path: Path) -> None:
    async with open_database(tmp_path / "memd.db", HeldClock()) as db:
        pass
    await db.close()
    calls = (
        db.read(lambda _conn: None),
        db.scan(lambda _conn: None),
        db.read_dedicated(lambda _conn: None),
        db.read_dedicated(lambda _conn: None, transaction=False),
        db.write(ADA, lambda _conn: None),
    )
    for call in calls:
        async with asyncio.timeout(WAIT_S):
            with pytest.raises(StoppingError, match="closed"):
                await call


async def test_reads_that_wait_when_a_store_is_closed_are_answered_or_refused(
    tmp_path: Path,
) -> None:
    started, go_on = threading.Semaphore(0), threading.Event()

    def work(_conn: Reading) -> bool:
        started.release()
        return go_on.wait(WAIT_S)

    async with open_database(tmp_path / "memd.db", HeldClock()) as db:
        reads = [asyncio.create_task(db.read(work)) for _ in range(READERS)]
        for _ in reads:
            assert await asyncio.to_thread(started.acquire, timeout=WAIT_S)
        waiting = [asyncio.create_task(db.read(lambda _conn: None)) for _ in range(READERS)]
        asyncio.get_running_loop().call_later(0.1, go_on.set)
    assert await asyncio.gather(*reads) == [True] * READERS
    async with asyncio.timeout(WAIT_S):
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(one is None or isinstance(one, StoppingError) for one in outcomes)


async def test_a_writer_that_cannot_be_prepared_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = threading.active_count()
    monkeypatch.setattr(Writing, "set_wal_hook", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        async with open_database(tmp_path / "memd.db", HeldClock()):
            raise AssertionError("opened")
    async with asyncio.timeout(WAIT_S):
        while threading.active_count() > before:  # noqa: ASYNC110  # a thread tells nobody
            await asyncio.sleep(0.01)


async def test_who_waits_for_a_reader_has_it_before_who_asks_later() -> None:
    """Also who asks between a release and the turn of the one that waits."""
    pool = Pool()
    pool.add(cast("Reading", object()))
    order: list[str] = []

    async def ask(name: str) -> None:
        async with pool.acquire():
            order.append(name)

    async with pool.acquire():
        tasks = [asyncio.create_task(ask(name)) for name in ("cancelled", "first", "second")]
        await asyncio.sleep(0)
        tasks[0].cancel()
    await ask("later")
    await asyncio.gather(*tasks, return_exceptions=True)
    assert order == ["first", "second", "later"]
