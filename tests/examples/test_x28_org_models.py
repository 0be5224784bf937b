"""X28: an author that contradicts itself, the life of a fact; the blocks of docs/org.md load."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError
from support.clocks import HeldClock
from support.daemon import Spawned, spawned
from support.owner_keys import AnOwner

from memd.api import (
    OperationType,
    OrgFactAuthor,
    OrgFactCategory,
    OrgFactWriteRequest,
    OrgMemoryConfig,
    create_org_memory_backend,
)
from memd.domain.settings.org import org_memory_config

HUMAN = OrgFactAuthor(is_human=True)


def test_x28_a_human_has_no_agent_id() -> None:
    with pytest.raises(ValidationError):
        OrgFactAuthor(is_human=True, agent_id="a")


async def test_x28_a_fact_published_retracted_and_published_again(tmp_path: Path) -> None:
    clock = HeldClock()
    org = create_org_memory_backend(data_dir=str(tmp_path), clock=clock)
    await org.connect()
    created, moments = clock.now, []
    request = OrgFactWriteRequest(content="first", category=OrgFactCategory.ADR)
    fact_id = await org.write(request, author=HUMAN)
    moments.append(clock.now)
    for content in ("second", None, "third"):
        clock.advance(hours=1)
        if content is None:
            assert await org.retract(fact_id, author=HUMAN)
        else:
            again = OrgFactWriteRequest(content=content, category="adr", fact_id=fact_id)
            assert await org.write(again, author=HUMAN) == fact_id
        moments.append(clock.now)

    log = await org.history(fact_id)
    assert [(entry.version, entry.operation_type) for entry in log] == [
        (1, OperationType.PUBLISH),
        (2, OperationType.PUBLISH),
        (3, OperationType.RETRACT),
        (4, OperationType.PUBLISH),
    ]
    stood = [(await org.snapshot_at(moment))[0] for moment in moments]
    assert [one.version for one in stood] == [1, 2, 3, 4]
    assert [one.content for one in stood] == ["first", "second", "second", "third"]
    assert {one.created_at for one in stood} == {created}
    assert [one.retracted_at for one in stood] == [None, None, moments[2], None]
    fact = await org.get(fact_id)
    assert fact is not None
    assert (fact.version, fact.content, fact.created_at) == (4, "third", created)
    await org.disconnect()


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spawned]:
    with spawned(tmp_path_factory.mktemp("home")) as daemon:
        yield daemon


def test_x28_over_the_socket(daemon: Spawned) -> None:
    with daemon.client() as client:
        owner = AnOwner(client)
        owner.register()
        fact: dict[str, Any] = {"category": "adr", "content": "first"}
        fact_id = client.call("org.write", owner.written(**fact))
        again = {**fact, "fact_id": fact_id}
        client.call("org.write", owner.written(**{**again, "content": "second"}))
        assert client.call("org.retract", owner.retracted(fact_id))
        assert client.call("org.get", {"fact_id": fact_id}) is None
        client.call("org.write", owner.written(**{**again, "content": "third"}))
        log = client.call("org.history", {"fact_id": fact_id})["items"]
        assert [entry["version"] for entry in log] == [1, 2, 3, 4]
        stood = [
            client.call("org.snapshot_at", {"at": entry["timestamp"]})["items"] for entry in log
        ]
        assert [one["version"] for (one,) in stood] == [1, 2, 3, 4]
        assert [one["retracted_at"] for (one,) in stood] == [None, None, log[2]["timestamp"], None]
        assert {one["created_at"] for (one,) in stood} == {log[0]["timestamp"]}
        before = datetime.fromisoformat(log[0]["timestamp"]) - timedelta(microseconds=1)
        asked = {"at": before.astimezone(UTC).isoformat()}
        assert client.call("org.snapshot_at", asked) == {"items": [], "next": None}


ROOT = Path(__file__).resolve().parents[2]
SEEDS = ROOT.parent / "shared" / "design" / "seeds"


def test_the_configuration_in_the_documentation_loads() -> None:
    (block,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/org.md").read_text("utf-8"), re.S)
    config = org_memory_config(yaml.safe_load(block)["org_memory"])
    assert isinstance(config, OrgMemoryConfig)
    assert config.core_policies == ("Use Litestar, not Flask",)
    assert list(config.read_access) == [OrgFactCategory.ADR]


GROUPS = {"extended_store:", "write_access:", "graph:", "temporal:"}


@pytest.mark.parametrize("backend", ["hybrid_prompt_retrieval", "graph_rag", "temporal_kg"])
def test_each_block_of_the_document_loads_word_for_word(backend: str) -> None:
    """The seed lost its indentation; nothing but that is given back."""
    document = next(iter(SEEDS.glob("004*")), None) if SEEDS.is_dir() else None
    if document is None:
        pytest.skip("the documents are not here")
    lines = document.read_text("utf-8").splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(f'backend: "{backend}"'))
    end = next(n for n in range(start, len(lines)) if lines[n].startswith("Strengths:"))
    block, depth = [], ""
    for line in lines[start:end]:
        if line.split("#")[0].strip() in GROUPS:
            block.append(line)
            depth = "  "
        else:
            block.append(f"{depth}{line}" if depth else line)
    config = org_memory_config(yaml.safe_load("\n".join(block)))
    assert config.backend == backend
    assert len(config.core_policies) == (3 if backend == "hybrid_prompt_retrieval" else 0)
