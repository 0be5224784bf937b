"""The documented maintenance of an agent's memories, over any backend (SPEC 16.3).

One cycle is retention, then consolidation, then the limit. memd's own nights do
the same with rows of the file, in small steps that can be undone (night.py); this
service is for programs with a backend in their own process.

Beyond SPEC, nothing that consolidation or the limit removes is lost:
an original is in an archive *before* it is removed, in the given store or in the
backend's own, and a memory that could not be archived stays. Memories younger than a day,
summaries and protected ones are left alone, and the limit takes the oldest first
(docs/decisions/0041).
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

ENFORCE_BATCH = 1_000
ENFORCE_BATCH_MIN = 100
ENFORCE_BATCH_MAX = 10_000


@runtime_checkable
class ConfigResolver(Protocol):
    """Reads a setting while the program runs."""

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
    """Limits an agent's memories and keeps everything that it removes restorable.

    Without a *strategy* nothing is consolidated. Without an *archival_store* the
    backend's own archive is used; without either, MemoryCapabilityError is
    raised before anything is removed. *config_resolver* is asked for
    ``memory/consolidation_enabled`` at each call; an unreadable setting counts as
    enabled. Raises ValueError for a *max_enforce_batch* outside 100-10 000.
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

        With the kill switch off nothing is touched and the result is empty. A step
        that fails is logged and raised; those before it stay done.
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

        At most *max_enforce_batch* at a time, until the limit holds or nothing more
        can be archived. Protected ones count, but stay; so do those that no archive accepts.
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
        """Archive what a strategy removed by itself; store again what cannot be archived."""
        entries_by_id = {entry.id: entry for entry in entries}
        modes = {assignment.original_id: assignment.mode for assignment in result.mode_assignments}
        index = {}
        for removed in result.removed_ids:
            entry, mode = entries_by_id.get(removed), modes.get(removed, ArchivalMode.EXTRACTIVE)
            if entry is None:
                log.warning("not archived: the strategy was not given it", memory=removed)
                continue
            try:
                archival_id = await self._archive.archive_removed(agent_id, entry, mode)
            except (MemoryError, RecursionError):
                raise
            except Exception as error:  # noqa: BLE001  # nothing may be lost, whatever an archive raises
                log.error("not archived: stored again", memory=removed, error=type(error).__name__)
                await self._backend.store(agent_id, _store_request(entry))
                continue
            index[removed] = _index_entry(removed, archival_id, mode)
        return index

    async def _archive_or_keep(self, agent_id: str, entry: MemoryEntry) -> bool:
        """Archive *entry* and remove it; if it cannot be archived, it stays."""
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
        """Return the oldest *number* memories, neither protected nor *stuck*, by time and id.

        A backend lists the newest first, so the whole listing is read.
        """
        oldest: list[MemoryEntry] = []
        async for page in iter_pages(self._backend, agent_id, MemoryQuery(limit=PAGE_ITEMS_MAX)):
            free = [entry for entry in page if entry.id not in stuck and not _is_protected(entry)]
            oldest = nsmallest(number, oldest + free, key=_age)
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
        """Archive *entry*; return its archival id, and whether that has removed it as well.

        Raises MemoryStoreError when it could not be archived: then it is not removed.
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
        """Archive *entry*, which the backend no longer has; raises what the archive raises."""
        if self._store is not None:
            return await self._store.archive(self._copy(entry, mode))
        backend = cast("SupportsArchive", self._backend)
        archival_id = await backend.move_to_archive(
            agent_id, entry.id, mode
        )  # it may be in the backend's trash
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
