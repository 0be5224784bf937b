"""One memory of several projects: ``python -m tests.bench.projects DIR``.

DIR has the checkouts of ``bench.team_sessions``. All their recorded sessions are imported into one
store, as ``memd import`` does it, and the questions of ``labels/others/questions.jsonl`` are asked
by a client that prepares each prompt, in the project that they are about and in a new one; then
twenty everyday requests of a developer, in the new one. Printed is how many prompts hold the answer
in one memory of its project, and how many entries are of that project and of others.

``--kept`` has the first sessions of ten other projects (``labels/others/asked.jsonl``), and asks
for single memories that naps kept of them, in other words and as requests that these would change,
then for what nothing there answers, all in their own project.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import json
import os
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.daemon import wait_until

from bench.bench_daemon import installed_model, running_with_model
from bench.nap_scores import holds
from bench.reader_labels import LABELS, Item
from bench.team_sessions import HISTORY, QUESTIONS, SOURCES
from memd.base.paths import Paths
from memd.client import Client
from memd.domain.memory import MemoryEntry

KEPT = LABELS / "others" / "asked.jsonl"
KEPT_SESSIONS = 25  # of each project, in the order of their names
NEW = "a-new-project"
REQUESTS = (
    *("how do we run the tests?", "how do I deploy?", "which port does the dev server use?"),
    *("rename the function foo", "what did we decide about the database?", "where are the docs?"),
    *("add a button to the page", "fix the failing test", "which version of node do we use?"),
    *("what is still open?", "commit this", "how do we name branches?", "write a readme"),
    *("why does the build fail?", "refactor the settings page", "what's the weather like"),
    *("hi there", "summarize this file", "how do I log in?", "who is the admin user?"),
)


class Prompt(NamedTuple):
    """What one request brought; *project* is the one that answers it, *held* whether it did."""

    project: str
    entries: tuple[MemoryEntry, ...]
    tokens: int
    held: bool = False


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.projects", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kept", action="store_true", help="ask for what naps keep")
    options = parser.parse_args(argv)
    folder, measured = options.folder.resolve(), measure_kept if options.kept else measure
    model = installed_model()  # of the person's home, not of the one that is made here
    with tempfile.TemporaryDirectory(prefix="memd-bench-") as made:
        os.environ["MEMD_HOME"] = made
        for line in asyncio.run(_with_daemon(Path(made), model, folder, measured)):
            print(line)


async def _with_daemon(
    home: Path, model: Path, folder: Path, measured: Callable[[Paths, Path], list[str]]
) -> list[str]:
    async with running_with_model(home, model) as paths:
        return await asyncio.to_thread(measured, paths, folder)


def measure(paths: Paths, folder: Path) -> list[str]:
    """Import all projects below *folder*, ask, and return a line for each way of asking."""
    _import(folder / name / HISTORY for name in SOURCES)
    rows = [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines()]
    with Client(paths.socket, timeout=60, key=paths.operator_key) as client:
        wait_until(lambda: client.call("system.status")["pending"] == 0, "all vectors are there")
        asker = _Asker(client, str(folder))
        ways = {
            "own project": [asker.answer(row, own=True) for row in rows],
            "a new project": [asker.answer(row, own=False) for row in rows],
            "everyday requests": [asker.ask(text, NEW, NEW) for text in REQUESTS],
        }
    return [f"{way}: {_figures(prompts)}" for way, prompts in ways.items()]


def measure_kept(paths: Paths, folder: Path) -> list[str]:
    """Import the projects of ``KEPT`` below *folder*, ask, and return a line for each way."""
    rows = [json.loads(line) for line in KEPT.read_text("utf-8").splitlines()]
    for repo in dict.fromkeys(row["repo"] for row in rows):
        pages = sorted((folder / _name(repo) / HISTORY).glob("*.md"))
        if not pages:
            raise SystemExit(f"no checkout of {repo} in {folder / _name(repo)}")
        _import(pages[:KEPT_SESSIONS])
    with Client(paths.socket, timeout=60, key=paths.operator_key) as client:
        wait_until(lambda: client.call("system.status")["pending"] == 0, "all vectors are there")
        asker = _Asker(client, str(folder))
        asked = [asker.answer(row, own=True) for row in rows if "asked" in row]
        foreign = [
            asker.ask(row["foreign"], _name(row["repo"]), _name(row["repo"]))
            for row in rows
            if "foreign" in row
        ]
    return [f"kept: {_figures(asked)}", f"nothing answers: {_figures(foreign)}"]


def _import(paths: Iterable[Path]) -> None:
    from memd.cli.cli import run

    for path in paths:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            run(["import", str(path)])


def _name(repo: str) -> str:
    return repo.rpartition("/")[2]


class _Asker(NamedTuple):
    client: Client
    folder: str

    def answer(self, row: dict[str, Any], *, own: bool) -> Prompt:
        """Ask a labelled question, and see whether a memory of its project holds the answer."""
        name = _name(row["repo"])
        prompt = self.ask(row["asked"], name if own else NEW, name)
        keys = tuple(tuple(group) for group in row["keys"])
        item = Item("", "", 1, frozenset(), "", keys, row["asked"])
        return prompt._replace(held=any(holds(e.content, item) for e in _of(prompt, name)))

    def ask(self, text: str, asking: str, about: str) -> Prompt:
        request = {"query": text, "project_id": f"{self.folder}/{asking}"}
        made = self.client.call("inject.prepare", {**request, "session_id": uuid.uuid4().hex})
        entries = (self.client.call("memory.get", {"id": each["id"]}) for each in made["memories"])
        read = tuple(map(MemoryEntry.model_validate, entries))
        return Prompt(about, read, made["tokens_used"])


def _of(prompt: Prompt, name: str) -> Iterable[MemoryEntry]:
    return (each for each in prompt.entries if (each.project_id or "").endswith(f"/{name}"))


def _figures(prompts: Sequence[Prompt]) -> str:
    own = sum(len(list(_of(prompt, prompt.project))) for prompt in prompts) / len(prompts)
    entries = sum(len(prompt.entries) for prompt in prompts) / len(prompts)
    tokens = sum(prompt.tokens for prompt in prompts) / len(prompts)
    return (
        f"{sum(prompt.held for prompt in prompts)} of {len(prompts)} held, {own:.2f} entries of "
        f"the project, {entries - own:.2f} of others, {tokens:.0f} tokens, "
        f"{sum(not prompt.entries for prompt in prompts)} empty"
    )


if __name__ == "__main__":
    main()
