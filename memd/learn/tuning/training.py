"""From a run's pairs to rows of numbers, and from those to an adapter. Pure, numpy."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from memd.domain.learn import TuneRequest
from memd.learn.tuning import adapter
from memd.learn.tuning.adapter import Contrast, Matrix
from memd.learn.tuning.questions import Asked
from memd.recall.ranking.rankings import GATE_TOP
from memd.recall.tuned import Tuned


class TrainingPairs(NamedTuple):
    """Questions with their vectors, the memories' vectors, and what only looks as if."""

    asked: Sequence[Asked]
    questions: Sequence[bytes]
    vectors: Mapping[int, bytes]
    negatives: Mapping[int, Sequence[int]]
    unseen: Sequence[bytes]
    """Questions that are not trained on."""


def negatives(
    asked: Sequence[Asked], questions: Sequence[bytes], vectors: Mapping[int, bytes], top_k: int
) -> dict[int, list[int]]:
    """Return for each memory that is asked for which others look as if they answered."""
    rows = {key: at for at, key in enumerate(vectors)}
    keys = list(vectors)
    used = [at for at, one in enumerate(asked) if one.memory_key in rows]
    if not used:
        return {}
    positives = np.array([rows[asked[at].memory_key] for at in used])
    mined = adapter.mined(
        _matrix([questions[at] for at in used]), _matrix(vectors.values()), positives, top_k=top_k
    )
    return {
        asked[at].memory_key: [
            keys[row] for row in places if row >= 0 and keys[row] != asked[at].apart
        ]
        for at, places in zip(used, mined.tolist(), strict=True)
    }


def adapter_of(
    pairs_of_run: TrainingPairs,
    shipped: Tuned,
    request: TuneRequest,
    progress: Callable[[float], None],
) -> Tuned:
    """Return *shipped* with a matrix trained on *pairs_of_run*, its cosines on the old scale."""
    rows = {key: at for at, key in enumerate(pairs_of_run.vectors)}
    used = [at for at, one in enumerate(pairs_of_run.asked) if one.memory_key in rows]
    places = np.full((len(used), request.top_k), -1, dtype=np.int64)
    for row, at in enumerate(used):
        hard = pairs_of_run.negatives.get(pairs_of_run.asked[at].memory_key, ())
        known = [rows[key] for key in hard if key in rows][: request.top_k]
        places[row, : len(known)] = known
    pairs = Contrast(
        questions=_matrix([pairs_of_run.questions[at] for at in used]),
        passages=_matrix(pairs_of_run.vectors.values()),
        positives=np.array([rows[pairs_of_run.asked[at].memory_key] for at in used]),
        negatives=places,
    )
    matrix = adapter.trained(
        pairs, temperature=request.temperature, batch=request.batch_size, progress=progress
    )
    unseen = _matrix(pairs_of_run.unseen) if pairs_of_run.unseen else pairs.questions
    before = _best(unseen, pairs.passages)
    after = _best(adapter.turned(matrix, unseen), pairs.passages)
    scale = float(before.std() / max(float(after.std()), 1e-6))
    return replace(
        shipped,
        matrix=matrix.astype("<f4").tobytes(),
        shift=float(before.mean() - scale * after.mean()),
        scale=scale,
    )


def _best(questions: Matrix, passages: Matrix) -> Matrix:
    """Return the best cosines of each question: those that the gate goes by."""
    top = min(GATE_TOP, len(passages))
    return np.asarray(np.partition(questions @ passages.T, -top, axis=1)[:, -top:])


def _matrix(vectors: Collection[bytes]) -> Matrix:
    return np.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), -1)


def mined_rows(
    questions: Sequence[bytes], passages: Sequence[bytes], top_k: int
) -> list[list[int]]:
    """Return for each question, whose passage stands in its own row, which rows mislead."""
    own = np.arange(len(questions))
    mined = adapter.mined(_matrix(questions), _matrix(passages), own, top_k=top_k)
    return [[row for row in rows if row >= 0] for rows in mined.tolist()]


def matrix_of(
    questions: Sequence[bytes],
    passages: Sequence[bytes],
    places: Sequence[tuple[int, Sequence[int]]],
    request: TuneRequest,
) -> bytes:
    """Return a matrix trained on *questions*, as numpy's own file holds it.

    *places*: of each the row of its passage, and the rows of what misleads.
    """
    negatives = np.full((len(places), request.top_k), -1, dtype=np.int64)
    for row, (_, hard) in enumerate(places):
        negatives[row, : len(hard)] = list(hard)[: request.top_k]
    positives = np.array([own for own, _ in places])
    pairs = Contrast(_matrix(questions), _matrix(passages), positives, negatives)
    made = adapter.trained(pairs, temperature=request.temperature, batch=request.batch_size)
    stream = io.BytesIO()
    np.save(stream, made)
    return stream.getvalue()


def ranks(
    questions: Sequence[bytes], passages: Sequence[bytes], made: bytes
) -> tuple[list[int], list[int]]:
    """Return at which place each question's passage stands without and with the matrix *made*."""
    asked, answers = _matrix(questions), _matrix(passages)
    matrix: Matrix = np.load(io.BytesIO(made))
    return _ranks(asked @ answers.T), _ranks(adapter.turned(matrix, asked) @ answers.T)


def _ranks(cosines: Matrix) -> list[int]:
    own = np.diagonal(cosines)[:, None]
    return [int(rank) for rank in (cosines >= own).sum(axis=1)]
