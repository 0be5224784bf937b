"""Notices that a usage file changed, whatever the system says about it.

watchdog tells of changes at once; a slow look at every file's time tells of those
that it missed (a network folder, a full queue, a machine that slept), and of all
when the system has no watch left to give. What an event is called never counts:
the file is read, and reported when what it holds is new. A file that cannot be
read is reported once for each change, never with its content, and nothing that
a file holds ends the watch.

The only module that loads watchdog, and the only one with its threads.
"""

from __future__ import annotations

import asyncio
import hashlib
import heapq
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from memd.base import log
from memd.base.errors import MemdError
from memd.base.limits import (
    USAGE_BLIND_POLL_S,
    USAGE_BYTES_MAX,
    USAGE_FILES_MAX,
    USAGE_POLL_S,
    USAGE_SETTLE_MS,
)
from memd.signals.files import read_own
from memd.signals.usage import (
    CONSOLIDATED_SUFFIX,
    MissingSignal,
    UnreadableSignal,
    Usage,
    complete,
    parse,
)

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent, FileSystemEventHandler
    from watchdog.observers.api import BaseObserver

_BEGIN_S = 0.2

OnUsage = Callable[[Path, Usage], Awaitable[None]]
Stamp = tuple[int, int, int]


@dataclass(slots=True)
class _Seen:
    """One file as it was last looked at: its time, size and inode, and what it held."""

    stamp: Stamp | None = None
    digest: bytes | None = None


class UsageWatcher:
    """Watches usage files and folders of them; ``run`` is its task, for ever.

    *own* is the folder that is memd's and is made when it is missing. Each change
    is awaited in *on_usage* before the next one is read, with the source and the
    session filled in from the file's name where it does not say them. A *retry* error
    from it is tried again at the next look.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        on_usage: OnUsage,
        *,
        own: Path | None = None,
        settle_s: float = USAGE_SETTLE_MS / 1_000,
        poll_s: float = USAGE_POLL_S,
        observer: Callable[[], BaseObserver] | None = None,
    ) -> None:
        self._paths = tuple(dict.fromkeys(path.absolute() for path in paths))
        self._on_usage = on_usage
        self._own = own and own.absolute()
        self._settle_s = settle_s
        self._poll_s = poll_s
        self._observer_of = observer or _native
        self._observer: BaseObserver | None = None
        self._begun = False
        self._watched: dict[Path, Stamp] = {}
        self._seen: dict[Path, _Seen] = {}
        self._unreadable: dict[Path, str] = {}
        self._settling: dict[Path, asyncio.TimerHandle] = {}
        self._due: asyncio.Queue[Path | None] = asyncio.Queue()

    @property
    def unreadable(self) -> Mapping[Path, str]:
        """The files that could not be read when last looked at, with the reason."""
        return self._unreadable

    @property
    def blind(self) -> bool:
        """Whether the system gives no watches, so that files are only looked at in turns."""
        return self._observer is None

    async def run(self) -> None:
        """Watch until cancelled. What is there already is reported first."""
        loop = asyncio.get_running_loop()
        try:
            self._look_at_all(loop)
            # watchdog takes its time to load, which those who wait for the start should not.
            loop.call_later(min(self._poll_s, _BEGIN_S), self._due.put_nowait, None)
            while True:
                path = await self._due.get()
                if path is None:
                    self._begin()
                    self._look_at_all(loop)
                    loop.call_later(self._pause_s(), self._due.put_nowait, None)
                else:
                    await self._look(path)
        finally:
            self._end()

    def _pause_s(self) -> float:
        return min(self._poll_s, USAGE_BLIND_POLL_S) if self.blind else self._poll_s

    # The system's announcements.

    def _begin(self) -> None:
        """Start watchdog, once; without it every file is looked at more often."""
        if self._begun:
            return
        self._begun = True
        try:
            self._observer = self._observer_of()
            self._observer.start()
        except (OSError, ImportError) as error:
            self._give_up(error)

    def _watch_folders(self, loop: asyncio.AbstractEventLoop) -> None:
        """Watch every folder that is there; again from the start when one was replaced."""
        self._make_own()
        stamps = {folder: stamp for folder in self._folders() if (stamp := _folder(folder))}
        if self._observer is None or stamps == self._watched:
            return
        handler = cast("FileSystemEventHandler", _Handler(partial(self._announced, loop)))
        self._observer.unschedule_all()
        self._watched = {}
        for folder, stamp in stamps.items():
            try:
                self._observer.schedule(handler, str(folder), event_filter=_events())
            except (FileNotFoundError, NotADirectoryError):
                continue  # it just went; the next look sees whether it came back
            except OSError as error:  # no watch is left (ENOSPC, EMFILE)
                self._give_up(error)
                return
            self._watched[folder] = stamp

    def _give_up(self, error: Exception) -> None:
        log.warning("usage_watch_polls", reason=type(error).__name__, every_s=USAGE_BLIND_POLL_S)
        self._end()

    def _end(self) -> None:
        observer, self._observer = self._observer, None
        for handle in self._settling.values():
            handle.cancel()
        self._settling.clear()
        if observer is not None:
            observer.stop()
            with suppress(RuntimeError):  # it never began
                observer.join(1.0)

    def _make_own(self) -> None:
        if self._own is not None:
            try:
                self._own.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as error:
                log.warning("usage_folder_missing", path=str(self._own), errno=error.errno)

    def _folders(self) -> Iterator[Path]:
        for path in self._paths:
            yield path if self._is_folder(path) else path.parent

    def _is_folder(self, path: Path) -> bool:
        """Return whether *path* is, or is going to be, a folder of usage files."""
        return path == self._own or path.is_dir() or not (path.suffix or path.exists())

    def _announced(self, loop: asyncio.AbstractEventLoop, names: tuple[str, ...]) -> None:
        """Take the names of files that something happened to. Runs in watchdog's thread."""
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(self._settle, loop, names)

    def _settle(self, loop: asyncio.AbstractEventLoop, names: tuple[str, ...]) -> None:
        for path in self._paths:
            for name in names:
                file = self._file(path, name)
                if file and file not in self._settling and len(self._settling) < USAGE_FILES_MAX:
                    self._settling[file] = loop.call_later(self._settle_s, self._settled, file)

    def _settled(self, path: Path) -> None:
        self._settling.pop(path, None)
        self._due.put_nowait(path)

    def _file(self, path: Path, name: str) -> Path | None:
        """Return the usage file called *name* that belongs to the watched *path*."""
        if self._is_folder(path):
            return path / name if _is_usage(name) else None
        return path if path.name == name else None

    # The looks.

    def _look_at_all(self, loop: asyncio.AbstractEventLoop) -> None:
        """Have every file read whose time, size or inode is new; forget those that went."""
        self._watch_folders(loop)
        there: dict[Path, Stamp] = {}
        for path in self._paths:
            there |= dict(_stamps(path) if self._is_folder(path) else _stamped([path]))
        for path in self._seen.keys() - there.keys():
            self._forget(path)
        for path, stamp in sorted(there.items(), key=lambda entry: entry[1]):
            if stamp != self._seen.get(path, _NEVER).stamp:
                self._due.put_nowait(path)

    async def _look(self, path: Path) -> None:
        """Read *path* and report it when it holds something new."""
        seen = self._seen.setdefault(path, _Seen())
        stamp = _stamp(path)  # before reading: what changes meanwhile is looked at again
        try:
            raw = read_own(path, USAGE_BYTES_MAX)
            digest = hashlib.blake2b(raw, digest_size=16).digest()
            new = digest != seen.digest
            usage = complete(parse(raw), path) if new else None
        except MissingSignal:
            self._forget(path)
            return
        except UnreadableSignal as error:
            if stamp != seen.stamp:
                log.warning("usage_unreadable", path=str(path), reason=str(error))
            self._unreadable.pop(path, None)  # the last one is the one seen last
            self._unreadable[path] = str(error)
            self._seen[path] = _Seen(stamp, seen.digest)
            return
        self._unreadable.pop(path, None)
        if usage is None or await self._reported(path, usage):
            self._seen[path] = _Seen(stamp, digest)

    async def _reported(self, path: Path, usage: Usage) -> bool:
        """Hand *usage* on; return whether it was taken, or never will be."""
        try:
            await self._on_usage(path, usage)
        except MemdError as error:
            log.warning("usage_not_taken", path=str(path), kind=error.kind)
            return not error.retry
        except Exception as error:  # noqa: BLE001  # a bug must not end the watch, nor repeat for ever
            log.error("usage_not_taken", path=str(path), trace=log.trace_of(error))
        return True

    def _forget(self, path: Path) -> None:
        self._seen.pop(path, None)
        self._unreadable.pop(path, None)


class _Handler:
    """What watchdog calls, in its own thread, with each event that passed the filter."""

    def __init__(self, announce: Callable[[tuple[str, ...]], None]) -> None:
        self._announce = announce

    def dispatch(self, event: FileSystemEvent) -> None:
        # A replaced file is the destination of a move; names only, since a folder behind a
        # link is announced under another path.
        paths = (event.src_path, event.dest_path)
        self._announce(tuple({Path(os.fsdecode(path)).name for path in paths if path}))


_NEVER = _Seen()


def _native() -> BaseObserver:
    from watchdog.observers import Observer

    return Observer()


def _events() -> list[type[FileSystemEvent]]:
    """Return the events that are let through: reading a file must not announce it again."""
    from watchdog import events

    return [
        events.FileCreatedEvent,
        events.FileModifiedEvent,
        events.FileMovedEvent,
        events.FileClosedEvent,
    ]


def _is_usage(name: str) -> bool:
    hidden = name.startswith(".")
    return name.endswith(".json") and not hidden and not name.endswith(CONSOLIDATED_SUFFIX)


def _stamps(folder: Path) -> Iterator[tuple[Path, Stamp]]:
    """Return the newest usage files in *folder* with their stamps."""
    try:
        with os.scandir(folder) as entries:
            names = [folder / entry.name for entry in entries if _is_usage(entry.name)]
    except OSError:
        return iter(())
    stamps = _stamped(names)
    return iter(heapq.nlargest(USAGE_FILES_MAX, stamps, key=lambda one: one[1]))


def _stamped(paths: Sequence[Path]) -> Iterator[tuple[Path, Stamp]]:
    for path in paths:
        stamp = _stamp(path)
        if stamp is not None:
            yield path, stamp


def _stamp(path: Path) -> Stamp | None:
    try:
        status = path.lstat()
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _folder(path: Path) -> Stamp | None:
    """Return what tells the folder at *path* from one that replaces it; None without one."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino, 0
