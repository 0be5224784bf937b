"""``memd search --sessions`` and ``memd why`` against a real daemon."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial

import pytest
from support import commands
from support.commands import Memd
from support.daemon import Spawned, spawned

FACT = "decided: the heron nests at the weir"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spawned]:
    messages = [
        {"role": "user", "content": FACT, "timestamp": "2026-03-02T10:00:00Z"},
        {"role": "tool", "content": "weir.log: \x1b[31mlevel 4711", "name": "sh"},
        *({"role": "assistant", "content": f"This is turn {n} of the rest."} for n in range(4)),
    ]
    with spawned(tmp_path_factory.mktemp("home")) as daemon:
        with daemon.client() as client:
            params = {"messages": messages, "session_id": "s", "project_id": "river"}
            client.call("sleep.consolidate", params)
            client.add("The shed is red.", metadata={"source": "shed.md"})
        yield daemon


@pytest.fixture
def memd(daemon: Spawned) -> Memd:
    return partial(commands.memd, daemon.home, COLUMNS="140")


def test_what_was_said_in_a_session_is_printed_with_whose_it_is(memd: Memd) -> None:
    code, out, _ = memd("search", "--sessions", "where", "does", "the", "heron", "nest")
    assert code == 0
    first, second = out.splitlines()
    assert first == f"user  {FACT}"
    assert "message 0 · session s · project river" in second
    code, out, err = memd("search", "--sessions", "zeppelin")
    assert (code, out) == (0, "")
    assert "no message of a session matches" in err


def test_what_a_tool_printed_cannot_steer_the_terminal(memd: Memd) -> None:
    code, out, _ = memd("search", "--sessions", "4711")
    assert code == 0
    assert out.startswith("tool  ")
    assert "\x1b" not in out


def test_a_search_of_sessions_is_limited_and_answers_in_json(memd: Memd) -> None:
    answers = [
        memd("search", "--sessions", "weir", *more, "--json").json["items"]
        for more in ((), ("-n", "1"), ("--until", "2026-03-02"), ("--session", "other"))
    ]
    assert [len(items) for items in answers] == [2, 1, 0, 0]
    assert answers[0][0].keys() == {
        "session_id", "project_id", "ordinal", "role", "at", "snippet"
    }  # fmt: skip


def test_what_is_said_of_memories_only_is_refused_with_sessions(memd: Memd) -> None:
    code, out, err = memd("search", "--sessions", "weir", "--category", "semantic")
    assert (code, out) == (2, "")
    assert "--category filters memories" in err


def test_why_tells_where_a_memory_comes_from(memd: Memd) -> None:
    items = memd("list", "--json").json["items"]
    ids = {item["content"]: item["id"] for item in items}
    code, out, _ = memd("why", ids[FACT][-8:])
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == FACT
    assert lines[1].startswith("nap of ")
    assert lines[2:4] == ["session s", "project river"]
    assert lines[4].startswith("origin person, 2026-03-02")
    assert lines[6:] == ["made from 1 message:", "", lines[8], f"  {FACT}"]
    assert lines[8].startswith("user 2026-03-02")
    code, out, _ = memd("why", ids["The shed is red."])
    assert code == 0
    assert "from shed.md" in out
    assert ", by your own command" in out
    assert "stored as received" in out


def test_why_tells_what_an_edited_memory_said_before(memd: Memd) -> None:
    memory_id = memd("add", "The weir opens in May.").out.strip()
    for text in ("The weir opens in June.", "The weir opens in July."):
        assert memd("edit", memory_id, "--text", text).code == 0
    code, out, _ = memd("why", memory_id)
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "The weir opens in July."
    assert "edited since it was stored:" in lines
    before = [line for line in lines if line.startswith("  ")]
    assert before == ["  The weir opens in June.", "  The weir opens in May."]
    memd("delete", memory_id)


def test_why_answers_in_json_and_says_what_is_unknown(memd: Memd) -> None:
    _, out, _ = memd("list", "--json")
    (memory_id,) = [item["id"] for item in json.loads(out)["items"] if item["content"] == FACT]
    answer = json.loads(memd("why", memory_id, "--json")[1])
    assert answer["v"] == 1
    assert answer["memory"]["id"] == memory_id
    assert answer["made_by"]["kind"] == "nap"
    code, out, err = memd("why", "0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11")
    assert (code, out) == (1, "")
    assert "no memory has the id" in err
