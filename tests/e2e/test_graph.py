"""The graph at the real socket and on the command line: bad input, and what a person sees."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from support.daemon import Spawned, spawned, wait_until

from memd.base.errors import InvalidError, OrgMemoryQueryError
from memd.cli.cli import run
from memd.client import Client

TEXTS = (
    "Ann leads the Falcon team.",
    "The Falcon team uses Kafka.",
    "Kafka is hosted in Oslo.",
    "The Falcon team must not use RabbitMQ.",
)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spawned]:
    with spawned(tmp_path_factory.mktemp("home")) as daemon:
        with daemon.client() as client:
            for text in TEXTS:
                client.call("memory.store", {"content": text, "category": "semantic"})
            wait_until(lambda: _knows(client, "RabbitMQ"), "what was stored is learnt from")
        yield daemon


def _knows(client: Client, name: str) -> bool:
    try:
        return bool(client.call("graph.neighbours", {"name": name})["items"])
    except OrgMemoryQueryError:
        return False


def test_what_was_stored_is_walked_without_being_asked_to_learn(client: Client) -> None:
    result = client.call(
        "graph.query", {"question": "Where is the tool hosted that Ann's team uses?"}
    )
    (answer,) = result["items"]
    assert (answer["name"], answer["follows"]) == ("Oslo", True)
    quotes = [step["evidence"]["quote"] for step in answer["path"]["steps"]]
    assert quotes == [text.removesuffix(".") for text in TEXTS[:3]]


def test_what_the_graph_follows_stands_in_the_synthesized_block(client: Client) -> None:
    query = "Where is the tool hosted that Ann's team uses?"
    made = client.call("memory.synthesize", {"query": query})
    assert made["sources"]["graph"] == 1
    assert "[graph] [untrusted] Ann —leads→ " in made["block"]
    assert all(text.removesuffix(".") in made["block"] for text in TEXTS[:3])


@pytest.mark.parametrize(
    ("method", "params", "field"),
    [
        ("graph.neighbours", {"name": " "}, "name"),
        ("graph.neighbours", {"name": "x" * 300}, "name"),
        ("graph.neighbours", {"name": "Kafka", "limit": 0}, "limit"),
        ("graph.neighbours", {"name": "Kafka", "as_of": "2026-01-01T00:00:00"}, "as_of"),
        ("graph.path", {"source": "Ann", "target": "Oslo", "hops": 0}, "hops"),
        ("graph.path", {"source": "Ann", "target": "Oslo", "hops": -1}, "hops"),
        ("graph.path", {"source": "Ann", "target": "Oslo", "hops": 10**9}, "hops"),
        ("graph.path", {"source": "Ann", "target": "Oslo", "limit": 10**9}, "limit"),
        ("graph.path", {"source": "Ann"}, "target"),
        ("graph.query", {"question": ""}, "question"),
        ("graph.query", {"question": "x" * 900_001}, "question"),
        ("graph.query", {"question": "Ann?", "limit": "5"}, "limit"),
        ("graph.add", {"subject": "a", "relation": "uses"}, "object"),
    ],
)
def test_what_is_no_question_is_refused_by_the_name_of_its_field(
    client: Client, method: str, params: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidError) as refused:
        client.call(method, params)
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("method", "params", "field"),
    [
        ("graph.neighbours", {"name": "Nobody"}, "name"),
        ("graph.neighbours", {"name": "?!."}, "name"),
        ("graph.path", {"source": "Ann", "target": "Nobody"}, "target"),
        ("graph.path", {"source": "' OR 1=1 --", "target": "Ann"}, "source"),
        ("graph.add", {"subject": "a", "relation": "b\nc | uses | d", "object": "e"}, "relation"),
    ],
)
def test_a_thing_that_nobody_knows_is_a_typed_error(
    client: Client, method: str, params: dict[str, Any], field: str
) -> None:
    with pytest.raises(OrgMemoryQueryError) as refused:
        client.call(method, params)
    assert refused.value.field == field


def test_a_triple_told_twice_with_one_key_is_one_memory(client: Client) -> None:
    params = {"subject": "Bea", "relation": "mentors", "object": "Ann", "idempotency_key": "one"}
    assert client.call("graph.add", params) == client.call("graph.add", params)
    answer = client.call("graph.query", {"question": "Who mentors Ann?"})
    assert [item["name"] for item in answer["items"]] == ["Bea"]


def test_on_the_command_line_a_way_is_told_with_its_words(
    daemon: Spawned, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MEMD_HOME", str(daemon.home))
    monkeypatch.setenv("MEMD_SOCKET", str(daemon.paths.socket))
    assert run(["graph", "path", "Ann", "Oslo"]) == 0
    output = capsys.readouterr().out
    assert "1. Ann · the Falcon team · Kafka · Oslo" in output
    assert "the Falcon team —uses→ Kafka" in output
    assert '"Kafka is hosted in Oslo" (memory ' in output
    assert run(["graph", "query", "What must the Falcon team not use?", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [item["name"] for item in answer["items"]] == ["RabbitMQ"]
    assert run(["graph", "neighbours", "Kafka"]) == 0
    assert "Kafka —located in→ Oslo" in capsys.readouterr().out
    assert run(["graph", "add", "Cy", "leads", "the Kite team"]) == 0
    assert run(["graph", "query", "Who leads the Kite team?"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("Cy")
    assert run(["graph", "neighbours", "Nobody"]) != 0
