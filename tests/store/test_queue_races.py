"""Changes while texts are embedded: words, the model, and texts that no model can embed."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from support.clocks import HeldClock
from support.daemon import WAIT_S, until
from support.fakes import ColdEmbedder, HashEmbedder, hash_vector, numbers
from support.store import ADA, a_house, stored, tell

from memd.backends.rooms import Rooms
from memd.base.errors import (
    DegradedError,
    DiskFullError,
    EmbeddingError,
    MemoryStoreError,
    ModelError,
)
from memd.domain.enums import ArchiveReason
from memd.domain.ingest import IngestManyRequest, IngestRequest
from memd.domain.memory import MemoryUpdate
from memd.domain.recall import RecallRequest
from memd.ingest.queue import SWEEP_ROWS, EmbeddingQueue
from memd.store.check import check
from memd.store.file.connect import Reading, Writing
from memd.store.memory import memories, removal
from memd.store.search import embedding_queue, vectors


class _Interrupted(HashEmbedder):
    """Lets something happen once, between the embedding and the answer."""

    meanwhile: Callable[[], Awaitable[object]] | None = None

    async def embed(self, texts: Sequence[str], *, bulk: bool = False) -> list[bytes]:
        vectors = await super().embed(texts, bulk=bulk)
        happening, self.meanwhile = self.meanwhile, None
        if happening is not None:
            await happening()
        return vectors


class _Unable(HashEmbedder):
    """Fails on every request that holds the word poison."""

    async def embed(self, texts: Sequence[str], *, bulk: bool = False) -> list[bytes]:
        if any("poison" in text for text in texts):
            raise EmbeddingError("the model failed")
        return await super().embed(texts, bulk=bulk)


class _Damaged(HashEmbedder):
    """A model whose folder turns out to be damaged."""

    async def embed(self, texts: Sequence[str], *, bulk: bool = False) -> list[bytes]:
        del texts, bulk
        raise ModelError("a file of the model is damaged")


def _vectors(conn: Reading) -> list[tuple[object, ...]]:
    return conn.execute(
        """
        SELECT m.content, m.state, f.name, e.vector
          FROM memory AS m
               LEFT JOIN embedding AS e ON e.memory_key = m.memory_key
               LEFT JOIN embedding_model AS f ON f.model_key = e.model_key
         ORDER BY m.memory_key
        """
    ).fetchall()


def _counted(conn: Reading) -> object:
    return conn.execute("SELECT vectors FROM centroid").get


def _total(conn: Reading) -> object:
    return conn.execute("SELECT total FROM centroid").get


def _sources(conn: Reading) -> object:
    return conn.execute("SELECT count(*) FROM source").get


async def test_a_text_updated_while_it_is_embedded_gets_the_vector_of_its_new_words(
    tmp_path: Path,
) -> None:
    embedder = _Interrupted(present=False)
    async with a_house(tmp_path / "memd.db", embedder=embedder) as house:
        (one,) = await stored(house, "alpha alpha")
        embedder.present = True
        embedder.meanwhile = lambda: house.ingest.update(ADA, one, MemoryUpdate(content="zebra"))
        await house.queue.drain()
        assert await house.db.read(_vectors) == [("zebra", "active", "hash", hash_vector("zebra"))]
        assert await house.db.read(_counted) == 1


async def test_a_text_updated_while_a_new_model_embeds_it_gets_the_vector_of_its_new_words(
    tmp_path: Path,
) -> None:
    embedder = _Interrupted("A")
    async with a_house(tmp_path / "memd.db", embedder=embedder) as house:
        (one,) = await stored(house, "alpha alpha")
        embedder.name = "B"
        embedder.meanwhile = lambda: house.ingest.update(ADA, one, MemoryUpdate(content="zebra"))
        await house.queue.drain()
        await house.queue.drain()
        expected = hash_vector("zebra", salt="B")
        assert await house.db.read(_vectors) == [("zebra", "active", "B", expected)]


async def test_going_back_to_an_earlier_model_finds_its_vectors_again(tmp_path: Path) -> None:
    embedder = HashEmbedder("A")
    async with a_house(tmp_path / "memd.db", embedder=embedder) as house:
        await stored(house, "first text", "second text", "third text")
        for name in ("B", "A"):
            embedder.name = name
            await house.queue.drain()
        live = await house.db.read(vectors.current_cache)
        assert live is not None
        assert await house.db.read(check.count_wrong_rows, live) == 0
        asked = RecallRequest(query="first text", search_mode="dense")
        answer = await house.recall.recall(ADA, asked)
        assert [memory.content for memory in answer.memories][:1] == ["first text"]
        assert (await house.upkeep.check(ADA)).problems == ()


async def test_a_change_of_model_killed_half_way_goes_on_with_the_next_look(tmp_path: Path) -> None:
    embedder = HashEmbedder("A")
    async with a_house(tmp_path / "memd.db", embedder=embedder) as house:
        await stored(house, "first text", "second text", "third text")
        embedder.name = "B"
        await house.queue.drain()
        await house.db.write(ADA, lambda conn: vectors.start_build(conn, 1))
        await house.db.write(ADA, lambda conn: vectors.step_build(conn, 1))
    embedder.name = "A"
    async with a_house(tmp_path / "memd.db", embedder=embedder) as house:
        await house.queue.drain()
        live = await house.db.read(vectors.current_cache)
        assert live is not None
        assert live.model_key == 1
        assert await house.db.read(check.count_wrong_rows, live) == 0


async def test_a_vector_is_never_filed_under_another_model(tmp_path: Path) -> None:
    embedder = HashEmbedder("A")
    async with a_house(tmp_path / "memd.db", embedder=embedder) as house:
        await stored(house, "first text")
        embedder.name, embedder.dimension = "B", 16
        await stored(house, "second text")
        assert (await house.db.read(_vectors))[1] == ("second text", "pending", None, None)
        await house.queue.drain()
        assert (await house.db.read(_vectors))[-1][1:3] == ("active", "B")


async def test_what_was_embedded_while_the_model_changed_is_embedded_again(tmp_path: Path) -> None:
    embedder = _Interrupted("A", present=False)

    async def changes() -> None:
        embedder.name = "B"

    async with a_house(tmp_path / "memd.db", embedder=embedder) as house:
        await stored(house, "one text")
        embedder.present = True
        embedder.meanwhile = changes
        with pytest.raises(DegradedError):
            await house.queue.drain()
        await house.queue.drain()
        expected = hash_vector("one text", salt="B")
        assert await house.db.read(_vectors) == [("one text", "active", "B", expected)]
        embedder.meanwhile = changes
        embedder.name = "A"
        await stored(house, "two texts")
        assert (await house.db.read(_vectors))[-1] == ("two texts", "pending", None, None)


async def test_a_new_memory_does_not_wait_until_all_of_before_have_token_vectors(
    tmp_path: Path,
) -> None:
    embedder = _Interrupted(with_tokens=True)
    async with a_house(tmp_path / "memd.db", embedder=embedder) as house:
        await stored(house, *(f"text {number}" for number in range(SWEEP_ROWS + 2)))
        await house.queue.drain()
        await house.db.write(ADA, lambda conn: conn.execute("UPDATE embedding SET tokens = NULL"))
        house.queue._complete = None
        embedder.texts.clear()

        async def comes() -> None:
            await house.db.write(ADA, pend)

        embedder.meanwhile = comes
        await house.queue.drain()
        assert embedder.texts.index("text 0") < embedder.texts.index(f"text {SWEEP_ROWS + 1}")
        assert embedder.texts[SWEEP_ROWS] == "text 0"
        assert await house.db.read(vectors.has_tokens)


def pend(conn: Writing) -> None:
    """Leave the first memory as one that has just arrived."""
    conn.execute("DELETE FROM embedding WHERE memory_key = 1")
    conn.execute("UPDATE memory SET state = 'pending' WHERE memory_key = 1")


async def test_a_damaged_model_refuses_no_write(tmp_path: Path) -> None:
    async with a_house(tmp_path / "memd.db", embedder=_Damaged()) as house:
        await stored(house, "one text")
        assert await house.db.read(_vectors) == [("one text", "pending", None, None)]


async def test_a_text_that_cannot_be_embedded_keeps_no_other_from_its_vector(
    tmp_path: Path,
) -> None:
    embedder = _Unable(present=False)
    async with a_house(tmp_path / "memd.db", embedder=embedder) as house:
        texts = ("one text", "a poison", "another text", "the last text")
        ids = await stored(house, *texts)
        embedder.present = True
        assert await house.queue.drain() == 3
        states = [row[1] for row in await house.db.read(_vectors)]
        assert states == ["active", "pending", "active", "active"]
        assert await house.queue.drain() == 0
        await house.ingest.update(ADA, ids[1], MemoryUpdate(content="a remedy"))
        assert await house.queue.drain() == 1


async def test_a_model_that_embeds_nothing_gives_no_text_up(tmp_path: Path) -> None:
    embedder = _Unable(present=False)
    async with a_house(tmp_path / "memd.db", embedder=embedder) as house:
        await stored(house, "one text", "two texts")
        embedder.present = True
        works = embedder.embed

        async def fails(texts: Sequence[str], *, bulk: bool = False) -> list[bytes]:
            del texts, bulk
            raise EmbeddingError("the model cannot be loaded")

        embedder.embed = fails  # type: ignore[method-assign]  # the model fails for a while
        with pytest.raises(EmbeddingError):
            await house.queue.drain()
        embedder.embed = works  # type: ignore[method-assign]  # and works again
        assert await house.queue.drain() == 2


async def test_a_vector_that_is_replaced_leaves_the_sum(house: Rooms) -> None:
    await stored(house, "one text")
    await house.db.write(ADA, lambda conn: conn.execute("UPDATE memory SET state = 'pending'"))
    await house.queue.drain()
    assert await house.db.read(_counted) == 1
    total = await house.db.read(_total)
    assert isinstance(total, bytes)
    assert math.isclose(math.hypot(*numbers(total)), 1.0, abs_tol=1e-5)


async def test_an_expiry_that_passes_while_the_text_is_embedded_is_none_before_it_was_made(
    tmp_path: Path,
) -> None:
    clock, embedder = HeldClock(), _Interrupted()

    async def late() -> None:
        clock.advance(seconds=2)

    async with a_house(tmp_path / "memd.db", clock, embedder) as house:
        await stored(house, "a first text, so that the model is ready")
        embedder.meanwhile = late
        (one,) = await stored(house, "soon over", expires_at=clock.now + timedelta(seconds=1))
        assert await house.recall.get(ADA, one) is None
        rows = await house.db.read(memories.by_keys, [2])
        assert rows[2].entry().expires_at == clock.now


async def test_rows_without_a_vector_are_looked_for_only_when_something_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = HashEmbedder()
    looks = 0

    def missing(
        conn: Reading, model_key: int, after: int, limit: int
    ) -> list[embedding_queue.PendingRow]:
        nonlocal looks
        looks += 1
        return looked(conn, model_key, after, limit)

    looked = embedding_queue.list_missing
    monkeypatch.setattr(embedding_queue, "list_missing", missing)
    async with a_house(tmp_path / "memd.db", embedder=embedder) as house:
        await stored(house, "Ann keeps bees.")
        await house.queue.drain()
        seen = looks
        assert seen
        await house.queue.drain()
        assert looks == seen
        embedder.present = False
        await stored(house, "Bob sails.")
        embedder.present = True

        def move_to_archive(conn: Writing) -> None:  # before it had a vector
            removal.archive(conn, [2], ArchiveReason.CAP, 1, new_id=house.ingest.ids.new)

        await house.db.write(ADA, move_to_archive)
        assert await house.queue.drain() == 1
        embedder.name = "another"
        assert await house.queue.drain() == 2
        seen = looks
        await house.queue.drain()
        assert looks == seen


async def test_a_text_that_is_merged_whole_leaves_no_copy_behind(house: Rooms) -> None:
    ids = await tell(house, "My bank pin story is Zanzibar.")
    ids += await tell(house, "  My bank pin story is Zanzibar.  ")
    assert ids[0] == ids[1]
    await house.trash.forget(ADA, ids=ids[:1])
    assert await house.db.read(_sources) == 0


async def test_an_expiry_before_the_memory_was_made_is_refused(
    house: Rooms, clock: HeldClock
) -> None:
    clock.advance(days=365)
    (one,) = await stored(house, "made while the clock was wrong")
    clock.advance(days=-365)
    with pytest.raises(MemoryStoreError, match="before the memory was made"):
        await house.ingest.update(ADA, one, MemoryUpdate(expires_at=clock.now + timedelta(days=30)))
    await house.recall.get(ADA, one)


async def test_a_queue_that_is_woken_and_stopped_at_once_stops(house: Rooms) -> None:
    running = asyncio.create_task(house.queue.run())
    await asyncio.sleep(0.05)
    house.queue.wake()
    running.cancel()
    await asyncio.wait({running}, timeout=WAIT_S)
    assert running.cancelled()


async def test_a_queue_whose_disk_is_full_stops_when_it_is_told_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The write that fails beside the cancellation does not take its place."""
    monkeypatch.setattr("memd.ingest.queue.SWEEP_ROWS", 1)
    embedder, is_second = _Interrupted(), asyncio.Event()

    async def wait_in_the_second(*_: object) -> None:
        is_second.set()
        await asyncio.Event().wait()

    async def refuse(*_: object) -> None:
        embedder.meanwhile = wait_in_the_second
        raise DiskFullError("the disk is full")

    monkeypatch.setattr(EmbeddingQueue, "_write", refuse)
    async with a_house(tmp_path / "memd.db", embedder=embedder) as house:
        items = [IngestRequest(text=f"The hive {number} is green.") for number in range(3)]
        await house.ingest.ingest_many(ADA, IngestManyRequest(items=tuple(items)))
        running = asyncio.create_task(house.queue.run())
        await until(is_second.is_set, "the second text is being embedded")
        running.cancel()
        await asyncio.wait({running}, timeout=WAIT_S)
        assert running.cancelled()


async def test_a_row_that_comes_at_the_end_of_a_look_is_settled_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drained, armed = EmbeddingQueue.drain, asyncio.Event()

    async def drain(queue: EmbeddingQueue) -> int:
        done = await drained(queue)
        if armed.is_set():
            armed.clear()
            item = IngestRequest(text="The deploy window is Tuesday.")
            await house.ingest.ingest_many(ADA, IngestManyRequest(items=(item,)))
        return done

    monkeypatch.setattr(EmbeddingQueue, "drain", drain)
    async with a_house(tmp_path / "memd.db") as house:
        working = asyncio.create_task(house.queue.run())
        await house.queue.settle()
        armed.set()
        house.queue.wake()
        await until(lambda: not armed.is_set(), "a row comes at the end of a look")
        await house.queue.settle()
        assert await house.db.read(embedding_queue.count_pending) == 0
        assert len(await house.db.read(_vectors)) == 1
        working.cancel()


async def test_a_model_is_loaded_while_what_it_will_embed_is_still_being_made(
    tmp_path: Path,
) -> None:
    embedder = ColdEmbedder()
    async with a_house(tmp_path / "memd.db", embedder=embedder) as house:
        working = asyncio.create_task(house.queue.run())
        await house.queue.settle()
        assert embedder.texts == []

        house.queue.expect()
        await house.queue.settle()

        assert len(embedder.texts) == 1
        working.cancel()
