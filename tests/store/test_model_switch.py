"""A change of the embedding model: the old vectors answer until the new ones are complete."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, cast

import pytest
from support.daemon import until
from support.fakes import hash_vector
from support.limited_disks import fill, small_disk
from support.store import ADA, a_house, stored
from support.switchable_models import DIMENSIONS, SwitchedModel, a_chooser, a_folder
from support.tuning_data import talked

from memd.backends.rooms import Rooms
from memd.base.errors import (
    AlreadyRunningError,
    BusyError,
    DiskFullError,
    EmbeddingError,
    InvalidError,
    InvalidStateError,
    ModelError,
)
from memd.domain.enums import SearchMode
from memd.domain.memory import MemoryQuery, MemoryUpdate
from memd.embedding.embed import SwitchableEmbedder
from memd.embedding.model_files import ONNX_FILE
from memd.ingest.model_switch import ModelSwitch
from memd.learn.tuning.bench import measure, ranks_of
from memd.store.file.connect import Reading, Writing
from memd.store.search import model_switch, vectors

TEXTS = [f"hive {number} has {number} frames of honey" for number in range(150)]


class Bed:
    """A house whose model can be changed."""

    def __init__(self, house: Rooms, chosen: SwitchableEmbedder) -> None:
        self.house = house
        self.chosen = chosen
        self.events: list[Any] = []
        self.switch = ModelSwitch(house, chosen, lambda *event: self.events.append(event[2]))

    def model(self, name: str) -> SwitchedModel:
        return cast("SwitchedModel", self.chosen.embedder_of(name))

    async def dense(self, text: str) -> list[str]:
        query = MemoryQuery(text=text, limit=20)
        entries = await self.house.recall.retrieve(ADA, query, SearchMode.DENSE)
        return [entry.content for entry in entries]

    async def brute(self, text: str, model: str) -> list[str]:
        """Return the same by comparing with every vector of *model*."""
        asked = hash_vector(text, DIMENSIONS[model], model)

        def work(conn: Reading) -> list[str]:
            rows = conn.execute(
                """
                SELECT m.content
                  FROM embedding AS e
                       JOIN memory AS m ON m.memory_key = e.memory_key
                       JOIN embedding_model AS f ON f.model_key = e.model_key
                 WHERE f.name = ? AND m.state = 'active'
                 ORDER BY vec_distance_L2(e.vector, ?), m.memory_key
                 LIMIT 20
                """,
                (model, asked),
            )
            return [str(content) for (content,) in rows]

        return await self.house.db.read(work)


@asynccontextmanager
async def a_bed(tmp_path: Path) -> AsyncIterator[Bed]:
    chosen = a_chooser(tmp_path)
    async with a_house(tmp_path / "memd.db", embedder=cast("Any", chosen)) as house:
        chosen.serve(await house.db.read(model_switch.model_in_use))
        yield Bed(house, chosen)


@pytest.fixture(name="bed")
async def _bed(tmp_path: Path) -> AsyncIterator[Bed]:
    async with a_bed(tmp_path) as bed:
        yield bed


async def test_a_switch_goes_on_where_all_vectors_wait_for_token_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a migration in the middle of it: memories are embedded again that are filled."""
    monkeypatch.setattr(model_switch, "BUILD_ROWS", 40)
    async with a_bed(tmp_path) as bed:
        db = bed.house.db
        await stored(bed.house, *TEXTS)
        await bed.switch.use(ADA, "B")
        change = await db.read(model_switch.current_switch)
        assert change is not None
        model = bed.model("B").fingerprint
        assert model is not None
        await bed.switch._embed(change, model)
        for _ in range(3):
            await db.write(ADA, lambda conn: model_switch.step(conn, change))
        await db.write(ADA, lambda conn: conn.execute("UPDATE embedding SET tokens = NULL"))
        assert (await db.read(model_switch.progress, change))[0] == 0
    async with a_bed(tmp_path) as bed:
        running = asyncio.create_task(bed.switch.run())
        while bed.chosen.name != "B":
            assert not running.done()
            await asyncio.sleep(0.01)
        running.cancel()
        assert await bed.dense(TEXTS[3]) == await bed.brute(TEXTS[3], "B")


async def test_the_old_vectors_answer_until_the_new_ones_are_complete(bed: Bed) -> None:
    await stored(bed.house, *TEXTS)
    before = await bed.dense("hive 7 honey")
    assert before == await bed.brute("hive 7 honey", "A")
    answers: list[list[str]] = []

    async def asked() -> None:
        answers.append(await bed.dense("hive 7 honey"))

    bed.model("B").meanwhile = asked
    await bed.switch.use(ADA, "B")
    assert await bed.switch.carry_out()
    assert len(answers) > 2
    assert all(answer == before for answer in answers)
    bed.model("B").meanwhile = None
    assert bed.chosen.name == "B"
    assert await bed.dense("hive 7 honey") == await bed.brute("hive 7 honey", "B")
    assert (await bed.house.upkeep.check(ADA)).ok
    assert [event["state"] for event in bed.events] == ["began", "changed"]


async def test_a_killed_change_goes_on_where_it_was(tmp_path: Path) -> None:
    async with a_bed(tmp_path) as bed:
        await stored(bed.house, *TEXTS)
        await bed.switch.use(ADA, "B")
        bed.model("B").calls_left = 1  # a batch, then no more
        with pytest.raises(EmbeddingError):
            await bed.switch.carry_out()
        assert bed.chosen.name == "A"
    async with a_bed(tmp_path) as bed:
        assert bed.chosen.name == "A"
        coming = (await bed.switch.status())["coming"]
        assert 0 < coming["done"] < coming["total"] == len(TEXTS)
        assert await bed.dense("hive 7 honey") == await bed.brute("hive 7 honey", "A")
        assert await bed.switch.carry_out()
        assert len(bed.model("B").texts) == len(TEXTS) - coming["done"]
        assert bed.chosen.name == "B"
        assert (await bed.house.upkeep.check(ADA)).ok
    async with a_bed(tmp_path) as bed:
        assert bed.chosen.name == "B"
        assert await bed.dense("hive 7 honey") == await bed.brute("hive 7 honey", "B")


async def test_what_comes_and_changes_meanwhile_is_in_the_new_cache_too(bed: Bed) -> None:
    ids = await stored(bed.house, *TEXTS)
    later = iter(range(1_000))

    async def busy() -> None:
        number = next(later)
        if number < 4:
            await stored(bed.house, f"wasp nest {number} is new")
            change = MemoryUpdate(content=f"hive {number} is empty now")
            await bed.house.ingest.update(ADA, ids[number], change)
            await bed.house.trash.delete(ADA, ids[100 + number])

    bed.model("B").meanwhile = busy
    await bed.switch.use(ADA, "B")
    while not await bed.switch.carry_out():
        await bed.house.queue.drain()
    await bed.house.queue.drain()
    assert bed.chosen.name == "B"
    for text in ("wasp nest 3", "hive 2 is empty", "hive 101 honey"):
        assert await bed.dense(text) == await bed.brute(text, "B")
    assert (await bed.house.upkeep.check(ADA)).ok


async def test_no_model_is_put_to_use_while_a_memory_has_no_vector_of_it(bed: Bed) -> None:
    await stored(bed.house, *TEXTS[:3])
    await bed.switch.use(ADA, "B")
    change = await bed.house.db.read(model_switch.current_switch)
    assert change is not None
    leaving = model_switch.ModelNote("A", "of A")

    def change_over(conn: Writing) -> bool:
        while model_switch.step(conn, change):
            pass
        return model_switch.complete(conn, change, leaving, ())

    assert not await bed.house.db.write(ADA, change_over)
    assert await bed.house.db.read(model_switch.model_in_use) is None


async def test_a_change_is_stopped_and_undone(bed: Bed) -> None:
    await stored(bed.house, *TEXTS)
    with pytest.raises(InvalidStateError):
        await bed.switch.undo(ADA)
    await bed.switch.use(ADA, "B")
    assert (await bed.switch.undo(ADA))["coming"] is None
    assert await bed.switch.carry_out()
    assert bed.chosen.name == "A"
    await bed.switch.use(ADA, "B")
    await bed.switch.carry_out()
    made = len(bed.model("A").texts)
    await bed.switch.undo(ADA)
    await bed.switch.carry_out()
    assert bed.chosen.name == "A"
    assert len(bed.model("A").texts) == made + 1  # the trial; every vector was still there
    assert await bed.dense("hive 7 honey") == await bed.brute("hive 7 honey", "A")
    assert [event["state"] for event in bed.events] == [
        "began", "stopped", "began", "changed", "began", "changed",
    ]  # fmt: skip


async def test_a_third_model_lets_the_first_ones_vectors_go(tmp_path: Path) -> None:
    def models(conn: Reading) -> set[object]:
        rows = conn.execute(
            "SELECT DISTINCT f.name FROM embedding AS e JOIN embedding_model AS f USING (model_key)"
        )
        return {name for (name,) in rows}

    async with a_bed(tmp_path) as bed:
        await stored(bed.house, *TEXTS)
        for name in ("B", "C"):
            await bed.switch.use(ADA, name)
            await bed.switch.carry_out()
        assert await bed.house.db.read(models) == {"B", "C"}
        assert (await bed.house.upkeep.check(ADA)).ok


async def test_the_model_in_use_is_no_change_and_a_second_change_waits(bed: Bed) -> None:
    assert (await bed.switch.use(ADA, "A"))["coming"] is None
    await bed.switch.use(ADA, "B")
    assert (await bed.switch.use(ADA, "B"))["coming"]["name"] == "B"
    with pytest.raises(AlreadyRunningError, match="changing to B"):
        await bed.switch.use(ADA, "C")


async def test_of_two_changes_at_once_one_begins(bed: Bed) -> None:
    """A model is checked before its change begins, and that takes seconds."""

    async def use_another() -> None:
        await bed.switch.use(ADA, "C")

    bed.model("B").meanwhile = use_another
    with pytest.raises(AlreadyRunningError, match="changing to C"):
        await bed.switch.use(ADA, "B")

    assert (await bed.switch.status())["coming"]["name"] == "C"
    assert bed.events == [{"state": "began", "model": "C"}]


async def test_a_change_is_carried_out_though_its_call_was_cancelled(bed: Bed) -> None:
    await stored(bed.house, *TEXTS[:3])
    running = asyncio.ensure_future(bed.switch.run())
    call = asyncio.ensure_future(bed.switch.use(ADA, "B"))
    while not bed.house.db.waiting_writes:  # noqa: ASYNC110  # it is over within a pause
        await asyncio.sleep(0)

    call.cancel()

    await until(lambda: bed.chosen.name == "B", "the model is changed")
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


async def test_a_model_that_is_not_there_or_broken_changes_nothing(
    bed: Bed, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match="no model is installed"):
        await bed.switch.use(ADA, "D")
    with pytest.raises(InvalidError):
        await bed.switch.use(ADA, "../B")
    (tmp_path / "models" / "B" / ONNX_FILE).write_bytes(b"weightz")
    with pytest.raises(ModelError, match="damaged"):
        await bed.switch.use(ADA, "B")
    (tmp_path / "models" / "C" / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"tokenizer\.json is missing"):
        await bed.switch.use(ADA, "C")
    assert (await bed.switch.status())["coming"] is None


async def test_a_model_that_does_not_run_changes_nothing(tmp_path: Path) -> None:
    a_folder(tmp_path, "C", tokenizer=False)
    async with a_bed(tmp_path) as bed:
        bed.model("B").calls_left = 0
        with pytest.raises(ModelError, match="does not run"):
            await bed.switch.use(ADA, "B")
        with pytest.raises(ModelError, match=r"lacks tokenizer\.json"):
            await bed.switch.use(ADA, "C")
        assert (await bed.switch.status())["coming"] is None


async def test_a_text_that_the_coming_model_fails_on_does_not_hold_it_up(bed: Bed) -> None:
    await stored(bed.house, *TEXTS[:5], "poison in the honey")
    await bed.switch.use(ADA, "B")
    assert await bed.switch.carry_out()
    assert bed.chosen.name == "B"
    entries = await bed.house.recall.retrieve(ADA, MemoryQuery(text="poison", limit=1))
    assert [entry.content for entry in entries] == ["poison in the honey"]


async def test_a_change_waits_for_questions_and_questions_for_it(bed: Bed) -> None:
    await stored(bed.house, *TEXTS[:20])
    held = asyncio.Event()
    entered = asyncio.Event()

    async def hold() -> None:
        entered.set()
        await held.wait()

    await bed.switch.use(ADA, "B")
    bed.model("A").meanwhile = hold
    asking = asyncio.create_task(bed.dense("hive 7 honey"))
    await entered.wait()
    changing = asyncio.create_task(bed.switch.carry_out())
    while (await bed.switch.status())["coming"]["done"] < 20:  # noqa: ASYNC110
        await asyncio.sleep(0)
    assert await bed.house.db.read(vectors.current_cache) is not None
    for _ in range(50):  # writes take turns: what waits for nothing else is over by then
        await bed.house.db.write(ADA, lambda conn: conn.changes())
    assert not changing.done()
    assert bed.chosen.name == "A"
    held.set()
    assert await asking == await bed.brute("hive 7 honey", "A")
    assert await changing
    assert bed.chosen.name == "B"


async def test_a_bench_ranks_the_right_memory_by_each_models_own_vectors(bed: Bed) -> None:
    assert (await measure(bed.house.db, bed.house.work, bed.chosen, ["A"]))["models"] == []
    await talked(bed.house, 16)
    figures = await measure(bed.house.db, bed.house.work, bed.chosen, ["A", "B"])
    assert figures["memories"] == 32
    assert figures["pairs"] > 0
    assert [each["name"] for each in figures["models"]] == ["A", "B"]
    assert all(0.0 <= each["ndcg_10"] <= each["recall_10"] <= 1.0 for each in figures["models"])


def test_a_rank_counts_what_is_nearer() -> None:
    passages = [hash_vector(text) for text in ("red kite", "blue potatoes", "old doors")]
    asked = [hash_vector("old doors"), hash_vector("red kite")]
    assert ranks_of(asked, passages, [2, 0], [None, None]) == [1, 1]
    assert ranks_of(asked, passages, [0, 1], [None, None])[0] > 1
    assert ranks_of(asked[:1], [*passages, asked[0]], [2], [3]) == [1]


async def test_a_full_disk_holds_a_change_up_and_loses_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    rooms: list[Callable[[], None]] = []

    async def full() -> None:
        """At the second batch: nothing more can be written, by nobody."""
        if bed.model("B").texts and not rooms:
            rooms.append(fill(folder))
            with suppress(DiskFullError):
                for number in range(2_000):
                    await stored(bed.house, f"{number} of {'hives ' * 500}")

    with small_disk(folder):
        async with a_bed(folder) as bed:
            await stored(bed.house, *TEXTS)
            bed.model("B").meanwhile = full
            await bed.switch.use(ADA, "B")
            with pytest.raises((BusyError, DiskFullError)):  # which the daemon tries again after
                await bed.switch.carry_out()
            coming = (await bed.switch.status())["coming"]
            assert 0 < coming["done"] < coming["total"]
            assert bed.chosen.name == "A"
            assert await bed.dense("hive 7 honey") == await bed.brute("hive 7 honey", "A")
            rooms[0]()
            assert await bed.house.db.recover()
            await bed.house.queue.drain()
            assert await bed.switch.carry_out()
            assert bed.chosen.name == "B"
            assert await bed.dense("hive 7 honey") == await bed.brute("hive 7 honey", "B")
            assert (await bed.house.upkeep.check(ADA)).ok
