"""SPEC 9, each number: the pipeline of the strategy ``context``."""

from __future__ import annotations

import asyncio

import pytest
from support.daemon import WAIT_S
from support.entries import an_entry
from support.fake_sources import (
    DOMAIN_FAILURE,
    Reversing,
    Source,
    SparseSource,
    a_strategy,
    lines_of,
)

from memd.api import ContextInjectionStrategy, MemoryInjectionStrategy, MemoryRetrievalConfig
from memd.domain.enums import MemoryCategory
from memd.domain.memory import MemoryEntry, MemoryMetadata, MemoryQuery
from memd.domain.settings.retrieval import ScoredMemory
from memd.inject.context import retrieve_sparse
from memd.inject.isolation import isolate

BUDGET = 5_000


def scored_entries(*scores: float, prefix: str = "m") -> tuple[MemoryEntry, ...]:
    return tuple(
        an_entry(f"{prefix}{place}", relevance_score=score) for place, score in enumerate(scores)
    )


async def ids(strategy: ContextInjectionStrategy, **more: object) -> list[str]:
    chosen = await strategy.select_memories("ada", "a question", **more)  # type: ignore[arg-type]
    return [memory.entry.id for memory in chosen]


@pytest.mark.parametrize("budget", [0, -1])
async def test_spec_9_1_without_a_budget_nothing_is_asked_or_said(budget: int) -> None:
    source = Source(scored_entries(0.9))

    assert await a_strategy(source).prepare_messages("ada", "a question", budget) == ()
    assert source.asked == []


async def test_spec_9_2_fetched_ranked_reranked_filtered_diversified_formatted() -> None:
    """The re-ranker sees what ranking kept; the filter and the cut come after it."""
    tagged = MemoryMetadata(tags=("non-inferable",))
    entries = (
        *scored_entries(0.9, 0.1),
        an_entry("kept", relevance_score=0.5, metadata=tagged),
        an_entry("cut", relevance_score=0.4, metadata=tagged),
    )
    reranker = Reversing()
    strategy = a_strategy(
        Source(entries),
        reranker=reranker,
        query_specific_rerank_enabled=True,
        non_inferable_only=True,
    )

    messages = await strategy.prepare_messages("ada", "a question", BUDGET)

    assert reranker.queries == ["a question"]
    assert [line.rpartition(" ")[2] for line in lines_of(messages)] == ["cut", "kept"]


async def test_spec_9_2_the_cut_to_max_memories_comes_after_the_filter() -> None:
    tagged = MemoryMetadata(tags=("non-inferable",))
    entries = (*scored_entries(0.9, 0.8), an_entry("tagged", relevance_score=0.7, metadata=tagged))
    strategy = a_strategy(
        Source(entries), max_memories=1, non_inferable_only=True, diversity_penalty_enabled=True
    )

    assert await ids(strategy) == ["tagged"]


async def test_spec_9_3_its_name_is_context_injection_and_it_has_no_tools() -> None:
    strategy = a_strategy(Source())

    assert strategy.strategy_name == "context_injection"
    assert strategy.get_tool_definitions() == ()
    assert isinstance(strategy, MemoryInjectionStrategy)


@pytest.mark.parametrize("failure", [DOMAIN_FAILURE, RuntimeError("a bug"), OSError("disk")])
async def test_spec_9_4_a_failure_is_never_raised(failure: Exception) -> None:
    strategy = a_strategy(Source(fails=failure), Source(fails=failure))

    assert await strategy.prepare_messages("ada", "a question", BUDGET) == ()


@pytest.mark.parametrize("system", [MemoryError(), RecursionError()])
async def test_spec_9_4_an_exhausted_process_is_told_as_it_is(system: Exception) -> None:
    strategy = a_strategy(Source(fails=system), Source(scored_entries(0.9)))

    with pytest.raises(type(system)):
        await strategy.prepare_messages("ada", "a question", BUDGET)


async def test_spec_9_4_system_errors_are_found_inside_groups() -> None:
    async def fails() -> None:
        inner = ExceptionGroup("inner", [ValueError("x"), MemoryError()])
        raise ExceptionGroup("outer", [OSError("y"), inner])

    with pytest.raises(MemoryError):
        await isolate(fails(), None, "test")


async def test_spec_9_4_a_group_of_ordinary_failures_is_one_failure() -> None:
    async def fails() -> int:
        raise ExceptionGroup("outer", [OSError("y"), ValueError("x")])

    failed: list[str] = []
    assert await isolate(fails(), 7, "test", failed) == 7
    assert failed == ["test"]


async def test_being_cancelled_is_no_failure() -> None:
    strategy = a_strategy(Source(fails=asyncio.CancelledError()))

    with pytest.raises(asyncio.CancelledError):
        await strategy.prepare_messages("ada", "a question", BUDGET)


async def test_spec_9_5_personal_and_shared_are_asked_at_the_same_time() -> None:
    both = asyncio.Barrier(2)

    class Meeting(Source):
        async def retrieve(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
            await both.wait()
            return await super().retrieve(agent_id, query)

        async def search_shared(
            self, query: MemoryQuery, *, exclude_agent: str | None = None
        ) -> tuple[MemoryEntry, ...]:
            await both.wait()
            return await super().search_shared(query, exclude_agent=exclude_agent)

    strategy = a_strategy(Meeting(scored_entries(0.9)), Meeting(scored_entries(0.8, prefix="s")))

    assert await asyncio.wait_for(ids(strategy), WAIT_S) == ["m0", "s0"]


async def test_spec_9_5_a_source_that_fails_leaves_the_other() -> None:
    own, others = scored_entries(0.9), scored_entries(0.8, prefix="s")

    without_own = a_strategy(Source(fails=DOMAIN_FAILURE), Source(others))
    without_shared = a_strategy(Source(own), Source(fails=DOMAIN_FAILURE))
    failed: list[str] = []

    assert await ids(without_own) == ["s0"]
    assert await ids(without_shared, failed=failed) == ["m0"]
    assert failed == ["shared"]


async def test_spec_9_5_shared_knowledge_is_asked_only_when_wanted_and_less_ones_own() -> None:
    asked, unasked = (
        Source(scored_entries(0.8, prefix="s")),
        Source(scored_entries(0.8, prefix="s")),
    )

    assert await ids(a_strategy(Source(), asked)) == ["s0"]
    assert await ids(a_strategy(Source(), unasked, include_shared=False)) == []

    assert asked.excluded == ["ada"]
    assert unasked.asked == []


@pytest.mark.parametrize("reranker", [Reversing(fails=DOMAIN_FAILURE), Reversing(loses=1)])
async def test_spec_9_6_a_reranker_that_fails_or_loses_something_changes_nothing(
    reranker: Reversing,
) -> None:
    strategy = a_strategy(
        Source(scored_entries(0.9, 0.5)), reranker=reranker, query_specific_rerank_enabled=True
    )

    assert await ids(strategy) == ["m0", "m1"]


async def test_spec_9_6_a_reranker_that_works_decides_the_order() -> None:
    strategy = a_strategy(
        Source(scored_entries(0.9, 0.5)), reranker=Reversing(), query_specific_rerank_enabled=True
    )

    assert await ids(strategy) == ["m1", "m0"]


async def test_spec_9_7_the_categories_are_part_of_the_query() -> None:
    source, shared = Source(), Source()
    categories = frozenset({MemoryCategory.EPISODIC})

    await a_strategy(source, shared).prepare_messages("ada", "a question", BUDGET, categories)

    assert [query.categories for query in (*source.asked, *shared.asked)] == [
        categories,
        categories,
    ]


async def test_spec_8_5_5_diversity_chooses_from_the_whole_pool() -> None:
    text = "the nginx port is 8080 on staging"
    alike = [an_entry(f"m{n}", content=text, relevance_score=0.9) for n in range(4)]
    other = an_entry("other", content="ada likes green tea", relevance_score=0.5)
    source = Source((*alike, other))

    diverse = a_strategy(source, max_memories=2, diversity_penalty_enabled=True)

    assert await ids(diverse) == ["m0", "other"]
    assert source.asked[0].limit == 6


async def test_spec_8_5_6_diversity_does_not_undo_what_the_reranker_did() -> None:
    entries = tuple(
        an_entry(name, content=f"{name} says something of its own", relevance_score=score)
        for name, score in (("a", 0.9), ("b", 0.5), ("c", 0.4))
    )
    strategy = a_strategy(
        Source(entries),
        reranker=Reversing(),
        query_specific_rerank_enabled=True,
        diversity_penalty_enabled=True,
        diversity_lambda=1.0,
    )

    assert await ids(strategy) == ["c", "b", "a"]


async def test_spec_8_4_9_fusion_ranks_what_words_find_with_what_meaning_finds() -> None:
    a, b, c = scored_entries(0.9, 0.8, 0.7)
    source = SparseSource((a, b), by_words=(b, c))

    strategy = a_strategy(source, fusion_strategy="rrf", min_relevance=0.0)

    assert await ids(strategy) == ["m1", "m0", "m2"]


async def test_spec_8_4_7_fusion_keeps_what_is_shared_marked() -> None:
    shared = scored_entries(0.95, prefix="s")
    source = SparseSource(scored_entries(0.9, 0.8), by_words=scored_entries(0.9))
    strategy = a_strategy(source, Source(shared), fusion_strategy="rrf", min_relevance=0.0)

    marks = {m.entry.id: m.is_shared for m in await strategy.select_memories("ada", "a question")}

    assert marks == {"m0": False, "m1": False, "s0": True}


async def test_spec_8_4_9_without_words_there_is_nothing_to_fuse_and_the_score_decides() -> None:
    fused = a_strategy(Source(scored_entries(0.9, 0.5)), fusion_strategy="rrf")
    linear = a_strategy(Source(scored_entries(0.9, 0.5)))

    assert await _scores(fused) == await _scores(linear)


async def test_spec_8_4_9_a_backend_that_cannot_search_words_finds_none() -> None:
    query = MemoryQuery(text="x")

    assert await retrieve_sparse(Source(scored_entries(0.9)), "ada", query) == ()
    sparse = SparseSource(by_words=scored_entries(0.9))
    assert [entry.id for entry in await retrieve_sparse(sparse, "ada", query)] == ["m0"]


def test_spec_8_2_what_is_asked_for_and_not_given_is_refused() -> None:
    for wrong in ({"retriever": "hierarchical"}, {"query_specific_rerank_enabled": True}):
        with pytest.raises(ValueError, match="needs a"):
            ContextInjectionStrategy(
                backend=Source(), config=MemoryRetrievalConfig.model_validate(wrong)
            )


async def test_a_hierarchical_retriever_takes_the_place_of_the_pipeline() -> None:
    class Hierarchy:
        async def retrieve_scored(
            self,
            agent_id: str,
            query_text: str,
            *,
            limit: int,
            categories: frozenset[MemoryCategory] | None = None,
        ) -> tuple[ScoredMemory, ...]:
            del agent_id, query_text, limit, categories
            (entry,) = scored_entries(0.9, prefix="h")
            return (
                ScoredMemory(
                    entry=entry, relevance_score=0.9, recency_score=0.0, combined_score=0.9
                ),
            )

    source = Source(scored_entries(0.9))
    strategy = ContextInjectionStrategy(
        backend=source,
        config=MemoryRetrievalConfig(retriever="hierarchical"),
        hierarchical_retriever=Hierarchy(),
    )

    assert await ids(strategy) == ["h0"]
    assert source.asked == []


async def test_spec_8_7_a_filter_that_fails_lets_nothing_through() -> None:
    class Broken:
        strategy_name = "broken"

        def filter_for_injection(
            self, memories: tuple[ScoredMemory, ...]
        ) -> tuple[ScoredMemory, ...]:
            raise RuntimeError(str(len(memories)))

    strategy = ContextInjectionStrategy(
        backend=Source(scored_entries(0.9)), config=MemoryRetrievalConfig(), memory_filter=Broken()
    )

    assert await strategy.prepare_messages("ada", "a question", BUDGET) == ()


async def _scores(strategy: ContextInjectionStrategy) -> list[tuple[str, float]]:
    chosen = await strategy.select_memories("ada", "a question")
    return [(memory.entry.id, memory.combined_score) for memory in chosen]


async def test_spec_17_4_a_lesson_is_tagged_so_that_the_filter_lets_it_through() -> None:
    lesson = an_entry(
        "lesson",
        category=MemoryCategory.PROCEDURAL,
        relevance_score=0.5,
        metadata=MemoryMetadata(tags=("non-inferable", "deploy"), source="failure:t1"),
    )
    plain = an_entry("plain", relevance_score=0.9)

    assert await ids(a_strategy(Source((plain, lesson)), non_inferable_only=True)) == ["lesson"]
    assert await ids(a_strategy(Source((plain, lesson)))) == ["plain", "lesson"]
