"""What work of one event loop needs: a thread for what would block it, and a shared lock.

A frame of a megabyte takes up to half a second to read, to screen and to answer, which would block
every client. Small ones are done in the loop, because a thread switch costs more than the work.
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
    answer: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop
    call: Callable[[], Any]


class Work:
    """A thread that runs one call after the other; it starts with the first one.

    It is a daemon thread: a stop does not wait for the running call, whose caller has gone
    by then.
    """

    def __init__(self, name: str = "work") -> None:
        self._name = name
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run *call* in the thread and return its result.

        A call that is cancelled before its turn is not run. Raises StoppingError after
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
        """Run *call*, in the thread if *chars* is over LARGE_CHARS; return its result."""
        if chars <= LARGE_CHARS:
            return call(*args, **kwargs)
        return await self.run(call, *args, **kwargs)

    async def run_large(
        self, payload: Any, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run *call*, in the thread if *payload* is large; return its result."""
        if not is_large(payload):
            return call(*args, **kwargs)
        return await self.run(call, *args, **kwargs)

    def close(self) -> None:
        """Cancel the pending calls, let the running one finish. Call it in their loop."""
        self._closed = True
        with suppress(queue.Empty):
            while (pending := self._calls.get_nowait()) is not None:
                pending.answer.cancel()
        self._calls.put(None)

    def _serve(self) -> None:
        while (pending := self._calls.get()) is not None:
            if not pending.answer.cancelled():
                _do(pending)
            del pending  # it may hold a large text


def _do(pending: _Call) -> None:
    """Run a call and set its future in its loop, to the result or the exception."""
    answer = pending.answer
    act: Callable[[Any], None] = answer.set_result
    try:
        outcome = pending.call()
    except BaseException as error:  # noqa: BLE001  # the caller's, as if called in place
        outcome, act = error, answer.set_exception

    def set_answer() -> None:
        if not answer.done():  # its caller may have gone
            act(outcome)

    with suppress(RuntimeError):  # the loop is closed, so nobody awaits it
        pending.loop.call_soon_threadsafe(set_answer)


_ITEM_CHARS = 16
"""Weight of a value besides its characters."""
_TEXTS = (str, bytes)
_HOLDERS = (dict, list, tuple, set, frozenset)
LARGE_WEIGHT_A_BYTE = 8
"""An upper bound of weight per byte of JSON, in which a value has two bytes or more."""


def is_large(value: Any, most: int = LARGE_CHARS) -> bool:
    """Return whether *value*, a JSON value or pydantic model, has more than *most* characters.

    Stops as soon as the answer is known.

    >>> is_large({"text": "a" * 100}), is_large({"text": "a" * 100}, 50)
    (False, True)
    """
    waiting = [value]
    left = most
    while waiting:
        item = waiting.pop()
        if isinstance(item, _TEXTS):
            left -= len(item)
        else:
            if isinstance(item, BaseModel):
                item = vars(item)
            if not isinstance(item, _HOLDERS):
                continue
            left -= _ITEM_CHARS * len(item)
            if left >= 0:
                waiting.extend(item)
                if isinstance(item, dict):
                    waiting.extend(item.values())
        if left < 0:
            return True
    return False


class SharedLock:
    """A lock that many may hold together, or one alone, within one event loop.

    Requests hold it shared while they use the embedding model; a change of model holds it
    exclusively, so no request sees a change half made.
    """

    def __init__(self) -> None:
        self._holders = 0
        self._unshared = asyncio.Event()
        self._unshared.set()
        self._unlocked = asyncio.Event()
        self._unlocked.set()

    @asynccontextmanager
    async def shared(self) -> AsyncIterator[None]:
        """Hold the lock together with others; waits while somebody holds it exclusively."""
        while not self._unlocked.is_set():
            await self._unlocked.wait()
        self._holders += 1
        self._unshared.clear()
        try:
            yield
        finally:
            self._holders -= 1
            if not self._holders:
                self._unshared.set()

    @asynccontextmanager
    async def exclusive(self) -> AsyncIterator[None]:
        """Hold the lock alone; waits for a moment without holders. Never from within ``shared``."""
        while self._holders or not self._unlocked.is_set():
            await self._unshared.wait()
            await self._unlocked.wait()
        self._unlocked.clear()
        try:
            yield
        finally:
            self._unlocked.set()
