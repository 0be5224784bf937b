"""Own a model and its thread: the base of the embedding model and the re-ranker.

The model is loaded at its first request, released after an idle time, and loaded again when its
folder changes. A request is processed in batches, and the queues are checked before each batch. So
bulk work delays an interactive request by one batch at most, and an abandoned request costs no
more than that.

The thread survives any failure of the model, and each caller gets a typed error.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import threading  # noqa: TID251  # the one place that owns a model's thread (docs/architecture.md)
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from memd.base.errors import (
    BusyError,
    DegradedError,
    EmbeddingError,
    MemdError,
    ModelError,
    StoppingError,
)
from memd.base.limits import EMBED_CLOSE_MS_MAX
from memd.domain.encoding import ModelFingerprint
from memd.embedding.model_files import Manifest, ModelFolder, Stamp

Model = TypeVar("Model")
Answer = TypeVar("Answer")


class ModelKind(NamedTuple):
    """Texts about one kind of model, for errors."""

    name: str
    unit: str
    """What its queue counts, in the plural: "texts"."""
    hint: str
    """How to install one."""
    thread: str


class ModelRequest(ABC, Generic[Model, Answer]):
    """A request and its progress; create it in the caller's loop."""

    size = 1
    """Its size in the queue."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[Answer] = self._loop.create_future()

    @abstractmethod
    def step(self, model: Model) -> bool:
        """Process one batch; return whether it was the last."""

    @abstractmethod
    def result(self) -> Answer:
        """Return the result, after the last batch."""

    def settle(self, outcome: Answer | MemdError) -> None:
        """Set the answer, or the error to raise, in the caller's loop. Called in the thread."""

        def on_loop() -> None:
            if self.answer.done():  # its caller may have cancelled it
                return
            if isinstance(outcome, MemdError):
                self.answer.set_exception(outcome)
            else:
                self.answer.set_result(outcome)

        with suppress(RuntimeError):  # the loop is closed, so there is no caller
            self._loop.call_soon_threadsafe(on_loop)


_running: set[threading.Thread] = set()


def has_live_threads() -> bool:
    """Return whether any model's thread is still running."""
    return any(thread.is_alive() for thread in _running)


class ModelThread(Generic[Model]):
    """A model of a daemon, used from one loop.

    Costs nothing until the first request. Cancelling a request affects no
    other one. The thread never keeps the process alive; ``close``
    ends it in order.
    """

    def __init__(
        self,
        folder: Path,
        loader: Callable[[Path, Manifest], Model],
        kind: ModelKind,
        *,
        idle_ms: int,
        waiting_max: int,
    ) -> None:
        self._folder = ModelFolder(folder)
        self._loader = loader
        self._kind = kind
        self._idle_s = idle_ms / 1_000
        self._waiting_max = waiting_max
        # Below this line: shared with the thread, accessed under the condition only.
        self._condition = threading.Condition()
        self._interactive: deque[ModelRequest[Model, Any]] = deque()
        self._bulk: deque[ModelRequest[Model, Any]] = deque()
        self._waiting = 0
        self._closing = False
        self._is_needed = True
        self._on_end: Callable[[], object] = bool  # replaced by close
        self._thread: threading.Thread | None = None
        self._model: Model | None = None
        self._stamp: Stamp | None = None

    @property
    def loaded(self) -> bool:
        return self._model is not None

    async def close(self) -> None:
        """End the thread and release the model. Waiting requests get a StoppingError.

        Waits for the batch in progress, but not for ever: a thread that is busy
        reading the model from a slow disk is abandoned and ends with the process.
        """
        loop = asyncio.get_running_loop()
        thread_ended = asyncio.Event()
        with self._condition:
            is_running = self._thread is not None and self._thread.is_alive()
            self._closing = True
            self._on_end = partial(loop.call_soon_threadsafe, thread_ended.set)
            self._condition.notify()
        if is_running:
            with suppress(TimeoutError):
                await asyncio.wait_for(thread_ended.wait(), EMBED_CLOSE_MS_MAX / 1_000)

    def release(self) -> None:
        """Release the model after the requests that wait; a later one loads it again."""
        with self._condition:
            if self._thread is not None:
                self._is_needed = False
                self._condition.notify()

    @property
    def manifest(self) -> Manifest | None:
        """The installed manifest; None without an intact one. Compares no hashes."""
        try:
            installed = self._folder.read()
        except ModelError:
            return None
        return installed[0] if installed else None

    @property
    def fingerprint(self) -> ModelFingerprint | None:
        """The identity of the installed model; None without an intact one."""
        manifest = self.manifest
        return manifest.fingerprint if manifest else None

    # For subclasses.

    def _read_manifest(self) -> tuple[Manifest, Stamp]:
        """Return the installed manifest; DegradedError without one, ModelError if damaged."""
        try:
            installed = self._folder.read()
        except ModelError as error:
            raise self._with_hint(error) from error
        if installed is None:
            raise DegradedError(f"no {self._kind.name} is installed", hint=self._kind.hint)
        return installed

    async def _ask(self, request: ModelRequest[Model, Answer], *, bulk: bool = False) -> Answer:
        """Return the answer to *request*, which is never too large for an idle queue."""
        kind = self._kind
        with self._condition:
            if self._closing:
                raise StoppingError(f"the {kind.name} is being closed")
            if self._waiting and self._waiting + request.size > self._waiting_max:
                raise BusyError(f"{self._waiting} {kind.unit} already wait for the {kind.name}")
            self._waiting += request.size
            self._is_needed = True
            (self._bulk if bulk else self._interactive).append(request)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=kind.thread, daemon=True)
                _running.add(self._thread)
                self._thread.start()
            self._condition.notify()
        try:
            return await request.answer
        finally:
            self._dequeue(request)  # a cancelled request makes room at once

    # Executed in the thread.

    def _run(self) -> None:
        try:
            while not self._closing:
                request = self._next()
                if request is None:
                    self._release()
                else:
                    self._serve(request)
                del request  # not referenced while waiting, as it holds texts
        finally:  # no request may wait for a dead thread
            self._refuse_waiting()
            _running.discard(threading.current_thread())

    def _next(self) -> ModelRequest[Model, Any] | None:
        """Wait for work and return it, still first in its queue; None when idle or closing."""
        with self._condition:
            idle_s = self._idle_s if self.loaded else None
            self._condition.wait_for(
                lambda: self._closing or self._interactive or self._bulk or not self._is_needed,
                idle_s,
            )
            waiting = self._interactive or self._bulk
            if not waiting:
                self._is_needed = True  # until it is released again
            return waiting[0] if waiting and not self._closing else None

    def _refuse_waiting(self) -> None:
        self._release()
        with self._condition:
            self._closing = True
            for request in (*self._interactive, *self._bulk):
                request.settle(StoppingError(f"the {self._kind.name} is being closed"))
            self._interactive.clear()
            self._bulk.clear()
            self._waiting = 0
        with suppress(RuntimeError):  # the loop may be gone
            self._on_end()

    def _serve(self, request: ModelRequest[Model, Any]) -> None:
        """Do one batch of *request*; after the last one dequeue it, then answer."""
        if request.answer.cancelled():
            self._dequeue(request)
            return
        outcome: Any
        try:
            if not request.step(self._load_model()):
                return
            outcome = request.result()
        except MemdError as error:
            outcome = error
        except Exception as error:  # noqa: BLE001  # onnxruntime raises bare Exceptions; the thread must live
            outcome = EmbeddingError(f"the {self._kind.name} failed: {type(error).__name__}")
            outcome.__cause__ = error
        self._dequeue(request)
        request.settle(outcome)

    def _dequeue(self, request: ModelRequest[Model, Any]) -> None:
        """Remove *request* from its queue, if it is still there."""
        with self._condition:
            for queue in (self._interactive, self._bulk):
                if request in queue:
                    queue.remove(request)
                    self._waiting -= request.size

    def _load_model(self) -> Model:
        """Return the model, loading it if necessary or if the folder has another one."""
        manifest, stamp = self._read_manifest()
        if self._model is None or self._stamp != stamp:
            self._model = None
            try:
                self._model = self._loader(self._folder.path, manifest)
            except ModelError as error:
                self._folder.mark_damaged(stamp, error)
                raise self._with_hint(error) from error
            self._stamp = stamp
        return self._model

    def _with_hint(self, error: ModelError) -> ModelError:
        """Return *error* with the command that reinstalls this kind of model."""
        return ModelError(error.message, hint=self._kind.hint)

    def _release(self) -> None:
        if self._model is not None:
            self._model = None
            _trim()


def keep_libraries_quiet() -> None:
    """Configure the model's libraries, before their import, for no network and no telemetry.

    onnxruntime 1.29 and later stores a device id in the home folder and reports each
    session to its vendor unless ORT_DISABLE_TELEMETRY is set when it starts; the
    choice then holds for the life of the process.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy only adds vectors here


def load_fastembed(
    model: Callable[..., Any], name: str, folder: Path, label: str, hint: str
) -> Any:
    """Load *name* from *folder* as a *model* of ``fastembed``, which runs on one thread.

    Raises EmbeddingError, which calls it *label*.
    """
    from loguru import logger

    logger.disable("fastembed")  # it writes to stderr; memd reports errors itself
    try:
        return model(
            name,
            cache_dir=str(folder),  # unused, but the default would create a folder in /tmp
            specific_model_path=str(folder),
            local_files_only=True,
            threads=1,  # two threads compete on a small machine
            providers=["CPUExecutionProvider"],
        )
    except Exception as error:  # onnxruntime raises bare Exceptions
        raise EmbeddingError(
            f"the {label} cannot be loaded: {type(error).__name__}", hint=hint
        ) from error


def _trim() -> None:
    """Return freed memory to the system, where the C library can."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError):
        return  # not glibc


_deadline: ContextVar[float | None] = ContextVar("load_deadline", default=None)


@contextmanager
def load_timeout(milliseconds: int | None) -> Iterator[None]:
    """Limit the waiting for models within the block to *milliseconds* in all; None is no limit."""
    if milliseconds is None:
        yield
        return
    token = _deadline.set(asyncio.get_running_loop().time() + milliseconds / 1_000)
    try:
        yield
    finally:
        _deadline.reset(token)


def seconds_left() -> float | None:
    """Return the remaining seconds of the limit, None without one."""
    deadline = _deadline.get()
    return None if deadline is None else max(0.0, deadline - asyncio.get_running_loop().time())
