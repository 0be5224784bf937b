"""The documented backend over memd's rooms: one SQLite file in this process (SPEC 7, D12).

It has the file, the ranking and the guarantees of the daemon, without a socket. It holds the
profile's lock, so no daemon can use the same file meanwhile; a program that needs the memories of
a running daemon uses ``AsyncClient``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from memd.base import log
from memd.base.clock import Clock, SystemClock
from memd.base.errors import (
    MemdError,
    MemdMemoryError,
    MemoryConnectionError,
    MemoryNotFoundError,
    MemoryRetrievalError,
    MemoryStoreError,
)
from memd.base.paths import Paths
from memd.domain.caller import Caller
from memd.domain.encoding import Embedder
from memd.domain.enums import MemoryCategory, SearchMode
from memd.domain.memory import MemoryEntry, MemoryQuery, MemoryStoreRequest
from memd.domain.removal import ArchivedMemory
from memd.domain.settings.settings import CompanyMemoryConfig, Settings
from memd.domain.sleep.consolidation import ArchivalEntry, ArchivalMode, archival_entry
from memd.domain.values import DEFAULT_AGENT, RESERVED_AGENT, unheard
from memd.store.file.file_backend import FileBackend, own_file

if TYPE_CHECKING:
    from memd.archive.archive import Archive
    from memd.backends.rooms import Rooms

T = TypeVar("T")


def create(
    config: CompanyMemoryConfig, *, embedder: Embedder | None = None, clock: Clock | None = None
) -> SqliteBackend:
    """Return a disconnected backend; without an *embedder* it uses the installed model."""
    return SqliteBackend(config, embedder=embedder, clock=clock or SystemClock())


class SqliteBackend(FileBackend["Rooms"]):
    """Owns the open file from ``connect`` to ``disconnect``."""

    _connection_error = MemoryConnectionError
    backend_name = "sqlite"
    supports_graph = True
    supports_temporal = True

    def __init__(
        self, config: CompanyMemoryConfig, *, embedder: Embedder | None, clock: Clock
    ) -> None:
        self._config = config
        self._embedder = embedder
        self._clock = clock
        self._archive = SqliteArchive(lambda: self.rooms.archive)

    # Lifecycle.

    async def _open(self, stack: AsyncExitStack) -> Rooms:
        from memd.backends.rooms import UpkeepLoop, open_rooms
        from memd.embedding.embed import EmbedderThread

        paths = Paths.resolve()
        folder = self._config.storage.data_dir
        database = paths.database
        if folder:
            database = Path(folder).expanduser() / database.name
        own_file(stack, database)
        embedder = self._embedder
        if embedder is None:
            embedder = EmbedderThread(paths.model_dir)
            stack.push_async_callback(embedder.close)
        settings = Settings().model_copy(update={"memory": self._config})
        rooms = await open_rooms(
            settings, database, self._clock, stack, embedder=embedder, model_dir=paths.model_dir
        )
        stack.push_async_callback(rooms.notes.flush)
        for work in (
            rooms.queue.run(),
            rooms.notes.run(),
            UpkeepLoop(rooms.db, rooms.upkeep, rooms.due, unheard).run(),
            rooms.relation_extractor.run(),
        ):
            stack.push_async_callback(_stop, asyncio.create_task(work))
        return rooms

    async def health_check(self) -> bool:
        if self._opened is None:
            log.warning("backend not connected", backend="sqlite")
            return False
        try:
            await self._opened.upkeep.stats()
        except MemdError as error:
            log.warning("backend not healthy", backend="sqlite", kind=error.kind)
            return False
        return True

    @property
    def rooms(self) -> Rooms:
        """The rooms over the open file, for a backend that uses the same file."""
        return self._require_open()

    # Capabilities.

    @property
    def supported_categories(self) -> frozenset[MemoryCategory]:
        return frozenset(MemoryCategory)

    @property
    def supports_vector_search(self) -> bool:
        return self._opened is not None and self._opened.embedder.fingerprint is not None

    @property
    def supports_shared_access(self) -> bool:
        return self._config.options.shared_knowledge_base

    @property
    def max_memories_per_agent(self) -> int | None:
        return self._config.options.max_memories_per_agent

    # Memories.

    async def store(self, agent_id: str, request: MemoryStoreRequest) -> str:
        """Store one memory unchanged and return its id, after COMMIT."""
        return await self._call(
            agent_id, lambda rooms, caller: rooms.ingest.store(caller, request), MemoryStoreError
        )

    async def retrieve(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        """Return matching memories, by relevance with text, newest first without."""
        return await self._call(
            agent_id, lambda rooms, caller: rooms.recall.retrieve(caller, query)
        )

    async def retrieve_sparse(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        """Return memories with words of the query's text, best first; none without a text."""
        if query.text is None:
            return ()
        return await self._call(
            agent_id, lambda rooms, caller: rooms.recall.retrieve(caller, query, SearchMode.WORDS)
        )

    async def get(self, agent_id: str, memory_id: str) -> MemoryEntry | None:
        """Return a memory; None for an unknown one or another agent's."""
        return await self._call(agent_id, lambda rooms, caller: rooms.recall.get(caller, memory_id))

    async def delete(self, agent_id: str, memory_id: str) -> bool:
        """Move a memory to the trash; False unless the agent can see it."""
        return await self._call(
            agent_id,
            lambda rooms, caller: rooms.trash.delete(caller, memory_id),
            MemoryStoreError,
        )

    async def count(self, agent_id: str, *, category: MemoryCategory | None = None) -> int:
        return await self._call(
            agent_id, lambda rooms, caller: rooms.recall.count(caller, category)
        )

    # Shared memories.

    async def publish(self, agent_id: str, request: MemoryStoreRequest) -> str:
        """Share a text in the agent's name and return the id of the copy, after COMMIT.

        Raises MemoryCapabilityError when sharing is switched off.
        """
        return await self._call(
            agent_id, lambda rooms, caller: rooms.sharing.publish(caller, request), MemoryStoreError
        )

    async def search_shared(
        self, query: MemoryQuery, *, exclude_agent: str | None = None
    ) -> tuple[MemoryEntry, ...]:
        """Return memories published by others than *exclude_agent*; none if sharing is off."""
        return await self._call(
            DEFAULT_AGENT if exclude_agent is None else exclude_agent,
            lambda rooms, _: rooms.recall.search_shared(query, exclude_agent),
        )

    async def retract(self, agent_id: str, memory_id: str) -> bool:
        """Move a shared copy to the trash; False for an unknown one."""
        return await self._call(
            agent_id,
            lambda rooms, caller: rooms.sharing.retract(caller, memory_id),
            MemoryStoreError,
        )

    # The archive.

    @property
    def archival_store(self) -> SqliteArchive:
        return self._archive

    async def move_to_archive(
        self, agent_id: str, memory_id: str, mode: ArchivalMode = ArchivalMode.EXTRACTIVE
    ) -> str | None:
        """Move a memory into the archive, in one transaction; None for an unknown one.

        *mode* is not stored: it follows from the lineage (docs/decisions/0039).
        """
        del mode
        return await self._call(
            agent_id,
            lambda rooms, caller: rooms.archive.move_to_archive(caller, memory_id),
            MemoryStoreError,
        )

    async def _call(
        self,
        agent_id: str,
        call: Callable[[Rooms, Caller], Coroutine[Any, Any, T]],
        family: type[MemdMemoryError] = MemoryRetrievalError,
    ) -> T:
        """Return what *call* returns; raises *family* for an error of another family."""
        rooms = self.rooms
        if not agent_id.strip():
            raise family("agent_id is blank", field="agent_id")
        if agent_id == RESERVED_AGENT:
            raise family(f"{RESERVED_AGENT} is reserved", field="agent_id")
        try:
            return await call(rooms, Caller(agent_id=agent_id))
        except MemdMemoryError:
            raise
        except MemdError as error:
            raise family(error.message, field=error.field, hint=error.hint) from error


@dataclass(frozen=True)
class SqliteArchive:
    """The documented ``ArchivalStore``, over memd's own file.

    *room* is called each time, and raises if the backend is not connected. Only memories of this
    file can be archived: they change their state in one transaction, and are not copied.
    """

    room: Callable[[], Archive]

    async def archive(self, entry: ArchivalEntry) -> str:
        """Archive the memory that *entry* was made from, and return its archival id.

        Raises MemoryStoreError when the file has no such memory, or another one under its id.
        """
        room, caller = self.room(), Caller(agent_id=entry.agent_id)
        archival_id = await room.move_to_archive(caller, entry.original_id)
        if archival_id is None:
            raise MemoryStoreError(
                "only what this store holds can be put into its archive", field="original_id"
            )
        return archival_id

    async def search(self, agent_id: str, query: MemoryQuery) -> tuple[ArchivalEntry, ...]:
        """Return the agent's archived memories that match."""
        answer = await self.room().search(Caller(agent_id=agent_id), query)
        return tuple(to_archival_entry(archived) for archived in answer)

    async def restore(self, agent_id: str, entry_id: str) -> ArchivalEntry | None:
        """Return an archived memory, which stays archived; None for an unknown one."""
        try:
            return to_archival_entry(await self.room().restore(Caller(agent_id=agent_id), entry_id))
        except MemoryNotFoundError:
            return None

    async def restore_to_hot(self, agent_id: str, entry_id: str) -> MemoryEntry | None:
        """Make an archived memory active again and return it; None for an unknown one."""
        try:
            return await self.room().restore_to_hot(Caller(agent_id=agent_id), entry_id)
        except MemoryNotFoundError:
            return None

    async def count(self, agent_id: str) -> int:
        return await self.room().count(Caller(agent_id=agent_id))


def to_archival_entry(memory: ArchivedMemory) -> ArchivalEntry:
    return archival_entry(memory.entry, memory.mode, memory.archived_at)


async def _stop(task: asyncio.Task[None]) -> None:
    """Stop *task*; log its error if it died before, so that the file is closed all the same."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        try:
            await task
        except Exception as error:  # noqa: BLE001  # a bug there must not keep the file open
            log.error("background task died", trace=log.trace_of(error))
