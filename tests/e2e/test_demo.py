"""``memd demo``: the whole of it, as a person who has just installed memd sees it."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import forked
from support.daemon import environment

pytestmark = pytest.mark.model

STORY = """\
memd demo  on a temporary memory; yours is not touched
start     the daemon (process #) answers after # s
          its model is loaded # s after the first text
remember  garden.md and # things a user said: # memories in # s (# a second)
          one of them is a preference, which is in every prompt
ask
  Pond  # ms
  Which database does the billing service use now?  # ms
  What was wrong with the login?  # ms
  How long should an answer be?  # ms
    always  #-#-#  I prefer short answers with the command first.
  What is the melting point of tungsten?  # ms
    nothing: no memory answers this question
stop      the daemon stopped after # s; its memory is deleted
Next: memd service install, then memd add "..."
"""


def story(shown: str) -> str:
    """Return what was *shown* without numbers, empty lines and ranked answers."""
    lines = [re.sub(r"\d+(\.\d+)?", "#", line).rstrip() for line in shown.splitlines()]
    return "".join(f"{line}\n" for line in lines if line and not line.startswith("    #."))


def demo(home: Path, model_dir: Path, *words: str) -> subprocess.CompletedProcess[str]:
    more = {"MEMD_MODEL_DIR": str(model_dir), "TMPDIR": str(home)}
    return forked.run(["demo", *words], env=environment(home, more), timeout=180)


@pytest.fixture
def home() -> Iterator[Path]:
    """Yield a folder with a short name: a socket's path has a hundred bytes."""
    with tempfile.TemporaryDirectory(prefix="memd-test-", dir=tempfile.gettempdir()) as name:
        yield Path(name)


def test_the_demonstration_answers_and_leaves_nothing_behind(home: Path, model_dir: Path) -> None:
    done = demo(home, model_dir, "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["text"] == "README.md"
    assert report["ingest"]["memories"] >= report["ingest"]["texts"] > 5
    by_question = {asked["question"]: asked["answers"] for asked in report["questions"]}
    billing = by_question["Which database does the billing service use now?"]
    assert any("PostgreSQL" in hit["text"] for hit in billing)
    assert "cookie expired" in by_question["What was wrong with the login?"][0]["text"]
    assert by_question["What is the melting point of tungsten?"] == []
    assert "short answers" in by_question["How long should an answer be?"][0]["text"]
    assert list(home.iterdir()) == []


def test_it_shows_a_text_of_ones_own(home: Path, model_dir: Path, tmp_path: Path) -> None:
    text = tmp_path / "garden.md"
    text.write_text("# Garden\nRoses are cut in March.\n\n# Pond\nThe pump is off in winter.\n")
    done = demo(home, model_dir, str(text))
    assert done.returncode == 0, done.stderr
    assert "The pump is off in winter" in done.stdout
    assert story(done.stdout) == STORY
    answers = [line for line in done.stdout.splitlines() if line.startswith("    ")]
    assert any(line.startswith("    1. ") for line in answers)
    # The best answer stands first; a score is no mark, and 0.05 would read as one.
    assert not any(re.match(r"    0\.\d\d ", line) for line in answers)


def test_a_text_that_is_not_there_is_named(home: Path, model_dir: Path) -> None:
    done = demo(home, model_dir, "missing.md")
    assert done.returncode == 2
    assert "missing.md" in done.stderr
