"""Mine hard negatives and train the adapter from a run's pairs and vectors. Pure, numpy."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from memd.domain.learn import TuneRequest
from memd.learn.tuning import adapter
from memd.learn.tuning.adapter import ContrastivePairs, Matrix
from memd.learn.tuning.questions import LabelledQuestion
from memd.recall.ranking.rankings import GATE_TOP
from memd.recall.ranking.weights import Tuned


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
    """Return the hard negatives of each answer: memories that only seem to answer, too."""
    rows = {key: at for at, key in enumerate(vectors)}
    keys = list(vectors)
    used = [at for at, one in enumerate(questions) if one.memory_key in rows]
    if not used:
        return {}
    positives = np.array([rows[questions[at].memory_key] for at in used])
    nearest = adapter.mine(
        _matrix([question_vectors[at] for at in used]),
        _matrix(vectors.values()),
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
    shipped: Tuned,
    request: TuneRequest,
    progress: Callable[[float], None],
) -> Tuned:
    """Return *shipped* with a matrix trained on *pairs_of_run*, its cosines scaled as before."""
    rows = {key: at for at, key in enumerate(pairs_of_run.vectors)}
    used = [at for at, one in enumerate(pairs_of_run.questions) if one.memory_key in rows]
    places = np.full((len(used), request.top_k), -1, dtype=np.int64)
    for row, at in enumerate(used):
        hard = pairs_of_run.negatives.get(pairs_of_run.questions[at].memory_key, ())
        hard_rows = [rows[key] for key in hard if key in rows][: request.top_k]
        places[row, : len(hard_rows)] = hard_rows
    pairs = ContrastivePairs(
        questions=_matrix([pairs_of_run.question_vectors[at] for at in used]),
        passages=_matrix(pairs_of_run.vectors.values()),
        positives=np.array([rows[pairs_of_run.questions[at].memory_key] for at in used]),
        negatives=places,
    )
    matrix = adapter.train(
        pairs, temperature=request.temperature, batch=request.batch_size, progress=progress
    )
    unseen = _matrix(pairs_of_run.unseen) if pairs_of_run.unseen else pairs.questions
    before = _best(unseen, pairs.passages)
    after = _best(adapter.apply(matrix, unseen), pairs.passages)
    scale = float(before.std() / max(float(after.std()), 1e-6))
    return replace(
        shipped,
        matrix=matrix.astype("<f4").tobytes(),
        shift=float(before.mean() - scale * after.mean()),
        scale=scale,
    )


def _best(questions: Matrix, passages: Matrix) -> Matrix:
    """Return the best cosines of each question, by which the gate decides."""
    top = min(GATE_TOP, len(passages))
    return np.asarray(np.partition(questions @ passages.T, -top, axis=1)[:, -top:])


def _matrix(vectors: Collection[bytes]) -> Matrix:
    return np.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), -1)


def mine_rows(questions: Sequence[bytes], passages: Sequence[bytes], top_k: int) -> list[list[int]]:
    """Return the rows of each question's hard negatives; its passage has its own row."""
    own = np.arange(len(questions))
    nearest = adapter.mine(_matrix(questions), _matrix(passages), own, top_k=top_k)
    return [[row for row in rows if row >= 0] for rows in nearest.tolist()]


def train_matrix(
    questions: Sequence[bytes],
    passages: Sequence[bytes],
    places: Sequence[tuple[int, Sequence[int]]],
    request: TuneRequest,
) -> bytes:
    """Return a matrix trained on *questions*, in numpy's file format.

    *places*: for each the row of its passage, and the rows of its hard negatives.
    """
    negatives = np.full((len(places), request.top_k), -1, dtype=np.int64)
    for row, (_, hard) in enumerate(places):
        negatives[row, : len(hard)] = list(hard)[: request.top_k]
    positives = np.array([own for own, _ in places])
    pairs = ContrastivePairs(_matrix(questions), _matrix(passages), positives, negatives)
    matrix = adapter.train(pairs, temperature=request.temperature, batch=request.batch_size)
    stream = io.BytesIO()
    np.save(stream, matrix)
    return stream.getvalue()


def compute_ranks(
    questions: Sequence[bytes], passages: Sequence[bytes], file: bytes
) -> tuple[list[int], list[int]]:
    """Return the ranks of the questions' passages without and with the matrix in *file*."""
    raw, answers = _matrix(questions), _matrix(passages)
    matrix: Matrix = np.load(io.BytesIO(file))
    return _ranks(raw @ answers.T), _ranks(adapter.apply(matrix, raw) @ answers.T)


def _ranks(cosines: Matrix) -> list[int]:
    own = np.diagonal(cosines)[:, None]
    return [int(rank) for rank in (cosines >= own).sum(axis=1)]
