"""Whether each piece of imported notes can be found: ``python -m tests.bench.notes --json OUT``.

200 notes (``support/generated_notes.py``) and this repository's own documents are imported as
``memd import FOLDER`` does. Then each memory is asked for, in the first ten, by its own
text, and by one line of it alone. Told are the memories that no search reached, and the
times of importing: the first time, unchanged, and of a text of 2 MB.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from support import generated_notes

from bench.bench_daemon import Stage, save_result, staged
from memd.cli.notes import folder
from memd.cli.notes.send import FileOutcome, Options, send_note

ROOT = Path(__file__).resolve().parents[2]
NOTES, SHOWN, LINE_WORDS = 200, 10, 12


def brought(stage: Stage, agent: str, path: Path) -> list[FileOutcome]:
    """Import a folder or a file as the command line does; return what became of each file."""
    outcomes = []
    for file in folder.find([path]).files:
        outcome = FileOutcome(file)
        markdown = file.suffix in folder.MARKDOWN
        send_note(stage.client, outcome, folder.read(file), Options(agent=agent), markdown=markdown)
        outcomes.append(outcome)
    return outcomes


def line_of(content: str) -> str:
    """Return some words of the longest line below a memory's headings."""
    longest = max(content.split("\n")[1:] or [content], key=len)
    return " ".join(longest.split()[:LINE_WORDS])


def reached(stage: Stage, agent: str, memory: dict[str, Any], query: str) -> bool:
    """Return whether *memory* is among the first ten for *query*."""
    items = stage.recall(agent, query, top_k=SHOWN)["memories"]
    return any(item["id"] == memory["id"] for item in items)


def missed(stage: Stage, agent: str) -> dict[str, list[str]]:
    """Return the memories that their own text, their line, or neither reaches."""
    missing: dict[str, list[str]] = {"text": [], "line": [], "neither": []}
    for memory in stage.memories(agent):
        content = memory["content"]
        by_text = reached(stage, agent, memory, content)
        by_line = reached(stage, agent, memory, line_of(content))
        if not by_text:
            missing["text"].append(content)
        if not by_line:
            missing["line"].append(content)
        if not (by_text or by_line):
            missing["neither"].append(content)
    return missing


def measure(stage: Stage, agent: str, path: Path) -> dict[str, Any]:
    """Import *path* twice and look for each of its memories."""
    began = time.monotonic()
    outcomes = brought(stage, agent, path)
    told_s = time.monotonic() - began
    stage.settle()
    settled_s = time.monotonic() - began
    began = time.monotonic()
    again = brought(stage, agent, path)
    again_s = time.monotonic() - began
    assert not any(each.new or each.replaced for each in again)
    new = sum(each.new for each in outcomes)
    missing = missed(stage, agent)
    return {
        "files": len(outcomes),
        "memories": new,
        "visible": sum(1 for _ in stage.memories(agent)),
        "quarantined": sum(each.quarantined for each in outcomes),
        "told_s": round(told_s, 2),
        "told_per_s": round(new / told_s),
        "embedded_per_s": round(new / settled_s),
        "unchanged_per_s": round(new / again_s),
        "missed": {name: len(items) for name, items in missing.items()},
        "missed_texts": missing,
    }


def a_large_text(path: Path) -> Path:
    """Write a text of 2 MB at *path*."""
    paragraphs = [
        f"Entry {n}: {' '.join(f'word{n * k % 9973}' for k in range(1, 90))}." for n in range(3_000)
    ]
    path.write_text("# Store\n\n" + "\n\n".join(paragraphs), "utf-8")
    return path


def main() -> None:
    """Measure and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    to = parser.parse_args().json
    with tempfile.TemporaryDirectory(prefix="memd-notes-") as made, staged() as stage:
        place = Path(made) / "notes"
        generated_notes.write(place, NOTES)
        figures = {
            "notes": measure(stage, "notes", place),
            "documents": measure(stage, "documents", ROOT / "docs"),
        }
        began = time.monotonic()
        (large,) = brought(stage, "large", a_large_text(Path(made) / "large.md"))
        seconds = time.monotonic() - began
        figures["large"] = {"memories": large.new, "told_per_s": round(large.new / seconds)}
    save_result(figures, to)
    for each in figures.values():
        each.pop("missed_texts", None)
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
