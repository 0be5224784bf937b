"""The daemon's rooms over a real store, with calls that a test can hold back."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.fakes import HashEmbedder
from support.store import empty_store

from memd.base.clock import Clock, SystemClock
from memd.base.paths import Paths
from memd.domain.caller import OWNERS_COMMANDS, Caller
from memd.domain.settings.reload import ReloadResult
from memd.domain.settings.settings import Settings
from memd.embedding.embed import SwitchableEmbedder
from memd.serve.authority import Authority, Credentials, Denials
from memd.serve.dispatch import Dispatch
from memd.serve.events import Link, Listener
from memd.serve.metrics import Metrics
from memd.serve.rooms import DaemonRooms
from memd.serve.rooms import rooms as daemon_rooms
from memd.serve.status import System
from memd.store.file.database import Database

GATED = ("ingest", "recall", "archive", "trash", "moving")
"""What a request meets first."""
OPERATOR = Credentials(OWNERS_COMMANDS)
"""Of the owner's own commands, which may call everything."""


async def built(
    settings: Settings, paths: Paths, clock: Clock, stack: AsyncExitStack
) -> DaemonRooms:
    """Build the daemon's rooms; models in the folder of models embed by hash.

    A new store is a copy of an empty one: to make its tables is most of what a start takes.
    """
    if not paths.database.exists():
        paths.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        paths.database.write_bytes(empty_store())
        paths.database.chmod(0o600)
    rooms = await daemon_rooms(settings, paths, clock, stack)
    assert isinstance(rooms.embedder, SwitchableEmbedder)
    assert not rooms.embedder.loaded, "a model was asked for before it was replaced"
    rooms.embedder._create = _hashing
    rooms.embedder._threads.clear()
    rooms.embedder._in_use = rooms.embedder.embedder_of(rooms.embedder.name)
    return rooms


def _hashing(folder: Path) -> Any:
    return HashEmbedder(folder.name)


@dataclass
class GatedRooms:
    """Real rooms, whose calls from the socket pass through a gate that a test closes.

    A call that finds *gate* closed waits there; *fail* is raised by the next call
    that meets it. *began* and *ended* count the calls that passed either end, *most* how
    many were between both at once, *done* those that the room behind it answered; *callers*
    are who made them.
    """

    gate: asyncio.Event | None = None
    fail: BaseException | None = None
    callers: list[Caller] = field(default_factory=list)
    began: int = 0
    ended: int = 0
    most: int = 0
    cancelled: int = 0
    done: int = 0
    _rooms: DaemonRooms | None = None

    @property
    def rooms(self) -> DaemonRooms:
        assert self._rooms is not None, "nothing is built yet"
        return self._rooms

    async def build(
        self, settings: Settings, paths: Paths, clock: Clock, stack: AsyncExitStack
    ) -> DaemonRooms:
        """Build the rooms; what the daemon calls (``memd.daemon.Build``)."""
        rooms = await built(settings, paths, clock, stack)
        self._rooms = copy(rooms)
        for name in GATED:
            setattr(self._rooms, name, _Gated(self, getattr(rooms, name)))
        return self._rooms

    async def pass_through(self, caller: Caller) -> None:
        self.callers.append(caller)
        self.began += 1
        self.most = max(self.most, self.began - self.ended)
        try:
            if self.fail is not None:
                raise self.fail
            if self.gate is not None:
                await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.ended += 1

    async def memories(self) -> int:
        """Return how many memories the store holds."""
        sql = "SELECT count(*) FROM memory"
        return int(await self.rooms.upkeep.db.read(lambda conn: conn.execute(sql).get))


class _Gated:
    """A room behind the gate."""

    def __init__(self, house: GatedRooms, room: Any) -> None:
        self._house = house
        self._room = room

    def __getattr__(self, name: str) -> Any:
        reached = getattr(self._room, name)
        if not inspect.iscoroutinefunction(reached):
            return reached

        async def through(caller: Any, *positional: Any, **named: Any) -> Any:
            await self._house.pass_through(caller)
            answer = await reached(caller, *positional, **named)
            self._house.done += 1
            return answer

        return through


class APeer:
    """A connection that takes every event."""

    listener: Listener | None = None
    link: Link | None = None

    def may_receive(self, agent_id: str) -> bool:
        return bool(agent_id)

    def offer(self, frame: bytes) -> bool:
        return bool(frame)


@dataclass
class Desk:
    """DaemonRooms and what answers requests for them, without a socket."""

    house: GatedRooms
    dispatch: Dispatch
    behind: list[asyncio.Task[Any]] = field(default_factory=list)
    """What a test lets run beside it; waited for at the end."""

    @property
    def db(self) -> Database:
        return self.house.rooms.upkeep.db


@contextlib.asynccontextmanager
async def a_desk(
    folder: Path, clock: Clock | None = None, *, settings: Settings | None = None
) -> AsyncIterator[Desk]:
    """Answer for a store in *folder*; nothing runs beside it."""
    clock, paths = clock or SystemClock(), Paths.resolve(home=folder, environ={})
    gated, metrics = GatedRooms(), Metrics()
    async with AsyncExitStack() as stack:
        rooms = await gated.build(settings or Settings(), paths, clock, stack)
        system = System(rooms, metrics, clock, lambda: None, _reload)
        authority = Authority(rooms.clients, None, Denials(rooms.audit.record_refused).note)
        dispatch = Dispatch(rooms, system, clock, metrics, authority)
        stack.callback(dispatch.large_work.close)
        desk = Desk(gated, dispatch)
        yield desk
        await asyncio.gather(*desk.behind)


async def _reload() -> ReloadResult:
    return ReloadResult()
