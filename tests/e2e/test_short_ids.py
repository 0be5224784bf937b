"""The end of an id is as good as the whole, for every command, and only where it may be."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.daemon import spawned
from support.store import rehash, tampering

from memd.base.errors import InvalidError
from memd.client import Client
from memd.serve.routes.routes import methods


def test_each_method_that_takes_an_id_takes_its_end() -> None:
    others = {"memory.flagged", "org.write", "org.propose", "org.timeline", "memory.forget"}
    decided_by_a_signature = {"org.approve", "org.reject"}
    shown_whole = {"tune.activate"}
    for method in methods().values():
        names = set(method.params.model_fields) & {"id", "fact_id", "run_id", "ids"}
        if names and method.name not in decided_by_a_signature | shown_whole:
            assert method.short_id is not None, method.name
            assert method.short_id.field in names, method.name
    assert all(methods()[name].short_id for name in others)


def test_a_memory_is_got_changed_thrown_away_brought_back_and_erased_by_its_end(
    client: Client,
) -> None:
    memory_id = client.add("The boiler is serviced in May")
    end = memory_id[-8:]
    assert client.call("memory.get", {"id": end})["id"] == memory_id
    changed = client.call("memory.update", {"id": end, "content": "The boiler is serviced in June"})
    assert changed["id"] == memory_id
    assert client.call("memory.delete", {"id": end}) is True
    assert client.call("trash.restore", {"id": end}) is True
    assert client.call("memory.forget", {"ids": [end]})["ids"] == [memory_id]
    assert client.call("memory.get", {"id": end}) is None


def test_an_end_of_nothing_is_an_unknown_id(client: Client) -> None:
    assert client.call("memory.get", {"id": "ffffffff"}) is None
    assert client.call("memory.forget", {"ids": ["ffffffff"], "dry_run": True})["count"] == 0


def test_another_agents_memory_is_not_named_by_its_end(client: Client) -> None:
    memory_id = client.call(
        "memory.store", {"content": "Ada's own", "category": "semantic", "agent_id": "ada"}
    )
    assert client.call("memory.get", {"id": memory_id[-8:]}) is None
    named = client.call("memory.get", {"id": memory_id[-8:], "agent_id": "ada"})
    assert named["id"] == memory_id


def test_fewer_than_six_characters_are_no_end(client: Client) -> None:
    memory_id = client.add("Too short to be meant")
    assert client.call("memory.get", {"id": memory_id[-5:]}) is None


def test_a_session_is_read_by_its_end(client: Client) -> None:
    session_id = "7b0c1f52-9d1a-4e6b-8a35-11ee22334455"
    for whole in (session_id, "334455", "work-2026-11-29", "home-2026-11-29"):
        client.ingest(f"The boiler of {whole} is serviced in May", session_id=whole)

    def sessions(method: str, session: str) -> set[str]:
        answer = client.call(method, {"session_id": session, "query": "boiler"})
        return {memory["session_id"] for memory in answer["memories"]}

    listed = client.call("memory.list", {"session_id": "22334455"})["items"]
    assert {memory["session_id"] for memory in listed} == {session_id}
    assert sessions("memory.recall", "22334455") == {session_id}
    assert sessions("memory.recall", "334455") == {"334455"}  # a name of one's own is no end
    assert sessions("memory.recall", "2026-11-29") == set()


def test_an_end_of_two_ids_is_refused_and_both_are_named(tmp_path: Path) -> None:
    with spawned(tmp_path) as daemon, daemon.client() as client:
        first = client.add("One of two")
        second = client.add("The other")
    twin = second[:-6] + first[-6:]
    with tampering(daemon.paths.database) as conn:
        conn.execute("UPDATE memory SET memory_id = ? WHERE memory_id = ?", (twin, second))
        rehash(conn, twin)
    with spawned(tmp_path) as daemon, daemon.client() as client:
        with pytest.raises(InvalidError, match=f"2 ids end in {first[-6:]}") as refused:
            client.call("memory.delete", {"id": first[-6:]})
        assert first in str(refused.value.hint)
        assert twin in str(refused.value.hint)
        assert client.call("memory.get", {"id": first[-10:]})["id"] == first
