"""The daemon: builds the rooms, serves until it is stopped, and closes them in reverse order.

All tasks are in one TaskGroup. A task that fails ends the daemon; the service manager starts it
again, and every start recovers. SIGTERM and SIGINT stop it within two seconds, SIGHUP reloads
the settings.
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
from memd.base.errors import (
    AlreadyRunningError,
    MemdError,
    MemoryConfigError,
    UnsafePathError,
    unusable,
)
from memd.base.finish import finish
from memd.base.lock import lock_store
from memd.base.paths import DATA_DIR, Paths
from memd.serve import notify, socket_file
from memd.serve.authority import Authority, Denials, ensure_operator_key
from memd.serve.dispatch import Dispatch
from memd.serve.metrics import Metrics
from memd.serve.server import Server
from memd.serve.status import System

if TYPE_CHECKING:
    from memd.domain.settings.reload import ReloadResult
    from memd.domain.settings.settings import Settings
    from memd.serve.rooms import DaemonRooms

SOCKET_CHECK_SECONDS = 2.0  # between two checks whether the socket still exists
EXIT_OK, EXIT_REFUSED, EXIT_DIED, EXIT_CONFIG = 0, 1, 70, 78

Work = Callable[[], Coroutine[Any, Any, Any]]
"""A background task, which runs until the daemon stops."""

Build = Callable[["Settings", Paths, Clock, AsyncExitStack], Awaitable["DaemonRooms"]]
"""Builds the rooms; everything to close at the end is pushed onto the stack."""


def serve(paths: Paths) -> int:
    """Run the daemon in this process (``memd serve``) and return its exit code.

    78: the configuration is invalid. 1: it cannot start for another reason, such as another
    daemon. 70: a task failed; the service manager starts the daemon again.
    """
    code = _run_to_exit_code(paths)
    with suppress(ValueError):  # raised if this is not the main thread
        for number in _STOP_SIGNALS:
            signal.signal(number, signal.SIG_IGN)  # a second signal must not change the exit code
    threads = sys.modules.get("memd.embedding.model_thread")
    if threads is not None and threads.has_live_threads():
        # A thread is still inside the model's library; an orderly exit would abort the process.
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    return code


def _run_to_exit_code(paths: Paths) -> int:
    os.umask(0o077)
    try:
        settings = _load(paths)
        _configure_log(settings)
        asyncio.run(run(settings, paths, signals=True, ready=_enable_gc))
    except MemoryConfigError as error:
        return _report_failure(error, EXIT_CONFIG)
    except MemdError as error:
        return _report_failure(error, EXIT_REFUSED)
    except OSError as error:
        if error.filename is None:
            raise
        return _report_failure(unusable(error), EXIT_REFUSED)
    except BaseExceptionGroup as group:
        for cause in _flatten(group):
            log.error("a task died", trace=log.trace_of(cause))
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
    """Serve until stopped: by ``system.shutdown``, by a signal if *signals*, or by cancellation.

    *ready* is called when the socket answers. Raises AlreadyRunningError, UnsafePathError
    and the errors of building the rooms; an ExceptionGroup when a task dies.
    """
    clock = clock or SystemClock()
    paths = _resolve_data_dir(paths, settings)
    stop = asyncio.Event()
    if signals:
        _stop_on_signals(stop)
    async with AsyncExitStack() as stack:
        sock, operator_key = _open_socket(paths, stack)
        rooms = await (build or _build_rooms)(settings, paths, clock, stack)

        reload = partial(_reload, settings, paths, clock)
        metrics = Metrics()
        system = System(rooms, metrics, clock, stop.set, reload)
        denials = Denials(rooms.audit.record_refused)
        stack.push_async_callback(denials.flush)
        authority = Authority(rooms.clients, operator_key, denials.note)
        dispatch = Dispatch(rooms, system, clock, metrics, authority, settings.daemon.secrets)
        stack.callback(dispatch.large_work.close)
        system.server = server = Server(sock, dispatch, metrics, clock)
        rooms.clients.on_revoke = server.revoke
        rooms.scheduler.watch_idle(dispatch.idle_s)
        if signals:
            _reload_on_hangup(stack, reload)
        keep_socket = partial(_keep_socket, server, sock, paths.socket)
        background: tuple[Work, ...] = (*rooms.background, denials.run, keep_socket)

        def on_ready() -> None:
            notify.ready()
            if ready is not None:
                ready()
            log.info("ready", pid=os.getpid(), profile=paths.profile)

        await _serve(server, background, stop, on_ready)


def _resolve_data_dir(paths: Paths, settings: Settings) -> Paths:
    """Return *paths* with the data folder of the settings, which is created if missing.

    Raises MemoryConfigError when it cannot be created or is not ours alone.
    """
    folder = settings.memory.storage.data_dir
    if folder is None:
        return paths
    moved = paths.with_data_dir(folder)
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


def _enable_gc() -> None:
    """Enable garbage collection, except for the objects of the start, which are never freed."""
    gc.freeze()
    gc.enable()


def _open_socket(paths: Paths, stack: AsyncExitStack) -> tuple[socket.socket, str | None]:
    """Take both locks and return the listening socket and the operator key; *stack* releases all.

    The key is made before the socket: the owner's commands look for it when the socket exists.
    """
    for directory in (paths.data_dir, paths.socket.parent):
        socket_file.ensure_private_directory(directory)
    try:
        stack.callback(lock_store(paths.lock, paths.database).close)
        stack.callback(os.close, socket_file.lock_socket(paths.socket))
        operator_key = ensure_operator_key(paths.operator_key)
        inherited = socket_file.inherit_socket()
        if inherited is not None:
            stack.callback(inherited.close)
            return inherited, operator_key
        sock = socket_file.bind(paths.socket)
    except AlreadyRunningError as error:
        error.hint = (
            f"stop it (Ctrl-C where it runs, or {paths.stop_command}), "
            "or give this one another --profile or MEMD_HOME"
        )
        raise
    stack.callback(socket_file.remove, paths.socket, socket_file.file_identity(paths.socket))
    stack.callback(sock.close)
    return sock, operator_key


async def _keep_socket(server: Server, sock: socket.socket, path: Path) -> None:
    """Bind *path* again whenever the socket there, or its folder, has been deleted."""
    # Our own socket was bound under a temporary name; one with this name is the service manager's.
    if sock.getsockname() == os.fspath(path):
        return
    ours = socket_file.file_identity(path)
    async with asyncio.TaskGroup() as group:
        try:
            while True:
                await asyncio.sleep(SOCKET_CHECK_SECONDS)
                if socket_file.file_identity(path) is not None:
                    continue
                try:
                    socket_file.ensure_private_directory(path.parent)
                    replacement = socket_file.bind(path)
                except (OSError, MemdError) as error:
                    log.error("the socket is gone", why=type(error).__name__)
                    continue
                ours = socket_file.file_identity(path)
                log.warning("the socket was deleted; listening again", path=str(path))
                group.create_task(server.serve(replacement))
        finally:
            socket_file.remove(path, ours)


async def _serve(
    server: Server,
    background: Sequence[Work],
    stop: asyncio.Event,
    on_ready: Callable[[], None],
) -> None:
    """Run *server* and *background* until *stop*; call *on_ready* once they run."""
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(server.serve(), name="server"),
            group.create_task(notify.feed_watchdog(), name="watchdog"),
            *(group.create_task(work()) for work in background),
        ]
        on_ready()
        try:
            await stop.wait()
        finally:
            notify.stopping()
            for task in tasks:
                task.cancel()
            await finish(server.stop)
    log.info("stopped")


async def _build_rooms(
    settings: Settings, paths: Paths, clock: Clock, stack: AsyncExitStack
) -> DaemonRooms:
    from memd.serve.rooms import rooms  # late: tests that pass their own *build* do not need it

    return await rooms(settings, paths, clock, stack)


def _load(paths: Paths) -> Settings:
    """Return the settings of a profile; log warnings about settings without effect."""
    import warnings

    from memd.base.settings import find, load
    from memd.domain.settings.settings import Settings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        settings = load(Settings, find(paths.config_file), os.environ)
    for warning in caught:
        log.warning("setting overruled", what=str(warning.message))
    return settings


async def _reload(started: Settings, paths: Paths, clock: Clock) -> ReloadResult:
    """Reload the settings. If it raises MemoryConfigError, the current ones remain in force."""
    from memd.domain.settings.reload import compare_settings

    notify.reloading(clock)
    try:
        now = _load(paths)
        _configure_log(now)
    finally:
        notify.ready()
    difference = compare_settings(started, now)
    log.info("settings read again", taken=difference.taken, waiting=difference.waiting)
    return difference


def _configure_log(settings: Settings) -> None:
    """Configure the log. Raises MemoryConfigError for a file that cannot be written."""
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


_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def _stop_on_signals(stop: asyncio.Event) -> None:
    """Stop on SIGTERM and SIGINT, from before the rooms are built until the process ends."""
    loop = asyncio.get_running_loop()

    def on_stop(_number: int, _frame: object) -> None:
        with suppress(RuntimeError):  # the loop is closed: it has stopped
            loop.call_soon_threadsafe(stop.set)

    # Not the loop's own handlers: they end with the loop, too early for a second signal.
    for number in _STOP_SIGNALS:
        signal.signal(number, on_stop)


def _reload_on_hangup(stack: AsyncExitStack, reload: Callable[[], Awaitable[object]]) -> None:
    """Reload the settings on SIGHUP."""
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


def _report_failure(error: MemdError, code: int) -> int:
    with suppress(OSError):
        sys.stderr.write(f"memd: {error.message}\n")
        if error.hint:
            sys.stderr.write(f"      {error.hint}\n")
    return code


def _flatten(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    errors: list[BaseException] = []
    for error in group.exceptions:
        errors.extend(_flatten(error) if isinstance(error, BaseExceptionGroup) else [error])
    return errors
