"""A hook harms no assistant, whatever comes: exit code 0, nothing printed, a line in a log."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.daemon import WAIT_S, Spawned, spawned, wait_until
from support.hook_process import command, hook, introduce, log_lines
from support.mcp_process import bare

from memd.assist.hook import LOG_BYTES_MAX, note
from memd.base.paths import Paths

PRIVATE = "the launch code is 0000"
PROMPT = {"session_id": "s", "cwd": "/", "prompt_id": "p", "prompt": f"Remember: {PRIVATE}."}
DEEP = b"[" * 100_000


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spawned]:
    with spawned(tmp_path_factory.mktemp("home")) as daemon:
        introduce(daemon, "claude-code")
        yield daemon


def ask(home: Path, payload: Any = PROMPT, source: str = "claude-code", *more: str) -> Any:
    return hook(home, source, "UserPromptSubmit", payload, *more)


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (json.dumps(PROMPT).encode()[:-4], "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        (DEEP, "not JSON"),
        (b"[1]", "not a JSON object"),
        (b"{}", "has no session id"),
        (b'{"session_id": 7, "prompt": "x"}', "has no session id"),
        (json.dumps({**PROMPT, "session_id": "s" * 300}).encode(), "has no session id"),
        (b" " * (5 * 1_048_576), "too much on stdin"),
    ],
)
def test_what_cannot_be_read_is_one_line_in_the_log(
    daemon: Spawned, payload: bytes, why: str
) -> None:
    home = daemon.home
    before = len(log_lines(home))
    assert ask(home, payload) == (0, "", "")
    (line,) = log_lines(home)[before:]
    assert why in line
    assert PRIVATE not in line


@pytest.mark.parametrize(
    "words",
    [
        ["hook"],
        ["hook", "claude-code"],
        ["hook", "claude-code", "Unheard"],
        ["hook", "nobody", "Stop"],
        ["hook", "claude-code", PRIVATE],
        ["hook", "--client"],
        ["hook", "claude-code", "Stop", "--client", "../../etc", "more"],
        ["hook", "claude-code", "Stop", "--profile", "../x"],
        ["statusline", "--nonsense"],
        ["statusline", "--"],
    ],
)
def test_unknown_events_and_words_do_nothing(daemon: Spawned, words: list[str]) -> None:
    home = daemon.home
    before = len(log_lines(home))
    printed = command(home, words, {**PROMPT, "context_window": []})
    assert (printed.code, printed.err) == (0, "")
    assert printed.out in {"", "memd off\n"}
    assert len(log_lines(home)) <= before + 1
    assert PRIVATE not in "".join(log_lines(home))


@pytest.mark.parametrize(
    "strange",
    [
        {"cwd": 7, "transcript_path": ["x"], "model": {"id": 1}},
        {"cwd": "relative", "transcript_path": "\0"},
        {"prompt": None}, {"prompt": 7}, {"prompt": " "},
        {"messages": "no", "context_tokens": -1, "context_window_size": 1e300},
    ],
)  # fmt: skip
def test_fields_of_other_types_are_left_out(daemon: Spawned, strange: dict[str, Any]) -> None:
    home = daemon.home
    before = log_lines(home)
    for event in ("UserPromptSubmit", "Stop", "PreCompact", "SessionEnd", "SessionStart"):
        base = {**PROMPT, "prompt_id": repr(strange)}
        assert hook(home, "claude-code", event, {**base, **strange}).code == 0
    assert log_lines(home) == before


def test_a_transcript_of_an_unknown_version_is_no_reason_to_fail(
    daemon: Spawned, tmp_path: Path
) -> None:
    home = daemon.home
    strange = tmp_path / "strange.jsonl"
    strange.write_text('{"v": 99, "blocks": [["user", "hello"]]}\n' * 3)
    introduce(daemon, "copilot")
    event = {"sessionId": "x1", "transcriptPath": str(strange), "cwd": "/"}
    waits = {"MEMD_HOOK_SECONDS": "5"}  # for an answer in the transcript, too
    assert hook(home, "copilot", "agentStop", event, environ=waits) == (0, "", "")
    assert hook(home, "copilot", "sessionEnd", event) == (0, "", "")
    with daemon.client() as client:

        def windows() -> list[Any]:
            items: list[Any] = client.call("usage.list", {"agent_id": "copilot"})["items"]
            return [each for each in items if each["session_id"] == "x1"]

        wait_until(lambda: bool(windows()), "the session is known")


def test_without_a_daemon_nothing_is_printed(tmp_path: Path) -> None:
    key = tmp_path / "data" / "keys" / "claude-code.key"
    key.parent.mkdir(parents=True)
    key.write_text("memd-key-" + "7" * 64)
    key.chmod(0o600)
    assert ask(tmp_path) == (0, "", "")
    (line,) = log_lines(tmp_path)
    assert "claude-code UserPromptSubmit: no memd listens" in line


def test_who_has_no_key_is_nobody_rather_than_somebody_without_one(daemon: Spawned) -> None:
    home = daemon.home
    before = len(log_lines(home))
    assert ask(home, PROMPT, "codex") == (0, "", "")
    assert ask(home, PROMPT, "claude-code", "--client", "other") == (0, "", "")
    lines = log_lines(home)[before:]
    assert len(lines) == 2
    assert all("memd client add" in line for line in lines)
    with daemon.client() as client:
        assert client.call("memory.count", {"agent_id": "default"}) == 0


def test_a_key_that_is_nobody_s_opens_nothing(daemon: Spawned) -> None:
    home = daemon.home
    stranger = Paths.resolve(home=home, environ={}).keys_dir / "stranger.key"
    stranger.write_text("memd-key-" + "7" * 64)
    stranger.chmod(0o600)
    assert ask(home, PROMPT, "claude-code", "--client", "stranger") == (0, "", "")
    assert "unknown client key" in log_lines(home)[-1]


Answer = Callable[[dict[str, Any]], bytes]


def _refuses(request: dict[str, Any]) -> bytes:
    error = {"code": -32601, "message": "no such method", "data": {"kind": "method_not_found"}}
    is_hello = request["method"] == "system.hello"
    answer = {"result": {}} if is_hello else {"error": error}
    return json.dumps({"jsonrpc": "2.0", "id": request.get("id"), **answer}).encode() + b"\n"


OTHERS: dict[str, Answer] = {
    "older": _refuses,
    "garbled": lambda _request: b"{]\n",
    "list": lambda _request: b"[]\n",
    "silent": lambda _request: b"",
}


@pytest.mark.parametrize("kind", OTHERS)
def test_a_daemon_of_another_version_is_as_none(tmp_path: Path, kind: str) -> None:
    soon = {"MEMD_HOOK_SECONDS": "0.5"}
    with listening(_keyed(tmp_path).socket, OTHERS[kind]):
        asked = hook(tmp_path, "claude-code", "UserPromptSubmit", PROMPT, environ=soon)
        assert asked == (0, "", "")
    (line,) = log_lines(tmp_path)
    assert PRIVATE not in line


def test_what_a_daemon_said_before_it_went_away_is_printed(tmp_path: Path) -> None:
    """So it is printed before the prompt is sent to be kept."""

    def answer(request: dict[str, Any]) -> bytes:
        result = {"messages": [{"role": "system", "content": "what is known"}]}
        return (
            json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode() + b"\n"
        )

    with listening(_keyed(tmp_path).socket, answer, last="inject.prepare"):
        printed = ask(tmp_path)
    assert (printed.code, printed.added) == (0, "what is known")
    (line,) = log_lines(tmp_path)
    assert "memd closed the connection" in line


def _keyed(home: Path) -> Paths:
    """Return the places of a home with a key and a folder for the socket."""
    paths = Paths.resolve(home=home, environ={})
    paths.keys_dir.mkdir(parents=True, mode=0o700)
    (paths.keys_dir / "claude-code.key").write_text("memd-key-" + "7" * 64)
    (paths.keys_dir / "claude-code.key").chmod(0o600)
    paths.runtime_dir.mkdir(mode=0o700)
    return paths


@contextlib.contextmanager
def listening(path: Path, answer: Answer, last: str = "") -> Iterator[None]:
    """Listen as something that is no memd of ours, and to nothing after the method *last*."""
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(str(path))
    server.listen()

    def serve() -> None:
        with contextlib.suppress(OSError):
            connection, _ = server.accept()
            with connection, connection.makefile("rb") as lines:
                for line in lines:
                    request = json.loads(line)
                    if request["method"] == last:
                        connection.shutdown(socket.SHUT_RD)
                    connection.sendall(answer(request))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.close()
        thread.join(WAIT_S)


def test_the_daemon_is_greeted_before_the_prompt_is_there_and_asked_only_once_it_knows_us(
    tmp_path: Path,
) -> None:
    asked: list[str] = []
    knows, greeted = threading.Event(), threading.Event()

    def answer(request: dict[str, Any]) -> bytes:
        asked.append(request["method"])
        if request["method"] == "system.hello":
            greeted.set()
            assert knows.wait(WAIT_S)
        return _answer(request, {"messages": []})

    with listening(_keyed(tmp_path).socket, answer):
        process = subprocess.Popen(
            [sys.executable, "-m", "memd", "hook", "claude-code", "UserPromptSubmit"],
            env=bare(tmp_path, {"MEMD_HOOK_SECONDS": str(WAIT_S)}),
            stdin=subprocess.PIPE,
        )
        assert greeted.wait(WAIT_S)
        assert process.stdin is not None
        process.stdin.write(json.dumps(PROMPT).encode())
        process.stdin.close()
        assert asked == ["system.hello"]
        knows.set()
        assert process.wait(WAIT_S) == 0
    assert asked == ["system.hello", "inject.prepare", "memory.ingest"]
    assert log_lines(tmp_path) == []


def test_another_program_that_reads_these_settings_is_greeted_for_by_its_own_key(
    daemon: Spawned,
) -> None:
    """It is known by what it says, after the greeting for whose settings these are."""
    home = daemon.home
    before = len(log_lines(home))
    payload = {**PROMPT, "cursor_version": "1.7"}
    assert ask(home, payload, "claude-code", "--client", "claude-code") == (0, "", "")
    (line,) = log_lines(home)[before:]
    assert "cursor.key does not exist" in line


def _answer(request: dict[str, Any], result: dict[str, Any]) -> bytes:
    return (
        json.dumps({"jsonrpc": "2.0", "id": request.get("id"), "result": result}).encode() + b"\n"
    )


def test_stdin_that_does_not_end_is_not_waited_for(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "memd", "hook", "codex", "Stop"],
        env=bare(tmp_path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert process.wait(WAIT_S) == 0
        assert process.stdout is not None
        assert process.stdout.read() == b""
    finally:
        process.kill()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
    assert "stdin does not end" in log_lines(tmp_path)[0]


def test_the_log_stays_small_and_nobody_else_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMD_HOME", str(tmp_path))
    for number in range(2_000):
        note(f"a hook {number}", "x" * 1_000)
    files = sorted((tmp_path / "state").iterdir())
    assert [file.name for file in files] == ["hooks.log", "hooks.log.1"]
    assert sum(file.stat().st_size for file in files) <= 2 * LOG_BYTES_MAX
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    note("a hook", "one\nline \x1b[31m")
    assert "one?line ?[31m" in log_lines(tmp_path)[-1]


def test_a_log_that_cannot_be_begun_anew_closes_no_other_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "state" / "hooks.log"
    log.parent.mkdir()
    log.write_bytes(b"x" * LOG_BYTES_MAX)
    others, opened = [], os.open

    def opens_once(path: str, flags: int, mode: int) -> int:
        if log.exists():
            return opened(path, flags, mode)
        others.append(opened(os.devnull, os.O_RDONLY))
        raise OSError("no file can be made")

    monkeypatch.setenv("MEMD_HOME", str(tmp_path))
    monkeypatch.setattr(os, "open", opens_once)
    note("a hook", "x")

    os.close(others[0])


def test_a_log_that_cannot_be_written_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file, where a folder is to be")
    assert ask(tmp_path) == (0, "", "")
    assert [file.name for file in tmp_path.iterdir()] == ["state"]
