"""Marks that hooks leave for later hooks: small files in a folder next to the socket.

They also detect duplicates. If two settings files configure a hook for the same event, both start
at the same moment with the same input, and only the first one can create the mark of the event.
Old marks are deleted when a session begins.
"""

from __future__ import annotations

import _imp
import os
import time

DUPLICATE_S = 10
"""An equal event within this time is a duplicate."""
KEPT_S = 3_600.0
"""How long a mark is kept."""
LASTING = "lasting-"
"""Prefix of marks that are kept for ``LASTING_S``."""
LASTING_S = 30 * 86_400.0
MARKS_MAX = 10_000
"""Marks beyond this number are deleted, whatever their age."""


def stamp(*parts: str) -> str:
    """Return a short hash of *parts*. It is not cryptographic: importing hashlib takes too long.

    >>> stamp("s", "Stop") == stamp("s", "Stop") != stamp("sS", "top")
    True
    """
    raw = "\0".join(parts).encode("utf-8", "surrogatepass")
    return f"{_imp.source_hash(0, raw).hex()}{len(raw):x}"


def _slots(name: str, now_s: float | None) -> tuple[str, str]:
    """Return the marks of the event *name* in the last time slot and in this one."""
    slot = int((time.time() if now_s is None else now_s) / DUPLICATE_S)  # noqa: TID251
    return f"{name}.{slot - 1}", f"{name}.{slot}"


class Marks:
    """The marks in the folder next to a socket. If it cannot be written, every event is new."""

    def __init__(self, socket_path: str) -> None:
        self._folder = os.path.join(os.path.dirname(socket_path), "hooks")

    def take(self, name: str, now_s: float | None = None) -> bool:
        """Mark the event *name*; return False if it was marked in this or the last time slot.

        A slot has ``DUPLICATE_S``. Of several processes at once, one gets True.
        """
        last, current = _slots(name, now_s)
        exists = os.path.exists(os.path.join(self._folder, last))
        return not exists and self._create_mark(os.path.join(self._folder, current))

    def release(self, name: str, now_s: float | None = None) -> None:
        """Delete the marks of the event *name*, so that the next one is no duplicate."""
        for mark in _slots(name, now_s):
            self.remove(mark)

    def add(self, name: str) -> None:
        """Set the mark *name*, for ``LASTING_S`` if it begins with ``LASTING``, else ``KEPT_S``."""
        self._create_mark(os.path.join(self._folder, name))

    def remove(self, name: str) -> None:
        try:
            os.unlink(os.path.join(self._folder, name))
        except OSError:
            return

    def has(self, name: str) -> bool:
        return os.path.exists(os.path.join(self._folder, name))

    def update(self, name: str, text: str, for_s: float = LASTING_S) -> bool:
        """Store the stamp of *text* under *name*; return False if it is there, unless too old.

        It is too old after *for_s* seconds.
        """
        is_new = not self.holds(name, text, for_s)
        if is_new:
            self.store(name, text)
        return is_new

    def holds(self, name: str, text: str, for_s: float = LASTING_S) -> bool:
        """Return whether the stamp of *text* was stored under *name* less than *for_s* ago."""
        path = os.path.join(self._folder, name)
        try:
            stored_s = os.lstat(path).st_mtime
            return os.readlink(path) == stamp(text) and time.time() < stored_s + for_s  # noqa: TID251
        except OSError:
            return False

    def store(self, name: str, text: str) -> None:
        """Store the stamp of *text* under *name*, with the current time."""
        self.remove(name)
        try:
            os.makedirs(self._folder, 0o700, exist_ok=True)
            # As the target of a dangling link, because a link is written and read atomically.
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
        """Create a mark, and the folder if needed; return False only if the mark exists."""
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
