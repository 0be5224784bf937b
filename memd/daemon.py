"""The daemon: builds every room, hands each what it needs, runs until told, stops in reverse.

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
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from memd.base import log
from memd.base.clock import Clock, SystemClock
from memd.base.errors import MemdError, MemoryConfigError
from memd.base.later import later
from memd.base.lock import lock
from memd.base.paths import Paths
from memd.serve import notify, socket_file
from memd.serve.authority import Authority, operators_key
from memd.serve.denials import Denials
from memd.serve.dispatch import Dispatch
from memd.serve.handlers import handlers
from memd.serve.metrics import Metrics
from memd.serve.rooms import Rooms
from memd.serve.server import Server
from memd.serve.status import System

if TYPE_CHECKING:
    from memd.backends.assembly import Assembly
    from memd.ingest.ingest import Ingest
    from memd.inject.files import Files
    from memd.inject.inject import Inject
    from memd.inject.synthesis import Synthesis
    from memd.learn.learn import Learn
    from memd.model.settings import Settings
    from memd.org.clients import Clients
    from memd.org.owner import Owner
    from memd.org.review import Review
    from memd.store.audit import Audit

EXIT_OK, EXIT_REFUSED, EXIT_DIED, EXIT_CONFIG = 0, 1, 70, 78

Work = Callable[[], Coroutine[Any, Any, None]]
"""What runs beside the server until the daemon stops."""

Build = Callable[["Settings", Paths, Clock, AsyncExitStack], Awaitable[Rooms]]
"""Builds the rooms; what must be closed at the end goes onto the stack."""


def serve(paths: Paths, settings: Settings | None = None, build: Build | None = None) -> int:
    """Run the daemon in this process and return its exit code; what ``memd serve`` does.

    78 is a configuration that cannot be read, 1 anything else that keeps it from
    running, such as another daemon; 70 is a task that died, after which the service
    manager starts it again.
    """
    os.umask(0o077)
    try:
        chosen = settings if settings is not None else _load(paths)
        log.configure(level=_level(chosen))
        asyncio.run(run(chosen, paths, signals=True, build=build, ready=_collecting))
    except MemoryConfigError as error:
        return _leave(error, EXIT_CONFIG)
    except MemdError as error:
        return _leave(error, EXIT_REFUSED)
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
    stop = asyncio.Event()
    async with AsyncExitStack() as stack:
        sock = _socket(paths, stack)
        rooms = await (build or _rooms)(settings, paths, clock, stack)

        async def reload() -> None:
            notify.reloading(clock)
            log.configure(level=_level(_load(paths)))
            log.info("settings read again")
            notify.ready()

        metrics = Metrics()
        system = System(rooms, metrics, clock, stop.set, reload)
        denials = Denials(rooms.audit.refused)
        stack.push_async_callback(denials.flush)
        authority = Authority(rooms.clients, operators_key(paths.operator_key), denials.note)
        dispatch = Dispatch(
            handlers(rooms, system), clock, metrics, authority, settings.daemon.secrets
        )
        system.traffic = server = Server(sock, dispatch, metrics, clock)
        rooms.clients.heed(server.disown)
        rooms.rhythm.heed(dispatch.quiet_s)
        if signals:
            _listen(stack, stop, reload)
        background = (*rooms.background, denials.run)
        await _serve(server, background, stop, ready or (lambda: None), paths.profile)


def _collecting() -> None:
    """Look for garbage from now on, but never among what the start has made: it stays."""
    gc.freeze()
    gc.enable()


def _socket(paths: Paths, stack: AsyncExitStack) -> socket.socket:
    """Take the profile's lock and return its listening socket; *stack* lets go of both."""
    for directory in (paths.data_dir, paths.socket.parent):
        socket_file.own_directory(directory)
    stack.callback(os.close, lock(paths.lock))
    passed = socket_file.inherited()
    if passed is not None:
        stack.callback(passed.close)
        return passed
    sock = socket_file.bind(paths.socket)
    stack.callback(socket_file.remove, paths.socket, socket_file.identity(paths.socket))
    stack.callback(sock.close)
    return sock


async def _serve(
    server: Server,
    background: Sequence[Work],
    stop: asyncio.Event,
    ready: Callable[[], None],
    profile: str,
) -> None:
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(server.serve(), name="server"),
            group.create_task(notify.feed_watchdog(), name="watchdog"),
            *(group.create_task(work()) for work in background),
        ]
        notify.ready()
        ready()
        log.info("ready", pid=os.getpid(), profile=profile)
        try:
            await stop.wait()
        finally:
            notify.stopping()
            for task in tasks:
                task.cancel()
            await server.stop()
    log.info("stopped")


class _Access(NamedTuple):
    """The rooms of who may do what."""

    audit: Audit
    clients: Clients
    owner: Owner
    review: Review


class _Prompts:
    """The rooms that put memories into prompts; each is made when it is first asked for."""

    def __init__(self, settings: Settings, house: Assembly, ingest: Ingest) -> None:
        self._settings = settings
        self._house = house
        self._ingest = ingest
        self.learn = later(self._learn)
        self.synthesis = later(self._synthesis)

    def _learn(self) -> Learn:
        from memd.learn.learn import Learn

        house, settings = self._house, self._settings
        level, secrets = settings.memory.level, settings.daemon.secrets
        return Learn(house.db, house.clock, house.ids, level, secrets)

    def _synthesis(self) -> Synthesis:
        from memd.inject.synthesis import Synthesis

        house = self._house
        return Synthesis(
            house.db, house.clock, house.recall, self.learn, house.sessions, house.graph
        )

    def inject(self) -> Inject:
        from memd.inject.hierarchical import over
        from memd.inject.inject import Inject
        from memd.inject.own import Rooms as Remembered
        from memd.inject.rerank_cache import RerankerCache
        from memd.inject.reranker import CrossEncoderReranker

        house = self._house
        scorer, retrieval = house.recall.scorer, self._settings.memory.retrieval
        cache = RerankerCache(retrieval.rerank_cache_ttl_seconds)
        return Inject(
            rooms=Remembered(house.recall, self._ingest, house.archive),
            config=retrieval,
            clock=house.clock,
            editing=self._settings.memory.self_editing,
            org=house.org,
            synthesizer=self.synthesis,
            reranker=None if scorer is None else CrossEncoderReranker(scorer, cache=cache),
            retriever=partial(over, clock=house.clock),
        )

    def files(self) -> Files:
        from memd.inject.files import Files

        house = self._house
        return Files(house.db, self._ingest, house.recall, house.archive, house.clock)


async def _rooms(settings: Settings, paths: Paths, clock: Clock, stack: AsyncExitStack) -> Rooms:
    """Build the rooms, from the store upwards; *stack* closes them in reverse."""
    from memd.backends.assembly import assembled
    from memd.encode.cross_encoder import RerankerThread
    from memd.encode.embed import EmbedderThread
    from memd.serve.events import Events
    from memd.serve.rooms import Rooms
    from memd.sleep.exports import exporting
    from memd.sleep.naps import Naps
    from memd.sleep.sleep import sleeping
    from memd.sleep.switch import Switch

    idle_ms = settings.daemon.model_idle_minutes * 60_000
    embedder = EmbedderThread(paths.model_dir, idle_ms=idle_ms)
    stack.push_async_callback(embedder.close)
    scorer = RerankerThread(paths.reranker_dir, idle_ms=idle_ms)
    stack.push_async_callback(scorer.close)
    house = await assembled(settings, paths.database, embedder, paths.model_dir, clock, stack)
    house = replace(house, recall=replace(house.recall, scorer=scorer))
    access = await _access(house, paths, stack)
    events = Events()
    naps = Naps(house, settings, paths.usage_dir, emit=events.emit)
    wiki_dir = paths.data_dir / ("wiki" + paths.database.stem.removeprefix("memd"))
    wiki = exporting(house, settings.memory.consolidation.wiki_export, wiki_dir)
    enabled = Switch(settings, paths.config_file, os.environ)
    sleep = sleeping(house, settings, emit=wiki.hearing(events.emit), enabled=enabled)

    def quiet_s() -> float:
        return sleep.rhythm.quiet_s()  # which is told later whom to ask

    house.learning.quiet_s = quiet_s
    ingest = replace(
        house.ingest,
        emit=house.learning.hearing(events.emit),
        advises=settings.memory.retrieval.non_inferable_only,
    )
    prompts = _Prompts(settings, house, ingest)
    return Rooms(
        ingest=ingest,
        recall=house.recall,
        archive=house.archive,
        archival=house.archival,
        upkeep=house.upkeep,
        agents=house.agents,
        audit=access.audit,
        clients=access.clients,
        owner=access.owner,
        review=access.review,
        sessions=house.sessions,
        sharing=house.sharing,
        usage=naps,
        naps=naps,
        events=events,
        embedder=embedder,
        reranker=scorer,
        graph=house.graph,
        org=house.org,
        files=later(prompts.files),
        inject=later(prompts.inject),
        learn=prompts.learn,
        quarantine=house.quarantine,
        synthesis=prompts.synthesis,
        wiki=wiki,
        sleep=sleep.night,
        rhythm=sleep.rhythm,
        background=(
            house.queue.run,
            house.rhythm,
            sleep.rhythm.run,
            naps.run,
            wiki.run,
            house.learning.run,
            house.org.past.run,
            access.audit.run,
        ),
    )


async def _access(house: Assembly, paths: Paths, stack: AsyncExitStack) -> _Access:
    """Build the rooms of who may do what; the audit's head is noted when *stack* unwinds."""
    from memd.org.clients import Clients
    from memd.org.owner import Owner
    from memd.org.review import Review
    from memd.store.audit import Audit

    audit = Audit(house.db, house.clock, paths.anchors)
    stack.push_async_callback(audit.try_to_anchor)
    clients = Clients(house.db, house.clock, paths.keys_dir)
    await clients.load()
    await house.org.past.begin()
    owner = Owner(house.db, house.clock)
    return _Access(audit, clients, owner, Review(house.org, owner))


def _load(paths: Paths) -> Settings:
    """Return the settings of a profile; what was accepted but overruled goes to the log."""
    import warnings

    from memd.base.settings import find, load
    from memd.model.settings import Settings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        settings = load(Settings, find(paths.config_file), os.environ)
    for warning in caught:
        log.warning("setting overruled", what=str(warning.message))
    return settings


def _level(settings: Settings) -> str:
    return str(settings.daemon.log_level)


def _listen(
    stack: AsyncExitStack, stop: asyncio.Event, reload: Callable[[], Awaitable[None]]
) -> None:
    """Let SIGTERM and SIGINT stop the daemon and SIGHUP reload it."""
    loop = asyncio.get_running_loop()
    reloading: set[asyncio.Task[None]] = set()

    async def reload_or_say() -> None:
        try:
            await reload()
        except MemdError as error:
            log.error("settings not read", why=error.message)
            notify.ready()

    def on_hangup() -> None:
        task = loop.create_task(reload_or_say())
        reloading.add(task)
        task.add_done_callback(reloading.discard)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
        stack.callback(loop.remove_signal_handler, number)
    loop.add_signal_handler(signal.SIGHUP, on_hangup)
    stack.callback(loop.remove_signal_handler, signal.SIGHUP)


def _leave(error: MemdError, code: int) -> int:
    with suppress(OSError):
        sys.stderr.write(f"memd: {error.message}\n")
        if error.hint:
            sys.stderr.write(f"  {error.hint}\n")
    return code


def _leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    found: list[BaseException] = []
    for error in group.exceptions:
        found.extend(_leaves(error) if isinstance(error, BaseExceptionGroup) else [error])
    return found
