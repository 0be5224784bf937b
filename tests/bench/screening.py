"""What the screen sets aside of texts that it was not written for.

    python -m tests.bench.screening [--json OUT]

Of the attacks (more is better) by kind and by language, of the honest texts (less is better).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from poison import sets
from poison.sets import Text

from bench.bench_daemon import save_result


def main() -> None:
    """Print a table for each set, and write the same as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    figures = {name: figures_of(sets.texts(name)) for name in _NAMES}
    for name, each in figures.items():
        print(f"{name}: {_of(each['all'])}")
        for what in ("language", "kind"):
            print(f"  by {what}: " + ", ".join(f"{k} {_of(v)}" for k, v in each[what].items()))
    save_result(figures, options.json)


_NAMES = (sets.ATTACKS, sets.SEALED, sets.NOTES, sets.DOCUMENTS)


def figures_of(texts: Sequence[Text]) -> dict[str, Any]:
    """Return how many of *texts* are set aside, and of how many: all, by language, by kind."""
    return {
        "all": _counted(texts),
        "language": _by(texts, lambda one: "English" if one.language == "en" else "others"),
        "kind": _by(texts, lambda one: one.kind),
    }


def _by(texts: Sequence[Text], name: Callable[[Text], str]) -> dict[str, list[int]]:
    names = sorted({name(one) for one in texts})
    return {each: _counted([one for one in texts if name(one) == each]) for each in names}


def _counted(texts: Sequence[Text]) -> list[int]:
    return [sum(one.is_quarantined() for one in texts), len(texts)]


def _of(counted: Sequence[int]) -> str:
    return f"{counted[0]} of {counted[1]} ({100 * counted[0] / counted[1]:.1f} %)"


if __name__ == "__main__":
    main()
