"""What a person sees on a terminal of 80 columns, and what a pipe gets."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from support.daemon import Spawned, spawned
from support.terminal import Terminal

from memd.view.cells import width

TOKYO = "東京のサーバーは毎週月曜日に再起動されます。開発チームは金曜日にデプロイしません。" * 2


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spawned]:
    with spawned(tmp_path_factory.mktemp("home")) as started:
        yield started


@pytest.fixture
def memd(daemon: Spawned) -> Terminal:
    return Terminal(daemon.paths.data_dir.parent)


def kept(daemon: Spawned, text: str) -> str:
    with daemon.client() as client:
        return client.add(text)


@pytest.mark.parametrize(
    "line",
    ["list", "search 東京のサーバー", "trash list", "archive search", "flagged list --all",
     "org query", "org policies", "shared search", "audit show", "client list", "usage",
     "sleep --report"],
)  # fmt: skip
def test_no_list_is_wider_than_the_terminal(line: str, daemon: Spawned, memd: Terminal) -> None:
    with daemon.client() as client:
        client.add(TOKYO)
        client.call("memory.delete", {"id": client.add(f"Thrown away: {TOKYO}")})
        client.call("memory.quarantine", {"id": client.add(f"Suspicious: {TOKYO}")})
        client.call("shared.publish", {"content": TOKYO, "category": "semantic"})
        window = {"source": "claude-code", "session_id": "0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11"}
        client.call("usage.report", {**window, "used_tokens": 160_000, "window_tokens": 200_000})
    shown = memd(*line.split())
    assert shown.code == 0, shown.err
    assert all(width(each) <= 80 for each in shown.out.splitlines()), shown.out


@pytest.mark.parametrize("line", ["list", "trash list", "flagged list", "shared search"])
def test_a_list_begins_with_words_that_a_person_knows(
    line: str, daemon: Spawned, memd: Terminal
) -> None:
    with daemon.client() as client:
        client.add("The server is called heron")
        client.call("memory.delete", {"id": client.add("The server was called stork")})
        client.call("memory.quarantine", {"id": client.add("The server is called ibis")})
        client.call("shared.publish", {"content": "The server is ours", "category": "semantic"})
    shown = memd(*line.split())
    assert re.search(r"^The server (is|was) \S+", shown.out, re.MULTILINE), shown.out


def test_the_end_of_an_id_that_a_list_shows_is_what_every_command_takes(
    daemon: Spawned, memd: Terminal
) -> None:
    memory_id = kept(daemon, "Kingfishers nest by the weir")
    (line,) = (each for each in memd("list").out.splitlines() if "Kingfishers" in each)
    short = line.split()[5]
    assert memory_id.endswith(short)
    assert memd("get", short).out == "Kingfishers nest by the weir\n"
    assert memd("delete", short).code == 0
    assert memd("trash", "restore", short).code == 0


def test_a_person_reads_local_times_and_a_pipe_gets_utc(daemon: Spawned, memd: Terminal) -> None:
    memory_id = kept(daemon, "Swifts arrive in May")
    with daemon.client() as client:
        created = client.call("memory.get", {"id": memory_id})["created_at"]
    (piped,) = (each for each in memd.piped("list").out.splitlines() if memory_id in each)
    assert piped.split("\t") == [memory_id, created, "semantic", "Swifts arrive in May"]
    assert re.search(r"created_at: +\d{4}-\d\d-\d\d \d\d:\d\d JST", memd("get", memory_id).err)
