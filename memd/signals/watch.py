"""Watch usage files and report each new content.

watchdog reports most changes at once. A slow poll of modification times finds those that it misses:
on network folders, after a full event queue or a suspend. If the system has no watches left, there
is only the poll, more often. The kind of an event does not matter: the file is read, and reported
if its content is new. An unreadable file is logged once per change, without its content.

This is the only module that imports watchdog, whose thread calls ``_Handler.dispatch``.
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

_OBSERVER_DELAY_S = 0.2  # importing watchdog is slow and must not delay the daemon's start

OnUsage = Callable[[Path, Usage], Awaitable[None]]
Stamp = tuple[int, int, int]


@dataclass(slots=True)
class _FileState:
    """The last seen modification time, size and inode of a file, and the digest of its content."""

    stamp: Stamp | None = None
    digest: bytes | None = None


class UsageWatcher:
    """Watches usage files and folders of usage files; :meth:`run` never ends.

    *own* is memd's own folder, created if missing. *on_usage* is awaited for each change before
    the next file is read. It gets source and session from the file's name if the content has
    none. If it raises an error with ``retry``, the file is read again at the next poll.
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
        self._observer_of = observer or _default_observer
        self._observer: BaseObserver | None = None
        self._started = False
        self._watched: dict[Path, Stamp] = {}
        self._files: dict[Path, _FileState] = {}
        self._unreadable: dict[Path, str] = {}
        self._settling: dict[Path, asyncio.TimerHandle] = {}
        self._due: asyncio.Queue[Path | None] = asyncio.Queue()

    @property
    def unreadable(self) -> Mapping[Path, str]:
        """The files that could not be read last time, with the reason."""
        return self._unreadable

    @property
    def blind(self) -> bool:
        """Whether files are only polled, because watchdog is not (yet) running."""
        return self._observer is None

    async def run(self) -> None:
        """Watch until cancelled. Existing files are reported first."""
        loop = asyncio.get_running_loop()
        try:
            self._scan(loop)
            delay_s = min(self._poll_s, _OBSERVER_DELAY_S)
            loop.call_later(delay_s, self._due.put_nowait, None)  # None: scan
            while True:
                path = await self._due.get()
                if path is None:
                    self._start_observer()
                    self._scan(loop)
                    loop.call_later(self._pause_s(), self._due.put_nowait, None)
                else:
                    await self._read_file(path)
        finally:
            self._stop()

    def _pause_s(self) -> float:
        return min(self._poll_s, USAGE_BLIND_POLL_S) if self.blind else self._poll_s

    # Events of the system.

    def _start_observer(self) -> None:
        """Start watchdog at the first call; if it cannot start, poll more often."""
        if self._started:
            return
        self._started = True
        try:
            self._observer = self._observer_of()
            self._observer.start()
        except (OSError, ImportError) as error:
            self._fall_back(error)

    def _watch_folders(self, loop: asyncio.AbstractEventLoop) -> None:
        """Watch every existing folder; renew all watches if a folder appeared or was replaced."""
        self._make_own_folder()
        stamps = {folder: stamp for folder in self._folders() if (stamp := _folder(folder))}
        if self._observer is None or stamps == self._watched:
            return
        handler = cast("FileSystemEventHandler", _Handler(partial(self._on_event, loop)))
        self._observer.unschedule_all()
        self._watched = {}
        for folder, stamp in stamps.items():
            try:
                self._observer.schedule(handler, str(folder), event_filter=_events())
            except (FileNotFoundError, NotADirectoryError):
                continue  # removed meanwhile; the next poll looks again
            except OSError as error:  # no watch is left (ENOSPC, EMFILE)
                self._fall_back(error)
                return
            self._watched[folder] = stamp

    def _fall_back(self, error: Exception) -> None:
        log.warning("usage_watch_polls", reason=type(error).__name__, every_s=USAGE_BLIND_POLL_S)
        self._stop()

    def _stop(self) -> None:
        observer, self._observer = self._observer, None
        for handle in self._settling.values():
            handle.cancel()
        self._settling.clear()
        if observer is not None:
            observer.stop()
            with suppress(RuntimeError):  # it was never started
                observer.join(1.0)

    def _make_own_folder(self) -> None:
        if self._own is not None:
            try:
                self._own.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as error:
                log.warning("usage_folder_missing", path=str(self._own), errno=error.errno)

    def _folders(self) -> Iterator[Path]:
        for path in self._paths:
            yield path if self._is_folder(path) else path.parent

    def _is_folder(self, path: Path) -> bool:
        """Return whether *path* is a folder, or is missing and has a name without a suffix."""
        return path == self._own or path.is_dir() or not (path.suffix or path.exists())

    def _on_event(self, loop: asyncio.AbstractEventLoop, names: tuple[str, ...]) -> None:
        """Receive the names of changed files. Runs in watchdog's thread."""
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(self._settle, loop, names)

    def _settle(self, loop: asyncio.AbstractEventLoop, names: tuple[str, ...]) -> None:
        for path in self._paths:
            for name in names:
                file = self._file(path, name)
                if file and file not in self._settling and len(self._settling) < USAGE_FILES_MAX:
                    self._settling[file] = loop.call_later(self._settle_s, self._on_settled, file)

    def _on_settled(self, path: Path) -> None:
        self._settling.pop(path, None)
        self._due.put_nowait(path)

    def _file(self, path: Path, name: str) -> Path | None:
        """Return the usage file called *name* that belongs to the watched *path*."""
        if self._is_folder(path):
            return path / name if _is_usage(name) else None
        return path if path.name == name else None

    # Reading.

    def _scan(self, loop: asyncio.AbstractEventLoop) -> None:
        """Queue every file whose time, size or inode changed; forget removed files."""
        self._watch_folders(loop)
        present: dict[Path, Stamp] = {}
        for path in self._paths:
            present |= dict(_stamps(path) if self._is_folder(path) else _with_stamps([path]))
        for path in self._files.keys() - present.keys():
            self._forget(path)
        for path, stamp in sorted(present.items(), key=lambda entry: entry[1]):
            if stamp != self._files.get(path, _NEVER_SEEN).stamp:
                self._due.put_nowait(path)

    async def _read_file(self, path: Path) -> None:
        """Read *path* and report it if its content is new."""
        state = self._files.setdefault(path, _FileState())
        stamp = _stamp(path)  # before reading, so that a change during it is read again
        try:
            raw = read_own(path, USAGE_BYTES_MAX)
            digest = hashlib.blake2b(raw, digest_size=16).digest()
            is_new = digest != state.digest
            usage = complete(parse(raw), path) if is_new else None
        except MissingSignal:
            self._forget(path)
            return
        except UnreadableSignal as error:
            if stamp != state.stamp:
                log.warning("usage_unreadable", path=str(path), reason=str(error))
            self._unreadable.pop(path, None)  # moves the file to the end: the last one is newest
            self._unreadable[path] = str(error)
            self._files[path] = _FileState(stamp, state.digest)
            return
        self._unreadable.pop(path, None)
        if usage is None or await self._report(path, usage):
            self._files[path] = _FileState(stamp, digest)

    async def _report(self, path: Path, usage: Usage) -> bool:
        """Call *on_usage*; return False if the file should be read again later."""
        try:
            await self._on_usage(path, usage)
        except MemdError as error:
            log.warning("usage_not_taken", path=str(path), kind=error.kind)
            return not error.retry
        except Exception as error:  # noqa: BLE001  # a bug must not end the watch
            log.error("usage_not_taken", path=str(path), trace=log.trace_of(error))
        return True

    def _forget(self, path: Path) -> None:
        self._files.pop(path, None)
        self._unreadable.pop(path, None)


class _Handler:
    """The handler that watchdog calls in its own thread, with each event of ``_events``."""

    def __init__(self, on_names: Callable[[tuple[str, ...]], None]) -> None:
        self._on_names = on_names

    def dispatch(self, event: FileSystemEvent) -> None:
        # Both paths, since a file that is replaced is the destination of a move. Only names, since
        # watchdog reports a folder behind a link under another path.
        paths = (event.src_path, event.dest_path)
        self._on_names(tuple({Path(os.fsdecode(path)).name for path in paths if path}))


_NEVER_SEEN = _FileState()


def _default_observer() -> BaseObserver:
    from watchdog.observers import Observer

    return Observer()


def _events() -> list[type[FileSystemEvent]]:
    """Return the event classes to handle: not those of opening and reading, which memd causes."""
    from watchdog import events

    return [
        events.FileCreatedEvent,
        events.FileModifiedEvent,
        events.FileMovedEvent,
        events.FileClosedEvent,
    ]


def _is_usage(name: str) -> bool:
    is_hidden = name.startswith(".")
    return name.endswith(".json") and not is_hidden and not name.endswith(CONSOLIDATED_SUFFIX)


def _stamps(folder: Path) -> Iterator[tuple[Path, Stamp]]:
    """Return the USAGE_FILES_MAX newest usage files in *folder* with their stamps."""
    try:
        with os.scandir(folder) as entries:
            names = [folder / entry.name for entry in entries if _is_usage(entry.name)]
    except OSError:
        return iter(())
    stamps = _with_stamps(names)
    return iter(heapq.nlargest(USAGE_FILES_MAX, stamps, key=lambda entry: entry[1]))


def _with_stamps(paths: Sequence[Path]) -> Iterator[tuple[Path, Stamp]]:
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
    """Return device and inode of the folder at *path*, None if there is none."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino, 0
