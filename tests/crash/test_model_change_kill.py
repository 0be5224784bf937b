"""kill -9 in the middle of a change of the embedding model, and the change to its end (0182)."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from support import forked
from support.daemon import Spawned, environment, spawned, wait_until
from support.word_vector_model import a_word_model

pytestmark = pytest.mark.model

NAMES = ("anna", "bert", "cleo", "dirk", "edda", "finn", "gerd", "hugo", "ilse", "jost")
PLACES = ("attic", "barn", "cellar", "den", "estate", "farm", "garden", "hall")
COUNTS = ("two", "three", "four", "five")
TEXTS = [f"{name} keeps {count} jars in the {place}"
         for name in NAMES for place in PLACES for count in COUNTS]  # fmt: skip
QUESTION = "who keeps three jars in the farm"
KILLED = 3
"""Times at least; the change takes five steps of 64 memories."""


def typed(home: Path, more: dict[str, str], *words: str) -> str:
    return forked.run(words, env=environment(home, more), check=True).stdout


def models(daemon: Spawned) -> dict[str, Any]:
    with daemon.client() as client:
        status: dict[str, Any] = client.call("model.status")
        return status


def answered(daemon: Spawned) -> list[str]:
    with daemon.client() as client:
        memories = client.call("memory.recall", {"query": QUESTION, "top_k": 10})["memories"]
        return [each["content"] for each in memories]


def done(daemon: Spawned) -> int:
    coming = models(daemon)["coming"]
    return len(TEXTS) if coming is None else int(coming["done"])


@pytest.fixture
def more(tmp_path: Path, model_dir: Path) -> dict[str, str]:
    """The environment of a home with two models: memd's own, and a slow one."""
    own = tmp_path / "models" / model_dir.name
    own.parent.mkdir()
    own.symlink_to(model_dir)
    more = {"MEMD_MODEL_DIR": str(own)}
    words = [word for text in (*TEXTS, QUESTION) for word in text.split()]
    a_word_model(tmp_path / "jars", words, layers=40)
    typed(tmp_path, more, "model", "add", str(tmp_path / "jars"))
    return more


def test_a_killed_change_goes_on_and_the_model_before_answers_until_its_end(
    tmp_path: Path, more: dict[str, str]
) -> None:
    with spawned(tmp_path, more) as daemon:
        with daemon.client() as client:
            items = [{"text": text, "deliberate": True} for text in TEXTS]
            for start in range(0, len(items), 160):
                client.call("memory.ingest_many", {"items": items[start : start + 160]})
            wait_until(lambda: not client.call("system.status")["pending"], "all have vectors")
        before = answered(daemon)
        typed(tmp_path, more, "model", "use", "jars")
        daemon.stop(signal.SIGKILL)
    seen = [0]
    while seen[-1] < len(TEXTS):
        with spawned(tmp_path, more) as daemon:
            answer = answered(daemon)
            if models(daemon)["in_use"] == "jars":
                break
            assert answer == before
            wait_until(lambda: done(daemon) > seen[-1], "the change goes on")
            seen.append(done(daemon))
            daemon.stop(signal.SIGKILL)
    assert len(seen) > KILLED, "it was killed between its steps"
    with spawned(tmp_path, more) as daemon:
        wait_until(lambda: models(daemon)["in_use"] == "jars", "the change is complete")
        assert models(daemon)["coming"] is None
        assert len(answered(daemon)) == len(before)
        assert json.loads(typed(tmp_path, more, "check", "--json"))["ok"]
        typed(tmp_path, more, "model", "undo", "--wait")
        assert answered(daemon) == before
