"""Token vectors: what is kept of the states of a text's pieces."""

from __future__ import annotations

import numpy as np
import pytest
from bench.fit_tokens import fit

from memd.domain.encoding import TOKEN_BYTES
from memd.embedding.encoders import token_projection
from memd.embedding.model_files import DIMENSION


def test_each_piece_has_one_of_length_127() -> None:
    states = np.random.default_rng(1).standard_normal((5, DIMENSION)).astype(np.float32)

    rows = np.frombuffer(token_projection().project(states), np.int8).reshape(5, TOKEN_BYTES)

    lengths = np.linalg.norm(rows.astype(float), axis=1)
    assert lengths == pytest.approx(127, abs=3)


def test_the_mean_state_and_no_piece_are_no_error() -> None:
    projection = token_projection()

    assert len(projection.project(projection.mean[None])) == TOKEN_BYTES
    assert projection.project(np.empty((0, DIMENSION), np.float32)) == b""


def test_a_fit_keeps_the_directions_in_which_states_differ() -> None:
    chance = np.random.default_rng(2)
    states = np.zeros((500, DIMENSION), np.float32)
    states[:, :3] = chance.standard_normal((500, 3)) * [9.0, 4.0, 1.0]
    states += 1e-3 * chance.standard_normal(states.shape)

    directions = fit(states).directions

    assert directions.shape == (DIMENSION, TOKEN_BYTES)
    assert list(np.abs(directions[:, :3]).argmax(axis=0)) == [0, 1, 2]
    gains = np.linalg.norm(directions, axis=0)
    assert gains[0] < gains[1] < gains[2]  # what differs most is not all there is
