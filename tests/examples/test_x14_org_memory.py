"""X14: the documents' hybrid configuration of organisational memory, as it stands."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.daemon import Spawned, spawned
from support.owner_keys import AnOwner, an_owner

from memd.api import (
    HybridOrgMemoryBackend,
    OrgFactAuthor,
    OrgFactCategory,
    OrgFactWriteRequest,
    OrgMemoryAccessDeniedError,
    OrgMemoryBackend,
    OrgMemoryQuery,
    SeniorityLevel,
    create_org_memory_backend,
)
from memd.base.paths import Paths
from memd.client import Client

CONFIG = """
org_memory:
  backend: "hybrid_prompt_retrieval" # hybrid_prompt_retrieval, graph_rag, temporal_kg
  core_policies: # always in system prompt
    - "All code must have 80%+ test coverage"
    - "Use Litestar, not Flask"
    - "PRs require 2 approvals"
  extended_store:
    backend: "sqlite" # sqlite, postgresql
    max_retrieved_per_query: 5
  write_access:
    policies: ["human"] # only humans write core policies
    adrs: ["human", "senior", "lead", "c_suite"]
    procedures: ["human", "senior", "lead", "c_suite"]
"""
POLICIES = [
    "All code must have 80%+ test coverage",
    "Use Litestar, not Flask",
    "PRs require 2 approvals",
]
HUMAN = OrgFactAuthor(is_human=True)


def an_agent(seniority: str) -> OrgFactAuthor:
    return OrgFactAuthor(agent_id=f"the-{seniority}", seniority=SeniorityLevel(seniority))


def a_fact(category: str, content: str = "We chose SQLite") -> OrgFactWriteRequest:
    return OrgFactWriteRequest(content=content, category=OrgFactCategory(category))


@pytest.fixture
async def org(tmp_path: Path) -> AsyncIterator[HybridOrgMemoryBackend]:
    backend = create_org_memory_backend(
        yaml.safe_load(CONFIG)["org_memory"], data_dir=str(tmp_path)
    )
    await backend.connect()
    yield backend
    await backend.disconnect()


async def test_x14_the_policies_are_the_three_texts_in_order(org: HybridOrgMemoryBackend) -> None:
    assert isinstance(org, OrgMemoryBackend)
    assert org.backend_name == "hybrid_prompt_retrieval"
    assert [fact.content for fact in await org.list_policies()] == POLICIES


async def test_x14_each_author_writes_what_is_allowed(org: HybridOrgMemoryBackend) -> None:
    await org.write(a_fact("adr"), author=an_agent("senior"))
    await org.write(a_fact("procedure"), author=an_agent("lead"))
    await org.write(a_fact("core_policy", "No commits to main"), author=HUMAN)
    for category, author in (
        ("adr", an_agent("junior")),
        ("procedure", an_agent("mid")),
        ("core_policy", an_agent("c_suite")),
    ):
        with pytest.raises(OrgMemoryAccessDeniedError):
            await org.write(a_fact(category), author=author)
    assert [fact.content for fact in await org.list_policies()] == [*POLICIES, "No commits to main"]
    assert await org.count_policies() == 4


async def test_x14_a_query_returns_five_at_most(org: HybridOrgMemoryBackend) -> None:
    for number in range(8):
        await org.write(a_fact("adr", f"ADR {number}: use SQLite"), author=HUMAN)
    for context in (None, "SQLite", "which database do we use, SQLite?"):
        facts = await org.query(OrgMemoryQuery(context=context, limit=100))
        assert len(facts) == 5
    assert POLICIES[1] not in [
        fact.content for fact in await org.query(OrgMemoryQuery(context="Litestar", limit=100))
    ]


# The same at the socket of a daemon that was started with this file.


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spawned]:
    home = tmp_path_factory.mktemp("home")
    file = Paths.resolve(home=home, environ={}).config_file.with_suffix(".yaml")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(CONFIG, "utf-8")
    with spawned(home) as daemon:
        yield daemon


@pytest.fixture(scope="module")
def owner(daemon: Spawned) -> Iterator[AnOwner]:
    with an_owner(daemon) as owner:
        yield owner


def keyed(daemon: Spawned, owner: AnOwner, seniority: str) -> Client:
    params = {"name": f"the-{seniority}", "agent_id": f"the-{seniority}", "seniority": seniority}
    added = owner.client.call("client.add", params)
    return Client(daemon.paths.socket, key=Path(added["key_file"]))


def test_x14_over_the_socket_the_policies_are_in_every_prompt(owner: AnOwner) -> None:
    """SPEC 15.4.7."""
    policies = owner.client.call("org.policies")
    assert [fact["content"] for fact in policies[:3]] == POLICIES
    for query in ("anything at all", "Flask"):
        prompt: dict[str, Any] = owner.client.call("inject.prepare", {"query": query})
        text = "\n".join(message["content"] for message in prompt["messages"])
        places = [text.index(policy) for policy in POLICIES]
        assert places == sorted(places)


def test_x14_over_the_socket_each_key_writes_what_is_allowed(
    daemon: Spawned, owner: AnOwner
) -> None:
    adr, policy = (
        {"category": "adr", "content": "We chose SQLite"},
        {"category": "core_policy", "content": "No commits to main"},
    )
    with keyed(daemon, owner, "senior") as senior:
        fact_id = senior.call("org.write", adr)
        assert senior.call("org.get", {"fact_id": fact_id})["author"]["agent_id"] == "the-senior"
    with keyed(daemon, owner, "junior") as junior, pytest.raises(OrgMemoryAccessDeniedError):
        junior.call("org.write", adr)
    with keyed(daemon, owner, "c_suite") as c_suite, pytest.raises(OrgMemoryAccessDeniedError):
        c_suite.call("org.write", policy)
    owner.client.call("org.write", owner.written(**policy))
    assert owner.client.call("org.count_policies") == 4
    for number in range(6):
        owner.client.call("org.write", owner.written(category="adr", content=f"ADR {number}"))
    assert len(owner.client.call("org.query", {"limit": 50})) == 5
