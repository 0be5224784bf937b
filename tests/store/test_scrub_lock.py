"""The file is written below SQLite only while no reader of the daemon is at work."""

from __future__ import annotations

import asyncio

from support.store import ADA, stored

from memd.backends.rooms import Rooms
from memd.store.file.connect import Reading, Writing


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


async def _set(event: asyncio.Event) -> None:
    event.set()
