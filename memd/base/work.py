"""A thread for pure functions that may take longer than the loop should wait."""

from __future__ import annotations

import asyncio
import queue
import threading  # noqa: TID251  # the work threads (docs/architecture.md)
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, ParamSpec, TypeVar

from memd.base.errors import StoppingError
from memd.base.limits import LARGE_CHARS

P = ParamSpec("P")
T = TypeVar("T")


class _Call(NamedTuple):
    answer: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop
    call: Callable[[], Any]


class Work:
    """A thread that does one call after the other. It starts with the first one.

    It never keeps the process alive: a stop does not wait for the call under way, whose
    caller is gone by then.
    """

    def __init__(self, name: str = "work") -> None:
        self._name = name
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run *call* in the thread and return what it returns.

        Whoever stops waiting before its turn has cost nothing. Raises StoppingError
        once it is closed.
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

    async def weighed(
        self, chars: int, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return what *call* returns: at once, or from the thread for more than LARGE_CHARS."""
        if chars <= LARGE_CHARS:
            return call(*args, **kwargs)
        return await self.run(call, *args, **kwargs)

    def close(self) -> None:
        """Let the running call finish, drop the waiting ones; in the loop whose calls they are."""
        self._closed = True
        with suppress(queue.Empty):
            while (waiting := self._calls.get_nowait()) is not None:
                waiting.answer.cancel()
        self._calls.put(None)

    def _serve(self) -> None:
        while (waiting := self._calls.get()) is not None:
            if not waiting.answer.cancelled():
                _do(waiting)
            del waiting  # it holds a text


def _do(waiting: _Call) -> None:
    """Do a call and tell its loop; whatever it raises is its caller's."""
    answer = waiting.answer
    act: Callable[[Any], None] = answer.set_result
    try:
        outcome = waiting.call()
    except BaseException as error:  # noqa: BLE001  # the caller's, as if called in place
        outcome, act = error, answer.set_exception

    def settle() -> None:
        if not answer.done():  # its caller may have gone
            act(outcome)

    with suppress(RuntimeError):  # the loop is closed: nobody waits
        waiting.loop.call_soon_threadsafe(settle)
