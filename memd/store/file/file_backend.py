"""Base class of the documented backends: keeps a file open from ``connect`` to ``disconnect``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AsyncExitStack
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from memd.base.errors import MemdError
from memd.base.lock import lock_store

T = TypeVar("T")


class FileBackend(ABC, Generic[T]):
    """A backend that owns the object that :meth:`_open` returns, while it is connected."""

    _connection_error: ClassVar[type[MemdError]]
    """Raised by ``connect``, and by methods that are called without a connection."""
    _stack: AsyncExitStack | None = None
    _opened: T | None = None

    @abstractmethod
    async def _open(self, stack: AsyncExitStack) -> T:
        """Open the file and push onto *stack* what closes it."""

    async def connect(self) -> None:
        """Open or create the file; do nothing when already connected.

        Raises the backend's connection error when another process uses the file or it cannot be
        opened.
        """
        if self._stack is not None:
            return
        async with AsyncExitStack() as stack:
            try:
                self._opened = await self._open(stack)
            except MemdError as error:
                raise self._connection_error(error.message, hint=error.hint) from error
            except OSError as error:
                raise self._connection_error(str(error)) from error
            self._stack = stack.pop_all()

    async def disconnect(self) -> None:
        """Close the file; do nothing when not connected."""
        stack, self._stack, self._opened = self._stack, None, None
        if stack is not None:
            await stack.aclose()

    @property
    def is_connected(self) -> bool:
        """Whether the file is open."""
        return self._stack is not None

    def _require_open(self) -> T:
        if self._opened is None:
            raise self._connection_error(
                "the backend is not connected", hint="await connect() first"
            )
        return self._opened


def own_file(stack: AsyncExitStack, database: Path) -> None:
    """Create the folder of *database* and lock the store until *stack* is closed."""
    database.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    stack.callback(lock_store(database.with_suffix(".lock"), database).close)
