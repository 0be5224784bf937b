"""What of the memories in a prompt its answer took up is counted, and no word of either kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import forked
from support.daemon import environment, spawned, wait_until
from support.hook_process import hook, introduce
from support.setting_effects import a_stage, shows, tree

from memd.client import Client

PORT = "The staging proxy of the shop listens on port 8443."
BUCKET = "The nightly archives of the shop go to the Fjord bucket."
QUESTION = "Where does the staging proxy of the shop listen?"


def asked(client: Client, session_id: str = "s") -> list[str]:
    """Return the ids of the memories that a prompt of the session gave."""
    params = {"query": QUESTION, "token_budget": 500, "session_id": session_id}
    return [each["id"] for each in client.call("inject.prepare", params)["memories"]]


def answered(client: Client, text: str, session_id: str = "s", speaker: str = "assistant") -> None:
    client.ingest(text, speaker=speaker, session_id=session_id)


def counts(client: Client) -> dict[str, int]:
    uptake: dict[str, int] = client.call("system.metrics")["uptake"]
    return uptake


def taken_up(client: Client) -> None:
    """Have a prompt answered, and wait until that is looked at and noted."""
    before = counts(client)["answers"]
    answered(client, "It can be reached at 8443, as ever.")
    wait_until(lambda: counts(client)["answers"] == before + 1, "the answer is looked at")
    wait_until(lambda: len(noted(client)) == before + 1, "what was taken up is noted")


def noted(client: Client) -> list[dict[str, Any]]:
    page = client.call("records.lifecycle_events.list")
    return [each for each in page["items"] if each["event_type"] == "prompt_answered"]


def test_a_prompt_s_answer_is_looked_at_once_and_counted(tmp_path: Path) -> None:
    with spawned(tmp_path) as daemon, daemon.client() as client:
        client.add(PORT)
        client.add(BUCKET)
        given = asked(client)
        answered(client, "And 8443 is a question of mine.", speaker="user")
        answered(client, "8443 of another session.", session_id="other")
        assert counts(client) == {"answers": 0, "given": 0, "tellable": 0, "taken_up": 0}

        taken_up(client)
        counted = {"given": len(given), "tellable": len(given), "taken_up": 1}
        assert counts(client) == {"answers": 1, **counted}
        (record,) = noted(client)
        assert record["metadata"] == {"session_id": "s", **counted}
        assert "8443" not in json.dumps(record)
        answered(client, "And once more: 8443.")  # the prompt has had its answer
        client.call("memory.count")
        assert counts(client)["answers"] == 1


def test_the_answer_that_an_assistant_s_hook_tells_is_counted(tmp_path: Path) -> None:
    with spawned(tmp_path) as daemon, daemon.client() as client:
        introduce(daemon, "claude-code")
        client.add(PORT, agent_id="claude-code")
        session = {"session_id": "s", "cwd": str(tmp_path)}
        prompt = hook(tmp_path, "claude-code", "UserPromptSubmit", session | {"prompt": QUESTION})
        assert PORT in prompt.added
        answer = session | {"last_assistant_message": "It can be reached at 8443, as ever."}
        hook(tmp_path, "claude-code", "Stop", answer)
        wait_until(lambda: counts(client)["answers"] == 1, "the answer is looked at")
        assert counts(client)["taken_up"] == 1


def test_a_person_sees_what_was_taken_up_and_it_goes_with_the_memory(tmp_path: Path) -> None:
    with spawned(tmp_path) as daemon, daemon.client() as client:
        used, idle = client.add(PORT), client.add(BUCKET)
        for session_id in ("s", "t"):
            asked(client, session_id)
        taken_up(client)

        text = client.call("system.metrics", {"format": "prometheus"})
        assert 'memd_uptake{what="taken_up"} 1' in text
        home = environment(tmp_path)
        assert "1 of 1 measurable" in forked.run(["stats"], env=home).stdout
        forked.run(["stats", "--plot", str(tmp_path / "a.svg")], env=home)
        assert "used dark (estimated)" in (tmp_path / "a.svg").read_text("utf-8")
        done = forked.run(["export", str(tmp_path / "all.jsonl")], env=home)
        assert done.returncode == 0, done.stderr
        rows = map(json.loads, (tmp_path / "all.jsonl").read_text("utf-8").splitlines())
        uses = {row["id"]: row.get("access_count") for row in rows if "content" in row}
        assert (uses[used], uses[idle]) == (1, None)

        client.call("memory.forget", {"ids": [used]})
        answered(client, "Again 8443.", session_id="t")  # what it was given is gone
        wait_until(lambda: counts(client)["answers"] == 2, "the answer is looked at")
        assert counts(client)["taken_up"] == 1


@shows("daemon.count_use")
@pytest.mark.parametrize("counts_use", [True, False])
async def test_nobody_counts_what_answers_take_up_where_it_is_switched_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, counts_use: bool
) -> None:
    async with a_stage(tmp_path, monkeypatch, tree("daemon.count_use", counts_use)) as stage:
        await stage.remember(PORT)
        await stage.prompt(QUESTION, session_id="s")
        await stage.call("memory.ingest", text="At 8443.", speaker="assistant", session_id="s")
        assert ("uptake" in await stage.call("system.metrics")) is counts_use
