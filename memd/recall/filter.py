"""Which ranked memories may be put into a prompt (SPEC 8.7).

An assistant can read for itself what stands in the code; what it cannot infer
(why, who decided, what failed before) is tagged ``non-inferable``. A filter
that fails lets nothing through: an empty prompt is safer than an unfiltered one.
"""

from __future__ import annotations

import logging
from typing import Protocol, runtime_checkable

from memd.domain.settings.retrieval import NON_INFERABLE_TAG, ScoredMemory

_log = logging.getLogger(__name__)


@runtime_checkable
class MemoryFilterStrategy(Protocol):
    """Decides which memories may be put into a prompt."""

    @property
    def strategy_name(self) -> str:
        """Return the name of the strategy."""
        ...

    def filter_for_injection(self, memories: tuple[ScoredMemory, ...]) -> tuple[ScoredMemory, ...]:
        """Return the memories that may pass, in the same order."""
        ...


class TagBasedMemoryFilter:
    """Lets memories pass that have one tag."""

    def __init__(self, required_tag: str = NON_INFERABLE_TAG) -> None:
        self._tag = required_tag.strip()
        if not self._tag:
            raise ValueError("required_tag must not be blank")

    @property
    def strategy_name(self) -> str:
        return "tag_based"

    def filter_for_injection(self, memories: tuple[ScoredMemory, ...]) -> tuple[ScoredMemory, ...]:
        return tuple(memory for memory in memories if self._tag in memory.entry.metadata.tags)


class PassthroughMemoryFilter:
    """Lets every memory pass."""

    @property
    def strategy_name(self) -> str:
        return "passthrough"

    def filter_for_injection(self, memories: tuple[ScoredMemory, ...]) -> tuple[ScoredMemory, ...]:
        return memories


def filter_for_injection(
    memories: tuple[ScoredMemory, ...],
    memory_filter: MemoryFilterStrategy | None = None,
    *,
    non_inferable_only: bool = False,
) -> tuple[ScoredMemory, ...]:
    """Return what *memory_filter* lets pass; without one, what *non_inferable_only* says.

    A filter that raises lets nothing pass, and a warning is logged. Only an
    exhausted memory or stack goes on upwards.
    """
    if memory_filter is None:
        memory_filter = TagBasedMemoryFilter() if non_inferable_only else PassthroughMemoryFilter()
    try:
        return tuple(memory_filter.filter_for_injection(memories))
    except (MemoryError, RecursionError):
        raise
    except Exception as error:  # noqa: BLE001  # somebody else's code decides; see the contract
        _log.warning("a memory filter failed, nothing passes: %s", type(error).__name__)
        return ()
