"""A person's folder of notes, and what is typed in it at a real daemon."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from support import forked
from support.daemon import Spawned, environment, wait_until


class Typed(NamedTuple):
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self.out)
        return told


class Desk:
    """A person's folder, and commands typed in it."""

    def __init__(self, home: Path, daemon: Spawned, model_dir: Path) -> None:
        self.notes = home / "notes"
        self.notes.mkdir()
        self.daemon = daemon
        self._environment = environment(home, {"MEMD_MODEL_DIR": str(model_dir)})

    def __call__(self, *words: str, cwd: Path | None = None) -> Typed:
        done = forked.run(words, env=self._environment, cwd=cwd or self.notes)
        assert "Traceback" not in done.stderr, done.stderr
        return Typed(done.returncode, done.stdout, done.stderr)

    def write(self, name: str, text: str) -> Path:
        path = self.notes / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    def search(self, question: str) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self("search", question, "--json").json["memories"]
        return items

    def settled(self) -> None:
        with self.daemon.client() as client:
            wait_until(
                lambda: not client.call("system.status")["pending"],
                "every memory has its vector",
                seconds=60,
            )
