"""Extraction for the graph runs beside other work, and slows down while memd is used."""

from __future__ import annotations

import asyncio
from pathlib import Path

from support.daemon import WAIT_S
from support.store import a_house, stored

from memd.backends.assembly import Assembly
from memd.base.limits import LEARN_ROWS


async def learnt(house: Assembly) -> int:
    found = await house.db.read(
        lambda conn: conn.execute("SELECT count(DISTINCT memory_key) FROM statement").get
    )
    assert isinstance(found, int)
    return found


async def test_while_memd_is_in_use_one_step_is_made_and_the_rest_when_it_is_quiet(
    tmp_path: Path,
) -> None:
    async with a_house(tmp_path / "memd.db") as house:
        await stored(house, *(f"Team T{n} uses Tool{n}." for n in range(2 * LEARN_ROWS)))
        house.learning.quiet_s = lambda: 0.0
        reading = asyncio.create_task(house.learning.drain(gently=True))
        async with asyncio.timeout(WAIT_S):
            while await learnt(house) < LEARN_ROWS:  # noqa: ASYNC110  # a step tells nobody
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.3)  # a step takes milliseconds, and it waits two seconds after each
        assert await learnt(house) == LEARN_ROWS
        house.learning.quiet_s = lambda: 60.0
        assert await asyncio.wait_for(reading, WAIT_S) == 2 * LEARN_ROWS
        assert await learnt(house) == 2 * LEARN_ROWS
