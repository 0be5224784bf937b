"""Results of consolidation, archived entries, composed memories, and protocols (SPEC 16).

Names and fields are those of the documents (seed 002). A result lists the removed memories and
their summaries; its validator keeps the counts consistent for archiving and undo. The two
tiers of experience are only values here; ``learn`` compresses them.

A composed memory is one text that a nap makes from an exchange. It has up to four parts: what
the user said, what that corrects, what it answers, and its outcome.
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
EVERYWHERE_TAG = "everywhere"
FIX_TAG = "fix"
DIGEST_TAG = "digest"
WISH_TAG = "preference"
COMPOSED_TAGS = frozenset(
    (
        "decision",
        "correction",
        WISH_TAG,
        "constraint",
        "environment",
        FIX_TAG,
        "outcome",
        DIGEST_TAG,
    )
)
"""Tags of composed memories, in addition to NAP_TAG. Facts of a nap have none of them."""

SUMMARY_SOURCE = "consolidation"
"""The ``source`` of every memory that consolidation creates."""

SUMMARY_TAGS = frozenset((CONSOLIDATED_TAG, COMPRESSED_TAG, COMPRESSED_EXPERIENCE_TAG))
"""Tags of memories that were made from others and are not consolidated again."""

PROTECTED_TAGS = frozenset((CORE_TAG, DISTILLATION_TAG, DETAILED_TAG, FILE_TAG, LESSON_TAG))
"""Tags of memories that are never consolidated (SPEC D9)."""


def is_composed(tags: Collection[str]) -> bool:
    """Return whether a memory with these *tags* is a composed one."""
    return NAP_TAG in tags and not COMPOSED_TAGS.isdisjoint(tags)


OPEN_FIELD, USER_OPEN_FIELD = "Open", "Open (user)"
"""Labels in a digest of open tasks, as the agent and as the user stated them."""
ENDED_FIELD, DIGEST_JOINT = "Ended with", " \u00b7 "
"""The label in a digest of how the session ended, and the separator of its requests."""
OUTCOME_PART, ANSWER_PART = "\nOutcome: ", "\nIn answer to: "
"""Begin the parts of a composed memory with its outcome, and with what the user answered."""
USER_PREFIX = "User: "
"""Begins a composed memory that has other parts than the user's words."""
CORRECTED_PART = "\nCorrects: "
"""Begins the part of a composed memory with the user's earlier words, which are corrected."""


def without_outcome(content: str) -> str:
    r"""Return the text of a composed memory without its outcome.

    >>> without_outcome("Never push on Fridays.\nOutcome: The job is off.")
    'Never push on Fridays.'
    """
    return content.partition(OUTCOME_PART)[0]


def is_answer(content: str) -> bool:
    r"""Return whether a composed memory has the user's words and the text that they answer.

    >>> is_answer("User: No, 9443.\nIn answer to: It is 8080."), is_answer("User: no")
    (True, False)
    """
    return content.startswith(USER_PREFIX) and ANSWER_PART in content


def user_part(content: str) -> str:
    """Return the user's words in a composed memory, the whole text of any other memory."""
    text = without_outcome(content).partition(ANSWER_PART)[0].partition(CORRECTED_PART)[0]
    return text.removeprefix(USER_PREFIX)


def corrected_part(content: str) -> str:
    r"""Return the user's earlier words that a composed memory corrects, "" if it corrects none.

    >>> corrected_part("no, 290\nCorrects: the fee is 260 euro"), corrected_part("no, 290")
    ('the fee is 260 euro', '')
    """
    return without_outcome(content).partition(ANSWER_PART)[0].partition(CORRECTED_PART)[2]


def composed_parts(content: str) -> list[str]:
    r"""Return the parts of a composed memory without their labels; a missing part is left out.

    The order is: the user's words, what they correct, what they answer, the outcome.

    >>> composed_parts("User: No, 9443.\nIn answer to: The port is 8080.\nOutcome: It answers.")
    ['No, 9443.', 'The port is 8080.', 'It answers.']
    """
    text, has_outcome, outcome = content.partition(OUTCOME_PART)
    text, has_answer, answered = text.partition(ANSWER_PART)
    text, has_correction, corrected = text.partition(CORRECTED_PART)
    parts = [text.removeprefix(USER_PREFIX)]
    if has_correction:
        parts.append(corrected)
    if has_answer:
        parts.append(answered)
    if has_outcome:
        parts.append(outcome)
    return parts


class ConsolidationStrategyType(StrEnum):
    """How a group of memories becomes one summary."""

    SIMPLE = "simple"
    DUAL_MODE = "dual_mode"
    LLM = "llm"


class ArchivalMode(StrEnum):
    """How a memory was shortened before its original was archived."""

    ABSTRACTIVE = "abstractive"
    EXTRACTIVE = "extractive"


class ContentDensity(StrEnum):
    """How many facts a text has: sparse is conversation, dense is code and configuration."""

    SPARSE = "sparse"
    DENSE = "dense"


class ArchivalModeAssignment(Value):
    """The mode by which a removed memory was shortened. Set by a strategy."""

    original_id: Name
    mode: ArchivalMode


class ArchivalIndexEntry(Value):
    """The archival id of a removed memory. Set by the service.

    ``ArchivalStore.restore`` takes the *archival_id*, not the original's.
    """

    original_id: Name
    archival_id: Name
    mode: ArchivalMode


class ConsolidationResult(Value):
    """The result of one consolidation (SPEC 16.12).

    Ids are unique, only removed memories are assigned or indexed, and indexed <= archived <=
    removed.
    """

    removed_ids: tuple[Name, ...] = ()
    summary_ids: tuple[Name, ...] = ()
    archived_count: int = Field(default=0, ge=0)
    mode_assignments: tuple[ArchivalModeAssignment, ...] = ()
    archival_index: tuple[ArchivalIndexEntry, ...] = ()

    # Plain properties, not computed fields: a dump with these would not load, as unknown fields.

    @property
    def summary_id(self) -> str | None:
        """Return the last summary made, or None."""
        return self.summary_ids[-1] if self.summary_ids else None

    @property
    def consolidated_count(self) -> int:
        """Return the number of memories replaced by summaries."""
        return len(self.removed_ids)

    @model_validator(mode="after")
    def _check_ids(self) -> Self:
        assigned = tuple(item.original_id for item in self.mode_assignments)
        indexed = tuple(item.original_id for item in self.archival_index)
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
    """A memory in the archive, with its original content, metadata and time."""

    original_id: Name
    agent_id: Name
    content: Text
    category: MemoryCategory
    metadata: MemoryMetadata = MemoryMetadata()
    created_at: Time
    archived_at: Time
    archival_mode: ArchivalMode

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.archived_at < self.created_at:
            raise ValueError("archived_at must not be before created_at")
        return self


class DetailedExperience(Value):
    """A raw trace of one task or turn: stored unchanged, read by id, never injected."""

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
    def _check_tag(self) -> Self:
        _require_tag(self.metadata, DETAILED_TAG)
        return self


class CompressedExperience(Value):
    """What was learned from raw traces; only this tier is injected.

    *compression_ratio* is the length of this text divided by that of the traces.
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
    def _check_tag(self) -> Self:
        _require_tag(self.metadata, COMPRESSED_EXPERIENCE_TAG)
        return self


class LLMConsolidationConfig(Value):
    """The bounds of a consolidation by a language model (SPEC 16.1, 16.11).

    Sizes in characters bound what is sent, *max_summary_tokens* the answer. They apply to
    strategy `llm`, and some also to `llm.uses.compression`, see each field.
    """

    group_threshold: int = Field(default=3, ge=3)
    """Minimum number of memories of one group to summarise; strategy `llm`."""
    temperature: float = Field(default=0.3, ge=0.0, le=2.0)
    """Temperature of the model; also for `llm.uses.compression`."""
    max_summary_tokens: int = Field(default=500, ge=50)
    """Maximum length of a summary; also for `llm.uses.compression`."""
    include_distillation_context: bool = True
    """Show the model the outcomes of earlier tasks; strategy `llm`."""
    max_trajectory_context_entries: int = Field(default=5, ge=1)
    """Maximum number of earlier tasks."""
    max_trajectory_chars_per_entry: int = Field(default=500, ge=50)
    """Maximum number of characters of each earlier task."""
    max_entry_input_chars: int = Field(default=2000, ge=100)
    """Characters of each memory that are sent; also for `llm.uses.compression`."""
    max_total_user_content_chars: int = Field(default=20_000, ge=1000)
    """Characters sent at once; memories that do not fit are not archived. Also for
    `llm.uses.compression`.
    """
    fallback_truncate_length: int = Field(default=200, ge=50)
    """Characters of each memory in the list that replaces a summary when the model fails."""

    @model_validator(mode="after")
    def _check_chars(self) -> Self:
        if self.max_entry_input_chars > self.max_total_user_content_chars:
            raise ValueError(
                "max_entry_input_chars must not be more than max_total_user_content_chars"
            )
        return self


@runtime_checkable
class ConsolidationStrategy(Protocol):
    """A strategy that makes few memories out of many."""

    async def consolidate(
        self, entries: tuple[MemoryEntry, ...], agent_id: NotBlankStr
    ) -> ConsolidationResult:
        """Consolidate *entries* of one agent."""
        ...


def archival_entry(entry: MemoryEntry, mode: ArchivalMode, now: datetime) -> ArchivalEntry:
    """Return the archival entry of *entry* at *now*, content and metadata unchanged."""
    return ArchivalEntry(
        original_id=entry.id,
        agent_id=entry.agent_id,
        content=entry.content,
        category=entry.category,
        metadata=entry.metadata,
        created_at=entry.created_at,
        archived_at=max(now, entry.created_at),  # the clock may have been set back
        archival_mode=mode,
    )


@runtime_checkable
class ArchivalStore(Protocol):
    """An archive, from which only an entry's own agent can read it (SPEC 16.13)."""

    async def archive(self, entry: ArchivalEntry) -> NotBlankStr:
        """Store *entry* and return its id in the archive."""
        ...

    async def search(self, agent_id: NotBlankStr, query: MemoryQuery) -> tuple[ArchivalEntry, ...]:
        """Return the agent's archived entries that match *query*."""
        ...

    async def restore(self, agent_id: NotBlankStr, entry_id: NotBlankStr) -> ArchivalEntry | None:
        """Return an archived entry by its archival id; it stays in the archive.

        None if the id is unknown or belongs to another agent.
        """
        ...

    async def count(self, agent_id: NotBlankStr) -> int:
        """Return how many entries the agent has in the archive."""
        ...


@runtime_checkable
class SupportsArchive(Protocol):
    """A backend with its own archive, into which it moves memories atomically."""

    @property
    def archival_store(self) -> ArchivalStore:
        """Return the archive, the same object each time."""
        ...

    async def move_to_archive(
        self,
        agent_id: NotBlankStr,
        memory_id: NotBlankStr,
        mode: ArchivalMode = ArchivalMode.EXTRACTIVE,
    ) -> NotBlankStr | None:
        """Move a memory into the archive atomically; return its id there.

        Returns None if the agent has no such memory.
        """
        ...


def _require_tag(metadata: MemoryMetadata, tag: str) -> None:
    if tag not in metadata.tags:
        raise ValueError(f"metadata.tags must contain {tag}")
