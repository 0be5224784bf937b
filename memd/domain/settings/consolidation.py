"""The settings of nights (retention, consolidation, archiving, wiki export) and of lessons.

The keys are those of the documents (SPEC 16.1, D25). memd adds *strategy* and the thresholds
of groups and of session compression. ``dual_mode`` can be set in two places: if both are set
and differ, *strategy* takes precedence with a ``SettingsWarning``.
"""

from __future__ import annotations

import warnings
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from memd.base.limits import PAGE_ITEMS_MAX
from memd.base.settings import SettingsWarning
from memd.domain.enums import ConsolidationInterval, MemoryCategory
from memd.domain.sleep.consolidation import ConsolidationStrategyType, LLMConsolidationConfig
from memd.domain.values import NotBlankStr, SafePath, Share, Value

Days = Annotated[int, Field(ge=1)]


class RetentionRule(Value):
    """The retention of one category."""

    category: MemoryCategory
    """The category."""
    retention_days: Days
    """Days after which its memories move to the trash."""


def _unique_categories(rules: tuple[RetentionRule, ...]) -> tuple[RetentionRule, ...]:
    categories = [rule.category for rule in rules]
    repeated = sorted({name for name in categories if categories.count(name) > 1})
    if repeated:
        raise ValueError(f"each category may have one rule, {', '.join(repeated)} has several")
    return rules


RetentionRules = Annotated[tuple[RetentionRule, ...], AfterValidator(_unique_categories)]


class RetentionConfig(Value):
    """The retention of agents without settings of their own."""

    rules: RetentionRules = ()
    default_retention_days: Days | None = None
    """Same as `memory.options.retention_days`; this one takes precedence."""


class DualModeConfig(Value):
    """Summaries of prose, and verbatim facts of dense texts.

    Without a *summarization_model* memd summarises by rule (SPEC D8).
    """

    enabled: bool = False
    """Same as strategy `dual_mode`: prose is summarised, dense texts keep their facts."""
    dense_threshold: Share = 0.5
    """Density from which a text counts as dense; 0: every text."""
    summarization_model: NotBlankStr | None = None
    """Model that writes the summaries of prose; needs `llm.provider`. Without it they are made by
    rule.
    """
    max_summary_tokens: int = Field(default=200, ge=50, le=1000)
    """Maximum length of such a summary; needs `summarization_model`."""
    max_facts: int = Field(default=20, ge=1, le=100)
    """Maximum number of facts kept of a dense text."""
    anchor_length: int = Field(default=150, ge=50, le=500)
    """Characters kept of its beginning, middle and end."""


class ArchivalConfig(Value):
    """When consolidated memories move to the archive, which always happens (SPEC D9)."""

    enabled: bool = True
    """`false` has no effect: memd never drops an original."""
    age_threshold_days: Days = 90
    """Days after which the sources of a summary move to the archive."""
    dual_mode: DualModeConfig = DualModeConfig()

    @model_validator(mode="after")
    def _warn_if_disabled(self) -> Self:
        if not self.enabled:
            warn("archival.enabled = false has no effect: memd never drops an original")
        return self


class ExperienceCompressorConfig(Value):
    """Distillation of detailed experiences by a language model (SPEC 16.15).

    A reply whose ratio is below *min_compression_ratio* is discarded. As in the documents, the
    ratio is the length of the reply divided by that of the experience: a value near 1 keeps
    only replies that are hardly shorter.
    """

    enabled: bool = False
    """Let nights extract lessons from detailed experiences; needs `llm.provider`."""
    model: NotBlankStr | None = None
    """Model to use; default: `llm.model`."""
    temperature: Share = 0.3
    """Temperature of the model."""
    max_tokens: int = Field(default=1000, ge=100, le=4000)
    """Maximum tokens per experience."""
    min_compression_ratio: Share = Field(default=0.0, lt=1.0)
    """Drop results shorter than this share of the experience."""


class WikiExportConfig(Value):
    """Memories as a folder of Markdown files (SPEC 16.16, D16).

    The default *export_root* is ``wiki`` in memd's data folder. *enabled* exports after each
    consolidation; an export by hand always works, unless ``enabled = false`` is explicit.
    """

    enabled: bool = False
    """`true`: write the wiki as `trigger` says; an explicit `false` also refuses `memd wiki`."""
    export_root: SafePath | None = None
    """Target folder; default: `wiki`. A relative path is beside the database."""
    trigger: Literal["on_consolidation", "manual"] = "manual"
    """Write after each night, or only with `memd wiki`."""
    include_raw_tier: bool = True
    """Write pages of single memories."""
    include_compressed_tier: bool = True
    """Write pages of summaries."""
    max_entries_per_view: int | None = Field(default=None, ge=1, le=PAGE_ITEMS_MAX)
    """Maximum number of pages per part; default: all."""


class ConsolidationConfig(Value):
    """Schedule, strategy, thresholds and retention of nights.

    Groups of at least *group_threshold* memories are consolidated. More than
    *compression_threshold* sessions start a compression of the oldest: of
    *compression_sessions*, or of half the threshold (SPEC 3).
    """

    enabled: bool = True
    """Run nights automatically; `false` also stops a running one."""
    interval: ConsolidationInterval = ConsolidationInterval.DAILY
    """Same as `memory.options.consolidation_interval`; this one takes precedence."""
    strategy: ConsolidationStrategyType = ConsolidationStrategyType.SIMPLE
    """How memories are consolidated; `llm` needs `llm.provider`."""
    group_threshold: int = Field(default=3, ge=2)
    """Minimum number of memories of one group to consolidate."""
    compression_threshold: int = Field(default=10, ge=1)
    """Compress the oldest sessions when there are more than this."""
    compression_sessions: int | None = Field(default=None, ge=1)
    """Number of sessions to compress; default: half of `compression_threshold`."""
    max_memories_per_agent: int = Field(default=10_000, ge=1)
    """Same as `memory.options.max_memories_per_agent`; this one takes precedence."""
    retention: RetentionConfig = RetentionConfig()
    archival: ArchivalConfig = ArchivalConfig()
    llm: LLMConsolidationConfig = LLMConsolidationConfig()
    experience_compressor: ExperienceCompressorConfig = ExperienceCompressorConfig()
    wiki_export: WikiExportConfig = WikiExportConfig()

    @model_validator(mode="after")
    def _resolve_strategy(self) -> Self:
        dual = ConsolidationStrategyType.DUAL_MODE
        if not self.archival.dual_mode.enabled or self.strategy is dual:
            return self
        if "strategy" in self.model_fields_set:
            warn(
                "memory.consolidation.archival.dual_mode.enabled = true is overruled by "
                f"memory.consolidation.strategy = {self.strategy}"
            )
        else:
            # The model is frozen, so its validator sets the field through __dict__.
            self.__dict__.update(strategy=dual)
        return self


def warn(message: str) -> None:
    """Warn that a setting is overruled or has no effect."""
    warnings.warn(message, SettingsWarning, stacklevel=3)


class ProceduralMemoryConfig(Value):
    """Lessons from reported failures, and their export as skills."""

    enabled: bool = True
    """Turn reported failures into lessons."""
    model: NotBlankStr = "example-small-001"
    """Placeholder of the documents; another model is used with `llm.uses.lessons`."""
    temperature: float = Field(default=0.3, ge=0.0, le=2.0)
    """Temperature of that model."""
    max_tokens: int = Field(default=1_500, ge=1)
    """Maximum tokens of its answer."""
    min_confidence: Share = 0.5
    """Lessons with a lower confidence are not stored."""
    skill_md_directory: SafePath | None = None
    """Folder in which lessons are written as skills, `<name>/SKILL.md`, such as
    `~/.claude/skills`; without it none are written. A relative path is beside the database.
    """
