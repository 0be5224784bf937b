"""No acknowledged write is lost by kill -9, and none half done, asleep or awake (P1, P3)."""

from __future__ import annotations

import json
import random
import signal
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from support import forked
from support.crash_loop import OPERATIONS
from support.daemon import environment, spawned, wait_until
from support.gate import seeds

from memd.client import Client

KILLS_MIN = 3  # in each phase, or the test has shown nothing about it
KILLS_MIN_LONG = 20
TOLD = ("ingest", "bulk", "undo", "delete", "forget", "embed", "checkpoint", "any")
ASLEEP = ("night", "nap", "org", "files", "any")


def killed(folder: Path, cycles: int, seed: int, *more: str) -> dict[str, Any]:
    """Return the judge's report on *cycles* lives of a daemon."""
    home = folder / "h"
    home.mkdir()
    done = forked.run(
        [str(home), "--cycles", str(cycles), "--seed", str(seed), *more],
        env=environment(home),
        timeout=None,
        module="support.crash_loop",
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report


def assert_nothing_was_lost(
    report: dict[str, Any],
    phases: Iterable[str] = OPERATIONS,
    *,
    kills_min: int = KILLS_MIN_LONG,
    kept_min: int = 500,
) -> None:
    assert report["lost"] == 0, report
    assert report["risen"] == 0, report  # neither did what was deleted or forgotten come back
    assert report["halves"] == []
    assert report["ok"], report["problems"]
    assert all(report["kills"].get(phase, 0) >= kills_min for phase in phases), report["kills"]
    assert report["acks"] > report["kept"] > kept_min
    assert report["writes"] > kills_min * 3 // 2 or "org" not in phases


def test_every_phase_has_its_kills() -> None:
    assert {*TOLD, *ASLEEP} == {*OPERATIONS, "any"}


@pytest.mark.parametrize(
    ("phases", "cycles", "kills_min"),
    [
        pytest.param(TOLD, 24, KILLS_MIN, id="told"),
        pytest.param(ASLEEP, 25, KILLS_MIN, id="asleep"),
        pytest.param(TOLD, 160, KILLS_MIN_LONG, id="told-long", marks=pytest.mark.long),
        pytest.param(ASLEEP, 104, KILLS_MIN_LONG, id="asleep-long", marks=pytest.mark.long),
    ],
)
def test_no_acknowledged_write_is_lost_by_kill_9(
    tmp_path: Path, phases: tuple[str, ...], cycles: int, kills_min: int
) -> None:
    more = ("--kills-min", str(kills_min), "--phases", *phases)
    report = killed(tmp_path, cycles, 1, *more)
    kept_min = 10 * kills_min
    met = [one for one in phases if one in OPERATIONS]
    assert_nothing_was_lost(report, met, kills_min=kills_min, kept_min=kept_min)


@pytest.mark.long
def test_no_acknowledged_write_is_lost_by_thousands_of_kills(tmp_path: Path) -> None:
    assert_nothing_was_lost(killed(tmp_path, 3_000, 2, "--kills-min", "100"))


def test_a_daemon_that_answers_before_it_commits_is_found_out(tmp_path: Path) -> None:
    report = killed(tmp_path, 40, 3, "--mutant", "ack_early")
    assert report["lost"] or report["halves"]  # a memory is gone, or all that a nap had learnt


def test_a_night_that_hides_later_than_it_summarises_is_found_out(tmp_path: Path) -> None:
    nights = ("--phases", "any", "night")
    assert killed(tmp_path, 40, 3, "--mutant", "summary_first", *nights)["halves"]


@pytest.mark.parametrize(("mutant", "phase"), [("learnt_later", "org"), ("path_later", "files")])
def test_a_fact_or_a_file_that_is_written_in_two_is_found_out(
    tmp_path: Path, mutant: str, phase: str
) -> None:
    assert killed(tmp_path, 40, 3, "--mutant", mutant, "--phases", phase)["halves"]


TURNS = 400


MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": f"Harbour {n} must never be opened before noon."}
    if n % 2
    else {"role": "tool", "name": "sh", "content": f"Crane {n} stands still. " * 20}
    for n in range(TURNS)
]


def naps(client: Client) -> list[dict[str, Any]]:
    runs = client.call("sleep.report", {"limit": 100})["items"]
    return [run for run in runs if run["kind"] == "nap"]


@pytest.mark.parametrize("seed", seeds(gate=2, long=6))
def test_a_killed_nap_happens_once_whenever_the_kill_came(tmp_path: Path, seed: int) -> None:
    delay_s = random.Random(seed).uniform(0.08, 0.5)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text(
        f"[usage]\ntranscript_roots = {json.dumps([str(tmp_path)])}\n"
    )
    transcript = tmp_path / "t.jsonl"
    transcript.write_text("".join(f"{json.dumps(m)}\n" for m in MESSAGES), "utf-8")
    bare = {"MEMD_MODEL_DIR": str(tmp_path / "none")}
    with spawned(tmp_path, bare) as daemon:
        usage = daemon.paths.socket.with_name("usage")
        wait_until(usage.is_dir, "the folder is there")
        usage_file = {"used_tokens": 25_000, "transcript_path": str(transcript)}
        (usage / "codex-s1.json").write_text(json.dumps(usage_file), "utf-8")
        time.sleep(delay_s)
        daemon.stop(signal.SIGKILL)

    with spawned(tmp_path, bare) as daemon, daemon.client() as client:
        wait_until(lambda: len(naps(client)) == 1, "the nap is made up for")
        (nap,) = naps(client)
        session = client.call("session.list")["items"][0]
        (window,) = client.call("usage.list")["items"]

        assert nap["state"] == "done"
        assert nap["steps"][0]["rows"] == session["memories"] == client.call("memory.count")
        assert session["memories"] >= 1
        assert nap["detail"]["facts"] > TURNS * 0.9  # of the list
        assert session["messages"] == TURNS
        assert window["armed"] is False
        assert window["napped_at"] is not None
        assert client.call("store.check")["ok"] is True
        time.sleep(0.5)
        assert len(naps(client)) == 1
