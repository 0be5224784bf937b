"""Each setting of retrieval and prompts has its effect, over the socket of a daemon."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from support.setting_effects import Stage, a_stage, shows

from memd.base.errors import MemoryCapabilityError, MemoryStoreError

ASKED = "the nginx port"
LOOSELY = "is there a rule for Friday or for the cellar"
PORTS = (
    "The nginx port is 8080.",
    "The nginx port of the old host in the cellar is 80.",
    "Nobody may change the nginx port on a Friday afternoon.",
)
Staged = Callable[[dict[str, Any]], AbstractAsyncContextManager[Stage]]


@pytest.fixture
def staged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Staged:
    """Return how to start a daemon with other settings of ``memory.retrieval``."""
    count = iter(range(100))

    @asynccontextmanager
    async def start(retrieval: dict[str, Any]) -> AsyncIterator[Stage]:
        home = tmp_path / str(next(count))
        async with a_stage(home, monkeypatch, {"memory": {"retrieval": retrieval}}) as stage:
            yield stage

    return start


async def _scores(stage: Stage, query: str = ASKED) -> list[float]:
    return [each["score"] for each in (await stage.prompt(query))["memories"]]


async def _two_days(stage: Stage) -> str:
    """Remember the best answer two days before the others, and return its id."""
    [best] = await stage.remember(PORTS[0])
    stage.clock.advance(days=2)
    await stage.remember(*PORTS[1:])
    return best


async def _place(stage: Stage, memory_id: str) -> int:
    """Return the place of a memory in the prompt; scores are recall's, whatever the order."""
    return [each["id"] for each in (await stage.prompt(ASKED))["memories"]].index(memory_id)


@shows("memory.retrieval.relevance_weight", "memory.retrieval.recency_weight")
async def test_the_weights_decide_between_relevance_and_recency(staged: Staged) -> None:
    async with staged({"relevance_weight": 0.0, "recency_weight": 1.0}) as stage:
        assert await _place(stage, await _two_days(stage)) == 2
    async with staged({"relevance_weight": 1.0, "recency_weight": 0.0}) as stage:
        assert await _place(stage, await _two_days(stage)) == 0


@shows("memory.retrieval.recency_decay_rate")
async def test_the_decay_rate_says_how_fast_memories_age(staged: Staged) -> None:
    mixed = {"relevance_weight": 0.9, "recency_weight": 0.1, "personal_boost": 0.0}
    for rate, place in ((0.5, 2), (1e-12, 0)):
        async with staged({**mixed, "recency_decay_rate": rate}) as stage:
            assert await _place(stage, await _two_days(stage)) == place


@shows("memory.retrieval.personal_boost")
async def test_the_boost_is_for_an_agents_own_memories(staged: Staged) -> None:
    by_relevance = {"relevance_weight": 1.0, "recency_weight": 0.0}
    for boost, own in ((0.0, 1), (1.0, 0)):
        async with staged({**by_relevance, "personal_boost": boost}) as stage:
            await stage.call(
                "shared.publish", agent_id="bob", content=PORTS[0], category="semantic"
            )
            [memory_id] = await stage.remember(PORTS[1])
            assert await _place(stage, memory_id) == own


@shows("memory.retrieval.min_relevance")
async def test_what_scores_too_little_is_not_told(staged: Staged) -> None:
    async with staged({"min_relevance": 1.0, "personal_boost": 0.0}) as stage:
        await stage.remember(*PORTS)
        assert await _scores(stage, LOOSELY) == []


@shows("memory.retrieval.max_memories")
async def test_a_prompt_holds_no_more_memories_than_that(staged: Staged) -> None:
    async with staged({"max_memories": 2}) as stage:
        await stage.remember(*PORTS)
        assert len(await _scores(stage)) == 2


@shows("memory.retrieval.include_shared")
async def test_what_agents_share_is_told_unless_it_is_switched_off(staged: Staged) -> None:
    for included in (True, False):
        async with staged({"include_shared": included}) as stage:
            await stage.call(
                "shared.publish", agent_id="bob", content=PORTS[0], category="semantic"
            )
            memories = (await stage.prompt(ASKED))["memories"]
            recalled = await stage.call("memory.recall", query=ASKED)
            assert [each["shared"] for each in memories] == [True] * included
            assert len(recalled["memories"]) == included


@shows("memory.retrieval.injection_point")
async def test_memories_stand_where_the_injection_point_says(staged: Staged) -> None:
    async with staged({"injection_point": "user"}) as stage:
        await stage.remember(PORTS[0])
        messages = (await stage.prompt(ASKED))["messages"]
        assert [each["role"] for each in messages if PORTS[0] in each["content"]] == ["user"]


@shows("memory.retrieval.non_inferable_only")
async def test_only_what_cannot_be_inferred_is_told(staged: Staged) -> None:
    async with staged({"non_inferable_only": True}) as stage:
        await stage.remember(PORTS[0])
        [tagged] = await stage.remember(PORTS[1], metadata={"tags": ["non-inferable"]})
        assert [each["id"] for each in (await stage.prompt(ASKED))["memories"]] == [tagged]


@shows("memory.retrieval.fusion_strategy", "memory.retrieval.rrf_k")
async def test_ranks_are_fused_and_k_smooths_them(staged: Staged) -> None:
    scores = {}
    for k in (1, 60):
        async with staged({"fusion_strategy": "rrf", "rrf_k": k, "min_relevance": 0.0}) as stage:
            await stage.remember(*PORTS, *(f"Port {n} of nginx is the {n}." for n in range(5)))
            scores[k] = await _scores(stage)
    assert scores[1][0] == scores[60][0] == 1.0
    assert scores[1] != scores[60]


@shows(
    "memory.retrieval.diversity_penalty_enabled",
    "memory.retrieval.diversity_lambda",
    "memory.retrieval.candidate_pool_multiplier",
)
async def test_diversity_leaves_room_for_what_says_something_else(staged: Staged) -> None:
    alike = [f"The nginx port is 8080 on host {n}." for n in range(4)]
    other = "Nobody may change any port but that of nginx without asking the two owners."

    async def first_two(**config: Any) -> set[int]:
        async with staged({"max_memories": 2, **config}) as stage:
            ids = await stage.remember(*alike, other)
            answer = await stage.call("memory.recall", query=ASKED, top_k=2)
            return {ids.index(each["id"]) for each in answer["memories"]}

    off = await first_two()
    assert 4 not in off
    diverse = {"diversity_penalty_enabled": True, "diversity_lambda": 0.0}
    assert 4 in await first_two(**diverse, candidate_pool_multiplier=10)
    assert await first_two(**{**diverse, "diversity_lambda": 1.0}) == off
    assert 4 not in await first_two(**diverse, candidate_pool_multiplier=1)


@shows("memory.retrieval.synthesize")
async def test_a_prompt_can_be_one_block_of_all_sources(staged: Staged) -> None:
    texts = {}
    for synthesize in (False, True):
        async with staged({"synthesize": synthesize}) as stage:
            await stage.remember(*PORTS)
            texts[synthesize] = str((await stage.prompt(ASKED))["messages"])
    assert "| score:" in texts[False]
    assert "| score:" not in texts[True]
    assert PORTS[0] in texts[True]


@shows("memory.retrieval.strategy")
async def test_the_strategy_is_that_of_the_settings(staged: Staged) -> None:
    for strategy in ("context", "tool_based", "self_editing"):
        async with staged({"strategy": strategy}) as stage:
            assert (await stage.prompt(ASKED))["strategy"] == strategy
            tools = await stage.call("inject.tools")
            assert bool(tools["items"]) is (strategy != "context")


@shows(
    "memory.retrieval.query_specific_rerank_enabled", "memory.retrieval.rerank_cache_ttl_seconds"
)
async def test_the_re_ranker_is_asked_when_it_is_on_and_again_when_its_answer_is_old(
    staged: Staged,
) -> None:
    async with staged({}) as stage:
        await stage.remember(*PORTS)
        await stage.prompt(ASKED)
        assert stage.scorer.asked == 0
    on = {"query_specific_rerank_enabled": True, "rerank_cache_ttl_seconds": 60}
    async with staged(on) as stage:
        await stage.remember(*PORTS)
        counts = []
        for seconds in (0, 30, 31):
            stage.clock.advance(seconds=seconds)
            await stage.prompt(ASKED)
            counts.append(stage.scorer.asked)
        assert counts == [1, 1, 2]


@shows("memory.level")
async def test_at_level_none_nothing_is_kept(tmp_path: Path, monkeypatch: Any) -> None:
    async with a_stage(tmp_path, monkeypatch, {"memory": {"level": "none"}}) as stage:
        with pytest.raises(MemoryStoreError):
            await stage.remember(PORTS[0])


@shows("memory.options.shared_knowledge_base")
async def test_sharing_can_be_switched_off(tmp_path: Path, monkeypatch: Any) -> None:
    off = {"memory": {"options": {"shared_knowledge_base": False}}}
    async with a_stage(tmp_path, monkeypatch, off) as stage:
        with pytest.raises(MemoryCapabilityError):
            await stage.call("shared.publish", content=PORTS[0], category="semantic")


async def _editing(home: Path, patch: pytest.MonkeyPatch, config: dict[str, Any]) -> Any:
    whole = {"memory": {"retrieval": {"strategy": "self_editing"}, "self_editing": config}}
    return a_stage(home, patch, whole)


async def _tool(stage: Stage, name: str, **arguments: Any) -> dict[str, Any]:
    answer: dict[str, Any] = await stage.call("inject.call", name=name, arguments=arguments)
    return answer


@shows("memory.self_editing.core_max_entries", "memory.self_editing.core_memory_tag")
async def test_core_memory_has_its_tag_and_its_bound(tmp_path: Path, monkeypatch: Any) -> None:
    config = {"core_max_entries": 1, "core_memory_tag": "heart"}
    async with await _editing(tmp_path, monkeypatch, config) as stage:
        first = await _tool(stage, "core_memory_write", content="The owner is called Ada.")
        second = await _tool(stage, "core_memory_write", content="The owner lives in Bern.")
        tags = (await stage.call("memory.list"))["items"][0]["metadata"]["tags"]

    assert not first["is_error"], first
    assert second["is_error"], second
    assert "heart" in tags


@shows("memory.self_editing.allow_core_writes")
async def test_core_memory_can_be_read_only(tmp_path: Path, monkeypatch: Any) -> None:
    async with await _editing(tmp_path, monkeypatch, {"allow_core_writes": False}) as stage:
        answer = await _tool(stage, "core_memory_write", content="The owner is called Ada.")

    assert answer["is_error"]


@shows("memory.self_editing.core_memory_token_budget")
async def test_core_memory_takes_no_more_of_a_prompt_than_that(
    tmp_path: Path, monkeypatch: Any
) -> None:
    held = {}
    for budget in (256, 2048):
        home = tmp_path / str(budget)
        config = {"core_memory_token_budget": budget}
        async with await _editing(home, monkeypatch, config) as stage:
            for n in range(10):
                text = f"Fact number {n} about the owner: " + f"word{n} " * 30
                await _tool(stage, "core_memory_write", content=text)
            held[budget] = str(await stage.prompt("x", token_budget=8000)).count("Fact number")
    assert held[256] < held[2048] == 10


@shows(
    "memory.self_editing.archival_search_limit",
    "memory.self_editing.archival_categories",
    "memory.self_editing.write_auto_tag",
)
async def test_archival_memory_has_its_categories_its_tag_and_its_limit(
    tmp_path: Path, monkeypatch: Any
) -> None:
    config = {
        "archival_search_limit": 2,
        "archival_categories": ["semantic"],
        "write_auto_tag": False,
    }
    async with await _editing(tmp_path, monkeypatch, config) as stage:
        written = [
            await _tool(stage, "archival_memory_write", content=text, category="semantic")
            for text in PORTS
        ]
        refused = await _tool(
            stage, "archival_memory_write", content="We went to Bern.", category="episodic"
        )
        result = await _tool(stage, "archival_memory_search", query=ASKED)
        listed = (await stage.call("memory.list"))["items"]

    assert not any(answer["is_error"] for answer in written)
    assert refused["is_error"]
    assert sum(text in result["content"] for text in PORTS) == 2
    assert all("self_edited" not in each["metadata"]["tags"] for each in listed)
