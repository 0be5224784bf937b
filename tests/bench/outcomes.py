"""How many of the outcomes that naps tell are worth it: ``python -m tests.bench.outcomes DIR``.

``labels/others/outcomes-fit.jsonl`` and ``-held.jsonl`` refer to outcomes of recorded sessions in
public repositories (``labels/README.md``), read one by one before ``outcome_worth`` was made: 2 for
what somebody would be glad to know a week later, 0 for what nobody asks for. The signs were
fitted on the first; the writers of the second (``--held``) are only scored. DIR holds the pages, in
folders of whatever names. An outcome that naps compose otherwise today counts as *changed*.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.readings import LABELS
from bench.transcripts import specstory
from memd.sleep.distil.compose import turns
from memd.sleep.distil.distil import find_candidates, is_worth_it
from memd.sleep.distil.exchanges import split_exchanges
from memd.sleep.distil.language.outcome_signs import outcome_worth

JUNK, GOOD = 0, 2
SHA_CHARS = 12


class RatedOutcome(NamedTuple):
    """An outcome as a reader judged it, 0 to 2, and as its signs do."""

    label: int
    worth: float
    is_kept: bool


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.outcomes", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--held", action="store_true", help="the writers that are only scored")
    options = parser.parse_args(argv)
    print(json.dumps(measure(options.folder, "held" if options.held else "fit")))


def measure(folder: Path, split: str) -> dict[str, Any]:
    """Return how many outcomes are kept, and which share of all and of those kept is junk."""
    rows = labels(split)
    paths = {path.name: path for path in folder.rglob("*.md")}
    if missing := sorted({Path(row["path"]).name for row in rows} - set(paths)):
        raise SystemExit(f"no page {missing[0]} below {folder}")
    rated = list(_rate(rows, paths))
    kept = [each for each in rated if each.is_kept]
    count, count_kept = (Counter(each.label for each in some) for some in (rated, kept))
    return {
        "outcomes": len(rated),
        "changed": len(rows) - len(rated),
        "kept": len(kept),
        "junk": round(count[JUNK] / len(rated), 3),
        "junk of those kept": round(count_kept[JUNK] / len(kept), 3),
        "good": round(count[GOOD] / len(rated), 3),
        "good kept": round(count_kept[GOOD] / count[GOOD], 3),
        "a good one before a junk one": round(area(rated), 3),
    }


def labels(split: str) -> list[dict[str, Any]]:
    """Return the labelled outcomes of *split*."""
    path = LABELS / "others" / f"outcomes-{split}.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def area(rated: Sequence[RatedOutcome]) -> float:
    """Return in which share of the pairs the good outcome has more worth than the junk one.

    >>> area([RatedOutcome(*each, True) for each in ((2, 0.9), (0, 0.1), (0, 0.9))])
    0.75
    """
    good = [each.worth for each in rated if each.label == GOOD]
    junk = [each.worth for each in rated if each.label == JUNK]
    pairs = [(one > other) + (one == other) / 2 for one in good for other in junk]
    return sum(pairs) / len(pairs)


def _rate(rows: Sequence[dict[str, Any]], paths: dict[str, Path]) -> Iterator[RatedOutcome]:
    for name in sorted({Path(row["path"]).name for row in rows}):
        text = paths[name].read_text("utf-8", errors="replace")
        exchanges = turns(split_exchanges(specstory(text, sidechains=False)))
        outcomes = {_sha(each.memory.text): each for each in find_candidates(exchanges)}
        for row in rows:
            if Path(row["path"]).name == name and row["sha"] in outcomes:
                it = outcomes[row["sha"]]
                yield RatedOutcome(row["worth"], outcome_worth(it.memory.text), is_worth_it(it))


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:SHA_CHARS]


if __name__ == "__main__":
    main()
