"""The model's thread: order, fairness, failure, coming and going of the model."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest
from support.daemon import WAIT_S
from support.fake_encoder import FakeEncoder, a_model_folder, the_vector
from support.fakes import hash_tokens

from memd.base.errors import BusyError, DegradedError, EmbeddingError, ModelError, StoppingError
from memd.base.limits import (
    EMBED_BATCH_TEXTS,
    EMBED_BATCH_TOKENS,
    EMBED_CACHE_TEXTS_MAX,
    EMBED_CUT_CHARS,
)
from memd.domain.encoding import Embedder
from memd.embedding import model_thread
from memd.embedding.embed import EmbedderThread, load_encoder
from memd.embedding.encoders import unit
from memd.embedding.model_files import Manifest
from memd.embedding.model_thread import load_timeout
from memd.text.tokens import TextWindow


@asynccontextmanager
async def a_thread(
    folder: Path, encoder: FakeEncoder, *, idle_ms: int = 60_000, queue_texts_max: int = 100
) -> AsyncIterator[EmbedderThread]:
    thread = EmbedderThread(
        folder, loader=encoder.load, idle_ms=idle_ms, queue_texts_max=queue_texts_max
    )
    try:
        yield thread
    finally:
        encoder.gate.set()
        await thread.close()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_S):
        while not condition():  # noqa: ASYNC110  # the thread tells nobody what it does
            await asyncio.sleep(0.002)


def numbers(vector: bytes) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.frombuffer(vector, dtype="<f4")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return a_model_folder(tmp_path / "model")


@pytest.fixture
def encoder() -> FakeEncoder:
    return FakeEncoder()


async def test_vectors_come_in_the_order_of_the_texts(folder: Path) -> None:
    texts = [f"{'w ' * (at * 7 % 4)}text {at}" for at in range(50)]
    encoder = FakeEncoder(window=10)
    async with a_thread(folder, encoder) as thread:
        vectors = await thread.embed(texts)
    for text, vector in zip(texts, vectors, strict=True):
        assert np.allclose(numbers(vector), the_vector(text), atol=1e-6)
        assert len(vector) == 4 * 8


async def test_texts_go_through_the_model_shortest_first_in_bounded_batches(
    encoder: FakeEncoder, folder: Path
) -> None:
    texts = ["x" * (1 + at * 13 % 47) for at in range(47)]
    async with a_thread(folder, encoder) as thread:
        await thread.embed(texts)
    assert [len(batch) for batch in encoder.batches] == [16, 16, 15]
    flat = [len(text) for batch in encoder.batches for text in batch]
    assert flat == sorted(flat)


async def test_long_texts_share_a_batch_only_while_they_are_small_together(folder: Path) -> None:
    texts = [" ".join([f"t{at}"] * 200) for at in range(5)]
    encoder = FakeEncoder(window=254)
    async with a_thread(folder, encoder) as thread:
        await thread.embed(texts)
    assert [len(batch) for batch in encoder.batches] == [2, 2, 1]
    assert EMBED_BATCH_TOKENS == 512


async def test_equal_texts_are_computed_once_within_a_call_and_not_again_later(
    encoder: FakeEncoder, folder: Path
) -> None:
    async with a_thread(folder, encoder) as thread:
        first = await thread.embed(["same", "other", "same"])
        assert first[0] == first[2]
        assert sorted(text for batch in encoder.batches for text in batch) == ["other", "same"]
        assert await thread.embed(["same"]) == [first[0]]
        assert len(encoder.batches) == 1


async def test_the_cache_forgets_what_was_used_least_recently(
    encoder: FakeEncoder, folder: Path
) -> None:
    async with a_thread(folder, encoder, queue_texts_max=10_000) as thread:
        await thread.embed(["first", "second"])
        await thread.embed(["first"])
        await thread.embed([f"text {at}" for at in range(EMBED_CACHE_TEXTS_MAX - 1)])
        encoder.batches.clear()
        await thread.embed(["first"])
        assert encoder.batches == []
        await thread.embed(["second"])
        assert encoder.batches == [["second"]]


async def test_an_interactive_text_waits_for_one_batch_of_bulk_work_at_most(
    encoder: FakeEncoder, folder: Path
) -> None:
    encoder.gate.clear()
    async with a_thread(folder, encoder) as thread:
        bulk = asyncio.create_task(thread.embed([f"bulk {at}" for at in range(64)], bulk=True))
        await until(encoder.entered.is_set)
        question = asyncio.create_task(thread.embed(["question"]))
        await asyncio.sleep(0)
        encoder.gate.set()
        await question
        await bulk
    assert encoder.batches[1] == ["question"]
    assert len(encoder.batches) == 1 + 64 // EMBED_BATCH_TEXTS


async def test_a_text_of_many_windows_holds_nobody_up_for_longer(folder: Path) -> None:
    encoder = FakeEncoder(window=4)
    encoder.gate.clear()
    async with a_thread(folder, encoder) as thread:
        long = " ".join(f"w{at}" for at in range(400))
        bulk = asyncio.create_task(thread.embed([long], bulk=True))
        await until(encoder.entered.is_set)
        question = asyncio.create_task(thread.embed(["question"]))
        await asyncio.sleep(0)
        encoder.gate.set()
        await asyncio.gather(question, bulk)
    assert encoder.batches[1] == ["question"]
    assert max(len(batch) for batch in encoder.batches) == EMBED_BATCH_TEXTS


async def test_a_question_waits_until_one_long_text_is_cut_not_all(folder: Path) -> None:
    encoder = FakeEncoder(window=EMBED_CUT_CHARS)
    encoder.gate.clear()
    async with a_thread(folder, encoder) as thread:
        texts = [f"{at} {'a ' * EMBED_CUT_CHARS}" for at in range(4)]
        bulk = asyncio.create_task(thread.embed(texts, bulk=True))
        await until(encoder.entered.is_set)
        question = asyncio.create_task(thread.embed(["question"]))
        await asyncio.sleep(0)
        encoder.gate.set()
        await asyncio.gather(question, bulk)
    assert encoder.cut.index("question") == 1


async def test_a_long_text_is_the_normalised_mean_of_its_windows_by_length(folder: Path) -> None:
    encoder = FakeEncoder(window=4)
    async with a_thread(folder, encoder) as thread:
        [vector] = await thread.embed(["a b c d e f"])
    mean = 4 * the_vector("a b c d") + 2 * the_vector("e f")
    assert np.allclose(numbers(vector), mean / np.linalg.norm(mean), atol=1e-6)


async def test_token_vectors_of_a_long_text_are_in_its_order_whatever_its_windows(
    folder: Path,
) -> None:
    async with a_thread(folder, FakeEncoder(window=4)) as thread:
        [encoding] = await thread.encode(["a b c d e f"])
    assert encoding.tokens == hash_tokens("a b c d e f")


async def test_a_full_queue_is_busy_at_once(encoder: FakeEncoder, folder: Path) -> None:
    encoder.gate.clear()
    async with a_thread(folder, encoder, queue_texts_max=3) as thread:
        first = asyncio.create_task(thread.embed(["a", "b"], bulk=True))
        await until(encoder.entered.is_set)
        with pytest.raises(BusyError):
            await thread.embed(["c", "d"])
        encoder.gate.set()
        await first
        assert len(await thread.embed(["c", "d"])) == 2


async def test_a_caller_that_stops_waiting_harms_nobody(encoder: FakeEncoder, folder: Path) -> None:
    encoder.gate.clear()
    async with a_thread(folder, encoder) as thread:
        gone = asyncio.create_task(thread.embed([f"text {at}" for at in range(90)]))
        await until(encoder.entered.is_set)
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        encoder.gate.set()
        assert len(await thread.embed([f"new {at}" for at in range(90)])) == 90
        assert len(encoder.batches) == 1 + 6  # of the first request only the batch under way


async def test_a_failing_model_fails_the_request_and_not_the_thread(folder: Path) -> None:
    encoder = FakeEncoder(fails_at="bad")
    async with a_thread(folder, encoder) as thread:
        with pytest.raises(EmbeddingError, match="RuntimeError"):
            await thread.embed(["bad"])
        assert len(await thread.embed(["good"])) == 1


async def test_without_a_model_the_answer_says_how_to_install_one(tmp_path: Path) -> None:
    async with a_thread(tmp_path / "nowhere", FakeEncoder()) as thread:
        assert thread.fingerprint is None
        with pytest.raises(DegradedError) as caught:
            await thread.embed(["text"])
    assert caught.value.hint == "run: memd model install"


async def test_a_model_that_is_installed_later_is_noticed(
    encoder: FakeEncoder, tmp_path: Path
) -> None:
    async with a_thread(tmp_path / "model", encoder) as thread:
        with pytest.raises(DegradedError):
            await thread.embed(["text"])
        a_model_folder(tmp_path / "model")
        assert thread.fingerprint is not None
        assert len(await thread.embed(["text"])) == 1


async def test_a_model_that_is_replaced_is_loaded_anew(encoder: FakeEncoder, folder: Path) -> None:
    async with a_thread(folder, encoder) as thread:
        await thread.embed(["one"])
        shutil.rmtree(folder)
        a_model_folder(folder, weights=b"other weights, of another size")
        await thread.embed(["two"])
    assert encoder.loads == 2


async def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / "config.json").unlink()
    async with a_thread(folder, FakeEncoder()) as thread:
        assert thread.fingerprint is None
        with pytest.raises(ModelError, match=r"config\.json is missing"):
            await thread.embed(["text"])


async def test_a_flipped_bit_in_the_model_is_found_when_it_is_loaded(folder: Path) -> None:
    damaged = bytearray((folder / "model.onnx").read_bytes())
    damaged[3] ^= 1
    (folder / "model.onnx").write_bytes(damaged)
    thread = EmbedderThread(folder, loader=load_encoder)
    try:
        with pytest.raises(ModelError, match=r"model\.onnx is damaged"):
            await thread.embed(["text"])
        assert not thread.loaded
        assert thread.fingerprint is None
        with pytest.raises(ModelError, match=r"model\.onnx is damaged"):
            await thread.embed(["text"])
    finally:
        await thread.close()


async def test_an_idle_model_is_given_back_and_loaded_again_when_needed(
    encoder: FakeEncoder, folder: Path
) -> None:
    async with a_thread(folder, encoder, idle_ms=20) as thread:
        await thread.embed(["one"])
        await until(lambda: not thread.loaded)
        await thread.embed(["two"])
        assert encoder.loads == 2


async def test_a_model_that_was_released_is_loaded_again_when_needed_and_stays(
    encoder: FakeEncoder, folder: Path
) -> None:
    async with a_thread(folder, encoder) as thread:
        await thread.embed(["one"])
        thread.release()
        await until(lambda: not thread.loaded)
        await thread.embed(["two"])
        await thread.embed(["three"])
        assert thread.loaded
        assert encoder.loads == 2


async def test_a_model_that_is_asked_for_again_or_never_was_is_not_released(
    encoder: FakeEncoder, folder: Path
) -> None:
    async with a_thread(folder, encoder) as thread:
        thread.release()
        await thread.embed(["one"])
        encoder.gate.clear()
        encoder.entered.clear()
        asked = asyncio.create_task(thread.embed(["two"]))
        await until(encoder.entered.is_set)
        thread.release()
        again = asyncio.create_task(thread.embed(["three"]))
        await asyncio.sleep(0)
        encoder.gate.set()
        await asyncio.gather(asked, again)
        await asyncio.sleep(0.02)
        assert thread.loaded
        assert encoder.loads == 1


async def test_who_waits_for_a_model_that_is_released_is_answered_first(
    encoder: FakeEncoder, folder: Path
) -> None:
    encoder.gate.clear()
    async with a_thread(folder, encoder) as thread:
        waiting = [asyncio.create_task(thread.embed([f"text {at}"])) for at in range(3)]
        await until(encoder.entered.is_set)
        thread.release()
        encoder.gate.set()
        await asyncio.gather(*waiting)
        await until(lambda: not thread.loaded)
        assert encoder.loads == 1


async def test_closing_ends_the_thread_and_refuses_who_waits(
    encoder: FakeEncoder, folder: Path
) -> None:
    encoder.gate.clear()
    thread = EmbedderThread(folder, loader=encoder.load)
    first = asyncio.create_task(thread.embed([f"a {at}" for at in range(20)]))
    second = asyncio.create_task(thread.embed(["b"]))
    await until(encoder.entered.is_set)
    closing = asyncio.create_task(thread.close())
    await asyncio.sleep(0)
    encoder.gate.set()
    await closing
    for waiting in (first, second):
        with pytest.raises(StoppingError):
            await waiting
    with pytest.raises(StoppingError):
        await thread.embed(["late"])
    assert not thread.loaded
    await until(lambda: all(other.name != "memd-model" for other in threading.enumerate()))


async def test_closing_does_not_wait_for_ever_for_a_stuck_model(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_thread, "EMBED_CLOSE_MS_MAX", 50)
    encoder = FakeEncoder()
    encoder.gate.clear()
    thread = EmbedderThread(folder, loader=encoder.load)
    stuck = asyncio.create_task(thread.embed(["a"]))
    await until(encoder.entered.is_set)
    async with asyncio.timeout(WAIT_S):
        await thread.close()  # the gate opens after it
    encoder.gate.set()
    assert len(await stuck) == 1  # its answer came late, but it came


async def test_nothing_starts_before_the_first_text(encoder: FakeEncoder, folder: Path) -> None:
    async with a_thread(folder, encoder) as thread:
        embedder: Embedder = thread
        assert await embedder.embed([]) == []
        assert not embedder.loaded
    assert encoder.loads == 0


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([[1.0, 0.0], [float("nan"), 0.0]], id="not a number"),
        pytest.param([[1.0, 0.0], [float("inf"), 0.0]], id="infinite"),
        pytest.param([[1.0, 0.0], [0.0, 0.0]], id="without a length"),
    ],
)
def test_a_vector_without_a_direction_is_refused(rows: list[list[float]]) -> None:
    with pytest.raises(EmbeddingError):
        unit(np.array(rows, dtype=np.float32))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_nobody_waits_for_a_thread_that_died(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_thread, "EMBED_CLOSE_MS_MAX", 50)

    class Deadly(FakeEncoder):
        def windows(self, text: str) -> list[TextWindow]:
            raise SystemExit(text)

    encoder = Deadly()
    async with a_thread(folder, encoder) as thread:
        with pytest.raises(StoppingError):
            await asyncio.wait_for(thread.embed(["text"]), WAIT_S)


async def test_who_waits_no_longer_is_told_and_the_model_is_loaded_for_the_next(
    encoder: FakeEncoder, folder: Path
) -> None:
    loading, may_load = threading.Event(), threading.Event()

    def load(at: Path, manifest: Manifest) -> FakeEncoder:
        loading.set()
        assert may_load.wait(WAIT_S)
        return encoder.load(at, manifest)

    thread = EmbedderThread(folder, loader=load)
    try:
        with load_timeout(0), pytest.raises(DegradedError, match="is being loaded"):
            await thread.embed(["a"])
        await until(loading.is_set)
        may_load.set()
        await until(lambda: thread.loaded)
        with load_timeout(0):
            assert len(await thread.embed(["a"])) == 1  # loaded: it is waited for
    finally:
        may_load.set()
        await thread.close()
    assert encoder.loads == 1


async def test_a_model_can_be_loaded_before_anybody_asks(
    encoder: FakeEncoder, folder: Path
) -> None:
    async with a_thread(folder, encoder) as thread:
        thread.warm()
        await until(lambda: thread.loaded)
        thread.warm()
        assert encoder.loads == 1
