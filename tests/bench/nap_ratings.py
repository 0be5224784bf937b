"""Draws memories for people to judge, and reads what they said of them."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.nap_scores import Memory

MARKS = ("keep", "borderline", "junk")


def draw(kept: Mapping[str, Sequence[Memory]], count: int, seed: int, out: Path) -> None:
    """Write *count* of the memories, numbered, to *out*, and beside it where each is from.

    All texts are as likely; what several sessions say is one, as it is where it is stored.
    The key file has the same name with ``.key.json``.
    """
    by_text: dict[str, tuple[str, int, Memory]] = {}
    for name, memories in kept.items():
        for place, each in enumerate(memories):
            by_text.setdefault(each.text, (name, place, each))
    all_of_them = list(by_text.values())
    chosen = random.Random(seed).sample(all_of_them, min(count, len(all_of_them)))
    texts = [f"{number}.\n{each.text}\n" for number, (_, _, each) in enumerate(chosen, 1)]
    key = {
        number: {"session": name, "place": place, "kind": each.kind}
        for number, (name, place, each) in enumerate(chosen, 1)
    }
    out.write_text("\n".join(texts), "utf-8")
    out.with_suffix(".key.json").write_text(json.dumps(key, indent=1) + "\n", "utf-8")
    print(f"{len(chosen)} of {len(all_of_them)} memories: {out}")


def summed(paths: Sequence[Path]) -> dict[str, Any]:
    """Return the judges' marks in per cent, each judge and all together.

    Raises SystemExit for a line that is no mark, or a number that is marked twice.
    """
    judges = {path.name: read(path) for path in paths}
    shares = {name: _shares(Counter(marks.values())) for name, marks in judges.items()}
    everything = Counter(mark for marks in judges.values() for mark in marks.values())
    return shares | {"all": _shares(everything)}


def read(path: Path) -> dict[int, str]:
    """Return the marks of one judge, by number: lines such as ``17 keep``."""
    marks: dict[int, str] = {}
    for line in path.read_text("utf-8").splitlines():
        if not line.strip():
            continue
        number, _, mark = line.replace(".", " ").replace(":", " ").strip().partition(" ")
        mark = mark.split()[0].casefold() if mark.split() else ""
        if not number.isdigit() or mark not in MARKS or int(number) in marks:
            raise SystemExit(f"{path}: this is no mark, or a second one: {line!r}")
        marks[int(number)] = mark
    return marks


def _shares(counts: Mapping[str, int]) -> dict[str, Any]:
    total = sum(counts.values())
    return {"judged": total} | {
        mark: round(100 * counts.get(mark, 0) / total, 1) if total else None for mark in MARKS
    }
