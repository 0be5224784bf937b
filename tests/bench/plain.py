"""Fits what tells a plain statement: ``python -m tests.bench.plain DIR [--keep]``.

"Postgres is 14.9 on prod", "we dropped GraphQL", "errors are logged in English": no word says that
it lasts, and it does. ``plain.txt`` has a thousand such messages of our own, and as many of the
moment that sound like them; DIR holds the pages of ``bench.sentences``, whose sentences of the
moment are none either. The fit is a logistic regression on a sentence's states and its length. The
table says, with each writer of the pages left out in turn, how many of their sentences of the
moment that may be plain are past each bar, left out or kept by rule; and of the sayings about plain
statements (``sayings.txt``), which nothing is fitted on, how many of each kind. ``--keep`` writes
the weights into the package.
"""

from __future__ import annotations

import argparse
import base64
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.classified import encoder
from bench.memory_fit import logistic_regression
from bench.readings import LABELS
from bench.sentence_fit import FOLDS, HEAD, STATES_SCALE, Row, package_head, read
from memd.embedding.model_files import DIMENSION
from memd.embedding.sentence_states import pool, windows_of
from memd.sleep.distil.acts import judge_sentence
from memd.sleep.distil.speech import may_be_plain, plain_signs

Array = NDArray[np.float64]

WRITTEN = Path(__file__).with_suffix(".txt")
SAYINGS = LABELS.parents[1] / "unit" / "sleep" / "distil" / "sayings.txt"
MOMENT = "moment"
"""In the name of a section: what is of the moment."""
RIDGE = 8.0
BARS = (2.0, 1.5, 1.0, 0.75, 0.5, 0.0)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.plain", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--keep", action="store_true", help="write the weights into the package")
    options = parser.parse_args(argv)
    rows, states = read(options.folder)
    of_users = np.hstack([states[:, :DIMENSION], _signs([row.text for row in rows])])
    texts = [(name, text) for name, text in sections(WRITTEN) if text]
    own = features([text for _, text in texts])
    lasts = np.array([MOMENT not in name for name, _ in texts])
    for line in table(rows, of_users, own, lasts):
        print(line)
    if options.keep:
        head = package_head() | document(fit(rows, of_users, own, lasts))
        HEAD.write_text(json.dumps(head, indent=1) + "\n", encoding="utf-8")


def sections(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each line of a file of sections with the name of its section."""
    name = ""
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("[") and line.endswith("]"):
            name = line[1:-1]
        elif name and line:
            yield name, line


def sayings() -> dict[str, list[str]]:
    """Return the sayings about plain statements, by their section."""
    by_section: dict[str, list[str]] = {}
    for name, line in sections(SAYINGS):
        if name.startswith("plain "):
            by_section.setdefault(name.removeprefix("plain "), []).append(line)
    return by_section


def features(texts: Sequence[str]) -> Array:
    """Return the features of sentences that are messages of their own."""
    model = encoder()
    if model is None:
        raise SystemExit("run: memd model install")
    states = []
    for ids in model.ids(list(texts)):
        (window,) = windows_of(0, [ids])
        states.append(pool([window], model.states([window.ids]))[0, :DIMENSION])
    return np.hstack([STATES_SCALE * np.vstack(states), _signs(texts)])


def _signs(texts: Sequence[str]) -> Array:
    return np.array([[value for _, value in plain_signs(text)] for text in texts])


def fit(rows: Sequence[Row], of_users: Array, own: Array, lasts: NDArray[np.bool_]) -> Array:
    """Return the weights; of what users typed, the sentences that are not worth it are taken."""
    moment = np.array([not row.label for row in rows])
    together = np.vstack([of_users[moment], own])
    target = np.concatenate([np.zeros(moment.sum()), lasts])
    ridge = np.full(together.shape[1], RIDGE)
    ridge[DIMENSION] = 1e-3  # the bias
    return logistic_regression(together, target, np.ones(len(together)), ridge)


def table(
    rows: Sequence[Row], of_users: Array, own: Array, lasts: NDArray[np.bool_]
) -> Iterator[str]:
    """Yield what is past each bar, with writers left out in turn."""
    writers = sorted({row.writer for row in rows})
    fold = np.array([writers.index(row.writer) % FOLDS for row in rows])
    by_section = sayings()
    states = {name: features(lines) for name, lines in by_section.items()}
    logits = np.zeros(len(rows))
    of_sayings = {name: np.zeros(len(lines)) for name, lines in by_section.items()}
    for left_out in range(FOLDS):
        is_own = fold == left_out
        rest = [row for row, its in zip(rows, is_own, strict=True) if not its]
        weights = fit(rest, of_users[~is_own], own, lasts)
        logits[is_own] = of_users[is_own] @ weights
        for name, its in states.items():
            of_sayings[name] += its @ weights / FOLDS
    is_moment = np.array([row.is_random and row.is_moment for row in rows])
    moment = is_moment & np.array([may_be_plain(row.judged) for row in rows])
    is_kept = np.array([row.is_kept for row in rows])
    open_ = {
        name: np.array([may_be_plain(judge_sentence(line)) for line in lines])
        for name, lines in by_section.items()
    }
    yield f"{len(own)} messages of our own, {is_moment.sum()} sentences of the moment"
    yield "| bar | of the moment, left out by rule | kept | " + " | ".join(by_section) + " |"
    for bar in BARS:
        past = [f"{(of_sayings[name][open_[name]] >= bar).sum()}" for name in by_section]
        let = [f"{(logits[moment & which] >= bar).sum()}" for which in (~is_kept, is_kept)]
        yield f"| {bar} | {' | '.join([*let, *past])} |"


def document(weights: Array) -> dict[str, Any]:
    """Return what the head file says of plain statements."""
    states, signs = STATES_SCALE * weights[:DIMENSION], weights[DIMENSION:]
    names = [name for name, _ in plain_signs("")]
    return {
        "plain": base64.b64encode(states.astype("<f2").tobytes()).decode(),
        "plain_signs": {name: round(float(s), 3) for name, s in zip(names, signs, strict=True)},
    }


if __name__ == "__main__":
    main()
