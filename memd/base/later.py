"""A thing that is made when it is first used, so that a start does not wait for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

T = TypeVar("T")


def later(make: Callable[[], T]) -> T:
    """Return what stands for the thing that *make* returns; *make* is called once, at first use.

    Made in the loop's own thread, where everything that uses it runs.

    >>> later(lambda: "made".upper()).lower()
    'made'
    """
    return cast("T", _Later(make))


class _Later:
    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make: Callable[[], Any] | None = make
        self._made: Any = None

    def __getattr__(self, name: str) -> Any:
        if self._make is not None:
            self._made, self._make = self._make(), None
        return getattr(self._made, name)
