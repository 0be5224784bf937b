"""``memd usage``: the windows as a person sees them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.commands import Memd
from support.daemon import Spawned, environment, spawned, wait_until


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Spawned]:
    with spawned(tmp_path, {"MEMD_MODEL_DIR": str(tmp_path / "none")}) as spawned_daemon:
        yield spawned_daemon


def report(daemon: Spawned, **usage: Any) -> None:
    with daemon.client() as client:
        client.call("usage.report", usage)


def test_a_window_is_a_line_with_what_is_used_of_what_and_how_full(
    daemon: Spawned, memd: Memd
) -> None:
    report(daemon, source="codex", session_id="s1", used_tokens=15_000, window_tokens=30_000)
    report(daemon, source="gemini", session_id="s2", event="AfterAgent")

    lines = memd("usage").out.splitlines()

    assert [line.split("\t") for line in lines] == [
        ["gemini", "s2", "?", "?", "?", "when full"],
        ["codex", "s1", "15,000", "30,000", "████████          50 %", "when full"],
    ]


def test_a_session_that_has_ended_is_not_said_to_nap_again(daemon: Spawned, memd: Memd) -> None:
    with daemon.client() as client:
        wish = "Always run the linter before each commit."
        client.call("memory.ingest", {"text": wish, "session_id": "s1", "origin": "person"})
        report(daemon, source="codex", session_id="s1", used_percent=40, event="SessionEnd")
        wait_until(lambda: bool(client.call("usage.list", {})["items"][0]["napped_at"]), "the nap")
    ended = memd("usage").out
    report(daemon, source="codex", session_id="s1", used_percent=40, event="Stop")

    assert "napped" in ended
    assert "again" not in ended
    assert "; again when full" in memd("usage").out


def test_the_answer_is_one_object_for_a_program(daemon: Spawned, memd: Memd) -> None:
    report(daemon, source="codex", session_id="s1", used_tokens=25_000, window_tokens=30_000)

    (window,) = memd("usage", "--json").json["items"]

    assert (window["source"], window["armed"]) == ("codex", False)
    assert window["fill"] == pytest.approx(0.8333, abs=1e-4)


def test_without_a_window_it_says_so(memd: Memd) -> None:
    output = memd("usage")
    assert output.out == ""
    assert "no assistant" in output.err


def test_a_usage_file_that_cannot_be_read_is_said_to_be_there(daemon: Spawned, memd: Memd) -> None:
    folder = daemon.paths.socket.with_name("usage")
    wait_until(folder.is_dir, "the folder is made")
    (folder / "a.json").write_text("[]")
    (folder / "b.json").write_text('{"v": 7, "source": "codex"}')
    with daemon.client() as client:
        wait_until(lambda: client.call("usage.list", {})["unreadable"] == 2, "both files are seen")

    assert "unreadable usage files: 2; the last: " in memd("usage").err
    answer = memd("usage", "--json").json
    assert answer["unreadable"] == 2
    assert answer["unreadable_reason"] in {"it is not a JSON object", "v must be 1"}

    for name in ("a", "b"):
        params = {"source": "codex", "session_id": name, "used_percent": 1}
        (folder / f"{name}.json").write_text(json.dumps(params))
    with daemon.client() as client:
        wait_until(lambda: client.call("usage.list", {})["unreadable"] == 0, "both are mended")
    assert "unreadable" not in memd("usage", "--json").json


def test_watching_shows_what_changes(daemon: Spawned, tmp_path: Path) -> None:
    shown = tmp_path / "shown"
    with shown.open("wb") as stream:
        watching = subprocess.Popen(
            [sys.executable, "-m", "memd", "usage", "--watch", "--json"],
            env=environment(daemon.home),
            stdout=stream,
        )
    try:
        wait_until(lambda: shown.read_text("utf-8").count("\n") == 1, "the first look")
        report(daemon, source="codex", session_id="s1", used_tokens=100)
        wait_until(lambda: shown.read_text("utf-8").count("\n") == 2, "the change")
    finally:
        watching.terminate()
        watching.wait()
    assert json.loads(shown.read_text("utf-8").splitlines()[1])["items"][0]["used_tokens"] == 100
