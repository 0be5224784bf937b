"""Fits the projection of token vectors.

    python -m tests.bench.fit_tokens FILE --transcripts DIR

The texts are the turns of the dialogues in FILE, the passages of the recorded coding sessions and
what the households say, every ``EVERY``-th; no question and no label. Writes
``memd/embedding/token_projection.npz`` (docs/decisions/0322).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import memd
from bench import coding_questions, household, locomo
from bench.bed_samples import fitting
from bench.bench_daemon import installed_model
from memd.base.limits import EMBED_BATCH_TEXTS, WINDOW_TOKENS_MAX
from memd.domain.encoding import TOKEN_BYTES
from memd.embedding.encoders import PROJECTION_FILE, FastembedEncoder, TokenProjection
from memd.embedding.model_files import DIMENSION, FINGERPRINT

Rows = NDArray[np.float32]

EVERY = 3


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.fit_tokens", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--transcripts", type=Path, metavar="DIR", required=True)
    options = parser.parse_args(argv)
    encoder = FastembedEncoder(installed_model(), FINGERPRINT)
    texts = sorted(set(texts_of(options.file, options.transcripts)), key=lambda t: (len(t), t))
    states = []
    chosen = texts[::EVERY]
    for at in range(0, len(chosen), EMBED_BATCH_TEXTS):
        ids = [
            each[:WINDOW_TOKENS_MAX] for each in encoder.ids(chosen[at : at + EMBED_BATCH_TEXTS])
        ]
        rows = encoder.last_states(ids)
        states += [row[1 : 1 + len(each)] for row, each in zip(rows, ids, strict=True)]
    projection = fit(np.concatenate(states))
    path = Path(memd.__path__[0]) / "embedding" / PROJECTION_FILE
    halves = {name: rows.astype(np.float16) for name, rows in projection._asdict().items()}
    np.savez_compressed(path, **halves)
    print(f"{len(states)} texts, {sum(map(len, states))} pieces: {path}")


def texts_of(dialogues: Path, transcripts: Path) -> Iterator[str]:
    """Yield the texts, as they are stored as memories."""
    for dialogue in locomo.read(dialogues):
        yield from (f"{turn.speaker}: {turn.text}" for turn in dialogue.turns)
    for part in coding_questions.in_parts(fitting(transcripts)):
        yield from (passage.text for passage in part if coding_questions.stored(passage))
    for sayings, _ in household.households():
        yield from (saying.text for saying in sayings)


def fit(states: Rows) -> TokenProjection:
    """Return the projection for a sample of *states*, of shape (pieces, 384)."""
    mean = states.mean(0)
    spreads, directions = np.linalg.eigh(np.cov((states - mean).T))
    largest = slice(DIMENSION - 1, DIMENSION - 1 - TOKEN_BYTES, -1)
    kept = directions[:, largest] / spreads[largest] ** 0.25
    return TokenProjection(mean, kept.astype(np.float32))


if __name__ == "__main__":
    main()
