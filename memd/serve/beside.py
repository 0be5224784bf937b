"""What is large is read and written beside the loop, so that small requests go on meanwhile.

A frame of a megabyte takes up to half a second to read, to screen and to answer. In the
loop that is half a second for everybody. A thread of its own does it for large ones, one
after the other; what is small is done at once, for the way to a thread and back costs more.
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
"""What a value costs beside the letters in it."""
_TEXTS = (str, bytes)
_HOLDERS = (dict, list, tuple, set, frozenset)
LARGE_WEIGHT_A_BYTE = 8
"""What weighs more than this a byte has more bytes as JSON, in which a value has two or more."""


class Beside:
    """Owns the thread. Its caller closes it."""

    def __init__(self) -> None:
        self._work = Work("large")

    async def call(
        self, weighed: Any, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return what *call* returns: called at once, or in the thread if *weighed* is large."""
        if not is_large(weighed):
            return call(*args, **kwargs)
        return await self._work.run(call, *args, **kwargs)

    def close(self) -> None:
        self._work.close()


def is_large(value: Any, most: int = LARGE_CHARS) -> bool:
    """Return whether *value*, of what JSON and pydantic have, holds more than *most* characters.

    Looks no further than it takes to know.

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
