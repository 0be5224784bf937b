"""Consolidate memories over any backend: select, condense, store, archive, remove (SPEC 16).

The strategies differ only in their operation. For each group the summary is stored first; then the
originals that it covers are archived and removed, one by one. An error before the summary is stored
changes nothing. A later error leaves an original visible next to its summary, to be consolidated
again; no original is removed without a summary.

*move_to_archive* archives an original before it is removed: the given function, or else the
backend's own archive. An original that cannot be archived is not removed. Without any archive,
``delete`` may be final: then a group is left unchanged if the language model does not answer
(SPEC 16.11.5).
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Self

from memd.base.clock import Clock, SystemClock, from_us
from memd.base.errors import MemdError
from memd.base.limits import PAGE_ITEMS_MAX, PROVIDER_REQUESTS_MAX
from memd.domain.backend import CompletionProvider, MemoryBackend
from memd.domain.memory import MemoryEntry, MemoryMetadata, MemoryQuery, MemoryStoreRequest
from memd.domain.sleep.consolidation import (
    DISTILLATION_TAG,
    SUMMARY_SOURCE,
    ArchivalMode,
    ArchivalModeAssignment,
    ConsolidationResult,
    LLMConsolidationConfig,
    SupportsArchive,
)
from memd.sleep.strategies.ask import gather_limited
from memd.sleep.strategies.operations import (
    ConcatenationOp,
    CondensedGroup,
    ConsolidationOp,
    DensityRoutingOp,
    GroupMember,
    LLMSynthesisOp,
)
from memd.sleep.strategies.selection import (
    GROUP_THRESHOLD,
    ConsolidationGroup,
    HighestRelevanceSelector,
)
from memd.sleep.strategies.shorten import AbstractiveSummarizer, ExtractivePreserver
from memd.text.density import DensityClassifier

MoveToArchive = Callable[[str, MemoryEntry, ArchivalMode], Awaitable[bool | None]]
"""Archives an agent's memory; returns True if that has also removed it."""

_LLM_THRESHOLD_MIN = 3
_LOOKUP_FACTOR = 4  # distillations listed per one used, as a backend may not list the newest first

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _GroupResult:
    """The result of consolidating one group."""

    summary_id: str | None = None
    removed_ids: tuple[str, ...] = ()
    assignments: tuple[ArchivalModeAssignment, ...] = ()


class CompositeConsolidationStrategy:
    """Consolidates with a selector and an operation over *backend*; base of the other strategies.

    *move_to_archive* is called before each removal, instead of the backend's own archive. *clock*
    is used for the age of an entry.
    """

    def __init__(
        self,
        *,
        backend: MemoryBackend,
        selector: HighestRelevanceSelector,
        op: ConsolidationOp,
        move_to_archive: MoveToArchive | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._backend = backend
        self._selector = selector
        self._op = op
        self._move_to_archive = move_to_archive or _backend_archive(backend)
        self._clock = clock or SystemClock()
        self._missing_is_removed = True
        self._groups_at_once = 1

    def archiving_with(self, move_to_archive: MoveToArchive) -> Self:
        """Return a copy of the strategy that calls *move_to_archive* before each removal."""
        other = copy.copy(self)
        other._move_to_archive = move_to_archive  # noqa: SLF001  # a copy of the same class
        return other

    async def consolidate(
        self, entries: tuple[MemoryEntry, ...], agent_id: str
    ) -> ConsolidationResult:
        """Consolidate the eligible *entries* and return the result.

        Without a group that is large enough the backend is not called. Errors of making or storing
        a summary are raised; groups consolidated before are not reverted.
        """
        groups = self._selector.select(entries, from_us(self._clock.now_us()))
        if not groups:
            return ConsolidationResult()
        context = await self._context(agent_id)

        async def consolidate_group(group: ConsolidationGroup) -> _GroupResult:
            return await self._consolidate(group, agent_id, context)

        results = await gather_limited(consolidate_group, groups, at_once=self._groups_at_once)
        return ConsolidationResult(
            removed_ids=tuple(chain.from_iterable(result.removed_ids for result in results)),
            summary_ids=tuple(
                result.summary_id for result in results if result.summary_id is not None
            ),
            mode_assignments=tuple(chain.from_iterable(result.assignments for result in results)),
        )

    async def _context(self, agent_id: str) -> tuple[str, ...]:
        """Return texts that help to understand the members of groups; none by default."""
        del agent_id
        return ()

    async def _consolidate(
        self, group: ConsolidationGroup, agent_id: str, context: Sequence[str]
    ) -> _GroupResult:
        condensed = await self._op.condense(
            group.category,
            [_member(entry) for entry in group.to_remove],
            kept=_member(group.kept),
            context=context,
        )
        if condensed.fallback and self._move_to_archive is None:
            _log.warning(
                "a group is left unchanged: no language model answered and there is no archive"
            )
            return _GroupResult()
        summary_id = await self._backend.store(agent_id, _request(group, condensed))
        modes = {assignment.original_id: assignment.mode for assignment in condensed.assignments}
        removable = set(condensed.removable_ids)
        removed = [
            entry.id
            for entry in group.to_remove
            if entry.id in removable and await self._remove(agent_id, entry, modes.get(entry.id))
        ]
        removed_ids = set(removed)
        assigned = tuple(
            assignment
            for assignment in condensed.assignments
            if assignment.original_id in removed_ids
        )
        return _GroupResult(summary_id, tuple(removed), assigned)

    async def _remove(self, agent_id: str, entry: MemoryEntry, mode: ArchivalMode | None) -> bool:
        """Archive *entry* and remove it; return whether it counts as removed."""
        try:
            if self._move_to_archive is not None and await self._move_to_archive(
                agent_id, entry, mode or ArchivalMode.EXTRACTIVE
            ):
                return True
            is_deleted = await self._backend.delete(agent_id, entry.id)
        except (MemdError, OSError) as error:
            _log.warning("memory %s was not removed: %s", entry.id, type(error).__name__)
            return False
        if not is_deleted:
            _log.warning("memory %s was not there to be removed", entry.id)
        return is_deleted or self._missing_is_removed


class SimpleConsolidationStrategy(CompositeConsolidationStrategy):
    """Lists the beginnings of a group's memories (SPEC 16.6)."""

    def __init__(
        self,
        *,
        backend: MemoryBackend,
        group_threshold: int = GROUP_THRESHOLD,
        move_to_archive: MoveToArchive | None = None,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(
            backend=backend,
            selector=HighestRelevanceSelector(group_threshold=group_threshold),
            op=ConcatenationOp(),
            move_to_archive=move_to_archive,
            clock=clock,
        )


class DualModeConsolidationStrategy(CompositeConsolidationStrategy):
    """Extracts the facts of dense groups and shortens sparse ones (SPEC 16.9).

    Memories that the backend no longer has do not count as removed.
    """

    def __init__(  # noqa: PLR0913  # the documented parameters, all by name
        self,
        *,
        backend: MemoryBackend,
        classifier: DensityClassifier | None = None,
        extractor: ExtractivePreserver | None = None,
        summarizer: AbstractiveSummarizer | None = None,
        group_threshold: int = GROUP_THRESHOLD,
        move_to_archive: MoveToArchive | None = None,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(
            backend=backend,
            selector=HighestRelevanceSelector(group_threshold=group_threshold),
            op=DensityRoutingOp(classifier=classifier, extractor=extractor, summarizer=summarizer),
            move_to_archive=move_to_archive,
            clock=clock,
        )
        self._missing_is_removed = False


class LLMConsolidationStrategy(CompositeConsolidationStrategy):
    """Lets a language model write the summaries, several at the same time (SPEC 16.11).

    Without a *provider*, summaries list the beginnings of the memories.
    """

    def __init__(
        self,
        *,
        backend: MemoryBackend,
        provider: CompletionProvider | None = None,
        model: str | None = None,
        config: LLMConsolidationConfig | None = None,
        move_to_archive: MoveToArchive | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._config = config or LLMConsolidationConfig()
        super().__init__(
            backend=backend,
            selector=HighestRelevanceSelector(
                group_threshold=self._config.group_threshold, threshold_min=_LLM_THRESHOLD_MIN
            ),
            op=LLMSynthesisOp(provider=provider, model=model, config=self._config),
            move_to_archive=move_to_archive,
            clock=clock,
        )
        self._uses_context = provider is not None and self._config.include_distillation_context
        self._groups_at_once = PROVIDER_REQUESTS_MAX

    async def _context(self, agent_id: str) -> tuple[str, ...]:
        """Return the newest distillations for all groups; none if they cannot be read."""
        if not self._uses_context:
            return ()
        count = self._config.max_trajectory_context_entries
        query = MemoryQuery(
            tags=(DISTILLATION_TAG,), limit=min(_LOOKUP_FACTOR * count, PAGE_ITEMS_MAX)
        )
        try:
            entries = await self._backend.retrieve(agent_id, query)
        except (MemdError, OSError) as error:
            _log.warning("no context for the summaries: %s", type(error).__name__)
            return ()
        newest = sorted(entries, key=lambda entry: entry.created_at, reverse=True)[:count]
        return tuple(entry.content for entry in newest)


def _backend_archive(backend: MemoryBackend) -> MoveToArchive | None:
    """Return a function that archives in *backend*, or None if it has no archive."""
    if not isinstance(backend, SupportsArchive):
        return None

    async def move_to_archive(agent_id: str, entry: MemoryEntry, mode: ArchivalMode) -> bool:
        return await backend.move_to_archive(agent_id, entry.id, mode) is not None

    return move_to_archive


def _member(entry: MemoryEntry) -> GroupMember:
    return GroupMember(entry.id, entry.content)


def _request(group: ConsolidationGroup, condensed: CondensedGroup) -> MemoryStoreRequest:
    """Return the request that stores a group's summary where its sources are (SPEC D9)."""
    return MemoryStoreRequest(
        category=group.category,
        namespace=group.namespace,
        content=condensed.text,
        metadata=MemoryMetadata(source=SUMMARY_SOURCE, tags=condensed.tags),
        level=group.level,
        project_id=group.project_id,
        session_id=group.session_id,
    )
