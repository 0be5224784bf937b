"""``memd shared`` and ``memd synthesize``, typed at a daemon without a model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import forked
from support.daemon import environment, spawned

from memd.client import Client

Typed = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("home")
    with spawned(home, {"MEMD_MODEL_DIR": str(home / "no model")}):
        yield home


@pytest.fixture
def memd(home: Path) -> Typed:
    def typed(*words: str) -> tuple[int, str, str]:
        done = forked.run(words, env=environment(home, {}))
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, done.stdout, done.stderr

    return typed


def test_what_one_agent_publishes_others_find_and_it_takes_back(memd: Typed) -> None:
    code, out, _ = memd("shared", "publish", "Staging is reset on Mondays", "--agent", "ops")
    shared = out.strip()
    assert code == 0

    _, listed, _ = memd("shared", "search", "staging")
    assert shared in listed
    assert "ops" in listed
    _, found, _ = memd("search", "when is staging reset?")
    assert "shared by ops" in found
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


def test_one_block_of_all_that_is_known(memd: Typed, home: Path) -> None:
    code, _, err = memd("synthesize", "zebras", "--agent", "zoo")
    assert code == 0
    assert "nothing matches" in err
    with Client(home / "run" / "memd.sock") as client:
        said = {"final_response": "Done.", "lesson": "feed zebras first", "agent_id": "zoo"}
        client.call("learn.outcome", said)

    assert memd("synthesize", "zebras", "--agent", "zoo")[1] == "[learnings] feed zebras first\n"
    _, out, _ = memd("synthesize", "zebras", "--agent", "zoo", "--budget", "4", "--json")
    made = json.loads(out)
    assert (made["block"], made["left_out"]) == ("", 1)
    _, _, err = memd("synthesize", "zebras", "--agent", "zoo", "--budget", "4")
    assert "nothing fits the budget" in err
