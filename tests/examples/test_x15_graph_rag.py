"""X15: the exception for the data team is reached by hops from Litestar, and the way is shown."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from support.daemon import running

from memd.base.paths import Paths
from memd.base.settings import load
from memd.client import AsyncClient
from memd.domain.settings.settings import Settings

BLOCK = """
org_memory:
  backend: "graph_rag"
  graph:
    store: "sqlite"              # graph stored in relational DB, or dedicated graph DB
    entity_extraction: "auto"    # auto-extract entities from ADRs and policies
"""
FACTS = (
    "Litestar is the standard",
    "Don't use Flask",
    "Exception: data team uses Django for admin",
)
OTHERS = ("Every pull request needs two approvals", "The billing team uses Stripe")


@pytest.fixture
async def daemon(tmp_path: Path) -> AsyncIterator[Paths]:
    block = tmp_path / "config.yaml"
    block.write_text(BLOCK, "utf-8")
    async with running(tmp_path / "home", settings=load(Settings, block, {})) as paths:
        yield paths


@pytest.fixture
async def senior(daemon: Paths) -> AsyncIterator[AsyncClient]:
    """Connect as an agent who may write decisions, and write the three statements of X15."""
    params = {"name": "lead", "agent_id": "ada", "seniority": "lead", "scopes": ["read", "write"]}
    async with AsyncClient(daemon.socket, key=daemon.operator_key) as owner:
        key = (await owner.call("client.add", params))["key_file"]
    async with AsyncClient(daemon.socket, key=Path(key)) as client:
        for content in (*FACTS, *OTHERS):
            await client.call("org.write", {"content": content, "category": "convention"})
        yield client


def quotes(path: dict[str, Any]) -> list[str]:
    return [step["evidence"]["quote"] for step in path["steps"]]


async def test_the_exception_is_reached_by_hops_from_litestar(senior: AsyncClient) -> None:
    paths = await senior.call("graph.path", {"source": "Litestar", "target": "Django"})
    (path,) = paths["items"]
    assert path["things"] == ["Litestar", "the team", "data team", "Django"]
    assert quotes(path) == [FACTS[0], FACTS[2], FACTS[2]]
    assert all(step["evidence"]["fact_id"] for step in path["steps"])


async def test_what_is_not_to_be_used_lies_on_the_way_too(senior: AsyncClient) -> None:
    paths = await senior.call("graph.path", {"source": "Flask", "target": "data team"})
    (path,) = paths["items"]
    assert quotes(path) == [FACTS[1], FACTS[2]]
    assert path["steps"][0]["negated"]


async def test_asked_what_the_data_team_may_use_the_answer_is_django_with_its_way(
    senior: AsyncClient,
) -> None:
    for question in (
        "What may the data team use?",
        "What may the data team use instead of Litestar?",
        "Which framework is used by the data team?",
    ):
        answers = await senior.call("graph.query", {"question": question})
        (answer,) = answers["items"]
        assert answer["name"] == "Django"
        assert answer["follows"]
        assert answer["path"]["steps"][-1]["qualifier"] == "admin"
        assert quotes(answer["path"])[-1] == FACTS[2]


async def test_a_question_about_litestar_brings_the_exception_that_shares_no_word_with_it(
    senior: AsyncClient,
) -> None:
    facts = await senior.call("org.query", {"context": "Litestar"})
    assert [fact["content"] for fact in facts] == list(FACTS)


async def test_by_words_alone_the_exception_is_not_found(tmp_path: Path) -> None:
    """What the graph adds: the default backend finds the fact that names Litestar, and no more."""
    async with (
        running(tmp_path / "plain") as paths,
        AsyncClient(paths.socket, key=paths.operator_key) as owner,
    ):
        params = {"name": "l", "agent_id": "ada", "seniority": "lead", "scopes": ["read", "write"]}
        key = (await owner.call("client.add", params))["key_file"]
        async with AsyncClient(paths.socket, key=Path(key)) as client:
            for content in FACTS:
                await client.call("org.write", {"content": content, "category": "convention"})
            facts = await client.call("org.query", {"context": "Litestar"})
    assert [fact["content"] for fact in facts] == [FACTS[0]]
