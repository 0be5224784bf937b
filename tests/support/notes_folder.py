"""A folder of notes, and a client that runs commands in it with a real daemon."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support import commands
from support.commands import Output
from support.daemon import Spawned, wait_until


class Desk:
    """A person's folder, and commands typed in it."""

    def __init__(self, home: Path, daemon: Spawned) -> None:
        self.notes = home / "notes"
        self.notes.mkdir()
        self.daemon = daemon

    def __call__(self, *words: str, cwd: Path | None = None) -> Output:
        return commands.memd(self.daemon.home, *words, cwd=cwd or self.notes)

    def write(self, name: str, text: str) -> Path:
        path = self.notes / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    def search(self, question: str) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self("search", question, "--json").json["memories"]
        return items

    def memories(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self("list", "-n", "200", "--json").json["items"]
        return items

    def settled(self) -> None:
        with self.daemon.client() as client:
            wait_until(
                lambda: not client.call("system.status")["pending"],
                "every memory has its vector",
                seconds=60,
            )
