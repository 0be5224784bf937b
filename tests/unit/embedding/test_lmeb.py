"""The table and the selection rule of SPEC 18.1."""

from __future__ import annotations

import pytest

from memd.base.errors import MemoryConfigError
from memd.embedding.lmeb import (
    RANKINGS,
    Tier,
    find_row,
    select,
    tier_of,
)

TABLE = [  # SPEC 18.1.3, in its order
    ("bge-multilingual-gemma2", 9, "gpu_full", 70.88, 61.40, 59.60, 60.41, 61.41, True, 3584,
     False),
    ("NV-Embed-v2", 7, "gpu_full", 68.45, 58.77, 56.42, 62.18, 60.25, True, 4096, False),
    ("Qwen3-Embedding-4B", 4, "gpu_consumer", 65.50, 59.81, 54.20, 55.80, 58.00, True, 2560, True),
    ("e5-mistral-7b-instruct", 7, "gpu_full", 67.43, 55.41, 55.03, 57.63, 57.08, True, 4096, False),
    ("EmbeddingGemma-300M", 0.307, "cpu", 58.00, 53.50, 52.80, 55.20, 56.03, False, 768, True),
    ("multilingual-e5-large-instruct", 0.56, "cpu", 63.60, 52.22, 54.62, 57.18, 55.33, True, 1024,
     False),
]  # fmt: skip


def test_the_table_is_the_documents() -> None:
    assert [tuple(row) for row in RANKINGS] == TABLE
    assert find_row("all-MiniLM-L6-v2") is None


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
