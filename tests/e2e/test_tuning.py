"""SPEC 18.2 at the real socket with the real model: tuned, killed on the way, gone on with."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from support import forked
from support.daemon import environment, spawned, wait_until
from support.tuning_data import ingest_all, turns

from memd.base.errors import InvalidStateError
from memd.client import Client

pytestmark = pytest.mark.model

PAIRS = 70


def stage(client: Client) -> str:
    return str(client.call("tune.status")["stage"])


def typed_at(home: Path, *words: str) -> tuple[int, str, str]:
    done = forked.run(words, env=environment(home, {}))
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


def test_a_killed_run_is_gone_on_with_and_told_by_the_command(
    tmp_path: Path, model_dir: Any
) -> None:
    model = {"MEMD_MODEL_DIR": str(model_dir)}
    with spawned(tmp_path, model) as daemon:
        with daemon.client() as client:
            ingest_all(client, turns(PAIRS))
            assert stage(client) == "idle"
            begun = client.call("tune.start")
            assert begun["stage"] == "generating_data"
            wait_until(lambda: stage(client) == "training", "it trains")
        daemon.stop(signal.SIGKILL)

    with spawned(tmp_path, model) as daemon, daemon.client() as client:
        (left,) = client.call("tune.status")["runs"]
        assert (left["run_id"], left["stage"]) == (begun["run_id"], "failed")
        assert "interrupted" in left["error"]
        code, out, _ = typed_at(tmp_path, "tune", "status")
        assert code == 0
        assert "in use: as shipped" in out
        assert "interrupted" in out

        code, out, err = typed_at(tmp_path, "tune", "run", "--resume", "--json")

        assert code == 0, err
        run = json.loads(out)
        assert (run["run_id"], run["stage"]) == (begun["run_id"], "complete")
        assert run["held_out"] == run["verdict"]["questions"]
        assert run["deployed"] == run["verdict"]["better"] == run["active"]
        assert client.call("tune.status")["active"] == (run["run_id"] if run["active"] else None)
        if not run["active"]:
            with pytest.raises(InvalidStateError):
                client.call("tune.rollback")
        code, _, err = typed_at(tmp_path, "tune", "run", "--resume")
        assert code != 0
        assert "no run to resume" in err


def test_too_few_pairs_are_told_by_the_command(tmp_path: Path, model_dir: Any) -> None:
    with spawned(tmp_path, {"MEMD_MODEL_DIR": str(model_dir)}) as daemon, daemon.client() as client:
        client.call("memory.store", {"content": "The boat is blue.", "category": "semantic"})

        code, out, _ = typed_at(tmp_path, "tune", "run")

        assert code != 0
        assert "questions with an answer are needed, and the memories have 0" in out
