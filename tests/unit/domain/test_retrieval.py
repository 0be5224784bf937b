"""SPEC 8.1, 8.2: the retrieval settings."""

from __future__ import annotations

import math
import warnings
from typing import Any

import pytest
from pydantic import ValidationError
from support.entries import an_entry

from memd.base.settings import SettingsWarning
from memd.domain.settings.retrieval import MemoryRetrievalConfig, ScoredMemory

BOUNDS = {
    "relevance_weight": (0, 1),
    "recency_weight": (0, 1),
    "personal_boost": (0, 1),
    "min_relevance": (0, 1),
    "max_memories": (1, 100),
    "default_relevance": (0, 1),
    "rrf_k": (1, 1000),
    "diversity_lambda": (0, 1),
    "candidate_pool_multiplier": (1, 10),
    "max_reformulation_rounds": (1, 5),
    "max_workers_per_query": (1, 4),
    "max_retry_count": (0, 5),
    "rerank_cache_ttl_seconds": (60, 86_400),
}


@pytest.mark.parametrize(("name", "bounds"), BOUNDS.items())
def test_spec_8_1_every_number_has_its_bounds(name: str, bounds: tuple[int, int]) -> None:
    low, high = bounds

    for outside in (low - 1, high + 1):
        with pytest.raises(ValidationError, match=name):
            MemoryRetrievalConfig.model_validate({name: outside})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SettingsWarning)
        for inside in (low, high):
            MemoryRetrievalConfig.model_validate(
                {name: inside, "fusion_strategy": "rrf"}  # where any weights are accepted
            )


@pytest.mark.parametrize("rate", [-0.1, math.nan, math.inf])
def test_spec_8_1_a_decay_rate_is_a_number_that_is_not_negative(rate: float) -> None:
    with pytest.raises(ValidationError, match="recency_decay_rate"):
        MemoryRetrievalConfig(recency_decay_rate=rate)


def test_spec_8_1_without_decay_everything_is_recent() -> None:
    assert MemoryRetrievalConfig(recency_decay_rate=0.0).recency_decay_rate == 0.0


def test_spec_8_2_weights_sum_to_one_within_a_millionth_where_they_count() -> None:
    MemoryRetrievalConfig(relevance_weight=0.7, recency_weight=0.3000005)
    with pytest.raises(ValidationError, match="must sum to 1"):
        MemoryRetrievalConfig(relevance_weight=0.7, recency_weight=0.300002)
    MemoryRetrievalConfig(relevance_weight=0.1, recency_weight=0.1, fusion_strategy="rrf")


@pytest.mark.parametrize(
    "contradiction",
    [
        {"diversity_penalty_enabled": True, "strategy": "tool_based"},
        {"diversity_penalty_enabled": True, "strategy": "self_editing"},
        {"query_reformulation_enabled": True, "strategy": "context"},
        {"query_reformulation_enabled": True, "strategy": "self_editing"},
        {"retriever": "hierarchical", "strategy": "self_editing"},
        {"retriever": "hierarchical", "strategy": "tool_based"},
        {"strategy": "telepathy"},
        {"retriever": "deep"},
        {"max_memory": 3},
    ],
)
def test_spec_8_2_what_contradicts_itself_is_refused(contradiction: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        MemoryRetrievalConfig.model_validate(contradiction)


@pytest.mark.parametrize(
    "ineffective",
    [
        {"rrf_k": 61},
        {"diversity_lambda": 0.5},
        {"candidate_pool_multiplier": 4},
        {"personal_boost": 0.2, "fusion_strategy": "rrf"},
        {"personal_boost": 0.1, "fusion_strategy": "rrf"},  # the default, but said
        {"max_workers_per_query": 3},
        {"reflective_retry_enabled": True},
        {"reflective_retry_enabled": False},
        {"max_retry_count": 1},
        {"rerank_cache_ttl_seconds": 60},
    ],
)
def test_spec_8_2_what_has_no_effect_is_accepted_with_a_warning(
    ineffective: dict[str, Any],
) -> None:
    with pytest.warns(SettingsWarning, match=next(iter(ineffective))):
        MemoryRetrievalConfig.model_validate(ineffective)


@pytest.mark.parametrize(
    "quiet",
    [
        {},
        {"rrf_k": 60},
        {"rrf_k": 61, "fusion_strategy": "rrf"},
        {"fusion_strategy": "rrf"},
        {"personal_boost": 0.0, "fusion_strategy": "rrf"},
        {"diversity_lambda": 0.7},
        {"candidate_pool_multiplier": 3, "rerank_cache_ttl_seconds": 3600},
        {"max_workers_per_query": 2, "max_retry_count": 2},
        {"candidate_pool_multiplier": 4, "diversity_penalty_enabled": True},
        {"max_workers_per_query": 3, "retriever": "hierarchical"},
        {"diversity_lambda": 0.5, "diversity_penalty_enabled": True},
        {"reflective_retry_enabled": False, "max_retry_count": 1, "retriever": "hierarchical"},
        {"rerank_cache_ttl_seconds": 60, "query_specific_rerank_enabled": True},
    ],
)
def test_spec_8_2_what_has_an_effect_or_changes_nothing_is_quiet(quiet: dict[str, Any]) -> None:
    MemoryRetrievalConfig.model_validate(quiet)  # a warning would be an error


def test_spec_8_5_5_the_pool_is_larger_only_for_diversity_and_never_over_a_querys_limit() -> None:
    assert MemoryRetrievalConfig(max_memories=10).pool_size == 10
    assert (
        MemoryRetrievalConfig(
            max_memories=100, diversity_penalty_enabled=True, candidate_pool_multiplier=10
        ).pool_size
        == 1000
    )


@pytest.mark.parametrize("score", [-0.1, 1.1, math.nan])
def test_spec_8_6_scores_lie_between_zero_and_one(score: float) -> None:
    with pytest.raises(ValidationError):
        ScoredMemory(entry=an_entry(), relevance_score=score, recency_score=0.0, combined_score=0.0)
