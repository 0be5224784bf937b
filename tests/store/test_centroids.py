"""The running sum behind novelty holds what was kept, and nothing else."""

from __future__ import annotations

from array import array
from pathlib import Path

from support.fakes import HashEmbedder
from support.store import ADA, a_house, told

from memd.store.connect import Reading

SAME = "we went home"


def _sum(conn: Reading) -> tuple[int, list[float]]:
    row = conn.execute("SELECT vectors, total FROM centroid").fetchone()
    assert row is not None
    assert isinstance(row[1], bytes)
    return int(str(row[0])), array("f", row[1]).tolist()


async def test_forgetting_what_was_turned_away_takes_nothing_out_of_the_sum(tmp_path: Path) -> None:
    async with a_house(tmp_path / "memd.db", embedder=HashEmbedder()) as house:
        await told(house, SAME, source="one")
        (turned,) = await told(house, SAME, source="two")
        before = await house.db.read(_sum)
        await house.archive.forget(ADA, ids=[turned])
        assert await house.db.read(_sum) == before


async def test_what_is_brought_back_counts_as_known(tmp_path: Path) -> None:
    async with a_house(tmp_path / "memd.db", embedder=HashEmbedder()) as house:
        await told(house, SAME, source="one")
        (turned,) = await told(house, SAME, source="two")
        (count, _) = await house.db.read(_sum)
        await house.archive.restore(ADA, turned)
        assert (await house.db.read(_sum))[0] == count + 1
