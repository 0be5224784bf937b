"""A connection whose opening was cancelled is closed."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from pathlib import Path

from support.daemon import WAIT_S
from support.store import a_house


async def test_a_connection_that_was_cancelled_while_it_opened_keeps_no_thread(
    tmp_path: Path,
) -> None:
    async with a_house(tmp_path / "memd.db") as house:
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
