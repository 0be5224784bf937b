"""Maintain an agent's memories over any backend (SPEC 16.3).

One cycle is retention, then consolidation, then the limit. The service is for programs that use
memd as a library. The daemon's nights do the same with rows of its file, in small steps that can be
undone (``night/night.py``).

Beyond SPEC, an original is archived *before* it is removed, in the given store or in the backend's
own archive. A memory that cannot be archived is not removed. Memories younger than a day, summaries
and protected memories are not touched, and the limit removes the oldest first (decision 0041).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from heapq import nsmallest
from typing import Any, Protocol, cast, runtime_checkable

from memd.base import log
from memd.base.clock import Clock, SystemClock, from_us
from memd.base.errors import MemoryCapabilityError, MemoryStoreError
from memd.base.limits import PAGE_ITEMS_MAX
from memd.domain.backend import MemoryBackend
from memd.domain.enums import MemoryCategory
from memd.domain.memory import MemoryEntry, MemoryQuery, MemoryStoreRequest
from memd.domain.settings.consolidation import ConsolidationConfig
from memd.domain.sleep.consolidation import (
    PROTECTED_TAGS,
    ArchivalIndexEntry,
    ArchivalMode,
    ArchivalStore,
    ConsolidationResult,
    ConsolidationStrategy,
    SupportsArchive,
    archival_entry,
)
from memd.sleep.night.retention import RetentionEnforcer
from memd.sleep.strategies.selection import AGE_DAYS_MIN, iter_pages
from memd.sleep.strategies.strategies import MoveToArchive

ENFORCE_BATCH = 1_000  # memories that one listing of the limit selects
ENFORCE_BATCH_MIN = 100
ENFORCE_BATCH_MAX = 10_000


@runtime_checkable
class ConfigResolver(Protocol):
    """Reads a setting at run time."""

    async def get_bool(self, namespace: str, key: str) -> bool:
        """Return the setting *key* of *namespace*."""
        ...


@runtime_checkable
class Archiving(Protocol):
    """A strategy whose archive can be replaced."""

    def archiving_with(self, move_to_archive: MoveToArchive) -> ConsolidationStrategy:
        """Return the same strategy over *move_to_archive*."""
        ...


class MemoryConsolidationService:
    """Consolidates and limits an agent's memories; removed ones can be restored.

    Without a *strategy* nothing is consolidated. Without an *archival_store* the backend's own
    archive is used; without either, MemoryCapabilityError is raised before anything is removed.
    *config_resolver* reads ``memory/consolidation_enabled`` at each call; a setting that cannot be
    read counts as enabled. Raises ValueError for a *max_enforce_batch* outside 100-10 000.
    """

    def __init__(  # noqa: PLR0913  # the documented parameters, all by name
        self,
        *,
        backend: MemoryBackend,
        config: ConsolidationConfig,
        strategy: ConsolidationStrategy | None = None,
        archival_store: ArchivalStore | None = None,
        max_enforce_batch: int = ENFORCE_BATCH,
        config_resolver: ConfigResolver | None = None,
        clock: Clock | None = None,
    ) -> None:
        if not ENFORCE_BATCH_MIN <= max_enforce_batch <= ENFORCE_BATCH_MAX:
            raise ValueError(
                f"max_enforce_batch must be {ENFORCE_BATCH_MIN} to {ENFORCE_BATCH_MAX}"
            )
        self._backend = backend
        self._config = config
        self._strategy = strategy
        self._batch = max_enforce_batch
        self._resolver = config_resolver
        self._clock = clock or SystemClock()
        self._archive = _Archive(backend, archival_store, self._clock)
        self._retention = RetentionEnforcer(config.retention, backend, clock=self._clock)

    async def run_maintenance(
        self,
        agent_id: str,
        *,
        agent_category_overrides: Mapping[MemoryCategory, int] | None = None,
        agent_default_retention_days: int | None = None,
    ) -> ConsolidationResult:
        """Run a whole cycle and return the result of its consolidation.

        With the kill switch off nothing is done and the result is empty. The error of a step is
        logged and raised; earlier steps are not reverted.
        """
        if not await self._is_enabled():
            return ConsolidationResult()
        try:
            await self.cleanup_retention(
                agent_id,
                agent_category_overrides=agent_category_overrides,
                agent_default_retention_days=agent_default_retention_days,
            )
            result = await self.run_consolidation(agent_id)
            await self.enforce_max_memories(agent_id)
        except Exception as error:
            log.error("maintenance failed", error=type(error).__name__)
            raise
        return result

    async def cleanup_retention(
        self,
        agent_id: str,
        *,
        agent_category_overrides: Mapping[MemoryCategory, int] | None = None,
        agent_default_retention_days: int | None = None,
    ) -> int:
        """Delete memories past their retention period and return their number (SPEC 16.4)."""
        return await self._retention.cleanup_expired(
            agent_id,
            agent_category_overrides=agent_category_overrides,
            agent_default_retention_days=agent_default_retention_days,
        )

    async def run_consolidation(self, agent_id: str) -> ConsolidationResult:
        """Run the strategy over up to a thousand memories and archive those it removes.

        The result's ``archival_index`` has the archival id of each removed memory.
        Raises what the strategy raises.
        """
        if self._strategy is None or not await self._is_enabled():
            return ConsolidationResult()
        before = from_us(self._clock.now_us()) - timedelta(days=AGE_DAYS_MIN)
        query = MemoryQuery(limit=PAGE_ITEMS_MAX, until=before)
        entries = await self._backend.retrieve(agent_id, query)
        if not entries:
            return ConsolidationResult()
        self._archive.require()
        index: dict[str, ArchivalIndexEntry] = {}

        async def move_to_archive(agent_id: str, entry: MemoryEntry, mode: ArchivalMode) -> bool:
            archival_id, is_removed = await self._archive.move_to_archive(agent_id, entry, mode)
            index[entry.id] = _index_entry(entry.id, archival_id, mode)
            return is_removed

        if isinstance(self._strategy, Archiving):
            strategy = self._strategy.archiving_with(move_to_archive)
            result = await strategy.consolidate(entries, agent_id=agent_id)
        else:
            result = await self._strategy.consolidate(entries, agent_id=agent_id)
            index |= await self._archive_removed(agent_id, entries, result)
        archived = tuple(
            index[removed_id] for removed_id in result.removed_ids if removed_id in index
        )
        return ConsolidationResult(
            removed_ids=result.removed_ids,
            summary_ids=result.summary_ids,
            archived_count=len(archived),
            mode_assignments=result.mode_assignments,
            archival_index=archived,
        )

    async def enforce_max_memories(self, agent_id: str) -> int:
        """Archive the oldest unprotected memories above the limit; return their number.

        Works in batches of *max_enforce_batch*, until the limit holds or nothing more can be
        archived. Protected memories, and those that the archive refuses, count but are kept.
        """
        removed_count, stuck = 0, set[str]()
        excess = await self._backend.count(agent_id) - self._config.max_memories_per_agent
        if excess > 0:
            self._archive.require()
        while excess > 0:
            batch = await self._oldest(agent_id, min(excess, self._batch), stuck)
            if not batch:
                break
            for entry in batch:
                if await self._archive_or_keep(agent_id, entry):
                    removed_count, excess = removed_count + 1, excess - 1
                else:
                    stuck.add(entry.id)
        return removed_count

    async def _is_enabled(self) -> bool:
        if self._resolver is None:
            return self._config.enabled
        try:
            return bool(await self._resolver.get_bool("memory", "consolidation_enabled"))
        except (MemoryError, RecursionError):
            raise
        except Exception as error:  # noqa: BLE001  # an unreadable switch counts as on
            log.warning("kill switch not read", error=type(error).__name__)
            return True

    async def _archive_removed(
        self, agent_id: str, entries: Iterable[MemoryEntry], result: ConsolidationResult
    ) -> dict[str, ArchivalIndexEntry]:
        """Archive the memories that a strategy removed; store again those that cannot be archived.

        Returns the index entries of the archived ones by their id.
        """
        entries_by_id = {entry.id: entry for entry in entries}
        modes = {assignment.original_id: assignment.mode for assignment in result.mode_assignments}
        index = {}
        for memory_id in result.removed_ids:
            entry = entries_by_id.get(memory_id)
            mode = modes.get(memory_id, ArchivalMode.EXTRACTIVE)
            if entry is None:
                log.warning("not archived: the strategy was not given it", memory=memory_id)
                continue
            try:
                archival_id = await self._archive.archive_removed(agent_id, entry, mode)
            except (MemoryError, RecursionError):
                raise
            except Exception as error:  # noqa: BLE001  # nothing may be lost, whatever an archive raises
                error_name = type(error).__name__
                log.error("not archived: stored again", memory=memory_id, error=error_name)
                await self._backend.store(agent_id, _store_request(entry))
                continue
            index[memory_id] = _index_entry(memory_id, archival_id, mode)
        return index

    async def _archive_or_keep(self, agent_id: str, entry: MemoryEntry) -> bool:
        """Archive *entry* and remove it; return False, and keep it, if it cannot be archived."""
        try:
            _, is_removed = await self._archive.move_to_archive(
                agent_id, entry, ArchivalMode.EXTRACTIVE
            )
            return is_removed or await self._backend.delete(agent_id, entry.id)
        except (MemoryError, RecursionError):
            raise
        except Exception as error:  # noqa: BLE001  # an error concerns one memory only
            log.warning("not archived", memory=entry.id, error=type(error).__name__)
            return False

    async def _oldest(self, agent_id: str, number: int, stuck: set[str]) -> list[MemoryEntry]:
        """Return the oldest *number* memories that are neither protected nor *stuck*, oldest first.

        A backend lists the newest first, so the whole listing is read.
        """
        oldest: list[MemoryEntry] = []
        async for page in iter_pages(self._backend, agent_id, MemoryQuery(limit=PAGE_ITEMS_MAX)):
            removable = [e for e in page if e.id not in stuck and not _is_protected(e)]
            oldest = nsmallest(number, oldest + removable, key=_age)
        return oldest


class _Archive:
    """The destination of originals: a given store, or the backend's own archive."""

    def __init__(self, backend: MemoryBackend, store: ArchivalStore | None, clock: Clock) -> None:
        self._backend = backend if isinstance(backend, SupportsArchive) else None
        if self._backend is not None and store is self._backend.archival_store:
            store = None  # the backend archives the same memories itself
        self._store = store
        self._clock = clock

    def require(self) -> None:
        """Raise MemoryCapabilityError unless there is an archive."""
        if self._store is None and self._backend is None:
            raise MemoryCapabilityError(
                "nothing is taken away without an archive",
                hint="give an archival_store, or use a backend that has an archive",
            )

    async def move_to_archive(
        self, agent_id: str, entry: MemoryEntry, mode: ArchivalMode
    ) -> tuple[str, bool]:
        """Archive *entry*; return its archival id, and whether archiving has also removed it.

        Raises MemoryStoreError if it cannot be archived; then it is not removed.
        """
        try:
            if self._store is not None:
                return await self._store.archive(self._copy(entry, mode)), False
            archival_id = await cast("SupportsArchive", self._backend).move_to_archive(
                agent_id, entry.id, mode
            )
        except (MemoryError, RecursionError):
            raise
        except Exception as error:
            raise MemoryStoreError("the archive did not take a memory") from error
        if archival_id is None:
            raise MemoryStoreError("a memory that is to be archived is no longer there")
        return archival_id, True

    async def archive_removed(self, agent_id: str, entry: MemoryEntry, mode: ArchivalMode) -> str:
        """Archive *entry*, which the backend no longer lists; raise what the archive raises."""
        if self._store is not None:
            return await self._store.archive(self._copy(entry, mode))
        backend = cast("SupportsArchive", self._backend)
        # It may be in the backend's trash, from where it can be archived.
        archival_id = await backend.move_to_archive(agent_id, entry.id, mode)
        return archival_id or await backend.archival_store.archive(self._copy(entry, mode))

    def _copy(self, entry: MemoryEntry, mode: ArchivalMode) -> Any:
        return archival_entry(entry, mode, from_us(self._clock.now_us()))


async def cleanup_retention(
    agent_id: str,
    *,
    backend: MemoryBackend,
    config: ConsolidationConfig,
    agent_category_overrides: Mapping[MemoryCategory, int] | None = None,
    agent_default_retention_days: int | None = None,
    clock: Clock | None = None,
) -> int:
    """Run :meth:`MemoryConsolidationService.cleanup_retention` once."""
    service = MemoryConsolidationService(backend=backend, config=config, clock=clock)
    return await service.cleanup_retention(
        agent_id,
        agent_category_overrides=agent_category_overrides,
        agent_default_retention_days=agent_default_retention_days,
    )


def _is_protected(entry: MemoryEntry) -> bool:
    return not PROTECTED_TAGS.isdisjoint(entry.metadata.tags)


def _age(entry: MemoryEntry) -> tuple[Any, str]:
    return entry.created_at, entry.id


def _index_entry(original_id: str, archival_id: str, mode: ArchivalMode) -> ArchivalIndexEntry:
    return ArchivalIndexEntry(original_id=original_id, archival_id=archival_id, mode=mode)


def _store_request(entry: MemoryEntry) -> MemoryStoreRequest:
    names = set(MemoryStoreRequest.model_fields) & set(MemoryEntry.model_fields)
    return MemoryStoreRequest(**{name: getattr(entry, name) for name in names})
