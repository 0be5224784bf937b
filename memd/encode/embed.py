"""Turns texts into vectors, in one thread of its own, with the model from its own folder.

The model is loaded at the first text and given back after a quarter of an hour
without one. It is never fetched from here: a missing model is a DegradedError
with the command that installs it, and no code path of this module asks a network
(``HF_HUB_OFFLINE`` is set before the library that could is imported).

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
from typing import TYPE_CHECKING, NamedTuple, Protocol

from memd.base.errors import (
    BusyError,
    DegradedError,
    EmbeddingError,
    MemdError,
    ModelError,
    StoppingError,
)
from memd.base.limits import (
    EMBED_BATCH_TEXTS,
    EMBED_CACHE_TEXTS_MAX,
    EMBED_CLOSE_MS_MAX,
    EMBED_QUEUE_TEXTS_MAX,
    MODEL_IDLE_MS_MAX,
)
from memd.encode.model_files import (
    INSTALL_HINT,
    MANIFEST_FILE,
    REPOSITORY,
    Manifest,
    check_hashes,
    read_manifest,
)
from memd.encode.tokens import TOKENIZER_FILE, ModelTokens, Window
from memd.model.encoding import ModelFingerprint

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.float32]

_SPECIAL_TOKENS = 2  # [CLS] and [SEP] share the window with the text
_NORM_ERROR_MAX = 1e-3


class Encoder(Protocol):
    """A model in memory."""

    def windows(self, text: str) -> list[Window]:
        """Return the parts of *text* that fit the model's window; at least one."""
        ...

    def encode(self, texts: list[str]) -> Rows:
        """Return one vector for each text that fits the window, in order."""
        ...


Loader = Callable[[Path, Manifest], Encoder]
Stamp = tuple[int, int, int]


def load_encoder(folder: Path, manifest: Manifest) -> Encoder:
    """Load the model of *folder*; ModelError names a file that is not what *manifest* says."""
    check_hashes(folder, manifest)
    return _FastembedEncoder(folder, manifest.fingerprint)


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
        self._folder = _Folder(model_dir)
        self._loader = loader
        self._idle_s = idle_ms / 1_000
        self._queue_texts_max = queue_texts_max
        self._cache: OrderedDict[bytes, bytes] = OrderedDict()
        self._cached_for: ModelFingerprint | None = None
        # Below this line: shared with the thread, touched under the condition only.
        self._turn = threading.Condition()
        self._interactive: deque[_Request] = deque()
        self._bulk: deque[_Request] = deque()
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
        if found[0].fingerprint != self._cached_for:
            # Vectors of different models must never stand side by side.
            self._cache.clear()
            self._cached_for = found[0].fingerprint
        wanted = {text: _key(text) for text in texts}
        vectors = {text: self._cache[key] for text, key in wanted.items() if key in self._cache}
        missing = [text for text in wanted if text not in vectors]
        if missing:
            vectors.update(zip(missing, await self._ask(missing, bulk=bulk), strict=True))
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
        request = _Request(texts, loop)
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
        return await request.answer

    def _remember(self, vectors: dict[bytes, bytes]) -> None:
        for key, vector in vectors.items():
            self._cache[key] = vector
            self._cache.move_to_end(key)
        while len(self._cache) > EMBED_CACHE_TEXTS_MAX:
            self._cache.popitem(last=False)

    # Below: the thread.

    def _run(self) -> None:
        while not self._closing:
            request = self._next()
            if request is not None:
                self._serve(request)
            else:
                self._release()
        self._refuse_waiting()

    def _next(self) -> _Request | None:
        """Wait for work and return it, still first in its queue; None when idle or closing."""
        with self._turn:
            idle_s = self._idle_s if self._encoder else None
            self._turn.wait_for(lambda: self._closing or self._interactive or self._bulk, idle_s)
            waiting = self._interactive or self._bulk
            return waiting[0] if waiting and not self._closing else None

    def _refuse_waiting(self) -> None:
        self._release()
        with self._turn:
            for request in (*self._interactive, *self._bulk):
                request.fail(StoppingError("the embedding model is being closed"))
            self._interactive.clear()
            self._bulk.clear()
            self._waiting_texts = 0
        with suppress(RuntimeError):  # the loop may be gone
            self._on_end()

    def _serve(self, request: _Request) -> None:
        """Do one batch of *request*, and take it from the queue when it is over."""
        try:
            over = request.abandoned or request.step(self._ready())
            if over and not request.abandoned:
                request.succeed()
        except MemdError as error:
            over = True
            request.fail(error)
        except Exception as error:  # noqa: BLE001  # onnxruntime raises bare Exceptions; the thread must live
            over = True
            failure = EmbeddingError(f"the embedding model failed: {type(error).__name__}")
            failure.__cause__ = error
            request.fail(failure)
        if over:
            with self._turn:
                self._waiting_texts -= request.size
                for queue in (self._interactive, self._bulk):
                    if queue and queue[0] is request:
                        queue.popleft()

    def _ready(self) -> Encoder:
        """Return the model, loaded now if it is not, or if the folder holds another one."""
        found = self._folder.read()
        if found is None:
            raise DegradedError("no embedding model is installed", hint=INSTALL_HINT)
        manifest, stamp = found
        if self._encoder is None or self._encoder_stamp != stamp:
            self._encoder = None
            self._encoder = self._loader(self._folder.path, manifest)
            self._encoder_stamp = stamp
        return self._encoder

    def _release(self) -> None:
        if self._encoder is not None:
            self._encoder = None
            _trim()


class _Request:
    """The texts of one call, and how far they have come."""

    def __init__(self, texts: list[str], loop: asyncio.AbstractEventLoop) -> None:
        self.size = len(texts)
        self.answer: asyncio.Future[list[bytes]] = loop.create_future()
        self._loop = loop
        self._texts = texts
        self._order = deque(sorted(range(len(texts)), key=lambda at: len(texts[at])))
        self._parts: deque[_Part] = deque()
        self._sums: dict[int, Rows] = {}
        self._left = [0] * len(texts)

    @property
    def abandoned(self) -> bool:
        return self.answer.cancelled()

    def step(self, encoder: Encoder) -> bool:
        """Encode one batch; return whether that was the last."""
        if not self._parts:
            self._cut(encoder)
        batch = [self._parts.popleft() for _ in range(min(EMBED_BATCH_TEXTS, len(self._parts)))]
        rows = encoder.encode([part.window.text for part in batch])
        if len(rows) != len(batch):
            raise EmbeddingError(f"the model gave {len(rows)} vectors for {len(batch)} texts")
        for part, row in zip(batch, rows, strict=True):
            weighted = row * max(1, part.window.pieces)
            self._sums[part.at] = (
                self._sums[part.at] + weighted if part.at in self._sums else weighted
            )
        return not (self._parts or self._order)

    def succeed(self) -> None:
        vectors = [_as_bytes(self._sums[at]) for at in range(self.size)]
        self._settle(lambda: self.answer.set_result(vectors))

    def fail(self, error: MemdError) -> None:
        self._settle(lambda: self.answer.set_exception(error))

    def _cut(self, encoder: Encoder) -> None:
        """Cut the next few texts into windows, shortest first."""
        ats = [self._order.popleft() for _ in range(min(EMBED_BATCH_TEXTS, len(self._order)))]
        parts = [_Part(at, window) for at in ats for window in encoder.windows(self._texts[at])]
        self._parts.extend(sorted(parts, key=lambda part: part.window.pieces))

    def _settle(self, act: Callable[[], None]) -> None:
        def on_loop() -> None:
            if not self.answer.done():  # its caller may have gone
                act()

        with suppress(RuntimeError):  # the loop is closed: nobody waits
            self._loop.call_soon_threadsafe(on_loop)


class _Part(NamedTuple):
    at: int
    window: Window


class _Folder:
    """The model folder, read again only when its manifest changed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[Manifest, Stamp] | None = None

    def read(self) -> tuple[Manifest, Stamp] | None:
        """Return manifest and stamp, None when there is no model, or raise ModelError."""
        try:
            stat = (self.path / MANIFEST_FILE).stat()
        except OSError:
            return None
        stamp = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
        seen = self._seen
        if seen is None or seen[1] != stamp:
            manifest = read_manifest(self.path)
            if manifest is None:
                return None
            self._seen = seen = (manifest, stamp)
        return seen


class _FastembedEncoder:
    """The model as ``fastembed`` runs it: mean pooling, normalised, one thread."""

    def __init__(self, folder: Path, fingerprint: ModelFingerprint) -> None:
        os.environ["HF_HUB_OFFLINE"] = "1"
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
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
            raise ModelError(f"{folder} cannot be loaded", hint=INSTALL_HINT) from error

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


def _as_bytes(total: Rows) -> bytes:
    """Return a sum of vectors as the normalised vector that the file holds."""
    import numpy as np

    norm = float(np.linalg.norm(total))
    if not np.isfinite(norm) or norm == 0.0:
        raise EmbeddingError("the windows of a text cancel each other out")
    return (total / norm).astype("<f4").tobytes()


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _trim() -> None:
    """Give freed memory back to the system, where the C library can."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError):
        return  # not glibc
