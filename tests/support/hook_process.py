"""Run ``memd hook`` and ``memd statusline`` as an assistant does: a process for each event."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from support import forked
from support.daemon import WAIT_S, Spawned, environment
from support.mcp_process import bare

ASSISTANTS = ("claude-code", "codex", "qwen", "gemini", "copilot", "cursor", "opencode")


class Printed(NamedTuple):
    """What a process left behind."""

    code: int
    out: str
    err: str

    @property
    def added(self) -> str:
        """What the assistant reads as context, whatever the form."""
        if not self.out:
            return ""
        output = json.loads(self.out)
        for name in ("additionalContext", "additional_context"):
            if name in output:
                return str(output[name])
        return str(output["hookSpecificOutput"]["additionalContext"])


def hook(
    home: Path,
    source: str,
    event: str,
    payload: Any,
    *more: str,
    environ: Mapping[str, str] | None = None,
) -> Printed:
    """Run ``memd hook SOURCE EVENT`` with *payload* on stdin, as an assistant does."""
    return command(home, ["hook", source, event, *more], payload, environ=environ)


def command(
    home: Path, arguments: list[str], payload: Any, *, environ: Mapping[str, str] | None = None
) -> Printed:
    raw = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    done = subprocess.run(
        [sys.executable, "-m", "memd", *arguments],
        env=bare(home, {"MEMD_HOOK_SECONDS": str(WAIT_S)} | dict(environ or {})),
        input=raw,
        capture_output=True,
        timeout=WAIT_S,
        check=False,
    )
    return Printed(done.returncode, done.stdout.decode(), done.stderr.decode())


def unread(home: Path, arguments: list[str], payload: Any) -> tuple[int, str]:
    """Run a command whose output nobody reads any more; return its exit code and its errors."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "memd", *arguments],
            env=bare(home, {"MEMD_HOOK_SECONDS": str(WAIT_S)}),
            input=json.dumps(payload).encode(),
            stdout=writing,
            stderr=subprocess.PIPE,
            timeout=WAIT_S,
            check=False,
        )
    finally:
        os.close(writing)
    return done.returncode, done.stderr.decode()


def introduce(daemon: Spawned, *names: str) -> None:
    """Give each assistant a key, as ``memd client add NAME --agent NAME`` does."""
    for name in names:
        words = ("client", "add", name, "--agent", name)
        forked.run(words, env=environment(daemon.home), check=True)


def log_lines(home: Path) -> list[str]:
    """Return the lines of the hooks' log."""
    log = home / "state" / "hooks.log"
    return log.read_text("utf-8").splitlines() if log.exists() else []


def repository(folder: Path) -> Path:
    """Make *folder* a project."""
    (folder / ".git").mkdir(parents=True)
    return folder
