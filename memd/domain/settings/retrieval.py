"""The settings of ranking memories for prompts, and its result (SPEC 8).

A contradictory combination is an error. A value without effect is accepted with a
``SettingsWarning``, because one settings file may be used with several strategies.
"""

from __future__ import annotations

import math
import warnings
from typing import Literal, Self

from pydantic import Field, model_validator

from memd.base.settings import SettingsWarning
from memd.domain.enums import FusionStrategy, InjectionPoint, InjectionStrategy
from memd.domain.memory import MemoryEntry
from memd.domain.values import Share, Value

NON_INFERABLE_TAG = "non-inferable"
"""Tag for what cannot be inferred from the code: reasons, decisions, earlier failures."""

_WEIGHT_TOLERANCE = 1e-6

# A field, its default (None: warn of any value), and the setting and value without which the
# field has no effect (SPEC 8.2).
_NO_EFFECT: tuple[tuple[str, object, str, object], ...] = (
    ("rrf_k", 60, "fusion_strategy", FusionStrategy.RRF),
    ("personal_boost", 0.0, "fusion_strategy", FusionStrategy.LINEAR),
    ("diversity_lambda", 0.7, "diversity_penalty_enabled", True),
    ("candidate_pool_multiplier", 3, "diversity_penalty_enabled", True),
    ("max_workers_per_query", 2, "retriever", "hierarchical"),
    ("reflective_retry_enabled", None, "retriever", "hierarchical"),
    ("max_retry_count", 2, "retriever", "hierarchical"),
    ("rerank_cache_ttl_seconds", 3600, "query_specific_rerank_enabled", True),
)


class MemoryRetrievalConfig(Value):
    """The retrieval pipeline: strategy, weights, thresholds (SPEC 8.1, 8.2)."""

    strategy: InjectionStrategy = InjectionStrategy.CONTEXT
    """How a model gets memories: in the prompt, by tools, or in a core memory that it edits."""
    relevance_weight: Share = 0.7
    """Weight of relevance; must add up to 1 with `recency_weight`."""
    recency_weight: Share = 0.3
    """Weight of recency."""
    recency_decay_rate: float = Field(default=0.01, ge=0.0)
    """Decay per hour; at 0.01 recency halves in 69 hours."""
    personal_boost: Share = 0.1
    """Bonus of an agent's own memories over shared ones."""
    min_relevance: Share = 0.3
    """Minimum combined score (not relevance). If it is not set, recall decides by its own gate.
    """
    max_memories: int = Field(default=20, ge=1, le=100)
    """Maximum number of memories in a prompt."""
    include_shared: bool = True
    """Include shared memories."""
    default_relevance: Share = 0.5
    """No effect: a daemon computes a relevance for every candidate."""
    injection_point: InjectionPoint = InjectionPoint.SYSTEM
    """Role of the message with a prompt's memories; a brief is always of the role `system`."""
    non_inferable_only: bool = False
    """Use only memories tagged `non-inferable`: what cannot be inferred from the code."""
    fusion_strategy: FusionStrategy = FusionStrategy.LINEAR
    """Fusion by scores, or by the ranks of two searches (reciprocal rank fusion)."""
    rrf_k: int = Field(default=60, ge=1, le=1000)
    """Smoothing constant of `rrf`."""
    diversity_penalty_enabled: bool = False
    """Prefer diverse memories; strategy `context`."""
    diversity_lambda: Share = 0.7
    """1 is relevance only, 0 diversity only."""
    candidate_pool_multiplier: int = Field(default=3, ge=1, le=10)
    """Size of the pool to choose from, as a multiple of `max_memories`."""
    query_reformulation_enabled: bool = False
    """Reformulate tool searches that find too little, by rule; strategy `tool_based`."""
    max_reformulation_rounds: int = Field(default=2, ge=1, le=5)
    """Maximum number of reformulations."""
    retriever: Literal["flat", "hierarchical"] = "flat"
    """One search, or several parallel workers; strategy `context`."""
    max_workers_per_query: int = Field(default=2, ge=1, le=4)
    """Maximum number of workers; `hierarchical`."""
    reflective_retry_enabled: bool = True
    """Search again when results are poor; `hierarchical`."""
    max_retry_count: int = Field(default=2, ge=0, le=5)
    """Maximum number of retries; by rule one, with fewer words; 0: never."""
    query_specific_rerank_enabled: bool = False
    """Re-rank results with a second model: `memd model install --reranker`."""
    rerank_cache_ttl_seconds: int = Field(default=3600, ge=60, le=86_400)
    """How long the order of the same memories is cached."""
    synthesize: bool = False
    """Synthesize one block from all sources instead of listing memories; calls can override it."""

    @property
    def pool_size(self) -> int:
        """Return how many candidates to fetch and rank.

        With diversity enabled these are more than ``max_memories``, to choose from (SPEC 8.5.5):
        at most 1000, the largest limit of a query.
        """
        factor = self.candidate_pool_multiplier if self.diversity_penalty_enabled else 1
        return self.max_memories * factor

    @model_validator(mode="after")
    def _check_weights(self) -> Self:
        total = self.relevance_weight + self.recency_weight
        linear = self.fusion_strategy is FusionStrategy.LINEAR
        if linear and not math.isclose(total, 1.0, rel_tol=0.0, abs_tol=_WEIGHT_TOLERANCE):
            raise ValueError(
                "relevance_weight and recency_weight must sum to 1 when fusion_strategy is linear, "
                f"not to {total:g}; set both at once"
            )
        return self

    @model_validator(mode="after")
    def _check_strategy(self) -> Self:
        context, tools = InjectionStrategy.CONTEXT, InjectionStrategy.TOOL_BASED
        rules = (
            ("diversity_penalty_enabled", self.diversity_penalty_enabled, context),
            ("query_reformulation_enabled", self.query_reformulation_enabled, tools),
            ("retriever hierarchical", self.retriever == "hierarchical", context),
        )
        for name, used, strategy in rules:
            if used and self.strategy is not strategy:
                raise ValueError(f"{name} needs strategy {strategy}, not {self.strategy}")
        return self

    @model_validator(mode="after")
    def _warn_of_no_effect(self) -> Self:
        for name, default, needed, value in _NO_EFFECT:
            is_set = name in self.model_fields_set and getattr(self, name) != default
            if is_set and getattr(self, needed) != value:
                warnings.warn(
                    f"retrieval.{name} has no effect unless {needed} is {str(value).lower()}",
                    SettingsWarning,
                    stacklevel=2,
                )
        return self


class ScoredMemory(Value):
    """A memory with its scores.

    With linear fusion *relevance_score* includes the personal boost, *recency_score* depends on
    the age, and *combined_score* is their weighted sum. With RRF *relevance_score* is the
    backend's, *recency_score* is 0, and *combined_score* is the normalised fused score.
    """

    entry: MemoryEntry
    relevance_score: Share
    recency_score: Share
    combined_score: Share
    is_shared: bool = False
    scoring_strategy: FusionStrategy | None = None
