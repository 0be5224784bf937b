"""Which preferences of other teams naps keep: ``python -m tests.bench.preferences DIR``.

``labels/others/preferences.jsonl`` refers to recorded sessions in three public repositories
(``labels/README.md``), labelled before anything of theirs was scored: what their writers say
of how they want work done, and messages of the moment, which must not be kept. DIR holds
checkouts of all, in folders of whatever names. Only sums are printed, by repository.
``--moments`` scores by ``moments.jsonl`` instead: lines of thirteen more repositories that must
not be kept, which were looked at after they were labelled; DIR then holds those. ``--further
fit`` and ``held`` score by what was labelled of ten more writers: those of ``fit`` may be looked
at, those of ``held`` are only scored. What is only scored was read twice again, blind: *clear* are
the wishes that both readers would know a week later.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.nap_quality import distilled
from bench.nap_scores import covered, junk_kept
from bench.reader_labels import LABELS, Item
from bench.transcripts import specstory

LABELLED = LABELS / "others" / "preferences.jsonl"
MOMENTS = LABELS / "others" / "moments.jsonl"
FURTHER = ("fit", "held")
COUNTS = (
    *("preferences", "kept", "in memories", "clear", "clear kept"),
    *("of the moment", "those kept"),
)
CLEAR = ["lasting", "lasting"]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.preferences", description=__doc__)
    parser.add_argument("folder", type=Path)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--moments", action="store_true")
    which.add_argument("--further", choices=FURTHER)
    options = parser.parse_args(argv)
    labelled_in = MOMENTS if options.moments else LABELLED
    if options.further:
        labelled_in = LABELLED.with_name(f"{options.further}.jsonl")
    print(json.dumps(measure(options.folder, labelled_in)))


def measure(folder: Path, labelled_in: Path = LABELLED) -> dict[str, Any]:
    """Return by repository how many preferences and messages of the moment are kept, of how many.

    Kept are those that stand in one memory; a digest counts for what is to be kept alone.
    """
    labelled = labels(labelled_in)
    paths = {path.stem: path for path in folder.rglob("*.md") if path.stem in labelled}
    if missing := sorted(set(labelled) - set(paths)):
        raise SystemExit(f"no session {missing[0]} below {folder}")
    by_repository: dict[str, dict[str, int]] = {}
    for name, rows in labelled.items():
        sums = by_repository.setdefault(rows[0]["repo"], dict.fromkeys(COUNTS, 0))
        text = paths[name].read_text("utf-8")
        lines = text.splitlines()
        memories = distilled(specstory(text, sidechains=False))
        items = [_item(row) for row in rows if "keys" in row]
        moment = [lines[row["user"] - 1] for row in rows if "user" in row]
        own = [each for each in memories if not each.is_digest]
        sums["preferences"] += len(items)
        sums["kept"] += len(covered(memories, items))
        sums["in memories"] += len(covered(own, items))
        clear = [_item(row) for row in rows if "keys" in row and row.get("again") == CLEAR]
        sums["clear"] += len(clear)
        sums["clear kept"] += len(covered(memories, clear))
        sums["of the moment"] += len(moment)
        sums["those kept"] += len(junk_kept(memories, moment))
    return by_repository


def labels(labelled_in: Path = LABELLED) -> dict[str, list[dict[str, Any]]]:
    """Return what is labelled, by session."""
    by_session: dict[str, list[dict[str, Any]]] = {}
    for line in labelled_in.read_text("utf-8").splitlines():
        row = json.loads(line)
        by_session.setdefault(row["session"], []).append(row)
    return by_session


def _item(row: dict[str, Any]) -> Item:
    keys = tuple(map(tuple, row["keys"]))
    return Item("", "preference", 0, frozenset(row["lines"]), row["says"], keys, "")


if __name__ == "__main__":
    main()
