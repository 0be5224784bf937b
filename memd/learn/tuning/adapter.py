"""Train a matrix for the vectors of questions by contrastive loss (SPEC 18.2.6, D17). Pure, numpy.

The vectors of memories do not change, so no memory is embedded again. The matrix starts as the
identity and is regularised towards it, so it barely changes directions that occur in no pair.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memd.domain.learn import TuneRequest
from memd.learn.tuning.evaluation import LabelledQuestion
from memd.recall.ranking.rankings import GATE_TOP
from memd.recall.ranking.weights import RankerTuning

Matrix = NDArray[np.float32]
Indices = NDArray[np.int64]

RATE = 1e-3
"""The learning rate of Adam; the request's ``learning_rate`` is for an encoder."""
PULL = 0.1
"""The strength of the regularisation towards the identity."""
EPOCHS = 12
NEAREST = 0.95
"""A hard negative's cosine is below this share of the right passage's; a nearer one may answer."""


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
    progress: Callable[[float], None] = lambda _share: None,
) -> Matrix:
    """Return the matrix that moves each question nearer to its passage than to others.

    The loss is InfoNCE over the batch's passages and the hard negatives. *progress* is called
    with the share of steps done, and may raise to stop. Deterministic.
    """
    count, size = pairs.questions.shape
    rng = np.random.default_rng(0)
    matrix = np.eye(size, dtype=np.float32)
    first, second = np.zeros_like(matrix), np.zeros_like(matrix)
    step, steps = 0, EPOCHS * -(-count // batch)
    for _ in range(EPOCHS):
        order = rng.permutation(count)
        for start in range(0, count, batch):
            step += 1
            slope = _slope(pairs, order[start : start + batch], matrix, temperature)
            slope += PULL * (matrix - np.eye(size, dtype=np.float32))
            first = 0.9 * first + 0.1 * slope
            second = 0.999 * second + 0.001 * slope * slope
            rate = RATE * min(1.0, step / max(1, min(100, steps // 10)))  # a linear warm-up
            move = (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
            matrix = (matrix - rate * move).astype(np.float32)
            progress(step / steps)
    return matrix


def _slope(pairs: ContrastivePairs, rows: Indices, matrix: Matrix, temperature: float) -> Matrix:
    """Return the gradient of the mean loss of the pairs *rows* with respect to the matrix."""
    raw = pairs.questions[rows] @ matrix.T
    norms = np.linalg.norm(raw, axis=1, keepdims=True)
    rotated = raw / norms
    positives = pairs.positives[rows]
    matching = pairs.passages[positives]
    hard_places = pairs.negatives[rows]
    hard = pairs.passages[hard_places]
    batch_logits = rotated @ matching.T / temperature
    # Another question's passage that equals this one's is no negative.
    same = (positives[:, None] == positives[None, :]) & ~np.eye(len(rows), dtype=bool)
    batch_logits[same] = -np.inf
    hard_logits = np.einsum("bd,bkd->bk", rotated, hard) / temperature
    hard_logits[(hard_places < 0) | (hard_places == positives[:, None])] = -np.inf
    logits = np.hstack([batch_logits, hard_logits])
    logits -= logits.max(axis=1, keepdims=True)
    share = np.exp(logits)
    share /= share.sum(axis=1, keepdims=True)
    b = len(rows)
    pull = share[:, :b] @ matching + np.einsum("bk,bkd->bd", share[:, b:], hard) - matching
    pull /= temperature * b
    flat = (pull - (pull * rotated).sum(axis=1, keepdims=True) * rotated) / norms
    return np.asarray(flat.T @ pairs.questions[rows], dtype=np.float32)


def mine(questions: Matrix, passages: Matrix, positives: Indices, *, top_k: int = 4) -> Indices:
    """Return for each question the *top_k* nearest passages that do not answer it (SPEC 18.2.5).

    A passage nearer than NEAREST of its own passage's cosine is excluded, since it probably
    answers, too. Missing ones are -1.
    """
    nearest = np.full((len(questions), top_k), -1, dtype=np.int64)
    for start in range(0, len(questions), 256):
        part = slice(start, start + 256)  # bounds the memory of the cosines
        cosines = questions[part] @ passages.T
        answers = positives[part]
        rows = np.arange(len(answers))
        limit = NEAREST * cosines[rows, answers]
        cosines[cosines >= limit[:, None]] = -np.inf
        cosines[rows, answers] = -np.inf
        k = min(top_k, cosines.shape[1])
        best = np.argsort(-cosines, axis=1, kind="stable")[:, :k]
        best[~np.isfinite(np.take_along_axis(cosines, best, 1))] = -1
        nearest[part, :k] = best
    return nearest


def apply(matrix: Matrix, questions: Matrix) -> Matrix:
    raw = questions @ matrix.T
    return np.asarray(raw / np.linalg.norm(raw, axis=1, keepdims=True), dtype=np.float32)


class TrainingPairs(NamedTuple):
    """Questions with their vectors, the memories' vectors, and hard negatives."""

    questions: Sequence[LabelledQuestion]
    question_vectors: Sequence[bytes]
    vectors: Mapping[int, bytes]
    negatives: Mapping[int, Sequence[int]]
    unseen: Sequence[bytes]
    """Vectors of questions that are not trained on."""


def mine_negatives(
    questions: Sequence[LabelledQuestion],
    question_vectors: Sequence[bytes],
    vectors: Mapping[int, bytes],
    top_k: int,
) -> dict[int, list[int]]:
    """Return the hard negatives of each answer: similar memories that are no answers."""
    rows = {key: at for at, key in enumerate(vectors)}
    keys = list(vectors)
    used = [at for at, question in enumerate(questions) if question.memory_key in rows]
    if not used:
        return {}
    positives = np.array([rows[questions[at].memory_key] for at in used])
    nearest = mine(
        to_matrix([question_vectors[at] for at in used]),
        to_matrix(vectors.values()),
        positives,
        top_k=top_k,
    )
    return {
        questions[at].memory_key: [
            keys[row] for row in places if row >= 0 and keys[row] != questions[at].question_key
        ]
        for at, places in zip(used, nearest.tolist(), strict=True)
    }


def train_adapter(
    pairs_of_run: TrainingPairs,
    shipped: RankerTuning,
    request: TuneRequest,
    progress: Callable[[float], None],
) -> RankerTuning:
    """Return *shipped* with a matrix trained on *pairs_of_run*, its cosines scaled as before."""
    rows = {key: at for at, key in enumerate(pairs_of_run.vectors)}
    used = [at for at, question in enumerate(pairs_of_run.questions) if question.memory_key in rows]
    answers = [pairs_of_run.questions[at].memory_key for at in used]
    hard = [
        [rows[key] for key in pairs_of_run.negatives.get(answer, ()) if key in rows]
        for answer in answers
    ]
    pairs = ContrastivePairs(
        questions=to_matrix([pairs_of_run.question_vectors[at] for at in used]),
        passages=to_matrix(pairs_of_run.vectors.values()),
        positives=np.array([rows[answer] for answer in answers]),
        negatives=_fill(hard, request.top_k),
    )
    matrix = train(
        pairs, temperature=request.temperature, batch=request.batch_size, progress=progress
    )
    unseen = to_matrix(pairs_of_run.unseen) if pairs_of_run.unseen else pairs.questions
    before = _best(unseen, pairs.passages)
    after = _best(apply(matrix, unseen), pairs.passages)
    scale = float(before.std() / max(float(after.std()), 1e-6))
    return replace(
        shipped,
        matrix=matrix.astype("<f4").tobytes(),
        shift=float(before.mean() - scale * after.mean()),
        scale=scale,
    )


def _fill(hard: Sequence[Sequence[int]], top_k: int) -> Indices:
    """Return the first *top_k* hard negatives of each question, -1 for missing ones."""
    places = np.full((len(hard), top_k), -1, dtype=np.int64)
    for row, negatives in enumerate(hard):
        places[row, : len(negatives)] = list(negatives)[:top_k]
    return places


def _best(questions: Matrix, passages: Matrix) -> Matrix:
    """Return the best cosines of each question, by which the gate decides."""
    top = min(GATE_TOP, len(passages))
    return np.asarray(np.partition(questions @ passages.T, -top, axis=1)[:, -top:])


def to_matrix(vectors: Collection[bytes]) -> Matrix:
    return np.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), -1)


def mine_rows(questions: Sequence[bytes], passages: Sequence[bytes], top_k: int) -> list[list[int]]:
    """Return the rows of each question's hard negatives; its passage has the same row."""
    answer_rows = np.arange(len(questions))
    nearest = mine(to_matrix(questions), to_matrix(passages), answer_rows, top_k=top_k)
    return [[row for row in rows if row >= 0] for rows in nearest.tolist()]


def train_matrix(
    questions: Sequence[bytes],
    passages: Sequence[bytes],
    places: Sequence[tuple[int, Sequence[int]]],
    request: TuneRequest,
) -> bytes:
    """Return a matrix trained on *questions*, in numpy's file format.

    *places* has for each question the row of its passage, and the rows of its hard negatives.
    """
    negatives = _fill([hard for _, hard in places], request.top_k)
    positives = np.array([passage_row for passage_row, _ in places])
    pairs = ContrastivePairs(to_matrix(questions), to_matrix(passages), positives, negatives)
    matrix = train(pairs, temperature=request.temperature, batch=request.batch_size)
    stream = io.BytesIO()
    np.save(stream, matrix)
    return stream.getvalue()


def compute_ranks(
    questions: Sequence[bytes], passages: Sequence[bytes], file: bytes
) -> tuple[list[int], list[int]]:
    """Return the ranks of the questions' passages without and with the matrix in *file*."""
    raw, answers = to_matrix(questions), to_matrix(passages)
    matrix: Matrix = np.load(io.BytesIO(file))
    answer_rows = np.arange(len(raw))
    adapted = apply(matrix, raw)
    return ranks_among(raw @ answers.T, answer_rows), ranks_among(adapted @ answers.T, answer_rows)


def ranks_among(cosines: Matrix, right: Sequence[int] | Indices) -> list[int]:
    """Return the rank, from 1, of each row's right passage; ties rank before it."""
    of_right = cosines[np.arange(len(right)), right][:, None]
    return [int(rank) for rank in (cosines >= of_right).sum(axis=1)]
