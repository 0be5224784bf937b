"""What a recall read before a forget is in no later prompt of it, whatever waits in between."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from e2e.test_llm_uses import NGINX, asking, uses
from support.daemon import until
from support.llm_endpoint import Answer, Stub
from support.setting_effects import tree

from memd.client import AsyncClient

SEARCH = tree("memory.retrieval", {"strategy": "tool_based", "query_reformulation_enabled": True})
PROMPT = tree(
    "memory.retrieval",
    {
        "retriever": "hierarchical",
        "query_specific_rerank_enabled": True,
        "min_relevance": 1.0,
        "personal_boost": 0.0,
    },
)
LOOK = {"name": "search_memory", "arguments": {"query": "what restarts nginx", "limit": 10}}


def holding(stub: Stub) -> list[str]:
    return [prompt for prompt in stub.prompts() if NGINX in prompt]


@pytest.mark.parametrize(
    ("config", "names", "call"),
    [
        (SEARCH, ("reformulation",), ("inject.call", LOOK)),
        (PROMPT, ("routing", "reranking"), ("inject.prepare", {"query": "Where is nginx?"})),
    ],
    ids=["search", "prompt"],
)
async def test_what_a_recall_read_before_a_forget_is_in_no_later_prompt(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    config: dict[str, Any],
    names: tuple[str, ...],
    call: tuple[str, dict[str, Any]],
) -> None:
    first, goes_on = threading.Event(), threading.Event()

    def rule(body: dict[str, Any]) -> Answer:
        if NGINX in body["messages"][-1]["content"] and not first.is_set():
            first.set()
            assert goes_on.wait(60)
        if "SUFFICIENT" in body["messages"][0]["content"]:
            return "INSUFFICIENT"
        return json.dumps({"workers": ["episodic"], "reason": "lately", "retry": False})

    on = [uses(name) for name in names]
    async with asking(tmp_path, monkeypatch, rule, config, *on) as (stage, stub):
        doomed, _ = await stage.remember(NGINX, "The nginx port is 80.", category="episodic")
        await stage.wait_for_vectors()
        async with AsyncClient(stage.paths.socket, key=stage.paths.operator_key) as other:
            recall = asyncio.create_task(other.call(*call))
            await until(first.is_set, "a prompt with the memory is sent")
            await stage.call("memory.forget", ids=[doomed])
            goes_on.set()
            await recall
        assert len(holding(stub)) == 1, "what was read before made another prompt"
        status = await stage.call("llm.status")
        assert (status["available"], status["last_error"]) == (True, None)
