"""Fits what tells wishes and plain statements: ``python -m tests.bench.written DIR [--keep]``.

"No sudo.", "Postgres is 14.9 on prod", "we dropped GraphQL": no word says that it lasts, and it
does. ``written.jsonl`` has 7,900 messages of seventeen writers of our own, as people type them:
with what is worth remembering in them and its kind, and a good third of the moment that sound
alike. DIR holds the pages of ``bench.sentences``, whose sentences that are not worth it are of the
moment, and whose wishes are taken, too. Two logistic regressions on a sentence's states and signs
(but for the turn, which a message that stands alone does not have) tell a wish, and what is plainly
stated: rules of a project, decisions, corrections, facts. For the latter each message counts again
with one of the moment beside it, as people mix what they tell with what they ask for. The first
table says, of the pages and of thirteen of our writers, each left out in turn, what is past each
bar that no rule keeps; the second one what whole naps keep of the messages of each of the thirteen,
alone and beside others, with a fit on the others. ``--keep`` writes the weights into the package.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
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
from memd.text.languages import is_foreign
from memd.text.words import sentences

Array = NDArray[np.float64]
Which = NDArray[np.bool_]

WRITTEN = Path(__file__).with_suffix(".jsonl")
WISH, PLAIN = "P", "KDCE"
KINDS = WISH + PLAIN
WRITERS = "abcdefklmnopq"
"""Those whose messages have more than one sentence; the others told statements alone."""
RIDGE = 8.0
MIXED_MOMENT = 0.5  # so many messages of the moment are put beside another, too
MIXED_WISH_WEIGHT = 0.3  # of those, for wishes, which gain less from them
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
    mixed = [*beside_others(messages)]
    written, of_written = read_written(messages)
    of_mixed, mixed_features = read_written(mixed, is_mixed=True)
    read_rows = [*recorded, *written, *of_mixed]
    is_judged = np.array([not is_foreign(row.text) for row in read_rows])
    rows = [row for row, its in zip(read_rows, is_judged, strict=True) if its]
    features = np.vstack([of_recorded, of_written, mixed_features])[is_judged]
    features[:, 2 * DIMENSION + SIGNS.index("turn")] = 0.0
    for line in (*table(rows, features), *nap_table(messages, mixed, rows, features)):
        print(line)
    if options.keep:
        head = package_head() | document(fit(rows, features))
        HEAD.write_text(json.dumps(head, indent=1) + "\n", encoding="utf-8")


def read_messages() -> list[dict[str, Any]]:
    """Return our own messages: the writer, the text, and what is worth it with its label."""
    return [json.loads(line) for line in WRITTEN.read_text("utf-8").splitlines()]


def beside_others(messages: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield each message that has something worth it, and half of the others, with another beside.

    The other one is of the moment and of the same writer, and stands before or after it.
    """
    chance = random.Random(1)
    by_writer: dict[str, list[dict[str, Any]]] = {}
    for message in messages:
        by_writer.setdefault(message["writer"], []).append(message)
    for own in by_writer.values():
        of_moment = [each for each in own if not each["worth"]]
        for message in own:
            if message["worth"] or chance.random() < MIXED_MOMENT:
                first, second = chance.sample([message, chance.choice(of_moment)], 2)
                between = chance.choice([" ", " ", "\n"])
                if between == " " and first["text"][-1] not in ".!?:;":
                    between = ". "
                yield message | {"text": first["text"] + between + second["text"]}


def read_written(
    messages: Sequence[dict[str, Any]], *, is_mixed: bool = False
) -> tuple[list[Row], Array]:
    """Return the sentences of our own messages, and the features of each.

    Those of *is_mixed* ones, which nobody wrote as they are, are marked as not random.
    """
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
                    not is_mixed,
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
        share = 1.0 if row.label or row.is_moment else BESIDE_WEIGHT
        return share if row.is_random or kinds == PLAIN else share * MIXED_WISH_WEIGHT
    return float(not row.label or (kinds == WISH and row.label == "P2"))


def table(rows: Sequence[Row], features: Array) -> Iterator[str]:
    """Yield what is past each bar, with writers left out in turn."""
    ours = np.array([is_ours(row) for row in rows])
    mixed = ours & np.array([not row.is_random for row in rows])
    fold = _folds(rows)
    logits = np.zeros((len(rows), 2))
    for left_out in range(FOLDS):
        own = fold == left_out
        rest = [row for row, its in zip(rows, own, strict=True) if not its]
        logits[own] = features[own] @ fit(rest, features[~own])
    moment = np.array([row.is_moment and row.is_random and not row.is_kept for row in rows])
    several = np.array([row.writer in [*WRITERS] for row in rows])
    of_kind = {k: several & np.array([row.label == f"{k}2" for row in rows]) for k in KINDS}
    own_count, of_pages = (ours & ~mixed).sum(), (~ours & moment).sum()
    yield f"{own_count} sentences of our own, {of_pages} of the moment on the pages"
    yield "of each kind, past the bar: alone / beside others"
    yield "| | recorded, of the moment | ours, of the moment | " + " | ".join(KINDS) + " |"
    for name, column in (("plain", 0), ("wish", 1)):
        for bar in BARS:
            past = logits[:, column] >= bar
            shares = [
                f"{past[which & ~mixed].mean():.2f}/{past[which & mixed].mean():.2f}"
                for which in of_kind.values()
            ]
            let = f"{past[~ours & moment].sum()} | {past[several & moment].mean():.3f}"
            yield f"| {name} {bar} | {let} | {' | '.join(shares)} |"


def _folds(rows: Sequence[Row]) -> NDArray[np.int64]:
    writers = sorted({row.writer for row in rows})
    return np.array([writers.index(row.writer) % FOLDS for row in rows])


def nap_table(
    messages: Sequence[dict[str, Any]],
    mixed: Sequence[dict[str, Any]],
    rows: Sequence[Row],
    features: Array,
) -> Iterator[str]:
    """Yield what naps over one message each keep of a writer, with a fit on the others."""
    yield "| whole naps | of the moment, kept | " + " | ".join(KINDS) + " |"
    for writer in WRITERS:
        own = np.array([row.writer == writer for row in rows])
        rest = [row for row in rows if row.writer != writer]
        head = parse(package_head() | document(fit(rest, features[~own])))
        with (
            patch("memd.sleep.distil.speech.sentence_head", lambda its=head: its),
            patch("bench.classified.sentence_head", lambda its=head: its),
        ):
            for name, all_ in ((writer, messages), (f"{writer} beside others", mixed)):
                shares = _shares(each for each in all_ if each["writer"] == writer)
                yield f"| {name} | {' | '.join(shares)} |"


def _shares(messages: Iterable[dict[str, Any]]) -> list[str]:
    """Return how many are kept of those of the moment, and of what is worth it of each kind."""
    kept: Counter[str] = Counter()
    labelled: Counter[str] = Counter()
    for message in messages:
        for label, is_kept in _kept(message):
            labelled[label] += 1
            kept[label] += is_kept
    return [f"{kept[label]} of {labelled[label]}" for label in ("", *(f"{k}2" for k in KINDS))]


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
