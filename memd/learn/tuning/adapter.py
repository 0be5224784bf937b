"""Train a matrix for the vectors of questions by contrast (SPEC 18.2.6, D17). Pure, numpy.

The memories' vectors do not change, so nothing is embedded anew. The matrix starts as the
identity and is regularised towards it, so directions without pairs stay as they were.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]
Indices = NDArray[np.int64]

RATE = 1e-3
"""Of Adam for the matrix; the request's ``learning_rate`` is for an encoder."""
PULL = 0.1
"""The regularisation towards the identity."""
EPOCHS = 12


@dataclass(frozen=True, slots=True)
class ContrastivePairs:
    """Questions, their passages and hard negatives, as rows of unit vectors.

    *positives* and *negatives* are rows of *passages*; a missing negative is -1.
    """

    questions: Matrix
    passages: Matrix
    positives: Indices
    negatives: Indices


def train(
    pairs: ContrastivePairs,
    *,
    temperature: float = 0.02,
    batch: int = 128,
    epochs: int = EPOCHS,
    seed: int = 0,
    progress: Callable[[float], None] = lambda _share: None,
) -> Matrix:
    """Return the matrix that moves each question nearer to its passage than to others.

    The loss is InfoNCE over the batch's passages and the hard negatives. *progress* is called
    with the share of steps done, and may raise to stop. Deterministic for a *seed*.
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


def _slope(pairs: ContrastivePairs, some: Indices, matrix: Matrix, temperature: float) -> Matrix:
    """Return the gradient of the mean loss of *some* pairs with respect to the matrix."""
    raw = pairs.questions[some] @ matrix.T
    norms = np.linalg.norm(raw, axis=1, keepdims=True)
    rotated = raw / norms
    positives = pairs.positives[some]
    matching = pairs.passages[positives]
    hard_places = pairs.negatives[some]
    hard = pairs.passages[hard_places]
    among = rotated @ matching.T / temperature
    # Another question's passage that equals this one's is no negative.
    same = (positives[:, None] == positives[None, :]) & ~np.eye(len(some), dtype=bool)
    among[same] = -np.inf
    beside = np.einsum("bd,bkd->bk", rotated, hard) / temperature
    beside[(hard_places < 0) | (hard_places == positives[:, None])] = -np.inf
    logits = np.hstack([among, beside])
    logits -= logits.max(axis=1, keepdims=True)
    share = np.exp(logits)
    share /= share.sum(axis=1, keepdims=True)
    b = len(some)
    pull = share[:, :b] @ matching + np.einsum("bk,bkd->bd", share[:, b:], hard) - matching
    pull /= temperature * b
    flat = (pull - (pull * rotated).sum(axis=1, keepdims=True) * rotated) / norms
    return np.asarray(flat.T @ pairs.questions[some], dtype=np.float32)


def mine(
    questions: Matrix, passages: Matrix, positives: Indices, *, top_k: int = 4, share: float = 0.95
) -> Indices:
    """Return for each question the *top_k* nearest passages that do not answer it (SPEC 18.2.5).

    A passage nearer than *share* of its own passage's cosine is excluded, since it probably
    answers, too. Missing ones are -1.
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


def apply(matrix: Matrix, questions: Matrix) -> Matrix:
    """Return *questions* multiplied by the matrix and normalised."""
    raw = questions @ matrix.T
    return np.asarray(raw / np.linalg.norm(raw, axis=1, keepdims=True), dtype=np.float32)
