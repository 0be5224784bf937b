"""Turns texts into vectors, in one thread of its own, with the model from its own folder.

The model is loaded at the first text and given back after a quarter of an hour
without one. It is never fetched from here: a missing model is a DegradedError
with the command that installs it, and no code path of this module asks a network
(the libraries that would are told not to before they are imported).

Work is done in batches of at most EMBED_BATCH_TEXTS, and the queue is looked at
again before each, so that a person's question waits for one batch of bulk work
at most. Texts go through the model shortest first: a batch costs as much as its
longest text, and sorting saves a third. A text longer than the model's window is
the mean of its windows, each weighted by its length, so nothing of it is lost
without a word (SPEC D3).
"""

from __future__ import annotations

import asyncio
import ctypes
import hashlib
import os
import threading  # noqa: TID251  # the one place that owns the model's thread (HOUSE 3)
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from memd.base.errors import (
    BusyError,
    DegradedError,
    EmbeddingError,
    MemdError,
    ModelError,
    StoppingError,
)
from memd.base.limits import (
    EMBED_CACHE_TEXTS_MAX,
    EMBED_CLOSE_MS_MAX,
    EMBED_QUEUE_TEXTS_MAX,
    MODEL_IDLE_MS_MAX,
)
from memd.encode.embed_request import EmbedRequest, Encoder
from memd.encode.model_files import (
    INSTALL_HINT,
    REPOSITORY,
    Manifest,
    ModelFolder,
    Stamp,
    check_hashes,
)
from memd.encode.tokens import TOKENIZER_FILE, ModelTokens, Window
from memd.model.encoding import ModelFingerprint

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.float32]

_SPECIAL_TOKENS = 2  # [CLS] and [SEP] share the window with the text
_NORM_ERROR_MAX = 1e-3


Loader = Callable[[Path, Manifest], Encoder]


def load_encoder(folder: Path, manifest: Manifest) -> Encoder:
    """Load the model of *folder*; ModelError names a file that is not what *manifest* says."""
    check_hashes(folder, manifest)
    return _FastembedEncoder(folder, manifest.fingerprint)


def keep_libraries_quiet() -> None:
    """Tell the model's libraries, before they are imported, to ask no network and report nothing.

    onnxruntime 1.29 and later keeps a device id in the home folder and reports each
    session to its maker unless ORT_DISABLE_TELEMETRY is set when it starts; the
    choice then holds for the life of the process.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy adds vectors here, no more


class ModelThread:
    """The embedder of a daemon (:class:`memd.model.encoding.Embedder`), used from one loop.

    Costs nothing until the first text. A caller that stops waiting loses its
    answer and harms nobody. The thread never keeps the process alive; ``close``
    ends it in order.
    """

    def __init__(
        self,
        model_dir: Path,
        *,
        loader: Loader = load_encoder,
        idle_ms: int = MODEL_IDLE_MS_MAX,
        queue_texts_max: int = EMBED_QUEUE_TEXTS_MAX,
    ) -> None:
        self._folder = ModelFolder(model_dir)
        self._loader = loader
        self._idle_s = idle_ms / 1_000
        self._queue_texts_max = queue_texts_max
        self._cache: OrderedDict[bytes, bytes] = OrderedDict()
        self._cached_for: ModelFingerprint | None = None
        # Below this line: shared with the thread, touched under the condition only.
        self._turn = threading.Condition()
        self._interactive: deque[EmbedRequest] = deque()
        self._bulk: deque[EmbedRequest] = deque()
        self._waiting_texts = 0
        self._closing = False
        self._on_end: Callable[[], object] = bool  # nobody waits yet
        self._thread: threading.Thread | None = None
        self._encoder: Encoder | None = None
        self._encoder_stamp: Stamp | None = None

    @property
    def fingerprint(self) -> ModelFingerprint | None:
        try:
            found = self._folder.read()
        except ModelError:
            return None
        return found[0].fingerprint if found else None

    @property
    def loaded(self) -> bool:
        return self._encoder is not None

    async def embed(self, texts: Sequence[str], *, bulk: bool = False) -> list[bytes]:
        """Return one vector for each text, in order; equal texts are computed once.

        Raises DegradedError when no model is installed, ModelError when its folder
        is damaged, BusyError when the queue is full, EmbeddingError when the model
        fails, StoppingError after ``close``. A single request is never too large
        for an idle queue.
        """
        if not texts:
            return []
        found = self._folder.read()
        if found is None:
            raise DegradedError("no embedding model is installed", hint=INSTALL_HINT)
        fingerprint = found[0].fingerprint
        if fingerprint != self._cached_for:
            # Vectors of different models must never stand side by side.
            self._cache.clear()
            self._cached_for = fingerprint
        wanted = {text: _key(text) for text in texts}
        vectors = {text: self._cache[key] for text, key in wanted.items() if key in self._cache}
        missing = [text for text in wanted if text not in vectors]
        if missing:
            vectors.update(zip(missing, await self._ask(missing, bulk=bulk), strict=True))
        if fingerprint == self._cached_for:
            self._remember({wanted[text]: vector for text, vector in vectors.items()})
        return [vectors[text] for text in texts]

    async def close(self) -> None:
        """End the thread and give the model back. What still waits gets a StoppingError.

        Waits for the batch under way, but not for ever: a thread that is busy
        reading the model from a slow disk is left behind and ends with the process.
        """
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

    async def _ask(self, texts: list[str], *, bulk: bool) -> list[bytes]:
        loop = asyncio.get_running_loop()
        request = EmbedRequest(texts, loop)
        with self._turn:
            if self._closing:
                raise StoppingError("the embedding model is being closed")
            if self._waiting_texts and self._waiting_texts + len(texts) > self._queue_texts_max:
                raise BusyError(f"{self._waiting_texts} texts already wait for the embedding model")
            self._waiting_texts += len(texts)
            (self._bulk if bulk else self._interactive).append(request)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="memd-model", daemon=True)
                self._thread.start()
            self._turn.notify()
        try:
            return await request.answer
        finally:
            self._drop(request)  # a caller that stops waiting makes room at once

    def _remember(self, vectors: dict[bytes, bytes]) -> None:
        for key, vector in vectors.items():
            self._cache[key] = vector
            self._cache.move_to_end(key)
        while len(self._cache) > EMBED_CACHE_TEXTS_MAX:
            self._cache.popitem(last=False)

    # Below: the thread.

    def _run(self) -> None:
        try:
            while not self._closing:
                self._turn_over()
        finally:  # nobody may wait for a thread that is gone, whatever ended it
            self._refuse_waiting()

    def _turn_over(self) -> None:
        """Serve one batch, or give the model back when nothing came for long."""
        request = self._next()  # not kept while waiting: it holds texts
        if request is not None:
            self._serve(request)
        else:
            self._release()

    def _next(self) -> EmbedRequest | None:
        """Wait for work and return it, still first in its queue; None when idle or closing."""
        with self._turn:
            idle_s = self._idle_s if self._encoder else None
            self._turn.wait_for(lambda: self._closing or self._interactive or self._bulk, idle_s)
            waiting = self._interactive or self._bulk
            return waiting[0] if waiting and not self._closing else None

    def _refuse_waiting(self) -> None:
        self._release()
        with self._turn:
            self._closing = True
            for request in (*self._interactive, *self._bulk):
                request.fail(StoppingError("the embedding model is being closed"))
            self._interactive.clear()
            self._bulk.clear()
            self._waiting_texts = 0
        with suppress(RuntimeError):  # the loop may be gone
            self._on_end()

    def _serve(self, request: EmbedRequest) -> None:
        """Do one batch of *request*; when it is over, answer it, having made room first."""
        answer: Callable[[], None] | None = None
        try:
            if not request.abandoned and request.step(self._ready()):
                answer = partial(request.succeed, request.vectors())
        except MemdError as error:
            answer = partial(request.fail, error)
        except Exception as error:  # noqa: BLE001  # onnxruntime raises bare Exceptions; the thread must live
            failure = EmbeddingError(f"the embedding model failed: {type(error).__name__}")
            failure.__cause__ = error
            answer = partial(request.fail, failure)
        if answer is not None:
            self._drop(request)
            answer()

    def _drop(self, request: EmbedRequest) -> None:
        """Take *request* out of its queue, if it is still there."""
        with self._turn:
            for queue in (self._interactive, self._bulk):
                if request in queue:
                    queue.remove(request)
                    self._waiting_texts -= request.size

    def _ready(self) -> Encoder:
        """Return the model, loaded now if it is not, or if the folder holds another one."""
        found = self._folder.read()
        if found is None:
            raise DegradedError("no embedding model is installed", hint=INSTALL_HINT)
        manifest, stamp = found
        if self._encoder is None or self._encoder_stamp != stamp:
            self._encoder = None
            try:
                self._encoder = self._loader(self._folder.path, manifest)
            except ModelError as error:
                self._folder.condemn(stamp, error)
                raise
            self._encoder_stamp = stamp
        return self._encoder

    def _release(self) -> None:
        if self._encoder is not None:
            self._encoder = None
            trim()


class _FastembedEncoder:
    """The model as ``fastembed`` runs it: mean pooling, normalised, one thread."""

    def __init__(self, folder: Path, fingerprint: ModelFingerprint) -> None:
        keep_libraries_quiet()
        import fastembed
        from loguru import logger

        logger.disable("fastembed")  # it writes to stderr; memd says itself what went wrong
        self._dimension = fingerprint.dimension
        self._window = fingerprint.window_tokens - _SPECIAL_TOKENS
        self._tokens = ModelTokens(folder / TOKENIZER_FILE)
        try:
            self._model = fastembed.TextEmbedding(
                REPOSITORY,
                cache_dir=str(
                    folder
                ),  # nothing goes there, but a default would make a folder in /tmp
                specific_model_path=str(folder),
                local_files_only=True,
                threads=1,  # two threads spin against each other on a small machine
                providers=["CPUExecutionProvider"],
            )
        except Exception as error:  # onnxruntime raises bare Exceptions
            raise EmbeddingError(
                f"the model cannot be loaded: {type(error).__name__}", hint=INSTALL_HINT
            ) from error

    def windows(self, text: str) -> list[Window]:
        return self._tokens.windows(text, tokens_max=self._window)

    def encode(self, texts: list[str]) -> Rows:
        import numpy as np

        rows = np.array(list(self._model.embed(texts, batch_size=len(texts))), dtype=np.float32)
        check_rows(rows, count=len(texts), dimension=self._dimension)
        return rows


def check_rows(rows: Rows, *, count: int, dimension: int) -> None:
    """Raise EmbeddingError unless *rows* are *count* finite vectors of length 1."""
    import numpy as np

    if rows.shape != (count, dimension):
        raise EmbeddingError(
            f"the model gave vectors of shape {rows.shape}, not {(count, dimension)}"
        )
    norms = np.linalg.norm(rows, axis=1)
    if not np.all(np.abs(norms - 1.0) <= _NORM_ERROR_MAX):  # false for what is not finite, too
        raise EmbeddingError("the model gave a vector that is not of length 1")


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def trim() -> None:
    """Give freed memory back to the system, where the C library can."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError):
        return  # not glibc
