"""Creation of an object at its first use, so that the start does not wait for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

T = TypeVar("T")


def lazy(make: Callable[[], T]) -> T:
    """Return a proxy for the object that *make* returns; *make* is called once, at first use.

    Not thread-safe: use it in the event loop's thread only.

    >>> lazy(lambda: "made".upper()).lower()
    'made'
    """
    return cast("T", _Lazy(make))


class _Lazy:
    __slots__ = ("_make", "_value")

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make: Callable[[], Any] | None = make
        self._value: Any = None

    def __getattr__(self, name: str) -> Any:
        if self._make is not None:
            self._value, self._make = self._make(), None
        return getattr(self._value, name)
