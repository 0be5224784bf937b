"""The reader of windows: its members are added up, and it is what its fit made."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from memd.embedding.model_files import DIMENSION
from memd.embedding.sentence_head import sentence_head
from memd.embedding.sentence_reader import SentenceReader, pack, sentence_reader, unpack
from memd.embedding.sentence_states import SentenceSpan, SentenceWindow, judge, pool

PIECES = 12
SPANS = [(1, 5), (5, 6), (6, 11)]
STATES = np.random.default_rng(0).normal(size=(PIECES, DIMENSION)).astype(np.float32)


def test_members_are_added_up() -> None:
    whole = sentence_reader()
    (members,) = {len(rows) for rows in whole.weights.values()}
    parts = [
        SentenceReader({name: rows[at : at + 1] for name, rows in whole.weights.items()})
        for at in range(members)
    ]
    added = sum(part.logits(STATES, SPANS) for part in parts)
    assert members > 1
    assert np.allclose(whole.logits(STATES, SPANS), added, atol=1e-4)


def test_a_sentence_is_read_with_its_window_and_whatever_else_is_asked_of_it() -> None:
    reader = sentence_reader()
    each = reader.logits(STATES, SPANS)
    assert each.shape == (3, 3)
    assert np.allclose(reader.logits(STATES, SPANS[::-1]), each[::-1], atol=1e-5)
    other = STATES.copy()
    other[0] += 1.0
    assert not np.allclose(reader.logits(other, SPANS), each, atol=1e-3)


def test_what_is_written_down_is_read_again() -> None:
    reader = sentence_reader()
    again = unpack(pack(reader.weights))
    assert set(again.weights) == set(reader.weights)
    assert all(rows.dtype == np.float32 for rows in again.weights.values())
    assert (again.logits(STATES, SPANS) == reader.logits(STATES, SPANS)).all()


def test_what_the_reader_tells_is_added_to_what_the_head_tells() -> None:
    window = SentenceWindow(
        [0] * PIECES, [SentenceSpan(0, at, *own) for at, own in enumerate(SPANS)]
    )
    padded = np.concatenate([STATES, np.full((3, DIMENSION), 9.0, dtype=np.float32)])[None]
    by_head = sentence_head().logits(pool([window], padded))
    by_reader = sentence_reader().logits(STATES, SPANS)
    for judged, own, (plain, wish, life) in zip(
        judge([window], padded), by_head, by_reader.tolist(), strict=True
    ):
        assert judged.plain == pytest.approx(own.plain + plain, abs=1e-4)
        assert judged.wish == pytest.approx(own.wish + wish, abs=1e-4)
        assert judged.life == pytest.approx(own.life + life, abs=1e-4)
        assert judged.worth == own.worth


def test_of_an_agent_s_message_the_reader_tells_nothing() -> None:
    windows = [SentenceWindow([0] * PIECES, [SentenceSpan(at, 0, 1, 5)]) for at in range(2)]
    own, of_agent = judge(windows, np.stack([STATES, STATES]), agents={1})
    assert (of_agent.plain, of_agent.wish, of_agent.life) == (-inf, -inf, -inf)
    assert of_agent._replace(plain=own.plain, wish=own.wish, life=own.life) == own


def test_the_package_computes_what_the_fit_does() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install -e '.[torch]'")
    from bench import fit_reader
    from bench.fit_sentences import ReadWindow

    torch.manual_seed(3)
    layers = fit_reader.new_layers(4).eval()
    windows = [ReadWindow(STATES.astype(np.float16), SPANS)]
    with torch.no_grad():
        fitted = fit_reader.forward(layers, windows, torch.zeros(len(SPANS), 4)).numpy()
    named = {name: each.detach().numpy()[None] for name, each in layers.named_parameters()}
    of_life = ("life.weight", "life.bias")
    named |= {name: sentence_reader().weights[name][:1] for name in of_life}
    states = windows[0].states.astype(np.float32)
    assert np.allclose(SentenceReader(named).logits(states, SPANS)[:, :2], fitted, atol=1e-4)
