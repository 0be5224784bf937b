"""What the pages tell programmers to type runs as printed, over a real daemon."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.daemon import ROOT, Spawned, environment
from support.desk import served

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def daemon(home: Path, model_dir: Path) -> Iterator[Spawned]:
    with served(home, model_dir) as daemon:
        yield daemon


def typed(page: str, home: Path) -> str:
    """Run every Python block of *page* as one program; return what it prints."""
    text = (ROOT / page).read_text("utf-8")
    program = "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    folder = home / "bin"
    folder.mkdir(exist_ok=True)
    memd = folder / "memd"
    memd.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m memd "$@"\n')
    memd.chmod(0o700)
    path = os.pathsep.join([str(folder), os.environ["PATH"]])
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(home, {"PATH": path}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.usefixtures("daemon")
def test_the_example_of_the_readme_puts_what_was_said_before_the_question(home: Path) -> None:
    said = typed("README.md", home)
    assert "- I prefer short answers." in said
    assert "We deploy with blue-green since March." in said


@pytest.mark.usefixtures("daemon")
def test_the_page_about_prompts_does_what_it_shows(home: Path) -> None:
    said = typed("docs/prompts.md", home)
    assert "[untrusted: web] [semantic | score: " in said
    assert "['search_memory', 'recall_memory', 'search_org_facts']" in said
    assert "Stored in core memory (id=" in said
    assert "[semantic | score: 1.00] The user's name is Ada." in said
    assert "     1\tDeploys: Thursdays." in said
    assert "[learnings] Slow billing queries" in said
    assert "'tool_use_id': 'toolu_03', 'content': 'Path must start with /memories" in said
