"""The documented backend of organisational memory, in this process (SPEC 15.4, D13).

It calls the same room as the methods ``org.*``, without the socket. It opens the profile's file
and holds its lock, or uses the file of a connected ``SqliteBackend`` (*beside*). The author is a
parameter of each write and is not verified, since the program can write to the file anyway.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from memd.base import log
from memd.base.clock import Clock, SystemClock
from memd.base.errors import (
    MemdError,
    OrgMemoryConnectionError,
    OrgMemoryError,
    OrgMemoryQueryError,
    OrgMemoryWriteError,
)
from memd.base.ids import Ids
from memd.base.paths import Paths
from memd.domain.caller import Caller
from memd.domain.org.history import AsOfQuery, PastFacts, Timeline
from memd.domain.org.org import (
    OperationLogEntry,
    OperationLogSnapshot,
    OrgFact,
    OrgFactAuthor,
    OrgFactWriteRequest,
    OrgMemoryQuery,
)
from memd.domain.settings.org import OrgMemoryConfig, org_memory_config
from memd.store.file.file_backend import FileBackend, own_file

if TYPE_CHECKING:
    from memd.backends.sqlite import SqliteBackend
    from memd.org.org import Org

T = TypeVar("T")


def create_org_memory_backend(
    config: OrgMemoryConfig | Mapping[str, Any] | None = None,
    *,
    beside: SqliteBackend | None = None,
    data_dir: str | None = None,
    clock: Clock | None = None,
) -> HybridOrgMemoryBackend:
    """Return a disconnected backend for *config*; raises OrgMemoryConfigError for an invalid one.

    It opens its own file, in *data_dir* or the profile's folder; with *beside* it uses that
    backend's, which must be connected first and disconnected last.
    """
    if not isinstance(config, OrgMemoryConfig):
        config = org_memory_config(config or {})
    return HybridOrgMemoryBackend(
        config, beside=beside, data_dir=data_dir, clock=clock or SystemClock()
    )


class HybridOrgMemoryBackend(FileBackend["Org"]):
    """Owns the open file from ``connect`` to ``disconnect``, unless it uses another backend's.

    ``core_policies`` of the settings belong into every prompt; ``query`` finds stored facts.
    """

    _connection_error = OrgMemoryConnectionError

    def __init__(
        self,
        config: OrgMemoryConfig,
        *,
        clock: Clock,
        beside: SqliteBackend | None = None,
        data_dir: str | None = None,
    ) -> None:
        self._config = config
        self._clock = clock
        self._beside = beside
        self._data_dir = data_dir

    # Lifecycle.

    async def _open(self, stack: AsyncExitStack) -> Org:
        from memd.org.fact_reader import note_rules
        from memd.org.org import Org
        from memd.org.temporal import catch_up
        from memd.store.file.database import open_database

        if self._beside is not None:
            return self._beside.rooms.org.with_config(self._config)
        database = Paths.resolve().database
        if self._data_dir:
            database = Path(self._data_dir).expanduser() / database.name
        own_file(stack, database)
        db = await stack.enter_async_context(open_database(database, self._clock))
        org = Org(db=db, clock=self._clock, ids=Ids(self._clock), config=self._config)
        await note_rules(db, self._clock, self._config)
        await catch_up(db)
        return org

    async def health_check(self) -> bool:
        if self._opened is None:
            log.warning("backend not connected", backend=self.backend_name)
            return False
        try:
            await self._opened.count_policies(_CALLER)
        except MemdError as error:
            log.warning("backend not healthy", backend=self.backend_name, kind=error.kind)
            return False
        return True

    @property
    def backend_name(self) -> str:
        return self._config.backend

    # Facts.

    async def write(self, request: OrgFactWriteRequest, *, author: OrgFactAuthor) -> str:
        """Publish a fact, or with ``fact_id`` its next version, and return its id after COMMIT."""
        return await self._call(
            OrgMemoryWriteError, lambda org: org.write(_CALLER, request, author=author)
        )

    async def retract(self, fact_id: str, *, author: OrgFactAuthor) -> bool:
        """Retract a fact; False for an unknown or retracted one."""
        return await self._call(
            OrgMemoryWriteError, lambda org: org.retract(_CALLER, fact_id, author=author)
        )

    async def get(self, fact_id: str) -> OrgFact | None:
        """Return a fact; None when there is none, or it is retracted."""
        return await self._call(OrgMemoryQueryError, lambda org: org.get(_CALLER, fact_id))

    async def query(self, query: OrgMemoryQuery) -> tuple[OrgFact, ...]:
        """Return stored facts by relevance to the context; without one, the newest."""
        return await self._call(OrgMemoryQueryError, lambda org: org.query(_CALLER, query))

    async def list_policies(
        self, *, limit: int | None = None, offset: int = 0
    ) -> tuple[OrgFact, ...]:
        """Return the policies of the settings in their order, then stored ones, newest first."""
        return await self._call(
            OrgMemoryQueryError, lambda org: org.list_policies(_CALLER, limit, offset)
        )

    async def count_policies(self) -> int:
        return await self._call(OrgMemoryQueryError, lambda org: org.count_policies(_CALLER))

    async def history(self, fact_id: str) -> tuple[OperationLogEntry, ...]:
        """Return a fact's operations, the first version first."""
        return await self._call(OrgMemoryQueryError, lambda org: org.history(_CALLER, fact_id))

    async def snapshot_at(self, at: datetime) -> tuple[OperationLogSnapshot, ...]:
        """Return all facts as of *at*, retracted ones included, by fact id."""
        return await self._call(OrgMemoryQueryError, lambda org: org.snapshot_at(_CALLER, at))

    async def as_of(self, query: AsOfQuery) -> PastFacts:
        return await self._call(OrgMemoryQueryError, lambda org: org.past.as_of(_CALLER, query))

    async def timeline(self, name: str) -> Timeline:
        """Return the statements about a thing, or of the fact with that id, over time."""
        return await self._call(OrgMemoryQueryError, lambda org: org.past.timeline(_CALLER, name))

    async def _call(self, family: type[OrgMemoryError], call: Callable[[Org], Awaitable[T]]) -> T:
        """Return what *call* returns; raise *family* for an error of another family."""
        org = self._require_open()
        try:
            return await call(org)
        except OrgMemoryError:
            raise
        except MemdError as error:
            raise family(error.message, field=error.field, hint=error.hint) from error


_CALLER = Caller()
