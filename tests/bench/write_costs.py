"""What one write costs in the file: ``python -m tests.bench.write_costs``.

Counts the pages that each kind of write puts into the log, by the table or index whose
pages they are. Nothing is timed: the same store gives the same figures on any machine.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

from support.store import ADA, a_house, stored, tell

from memd.backends.rooms import Rooms
from memd.store.file.connect import Reading

ROWS = 3_000
TIMES = 30
_LOG_HEADER, _FRAME_HEADER = 32, 24


class Cost(NamedTuple):
    """What one write of a kind puts into the log, on average."""

    bytes: float
    pages: dict[str, float]


async def measured(
    house: Rooms, path: Path, write: Callable[[int], Awaitable[object]], times: int = TIMES
) -> Cost:
    """Return what *write* costs, called with 0, 1, 2 ..."""
    total, pages = 0, Counter[str]()
    for number in range(times):
        await house.db.checkpoint(truncate=True)
        await write(number)
        log = path.with_name(f"{path.name}-wal").read_bytes()
        total += len(log)
        names = await house.db.read(_names)
        size = int.from_bytes(log[8:12], "big")
        for at in range(_LOG_HEADER, len(log), _FRAME_HEADER + size):
            pages[names.get(int.from_bytes(log[at : at + 4], "big"), "(map, free)")] += 1
    return Cost(total / times, {name: count / times for name, count in pages.most_common()})


def _names(conn: Reading) -> dict[int, str]:
    return {
        int(number): str(name) for number, name in conn.execute("SELECT pageno, name FROM dbstat")
    }


async def main() -> None:
    with tempfile.TemporaryDirectory(prefix="memd-bench-") as made:
        path = Path(made) / "memd.db"
        async with a_house(path) as house:
            await stored(house, *(text(number, 60) for number in range(ROWS)))
            for name, write in kinds(house, ROWS).items():
                cost = await measured(house, path, write)
                print(f"{name}: {cost.bytes / 1_000:.0f} kB, {sum(cost.pages.values()):.1f} pages")
                for table, count in cost.pages.items():
                    print(f"    {count:5.1f}  {table}")


def kinds(house: Rooms, rows: int) -> dict[str, Callable[[int], Awaitable[object]]]:
    """Return the writes that are counted, in a store of *rows* memories."""
    return {
        "memory of 60 characters": lambda n: stored(house, text(rows + n, 60)),
        "text of a session": lambda n: tell(house, text(2 * rows + n, 60), session_id="s"),
        "preference": lambda n: house.preferences.set(ADA, f"colour {n % 9}", text(n, 8)),
    }


def text(number: int, characters: int) -> str:
    """Return a text that differs with *number*."""
    words = ("porch", "boat", "ledger", "garden", "kettle", "violin", "window", "saddle")
    words_of_it = " ".join(words[number // 8**place % 8] for place in range(12))
    return f"{number} {words_of_it}"[:characters]


if __name__ == "__main__":
    asyncio.run(main())
