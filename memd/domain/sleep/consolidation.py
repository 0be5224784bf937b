"""What consolidation makes, and the doors to it: results, archived entries, strategies (SPEC 16).

The names and fields are the documents' (seed 002). A result says which memories
went and what stands for them, and its validator holds the sums together, so that
whoever archives, counts or undoes may rely on them. The two tiers of experience
are values only: what compresses them belongs to the learning room.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Protocol, Self, runtime_checkable

from pydantic import Field, model_validator

from memd.domain.enums import MemoryCategory
from memd.domain.memory import MemoryEntry, MemoryMetadata, MemoryQuery
from memd.domain.values import Name, NotBlankStr, Text, Time, Value

CONSOLIDATED_TAG = "consolidated"
COMPRESSED_TAG = "compressed"
CORE_TAG = "core"
DISTILLATION_TAG = "distillation"
DETAILED_TAG = "detailed_experience"
FILE_TAG = "memory-file"
COMPRESSED_EXPERIENCE_TAG = "compressed_experience"
LESSON_TAG = "lesson"
NAP_TAG = "nap"
FIX_TAG = "fix"
COMPOSED_TAGS = frozenset(
    (
        "decision",
        "correction",
        "preference",
        "constraint",
        "environment",
        FIX_TAG,
        "outcome",
        "digest",
    )
)
"""What a memory that a nap composed of an exchange is, beside NAP_TAG; a fact of a nap has none."""

SUMMARY_SOURCE = "consolidation"
"""The ``source`` of every memory that consolidation makes."""

SUMMARY_TAGS = frozenset((CONSOLIDATED_TAG, COMPRESSED_TAG, COMPRESSED_EXPERIENCE_TAG))
"""What has one of these was made from other memories and is not made into anything again."""

PROTECTED_TAGS = frozenset((CORE_TAG, DISTILLATION_TAG, DETAILED_TAG, FILE_TAG, LESSON_TAG))
"""What has one of these is never consolidated (SPEC D9)."""


def is_composed(tags: Collection[str]) -> bool:
    """Return whether *tags* are those of a memory that a nap composed of an exchange."""
    return NAP_TAG in tags and not COMPOSED_TAGS.isdisjoint(tags)


class ConsolidationStrategyType(StrEnum):
    """How a group of memories becomes one summary."""

    SIMPLE = "simple"
    DUAL_MODE = "dual_mode"
    LLM = "llm"


class ArchivalMode(StrEnum):
    """How a memory was shortened before its original was put away."""

    ABSTRACTIVE = "abstractive"
    EXTRACTIVE = "extractive"


class ContentDensity(StrEnum):
    """How much of a text is fact: sparse is conversation, dense is code and configuration."""

    SPARSE = "sparse"
    DENSE = "dense"


class ArchivalModeAssignment(Value):
    """Which mode a removed memory was shortened with. Set by a strategy."""

    original_id: Name
    mode: ArchivalMode


class ArchivalIndexEntry(Value):
    """Where a removed memory is in the archive. Set by the service.

    ``ArchivalStore.restore`` takes the *archival_id*, not the original's.
    """

    original_id: Name
    archival_id: Name
    mode: ArchivalMode


class ConsolidationResult(Value):
    """What one consolidation did (SPEC 16.12).

    No id stands twice, nothing is assigned or indexed that was not removed, and no
    more was indexed than archived, nor archived than removed.
    """

    removed_ids: tuple[Name, ...] = ()
    summary_ids: tuple[Name, ...] = ()
    archived_count: int = Field(default=0, ge=0)
    mode_assignments: tuple[ArchivalModeAssignment, ...] = ()
    archival_index: tuple[ArchivalIndexEntry, ...] = ()

    # Plain properties: in a dump they would be unknown fields when it is read back.

    @property
    def summary_id(self) -> str | None:
        """Return the last summary made, or None."""
        return self.summary_ids[-1] if self.summary_ids else None

    @property
    def consolidated_count(self) -> int:
        """Return how many memories a summary stands for now."""
        return len(self.removed_ids)

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        assigned = tuple(one.original_id for one in self.mode_assignments)
        indexed = tuple(one.original_id for one in self.archival_index)
        named = {
            "removed_ids": self.removed_ids,
            "summary_ids": self.summary_ids,
            "mode_assignments": assigned,
            "archival_index": indexed,
        }
        for field, ids in named.items():
            if len(set(ids)) < len(ids):
                raise ValueError(f"{field} must not name a memory twice")
        for field in ("mode_assignments", "archival_index"):
            if not set(named[field]) <= set(self.removed_ids):
                raise ValueError(f"{field} must name removed memories only")
        if not len(indexed) <= self.archived_count <= len(self.removed_ids):
            raise ValueError("archived_count must lie between archival_index and removed_ids")
        return self


class ArchivalEntry(Value):
    """A memory in the archive: content, metadata and time as they were."""

    original_id: Name
    agent_id: Name
    content: Text
    category: MemoryCategory
    metadata: MemoryMetadata = MemoryMetadata()
    created_at: Time
    archived_at: Time
    archival_mode: ArchivalMode

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.archived_at < self.created_at:
            raise ValueError("archived_at must not be before created_at")
        return self


class DetailedExperience(Value):
    """A raw trace of one task or turn: kept as it is, read by id, never put into a prompt."""

    id: Name
    agent_id: Name
    prompt: NotBlankStr
    output: NotBlankStr
    verification_feedback: NotBlankStr | None = None
    reasoning_trace: tuple[NotBlankStr, ...] = ()
    metadata: MemoryMetadata
    created_at: Time
    source_task_id: Name | None = None

    @model_validator(mode="after")
    def _tagged(self) -> Self:
        _need_tag(self.metadata, DETAILED_TAG)
        return self


class CompressedExperience(Value):
    """What was learned from raw traces: this is what an assistant is shown.

    *compression_ratio* is the length of the learning by that of the traces.
    """

    id: Name
    agent_id: Name
    strategic_decisions: Annotated[tuple[NotBlankStr, ...], Field(min_length=1)]
    applicable_contexts: tuple[NotBlankStr, ...] = ()
    source_artifact_ids: Annotated[tuple[Name, ...], Field(min_length=1)]
    compression_ratio: float = Field(gt=0.0, le=1.0)
    compressor_version: Name
    metadata: MemoryMetadata
    created_at: Time

    @model_validator(mode="after")
    def _tagged(self) -> Self:
        _need_tag(self.metadata, COMPRESSED_EXPERIENCE_TAG)
        return self


class LLMConsolidationConfig(Value):
    """The bounds of a consolidation by a language model (SPEC 16.1, 16.11).

    Sizes in characters bound what is sent, *max_summary_tokens* what comes back. They need
    strategy `llm`; those of both hold for `llm.uses.compression` as well.
    """

    group_threshold: int = Field(default=3, ge=3)
    """Minimum number of memories of one group to summarise; strategy `llm`."""
    temperature: float = Field(default=0.3, ge=0.0, le=2.0)
    """Temperature of the model; applies to both uses."""
    max_summary_tokens: int = Field(default=500, ge=50)
    """Maximum length of a summary; applies to both uses."""
    include_distillation_context: bool = True
    """Show the model the outcomes of earlier tasks; strategy `llm`."""
    max_trajectory_context_entries: int = Field(default=5, ge=1)
    """Maximum number of earlier tasks."""
    max_trajectory_chars_per_entry: int = Field(default=500, ge=50)
    """Characters of each."""
    max_entry_input_chars: int = Field(default=2000, ge=100)
    """Characters of each memory that are sent; applies to both uses."""
    max_total_user_content_chars: int = Field(default=20_000, ge=1000)
    """Characters sent at once; what does not fit is not archived. Applies to both uses."""
    fallback_truncate_length: int = Field(default=200, ge=50)
    """Characters of each memory listed when the model fails; strategy `llm`."""

    @model_validator(mode="after")
    def _an_entry_fits(self) -> Self:
        if self.max_entry_input_chars > self.max_total_user_content_chars:
            raise ValueError(
                "max_entry_input_chars must not be more than max_total_user_content_chars"
            )
        return self


@runtime_checkable
class ConsolidationStrategy(Protocol):
    """Makes few memories out of many."""

    async def consolidate(
        self, entries: tuple[MemoryEntry, ...], agent_id: NotBlankStr
    ) -> ConsolidationResult:
        """Consolidate *entries* of one agent and return what was done."""
        ...


def archival_entry(entry: MemoryEntry, mode: ArchivalMode, now: datetime) -> ArchivalEntry:
    """Return *entry* as it goes into an archive at *now*, content and metadata as they are."""
    return ArchivalEntry(
        original_id=entry.id,
        agent_id=entry.agent_id,
        content=entry.content,
        category=entry.category,
        metadata=entry.metadata,
        created_at=entry.created_at,
        archived_at=max(now, entry.created_at),  # a clock may run backwards
        archival_mode=mode,
    )


@runtime_checkable
class ArchivalStore(Protocol):
    """Keeps what was put away, and gives it back to its owner only (SPEC 16.13)."""

    async def archive(self, entry: ArchivalEntry) -> NotBlankStr:
        """Keep *entry* and return its id in the archive."""
        ...

    async def search(self, agent_id: NotBlankStr, query: MemoryQuery) -> tuple[ArchivalEntry, ...]:
        """Return what the agent has in the archive and *query* matches."""
        ...

    async def restore(self, agent_id: NotBlankStr, entry_id: NotBlankStr) -> ArchivalEntry | None:
        """Return an archived entry by its *archival* id; None when unknown or another's.

        It stays in the archive.
        """
        ...

    async def count(self, agent_id: NotBlankStr) -> int:
        """Return how many entries the agent has in the archive."""
        ...


@runtime_checkable
class KeepsArchive(Protocol):
    """A backend with an archive of its own, into which a memory goes in one step."""

    @property
    def archival_store(self) -> ArchivalStore:
        """Return the archive, to search and restore; the same one each time."""
        ...

    async def move_to_archive(
        self,
        agent_id: NotBlankStr,
        memory_id: NotBlankStr,
        mode: ArchivalMode = ArchivalMode.EXTRACTIVE,
    ) -> NotBlankStr | None:
        """Move a memory into the archive, all or nothing; return its id there.

        None when the agent has no such memory.
        """
        ...


def _need_tag(metadata: MemoryMetadata, tag: str) -> None:
    if tag not in metadata.tags:
        raise ValueError(f"metadata.tags must contain {tag}")
