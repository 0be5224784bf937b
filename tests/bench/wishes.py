"""Fits what tells a wish: ``python -m tests.bench.wishes DIR [--keep]``.

"No sudo.", "the test comes before the code", "you only ever run plan, I run apply": how somebody
wants the work done from now on, without a word that says so. ``wishes.jsonl`` has 1,200 messages of
two writers of our own, as eighty people would type them: half of them with a wish or a rule, a
third of the moment that sound like one; what of ``plain.txt`` is of the moment is none either. DIR
holds the pages of ``bench.sentences``, whose wishes and sentences of the moment are taken, too. The
fit is a logistic regression on a sentence's states and signs, but for the turn, which a message
that stands alone does not have. The tables say what is past each bar: of the pages, with each
writer left out in turn; and of each of our two writers, with what the other wrote alone. ``--keep``
writes the weights into the package.
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

from bench import plain
from bench.classified import encoder
from bench.memory_fit import logistic_regression
from bench.sentence_fit import FOLDS, HEAD, SIGNS, STATES_SCALE, Row, package_head, read
from memd.embedding.model_files import DIMENSION
from memd.embedding.sentence_states import pool, windows_of
from memd.sleep.distil.acts import WORTH, judge_sentence
from memd.sleep.distil.speech import SENTENCES_MAX, signs
from memd.text.words import sentences

Array = NDArray[np.float64]

WRITTEN = Path(__file__).with_suffix(".jsonl")
WISHES = ("P", "K")
PLAIN_WRITER = "plain"
RIDGE = 25.0
WRITTEN_WEIGHT = 3.0
CLEAR_WEIGHT = 2.0
BESIDE_WEIGHT = 0.5  # of what stands beside something worth it: it may belong to it
BARS = (0.5, 0.75, 1.0, 1.25, 1.5)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.wishes", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--keep", action="store_true", help="write the weights into the package")
    options = parser.parse_args(argv)
    rows, features = _without_turn(*read(options.folder))
    written, own = _without_turn(*read_written())
    for line in table(rows, features, written, own):
        print(line)
    if options.keep:
        weights = fit([*rows, *written], np.vstack([features, own]))
        head = package_head() | document(weights)
        HEAD.write_text(json.dumps(head, indent=1) + "\n", encoding="utf-8")


def _without_turn(rows: list[Row], features: Array) -> tuple[list[Row], Array]:
    features[:, 2 * DIMENSION + SIGNS.index("turn")] = 0.0
    return rows, features


def read_written() -> tuple[list[Row], Array]:
    """Return the sentences of our own messages, and the features of each."""
    model = encoder()
    if model is None:
        raise SystemExit("run: memd model install")
    rows: list[Row] = []
    states = []
    for message in _messages():
        lines = message["text"].split("\n")
        own = [sentence for line in lines for sentence in sentences(line)][:SENTENCES_MAX]
        for at, text in enumerate(own):
            judged = judge_sentence(text)
            worth = [label for part, label in message["worth"] if part in text or text in part]
            rows.append(
                Row(
                    text,
                    judged,
                    message["writer"],
                    worth[0] if worth else "",
                    judged.score >= WORTH,
                    not message["worth"],
                    True,
                    dict(signs(text, judged, at, len(own), 0)),
                )
            )
        windows = windows_of(0, model.ids(own))
        states += [pool([window], model.states([window.ids])) for window in windows]
    by_sign = np.array([[row.signs.get(name, 0.0) for name in SIGNS] for row in rows])
    return rows, np.hstack([STATES_SCALE * np.vstack(states), by_sign])


def _messages() -> Iterator[dict[str, Any]]:
    """Yield our own messages, and of those of ``bench.plain`` what is of the moment."""
    yield from map(json.loads, WRITTEN.read_text("utf-8").splitlines())
    for name, text in plain.sections(plain.WRITTEN):
        if plain.MOMENT in name:
            yield {"writer": PLAIN_WRITER, "text": text, "worth": []}


def fit(rows: Sequence[Row], features: Array) -> Array:
    """Return the weights; what is worth it and no wish, or an arguable one, is left out."""
    weight = np.array([_weight(row) for row in rows])
    target = np.array([row.label[:1] in WISHES for row in rows], dtype=float)
    ridge = np.full(features.shape[1], RIDGE)
    ridge[2 * DIMENSION] = 1e-3  # the bias
    return logistic_regression(features, target, weight, ridge)


def _weight(row: Row) -> float:
    is_written = row.writer in ("a", "b", PLAIN_WRITER)
    if row.label and (row.label[0] not in WISHES or (row.label[1] == "1" and not is_written)):
        return 0.0
    if is_written:
        return WRITTEN_WEIGHT * (1.0 if row.label or row.is_moment else BESIDE_WEIGHT)
    return CLEAR_WEIGHT if row.label else 1.0


def table(
    rows: Sequence[Row], features: Array, written: Sequence[Row], own: Array
) -> Iterator[str]:
    """Yield what is past each bar, left out by rule."""
    writers = sorted({row.writer for row in rows})
    fold = np.array([writers.index(row.writer) % FOLDS for row in rows])
    logits = np.zeros(len(rows))
    for left_out in range(FOLDS):
        others = [row for row, its in zip(rows, fold, strict=True) if its != left_out]
        together = np.vstack([features[fold != left_out], own])
        is_own = fold == left_out
        logits[is_own] = features[is_own] @ fit([*others, *written], together)
    yield from _shares("writers of the pages", rows, logits)
    for name in ("a", "b"):
        is_own = np.array([row.writer == name for row in written])
        others = [row for row in written if row.writer != name]
        weights = fit([*rows, *others], np.vstack([features, own[~is_own]]))
        mine = [row for row in written if row.writer == name]
        yield from _shares(f"our writer {name}", mine, own[is_own] @ weights)


def _shares(name: str, rows: Sequence[Row], logits: Array) -> Iterator[str]:
    by_rule = np.array([row.is_kept for row in rows])
    wishes = np.array([row.label == "P2" for row in rows])
    moment = np.array([row.is_moment for row in rows])
    yield f"| {name}: bar | wishes kept ({wishes.sum()}) | of the moment ({moment.sum()}) |"
    yield f"| by rule | {by_rule[wishes].mean():.2f} | {by_rule[moment].mean():.3f} |"
    for bar in BARS:
        kept = by_rule | (logits >= bar)
        yield f"| {bar} | {kept[wishes].mean():.2f} | {kept[moment].mean():.3f} |"


def document(weights: Array) -> dict[str, Any]:
    """Return what the head file says of wishes."""
    states, of_signs = STATES_SCALE * weights[: 2 * DIMENSION], weights[2 * DIMENSION :]
    return {
        "wish": base64.b64encode(states.astype("<f2").tobytes()).decode(),
        "wish_signs": {name: round(float(s), 3) for name, s in zip(SIGNS, of_signs, strict=True)},
    }


if __name__ == "__main__":
    main()
