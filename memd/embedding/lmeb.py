"""The specification's ranking of embedding models for memory, and the choice of one (SPEC 18.1).

LMEB measures how models retrieve memories; MTEB, by which models are usually chosen, does not
predict it. memd's own all-MiniLM-L6-v2 is not in the table. ``memd model bench`` measures a
model on the owner's own memories, which counts for more.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from memd.base.errors import MemoryConfigError


class Tier(StrEnum):
    """The class of a model: 7 to 12, 1 to 4, or less than one billion parameters (SPEC 18.1.5)."""

    GPU_FULL = "gpu_full"
    GPU_CONSUMER = "gpu_consumer"
    CPU = "cpu"


class LmebRow(NamedTuple):
    """A row of the table: NDCG@10 by kind of memory. *estimated* rows were not measured."""

    model: str
    billions: float
    tier: Tier
    episodic: float
    procedural: float
    dialogue: float
    semantic: float
    overall: float
    instructed: bool
    dimension: int
    estimated: bool = False


RANKINGS: Final = (
    LmebRow(
        "bge-multilingual-gemma2", 9, Tier.GPU_FULL, 70.88, 61.40, 59.60, 60.41, 61.41, True, 3584
    ),
    LmebRow("NV-Embed-v2", 7, Tier.GPU_FULL, 68.45, 58.77, 56.42, 62.18, 60.25, True, 4096),
    LmebRow(
        "Qwen3-Embedding-4B",
        *(4, Tier.GPU_CONSUMER, 65.50, 59.81, 54.20, 55.80, 58.00),
        instructed=True,
        dimension=2560,
        estimated=True,
    ),
    LmebRow(
        "e5-mistral-7b-instruct", 7, Tier.GPU_FULL, 67.43, 55.41, 55.03, 57.63, 57.08, True, 4096
    ),
    LmebRow(
        "EmbeddingGemma-300M", 0.307, Tier.CPU, 58.0, 53.5, 52.8, 55.2, 56.03, False, 768, True
    ),
    LmebRow(
        "multilingual-e5-large-instruct",
        *(0.56, Tier.CPU, 63.60, 52.22, 54.62, 57.18, 55.33),
        instructed=True,
        dimension=1024,
    ),
)

_LOCAL_PRESETS: Final = frozenset({"ollama", "lm-studio", "vllm"})


def tier_of(preset: str | None, *, has_gpu: bool | None) -> Tier:
    """Return the tier of the service that runs models (SPEC 18.1.4).

    >>> [str(tier_of(*case[:1], has_gpu=case[1])) for case in ((None, None), ("ollama", False))]
    ['gpu_consumer', 'cpu']
    """
    if preset is None:
        return Tier.GPU_CONSUMER
    if preset not in _LOCAL_PRESETS:
        return Tier.GPU_FULL
    return Tier.CPU if has_gpu is False else Tier.GPU_CONSUMER


def find_row(name: str) -> LmebRow | None:
    """Return the row of a model by its name, which may contain more than the table's."""
    return next((row for row in RANKINGS if row.model.lower() in name.lower()), None)


def select(available: Sequence[str], tier: Tier, override: str | None = None) -> str:
    """Return the model to use: the *override*, else the best ranked of *tier*, else of any tier.

    The name is that of the table (SPEC 18.1.4). Raises MemoryConfigError when none of
    *available* is ranked.
    """
    if override is not None:
        return override
    names = [name.lower() for name in available]
    for rows in ([row for row in RANKINGS if row.tier is tier], RANKINGS):
        for row in rows:
            if any(row.model.lower() in name for name in names):
                return row.model
    raise MemoryConfigError(
        "none of the models is ranked by LMEB", hint="choose one: memd model use NAME"
    )
