"""Offloading of large frames and answers to a thread, so that small requests are not delayed.

A frame of a megabyte takes up to half a second to read, to screen and to answer; in the
event loop that blocks every client. One thread does it for large ones, one after the other.
Small ones are done in the loop, because a thread switch costs more than the work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from pydantic import BaseModel

from memd.base.limits import LARGE_CHARS
from memd.base.work import Work

P = ParamSpec("P")
T = TypeVar("T")

_ITEM_CHARS = 16
"""Weight of a value besides its characters."""
_TEXTS = (str, bytes)
_HOLDERS = (dict, list, tuple, set, frozenset)
LARGE_WEIGHT_A_BYTE = 8
"""An upper bound of weight per byte of JSON, in which a value has two bytes or more."""


class Offload:
    """Owner of the thread; its creator closes it."""

    def __init__(self) -> None:
        self._work = Work("large")

    async def call(
        self, payload: Any, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return the result of *call*, run in the thread if *payload* is large."""
        if not is_large(payload):
            return call(*args, **kwargs)
        return await self._work.run(call, *args, **kwargs)

    def close(self) -> None:
        self._work.close()


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
