"""X28: an author that contradicts itself, and the life of one fact."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from support.clocks import HeldClock
from support.daemon import Spawned, spawned
from support.signing import AnOwner

from memd.api import (
    OperationType,
    OrgFactAuthor,
    OrgFactCategory,
    OrgFactWriteRequest,
    create_org_memory_backend,
)

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
