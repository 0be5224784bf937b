"""The daemon: has the house built, runs until told, stops in reverse.

One loop, one TaskGroup. A task that dies brings the daemon down; the service
manager starts it again, and recovery is the normal start. SIGTERM and SIGINT stop
it within two seconds, SIGHUP reads the settings again.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memd.base import log
from memd.base.clock import Clock, SystemClock
from memd.base.errors import MemdError, MemoryConfigError, UnsafePathError, unusable
from memd.base.lock import lock_store
from memd.base.paths import DATA_DIR, Paths
from memd.serve import notify, socket_file
from memd.serve.authority import Authority, Denials, ensure_operator_key
from memd.serve.dispatch import Dispatch
from memd.serve.metrics import Metrics
from memd.serve.server import Server
from memd.serve.status import System

if TYPE_CHECKING:
    from memd.domain.settings.reload import Reloaded
    from memd.domain.settings.settings import Settings
    from memd.serve.rooms import Rooms

LOOK_SECONDS = 2.0
EXIT_OK, EXIT_REFUSED, EXIT_DIED, EXIT_CONFIG = 0, 1, 70, 78

Work = Callable[[], Coroutine[Any, Any, Any]]
"""What runs beside the server until the daemon stops."""

Build = Callable[["Settings", Paths, Clock, AsyncExitStack], Awaitable["Rooms"]]
"""Builds the rooms; what must be closed at the end goes onto the stack."""


def serve(paths: Paths, settings: Settings | None = None, build: Build | None = None) -> int:
    """Run the daemon in this process and return its exit code; what ``memd serve`` does.

    78 is a configuration that cannot be read, 1 anything else that keeps it from
    running, such as another daemon; 70 is a task that died, after which the service
    manager starts it again.
    """
    code = _served(paths, settings, build)
    with suppress(ValueError):  # not in the main thread: then signals are somebody else's
        for number in _STOPPING:
            signal.signal(number, signal.SIG_IGN)  # told twice, it ends as if told once
    threads = sys.modules.get("memd.embedding.model_thread")
    if threads is not None and threads.left_behind():
        # It is inside the model's library, which aborts a process that ends around it.
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    return code


def _served(paths: Paths, settings: Settings | None, build: Build | None) -> int:
    os.umask(0o077)
    try:
        chosen = settings if settings is not None else _load(paths)
        _configure_log(chosen)
        asyncio.run(run(chosen, paths, signals=True, build=build, ready=_collecting))
    except MemoryConfigError as error:
        return _leave(error, EXIT_CONFIG)
    except MemdError as error:
        return _leave(error, EXIT_REFUSED)
    except OSError as error:
        if error.filename is None:
            raise
        return _leave(unusable(error), EXIT_REFUSED)
    except BaseExceptionGroup as group:
        for died in _leaves(group):
            log.error("a task died", trace=log.trace_of(died))
        return EXIT_DIED
    return EXIT_OK


async def run(
    settings: Settings,
    paths: Paths,
    *,
    clock: Clock | None = None,
    ready: Callable[[], None] | None = None,
    build: Build | None = None,
    signals: bool = False,
) -> None:
    """Serve until stopped: by ``system.shutdown``, by a signal if *signals*, or by being cancelled.

    *ready* is called when the socket answers. Raises AlreadyRunningError,
    UnsafePathError and what the rooms raise when they cannot be built; an
    ExceptionGroup when a task dies.
    """
    clock = clock or SystemClock()
    paths = _located(paths, settings)
    stop = asyncio.Event()
    if signals:
        _listen(stop)
    async with AsyncExitStack() as stack:
        sock = _socket(paths, stack)
        rooms = await (build or _built)(settings, paths, clock, stack)

        reload = partial(_reload, settings, paths, clock)
        metrics = Metrics()
        system = System(rooms, metrics, clock, stop.set, reload)
        denials = Denials(rooms.audit.refused)
        stack.push_async_callback(denials.flush)
        authority = Authority(rooms.clients, ensure_operator_key(paths.operator_key), denials.note)
        dispatch = Dispatch(rooms, system, clock, metrics, authority, settings.daemon.secrets)
        stack.callback(dispatch.offload.close)
        system.server = server = Server(sock, dispatch, metrics, clock)
        rooms.clients.on_revoke(server.revoke)
        rooms.rhythm.heed(dispatch.idle_s)
        if signals:
            _listen_for_reload(stack, reload)
        listening = partial(_keep_socket, server, sock, paths.socket)
        background: tuple[Work, ...] = (*rooms.background, denials.run, listening)

        def answering() -> None:
            notify.ready()
            if ready is not None:
                ready()
            log.info("ready", pid=os.getpid(), profile=paths.profile)

        await _serve(server, background, stop, answering)


def _located(paths: Paths, settings: Settings) -> Paths:
    """Return where this daemon keeps what is remembered, making the folder that a setting names.

    Raises MemoryConfigError when it cannot be made or is not ours alone.
    """
    folder = settings.memory.storage.data_dir
    if folder is None:
        return paths
    moved = paths.keeping_in(folder)
    try:
        socket_file.ensure_private_directory(moved.data_dir)
    except (OSError, UnsafePathError) as error:
        why = error.message if isinstance(error, UnsafePathError) else error.strerror
        key = ".".join(DATA_DIR)
        raise MemoryConfigError(
            f"{key} = {folder!r} cannot be used: {why}", field=key, hint="choose a folder of yours"
        ) from error
    if moved.data_dir != paths.data_dir and paths.database.exists():
        log.warning("memories at the old place are not read", file=str(paths.database),
                    data_dir=str(moved.data_dir))  # fmt: skip
    return moved


def _collecting() -> None:
    """Look for garbage from now on, but never among what the start has made: it stays."""
    gc.freeze()
    gc.enable()


def _socket(paths: Paths, stack: AsyncExitStack) -> socket.socket:
    """Take both locks and return the listening socket; *stack* lets go of all three."""
    for directory in (paths.data_dir, paths.socket.parent):
        socket_file.ensure_private_directory(directory)
    stack.callback(lock_store(paths.lock, paths.database).close)
    stack.callback(os.close, socket_file.lock_socket(paths.socket))
    passed = socket_file.inherit_socket()
    if passed is not None:
        stack.callback(passed.close)
        return passed
    sock = socket_file.bind(paths.socket)
    stack.callback(socket_file.remove, paths.socket, socket_file.file_identity(paths.socket))
    stack.callback(sock.close)
    return sock


async def _keep_socket(server: Server, sock: socket.socket, path: Path) -> None:
    """Listen at *path* again when somebody has deleted the socket there, or its folder."""
    if sock.getsockname() == os.fspath(path):
        return  # bound there by systemd or launchd: theirs to make; ours was renamed to it
    ours = socket_file.file_identity(path)
    async with asyncio.TaskGroup() as group:
        try:
            while True:
                await asyncio.sleep(LOOK_SECONDS)
                if socket_file.file_identity(path) is not None:
                    continue
                try:
                    socket_file.ensure_private_directory(path.parent)
                    again = socket_file.bind(path)
                except (OSError, MemdError) as error:
                    log.error("the socket is gone", why=type(error).__name__)
                    continue
                ours = socket_file.file_identity(path)
                log.warning("the socket was deleted; listening again", path=str(path))
                group.create_task(server.serve(again))
        finally:
            socket_file.remove(path, ours)


async def _serve(
    server: Server,
    background: Sequence[Work],
    stop: asyncio.Event,
    answering: Callable[[], None],
) -> None:
    """Run *server* and *background* until *stop*; *answering* is called as soon as they run."""
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(server.serve(), name="server"),
            group.create_task(notify.feed_watchdog(), name="watchdog"),
            *(group.create_task(work()) for work in background),
        ]
        answering()
        try:
            await stop.wait()
        finally:
            notify.stopping()
            for task in tasks:
                task.cancel()
            await server.stop()
    log.info("stopped")


async def _built(settings: Settings, paths: Paths, clock: Clock, stack: AsyncExitStack) -> Rooms:
    from memd.serve.rooms import rooms  # a test's rooms do without all that it loads

    return await rooms(settings, paths, clock, stack)


def _load(paths: Paths) -> Settings:
    """Return the settings of a profile; what was accepted but overruled goes to the log."""
    import warnings

    from memd.base.settings import find, load
    from memd.domain.settings.settings import Settings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        settings = load(Settings, find(paths.config_file), os.environ)
    for warning in caught:
        log.warning("setting overruled", what=str(warning.message))
    return settings


async def _reload(started: Settings, paths: Paths, clock: Clock) -> Reloaded:
    """Read the settings again; raises MemoryConfigError, and those in force stay in force."""
    from memd.domain.settings.reload import compared

    notify.reloading(clock)
    try:
        now = _load(paths)
        _configure_log(now)
    finally:
        notify.ready()
    difference = compared(started, now)
    log.info("settings read again", taken=difference.taken, waiting=difference.waiting)
    return difference


def _configure_log(settings: Settings) -> None:
    """Log as the settings say; raises MemoryConfigError for a file that cannot be written."""
    daemon = settings.daemon
    if daemon.log_file is None:
        log.configure(level=daemon.log_level)
        return
    file = log.LogFile(
        Path(daemon.log_file).expanduser(), daemon.log_file_bytes, daemon.log_files_kept
    )
    file.check()
    try:
        log.configure(level=daemon.log_level, file=file)
    except OSError as error:
        raise file.refusal(str(error.strerror)) from error


_STOPPING = (signal.SIGTERM, signal.SIGINT)


def _listen(stop: asyncio.Event) -> None:
    """Let SIGTERM and SIGINT stop the daemon, from before it is built until its process ends."""
    loop = asyncio.get_running_loop()

    def on_stop(_number: int, _frame: object) -> None:
        with suppress(RuntimeError):  # the loop is closed: it has stopped
            loop.call_soon_threadsafe(stop.set)

    for number in _STOPPING:  # the loop's own handlers end with it, too early for a second signal
        signal.signal(number, on_stop)


def _listen_for_reload(stack: AsyncExitStack, reload: Callable[[], Awaitable[object]]) -> None:
    """Let SIGHUP reload the daemon."""
    loop = asyncio.get_running_loop()
    reloading: set[asyncio.Task[None]] = set()

    async def reload_or_say() -> None:
        try:
            await reload()
        except MemdError as error:
            log.error("settings not read", why=error.message)

    def on_hangup() -> None:
        task = loop.create_task(reload_or_say())
        reloading.add(task)
        task.add_done_callback(reloading.discard)

    loop.add_signal_handler(signal.SIGHUP, on_hangup)
    stack.callback(loop.remove_signal_handler, signal.SIGHUP)


def _leave(error: MemdError, code: int) -> int:
    with suppress(OSError):
        sys.stderr.write(f"memd: {error.message}\n")
        if error.hint:
            sys.stderr.write(f"  {error.hint}\n")
    return code


def _leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    errors: list[BaseException] = []
    for error in group.exceptions:
        errors.extend(_leaves(error) if isinstance(error, BaseExceptionGroup) else [error])
    return errors
