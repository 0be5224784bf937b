"""X6 and what lies around it: a usage file is written, and the session naps, once."""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.commands import memd
from support.daemon import Spawned, spawned, wait_until

from memd.base.errors import NotFoundError
from memd.client import Client

QUIET_S = 0.6  # more than a change takes to be noticed

KEY = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
RULE = "We always check the nginx config before restarting, never after."
MESSAGES: tuple[dict[str, Any], ...] = (
    {"role": "user", "content": RULE},
    {"role": "tool", "name": "shell_exec", "content": "Exit code 0. Deployed 47 files to /opt/app"},
    {"role": "assistant", "content": "Well.\ndecided: use blue-green deployment strategy"},
    {"role": "assistant", "content": "And so we go on, at some length."},
    *({"role": "assistant", "content": f"This is turn {n} of the rest."} for n in range(4)),
)


@dataclass
class Place:
    """A running daemon, its usage folder, and a folder of transcripts that it may read."""

    home: Path
    daemon: Spawned
    client: Client

    @property
    def usage(self) -> Path:
        return self.daemon.paths.socket.with_name("usage")

    def transcript(self, name: str, messages: Sequence[Any] = MESSAGES) -> Path:
        path = self.home / "transcripts" / f"{name}.jsonl"
        path.write_text("".join(f"{json.dumps(message)}\n" for message in messages), "utf-8")
        return path

    def say(self, name: str, **usage: Any) -> Path:
        """Write a usage file as assistants should: beside, then in its place."""
        path = self.usage / f"{name}.json"
        draft = path.with_suffix(".tmp")
        draft.write_text(json.dumps(usage), "utf-8")
        draft.replace(path)
        return path

    def naps(self) -> list[dict[str, Any]]:
        runs = self.client.call("sleep.report", {"limit": 100})["items"]
        return [run for run in runs if run["kind"] == "nap"]

    def napped(self, count: int, seconds: float = 10.0) -> None:
        wait_until(lambda: len(self.naps()) >= count, f"{count} naps", seconds)

    def window(self, session_id: str) -> dict[str, Any]:
        items = self.client.call("usage.list")["items"]
        row: dict[str, Any] = next((w for w in items if w["session_id"] == session_id), {})
        return row

    def seen(self, session_id: str, used_tokens: int) -> None:
        wait_until(
            lambda: self.window(session_id).get("used_tokens") == used_tokens,
            f"{session_id} is known to use {used_tokens}",
        )

    def contents(self, query: str) -> list[str]:
        """Return what is found that says *query* itself, not what only stands beside it."""
        answer = self.client.call("memory.recall", {"query": query, "search_mode": "words"})
        return [m["content"] for m in answer["memories"] if query in m["content"]]


def a_home(tmp_path: Path) -> Path:
    (tmp_path / "transcripts").mkdir()
    (tmp_path / "config").mkdir()
    roots = json.dumps([str(tmp_path / "transcripts")])
    (tmp_path / "config" / "config.toml").write_text(f"[usage]\ntranscript_roots = {roots}\n")
    return tmp_path


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    home = a_home(tmp_path)
    with spawned(home, {"MEMD_MODEL_DIR": str(home / "none")}) as daemon, daemon.client() as client:
        made = Place(home, daemon, client)
        wait_until(made.usage.is_dir, "the daemon makes the folder")
        yield made


@pytest.mark.parametrize(
    "usage",
    [
        {"used_tokens": 25_000, "window_tokens": 30_000},
        {"current_tokens": 25_000, "max_tokens": 30_000},
        {"used_tokens": 25_000},
    ],
    ids=["memd's words", "the documents' words", "an unknown window"],
)
def test_a_full_window_naps_once_and_what_matters_of_it_is_found(
    place: Place, usage: dict[str, int]
) -> None:
    transcript = place.transcript("s1")
    place.say("codex-s1", transcript_path=str(transcript), **usage)
    wait_until(lambda: bool(place.contents("nginx config")), "the user's rule is found")
    assert any(RULE in text for text in place.contents("nginx config"))
    kept = [entry["content"] for entry in place.client.call("memory.list")["items"]]
    assert "[shell_exec] Exit code 0. Deployed 47 files to /opt/app" not in kept
    assert "decided: use blue-green deployment strategy" not in kept
    (nap,) = place.naps()
    assert nap["detail"]["messages_before"] == 8
    assert nap["detail"]["facts"] == 3
    kept = place.client.call("session.messages", {"session_id": "s1"})["items"]
    assert [message["text"] for message in kept] == [m["content"] for m in MESSAGES]


def test_fuller_still_naps_no_more_and_neither_does_a_restart(tmp_path: Path) -> None:
    home = a_home(tmp_path)
    bare = {"MEMD_MODEL_DIR": str(home / "none")}
    with spawned(home, bare) as daemon, daemon.client() as client:
        place = Place(home, daemon, client)
        wait_until(place.usage.is_dir, "the folder is there")
        transcript = str(place.transcript("s1"))
        place.say("codex-s1", used_tokens=25_000, window_tokens=30_000, transcript_path=transcript)
        place.napped(1)
        place.say("codex-s1", used_tokens=24_600, window_tokens=30_000, transcript_path=transcript)
        place.seen("s1", 24_600)
        place.say("codex-s1", used_tokens=26_000, window_tokens=30_000, transcript_path=transcript)
        place.seen("s1", 26_000)
        assert len(place.naps()) == 1
        assert place.window("s1")["armed"] is False
        daemon.stop()

    with spawned(home, bare) as daemon, daemon.client() as client:
        place = Place(home, daemon, client)
        time.sleep(QUIET_S)
        place.say("codex-s1", used_tokens=26_500, window_tokens=30_000, transcript_path=transcript)
        place.seen("s1", 26_500)
        assert len(place.naps()) == 1


def test_a_window_that_has_emptied_may_fill_again(place: Place) -> None:
    transcript = str(place.transcript("s1"))
    place.say("codex-s1", used_tokens=25_000, transcript_path=transcript)
    place.napped(1)
    place.say("codex-s1", used_tokens=17_000, transcript_path=transcript)
    place.seen("s1", 17_000)
    assert place.window("s1")["armed"] is True
    new = "Never open port 8443 to the outside."
    more = [*MESSAGES, {"role": "user", "content": new}, *MESSAGES[4:]]
    transcript = str(place.transcript("s1", more))

    place.say("codex-s1", used_tokens=25_000, transcript_path=transcript)
    place.napped(2)

    last = place.naps()[0]
    assert last["detail"]["facts"] == 4
    assert last["steps"][0]["rows"] >= 1
    assert any(new in text for text in place.contents("port 8443"))
    rules = [text for text in place.contents("nginx config") if text.startswith(RULE)]
    assert len(rules) == 1


def test_the_same_nap_again_stores_nothing_new(place: Place) -> None:
    transcript = str(place.transcript("s1"))
    first = place.client.call(
        "sleep.consolidate", {"transcript_path": transcript, "session_id": "s"}
    )
    again = place.client.call(
        "sleep.consolidate", {"transcript_path": transcript, "session_id": "s"}
    )

    assert (first["stored"], first["merged"]) == (3, 0)
    assert (again["stored"], again["merged"]) == (0, 3)
    assert again["messages"] == first["messages"]
    kept = place.client.call("session.messages", {"session_id": "s"})["items"]
    assert len(kept) == len(MESSAGES)


def test_two_assistants_at_once_do_not_disturb_each_other(place: Place) -> None:
    for name in ("codex-s1", "gemini-s2"):
        rule = f"We never close the {name} harbour before noon."
        messages = [{"role": "user", "content": rule}, *MESSAGES[1:]]
        path = str(place.transcript(name, messages))
        place.say(name, used_tokens=25_000, transcript_path=path)
    place.say("letta-s3", used_tokens=12_000)
    place.napped(2)
    place.seen("s3", 12_000)
    place.say("letta-s3", used_tokens=13_000)
    place.seen("s3", 13_000)

    for name in ("codex-s1", "gemini-s2"):
        assert any(name in text for text in place.contents("harbour"))
    assert len(place.naps()) == 2
    assert place.window("s3")["armed"] is True


def test_the_end_of_a_session_naps_over_all_of_it_and_ends_it(place: Place) -> None:
    messages = [*MESSAGES, {"role": "user", "content": "Never put the key under the mat."}]
    place.say(
        "claude-code-s1",
        used_tokens=9_000,
        transcript_path=str(place.transcript("s1", messages)),
        event="SessionEnd",
    )
    place.napped(1)

    assert any("Never put the key under the mat." in text for text in place.contents("the mat"))
    wait_until(
        lambda: place.client.call("session.list")["items"][0]["ended_at"] is not None,
        "the session has ended",
    )


def test_what_the_session_told_is_napped_when_there_is_no_transcript(place: Place) -> None:
    for message in MESSAGES:
        origin = "tool" if message["role"] == "tool" else None
        speaker = None if origin else message["role"]
        params = {
            "text": message["content"],
            "session_id": "s1",
            "speaker": speaker,
            "origin": origin,
        }
        place.client.call("memory.ingest", {k: v for k, v in params.items() if v is not None})

    place.say("codex-s1", used_tokens=25_000)
    place.napped(1)

    (nap,) = place.naps()
    assert nap["detail"]["messages_before"] == len(MESSAGES)
    # What the session told memd itself is there already, word for word.
    assert nap["detail"]["facts"] == 3
    assert place.contents("nginx config").count(RULE) == 1
    kept = place.client.call("memory.list")["items"]
    assert not any("digest" in entry["metadata"]["tags"] for entry in kept)  # a night sums it up


def test_the_shorter_list_lies_beside_the_usage_file_for_its_owner_alone(place: Place) -> None:
    messages = [*MESSAGES, {"role": "assistant", "content": f"the token is {KEY}"}]
    place.say("codex-s1", used_tokens=25_000, transcript_path=str(place.transcript("s1", messages)))
    beside = place.usage / "codex-s1.consolidated.json"
    wait_until(beside.exists, "the list is there")

    content = json.loads(beside.read_text("utf-8"))

    assert stat.S_IMODE(beside.stat().st_mode) == 0o600
    assert content["messages"][0]["content"].startswith("[Session context consolidated]\n\n- ")
    assert len(content["messages"]) == 5
    assert KEY not in beside.read_text("utf-8")
    time.sleep(QUIET_S)
    assert [w["session_id"] for w in place.client.call("usage.list")["items"]] == ["s1"]
    assert {path.name for path in place.usage.iterdir()} == {beside.name, "codex-s1.json"}


def test_no_byte_of_a_secret_in_a_message_reaches_the_store(place: Place) -> None:
    blocks = [
        {"type": "text", "text": f"use {KEY} now"},
        {"type": "tool_use", "id": "1", "name": "sh", "input": {"cmd": f"export T={KEY}"}},
    ]
    messages = [
        {"role": "user", "content": f"error: {KEY}"},
        {"role": "assistant", "content": blocks},
        {"role": "tool", "tool_call_id": "1", "content": f"T={KEY}"},
        *MESSAGES,
    ]
    result = place.client.call("sleep.consolidate", {"messages": messages, "session_id": "s1"})

    assert result["stored"] == 5
    assert KEY not in json.dumps(result["messages"][0])
    place.daemon.stop()
    for path in place.daemon.paths.data_dir.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path.name
            assert KEY[:20].encode() not in path.read_bytes(), path.name
    assert KEY not in place.daemon.log.read_text("utf-8")


def test_a_transcript_elsewhere_is_refused_and_the_watching_goes_on(place: Place) -> None:
    outside = place.home / "outside.jsonl"
    outside.write_text("".join(f"{json.dumps(m)}\n" for m in MESSAGES), "utf-8")
    link = place.home / "transcripts" / "link.jsonl"
    link.symlink_to(outside)
    for name, path in (
        ("codex-s1", outside),
        ("codex-s2", link),
        ("codex-s3", Path("/etc/passwd")),
    ):
        place.say(name, used_tokens=25_000, transcript_path=str(path))
        wait_until(lambda name=name: place.window(name[-2:]).get("armed") is False, "it is seen")  # type: ignore[misc]  # mypy knows no defaults of lambdas
    assert "no nap: the transcript is not read" in memd(place.daemon.home, "usage").out
    (place.usage / "broken.json").write_text('{"used_tokens": NaN')
    place.say("codex-s4", used_tokens=25_000, transcript_path=str(place.transcript("s4")))
    place.napped(1)

    wait_until(lambda: place.window("s4")["napped_at"] is not None, "the nap is over")
    assert len(place.naps()) == 1
    (session,) = place.client.call("session.list")["items"]
    assert session["session_id"] == "s4"
    assert place.client.call("memory.count") == session["memories"] > 0


def test_broken_lines_of_a_transcript_are_passed_over(place: Place) -> None:
    path = place.transcript("s1")
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"\xff\xfe{\n" + b'{"role": \n'.join(whole) + b'{"role": "user", "conte')
    place.say("codex-s1", used_tokens=25_000, transcript_path=str(path))
    place.napped(1)

    assert any(RULE in text for text in place.contents("nginx config"))


def test_a_session_without_anything_to_nap_over_fires_once_and_in_peace(place: Place) -> None:
    place.say("codex-s1", used_tokens=25_000)
    wait_until(lambda: place.window("s1").get("armed") is False, "it is seen")
    place.say("codex-s1", used_tokens=26_000)
    place.seen("s1", 26_000)

    assert place.naps() == []
    assert place.window("s1")["napped_at"] is None


def test_a_report_by_call_is_as_good_as_a_file(place: Place) -> None:
    usage = {"source": "cursor", "session_id": "s1", "used_percent": 81.0, "window_tokens": 200_000}
    path = str(place.transcript("s1"))
    window = place.client.call("usage.report", {**usage, "transcript_path": path})
    place.napped(1)
    place.client.call("usage.report", {"source": "cursor", "session_id": "s1", "model": "m"})

    assert window["fill"] == pytest.approx(0.81)
    assert window["armed"] is False
    # The nap is stored before it is over: what is said in between is looked at a moment later.
    wait_until(lambda: place.window("s1")["model"] == "m", "it is seen")
    assert place.window("s1")["fill"] == pytest.approx(0.81)
    assert len(place.naps()) == 1


def test_a_file_of_another_mode_or_kind_ends_nothing(place: Place) -> None:
    os.mkfifo(place.usage / "pipe.json")
    (place.usage / "codex-link.json").symlink_to(place.home / "nowhere.json")
    (place.usage / "huge.json").write_text(" " * 70_000 + "{}")
    (place.usage / "folder.json").mkdir()
    place.say("codex-s9", used_tokens=99_000_000, window_tokens=30_000)

    place.say("codex-s1", used_tokens=25_000, transcript_path=str(place.transcript("s1")))
    place.napped(1)

    assert [w["session_id"] for w in place.client.call("usage.list")["items"]] == ["s1"]


def test_a_session_id_of_another_agent_reaches_none_of_its_transcript(place: Place) -> None:
    path = str(place.transcript("private"))
    report = {"source": "codex", "session_id": "private", "window_tokens": 100_000}

    def say(agent_id: str, **more: Any) -> Any:
        return place.client.call("usage.report", {**report, "agent_id": agent_id, **more})

    say("alice", used_tokens=1_000, transcript_path=path)
    assert say("bob", used_tokens=2_000)["transcript_path"] is None
    with pytest.raises(NotFoundError):  # bob has no such session
        say("bob", used_tokens=90_000, return_messages=True)
    assert place.client.call("memory.list", {"agent_id": "bob"})["items"] == []
    assert place.client.call("session.list", {"agent_id": "bob"})["items"] == []
    (window,) = place.client.call("usage.list", {"agent_id": "alice"})["items"]
    assert (window["used_tokens"], window["transcript_path"]) == (1_000, path)
    assert say("alice", used_tokens=90_000, return_messages=True)["consolidated"]["stored"] > 0
