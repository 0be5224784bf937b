"""After the answer to a forget no file of memd holds a word of it (P8, SPEC D21).

Looked at as bytes, as whoever has the file would: rows, caches, and what SQLite leaves in
the unused parts of its pages.
"""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest
from support import forked
from support.daemon import environment
from support.forget_workload import Churn, left
from support.store import ADA, a_house

from memd.backends.rooms import Rooms
from memd.store.file.connect import Reading


async def _churned(folder: Path, seed: int, writes: int, every: int) -> tuple[int, list[str]]:
    """Return how often something was forgotten, and the marks that were there afterwards."""
    forgets, remains = 0, []
    async with a_house(folder / "memd.db") as house:
        churn = Churn(house, seed)
        for number in range(writes):
            await churn.write()
            before = len(churn.gone)
            if number % every == every - 1 and await churn.forget():
                forgets += 1
                remains += left(folder, churn.gone[before:])
        await _check(house)
    return forgets, remains + left(folder, churn.gone)


async def _check(house: Rooms) -> None:
    report = await house.upkeep.check(ADA)
    assert report.problems == ()


async def test_no_file_holds_a_word_of_what_was_forgotten(tmp_path: Path) -> None:
    forgets, remains = await _churned(tmp_path, 1, 240, 3)
    assert forgets > 75
    assert remains == []


@pytest.mark.long
async def test_no_file_holds_a_word_of_a_thousand_that_were_forgotten(tmp_path: Path) -> None:
    forgets, remains = await _churned(tmp_path, 4, 20_000, 19)
    assert forgets > 1_000
    assert remains == []


async def test_nothing_unused_is_left_in_any_page(tmp_path: Path) -> None:
    """As SQLite's own account of free bytes has it: every byte that no cell has is zero."""
    async with a_house(tmp_path / "memd.db") as house:
        churn = Churn(house, 2)
        for _ in range(150):
            await churn.write()
        await churn.forget()
        pages = await house.db.read(_of_trees)
    data = (tmp_path / "memd.db").read_bytes()
    assert len(pages) > 100
    for number, cells, page_bytes in pages:
        page = data[(number - 1) * page_bytes : number * page_bytes]
        header = (12 if page[0] in (2, 5) else 8) + 2 * cells
        content = int.from_bytes(page[5:7], "big")
        assert not any(page[header:content])


def _of_trees(conn: Reading) -> list[tuple[int, int, int]]:
    size = int(conn.pragma("page_size"))
    rows = conn.execute(
        "SELECT pageno, ncell FROM dbstat WHERE pagetype IN ('leaf', 'internal') AND pageno > 1"
    )
    return [(int(number), int(cells), size) for number, cells in rows]


@pytest.mark.parametrize(
    ("kills", "seconds"), [(3, 0.5), pytest.param(60, 4.0, marks=pytest.mark.long)]
)
def test_what_was_forgotten_stays_gone_through_kills(
    tmp_path: Path, kills: int, seconds: float
) -> None:
    """Judged by the files a kill leaves, before anything opens them again."""
    chance, gone = random.Random(kills), []
    for number in range(kills):
        reading, writing = os.pipe()
        with Path(os.devnull).open("r+b") as nothing, os.fdopen(reading) as output:
            writer = forked.start(
                [str(tmp_path), str(number + 1)],
                env=environment(tmp_path),
                streams=(nothing.fileno(), writing, nothing.fileno()),
                module="support.forget_workload",
            )
            os.close(writing)
            gone += output.readline().split()
            time.sleep(chance.uniform(0, seconds))
            writer.send_signal(signal.SIGKILL)
            *whole, _cut = output.read().split("\n")
            writer.wait()
            gone += " ".join(whole).split()
        assert left(tmp_path, gone) == []
    assert len(gone) >= 3 * kills
