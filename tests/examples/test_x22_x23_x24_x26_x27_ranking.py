"""X22, X23, X24, X26, X27: the worked numbers of ranking, fusion, diversity and their settings."""

from __future__ import annotations

import pytest
from support.entries import NOW, a_scored, an_entry, entries

from memd.api import (
    DefaultTokenEstimator,
    FusionStrategy,
    InjectionPoint,
    InjectionStrategy,
    MemoryRetrievalConfig,
    apply_diversity_penalty,
    bigram_jaccard,
    fuse_ranked_lists,
    rank_memories,
)

YEAR_HOURS = 24 * 365


def test_x22_relevance_and_recency_combine() -> None:
    (fresh,) = rank_memories(
        (an_entry(relevance_score=0.6, hours_old=1),), config=MemoryRetrievalConfig(), now=NOW
    )

    assert fresh.combined_score == pytest.approx(0.787, abs=5e-4)


@pytest.mark.parametrize(("raw", "score", "kept"), [(0.3286, 0.3, True), (0.32, 0.294, False)])
def test_x22_a_year_old_memory_must_be_relevant(raw: float, score: float, kept: bool) -> None:
    old = an_entry(relevance_score=raw, hours_old=YEAR_HOURS)

    ranked = rank_memories((old,), config=MemoryRetrievalConfig(), now=NOW)
    (all_the_same,) = rank_memories((old,), config=MemoryRetrievalConfig(min_relevance=0), now=NOW)

    assert bool(ranked) is kept
    assert all_the_same.combined_score == pytest.approx(score, abs=5e-4)


def test_x23_two_lists_fuse() -> None:
    fused = fuse_ranked_lists((entries("a", "b", "c"), entries("b", "c", "d")))

    assert [memory.entry.id for memory in fused] == ["b", "c", "a", "d"]
    assert [memory.combined_score for memory in fused] == pytest.approx(
        [1.0, 0.9687, 0.0313, 0.0], abs=5e-5
    )
    with pytest.raises(ValueError, match="k"):
        fuse_ranked_lists((), k=0)


def test_x24_likeness_of_texts() -> None:
    assert bigram_jaccard("a b c", "a b d") == pytest.approx(1 / 3)
    assert bigram_jaccard("word", "word") == 0.0


@pytest.mark.parametrize(
    ("weight", "order"), [(1.0, ["one", "two", "other"]), (0.7, ["one", "other", "two"])]
)
def test_x24_a_repetition_gives_way_to_something_else(weight: float, order: list[str]) -> None:
    text = "the nginx port is 8080"
    scored = (
        a_scored(text, 1.0, agent_id="one"),
        a_scored(text, 0.95, agent_id="two"),
        a_scored("ada likes tea", 0.6, agent_id="other"),
    )

    diverse = apply_diversity_penalty(scored, diversity_lambda=weight)

    assert [memory.entry.agent_id for memory in diverse] == order


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("abc", 1), ("abcd", 1), ("1234567", 1), ("12345678", 2)]
)
def test_x26_four_characters_are_a_token(text: str, tokens: int) -> None:
    """SPEC 11.3."""
    assert DefaultTokenEstimator().estimate_tokens(text) == tokens


def test_x27_the_defaults_are_the_documents() -> None:
    defaults = MemoryRetrievalConfig().model_dump()
    assert defaults.pop("synthesize") is False  # memd's own, in no document
    assert defaults == {
        "strategy": InjectionStrategy.CONTEXT,
        "relevance_weight": 0.7,
        "recency_weight": 0.3,
        "recency_decay_rate": 0.01,
        "personal_boost": 0.1,
        "min_relevance": 0.3,
        "max_memories": 20,
        "include_shared": True,
        "default_relevance": 0.5,
        "injection_point": InjectionPoint.SYSTEM,
        "non_inferable_only": False,
        "fusion_strategy": FusionStrategy.LINEAR,
        "rrf_k": 60,
        "diversity_penalty_enabled": False,
        "diversity_lambda": 0.7,
        "candidate_pool_multiplier": 3,
        "query_reformulation_enabled": False,
        "max_reformulation_rounds": 2,
        "retriever": "flat",
        "max_workers_per_query": 2,
        "reflective_retry_enabled": True,
        "max_retry_count": 2,
        "query_specific_rerank_enabled": False,
        "rerank_cache_ttl_seconds": 3600,
    }
