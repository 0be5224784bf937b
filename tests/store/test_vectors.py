"""Vectors have the model's dimension and length 1 (H28, H29); novelty sums those that count."""

from __future__ import annotations

import math
import struct
from array import array
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.fakes import DIMENSION, HashEmbedder, fingerprint, hash_vector, numbers
from support.rows import a_row, an_id_source, inserted
from support.store import ADA, EVERYTHING, a_writer, stored, tell, visible

from memd.backends.rooms import Rooms
from memd.base.errors import EmbeddingError
from memd.domain.encoding import Encoding
from memd.domain.enums import ArchiveReason, Origin
from memd.store.access import names
from memd.store.file.connect import Reading, Writing
from memd.store.memory import removal
from memd.store.search import vectors
from memd.store.search.caches import compact
from memd.store.search.fulltext import CachePart

GOOD = hash_vector("a cat")


@pytest.fixture
def conn(tmp_path: Path) -> Iterator[Writing]:
    with a_writer(tmp_path / "memd.db") as conn:
        assert names.ensure_agent(conn, "ada", 1) == 1
        assert vectors.ensure_cache(conn, fingerprint(), 1) == 1
        inserted(conn, [a_row(an_id_source())], 1)
        yield conn


def changed(place: int, number: float) -> bytes:
    return GOOD[: place * 4] + struct.pack("<f", number) + GOOD[place * 4 + 4 :]


BAD = {
    "NaN": changed(3, math.nan),
    "infinity": changed(3, math.inf),
    "minus infinity": changed(0, -math.inf),
    "huge": changed(3, 3e38),
    "zero": bytes(DIMENSION * 4),
    "too long": struct.pack(f"<{DIMENSION}f", *(n * 1.01 for n in numbers(GOOD))),
    "too short": struct.pack(f"<{DIMENSION}f", *(n * 0.99 for n in numbers(GOOD))),
    "one dimension less": GOOD[:-4],
    "one dimension more": GOOD + bytes(4),
    "odd bytes": GOOD[:-1],
    "empty": b"",
}


@pytest.mark.parametrize("vector", BAD.values(), ids=BAD)
def test_what_is_no_unit_vector_is_refused(conn: Writing, vector: bytes) -> None:
    with pytest.raises(EmbeddingError):
        vectors.store(conn, 1, [(1, Encoding(GOOD)), (1, Encoding(vector))])
    assert conn.execute("SELECT count(*) FROM embedding").get == 0


def test_a_unit_vector_is_stored_and_found(conn: Writing) -> None:
    rounded = struct.pack(f"<{DIMENSION}f", *(n * 1.0004 for n in numbers(GOOD)))
    vectors.store(conn, 1, [(1, Encoding(rounded))])
    vectors.index(conn, [1])
    (near,) = vectors.search(conn, GOOD, vectors.partitions(1, [CachePart.SEARCHED], 0), 10)
    assert near.memory_key == 1
    assert near.cosine == pytest.approx(1.0, abs=1e-3)
    assert vectors.search(conn, GOOD, vectors.partitions(1, [CachePart.HIDDEN], 0), 10) == []


@pytest.mark.parametrize(("last_key", "count"), [(8_191, 1), (8_192, 2), (16_384, 2)])
def test_a_small_store_has_its_vectors_in_one_shard(
    conn: Writing, last_key: int, count: int
) -> None:
    conn.execute("UPDATE memory SET memory_key = ?", (last_key,))
    used = vectors.used_shards(conn)
    assert used == range(count)
    assert vectors.shard(last_key) in used


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


async def test_forgetting_what_was_turned_away_takes_nothing_out_of_the_sum(house: Rooms) -> None:
    await tell(house, SAME, source="one", origin=Origin.ASSISTANT)
    (turned,) = await tell(house, SAME, source="two", origin=Origin.ASSISTANT)
    before = await house.db.read(_sum)
    await house.trash.forget(ADA, ids=[turned])
    assert await house.db.read(_sum) == before


@pytest.mark.parametrize("was_killed", [False, True])
async def test_a_cache_that_is_mostly_empty_is_written_anew(
    house: Rooms, monkeypatch: pytest.MonkeyPatch, *, was_killed: bool
) -> None:
    monkeypatch.setattr("memd.store.search.vectors.CHUNK_ROWS", 8)
    monkeypatch.setattr("memd.store.search.caches._BUILD_ROWS", 2)
    ids = await stored(house, *(f"Hive {number} is green." for number in range(120)))
    await house.queue.drain()
    await compact(house.db, ADA)
    whole = await house.db.read(_chunks)
    await house.trash.forget(ADA, ids=[one for place, one in enumerate(ids) if place % 8])
    assert await house.db.read(_chunks) == whole
    if was_killed:
        await house.db.write(ADA, vectors.start_build)
    await compact(house.db, ADA)
    assert await house.db.read(_chunks) == 2
    assert await house.db.read(vectors.current_build) is None
    assert (await house.upkeep.check(ADA)).ok
    assert len(await visible(house)) == 15


def _chunks(conn: Reading) -> int:
    cache = vectors.current_cache(conn)
    assert cache is not None
    return conn.get_count(f"SELECT count(*) FROM {cache.table}_chunks")


async def test_what_is_brought_back_counts_as_known(house: Rooms) -> None:
    await tell(house, SAME, source="one", origin=Origin.ASSISTANT)
    (turned,) = await tell(house, SAME, source="two", origin=Origin.ASSISTANT)
    (count, _) = await house.db.read(_sum)
    await house.archive.restore_to_hot(ADA, turned)
    assert (await house.db.read(_sum))[0] == count + 1


async def test_the_sum_of_a_new_model_holds_what_forgetting_takes_out_of_it(
    house: Rooms, embedder: HashEmbedder
) -> None:
    """Hidden or visible alike; what was turned away, and a summary, is in no sum."""
    await tell(house, SAME, source="one", origin=Origin.ASSISTANT)
    await tell(house, SAME, source="two", origin=Origin.ASSISTANT)  # turned away
    ids = await stored(house, "Ann keeps bees.", "Bob sails.", "Cid repairs clocks.", "all")
    await house.queue.drain()

    def hide(conn: Writing) -> None:
        now_us, new_id = house.trash.clock.now_us(), house.ingest.ids.new
        removal.archive(conn, [3], ArchiveReason.CAP, now_us, new_id=new_id)
        conn.execute("UPDATE memory SET is_summary = 1 WHERE memory_id = ?", (ids[3],))

    await house.db.write(ADA, hide)
    await house.trash.delete(ADA, ids[1])
    embedder.name = "another"
    await house.queue.drain()
    (count, _) = await house.db.read(_sum, "another")
    assert count == 3  # what lies in the trash waits for its vector until it is back
    await house.trash.forget(ADA, ids=[ids[0], ids[1], ids[3]])
    assert (await house.db.read(_sum, "another"))[0] == 2
    await house.trash.forget(ADA, condition=EVERYTHING)
    count, total = await house.db.read(_sum, "another")
    assert count == 0
    assert max(map(abs, total)) < 1e-5
