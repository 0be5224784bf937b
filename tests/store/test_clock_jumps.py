"""A clock that is eight days ahead for a minute does not empty the trash."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from support.clocks import HeldClock
from support.store import ADA, a_house, stored

from memd.base.clock import to_us


class Leaping(HeldClock):
    """Its wall time may be set beside the machine's own counting."""

    ahead = timedelta()

    def now_us(self) -> int:
        return to_us(self.now + self.ahead)


async def test_the_trash_outlives_a_leap_of_the_clock_and_a_restart_within_it(path: Path) -> None:
    clock = Leaping()
    async with a_house(path, clock) as house:
        (memory_id,) = await stored(house, "Ann keeps bees.")
        assert await house.trash.delete(ADA, memory_id)
        await house.due()
    clock.ahead = timedelta(days=8)
    async with a_house(path, clock) as house:
        clock.advance(seconds=80)
        await house.due()
        clock.ahead = timedelta()
        clock.advance(seconds=80)
        await house.due()
        assert await house.trash.restore(ADA, memory_id)
        assert await house.trash.delete(ADA, memory_id)
        clock.ahead = timedelta(days=8)
        await house.due()
        clock.advance(hours=2)  # it lasts: eight days have passed
        await house.due()
        await house.due()
        assert not await house.trash.restore(ADA, memory_id)
