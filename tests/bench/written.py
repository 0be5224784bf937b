"""Fits what tells wishes and plain statements: ``python -m tests.bench.written DIR [--keep]``.

"No sudo.", "Postgres is 14.9 on prod", "we dropped GraphQL": no word says that it lasts, and it
does. ``written.jsonl`` has 6,000 messages of ten writers of our own, as people type them: with what
is worth remembering in them and its kind, and a good third of the moment that sound alike. DIR
holds the pages of ``bench.sentences``, whose sentences that are not worth it are of the moment, and
whose wishes are taken, too. Two logistic regressions on a sentence's states and signs (but for the
turn, which a message that stands alone does not have) tell a wish, and what is plainly stated:
rules of a project, decisions, corrections, facts. The first table says, of the pages and of six of
our writers, each left out in turn, what is past each bar that no rule keeps; the second one what
whole naps keep of the messages of each of the six, with a fit on the others. ``--keep`` writes the
weights into the package.
"""

from __future__ import annotations

import argparse
import base64
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from bench.classified import distilled, encoder
from bench.kept_scores import stands_in
from bench.memory_fit import logistic_regression
from bench.sentence_fit import FOLDS, HEAD, SIGNS, STATES_SCALE, Row, package_head, read
from memd.embedding.model_files import DIMENSION
from memd.embedding.sentence_head import parse
from memd.embedding.sentence_states import pool, windows_of
from memd.sleep.distil.acts import WORTH, judge_sentence
from memd.sleep.distil.exchanges import NapKind
from memd.sleep.distil.speech import SENTENCES_MAX, signs
from memd.text.words import sentences

Array = NDArray[np.float64]
Which = NDArray[np.bool_]

WRITTEN = Path(__file__).with_suffix(".jsonl")
WISH, PLAIN = "P", "KDCE"
KINDS = WISH + PLAIN
WRITERS = "abcdef"
"""Those whose messages have more than one sentence; the others told statements alone."""
RIDGE = 8.0
BESIDE_WEIGHT = 0.5  # of what stands beside something worth it: it may belong to it
BARS = (0.75, 1.0, 1.25, 1.5)
DONE = {"role": "assistant", "content": "Done. I changed the file as you asked."}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.written", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--keep", action="store_true", help="write the weights into the package")
    options = parser.parse_args(argv)
    recorded, of_recorded = read(options.folder)
    messages = read_messages()
    written, of_written = read_written(messages)
    rows, features = [*recorded, *written], np.vstack([of_recorded, of_written])
    features[:, 2 * DIMENSION + SIGNS.index("turn")] = 0.0
    for line in (*table(rows, features), *nap_table(messages, rows, features)):
        print(line)
    if options.keep:
        head = package_head() | document(fit(rows, features))
        HEAD.write_text(json.dumps(head, indent=1) + "\n", encoding="utf-8")


def read_messages() -> list[dict[str, Any]]:
    """Return our own messages: the writer, the text, and what is worth it with its label."""
    return [json.loads(line) for line in WRITTEN.read_text("utf-8").splitlines()]


def read_written(messages: Sequence[dict[str, Any]]) -> tuple[list[Row], Array]:
    """Return the sentences of our own messages, and the features of each."""
    model = encoder()
    if model is None:
        raise SystemExit("run: memd model install")
    rows: list[Row] = []
    states = []
    for message in messages:
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


def is_ours(row: Row) -> bool:
    """Return whether *row* is of a message of our own; those of the pages have longer names."""
    return len(row.writer) == 1


def fit(rows: Sequence[Row], features: Array) -> Array:
    """Return a column of weights for plain statements and one for wishes.

    Each is told from what is not worth it; what is worth it for another reason is left out.
    """
    ridge = np.full(features.shape[1], RIDGE)
    ridge[2 * DIMENSION] = 1e-3  # the bias
    columns = []
    for kinds in (PLAIN, WISH):
        weight = np.array([_weight(row, kinds) for row in rows])
        target = np.array([row.label[:1] in [*kinds] for row in rows], dtype=float)
        taken = weight > 0
        columns.append(logistic_regression(features[taken], target[taken], weight[taken], ridge))
    return np.array(columns).T


def _weight(row: Row, kinds: str) -> float:
    if row.label and row.label[0] not in kinds:
        return 0.0
    if is_ours(row):
        return 1.0 if row.label or row.is_moment else BESIDE_WEIGHT
    return float(not row.label or (kinds == WISH and row.label == "P2"))


def table(rows: Sequence[Row], features: Array) -> Iterator[str]:
    """Yield what is past each bar, with writers left out in turn."""
    ours = np.array([is_ours(row) for row in rows])
    fold = _folds(rows)
    logits = np.zeros((len(rows), 2))
    for left_out in range(FOLDS):
        own = fold == left_out
        rest = [row for row, its in zip(rows, own, strict=True) if not its]
        logits[own] = features[own] @ fit(rest, features[~own])
    moment = np.array([row.is_moment and row.is_random and not row.is_kept for row in rows])
    several = np.array([row.writer in [*WRITERS] for row in rows])
    of_kind = {kind: np.array([row.label == f"{kind}2" for row in rows]) for kind in KINDS}
    yield f"{ours.sum()} sentences of our own, {(~ours & moment).sum()} of the moment on the pages"
    yield "| | recorded, of the moment | ours, of the moment | " + " | ".join(KINDS) + " |"
    for name, column in (("plain", 0), ("wish", 1)):
        for bar in BARS:
            past = logits[:, column] >= bar
            shares = [f"{past[several & which].mean():.2f}" for which in of_kind.values()]
            let = f"{past[~ours & moment].sum()} | {past[several & moment].mean():.3f}"
            yield f"| {name} {bar} | {let} | {' | '.join(shares)} |"


def _folds(rows: Sequence[Row]) -> NDArray[np.int64]:
    writers = sorted({row.writer for row in rows})
    return np.array([writers.index(row.writer) % FOLDS for row in rows])


def nap_table(
    messages: Sequence[dict[str, Any]], rows: Sequence[Row], features: Array
) -> Iterator[str]:
    """Yield what naps over one message each keep of a writer, with a fit on the others."""
    yield "| whole naps | of the moment, kept | " + " | ".join(KINDS) + " |"
    for writer in WRITERS:
        own = np.array([row.writer == writer for row in rows])
        rest = [row for row in rows if row.writer != writer]
        head = parse(package_head() | document(fit(rest, features[~own])))
        kept: Counter[str] = Counter()
        labelled: Counter[str] = Counter()
        with (
            patch("memd.sleep.distil.speech.sentence_head", lambda its=head: its),
            patch("bench.classified.sentence_head", lambda its=head: its),
        ):
            for message in (each for each in messages if each["writer"] == writer):
                for label, is_kept in _kept(message):
                    labelled[label] += 1
                    kept[label] += is_kept
        shares = [
            f"{kept[label]} of {labelled[label]}" for label in ("", *(f"{k}2" for k in KINDS))
        ]
        yield f"| {writer} | {' | '.join(shares)} |"


def _kept(message: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """Yield of each part that is worth it its label and whether a memory holds it.

    Of a message of the moment "" and whether there is any memory.
    """
    memories = distilled([{"role": "user", "content": message["text"]}, DONE])
    texts = [memory.text for memory in memories if memory.kind is not NapKind.DIGEST]
    if not message["worth"]:
        yield "", bool(texts)
    for part, label in message["worth"]:
        yield label, any(part in text or stands_in(part, text) for text in texts)


def document(weights: Array) -> dict[str, Any]:
    """Return what the head file says of plain statements and wishes."""
    states, of_signs = STATES_SCALE * weights[: 2 * DIMENSION], weights[2 * DIMENSION :]
    return {
        "written": base64.b64encode(states.astype("<f2").tobytes()).decode(),
        "written_signs": {
            name: [round(float(each), 3) for each in row]
            for name, row in zip(SIGNS, of_signs, strict=True)
        },
    }


if __name__ == "__main__":
    main()
