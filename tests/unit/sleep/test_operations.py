"""SPEC 16.6, 16.9: what becomes of a group of memories."""

from __future__ import annotations

import pytest
from support.stub_provider import StubProvider

from memd.base.errors import ProviderRefusedError
from memd.base.limits import TEXT_CHARS_MAX
from memd.domain.enums import MemoryCategory
from memd.domain.settings.consolidation import ConsolidationConfig
from memd.domain.sleep.consolidation import ArchivalMode, ConsolidationStrategyType
from memd.sleep.strategies.operations import (
    ConcatenationOp,
    DensityRoutingOp,
    GroupMember,
    LLMSynthesisOp,
    build_operation,
    vote_mode,
)
from memd.sleep.strategies.shorten import AbstractiveSummarizer, ExtractivePreserver
from memd.text.density import DensityClassifier

SEMANTIC = MemoryCategory.SEMANTIC
PROSE = GroupMember("p", "We met last week and talked about the move to the coast.")
DENSE = GroupMember("d", "host: db1\nport: 5432\ndebug: true")
LONG = GroupMember("l", "We walked " + "and walked " * 40)


async def test_a_list_has_a_heading_and_the_first_200_characters_of_each() -> None:
    group = await ConcatenationOp().condense(SEMANTIC, [PROSE, LONG])
    assert group.text == (
        f"Consolidated semantic memories:\n- {PROSE.text}\n- {LONG.text[:200]}..."
    )
    assert group.tags == ("consolidated",)
    assert group.removable_ids == ("p", "l")
    assert group.assignments == ()
    assert not group.fallback


async def test_a_text_of_200_characters_is_not_cut() -> None:
    group = await ConcatenationOp().condense(SEMANTIC, [GroupMember("x", "x" * 200)])
    assert group.text.endswith("- " + "x" * 200)


async def test_a_member_that_has_no_room_in_the_summary_is_not_removable() -> None:
    members = [GroupMember(f"m{number}", "x" * 300_000) for number in range(4)]
    group = await ConcatenationOp(truncate_length=300_000).condense(SEMANTIC, members)
    assert group.removable_ids == ("m0", "m1")
    assert len(group.text) <= TEXT_CHARS_MAX


async def test_no_member_is_no_group() -> None:
    for op in (ConcatenationOp(), DensityRoutingOp(), LLMSynthesisOp()):
        with pytest.raises(ValueError, match="at least one"):
            await op.condense(SEMANTIC, [])


def test_a_group_is_extractive_when_more_than_half_of_it_is_dense() -> None:
    classifier = DensityClassifier()
    assert vote_mode(classifier, [DENSE.text, DENSE.text, PROSE.text]) is ArchivalMode.EXTRACTIVE
    assert vote_mode(classifier, [DENSE.text, PROSE.text]) is ArchivalMode.ABSTRACTIVE
    assert vote_mode(classifier, [DENSE.text, PROSE.text, PROSE.text]) is ArchivalMode.ABSTRACTIVE


async def test_the_member_that_is_kept_votes_and_is_not_in_the_text() -> None:
    op = DensityRoutingOp()
    without = await op.condense(SEMANTIC, [DENSE, PROSE])
    group = await op.condense(SEMANTIC, [DENSE, PROSE], kept=GroupMember("k", '{"kept": 1}'))

    assert without.tags == ("consolidated", "mode:abstractive")
    assert group.tags == ("consolidated", "mode:extractive")
    assert "kept" not in group.text
    assert group.removable_ids == ("d", "p")


async def test_parts_are_joined_with_three_hyphens_and_each_has_its_mode() -> None:
    group = await DensityRoutingOp().condense(SEMANTIC, [PROSE, LONG])
    assert group.text == f"{PROSE.text}\n---\n{LONG.text[:200]}..."
    assert [(each.original_id, each.mode) for each in group.assignments] == [
        ("p", ArchivalMode.ABSTRACTIVE),
        ("l", ArchivalMode.ABSTRACTIVE),
    ]


async def test_a_dense_group_keeps_its_facts() -> None:
    op = DensityRoutingOp(extractor=ExtractivePreserver(max_facts=1, anchor_length=9))
    group = await op.condense(SEMANTIC, [DENSE])
    assert group.text.split("\n")[:3] == ["[Extractive preservation]", "Key facts:", "- host: db1"]
    assert group.assignments[0].mode is ArchivalMode.EXTRACTIVE


async def test_abstractive_parts_are_asked_for_at_the_same_time_in_the_order_given() -> None:
    provider = StubProvider(lambda prompt: prompt.split("\n")[1][-1])
    op = DensityRoutingOp(summarizer=AbstractiveSummarizer(provider=provider, model="small"))
    members = [GroupMember(f"m{number}", f"we spoke of {number}") for number in range(6)]

    group = await op.condense(SEMANTIC, members)

    assert group.text == "\n---\n".join("012345")
    assert provider.most > 1


async def test_a_provider_that_needs_its_owner_ends_the_operation() -> None:
    provider = StubProvider([ProviderRefusedError("wrong key")])
    op = DensityRoutingOp(summarizer=AbstractiveSummarizer(provider=provider, model="small"))
    with pytest.raises(ProviderRefusedError):
        await op.condense(SEMANTIC, [PROSE, LONG])


async def test_the_settings_choose_the_operation_and_its_measures() -> None:
    simple = build_operation(ConsolidationConfig())
    dual = build_operation(
        ConsolidationConfig.model_validate(
            {
                "strategy": "dual_mode",
                "archival": {"dual_mode": {"max_facts": 1, "anchor_length": 50}},
            }
        )
    )
    llm = build_operation(ConsolidationConfig(strategy=ConsolidationStrategyType.LLM))

    assert (await simple.condense(SEMANTIC, [DENSE])).text.startswith("Consolidated semantic")
    assert (await dual.condense(SEMANTIC, [DENSE])).text.count("\n- ") == 1
    assert (await llm.condense(SEMANTIC, [DENSE])).tags == ("consolidated", "concat-fallback")


def test_a_model_must_be_named_only_where_a_provider_is_asked() -> None:
    provider = StubProvider(["x"])
    named = {"strategy": "dual_mode", "archival": {"dual_mode": {"summarization_model": "small"}}}

    build_operation(ConsolidationConfig(), provider=provider)
    build_operation(ConsolidationConfig.model_validate(named), provider=provider)
    for strategy in (ConsolidationStrategyType.LLM, ConsolidationStrategyType.DUAL_MODE):
        with pytest.raises(ValueError, match="model"):
            build_operation(ConsolidationConfig(strategy=strategy), provider=provider)
        build_operation(ConsolidationConfig(strategy=strategy), provider=provider, model="small")
