"""No acknowledged write is lost by kill -9, and none half done, asleep or awake (P1, P3).

The gate kills at least 5 times in each phase, ``--long`` 20 times and then 3,000 times with
another seed (decision 0153). Each planted fault is met in the gate's 40 lives.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from support import forked
from support.daemon import environment
from support.killer import OPERATIONS

KILLS_MIN = 5  # in each phase, or the test has shown nothing about it
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
        module="support.killer",
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
        pytest.param(TOLD, 40, KILLS_MIN, id="told"),
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
    kept_min = 200 if kills_min == KILLS_MIN_LONG else 50
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
