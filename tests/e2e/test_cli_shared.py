"""``memd shared`` and ``memd synthesize``, typed at a daemon without a model."""

from __future__ import annotations

import json

from support.commands import Memd

from memd.client import Client


def test_what_one_agent_publishes_others_find_and_it_takes_back(memd: Memd) -> None:
    code, out, _ = memd("shared", "publish", "Staging is reset on Mondays", "--agent", "ops")
    shared = out.strip()
    assert code == 0

    _, listed, _ = memd("shared", "search", "staging")
    assert shared in listed
    assert "ops" in listed
    _, output, _ = memd("search", "when is staging reset?")
    assert "shared by ops" in output
    _, block, _ = memd("recall", "when is staging reset?")
    assert "[shared] [SEMANTIC] Staging is reset on Mondays" in block
    code, out, err = memd("shared", "search", "staging", "--without", "ops")
    assert (code, shared in out) == (0, False)
    assert "no shared memory matches" in err

    code, _, err = memd("shared", "retract", shared, "--agent", "qa")
    assert code == 1
    assert "another agent" in err
    assert memd("shared", "retract", shared, "--agent", "ops")[:2] == (0, f"{shared}\n")
    code, out, err = memd("shared", "retract", shared, "--agent", "ops", "--json")
    assert code == 1
    assert json.loads(out)["missing"] == [shared]


def test_one_block_of_all_that_is_known(memd: Memd, client: Client) -> None:
    code, _, err = memd("synthesize", "zebras", "--agent", "zoo")
    assert code == 0
    assert "nothing matches" in err
    outcome = {"final_response": "Done.", "lesson": "feed zebras first", "agent_id": "zoo"}
    client.call("learn.outcome", outcome)

    assert memd("synthesize", "zebras", "--agent", "zoo")[1] == "[learnings] feed zebras first\n"
    answer = memd("synthesize", "zebras", "--agent", "zoo", "--budget", "4", "--json").json
    assert (answer["block"], answer["left_out"]) == ("", 1)
    _, _, err = memd("synthesize", "zebras", "--agent", "zoo", "--budget", "4")
    assert "nothing fits the budget" in err
