"""The running sum for novelty contains exactly the vectors that count."""

from __future__ import annotations

from array import array
from pathlib import Path

from support.fakes import HashEmbedder
from support.store import ADA, EVERYTHING, a_house, stored, told

from memd.domain.enums import ArchiveReason, Origin
from memd.store.file.connect import Reading, Writing
from memd.store.memory import removal

SAME = "we went home"


def _sum(conn: Reading, name: str = "hash") -> tuple[int, list[float]]:
    row = conn.execute(
        """
        SELECT c.vectors, c.total
          FROM centroid AS c
               JOIN embedding_model AS f ON f.model_key = c.model_key
         WHERE f.name = ?
        """,
        (name,),
    ).fetchone()
    assert row is not None
    assert isinstance(row[1], bytes)
    return int(str(row[0])), array("f", row[1]).tolist()


async def test_forgetting_what_was_turned_away_takes_nothing_out_of_the_sum(tmp_path: Path) -> None:
    async with a_house(tmp_path / "memd.db", embedder=HashEmbedder()) as house:
        await told(house, SAME, source="one", origin=Origin.ASSISTANT)
        (turned,) = await told(house, SAME, source="two", origin=Origin.ASSISTANT)
        before = await house.db.read(_sum)
        await house.archive.forget(ADA, ids=[turned])
        assert await house.db.read(_sum) == before


async def test_what_is_brought_back_counts_as_known(tmp_path: Path) -> None:
    async with a_house(tmp_path / "memd.db", embedder=HashEmbedder()) as house:
        await told(house, SAME, source="one", origin=Origin.ASSISTANT)
        (turned,) = await told(house, SAME, source="two", origin=Origin.ASSISTANT)
        (count, _) = await house.db.read(_sum)
        await house.archival.restore_to_hot(ADA, turned)
        assert (await house.db.read(_sum))[0] == count + 1


async def test_the_sum_of_a_new_model_holds_what_forgetting_takes_out_of_it(
    tmp_path: Path,
) -> None:
    """Hidden or visible alike; what was turned away, and a summary, is in no sum."""
    embedder = HashEmbedder()
    async with a_house(tmp_path / "memd.db", embedder=embedder) as house:
        await told(house, SAME, source="one", origin=Origin.ASSISTANT)
        await told(house, SAME, source="two", origin=Origin.ASSISTANT)  # turned away
        ids = await stored(house, "Ann keeps bees.", "Bob sails.", "Cid repairs clocks.", "all")
        await house.queue.drain()

        def hide(conn: Writing) -> None:
            now_us, new_id = house.archive.clock.now_us(), house.ingest.ids.new
            removal.archive(conn, [3], ArchiveReason.CAP, now_us, new_id=new_id)
            conn.execute("UPDATE memory SET is_summary = 1 WHERE memory_id = ?", (ids[3],))

        await house.db.write(ADA, hide)
        await house.archive.delete(ADA, ids[1])
        embedder.name = "another"
        await house.queue.drain()
        (count, _) = await house.db.read(_sum, "another")
        assert count == 3  # what lies in the trash waits for its vector until it is back
        await house.archive.forget(ADA, ids=[ids[0], ids[1], ids[3]])
        assert (await house.db.read(_sum, "another"))[0] == 2
        await house.archive.forget(ADA, condition=EVERYTHING)
        count, total = await house.db.read(_sum, "another")
        assert count == 0
        assert max(map(abs, total)) < 1e-5
