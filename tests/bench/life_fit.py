"""Fits what tells an event or a change of a life: ``python -m tests.bench.life_fit [--keep]``.

"We broke up", "dad died on sunday", "party is at 3 now not 2": few words, and no rule has them.
``life.jsonl`` has messages of writers of our own, half of them with such a sentence and half made
to sound like them ("my tea died on me", "i quit the app"). What is of the moment in
``written.jsonl``, and all that its writers told of their work, tells of no life either. The head
judges the states of a sentence in its message. The table has, with each writer left out of the fit
in turn, what is past each bar, and what whole naps keep at the bar in use; ``--keep`` writes the
weights into the package (docs/decisions/0341).
"""

from __future__ import annotations

import argparse
import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from bench.classified import distilled, encoder
from bench.kept_scores import stands_in
from bench.memory_fit import logistic_regression
from bench.sentence_fit import HEAD, Array, package_head, read_states
from bench.written import DONE, read_messages
from memd.embedding.sentence_head import parse
from memd.sleep.distil.exchanges import NapKind
from memd.sleep.distil.speech import LIFE_KEPT, SENTENCES_MAX
from memd.text.languages import is_foreign
from memd.text.words import sentences

LIFE = Path(__file__).with_name("life.jsonl")
EVERYDAY = frozenset("wxyzABCD")
"""Writers of ``written.jsonl`` who tell of their lives, too; their facts are left out."""
HELD = "K"
"""The writer of ``life.jsonl`` that is only scored."""
RIDGE = 0.1
OTHER_WEIGHT = 0.3
OTHER_FOLDS = 3
BARS = (0.0, 0.5, 1.0, 1.5)


class Judged(NamedTuple):
    """Sentences: a row of states and a bias for each, its writer, whether it tells of a life."""

    features: Array
    writers: NDArray[np.str_]
    tells: Array
    """1 where it does; of messages of ``written.jsonl`` it never does."""


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.life_fit", description=__doc__)
    parser.add_argument("--keep", action="store_true", help="write the weights into the package")
    options = parser.parse_args(argv)
    messages = read_life()
    of_life = read(messages)
    other = read(
        [each for each in read_messages() if not each["worth"] or each["writer"] not in EVERYDAY]
    )
    for line in (*table(of_life, other), *nap_table(messages, of_life, other)):
        print(line, flush=True)
    if options.keep:
        weights = fit(of_life, other)
        HEAD.write_text(json.dumps(package_head() | document(weights), indent=1) + "\n", "utf-8")


def read_life() -> list[dict[str, Any]]:
    """Return the messages of ``life.jsonl``: their writer, their text, and what of it tells."""
    return [json.loads(line) for line in LIFE.read_text("utf-8").splitlines()]


def read(messages: Sequence[Mapping[str, Any]]) -> Judged:
    """Return the sentences of *messages*, those of other languages left out."""
    model = encoder()
    if model is None:
        raise SystemExit("run: memd model install")
    rows, writers, tells = [], [], []
    for message in messages:
        own = [each for line in message["text"].split("\n") for each in sentences(line)]
        own = own[:SENTENCES_MAX]
        if not own or is_foreign(message["text"]):
            continue
        rows += read_states(model, own)[0]
        writers += [message["writer"]] * len(own)
        events = message.get("life", ())
        tells += [float(any(each in one or one in each for one in events)) for each in own]
    states = np.vstack(rows)
    features = np.hstack([states, np.ones((len(states), 1))])
    return Judged(features, np.array(writers), np.array(tells))


def fit(of_life: Judged, other: Judged, *, without: str = "", fold: int | None = None) -> Array:
    """Return the weights, fitted without one writer of lives and one *fold* of the others."""
    own = (of_life.writers != without) & (of_life.writers != HELD)
    rest = np.arange(len(other.tells)) % OTHER_FOLDS != fold
    features = np.vstack([of_life.features[own], other.features[rest]])
    target = np.concatenate([of_life.tells[own], other.tells[rest]])
    share = np.concatenate([np.ones(own.sum()), np.full(rest.sum(), OTHER_WEIGHT)])
    ridge = np.full(features.shape[1], RIDGE)
    ridge[-1] = 1e-6
    return logistic_regression(features, target, share, ridge)


def document(weights: Array) -> dict[str, Any]:
    """Return what the head file says of *weights*."""
    states = weights[:-1].astype("<f2").tobytes()
    return {
        "life": base64.b64encode(states).decode(),
        "life_bias": round(float(weights[-1]), 3),
    }


def table(of_life: Judged, other: Judged) -> Iterator[str]:
    """Yield what is past each bar, with each writer and a third of the others left out."""
    logits, others = np.zeros(len(of_life.tells)), np.zeros(len(other.tells))
    folds = np.arange(len(other.tells)) % OTHER_FOLDS
    for at, writer in enumerate(sorted(set(of_life.writers))):
        weights = fit(of_life, other, without=writer, fold=at % OTHER_FOLDS)
        own = of_life.writers == writer
        logits[own] = of_life.features[own] @ weights
        left_out = folds == at % OTHER_FOLDS
        others[left_out] = other.features[left_out] @ weights
    tells, sounds = logits[of_life.tells == 1], logits[of_life.tells == 0]
    order = (tells[:, None] > sounds).mean()
    yield f"a sentence that tells of a life is above one that does not: {order:.3f}"
    yield "| bar | of a life | sounds like it | of the moment or of work |"
    for bar in BARS:
        past = (f"{(each >= bar).sum()} of {len(each)}" for each in (tells, sounds, others))
        yield f"| {bar} | {' | '.join(past)} |"


def nap_table(
    messages: Sequence[Mapping[str, Any]], of_life: Judged, other: Judged
) -> Iterator[str]:
    """Yield by writer what naps over one message each keep without and with a fit without them."""
    yield f"| writer | of a life, without | at {LIFE_KEPT} | of the moment, without | with |"
    for writer in sorted(set(of_life.writers)):
        own = [each for each in messages if each["writer"] == writer]
        never = document(np.array([*np.zeros(of_life.features.shape[1] - 1), -99.0]))
        counts = []
        for part in (never, document(fit(of_life, other, without=writer))):
            head = parse(package_head() | part)
            with patch("memd.embedding.sentence_states.sentence_head", return_value=head):
                counts.append([keeps_event(each) for each in own])
        tells = [bool(each["life"]) for each in own]
        sums = [
            sum(kept for kept, tell in zip(count, tells, strict=True) if tell == which)
            for which in (True, False)
            for count in counts
        ]
        of_all = f"of {sum(tells)} and {len(own) - sum(tells)}"
        yield f"| {writer} ({of_all}) | {' | '.join(map(str, sums))} |"


def keeps_event(message: Mapping[str, Any]) -> bool:
    """Return whether a nap keeps the event of *message*; anything where it has none."""
    made = distilled([{"role": "user", "content": message["text"]}, DONE])
    memories = [each.text for each in made if each.kind is not NapKind.DIGEST]
    if not message["life"]:
        return bool(memories)
    return any(stands_in(message["life"][0], each) for each in memories)


if __name__ == "__main__":
    main()
