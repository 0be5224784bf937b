"""Run ``memd`` or Python code as a command, and capture its output."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from support import forked
from support.daemon import ROOT, environment


class Output(NamedTuple):
    """The exit code of a command, and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The answer of a command with ``--json``, without its version."""
        answer: dict[str, Any] = json.loads(self.out)
        assert answer.pop("v") == 1
        return answer


Memd = Callable[..., Output]
"""``memd`` for one home."""


def memd(home: Path, *words: str, text: str = "", cwd: Path | None = None, **more: str) -> Output:
    """Run a command of *home* in the folder *cwd*, with *text* on stdin and *more* variables."""
    return run(words, environment(home, more), text, cwd)


def run(
    words: Sequence[str], env: Mapping[str, str], text: str = "", cwd: Path | None = None
) -> Output:
    """Run a command in the environment *env*; nothing that it writes may be a traceback."""
    done = forked.run(words, env=env, cwd=cwd, text=text)
    assert "Traceback" not in done.stderr, done.stderr
    return Output(done.returncode, done.stdout, done.stderr)


def run_python(code: str, *arguments: str, env: Mapping[str, str] | None = None) -> str:
    """Run *code* in a Python of its own, which must end well; return what it prints."""
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
