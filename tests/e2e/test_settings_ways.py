"""Settings of chunks, of how a question is asked again and of prompts, shown over the socket."""

from __future__ import annotations

import re
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from support.daemon import running
from support.setting_effects import Stage, a_stage, shows, tree

from memd.base.settings import SettingsWarning
from memd.client import AsyncClient
from memd.domain.encoding import ChunkingConfig
from memd.domain.settings.settings import Settings

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


@shows("memory.retrieval.query_reformulation_enabled", "memory.retrieval.max_reformulation_rounds")
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
            answer = await stage.call("inject.call", name="search_memory", arguments=arguments)
            assert NGINX in answer["content"]
            match = re.search(r"relevance: ([\d.]+)", answer["content"])
            assert match is not None
            return float(match[1])

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
    async def prompt(**retrieval: Any) -> str:
        by_relevance = {"relevance_weight": 1.0, "recency_weight": 0.0}
        whole = {"retriever": "hierarchical", **by_relevance, **retrieval}
        async with _stage(tmp_path, monkeypatch, min_relevance=0.72, **whole) as stage:
            await stage.remember("Ada had lunch.", category="episodic")
            stage.clock.advance(hours=71)
            await stage.remember(PORT, NGINX, "The cat sleeps.")
            return str((await stage.prompt(WORDY))["messages"])

    assert PORT in await prompt()
    assert PORT in await prompt(max_retry_count=1)
    assert PORT not in await prompt(max_retry_count=0)
    assert PORT not in await prompt(reflective_retry_enabled=False)


SENTENCES = [
    f"The boat of row {number} lies at pier {number} since the storm." for number in range(15)
]
PARAGRAPHS = "\n\n".join(" ".join(SENTENCES[at : at + 5]) for at in range(0, 15, 5))


async def _chunks(home: Path, patch: pytest.MonkeyPatch, **bounds: int) -> list[dict[str, Any]]:
    """Return the memories that a daemon with *bounds* makes of three paragraphs, in order."""
    settings = tree("memory.chunking", bounds) if bounds else {}
    async with a_stage(home, patch, settings) as stage:
        receipt = await stage.call("memory.ingest", text=PARAGRAPHS)
        ids = [item["id"] for state in ("stored", "pending") for item in receipt[state]]
        return [await stage.call("memory.get", id=each) for each in ids]


@shows("memory.chunking.max_tokens")
async def test_a_smaller_maximum_gives_more_and_smaller_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = await _chunks(tmp_path / "usual", monkeypatch)
    small = await _chunks(tmp_path / "small", monkeypatch, min_tokens=10, max_tokens=40)

    assert len(usual) == 3
    assert len(small) > 3
    assert max(each["token_count"] for each in small) <= 40


@shows("memory.chunking.min_tokens")
async def test_a_larger_minimum_joins_paragraphs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (only,) = await _chunks(tmp_path, monkeypatch, min_tokens=200)

    assert only["content"] == PARAGRAPHS


def test_the_documents_maximum_is_the_window_and_says_so() -> None:
    with pytest.warns(SettingsWarning, match=r"max_tokens = 300 is taken as 254"):
        settings = Settings.model_validate(tree("memory.chunking.max_tokens", 300))

    assert settings.memory.chunking == ChunkingConfig(min_tokens=50, max_tokens=254)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"min_tokens": 0}, "min_tokens"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"min_tokens": 60, "max_tokens": 59}, "min_tokens = 60 is above max_tokens = 59"),
        ({"min_tokens": 255}, "min_tokens = 255 is above max_tokens = 254"),
        ({"max_tokens": 301}, "max_tokens = 301: a chunk has at most 254 tokens"),
    ],
)
def test_bounds_that_no_chunk_can_keep_are_refused(bounds: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Settings.model_validate(tree("memory.chunking", bounds))


LESSON = "The nginx port must be free before nginx starts."


@pytest.mark.parametrize("setting", [True, False])
async def test_the_setting_decides_and_the_parameter_of_a_call_wins(
    tmp_path: Path, setting: bool
) -> None:
    tree = {"memory": {"retrieval": {"synthesize": setting}}}
    settings = Settings.model_validate(tree)
    async with (
        running(tmp_path, settings=settings) as paths,
        AsyncClient(socket=paths.socket) as client,
    ):
        await client.call("learn.outcome", {"final_response": "Done.", "lesson": LESSON})

        async def prompt(**more: Any) -> str:
            asked = {"query": "Which nginx port must be free?", **more}
            prompt = await client.call("inject.prepare", asked)
            return str(prompt["messages"][-1]["content"])

        block, entries = f"[learnings] {LESSON}", "[lesson | score: "
        assert (block in await prompt(), entries in await prompt()) == (setting, not setting)
        assert block in await prompt(synthesize=True)
        assert entries in await prompt(synthesize=False)
