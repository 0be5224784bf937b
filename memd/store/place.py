"""Whether the files that are open are still those at their paths.

SQLite goes on writing into a file that was deleted or replaced, and what it acknowledges
is gone with the process. So each write looks before and after, which costs some
microseconds, and is refused from then on: a new start finds what is there.
"""

from __future__ import annotations

import os
from pathlib import Path

_ENDINGS = {"": "the store", "-wal": "the store's log", "-shm": "the index of the store's log"}

Identity = tuple[int, int]


class Place:
    """The database, its log and the log's index, as they were when they were opened."""

    def __init__(self, database: Path) -> None:
        self._files = {Path(f"{database}{end}"): what for end, what in _ENDINGS.items()}
        self._known: dict[Path, Identity] = {}

    def left(self) -> str | None:
        """Return what is no longer where it was, None when all is; a new file is taken note of."""
        for path, what in self._files.items():
            there, known = _identity(path), self._known.get(path)
            if known is None and there is not None:
                self._known[path] = there
            elif known is not None and there != known:
                how = "deleted" if there is None else "replaced"
                return f"{what} was {how} while memd ran: {path}"
        return None


def _identity(path: Path) -> Identity | None:
    try:
        found = os.stat(path)  # noqa: PTH116  # at each write: a Path is made once
    except OSError:
        return None
    return found.st_dev, found.st_ino
