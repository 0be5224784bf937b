"""Fits what an agent's answer plainly tells: ``python -m tests.bench.fit_answers [--keep]``.

"The sleep waits for the sandbox of the payment provider.": whoever asked knows it then, and a week
later nobody does. The fit on recorded turns (``bench.fit_sentences``) knows long reports.
``answers.jsonl`` has what agents say at the end of a turn, as writers of our own wrote it: the
request, the answer, and which of its sentences somebody would be glad to know a week later (2
clearly, 1 arguably); of nearly half nothing. A logistic regression on a sentence's states and signs
tells the former from all others. The first table says, with each writer left out in turn, what is
past each bar; the second what whole naps tell of each writer's answers, with a fit on the others.
``--keep`` writes the weights into the package.
"""

from __future__ import annotations

import argparse
import base64
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from bench.fit_memories import logistic_regression
from bench.fit_sentences import HEAD, STATEMENT_SIGNS, STATES_SCALE, package_head
from bench.sentence_judge import distilled, encoder
from bench.statements import CLEAR
from memd.embedding.model_files import DIMENSION
from memd.embedding.sentence_head import parse
from memd.embedding.sentence_states import pool, windows_of
from memd.sleep.distil.agent.outcomes import statements
from memd.sleep.distil.compose import turns
from memd.sleep.distil.exchanges import NapKind, split_exchanges
from memd.sleep.distil.sentence_worth import statement_signs

Array = NDArray[np.float64]

ANSWERS = Path(__file__).with_name("answers.jsonl")
RIDGE = 8.0
ARGUABLE, ARGUABLE_WEIGHT = 1, 0.5
BARS = (0.0, 0.4, 0.8, 1.2, 1.6)


class Row(NamedTuple):
    """A sentence of an answer, with its *worth* as in the file.

    *answer* is the number of the answer, *is_moment* says that nothing of it is worth it.
    """

    writer: str
    answer: int
    worth: int
    is_moment: bool


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.fit_answers", description=__doc__)
    parser.add_argument("--keep", action="store_true", help="write the weights into the package")
    options = parser.parse_args(argv)
    answers = read_answers()
    rows, features = read(answers)
    for line in (*table(rows, features, answers), *nap_table(answers, rows, features)):
        print(line)
    if options.keep:
        head = package_head() | document(fit(rows, features))
        HEAD.write_text(json.dumps(head, indent=1) + "\n", encoding="utf-8")


def read_answers() -> list[dict[str, Any]]:
    """Return the answers, each as it stands in the file."""
    return [json.loads(line) for line in ANSWERS.read_text("utf-8").splitlines()]


def as_messages(answer: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the session that an *answer* is the end of."""
    return [
        {"role": "user", "content": answer["asked"]},
        {"role": "assistant", "content": answer["said"]},
    ]


def read(answers: Sequence[Mapping[str, Any]]) -> tuple[list[Row], Array]:
    """Return the sentences of *answers* that a nap has judged, and the features of each."""
    model = encoder()
    if model is None:
        raise SystemExit("run: memd model install")
    rows: list[Row] = []
    by_sign: list[list[float]] = []
    states = []
    for number, answer in enumerate(answers):
        exchange = turns(split_exchanges(as_messages(answer)))[0].exchange
        judged = statements(exchange)[-1] if exchange.texts else []
        for at, (score, line) in enumerate(judged):
            worth = max((w for part, w in answer["worth"] if is_same(part, line.text)), default=0)
            rows.append(Row(answer["writer"], number, worth, not answer["worth"]))
            own = statement_signs(score, line.text, at, len(judged), is_last=True)
            by_sign.append([value for _, value in own])
        windows = windows_of(0, model.ids([line.text for _, line in judged]))
        states += [pool([window], model.states([window.ids])) for window in windows]
    return rows, np.hstack([STATES_SCALE * np.vstack(states), np.array(by_sign)])


def is_same(part: str, sentence: str) -> bool:
    """Return whether a labelled *part* and a *sentence* are the same words, or one has the other.

    >>> is_same("**Port** is `8080`.", "Port is 8080."), is_same("Port is 8080.", "It is.")
    (True, False)
    """
    one, other = _letters(part), _letters(sentence)
    return one in other or other in one


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()


def fit(rows: Sequence[Row], features: Array) -> Array:
    """Return the weights that tell what is worth it; what is arguable lies in between."""
    worth = np.array([row.worth for row in rows])
    ridge = np.full(features.shape[1], RIDGE)
    ridge[2 * DIMENSION] = 1e-3  # the bias
    share = np.where(worth == ARGUABLE, ARGUABLE_WEIGHT, 1.0)
    return logistic_regression(features, worth / CLEAR, share, ridge)


def table(
    rows: Sequence[Row], features: Array, answers: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """Yield what is past each bar, with each writer left out in turn."""
    writers = np.array([row.writer for row in rows])
    logits = np.zeros(len(rows))
    for writer in sorted(set(writers)):
        own = writers == writer
        rest = [row for row, its in zip(rows, own, strict=True) if not its]
        logits[own] = features[own] @ fit(rest, features[~own])
    worth = np.array([row.worth for row in rows])
    clear = sum(label == CLEAR for answer in answers for _, label in answer["worth"])
    moment = sum(not answer["worth"] for answer in answers)
    yield f"{len(answers)} answers, {clear} sentences clearly worth it; {moment} of the moment"
    yield "| bar | clearly worth it | answers of the moment | other sentences |"
    for bar in BARS:
        past = logits >= bar
        let = len({rows[at].answer for at in np.flatnonzero(past).tolist() if rows[at].is_moment})
        beside = (past & (worth == 0)).sum() / (worth == 0).sum()
        yield f"| {bar} | {(past & (worth == CLEAR)).sum() / clear:.3f} | {let} | {beside:.3f} |"


def nap_table(
    answers: Sequence[dict[str, Any]], rows: Sequence[Row], features: Array
) -> Iterator[str]:
    """Yield what naps over one answer each tell of a writer's, with a fit on the others."""
    yield "| whole naps | clearly worth it | of the moment, told |"
    writers = np.array([row.writer for row in rows])
    for writer in sorted(set(writers)):
        own = writers == writer
        rest = [row for row, its in zip(rows, own, strict=True) if not its]
        head = parse(package_head() | document(fit(rest, features[~own])))
        with (
            patch("memd.sleep.distil.sentence_worth.sentence_head", lambda its=head: its),
            patch("memd.embedding.sentence_states.sentence_head", lambda its=head: its),
        ):
            shares = _shares(each for each in answers if each["writer"] == writer)
        yield f"| {writer} | {shares} |"


def _shares(answers: Iterable[dict[str, Any]]) -> str:
    """Return how many sentences that are clearly worth it a memory has, and of how many.

    Then of how many answers of the moment there is a memory, and of how many.
    """
    kept, whole = Counter[str](), Counter[str]()
    for answer in answers:
        memories = distilled(as_messages(answer))
        texts = [each.text for each in memories if each.kind is not NapKind.DIGEST]
        if not answer["worth"]:
            whole["moment"] += 1
            kept["moment"] += bool(texts)
        for part, worth in answer["worth"]:
            if worth == CLEAR:
                whole["clear"] += 1
                kept["clear"] += any(_letters(part) in _letters(text) for text in texts)
    return " | ".join(f"{kept[each]} of {whole[each]}" for each in ("clear", "moment"))


def document(weights: Array) -> dict[str, Any]:
    """Return what the head file says of answers."""
    states, of_signs = STATES_SCALE * weights[: 2 * DIMENSION], weights[2 * DIMENSION :]
    by_name = zip(STATEMENT_SIGNS, of_signs, strict=True)
    return {
        "answers": base64.b64encode(states.astype("<f2").tobytes()).decode(),
        "answer_signs": {name: round(float(each), 3) for name, each in by_name},
    }


if __name__ == "__main__":
    main()
