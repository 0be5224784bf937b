"""Without a model, and when it changes: everything is kept, found by words, embedded later."""

from __future__ import annotations

from pathlib import Path

from support.fakes import HashEmbedder, fingerprint
from support.store import ADA, a_house, ids_of, stored, visible

from memd.backends.rooms import Rooms
from memd.domain.enums import MemoryState, SearchMode
from memd.domain.ingest import IngestRequest
from memd.domain.memory import MemoryQuery
from memd.domain.recall import RecallRequest
from memd.store.file.connect import Reading

TEXTS = (
    "Ann keeps seven hives of bees in Lisbon.",
    "Bob sails to Faro on Sunday mornings.",
    "Cid repairs the clock of the town hall.",
    "Dora paints lighthouses on old doors.",
    "Emil bakes rye bread for the whole street.",
    "Fay flies a red kite above the dunes.",
    "Gus plays the cello in an empty church.",
    "Hal grows blue potatoes behind the station.",
    "Ida collects maps of sunken islands.",
    "Jon repairs bicycles in his kitchen.",
)


async def by_model(house: Rooms) -> dict[str, int]:
    """Return how many vectors there are of each model."""

    def work(conn: Reading) -> dict[str, int]:
        rows = conn.execute(
            """
            SELECT m.name, count(*)
              FROM embedding AS e
                   JOIN embedding_model AS m ON m.model_key = e.model_key
             GROUP BY m.name
            """
        )
        return {str(name): int(str(number)) for name, number in rows}

    return await house.db.read(work)


async def test_texts_that_come_without_a_model_are_found_by_words_and_embedded_when_it_appears(
    tmp_path: Path,
) -> None:
    embedder = HashEmbedder(present=False)
    async with a_house(tmp_path / "memd.db", embedder=embedder) as house:
        receipts = [await house.ingest.ingest(ADA, IngestRequest(text=text)) for text in TEXTS]
        assert all(len(receipt.pending) == 1 and not receipt.turned_away for receipt in receipts)
        ids = [ids_of(receipt)[0] for receipt in receipts]
        assert await visible(house) == set(ids)
        for memory_id, word in zip(ids, ("hives", "Faro", "clock"), strict=False):
            (best,) = await house.recall.retrieve(ADA, MemoryQuery(text=word, limit=1))
            assert best.id == memory_id
        result = await house.recall.recall(ADA, RecallRequest(query="hives of bees in Lisbon"))
        assert result.degraded is not None
        assert "model" in result.degraded
        assert await house.queue.drain() == 0
        embedder.present = True
        assert await house.queue.drain() == len(TEXTS)
        assert await by_model(house) == {"hash": len(TEXTS)}
        for memory_id in ids:  # none was discarded; what is of little importance is in the archive
            entry = await house.recall.get(ADA, memory_id)
            assert entry is not None
            assert entry.state in {MemoryState.ACTIVE, MemoryState.ARCHIVED}
            assert entry.importance is not None
        result = await house.recall.recall(ADA, RecallRequest(query="hives of bees in Lisbon"))
        assert result.degraded is None
        assert (await house.upkeep.check(ADA)).ok


async def test_what_waits_for_a_vector_survives_a_restart(tmp_path: Path) -> None:
    embedder = HashEmbedder(present=False)
    async with a_house(tmp_path / "memd.db", embedder=embedder) as house:
        ids = set(await stored(house, *TEXTS))
    embedder.present = True
    async with a_house(tmp_path / "memd.db", embedder=embedder) as house:
        assert await house.queue.drain() == len(TEXTS)
        assert await visible(house) == ids


async def test_another_model_embeds_everything_anew_and_nothing_is_mixed(tmp_path: Path) -> None:
    embedder = HashEmbedder()
    async with a_house(tmp_path / "memd.db", embedder=embedder) as house:
        await stored(house, *TEXTS[:5])
        embedder.name = "another"
        late = await stored(house, TEXTS[5])  # before the queue noticed the change
        answer = await house.recall.recall(ADA, RecallRequest(query="hives of bees in Lisbon"))
        assert answer.degraded is not None
        assert "new model" in answer.degraded
        assert (await by_model(house)).get("hash") == 5  # never a vector of one under the other
        assert await house.queue.drain() == 6
        assert await by_model(house) == {"hash": 5, "another": 6}
        dense = RecallRequest(query=TEXTS[5], search_mode=SearchMode.DENSE)
        result = await house.recall.recall(ADA, dense)
        assert result.degraded is None
        assert [item.id for item in result.memories][:1] == late
        assert (await house.upkeep.check(ADA)).ok
        assert str(fingerprint("another")) != str(fingerprint("hash"))


async def test_a_change_of_model_while_the_caches_are_rebuilt_ends_with_the_new_one(
    tmp_path: Path,
) -> None:
    from memd.store.search import vectors

    embedder = HashEmbedder()
    async with a_house(tmp_path / "memd.db", embedder=embedder) as house:
        await stored(house, *TEXTS)
        await house.db.write(ADA, vectors.start_build)
        await house.db.write(ADA, lambda conn: vectors.step_build(conn, 3))
        embedder.name = "another"
        await house.queue.drain()
        while await house.db.write(ADA, lambda conn: vectors.step_build(conn, 3)):
            pass
        live = await house.db.read(vectors.current_cache)
        assert live is not None
        assert live.model_key == await house.db.read(
            vectors.find_model, str(fingerprint("another"))
        )
        assert (await house.upkeep.check(ADA)).problems == ()
