"""What real assistants sent is sent again: each gets an answer that it can read.

Recorded with memd connected, of Claude Code 2.1.330 (by its settings and as a plugin),
Codex 0.169, Copilot CLI 1.0.102, Gemini CLI 0.61, opencode 1.18.33 and Qwen Code.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.daemon import Spawned, wait_until
from support.desk import a_desk, served
from support.hook_process import command, hook, introduce
from support.mcp_process import pumped

from memd.serve.mcp.calls import CALLS

pytestmark = pytest.mark.model

GOLDEN = Path(__file__).parents[1] / "golden" / "clients"
SESSIONS = sorted(path.stem for path in (GOLDEN / "mcp").glob("*.jsonl"))
FACT = "We deploy with blue-green since March."


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (GOLDEN / name).read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, model_dir: Path) -> Iterator[Spawned]:
    home = tmp_path_factory.mktemp("home")
    with served(home, model_dir, {"HOME": str(home)}) as daemon:
        introduce(daemon, "claude-code")
        with a_desk(daemon, "claude-code") as desk:
            desk.store(FACT)
            desk.settle()
        yield daemon


@pytest.mark.parametrize("name", SESSIONS)
def test_every_request_of_a_recorded_session_is_answered_in_its_revision(
    daemon: Spawned, name: str
) -> None:
    asked = rows(f"mcp/{name}.jsonl")
    assert any("id" in each for each in asked)
    with pumped(daemon.home, "--client", "claude-code") as pump:
        for request in asked:
            pump.send(request)
            if "id" not in request:
                continue  # an answer that came is cancelled by one of them
            answer = pump.line()
            assert answer["id"] == request["id"]
            _reads(request, answer["result"])
        assert pump.ask("tools/list")["result"]["tools"]
        assert pump.leave() == 0


def _reads(request: dict[str, Any], result: dict[str, Any]) -> None:
    """Check what an answer of this method has to hold in the revision that was asked in."""
    params = request.get("params", {})
    modern = params.get("_meta", {}).get("io.modelcontextprotocol/protocolVersion")
    if modern:
        assert result["resultType"] == "complete"
    if request["method"] == "initialize":
        assert result["protocolVersion"] == params["protocolVersion"]
        assert "tools" in result["capabilities"]
    elif request["method"] == "server/discover":
        assert modern in result["supportedVersions"]
    elif request["method"] == "tools/list":
        assert [tool["name"] for tool in result["tools"]] == list(CALLS)
    elif request["method"] == "tools/call":
        assert not result.get("isError")
        assert FACT in result["content"][0]["text"]
    else:
        assert request["method"] == "ping"


def test_the_recorded_hooks_of_a_session_are_told_what_is_known_and_nothing_twice(
    daemon: Spawned,
) -> None:
    home = daemon.home
    outputs = [
        hook(home, "claude-code", each["hook_event_name"], each)
        for each in rows("events/hooks-claude-code.jsonl")
    ]
    assert [(each.code, each.err) for each in outputs] == [(0, "")] * len(outputs)
    assert sum(each.out.count(FACT) for each in outputs) == 1
    (session,) = {each["session_id"] for each in rows("events/hooks-claude-code.jsonl")}
    with a_desk(daemon, "claude-code") as desk:

        def kept() -> list[dict[str, Any]]:
            return list(desk.call("memory.list", session_id=session)["items"])

        wait_until(lambda: bool(kept()), "the prompt is kept")
        assert not any(FACT in item["content"] for item in kept())


def test_the_recorded_status_line_tells_the_window(daemon: Spawned) -> None:
    reports = rows("events/statusline-claude-code.jsonl")
    for each in reports:
        printed = command(daemon.home, ["statusline"], each)
        assert (printed.code, printed.err) == (0, "")
        assert printed.out.startswith("memd")
    last = next(each for each in reversed(reports) if each["context_window"]["current_usage"])
    with a_desk(daemon, "claude-code") as desk:

        def window() -> dict[str, Any] | None:
            items = desk.call("usage.list")["items"]
            return next((w for w in items if w["session_id"] == last["session_id"]), None)

        wait_until(lambda: window() is not None, "the window is known")
        usage = window()
        assert usage is not None
        assert usage["window_tokens"] == last["context_window"]["context_window_size"]
