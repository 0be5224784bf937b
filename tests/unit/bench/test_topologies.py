"""The table of the ways of retrieval: what has a row, and how a row is told (SPEC 8.1)."""

from __future__ import annotations

import warnings
from typing import get_args

from bench.topologies import PROMPT_DEFAULT, PROMPTS, RECALL_DEFAULT, table

from memd.base.settings import SettingsWarning
from memd.domain.enums import FusionStrategy
from memd.domain.settings.retrieval import MemoryRetrievalConfig

SWITCHES = ("diversity_penalty_enabled", "non_inferable_only", "query_specific_rerank_enabled")


def test_every_way_to_a_prompt_has_a_row_and_only_the_plain_one_is_the_default() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", SettingsWarning)
        ways = {
            name: MemoryRetrievalConfig.model_validate(config) for name, config in PROMPTS.items()
        }
    retrievers = get_args(MemoryRetrievalConfig.model_fields["retriever"].annotation)
    shown = {(way.retriever, way.fusion_strategy) for way in ways.values()}
    assert shown == {(each, fusion) for each in retrievers for fusion in FusionStrategy}
    for switch in SWITCHES:
        assert any(getattr(way, switch) for way in ways.values()), switch
    default = ways[PROMPT_DEFAULT]
    assert (default.retriever, default.fusion_strategy) == ("flat", FusionStrategy.LINEAR)
    assert not any(getattr(default, switch) for switch in SWITCHES)


def test_a_row_tells_how_much_it_finds_beside_the_default_of_its_own_scope() -> None:
    def row(share: float) -> dict[str, float]:
        return {"R@5": 1.0, "R@10": share, "R@20": 1.0, "MRR": 1.0, "p50_ms": 9.0, "cpu_ms": 8.0}

    ways = {PROMPT_DEFAULT: row(79.0), "inject, flat, rrf": row(75.5), RECALL_DEFAULT: row(80.0)}
    lines = table({"scoped": ways, "global": {**ways, RECALL_DEFAULT: row(72.0)}}).splitlines()
    cells = [(line.split("  ")[0], line.split()[-1]) for line in lines if line]
    assert cells == [
        ("scoped", "+-"),
        (PROMPT_DEFAULT, "+0.00"),
        ("inject, flat, rrf", "-3.50"),
        (RECALL_DEFAULT, "+0.00"),
        ("global", "+-"),
        (PROMPT_DEFAULT, "+0.00"),
        ("inject, flat, rrf", "-3.50"),
        (RECALL_DEFAULT, "+0.00"),
    ]
