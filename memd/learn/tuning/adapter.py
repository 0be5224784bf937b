"""A matrix for the question's vector, trained by contrast (SPEC 18.2.6, D17). Pure, numpy.

The memories' vectors stay what they are, so nothing is embedded anew: what is trained is where
a question looks. It begins as the identity and is drawn back to it, so what the pairs do not
speak of stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]
Places = NDArray[np.int64]

RATE = 1e-3
"""Of Adam, over the matrix; the run's ``learning_rate`` is that of an encoder."""
PULL = 0.1
"""How strongly the matrix is drawn to the identity."""
EPOCHS = 12


@dataclass(frozen=True, slots=True)
class Contrast:
    """Questions, what answers each, and what only looks as if: all unit vectors, row by row.

    *negatives* are rows of *passages*, as many for each question; -1 is none.
    """

    questions: Matrix
    passages: Matrix
    positives: Places
    negatives: Places


def trained(
    pairs: Contrast,
    *,
    temperature: float = 0.02,
    batch: int = 128,
    epochs: int = EPOCHS,
    seed: int = 0,
    progress: Callable[[float], None] = lambda _share: None,
) -> Matrix:
    """Return the matrix that brings each question nearer to its passage than to the others'.

    InfoNCE: against the passages of the batch and the hard negatives. *progress* hears which share
    of the steps is done, and may raise to stop. The same pairs and *seed* give the same matrix.
    """
    count, size = pairs.questions.shape
    chance = np.random.default_rng(seed)
    matrix = np.eye(size, dtype=np.float32)
    first, second = np.zeros_like(matrix), np.zeros_like(matrix)
    step, steps = 0, epochs * -(-count // batch)
    for _ in range(epochs):
        order = chance.permutation(count)
        for start in range(0, count, batch):
            step += 1
            slope = _slope(pairs, order[start : start + batch], matrix, temperature)
            slope += PULL * (matrix - np.eye(size, dtype=np.float32))
            first = 0.9 * first + 0.1 * slope
            second = 0.999 * second + 0.001 * slope * slope
            rate = RATE * min(1.0, step / max(1, min(100, steps // 10)))
            move = (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
            matrix = (matrix - rate * move).astype(np.float32)
            progress(step / steps)
    return matrix


def _slope(pairs: Contrast, some: Places, matrix: Matrix, temperature: float) -> Matrix:
    """Return the slope of the mean loss of *some* pairs by the matrix."""
    raw = pairs.questions[some] @ matrix.T
    norms = np.linalg.norm(raw, axis=1, keepdims=True)
    turned = raw / norms
    positives = pairs.positives[some]
    near = pairs.passages[positives]
    hard_places = pairs.negatives[some]
    hard = pairs.passages[hard_places]
    among = turned @ near.T / temperature
    # Another question's answer that is this one's, too, is no negative.
    same = (positives[:, None] == positives[None, :]) & ~np.eye(len(some), dtype=bool)
    among[same] = -np.inf
    beside = np.einsum("bd,bkd->bk", turned, hard) / temperature
    beside[(hard_places < 0) | (hard_places == positives[:, None])] = -np.inf
    logits = np.hstack([among, beside])
    logits -= logits.max(axis=1, keepdims=True)
    share = np.exp(logits)
    share /= share.sum(axis=1, keepdims=True)
    b = len(some)
    pull = share[:, :b] @ near + np.einsum("bk,bkd->bd", share[:, b:], hard) - near
    pull /= temperature * b
    flat = (pull - (pull * turned).sum(axis=1, keepdims=True) * turned) / norms
    return np.asarray(flat.T @ pairs.questions[some], dtype=np.float32)


def mined(
    questions: Matrix, passages: Matrix, positives: Places, *, top_k: int = 4, share: float = 0.95
) -> Places:
    """Return for each question the *top_k* nearest passages that do not answer it (SPEC 18.2.5).

    Nearer than *share* of its own passage's cosine would be an answer as well, as like as not.
    Where there are fewer, the rest is -1.
    """
    nearest = np.full((len(questions), top_k), -1, dtype=np.int64)
    for start in range(0, len(questions), 256):
        some = slice(start, start + 256)
        cosines = questions[some] @ passages.T
        own = positives[some]
        rows = np.arange(len(own))
        limit = share * cosines[rows, own]
        cosines[cosines >= limit[:, None]] = -np.inf
        cosines[rows, own] = -np.inf
        k = min(top_k, cosines.shape[1])
        best = np.argsort(-cosines, axis=1, kind="stable")[:, :k]
        best[~np.isfinite(np.take_along_axis(cosines, best, 1))] = -1
        nearest[some, :k] = best
    return nearest


def turned(matrix: Matrix, questions: Matrix) -> Matrix:
    """Return *questions* as the matrix turns them, of length 1."""
    raw = questions @ matrix.T
    return np.asarray(raw / np.linalg.norm(raw, axis=1, keepdims=True), dtype=np.float32)
