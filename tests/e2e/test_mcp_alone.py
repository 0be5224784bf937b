"""An assistant that has memd's MCP tools alone: no hooks, so no brief and no prepared prompts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from support.daemon import Spawned
from support.mcp_process import MODERN, Pumped, pumped

from memd.client import Client

NUMBERS = itertools.count()
HAND = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c"}}


@pytest.fixture
def agent_id(client: Client) -> str:
    """Return an agent of the test's own, whose client has the same name."""
    name = f"alone-{next(NUMBERS)}"
    client.call("client.add", {"name": name, "agent_id": name, "scopes": ["read", "write"]})
    return name


@pytest.fixture
def pump(daemon: Spawned, agent_id: str) -> Iterator[Pumped]:
    with pumped(daemon.home, "--client", agent_id) as pump:
        yield pump


def prefer(client: Client, agent_id: str, name: str, value: str) -> None:
    client.call("preference.set", {"agent_id": agent_id, "name": name, "value": value})


def text(result: dict[str, Any]) -> str:
    return str(result["content"][0]["text"])


def test_it_is_told_what_the_user_prefers_and_nothing_that_nobody_confirmed(
    daemon: Spawned, client: Client, agent_id: str, pump: Pumped
) -> None:
    before = pump.ask("initialize", HAND)["result"]["instructions"]
    prefer(client, agent_id, "language", "answer in Welsh")
    with Client(daemon.paths.socket, key=daemon.paths.keys_dir / f"{agent_id}.key") as program:
        prefer(program, agent_id, "tone", "shout")
    instructions = pump.ask("initialize", HAND)["result"]["instructions"]
    assert instructions == f"{before}\n\nWhat the user prefers:\n- language: answer in Welsh"
    discovered = pump.ask("server/discover", {"_meta": MODERN})["result"]
    assert discovered["instructions"] == instructions
    assert (discovered["cacheScope"], discovered["ttlMs"]) == ("private", 0)


def test_of_many_preferences_it_is_told_what_a_client_passes_on(
    client: Client, agent_id: str, pump: Pumped
) -> None:
    for number in range(40):
        prefer(client, agent_id, f"rule_{number}", f"keep to rule {number}, always")
    instructions = pump.ask("initialize", HAND)["result"]["instructions"]
    assert 10 < instructions.count("keep to rule") < 40
    assert len(instructions) < 2_000


def test_whoever_asks_for_preferences_gets_all(client: Client, agent_id: str, pump: Pumped) -> None:
    prefer(client, agent_id, "language", "answer in Welsh")
    prefer(client, agent_id, "units", "metric")
    wish = {"agent_id": agent_id, "origin": "person", "text": "I always use tabs, never spaces."}
    client.call("memory.ingest", wish)
    pump.tool("memory_add", text="The heron service deploys on Thursdays.")
    answer = text(pump.tool("memory_search", query="preferences"))
    for value in ("answer in Welsh", "metric", "tabs, never spaces"):
        assert answer.count(value) == 1
    other = text(pump.tool("memory_search", query="When does heron deploy?"))
    assert other.count("<memory-entry>") == 1


def test_a_limit_caps_the_answer_and_adds_nothing_unlikely(pump: Pumped) -> None:
    for each in (
        "Tom is allergic to walnuts.",
        "Tom's school begins at eight.",
        "The choir rehearses on Thursdays.",
        "The boiler is from 2019.",
    ):
        pump.tool("memory_add", text=each)
    query = "What is Tom allergic to?"
    plain = text(pump.tool("memory_search", query=query))
    assert text(pump.tool("memory_search", query=query, limit=10)) == plain
    assert text(pump.tool("memory_search", query=query, limit=1)).count("<memory-entry>") == 1


def test_what_is_corrected_is_of_the_day_of_its_correction(
    daemon: Spawned, agent_id: str, pump: Pumped
) -> None:
    memory = {
        "content": "Ada takes ramipril, 5 mg.",
        "category": "semantic",
        "occurred_at": "2024-05-01T10:00:00Z",
        "origin": "assistant",
    }
    with Client(daemon.paths.socket, key=daemon.paths.keys_dir / f"{agent_id}.key") as program:
        memory_id = program.call("memory.store", memory)
        assert "(2024-05-01, id=" in text(pump.tool("memory_get", id=memory_id))
        answer = pump.tool("memory_update", id=memory_id, text="Ada takes candesartan, 8 mg.")
        assert "2024-05-01" not in text(answer)
        shown = text(pump.tool("memory_search", query="What does Ada take?"))
        assert "candesartan" in shown
        assert "2024-05-01" not in shown


def test_what_is_known_or_unknown_is_named_once_and_in_words(pump: Pumped) -> None:
    line = "The heron service keeps a ledger of all that it pays. "
    answer = pump.tool("memory_add", text=line * 100)["structuredContent"]
    assert len(answer["known"]) == len(set(answer["known"]))
    for name, more in (("memory_update", {"text": "x"}), ("memory_get", {}), ("memory_delete", {})):
        answer = pump.tool(name, id="0123456789abcdef", **more)
        assert answer["isError"]
        assert "memory_search and memory_list show ids" in text(answer)


def test_a_search_by_tag_has_nothing_else(client: Client, agent_id: str, pump: Pumped) -> None:
    prefer(client, agent_id, "pump", "name the heron pump by its number")
    pump.tool("memory_add", text="The heron pump was serviced in May.", tags=["service", "heron"])
    pump.tool("memory_add", text="The heron pump was bought in March.", tags=["heron"])
    query = "When was something done to the heron pump?"
    assert text(pump.tool("memory_search", query=query)).count("<memory-entry>") >= 2
    only = text(pump.tool("memory_search", query=query, tags=["heron", "service"]))
    assert (only.count("<memory-entry>"), "in May" in only) == (1, True)
    assert "in May" in text(pump.tool("memory_search", query=query, tag="service"))
    assert text(pump.tool("memory_list", tags=["service"])).count("<memory-entry>") == 1


def test_what_it_notes_as_a_wish_of_the_user_is_one(
    client: Client, agent_id: str, pump: Pumped
) -> None:
    """A wish does not age: later memories do not displace it from a brief."""
    pump.tool("memory_add", text="The user prefers metric units in recipes.")
    for number in range(60):
        pump.tool("memory_add", text=f"The owl report number {number} was filed in room {number}.")
    brief = client.call("inject.brief", {"agent_id": agent_id, "project_id": None})
    lines = "\n".join(message["content"] for message in brief["messages"])
    assert "[preference | " in lines
    assert "metric units in recipes" in lines
    assert "metric units" in text(pump.tool("memory_search", query="preferences"))
