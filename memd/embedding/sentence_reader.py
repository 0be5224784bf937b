"""Classify the sentences of a window with a small transformer: plain, wish, life.

The head (``sentence_head``) sees only the mean of a sentence's states, where the single word that
turns a rule into an order is averaged out. The reader attends to every piece instead: one layer of
width 128 over the states of the encoder's fourth layer. A sentence is described by the mean and
the maximum of its pieces and by the mean of its window.

Three models, fitted in the same way, form an ensemble whose logits are added. ``python -m
tests.bench.fit_wishes`` fits *plain* (the sentence plainly states something lasting) and *wish*
(docs/decisions/0315). ``tests.bench.fit_life_changes`` fits *life* (the sentence is about someone's
life) over the same features (0352).
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.float32]

READER_FILE = "sentence_reader.npz"
ATTENTION_HEADS = 4
NORM_EPSILON = 1e-5


class SentenceReader(NamedTuple):
    """The weights by name; the first axis of each array is the member of the ensemble.

    A matrix has the shape (members, outputs, inputs). The last layer is scaled so that the logits
    are the sum over the members, not the mean.
    """

    weights: Mapping[str, Rows]

    def logits(self, states: Rows, spans: Sequence[tuple[int, int]]) -> Rows:
        """Return the logits *plain*, *wish* and *life* of each span, of shape (spans, 3).

        *states* has the shape (pieces, 384), without padding. A span is (start, end) in pieces,
        with *end* excluded.
        """
        import numpy as np

        features = self.features(states, spans)
        columns = [self._linear(name, features) for name in ("outputs", "life")]
        result: Rows = np.concatenate(columns, -1).sum(0)
        return result

    def features(self, states: Rows, spans: Sequence[tuple[int, int]]) -> Rows:
        """Return the features of each span by each member, of shape (members, spans, 384)."""
        import numpy as np

        pieces = self._linear("inputs", states[None])
        pieces = pieces + self._attend(self._norm("attention_norm", pieces))
        wide = self._linear("wide", self._norm("wide_norm", pieces))
        pieces = pieces + self._linear("narrow", np.maximum(wide, 0))
        pieces = self._norm("norm", pieces)
        window_mean = pieces.mean(1)
        sentences = [pieces[:, start:end] for start, end in spans]
        rows = [np.concatenate([part.mean(1), part.max(1), window_mean], -1) for part in sentences]
        result: Rows = np.stack(rows, 1)
        return result

    def _attend(self, pieces: Rows) -> Rows:
        """Return multi-head self-attention over *pieces*, of the same shape."""
        import numpy as np

        members, count, width = pieces.shape
        parts = self._linear("attention", pieces)
        parts = parts.reshape(members, count, 3, ATTENTION_HEADS, width // ATTENTION_HEADS)
        query, key, value = parts.transpose(2, 0, 3, 1, 4)
        scores = query @ key.swapaxes(-1, -2)
        scores -= scores.max(-1, keepdims=True)
        scores *= np.float32((width / ATTENTION_HEADS) ** -0.5)
        np.exp(scores, out=scores)  # in place: it is the largest array, of megabytes
        mixed = scores @ value / scores.sum(-1, keepdims=True)
        return self._linear("attended", mixed.swapaxes(1, 2).reshape(members, count, width))

    def _linear(self, name: str, rows: Rows) -> Rows:
        """Apply the linear layer *name*."""
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        result: Rows = rows @ weight.swapaxes(-1, -2) + bias[:, None]
        return result

    def _norm(self, name: str, rows: Rows) -> Rows:
        """Apply the layer normalisation *name*."""
        import numpy as np

        centred = rows - rows.mean(-1, keepdims=True)
        scale = np.sqrt((centred * centred).mean(-1, keepdims=True) + np.float32(NORM_EPSILON))
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        result: Rows = centred / scale * weight[:, None] + bias[:, None]
        return result


@cache
def sentence_reader() -> SentenceReader:
    """Return the reader that ships with memd; read once."""
    return unpack(resources.files("memd.embedding").joinpath(READER_FILE).read_bytes())


def unpack(raw: bytes) -> SentenceReader:
    """Return the reader in *raw*, the contents of ``READER_FILE``."""
    import numpy as np

    with np.load(io.BytesIO(raw)) as weights:
        return SentenceReader({name: weights[name].astype(np.float32) for name in weights})


def pack(weights: Mapping[str, Rows]) -> bytes:
    """Return the contents of ``READER_FILE`` for *weights*, as float16."""
    import numpy as np

    file = io.BytesIO()
    halves: dict[str, Any] = {name: rows.astype(np.float16) for name, rows in weights.items()}
    np.savez_compressed(file, **halves)
    return file.getvalue()
