"""What is fitted on whole memories: which of those that naps compose are worth keeping.

``labels/others/memories.jsonl`` refers to memories of the writers that may be looked at
(``labels/README.md``), by the page and a digest of the text; readers who knew no rule judged each
by itself. They were composed with the writer left out of the head that judges sentences, as they
are here, so that its numbers are no better than for a stranger; only those on plain statements are
of all writers (``sentence_fit.heads_without``). A memory that is told in other words today has no
label.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from bench.reader_labels import LABELS
from bench.sentence_judge import encoder
from bench.sentences import CLEAR, read_messages
from bench.statements import sha
from memd.domain.encoding import SentenceLogits
from memd.embedding.model_files import DIMENSION
from memd.embedding.sentence_head import SentenceHead
from memd.embedding.sentence_states import pool, windows_of
from memd.sleep.distil.distil import (
    SessionTurns,
    find_candidates,
    judged_sentences,
    weigh_turns,
)
from memd.sleep.distil.memory_worth import (
    agent_memory_signs,
    is_always_kept,
    is_by_agent,
    user_memory_signs,
)

Array = NDArray[np.float64]

FOLDS = 8
RIDGE, STATES_RIDGE = 10.0, 25.0
STATES_SCALE = 5.0
ARGUABLE = 0.55
"""What a memory that may be argued about is worth, where 1 is one that is clearly worth keeping."""
STEPS = 12
BARS = (-9.0, -0.6, -0.4, -0.25, -0.1, 0.0, 0.2)
STATES = "sentences"
"""The sign of which the states of the sentences are the parts."""


class Labelled(NamedTuple):
    """A memory that was judged: whose it is, its worth (0 to 2), who says it, and its signs."""

    writer: str
    worth: int
    by_agent: bool
    signs: dict[str, float]
    states: Array
    """The mean of those of the agent's sentences in it."""


class Fit(NamedTuple):
    """The weight of each sign of a memory, and those of the states of its sentences."""

    signs: dict[str, float]
    states: Array

    def worth(self, row: Labelled) -> float:
        """Return the log-odds that a memory is worth keeping."""
        by_signs = sum(self.signs[name] * value for name, value in row.signs.items())
        return by_signs + float(self.states @ row.states)


def read(folder: Path, heads: Mapping[str, SentenceHead]) -> tuple[list[Labelled], int]:
    """Return the judged memories that naps still compose and weigh, and how many were judged.

    *heads* are those of the sentences, by the writer that each was not fitted on.
    """
    paths = {path.name: path for path in folder.rglob("*.md")}
    rows: list[Labelled] = []
    judged = 0
    for page in labels():
        writer = page["repo"].partition("/")[0]
        judged += len(page["worth"])
        rows += _of_page(page, paths[Path(page["path"]).name], writer, heads[writer])
    return rows, judged


def labels() -> list[dict[str, Any]]:
    """Return the labels of each page."""
    lines = (LABELS / "others" / "memories.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _of_page(
    page: dict[str, Any], path: Path, writer: str, head: SentenceHead
) -> Iterator[Labelled]:
    session = SessionTurns.of(read_messages(path))
    left = dict(page["worth"])
    with patch("memd.sleep.distil.sentence_worth.sentence_head", lambda: head):
        turns = weigh_turns(session, [list(_logits(each, head)) for each in session.sentences()])
        candidates = find_candidates(turns)
        judged = judged_sentences(turns, candidates)
        for candidate, sentences in zip(candidates, judged, strict=True):
            worth = left.pop(sha(candidate.memory.text), None)
            if worth is None or is_always_kept(candidate.memory):
                continue
            states, by_agent = np.zeros(2 * DIMENSION), is_by_agent(candidate.memory)
            if by_agent:
                signs = dict(agent_memory_signs(candidate.memory, sentences))
                states = states + signs.pop(STATES)
            else:
                signs = dict(user_memory_signs(candidate, sentences))
            yield Labelled(writer, worth, by_agent, signs, states)


def _logits(sentences: Sequence[str], head: SentenceHead) -> Iterator[SentenceLogits]:
    """Yield what *head* tells of each sentence, with its states as what it adds to a memory."""
    model = encoder()
    assert model is not None
    for window in windows_of(0, model.ids(list(sentences))):
        states = pool([window], model.states([window.ids]))
        for row, own in zip(head.logits(states), states, strict=True):
            yield row._replace(in_memory=cast("float", own))


def fit(rows: Sequence[Labelled]) -> Fit:
    """Return the weights fitted on *rows*, of one kind of memory."""
    names = list(rows[0].signs)
    values = np.array([[row.signs[name] for name in names] for row in rows])
    mean, spread = values.mean(0), values.std(0) + 1e-9
    at = names.index("bias")
    mean[at], spread[at] = 0.0, 1.0
    states = STATES_SCALE * np.array([row.states for row in rows])
    target = np.array([(0.0, ARGUABLE, 1.0)[row.worth] for row in rows])
    ridge = np.repeat([RIDGE, STATES_RIDGE], [len(names), states.shape[1]])
    ridge[at] = 1e-3
    features = np.hstack([(values - mean) / spread, states])
    weights = logistic_regression(features, target, np.ones(len(rows)), ridge)
    of_signs = weights[: len(names)] / spread
    of_signs[at] -= of_signs @ mean
    return Fit(
        dict(zip(names, of_signs.tolist(), strict=True)), STATES_SCALE * weights[len(names) :]
    )


def logistic_regression(features: Array, target: Array, share: Array, ridge: Array) -> Array:
    """Return the weights of a logistic regression with a *ridge* on each.

    *share* is what a row counts.
    """
    weights = np.zeros(features.shape[1])
    for _ in range(STEPS):
        chance = 1.0 / (1.0 + np.exp(-np.clip(features @ weights, -30, 30)))
        curve = share * chance * (1 - chance) + 1e-6
        slope = features.T @ (share * (chance - target)) + ridge * weights
        weights -= np.linalg.solve((features.T * curve) @ features + np.diag(ridge), slope)
    return weights


def table(rows: Sequence[Labelled], judged: int) -> Iterator[str]:
    """Yield what is kept at several bars, with writers left out in turn."""
    yield f"{len(rows)} of {judged} judged memories; the others are always kept, or told otherwise"
    yield "| whose | bar | kept | of these clearly worth it | not worth it | of the clear |"
    for name, by_agent in (("agent's", True), ("user's", False)):
        own = [row for row in rows if row.by_agent == by_agent]
        worth = np.array([row.worth for row in own])
        logits = _left_out(own)
        for bar in BARS:
            kept = worth[logits >= bar]
            clear, junk = (kept == CLEAR).mean(), (kept == 0).mean()
            of_clear = (kept == CLEAR).sum() / (worth == CLEAR).sum()
            share = len(kept) / len(worth)
            yield f"| {name} | {bar} | {share:.2f} | {clear:.2f} | {junk:.2f} | {of_clear:.2f} |"


def _left_out(rows: Sequence[Labelled]) -> Array:
    """Return the worth of each memory by a fit without its writer."""
    writers = sorted({row.writer for row in rows})
    fold = [writers.index(row.writer) % FOLDS for row in rows]
    logits = np.zeros(len(rows))
    for left_out in range(FOLDS):
        made = fit([row for row, its in zip(rows, fold, strict=True) if its != left_out])
        for at, row in enumerate(rows):
            if fold[at] == left_out:
                logits[at] = made.worth(row)
    return logits
