"""A file system whose operations fail from a chosen one on."""

from __future__ import annotations

from typing import Any

import apsw

HEALTHY = 1 << 40


class FailingVFS(apsw.VFS):
    """The system's files, which refuse operations from the *number*-th on, *times* times."""

    def __init__(self) -> None:
        self._base = apsw.vfs_names()[0]
        super().__init__("failing", self._base, makedefault=True)
        self.left = HEALTHY
        self.times = 0

    def xOpen(self, name: Any, flags: list[int]) -> FailingFile:  # noqa: N802  # SQLite's name
        return FailingFile(self._base, name, flags, self)

    def fail(self, number: int, times: int) -> None:
        self.left, self.times = number, times

    def count(self, code: int) -> None:
        self.left -= 1
        if -self.times < self.left <= 0:
            raise apsw.exception_for(code)


class FailingFile(apsw.VFSFile):
    """One file."""

    def __init__(self, base: str, name: Any, flags: list[int], disk: FailingVFS) -> None:
        super().__init__(base, name, flags)
        self._disk = disk

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802  # SQLite's name
        self._disk.count(apsw.SQLITE_IOERR_WRITE)
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802  # SQLite's name
        self._disk.count(apsw.SQLITE_IOERR_FSYNC)
        super().xSync(flags)

    def xTruncate(self, size: int) -> None:  # noqa: N802  # SQLite's name
        self._disk.count(apsw.SQLITE_IOERR_TRUNCATE)
        super().xTruncate(size)
