"""Fits what tells a wish that holds everywhere: ``python -m tests.bench.fit_scope [--keep]``.

"Don't say great question" holds in every project, "no lodash" in one. ``labels/others/reach.jsonl``
has 1,504 wishes of eighteen writers of ``written.jsonl``, each with what a reader found: whether a
session in an unrelated project should know it. 150 were read twice. The head judges the states of
a sentence in its message. The table has, with each writer left out of the fit, what is past each
bar; ``--keep`` writes the weights into the package (docs/decisions/0323).
"""

from __future__ import annotations

import argparse
import base64
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.fit_memories import logistic_regression
from bench.fit_sentences import HEAD, Array, package_head, read_states
from bench.fit_wishes import read_messages
from bench.sentence_judge import encoder
from memd.sleep.distil.sentence_worth import SENTENCES_MAX
from memd.text.languages import is_foreign
from memd.text.words import sentences

LABELS = Path(__file__).parent / "labels" / "others" / "reach.jsonl"
REACHES = EVERYWHERE, UNCLEAR, PROJECT = "everywhere", "unclear", "project"
RIDGE = 0.3
BARS = (0.0, 0.5, 1.0, 1.5, 2.0)


class Wishes(NamedTuple):
    """The labelled wishes: a row of states and a bias for each, its writer and its label."""

    features: Array
    writers: Array
    labels: Array


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.fit_scope", description=__doc__)
    parser.add_argument("--keep", action="store_true", help="write the weights into the package")
    options = parser.parse_args(argv)
    labelled = [json.loads(line) for line in LABELS.read_text("utf-8").splitlines()]
    print(agreement(labelled))
    wishes = read(labelled)
    for line in table(wishes):
        print(line)
    if options.keep:
        *weights, bias = fit(wishes, np.ones(len(wishes.labels), dtype=bool))
        states = np.array(weights, dtype="<f2").tobytes()
        head = package_head() | {
            "reach": base64.b64encode(states).decode(),
            "reach_bias": round(float(bias), 3),
        }
        HEAD.write_text(json.dumps(head, indent=1) + "\n", encoding="utf-8")


def agreement(labelled: Sequence[dict[str, Any]]) -> str:
    """Return how far two readers agree, and Cohen's kappa."""
    pairs = Counter((row["reach"], row["again"]) for row in labelled if "again" in row)
    count = sum(pairs.values())
    same = sum(times for (one, other), times in pairs.items() if one == other) / count
    first, second = Counter[str](), Counter[str]()
    for (one, other), times in pairs.items():
        first[one] += times
        second[other] += times
    chance = sum(first[each] * second[each] for each in first) / count**2
    return f"{count} read twice: {same:.0%} the same, kappa {(same - chance) / (1 - chance):.2f}"


def read(labelled: Sequence[dict[str, Any]]) -> Wishes:
    """Return the *labelled* wishes that the head is asked of: those that it can read."""
    model = encoder()
    if model is None:
        raise SystemExit("run: memd model install")
    messages = read_messages()
    known = [row for row in labelled if not is_foreign(row["wish"])]
    rows = []
    for row in known:
        text = next(
            each["text"]
            for each in messages
            if each["writer"] == row["writer"]
            and row["wish"] in (part for part, _ in each["worth"])
        )
        own = [each for line in text.split("\n") for each in sentences(line)][:SENTENCES_MAX]
        pooled, _ = read_states(model, own)
        states = np.vstack(pooled)
        of_wish = [at for at, each in enumerate(own) if each in row["wish"] or row["wish"] in each]
        rows.append(states[of_wish or slice(None)].mean(0))
    features = np.hstack([np.array(rows), np.ones((len(rows), 1))])
    writers = np.array([row["writer"] for row in known])
    return Wishes(features, writers, np.array([row["reach"] for row in known]))


def fit(wishes: Wishes, which: NDArray[np.bool_]) -> Array:
    """Return the weights that tell those *which* hold everywhere from those of a project."""
    which = which & (wishes.labels != UNCLEAR)
    ridge = np.full(wishes.features.shape[1], RIDGE)
    ridge[-1] = 1e-6
    target = (wishes.labels[which] == EVERYWHERE).astype(float)
    return logistic_regression(wishes.features[which], target, np.ones(which.sum()), ridge)


def table(wishes: Wishes) -> Iterator[str]:
    """Yield what is past each bar, with each writer left out of the fit in turn."""
    logits = np.zeros(len(wishes.labels))
    for writer in sorted(set(wishes.writers)):
        own = wishes.writers == writer
        logits[own] = wishes.features[own] @ fit(wishes, ~own)
    everywhere, project = (logits[wishes.labels == each] for each in (EVERYWHERE, PROJECT))
    order = (everywhere[:, None] > project).mean()
    yield f"{len(logits)} wishes; one that holds everywhere is above one of a project: {order:.3f}"
    yield f"| bar | {' | '.join(REACHES)} |"
    for bar in BARS:
        past = Counter(wishes.labels[logits >= bar].tolist())
        of_all = (f"{past[each]} of {(wishes.labels == each).sum()}" for each in REACHES)
        yield f"| {bar} | {' | '.join(of_all)} |"


if __name__ == "__main__":
    main()
