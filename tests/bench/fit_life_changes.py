"""Fits what tells an event or a change of a life.

    python -m tests.bench.fit_life_changes [--keep]

"We broke up", "dad died on sunday", "party is at 3 now not 2": few words, and no rule has them.
``life.jsonl`` has messages of writers of our own: some with such a sentence, more that are made to
sound like them ("my tea died on me", "i quit the app"), and a few with a wish or a fact. What is of
the moment in ``written.jsonl`` tells of no life either; some of it is drawn. Half of the log-odds
are the head's, which judges the states of a sentence in its message, and half a column over what
the reader has read of it. The tables have, with some writers left out of the fit in turn, what is
past each bar, and what whole naps keep at the bar in use; ``--keep`` writes the weights into the
package (docs/decisions/0341, 0352). Where ``bench.fit_wishes`` has fitted the reader anew, so must
this be.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from bench.fit_memories import logistic_regression
from bench.fit_sentences import HEAD, Array, package_head, read_states
from bench.fit_wishes import DONE, WISH, read_messages
from bench.nap_scores import stands_in
from bench.sentence_judge import distilled, encoder
from memd.embedding.sentence_head import parse
from memd.embedding.sentence_reader import READER_FILE, SentenceReader, pack, sentence_reader
from memd.sleep.distil.distil import SessionTurns
from memd.sleep.distil.exchanges import NapKind
from memd.sleep.distil.sentence_worth import LIFE_KEPT
from memd.text.languages import is_foreign

LIFE = Path(__file__).with_name("life.jsonl")
HELD = "K"
"""The writer of ``life.jsonl`` that is only scored."""
GROUPS = ("EF", "GH", "IJ", "LM", "NOP", HELD)
"""Writers who are left out together."""
RIDGE, READER_RIDGE = 0.1, 200.0
OTHER_MESSAGES, OTHER_WEIGHT = 1_500, 0.5
BESIDE_WEIGHT = 0.25  # of what stands beside an event: its window tells of one
SHRED_CHARS = 12  # what is shorter and part of a longer event is no example of one
READER_SHARE = 0.5
BARS = (0.0, 0.5, 0.75, 1.0, 1.5)


class Judged(NamedTuple):
    """Sentences, each with its states and what the reader has of it, a bias behind either."""

    texts: Sequence[str]
    states: Array
    read: Array
    writers: NDArray[np.str_]
    tells: Array
    """1 where it tells of a life; of messages of ``written.jsonl`` it never does."""
    shares: Array
    """What each counts."""


class Fit(NamedTuple):
    """The weights of the states and of what the reader has, the bias last."""

    states: Array
    read: Array

    def logits(self, judged: Judged) -> Array:
        """Return the log-odds of each sentence."""
        logits: Array = judged.states @ self.states + judged.read @ self.read
        return logits


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.fit_life_changes", description=__doc__
    )
    parser.add_argument("--keep", action="store_true", help="write the weights into the package")
    options = parser.parse_args(argv)
    messages = read_life()
    of_life, other = read(messages), read(other_messages())
    fits = {group: fit(of_life, other, without=group) for group in GROUPS}
    for line in (*table(of_life, fits), *nap_table(messages, fits)):
        print(line, flush=True)
    if options.keep:
        keep(fit(of_life, other))


def keep(its: Fit) -> None:
    """Write *its* weights into the package."""
    HEAD.write_text(json.dumps(package_head() | document(its), indent=1) + "\n", "utf-8")
    HEAD.with_name(READER_FILE).write_bytes(pack(reader_with(its).weights))


def read_life() -> list[dict[str, Any]]:
    """Return the messages of ``life.jsonl``: writer, text, what tells of a life and what lasts."""
    return [json.loads(line) for line in LIFE.read_text("utf-8").splitlines()]


def other_messages() -> list[dict[str, Any]]:
    """Return messages of the moment of ``written.jsonl``, drawn at random.

    What its writers told of their work is none: where it is taken for a life, it is kept rightly.
    """
    others = [each for each in read_messages() if not each["worth"]]
    random.Random(5).shuffle(others)
    return others[:OTHER_MESSAGES]


def read(messages: Sequence[Mapping[str, Any]]) -> Judged:
    """Return the sentences of *messages*, those of other languages left out."""
    texts, states, features, writers, tells, shares = [], [], [], [], [], []
    for message in messages:
        own = sentences_of(message["text"])
        if not own:
            continue
        for text, *both in zip(own, *features_of(own), strict=True):
            share = _share(text, message)
            if share and not is_foreign(text):
                texts.append(text)
                states.append(both[0])
                features.append(both[1])
                writers.append(message["writer"])
                tells.append(float(bool(_events(text, message))))
                shares.append(share)
    return Judged(
        texts,
        _with_bias(np.array(states, dtype=float)),
        _with_bias(np.array(features, dtype=float)),
        np.array(writers),
        np.array(tells),
        np.array(shares),
    )


def sentences_of(text: str) -> list[str]:
    """Return the sentences that a nap over a message of *text* judges."""
    turns = SessionTurns.of([{"role": "user", "content": text}, DONE]).turns
    return turns[0].sentences if turns else []


def features_of(own: list[str]) -> tuple[Array, Array]:
    """Return the states of each sentence of a message, and what the reader has read of it."""
    model = encoder()
    if model is None:
        raise SystemExit("run: memd model install")
    pooled, windows = read_states(model, own)
    read_of = [
        sentence_reader().features(window.states.astype(np.float32), window.spans)
        for window in windows
    ]
    rows = [each.swapaxes(0, 1).reshape(each.shape[1], -1) for each in read_of]
    return np.vstack(pooled).astype(float), np.vstack(rows).astype(float)


def _events(text: str, message: Mapping[str, Any]) -> list[str]:
    return [each for each in message.get("life", ()) if each in text or text in each]


def _share(text: str, message: Mapping[str, Any]) -> float:
    """Return what a sentence of *message* counts, 0 for one that is no example of either."""
    if "life" not in message:
        return OTHER_WEIGHT
    lasts = [each for each, label in message.get("worth", ()) if label[0] != WISH]
    if any(each in text or text in each for each in lasts):
        return 0.0
    if events := _events(text, message):
        is_shred = len(text) < SHRED_CHARS and 2 * len(text) < max(map(len, events))
        return 0.0 if is_shred else 1.0
    return BESIDE_WEIGHT if message["life"] else 1.0


def _with_bias(rows: Array) -> Array:
    return np.hstack([rows, np.ones((len(rows), 1))])


def fit(of_life: Judged, other: Judged, *, without: str = "") -> Fit:
    """Return the weights, fitted without some writers of lives and those who are only scored.

    Without some, a part of the others is left out, too.
    """
    own = ~np.isin(of_life.writers, [*without, HELD])
    parts = np.arange(len(other.tells)) % len(GROUPS)
    rest = parts != (GROUPS.index(without) if without else -1)
    target = np.concatenate([of_life.tells[own], other.tells[rest]])
    share = np.concatenate([of_life.shares[own], other.shares[rest]])
    columns = []
    for name, penalty in (("states", RIDGE), ("read", READER_RIDGE)):
        features = np.vstack([getattr(of_life, name)[own], getattr(other, name)[rest]])
        ridge = np.full(features.shape[1], penalty)
        ridge[-1] = 1e-6
        columns.append(logistic_regression(features, target, share, ridge))
    return Fit((1 - READER_SHARE) * columns[0], READER_SHARE * columns[1])


def document(its: Fit) -> dict[str, Any]:
    """Return what the head file says of a life."""
    states = its.states[:-1].astype("<f2").tobytes()
    bias = float(its.states[-1] + its.read[-1])
    return {"life": base64.b64encode(states).decode(), "life_bias": round(bias, 3)}


def reader_with(its: Fit) -> SentenceReader:
    """Return the reader of the package with the column of *its* fit."""
    weights = dict(sentence_reader().weights)
    members, _, width = weights["outputs.weight"].shape
    weights["life.weight"] = its.read[:-1].reshape(members, 1, width).astype(np.float32)
    weights["life.bias"] = np.zeros((members, 1), dtype=np.float32)
    return SentenceReader(weights)


def table(of_life: Judged, fits: Mapping[str, Fit]) -> Iterator[str]:
    """Yield what is past each bar, by the fits without the writers."""
    logits = np.zeros(len(of_life.tells))
    for group, its in fits.items():
        own = np.isin(of_life.writers, [*group])
        logits[own] = its.logits(of_life)[own]
    counts = of_life.shares == 1.0
    tells, sounds = (logits[counts & (of_life.tells == which)] for which in (1, 0))
    order = (tells[:, None] > sounds).mean()
    yield f"a sentence that tells of a life is above one that does not: {order:.3f}"
    yield "| bar | of a life | sounds like it |"
    for bar in BARS:
        past = (f"{(each >= bar).sum()} of {len(each)}" for each in (tells, sounds))
        yield f"| {bar} | {' | '.join(past)} |"


def nap_table(messages: Sequence[Mapping[str, Any]], fits: Mapping[str, Fit]) -> Iterator[str]:
    """Yield by writer what naps over one message each keep with a fit without them."""
    yield f"| writer, at {LIFE_KEPT} | of a life | what else lasts | of the moment |"
    for group, its in fits.items():
        head, reader = parse(package_head() | document(its)), reader_with(its)
        with (
            patch("memd.embedding.sentence_states.sentence_head", return_value=head),
            patch("memd.embedding.sentence_states.sentence_reader", return_value=reader),
        ):
            for writer in group:
                counts = count([each for each in messages if each["writer"] == writer])
                yield f"| {writer} | {' | '.join(counts)} |"


def count(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return how much is kept of *messages*: of a life, of what else lasts, of the moment."""
    kept: Counter[str] = Counter()
    whole: Counter[str] = Counter()
    for message in messages:
        kind = "life" if message["life"] else "lasts" if message.get("worth") else "moment"
        whole[kind] += 1
        kept[kind] += keeps_what_lasts(message)
    return [f"{kept[kind]} of {whole[kind]}" for kind in ("life", "lasts", "moment")]


def keeps_what_lasts(message: Mapping[str, Any]) -> bool:
    """Return whether a nap keeps what *message* tells; anything where it tells nothing."""
    made = distilled([{"role": "user", "content": message["text"]}, DONE])
    memories = [each.text for each in made if each.kind is not NapKind.DIGEST]
    parts = [*message["life"], *(part for part, _ in message.get("worth", ()))]
    if not parts:
        return bool(memories)
    return any(stands_in(parts[0], each) for each in memories)


if __name__ == "__main__":
    main()
