"""Deduplication of hook events: two settings files may each start a hook for one event.

Both hooks start at the same moment with the same input; the first one creates a mark, an
empty file in memd's folder beside the socket. Old marks are deleted when a session begins.
"""

from __future__ import annotations

import _imp
import os
import time

DUPLICATE_S = 10
"""An equal event within this time is a duplicate."""
KEPT_S = 3_600.0
LASTING = "lasting-"
"""The beginning of the name of a mark that is kept for ``LASTING_S``."""
LASTING_S = 30 * 86_400.0
MARKS_MAX = 10_000


def stamp(*parts: str) -> str:
    """Return a short hash of *parts*; not cryptographic, which is not needed here.

    >>> stamp("s", "Stop") == stamp("s", "Stop") != stamp("sS", "top")
    True
    """
    raw = "\0".join(parts).encode("utf-8", "surrogatepass")
    return f"{_imp.source_hash(0, raw).hex()}{len(raw):x}"


class Marks:
    """The marks of seen events. If the folder cannot be written, every event is new."""

    def __init__(self, socket_path: str) -> None:
        self._folder = os.path.join(os.path.dirname(socket_path), "hooks")

    def take(self, name: str, now_s: float | None = None) -> bool:
        """Mark *name*; return whether no other process just did."""
        at = int((time.time() if now_s is None else now_s) / DUPLICATE_S)  # noqa: TID251
        before, now = (os.path.join(self._folder, f"{name}.{at - ago}") for ago in (1, 0))
        return not os.path.exists(before) and self._create_mark(now)

    def add(self, name: str) -> None:
        """Mark *name* for ``KEPT_S``, or ``LASTING_S``."""
        self._create_mark(os.path.join(self._folder, name))

    def remove(self, name: str) -> None:
        try:
            os.unlink(os.path.join(self._folder, name))
        except OSError:
            return

    def has(self, name: str) -> bool:
        return os.path.exists(os.path.join(self._folder, name))

    def update(self, name: str, text: str, for_s: float = LASTING_S) -> bool:
        """Store the stamp of *text* under *name*; return False if that was done within *for_s*."""
        is_new = not self.holds(name, text, for_s)
        if is_new:
            self.store(name, text)
        return is_new

    def holds(self, name: str, text: str, for_s: float = LASTING_S) -> bool:
        """Return whether the stamp of *text* was stored under *name* within *for_s*."""
        path = os.path.join(self._folder, name)
        try:
            stored_s = os.lstat(path).st_mtime
            return os.readlink(path) == stamp(text) and time.time() < stored_s + for_s  # noqa: TID251
        except OSError:
            return False

    def store(self, name: str, text: str) -> None:
        """Store the stamp of *text* under *name*, as of now."""
        self.remove(name)
        try:
            os.makedirs(self._folder, 0o700, exist_ok=True)
            # A dangling link: written and read atomically.
            os.symlink(stamp(text), os.path.join(self._folder, name))
        except OSError:
            return

    def clear(self, now_s: float | None = None) -> None:
        """Delete old marks."""
        now = time.time() if now_s is None else now_s  # noqa: TID251
        try:
            with os.scandir(self._folder) as marks:
                for nth, mark in enumerate(marks):
                    kept_s = LASTING_S if mark.name.startswith(LASTING) else KEPT_S
                    made_s = mark.stat(follow_symlinks=False).st_mtime
                    if nth > MARKS_MAX or made_s < now - kept_s:
                        os.unlink(mark.path)
        except OSError:
            return

    def _create_mark(self, path: str) -> bool:
        try:
            return self._create_file(path)
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
            return self._create_file(path)
        except OSError:
            return True

    @staticmethod
    def _create_file(path: str) -> bool:
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            os.close(os.open(path, flags, 0o600))
        except FileExistsError:
            return False
        return True
