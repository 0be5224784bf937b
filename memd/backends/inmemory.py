"""A backend in memory with an archive, for tests, scratch namespaces and experiments.

It fulfils the contract of ``MemoryBackend`` and searches by substring, without scores, so always
newest first (SPEC 7.8.5). Nothing is written to disk, embedded or gated. All calls must come from
one event loop; no method awaits, so each call is atomic.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from memd.base.clock import Clock, SystemClock, from_us
from memd.base.errors import (
    MemdMemoryError,
    MemoryCapabilityError,
    MemoryConnectionError,
    MemoryRetrievalError,
    MemoryStoreError,
)
from memd.base.ids import Ids
from memd.domain.enums import MemoryCategory, MemoryLevel
from memd.domain.memory import MemoryEntry, MemoryFilter, MemoryQuery, MemoryStoreRequest
from memd.domain.settings.settings import CompanyMemoryConfig
from memd.domain.sleep.consolidation import ArchivalEntry, ArchivalMode, archival_entry
from memd.domain.values import RESERVED_AGENT

_log = logging.getLogger(__name__)


class InMemoryBackend:
    """Keeps memories in the process, as long as the object exists; ``disconnect`` keeps them."""

    backend_name = "inmemory"
    supports_graph = False
    supports_temporal = False
    supports_vector_search = False

    def __init__(
        self,
        config: CompanyMemoryConfig | None = None,
        *,
        clock: Clock | None = None,
        ids: Ids | None = None,
    ) -> None:
        self._config = config or CompanyMemoryConfig(backend="inmemory")
        self._clock = clock or SystemClock()
        self._ids = ids or Ids(self._clock)
        self._connected = False
        self._private: dict[str, dict[str, MemoryEntry]] = {}
        self._shared: dict[str, MemoryEntry] = {}
        self._archive = InMemoryArchive(clock=self._clock, ids=self._ids, hot=self._private)

    # Lifecycle.

    async def connect(self) -> None:
        self._connected = True

    async def disconnect(self) -> None:
        self._connected = False

    async def health_check(self) -> bool:
        if not self._connected:
            _log.warning("the in-memory backend is not connected")
        return self._connected

    @property
    def is_connected(self) -> bool:
        return self._connected

    # Capabilities.

    @property
    def supported_categories(self) -> frozenset[MemoryCategory]:
        return frozenset(MemoryCategory)

    @property
    def supports_shared_access(self) -> bool:
        return self._config.options.shared_knowledge_base

    @property
    def max_memories_per_agent(self) -> int | None:
        return self._config.options.max_memories_per_agent

    # An agent's own memories.

    async def store(self, agent_id: str, request: MemoryStoreRequest) -> str:
        """Remove expired memories, then store *request* and return its id.

        Raises MemoryStoreError when the agent has reached its limit, when the level is ``none``
        or when the memory would be expired already.
        """
        self._check_call(agent_id, MemoryStoreError)
        entries = self._private.setdefault(agent_id, {})
        _prune(entries, self._now())
        return _put(entries, self._entry(agent_id, request), self._config)

    async def retrieve(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        self._check_call(agent_id, MemoryRetrievalError)
        entries = list(self._private.get(agent_id, {}).values())
        if query.include_shared and self.supports_shared_access:
            own = {entry.content for entry in entries if not _is_expired(entry, self._now())}
            entries += [
                entry
                for entry in self._shared.values()
                if entry.agent_id != agent_id or entry.content not in own
            ]
        return _select(entries, query, self._now())

    async def get(self, agent_id: str, memory_id: str) -> MemoryEntry | None:
        self._check_call(agent_id, MemoryRetrievalError)
        entry = self._private.get(agent_id, {}).get(memory_id)
        return None if entry is None or _is_expired(entry, self._now()) else entry

    async def delete(self, agent_id: str, memory_id: str) -> bool:
        """Delete a memory; False for another agent's, MemoryStoreError for a shared one."""
        self._check_call(agent_id, MemoryStoreError)
        if memory_id in self._shared:
            raise MemoryStoreError(f"{memory_id} is shared", hint="its publisher may retract it")
        entry = self._private.get(agent_id, {}).pop(memory_id, None)
        return entry is not None and not _is_expired(entry, self._now())

    async def count(self, agent_id: str, *, category: MemoryCategory | None = None) -> int:
        self._check_call(agent_id, MemoryRetrievalError)
        now = self._now()
        return sum(
            category in (None, entry.category) and not _is_expired(entry, now)
            for entry in self._private.get(agent_id, {}).values()
        )

    @property
    def archival_store(self) -> InMemoryArchive:
        return self._archive

    async def move_to_archive(
        self, agent_id: str, memory_id: str, mode: ArchivalMode = ArchivalMode.EXTRACTIVE
    ) -> str | None:
        """Move a memory into the archive and return its archival id; None for an unknown one."""
        self._check_call(agent_id, MemoryStoreError)
        return self._archive.move_to_archive(agent_id, memory_id, mode)

    # Shared memories. A shared entry's agent is its publisher.

    async def publish(self, agent_id: str, request: MemoryStoreRequest) -> str:
        self._check_call(agent_id, MemoryStoreError)
        if not self.supports_shared_access:
            raise MemoryCapabilityError(
                "shared knowledge is switched off",
                hint="set memory.options.shared_knowledge_base to true",
            )
        _prune(self._shared, self._now())
        entry = self._entry(agent_id, request)
        level = (
            MemoryLevel.PROJECT if request.level is MemoryLevel.PROJECT else MemoryLevel.PERSISTENT
        )
        entry = entry.model_copy(update={"session_id": None, "level": level})
        return _put(self._shared, entry, self._config)

    async def search_shared(
        self, query: MemoryQuery, *, exclude_agent: str | None = None
    ) -> tuple[MemoryEntry, ...]:
        self._check_call(exclude_agent, MemoryRetrievalError)
        if not self.supports_shared_access:
            return ()
        others = [entry for entry in self._shared.values() if entry.agent_id != exclude_agent]
        return _select(others, query, self._now())

    async def retract(self, agent_id: str, memory_id: str) -> bool:
        self._check_call(agent_id, MemoryStoreError)
        if memory_id in self._private.get(agent_id, {}):
            raise MemoryStoreError(f"{memory_id} is not shared", hint="delete it instead")
        entry = self._shared.get(memory_id)
        if entry is None or _is_expired(entry, self._now()):
            return False
        if entry.agent_id != agent_id:
            raise MemoryStoreError(f"{memory_id} was published by another agent")
        del self._shared[memory_id]
        return True

    def _check_call(self, agent_id: str | None, refusal: type[MemdMemoryError]) -> None:
        """Refuse a call before ``connect``, or with a blank or reserved agent."""
        if not self._connected:
            raise MemoryConnectionError("the in-memory backend is not connected")
        if agent_id is not None and (agent_id == RESERVED_AGENT or not agent_id.strip()):
            raise refusal(f"{agent_id!r} is not an agent", field="agent_id")

    def _now(self) -> datetime:
        return from_us(self._clock.now_us())

    def _entry(self, agent_id: str, request: MemoryStoreRequest) -> MemoryEntry:
        now = self._now()
        level = request.level or self._config.level
        if level is MemoryLevel.NONE:
            raise MemoryStoreError("level none keeps no memories", field="level")
        if request.expires_at is not None and request.expires_at <= now:
            raise MemoryStoreError("the memory would be expired already", field="expires_at")
        if request.category is MemoryCategory.WORKING:
            level = MemoryLevel.SESSION  # overrides the requested level (SPEC 7.13.4)
        return MemoryEntry(
            id=self._ids.new(),
            agent_id=agent_id,
            created_at=now,
            level=level,
            **{name: getattr(request, name) for name in _COPIED_FIELDS},
        )


_COPIED_FIELDS = (
    "namespace",
    "category",
    "content",
    "metadata",
    "expires_at",
    "session_id",
    "project_id",
    "speaker",
    "occurred_at",
)


def create(config: CompanyMemoryConfig, *, clock: Clock, **_parts: object) -> InMemoryBackend:
    """Return a disconnected backend; for the registry."""
    return InMemoryBackend(config, clock=clock)


def _put(memories: dict[str, MemoryEntry], entry: MemoryEntry, config: CompanyMemoryConfig) -> str:
    count = sum(other.agent_id == entry.agent_id for other in memories.values())
    limit = config.options.max_memories_per_agent
    if count >= limit:
        raise MemoryStoreError(
            f"agent {entry.agent_id} already has {limit} memories",
            hint="delete some, or raise memory.options.max_memories_per_agent",
        )
    memories[entry.id] = entry
    return entry.id


def _prune(memories: dict[str, MemoryEntry], now: datetime) -> None:
    for memory_id in [entry.id for entry in memories.values() if _is_expired(entry, now)]:
        del memories[memory_id]


Hot = dict[str, dict[str, MemoryEntry]]
"""Each agent's memories by id."""


@dataclass(frozen=True, slots=True)
class _ArchivedMemory:
    """An archived entry, and the complete memory."""

    entry: ArchivalEntry
    memory: MemoryEntry


class InMemoryArchive:
    """The documented ``ArchivalStore`` (SPEC 16.13); no agent sees another agent's memories.

    *hot* is a backend's memories, which can then be moved here and back under their own ids.
    """

    def __init__(
        self, *, clock: Clock | None = None, ids: Ids | None = None, hot: Hot | None = None
    ) -> None:
        self._clock = clock or SystemClock()
        self._ids = ids or Ids(self._clock)
        self._hot: Hot = {} if hot is None else hot
        self._archived: dict[str, _ArchivedMemory] = {}

    async def archive(self, entry: ArchivalEntry) -> str:
        """Store a copy of *entry* and return its archival id."""
        memory = MemoryEntry(
            id=entry.original_id,
            agent_id=entry.agent_id,
            category=entry.category,
            content=entry.content,
            metadata=entry.metadata,
            created_at=entry.created_at,
        )
        return self._put(_ArchivedMemory(entry, memory))

    async def search(self, agent_id: str, query: MemoryQuery) -> tuple[ArchivalEntry, ...]:
        """Return the agent's archived entries that match, by substring, newest first."""
        entries = [
            archived.memory.model_copy(update={"id": archival_id})
            for archival_id, archived in self._archived.items()
            if archived.entry.agent_id == agent_id
        ]
        matches = _select(entries, query, from_us(self._clock.now_us()))
        return tuple(self._archived[entry.id].entry for entry in matches)

    async def restore(self, agent_id: str, entry_id: str) -> ArchivalEntry | None:
        """Return an archived entry by its archival id, None for an unknown or another agent's."""
        archived = self._find_own(agent_id, entry_id)
        return None if archived is None else archived.entry

    async def count(self, agent_id: str) -> int:
        return sum(archived.entry.agent_id == agent_id for archived in self._archived.values())

    # With the memories of a backend.

    def move_to_archive(self, agent_id: str, memory_id: str, mode: ArchivalMode) -> str | None:
        """Move a memory into the archive in one step; None if the agent has none with this id."""
        memory = self._hot.get(agent_id, {}).pop(memory_id, None)
        if memory is None:
            return None
        now = from_us(self._clock.now_us())
        return self._put(_ArchivedMemory(archival_entry(memory, mode, now), memory))

    async def restore_to_hot(self, agent_id: str, entry_id: str) -> MemoryEntry | None:
        """Restore a memory under its own id.

        None for an unknown id, another agent's, or if a memory with its id exists, as it does for
        a copy.
        """
        archived = self._find_own(agent_id, entry_id)
        hot_entries = self._hot.setdefault(agent_id, {})
        if archived is None or archived.memory.id in hot_entries:
            return None
        del self._archived[entry_id]
        hot_entries[archived.memory.id] = archived.memory
        return archived.memory

    def _put(self, archived: _ArchivedMemory) -> str:
        archival_id = self._ids.new()
        self._archived[archival_id] = archived
        return archival_id

    def _find_own(self, agent_id: str, entry_id: str) -> _ArchivedMemory | None:
        archived = self._archived.get(entry_id)
        return archived if archived is not None and archived.entry.agent_id == agent_id else None


def _is_expired(entry: MemoryEntry, now: datetime) -> bool:
    return entry.expires_at is not None and entry.expires_at <= now


def _select(
    entries: Iterable[MemoryEntry], query: MemoryQuery, now: datetime
) -> tuple[MemoryEntry, ...]:
    """Return the entries that match *query*, newest first, then by id, at most its limit."""
    needle = query.text.casefold() if query.text else ""
    matches = [
        entry
        for entry in entries
        if not _is_expired(entry, now)
        and _matches(entry, query)
        and needle in entry.content.casefold()
    ]
    matches.sort(key=lambda entry: entry.id)
    matches.sort(key=lambda entry: entry.created_at, reverse=True)
    return tuple(matches[: query.limit])


def _matches(entry: MemoryEntry, filters: MemoryFilter) -> bool:
    """Return whether *entry* meets all conditions of *filters*. An empty set is no condition."""
    return all(
        (
            not filters.namespaces or entry.namespace in filters.namespaces,
            not filters.categories or entry.category in filters.categories,
            not filters.levels or entry.level in filters.levels,
            set(filters.tags) <= set(entry.metadata.tags),
            filters.since is None or filters.since <= entry.created_at,
            filters.until is None or entry.created_at < filters.until,
            filters.occurred_since is None or filters.occurred_since <= _event(entry),
            filters.occurred_until is None or _event(entry) < filters.occurred_until,
            filters.session_id in (None, entry.session_id),
            filters.project_id in (None, entry.project_id),
        )
    )


def _event(entry: MemoryEntry) -> datetime:
    return entry.occurred_at or entry.created_at
