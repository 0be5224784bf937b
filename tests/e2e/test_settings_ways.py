"""Each setting of how a question is asked again has its effect, over the socket of a daemon.

All of it goes by rule: a daemon has no language model, and needs none for these.
"""

from __future__ import annotations

import re
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from support.effects import Stage, a_stage, shows

NGINX = "Ansible restarts nginx on Hetzner."
PORT = "The nginx port is 8080."
CELLAR = "The nginx port of the old host in the cellar is 80."
# Its words of recent time bring the worker of episodes, whose old one scores badly; in
# fewer words it finds what its many function words hide.
WORDY = "what was it then that we and they did about the port lately"


def _stage(
    home: Path, patch: pytest.MonkeyPatch, **retrieval: Any
) -> AbstractAsyncContextManager[Stage]:
    name = "-".join(f"{key}{value}" for key, value in retrieval.items())
    return a_stage(home / str(abs(hash(name))), patch, {"memory": {"retrieval": retrieval}})


@shows(
    "memory.retrieval.query_reformulation_enabled",
    "memory.retrieval.max_reformulation_rounds",
)
async def test_a_search_by_tool_asks_in_other_words_as_often_as_it_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def relevance(**retrieval: Any) -> float:
        async with _stage(tmp_path, monkeypatch, strategy="tool_based", **retrieval) as stage:
            await stage.remember(NGINX, "Hetzner invoices Ansible quarterly.")
            arguments = {
                "query": "what about the nginx proxy balancer gateway cluster that they had then?",
                "limit": 1,
            }
            said = await stage.call("inject.call", name="search_memory", arguments=arguments)
            assert NGINX in said["content"]
            found = re.search(r"relevance: ([\d.]+)", said["content"])
            assert found is not None
            return float(found[1])

    off = await relevance()
    once = await relevance(query_reformulation_enabled=True, max_reformulation_rounds=1)
    twice = await relevance(query_reformulation_enabled=True, max_reformulation_rounds=2)
    assert off < once < twice


@shows("memory.retrieval.retriever", "memory.retrieval.max_workers_per_query")
async def test_workers_look_closer_where_there_are_to_be_any_and_more_than_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scores(**retrieval: Any) -> list[float]:
        certain = {"min_relevance": 1.0, "personal_boost": 0.0}
        async with _stage(tmp_path, monkeypatch, **certain, **retrieval) as stage:
            await stage.remember("Ada moved the nginx port to 81 today.", category="episodic")
            await stage.remember(PORT, CELLAR)
            prompt = await stage.prompt("What happened with the nginx port today?")
            return [each["score"] for each in prompt["memories"]]

    assert await scores(retriever="flat") == []
    assert await scores(retriever="hierarchical", max_workers_per_query=1) == []
    [of_the_episode] = await scores(retriever="hierarchical")
    assert of_the_episode > 0.6  # it happened just now


@shows("memory.retrieval.reflective_retry_enabled", "memory.retrieval.max_retry_count")
async def test_what_is_found_poorly_is_looked_for_again_unless_it_may_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def told(**retrieval: Any) -> str:
        by_relevance = {"relevance_weight": 1.0, "recency_weight": 0.0}
        whole = {"retriever": "hierarchical", **by_relevance, **retrieval}
        async with _stage(tmp_path, monkeypatch, min_relevance=0.9, **whole) as stage:
            await stage.remember("Ada had lunch.", category="episodic")
            stage.clock.advance(hours=71)
            await stage.remember(PORT, NGINX, "The cat sleeps.")
            return str((await stage.prompt(WORDY))["messages"])

    assert PORT in await told()
    assert PORT in await told(max_retry_count=1)
    assert PORT not in await told(max_retry_count=0)
    assert PORT not in await told(reflective_retry_enabled=False)
