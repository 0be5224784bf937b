"""The table and the selection rule of SPEC 18.1."""

from __future__ import annotations

import pytest

from memd.base.errors import MemoryConfigError
from memd.embedding.lmeb import LMEB_OF, RANKINGS, TASKS, Tier, ranked, select, tier_of


def test_the_table_is_the_documents() -> None:
    assert sum(TASKS.values()) == 193
    assert [row.overall for row in RANKINGS] == [61.41, 60.25, 58.00, 57.08, 56.03, 55.33]
    assert LMEB_OF["social"] == ("dialogue", "medium")
    assert LMEB_OF["working"] == (None, "n/a")
    assert ranked("all-MiniLM-L6-v2") is None


@pytest.mark.parametrize(
    ("preset", "has_gpu", "tier"),
    [
        (None, None, Tier.GPU_CONSUMER),
        (None, False, Tier.GPU_CONSUMER),
        ("ollama", False, Tier.CPU),
        ("lm-studio", None, Tier.GPU_CONSUMER),
        ("vllm", True, Tier.GPU_CONSUMER),
        ("openai", False, Tier.GPU_FULL),
    ],
)
def test_the_tier_is_inferred_from_what_serves_models(
    preset: str | None, has_gpu: bool | None, tier: Tier
) -> None:
    assert tier_of(preset, has_gpu=has_gpu) is tier


def test_the_best_of_the_tier_wins_over_a_better_one_of_another() -> None:
    both = ["baai/BGE-multilingual-gemma2:latest", "intfloat/multilingual-E5-large-instruct"]
    assert select(both, Tier.CPU) == "multilingual-e5-large-instruct"
    assert select(both, Tier.GPU_FULL) == "bge-multilingual-gemma2"
    assert select(both, Tier.GPU_CONSUMER) == "bge-multilingual-gemma2"  # none of it: of any tier


def test_an_override_wins_and_nothing_ranked_is_an_error() -> None:
    assert select([], Tier.CPU, "mine") == "mine"
    with pytest.raises(MemoryConfigError):
        select(["all-MiniLM-L6-v2"], Tier.CPU)
