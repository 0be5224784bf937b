"""The windows in which sentences go through the model, and what is made of its states."""

from __future__ import annotations

import json
from base64 import b64decode
from importlib import resources

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memd.domain.encoding import SentenceLogits
from memd.embedding.model_files import DIMENSION, WINDOW_TOKENS
from memd.embedding.sentence_head import HEAD_FILE, sentence_head
from memd.embedding.sentence_states import SentenceSpan, SentenceWindow, pool, windows_of
from memd.sleep.distil.sentence_worth import statement_signs
from memd.sleep.distil.user.speech_acts import Act

CLS, SEP = 101, 102


@given(st.lists(st.integers(0, 400), max_size=40))
def test_every_sentence_is_in_one_window_that_fits_the_model(lengths: list[int]) -> None:
    sentences = [[1000 + at] * length for at, length in enumerate(lengths)]
    windows = list(windows_of(7, sentences))
    spans = [span for window in windows for span in window.spans]
    assert [(span.message, span.sentence) for span in spans] == [
        (7, at) for at in range(len(lengths))
    ]
    for window in windows:
        assert len(window.ids) <= WINDOW_TOKENS
        assert (window.ids[0], window.ids[-1]) == (CLS, SEP)
        for span in window.spans:
            own = sentences[span.sentence][:120]
            assert window.ids[span.start : span.start + len(own)] == own
            assert span.start < span.end <= len(window.ids)


def test_a_later_window_begins_with_the_sentence_before() -> None:
    first, second = windows_of(0, [[5] * 100, [6] * 110, [7] * 100])
    assert [span.sentence for span in first.spans] == [0, 1]
    assert second.ids == [CLS, *[6] * 60, *[7] * 100, SEP]


def test_a_sentence_has_the_mean_of_its_own_states_and_that_of_its_window() -> None:
    states = np.zeros((1, 6, DIMENSION), dtype=np.float32)
    states[0, 1, 0] = states[0, 2, 1] = states[0, 3, 2] = 2.0
    states[0, 5] = 9.0  # padding, beyond the window
    window = SentenceWindow(
        [CLS, 5, 6, 7, SEP], [SentenceSpan(0, 0, 1, 3), SentenceSpan(0, 1, 3, 4)]
    )
    first, second = pool([window], states)
    half = np.float32(0.5**0.5)
    assert np.allclose(first[:3], np.array([half, half, 0.0]))
    assert np.allclose(second[:3], [0.0, 0.0, 1.0])
    whole = np.float32(3**-0.5)
    assert np.allclose(first[DIMENSION : DIMENSION + 4], np.array([whole, whole, whole, 0.0]))
    assert np.allclose(first[DIMENSION:], second[DIMENSION:])


def test_the_head_weighs_each_state_and_every_act() -> None:
    head = sentence_head()
    assert head.weights.shape == (2 * DIMENSION, 13)
    assert head.weights is sentence_head().weights  # built once
    document = json.loads(resources.files("memd.embedding").joinpath(HEAD_FILE).read_text())
    columns = {"states": 0, "written": 8, "answers": 10, "reach": 11, "life": 12}
    for name, at in columns.items():
        own = np.frombuffer(b64decode(document[name]), dtype="<f2").reshape(2 * DIMENSION, -1)
        assert np.array_equal(head.weights[:, at : at + own.shape[1]], own)
    assert {act.value for act in Act} <= set(head.signs)
    assert {len(weights) for weights in head.signs.values()} == {6}
    states = np.zeros((2, 2 * DIMENSION), dtype=np.float32)
    states[1, 0] = 1.0
    nothing, first = head.logits(states)
    biases = np.array([0.0] * 11 + [head.reach_bias, head.life_bias], dtype=np.float32)
    for judged, row in ((nothing, biases), (first, head.weights[0] + biases)):
        worth, *others = row.tolist()
        assert judged == SentenceLogits(worth, tuple(others[:5]), *others[5:])
    assert set(head.written_signs) == set(head.signs)
    signs = statement_signs(1.0, "text", 0, 1, is_last=True)
    names = {name for name, _ in signs}
    assert names == set(head.statement_signs) == set(head.answer_signs)
