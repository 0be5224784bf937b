"""opencode's plugin, run by node as opencode runs it: real hooks, a real daemon."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.daemon import WAIT_S, Spawned, wait_until
from support.desk import a_desk, served
from support.hook_process import introduce, repository
from support.mcp_process import bare

from memd.assist.connect.clients import plugin

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed"),
]

FACT = "The billing service keeps its data in PostgreSQL 16."
QUESTION = "Where does the billing service keep its data?"
RULE = "We always check the nginx config before restarting the gateway."

OPENCODE = """
import { readFileSync } from "node:fs"
const { Memd } = await import(process.argv[2])
const given = JSON.parse(readFileSync(0, "utf8"))
const client = {
  session: {
    get: async ({ path }) => ({ data: { id: path.id, parentID: given.parents[path.id] } }),
    messages: async () => ({ data: given.messages }),
  },
  config: { providers: async () => ({ data: { providers: given.providers } }) },
}
const hooks = await Memd({ client, directory: given.directory })
const out = []
for (const [name, input, output] of given.calls) {
  await hooks[name](input, output)
  out.push(output ?? null)
}
console.log(JSON.stringify(out))
"""


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, model_dir: Any) -> Iterator[Spawned]:
    with served(tmp_path_factory.mktemp("home"), model_dir) as daemon:
        introduce(daemon, "opencode")
        yield daemon


def opencode(daemon: Spawned, folder: Path, given: dict[str, Any]) -> list[Any]:
    """Let opencode call the plugin; returns what the plugin made of each output."""
    memd = [sys.executable, "-m", "memd"]
    (folder / "memd.mjs").write_text(plugin(memd))
    (folder / "opencode.mjs").write_text(OPENCODE)
    whole = {"parents": {}, "messages": [], "providers": [], "directory": str(folder), **given}
    done = subprocess.run(
        ["node", str(folder / "opencode.mjs"), str(folder / "memd.mjs")],
        env=bare(daemon.home),
        input=json.dumps(whole).encode(),
        capture_output=True,
        timeout=WAIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    replies: list[Any] = json.loads(done.stdout)
    return replies


def prompt(session: str, text: str) -> list[Any]:
    part = {"id": "prt_1", "sessionID": session, "messageID": "m1", "type": "text", "text": text}
    return [
        "chat.message",
        {"sessionID": session},
        {"message": {"id": f"msg-{text[:5]}"}, "parts": [part]},
    ]


def event(kind: str, session: str) -> list[Any]:
    return ["event", {"event": {"type": kind, "properties": {"sessionID": session}}}, None]


def test_a_prompt_gets_the_brief_and_what_is_known_as_a_part_of_its_own(
    daemon: Spawned, tmp_path: Path
) -> None:
    project = repository(tmp_path / "proj")
    with a_desk(daemon, "opencode") as desk:
        desk.store(FACT, project_id=str(project))
        desk.settle()
        calls = [prompt("o1", QUESTION), prompt("child", QUESTION)]
        own, child = opencode(daemon, project, {"calls": calls, "parents": {"child": "o1"}})
        asked, added = own["parts"]
        assert asked["text"] == QUESTION
        assert FACT in added["text"]
        assert (added["synthetic"], added["id"], added["messageID"]) == (True, "prt_1m", "m1")
        assert len(child["parts"]) == 1
        wait_until(lambda: desk.call("session.list")["items"] != [], "the session is known")
        assert {each["session_id"] for each in desk.call("session.list")["items"]} == {"o1"}


def test_a_session_that_another_process_resumes_is_not_briefed_again(
    daemon: Spawned, tmp_path: Path
) -> None:
    project = repository(tmp_path / "proj")
    rule = "Run the checks with make gate."
    with a_desk(daemon, "opencode") as desk:
        desk.call("preference.set", name="tone", value="Be brief.")
        desk.store(rule, project_id=str(project))
    (first,) = opencode(daemon, project, {"calls": [prompt("o3", '"Rename the heron."')]})
    assert first["parts"][0]["text"] == '"Rename the heron."'
    assert rule in first["parts"][1]["text"]
    assert first["parts"][1]["text"].count("Be brief.") == 1
    with a_desk(daemon, "opencode") as desk:

        def kept() -> list[str]:
            items = desk.call("memory.list", session_id="o3")["items"]
            return [item["content"] for item in items]

        wait_until(lambda: bool(kept()), "the prompt is kept")
        assert kept() == ["Rename the heron."]
    (second,) = opencode(daemon, project, {"calls": [prompt("o3", "Rename the plover.")]})
    assert rule not in json.dumps(second["parts"])
    calls = [event("session.compacted", "o3"), prompt("o3", "Rename the avocet.")]
    (_, third) = opencode(daemon, project, {"calls": calls})
    assert rule in third["parts"][1]["text"]


def test_a_compaction_is_napped_over_by_its_messages_without_what_memd_added(
    daemon: Spawned, tmp_path: Path
) -> None:
    part = {"type": "text", "text": f"[preference] {FACT}", "synthetic": True}
    messages = [
        {"info": {"id": "1", "role": "user"}, "parts": [{"type": "text", "text": RULE}, part]},
        {"info": {"id": "2", "role": "assistant", "providerID": "p", "modelID": "m",
                  "tokens": {"input": 40_000, "output": 9, "cache": {"read": 1_000, "write": 0}}},
         "parts": [{"type": "text", "text": "Noted, before each restart of the gateway."}]},
    ]  # fmt: skip
    providers = [{"id": "p", "models": {"m": {"limit": {"context": 200_000}}}}]
    calls = [
        event("session.idle", "o2"),
        ["experimental.session.compacting", {"sessionID": "o2"}, {"context": []}],
        event("session.compacted", "o2"),
    ]
    opencode(daemon, tmp_path, {"calls": calls, "messages": messages, "providers": providers})
    with a_desk(daemon, "opencode") as desk:

        def window() -> Any:
            windows = desk.call("usage.list")["items"]
            return next((each for each in windows if each["session_id"] == "o2"), None)

        wait_until(lambda: window() is not None and bool(window()["napped_at"]), "the nap")
        assert (window()["used_tokens"], window()["window_tokens"]) == (41_000, 200_000)
        items = desk.call("memory.list", session_id="o2")["items"]
        assert any(RULE in item["content"] for item in items)
        assert not any("preference" in item["content"] for item in items)


def test_an_answer_brings_the_calls_of_its_tools_and_none_is_lost_while_memd_is_away(
    daemon: Spawned, tmp_path: Path
) -> None:
    def bash(number: int, command: str, **state: Any) -> dict[str, Any]:
        state = {"status": "completed", "input": {"command": command}, **state}
        return {"type": "tool", "callID": f"c{number}", "tool": "bash", "state": state}

    def message(number: int, role: str, *parts: dict[str, Any]) -> dict[str, Any]:
        info = {"id": str(number), "role": role, "time": {"created": 1_790_000_000_000 + number}}
        return {"info": info, "parts": list(parts)}

    red = bash(1, "uv run pytest", output="E  KeyError: 'minor'", metadata={"exit": 1})
    refused = bash(2, "git push", status="error", error="Tool execution aborted")
    green = bash(3, "uv run pytest", output="9 passed", metadata={"exit": 0})
    answer = {"type": "text", "text": "The tests pass."}
    messages = [
        message(1, "user", {"type": "text", "text": '"Make the tests pass."'}),
        message(2, "assistant", red, refused),
        message(3, "assistant", green, answer),
    ]
    calls = [event("session.idle", "o4"), event("session.idle", "o4")]
    opencode(daemon, tmp_path, {"calls": calls, "messages": messages})
    opencode(daemon, tmp_path, {"calls": calls, "messages": messages})  # resumed later

    with a_desk(daemon, "opencode") as desk:
        items = desk.call("session.messages", session_id="o4")["items"]
    assert [(item["role"], item["text"]) for item in items] == [
        ("user", "Make the tests pass."),
        (
            "assistant",
            '[calls bash] {"command": "uv run pytest"}\n[calls bash] {"command": "git push"}',
        ),
        ("tool", "Exit code 1\nE  KeyError: 'minor'"),
        ("tool", "Exit code 1\nTool execution aborted"),
        ("assistant", 'The tests pass.\n[calls bash] {"command": "uv run pytest"}'),
        ("tool", "Exit code 0\n9 passed"),
    ]
