"""A work thread for functions that would block the event loop, and a shared lock for coroutines.

Parsing, screening and answering a frame of a megabyte takes up to half a second, which would
block all clients. Small frames are processed in the loop: switching threads costs more.
"""

from __future__ import annotations

import asyncio
import queue
import threading  # noqa: TID251  # the work threads (docs/architecture.md)
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, NamedTuple, ParamSpec, TypeVar

from pydantic import BaseModel

from memd.base.errors import StoppingError
from memd.base.limits import LARGE_CHARS

P = ParamSpec("P")
T = TypeVar("T")


class _Call(NamedTuple):
    """A queued call, and the future for its result, which belongs to *loop*."""

    answer: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop
    call: Callable[[], Any]


class Work:
    """A thread that runs calls one after the other; the first call starts it.

    It is a daemon thread: the process does not wait for a running call when it exits. By then
    nobody awaits the result.
    """

    def __init__(self, name: str = "work") -> None:
        self._name = name
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run *call* in the thread and return its result, or raise its exception.

        A call that is cancelled while it is queued is not run. Raises StoppingError after
        :meth:`close`.
        """
        if self._closed:
            raise StoppingError("memd is stopping")
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        self._calls.put(_Call(answer, loop, partial(call, *args, **kwargs)))
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name=self._name, daemon=True)
            self._thread.start()
        return await answer

    async def run_sized(
        self, chars: int, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return the result of *call*, run in the thread if *chars* is above LARGE_CHARS."""
        if chars <= LARGE_CHARS:
            return call(*args, **kwargs)
        return await self.run(call, *args, **kwargs)

    async def run_large(
        self, payload: Any, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return the result of *call*, run in the thread if *payload* is large."""
        if not is_large(payload):
            return call(*args, **kwargs)
        return await self.run(call, *args, **kwargs)

    def close(self) -> None:
        """Cancel the queued calls and let the running one finish. Call it in the event loop."""
        self._closed = True
        with suppress(queue.Empty):
            while (queued := self._calls.get_nowait()) is not None:
                queued.answer.cancel()
        self._calls.put(None)

    def _serve(self) -> None:
        while (queued := self._calls.get()) is not None:
            if not queued.answer.cancelled():
                _execute(queued)
            del queued  # frees a large text before the thread waits for the next call


def _execute(queued: _Call) -> None:
    """Run a call and set its future, in the loop's thread, to the result or the exception."""
    answer = queued.answer
    complete: Callable[[Any], None] = answer.set_result
    try:
        outcome = queued.call()
    except BaseException as error:  # noqa: BLE001  # raised in the caller by the future
        outcome, complete = error, answer.set_exception

    def set_answer() -> None:
        if not answer.done():  # it is if the caller was cancelled meanwhile
            complete(outcome)

    with suppress(RuntimeError):  # the loop is closed, so nobody awaits the result
        queued.loop.call_soon_threadsafe(set_answer)


_ITEM_CHARS = 16
"""The weight of a value in a container, in addition to its characters."""
_TEXTS = (str, bytes)
_CONTAINERS = (dict, list, tuple, set, frozenset)
LARGE_WEIGHT_A_BYTE = 8
"""An upper bound of the weight per byte of JSON: the shortest item, as in ``1,``, has 2 bytes."""


def is_large(value: Any, chars_max: int = LARGE_CHARS) -> bool:
    """Return whether the weight of *value*, a JSON value or pydantic model, is over *chars_max*.

    The weight is the number of characters in all texts, plus ``_ITEM_CHARS`` for each item of
    a container. Counting stops as soon as the answer is known.

    >>> is_large({"text": "a" * 100}), is_large({"text": "a" * 100}, 50)
    (False, True)
    """
    pending = [value]
    remaining = chars_max
    while pending:
        item = pending.pop()
        if isinstance(item, _TEXTS):
            remaining -= len(item)
        else:
            if isinstance(item, BaseModel):
                item = vars(item)
            if not isinstance(item, _CONTAINERS):
                continue
            remaining -= _ITEM_CHARS * len(item)
            if remaining >= 0:
                pending.extend(item)
                if isinstance(item, dict):
                    pending.extend(item.values())
        if remaining < 0:
            return True
    return False


class SharedLock:
    """A lock that several coroutines hold together, or one holds alone, within one event loop.

    Requests hold it shared while they use the embedding model. A switch of the model holds it
    exclusively, so no request sees an incomplete switch.

    Whoever wants to hold it alone waits for those who hold it, and all who come later wait behind.
    So a task that takes it a second time could wait for itself: that raises RuntimeError.
    """

    def __init__(self) -> None:
        self._holders: set[asyncio.Task[Any] | None] = set()
        self._unshared = asyncio.Event()
        self._unshared.set()
        self._entry = asyncio.Lock()
        """Held, by whoever holds the lock alone or is the next to do so, to let nobody in."""

    @asynccontextmanager
    async def shared(self) -> AsyncIterator[None]:
        """Hold the lock together with others; wait while one holds it alone or waits for that."""
        task = self._new_holder()
        async with self._entry:
            self._holders.add(task)
            self._unshared.clear()
        try:
            yield
        finally:
            self._holders.remove(task)
            if not self._holders:
                self._unshared.set()

    @asynccontextmanager
    async def exclusive(self) -> AsyncIterator[None]:
        """Hold the lock alone; wait until nobody holds it."""
        task = self._new_holder()
        async with self._entry:
            await self._unshared.wait()
            self._holders.add(task)
            try:
                yield
            finally:
                self._holders.remove(task)

    def _new_holder(self) -> asyncio.Task[Any] | None:
        task = asyncio.current_task()
        if task in self._holders:
            raise RuntimeError("a task takes a lock that it holds")
        return task
