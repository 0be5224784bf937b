"""One event that two settings files call a hook for is one event.

Both hooks start at the same moment and see the same; the first leaves a mark in a folder
of ours beside the socket. Marks are empty files that the beginning of a session clears.
"""

from __future__ import annotations

import _imp
import os
import time

SAME_S = 10
"""The same event once more within this is the same."""
KEPT_S = 3_600.0
MARKS_MAX = 10_000


def stamp(*parts: str) -> str:
    """Return a short name for *parts*, the same for the same; no secret, and none is needed.

    >>> stamp("s", "Stop") == stamp("s", "Stop") != stamp("sS", "top")
    True
    """
    raw = "\0".join(parts).encode("utf-8", "surrogatepass")
    return f"{_imp.source_hash(0, raw).hex()}{len(raw):x}"


class Marks:
    """The marks of events that were seen. Without a folder to write to everything is new."""

    def __init__(self, socket_path: str) -> None:
        self._folder = os.path.join(os.path.dirname(socket_path), "hooks")

    def take(self, name: str, now_s: float | None = None) -> bool:
        """Return whether nobody took *name* just now, and take it."""
        at = int((time.time() if now_s is None else now_s) / SAME_S)  # noqa: TID251
        before, now = (os.path.join(self._folder, f"{name}.{at - ago}") for ago in (1, 0))
        return not os.path.exists(before) and self._made(now)

    def put(self, name: str) -> None:
        """Note *name* for as long as marks are kept."""
        self._made(os.path.join(self._folder, name))

    def has(self, name: str) -> bool:
        return os.path.exists(os.path.join(self._folder, name))

    def changed(self, name: str, text: str) -> bool:
        """Return whether *text* is other than what was noted as *name* last, and note it."""
        path = os.path.join(self._folder, name)
        now = stamp(text)
        try:
            if os.readlink(path) == now:
                return False
            os.unlink(path)
        except OSError:
            pass
        try:
            os.makedirs(self._folder, 0o700, exist_ok=True)
            os.symlink(now, path)  # a name that leads nowhere: written and read at one stroke
        except OSError:
            return True
        return True

    def clear(self, now_s: float | None = None) -> None:
        """Take the marks away that are old."""
        before = (time.time() if now_s is None else now_s) - KEPT_S  # noqa: TID251
        try:
            with os.scandir(self._folder) as marks:
                for nth, each in enumerate(marks):
                    if nth > MARKS_MAX or each.stat(follow_symlinks=False).st_mtime < before:
                        os.unlink(each.path)
        except OSError:
            return

    def _made(self, path: str) -> bool:
        try:
            return self._create(path)
        except FileNotFoundError:
            pass
        except OSError:
            return True
        try:
            os.mkdir(self._folder, 0o700)
        except FileExistsError:
            pass
        except OSError:
            return True
        try:
            return self._create(path)
        except OSError:
            return True

    @staticmethod
    def _create(path: str) -> bool:
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            os.close(os.open(path, flags, 0o600))
        except FileExistsError:
            return False
        return True
