"""Reads a question and a text together and says how well one answers the other (MODEL).

Optional: without its folder every call is a DegradedError, and recall does without.
Like the embedding model it is loaded at the first question, in a thread of its own
with one core, given back after a quarter of an hour, and never fetched from here.

Pairs go through the model shortest first, a few at a time; between two batches it is
looked whether anybody still waits, so a caller who leaves, or whose time is over, costs
one batch at most.
"""

from __future__ import annotations

import asyncio
import threading  # noqa: TID251  # the second model's thread, built as the first one's (HOUSE 3)
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

from memd.base.errors import (
    BusyError,
    DegradedError,
    EmbeddingError,
    MemdError,
    ModelError,
    StoppingError,
)
from memd.base.limits import (
    EMBED_CLOSE_MS_MAX,
    MODEL_IDLE_MS_MAX,
    RERANK_BATCH_PAIRS,
    RERANK_LOAD_MS_MAX,
    RERANK_MS_MAX,
    RERANK_QUERY_CHARS_MAX,
    RERANK_TEXT_CHARS_MAX,
    RERANK_WAITING_MAX,
)
from memd.encode.embed import keep_libraries_quiet, trim
from memd.encode.model_files import Manifest, ModelFolder, Stamp, check_hashes
from memd.encode.reranker_files import NAME, RERANKER_HINT


class PairModel(Protocol):
    """A cross-encoder in memory."""

    def logits(self, query: str, texts: list[str]) -> list[float]:
        """Return one number for each text."""
        ...


Loader = Callable[[Path, Manifest], PairModel]


def load_pair_model(folder: Path, manifest: Manifest) -> PairModel:
    """Load the model of *folder*; ModelError names a file that is not what *manifest* says."""
    check_hashes(folder, manifest)
    return _FastembedPairs(folder)


@dataclass(eq=False)
class _Request:
    """The texts of one call, and how far they have come."""

    query: str
    texts: list[str]
    answer: asyncio.Future[list[float]]
    loop: asyncio.AbstractEventLoop
    scores: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._left = deque(sorted(range(len(self.texts)), key=lambda at: len(self.texts[at])))

    def step(self, model: PairModel) -> bool:
        """Score one batch; return whether that was the last."""
        many = min(RERANK_BATCH_PAIRS, len(self._left))
        ats = [self._left.popleft() for _ in range(many)]
        found = model.logits(self.query, [self.texts[at] for at in ats])
        if len(found) != len(ats) or any(score - score != 0.0 for score in found):
            raise EmbeddingError("the re-ranker gave no number for a text")
        self.scores.update(zip(ats, found, strict=True))
        return not self._left

    def succeed(self) -> None:
        scores = [self.scores[at] for at in range(len(self.texts))]
        self._settle(lambda: self.answer.set_result(scores))

    def fail(self, error: MemdError) -> None:
        self._settle(lambda: self.answer.set_exception(error))

    def _settle(self, act: Callable[[], None]) -> None:
        def on_loop() -> None:
            if not self.answer.done():  # its caller may have gone
                act()

        with suppress(RuntimeError):  # the loop is closed: nobody waits
            self.loop.call_soon_threadsafe(on_loop)


class RerankerThread:
    """The cross-encoder of a daemon (:class:`memd.model.encoding.PairScorer`), from one loop.

    Costs nothing until the first question. The thread never keeps the process alive;
    ``close`` ends it in order.
    """

    def __init__(
        self,
        reranker_dir: Path,
        *,
        loader: Loader = load_pair_model,
        idle_ms: int = MODEL_IDLE_MS_MAX,
        answer_ms: int = RERANK_MS_MAX,
    ) -> None:
        self._folder = ModelFolder(reranker_dir)
        self._loader = loader
        self._idle_s = idle_ms / 1_000
        self._answer_s = answer_ms / 1_000
        self._load_s = (answer_ms + RERANK_LOAD_MS_MAX) / 1_000
        # Below this line: shared with the thread, touched under the condition only.
        self._turn = threading.Condition()
        self._waiting: deque[_Request] = deque()
        self._closing = False
        self._on_end: Callable[[], object] = bool  # nobody waits yet
        self._thread: threading.Thread | None = None
        self._model: PairModel | None = None
        self._stamp: Stamp | None = None

    @property
    def installed(self) -> bool:
        """Return whether there is a model; compares no hashes and loads nothing."""
        try:
            return self._folder.read() is not None
        except ModelError:
            return False

    @property
    def loaded(self) -> bool:
        return self._model is not None

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one raw logit for each text, in order.

        Of a long query or text only the beginning is read. The first question waits
        for the model to be loaded, which it may take longer for. Raises
        DegradedError when no model is installed, ModelError when its folder is damaged,
        BusyError when too many wait, EmbeddingError when the model fails or takes
        longer than *answer_ms*, StoppingError after ``close``.
        """
        if not texts:
            return []
        if self._folder.read() is None:
            raise DegradedError("no re-ranker is installed", hint=RERANKER_HINT)
        request = self._ask(query, texts)
        try:
            async with asyncio.timeout(self._answer_s if self.loaded else self._load_s):
                return await request.answer
        except TimeoutError:
            raise EmbeddingError("the re-ranker took too long") from None
        finally:
            request.answer.cancel()
            self._drop(request)

    async def close(self) -> None:
        """End the thread and give the model back. What still waits gets a StoppingError."""
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        with self._turn:
            running = self._thread is not None and self._thread.is_alive()
            self._closing = True
            self._on_end = partial(loop.call_soon_threadsafe, ended.set)
            self._turn.notify()
        if running:
            with suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), EMBED_CLOSE_MS_MAX / 1_000)

    def _ask(self, query: str, texts: Sequence[str]) -> _Request:
        loop = asyncio.get_running_loop()
        short = [text[:RERANK_TEXT_CHARS_MAX] for text in texts]
        request = _Request(query[:RERANK_QUERY_CHARS_MAX], short, loop.create_future(), loop)
        with self._turn:
            if self._closing:
                raise StoppingError("the re-ranker is being closed")
            if len(self._waiting) >= RERANK_WAITING_MAX:
                raise BusyError(f"{len(self._waiting)} questions already wait for the re-ranker")
            self._waiting.append(request)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="memd-rerank", daemon=True)
                self._thread.start()
            self._turn.notify()
        return request

    def _drop(self, request: _Request) -> None:
        with self._turn, suppress(ValueError):
            self._waiting.remove(request)

    # Below: the thread.

    def _run(self) -> None:
        try:
            while not self._closing:
                request = self._next()
                if request is not None:
                    self._serve(request)
                else:
                    self._release()
        finally:  # nobody may wait for a thread that is gone, whatever ended it
            self._release()
            self._refuse_waiting()

    def _next(self) -> _Request | None:
        """Wait for work and return it; None when idle for long, or closing."""
        with self._turn:
            idle_s = self._idle_s if self._model else None
            self._turn.wait_for(lambda: self._closing or self._waiting, idle_s)
            return self._waiting[0] if self._waiting and not self._closing else None

    def _serve(self, request: _Request) -> None:
        try:
            if request.answer.cancelled():
                self._drop(request)
            elif request.step(self._ready()):
                self._drop(request)
                request.succeed()
        except MemdError as error:
            self._drop(request)
            request.fail(error)
        except Exception as error:  # noqa: BLE001  # onnxruntime raises bare Exceptions; the thread must live
            failure = EmbeddingError(f"the re-ranker failed: {type(error).__name__}")
            failure.__cause__ = error
            self._drop(request)
            request.fail(failure)

    def _ready(self) -> PairModel:
        """Return the model, loaded now if it is not, or if the folder holds another one."""
        found = self._folder.read()
        if found is None:
            raise DegradedError("no re-ranker is installed", hint=RERANKER_HINT)
        manifest, stamp = found
        if self._model is None or self._stamp != stamp:
            self._model = None
            try:
                self._model = self._loader(self._folder.path, manifest)
            except ModelError as error:
                self._folder.condemn(stamp, error)
                raise
            self._stamp = stamp
        return self._model

    def _release(self) -> None:
        if self._model is not None:
            self._model = None
            trim()

    def _refuse_waiting(self) -> None:
        with self._turn:
            self._closing = True
            for request in self._waiting:
                request.fail(StoppingError("the re-ranker is being closed"))
            self._waiting.clear()
        with suppress(RuntimeError):  # the loop may be gone
            self._on_end()


class _FastembedPairs:
    """The model as ``fastembed`` runs it: one thread, raw logits."""

    def __init__(self, folder: Path) -> None:
        keep_libraries_quiet()
        from fastembed.common.model_description import ModelSource
        from fastembed.rerank.cross_encoder import TextCrossEncoder
        from loguru import logger

        logger.disable("fastembed")  # it writes to stderr; memd says itself what went wrong
        known = {model["model"] for model in TextCrossEncoder.list_supported_models()}
        if NAME not in known:  # the library keeps one list for the process
            TextCrossEncoder.add_custom_model(
                model=NAME, sources=ModelSource(hf="local/none"), model_file="model.onnx"
            )
        try:
            self._model = TextCrossEncoder(
                NAME,
                cache_dir=str(folder),  # nothing goes there, but a default would make a folder
                specific_model_path=str(folder),
                local_files_only=True,
                threads=1,  # two threads spin against each other on a small machine
                providers=["CPUExecutionProvider"],
            )
        except Exception as error:  # onnxruntime raises bare Exceptions
            raise EmbeddingError(
                f"the re-ranker cannot be loaded: {type(error).__name__}", hint=RERANKER_HINT
            ) from error

    def logits(self, query: str, texts: list[str]) -> list[float]:
        return [float(score) for score in self._model.rerank(query, texts, batch_size=len(texts))]
