"""The reader: a small transformer over the pieces of a window, for what its user plainly tells.

The head (``sentence_head``) sees the mean of a sentence's states, in which the one word that makes
an order of a rule is lost among the others. The reader attends to them: one layer of 128 numbers a
piece, over the states of the encoder's fourth layer, then the mean and the greatest of each
sentence and the mean of its window. It tells of a sentence whether it plainly states what lasts,
and whether it is a wish; three of them, fitted alike, are added up. ``python -m
tests.bench.written`` fits it (docs/decisions/0315). Whether a sentence tells of a life is one more
column over what they read, of a fit of its own (``tests.bench.life_fit``, 0352).
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
    """The weights by their names, each with the members of the ensemble as its first axis.

    A matrix has the shape (members, outputs, inputs). The last layer is scaled, so that the answer
    is the sum of the members.
    """

    weights: Mapping[str, Rows]

    def logits(self, states: Rows, spans: Sequence[tuple[int, int]]) -> Rows:
        """Return for each span of a window how plain, how much a wish and of a life it is.

        *states* has the shape (pieces, 384) and no padding; a span is its first piece and the one
        behind its last. The result has the shape (spans, 3).
        """
        import numpy as np

        read = self.features(states, spans)
        columns = [self._linear(name, read) for name in ("outputs", "life")]
        result: Rows = np.concatenate(columns, -1).sum(0)
        return result

    def features(self, states: Rows, spans: Sequence[tuple[int, int]]) -> Rows:
        """Return what each member has read of each span, of shape (members, spans, 384)."""
        import numpy as np

        pieces = self._linear("inputs", states[None])
        pieces = pieces + self._attend(self._norm("attention_norm", pieces))
        wide = self._linear("wide", self._norm("wide_norm", pieces))
        pieces = pieces + self._linear("narrow", np.maximum(wide, 0))
        pieces = self._norm("norm", pieces)
        own = [pieces[:, start:end] for start, end in spans]
        parts = [np.concatenate([each.mean(1), each.max(1), pieces.mean(1)], -1) for each in own]
        result: Rows = np.stack(parts, 1)
        return result

    def _attend(self, pieces: Rows) -> Rows:
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
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        result: Rows = rows @ weight.swapaxes(-1, -2) + bias[:, None]
        return result

    def _norm(self, name: str, rows: Rows) -> Rows:
        import numpy as np

        centred = rows - rows.mean(-1, keepdims=True)
        scale = np.sqrt((centred * centred).mean(-1, keepdims=True) + np.float32(NORM_EPSILON))
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        result: Rows = centred / scale * weight[:, None] + bias[:, None]
        return result


@cache
def sentence_reader() -> SentenceReader:
    """Return the reader of the package, read once."""
    return unpack(resources.files("memd.embedding").joinpath(READER_FILE).read_bytes())


def unpack(raw: bytes) -> SentenceReader:
    """Return the reader that the contents of ``READER_FILE`` hold."""
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
