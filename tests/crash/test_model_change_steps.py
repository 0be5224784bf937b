"""A change of model is killed by operations on the file, in each kind of step (decision 0182).

The gate kills twice in each kind, ``--long`` twenty times and with another seed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import forked
from support.daemon import environment
from support.model_change_crash import STEPS, TEXTS


def judged(folder: Path, kills: int, *more: str) -> dict[str, Any]:
    """Return the judge's report on a daemon that was killed so often in each kind of step."""
    done = forked.run(
        [str(folder), "--kills", str(kills), *more],
        env=environment(folder),
        timeout=None,
        module="support.model_change_crash",
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report


@pytest.mark.parametrize(
    ("kills", "seed"), [(2, 1), pytest.param(20, 2, id="long", marks=pytest.mark.long)]
)
def test_a_killed_change_goes_on_and_every_answer_is_that_of_the_model_in_use(
    tmp_path: Path, kills: int, seed: int
) -> None:
    report = judged(tmp_path, kills, "--seed", str(seed))
    assert report["wrong"] == []
    assert all(report["kills"].get(step, 0) >= kills for step in STEPS), report["kills"]
    assert report["resumed"] >= kills
    assert report["meanwhile"] >= 3 * kills  # answers while a change was under way
    assert report["kept"] == len(TEXTS)
    assert report["ok"], report["problems"]


def test_a_model_that_is_put_to_use_before_its_vectors_are_complete_is_found_out(
    tmp_path: Path,
) -> None:
    assert judged(tmp_path, 2, "--mutant", "used_at_once")["wrong"]
