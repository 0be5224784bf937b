"""What one write puts into the log is counted, so that no table or index comes in unseen.

The figures and their reasons: decision 0127; ``python -m tests.bench.write_costs`` prints them.
"""

from __future__ import annotations

from pathlib import Path

from bench.write_costs import kinds, measured, text
from support.store import a_house, stored

from memd.backends.rooms import Rooms

PAGES_MAX = {"memory of 60 characters": 18, "text of a session": 25, "preference": 4.5}


async def test_a_write_touches_no_more_pages_than_are_accounted_for(
    house: Rooms, path: Path
) -> None:
    await stored(house, *(text(number, 60) for number in range(300)))
    for name, write in kinds(house, 300).items():
        cost = await measured(house, path, write, 12)
        print(f"{name}: {cost.bytes / 1_000:.0f} kB, {sum(cost.pages.values()):.1f} pages")
        assert sum(cost.pages.values()) <= PAGES_MAX[name], cost.pages


async def test_no_page_is_written_twice_by_one_memory(path: Path) -> None:
    async with a_house(path) as house:
        await stored(house, *(text(number, 60) for number in range(300)))
        await house.db.checkpoint(truncate=True)
        await stored(house, text(301, 60))
        log = path.with_name("memd.db-wal").read_bytes()
    size = int.from_bytes(log[8:12], "big")
    pages = [log[at : at + 4] for at in range(32, len(log), 24 + size)]
    assert len(pages) > 10
    assert len(set(pages)) == len(pages)
