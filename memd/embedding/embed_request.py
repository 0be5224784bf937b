"""The texts of one call on their way through the model, a batch at a time.

No thread and no queue here: ``model_thread`` decides whose turn it is and calls
``step``. Texts are cut into windows and encoded shortest first, because a batch
costs as much as its longest text. The vector of a text is the mean of its
windows, each weighted by its pieces.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple, Protocol

from memd.base.errors import EmbeddingError
from memd.base.limits import EMBED_BATCH_TEXTS, EMBED_BATCH_TOKENS, EMBED_CUT_CHARS
from memd.embedding.model_thread import ModelRequest
from memd.text.tokens import TextWindow

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.float32]


class Encoder(Protocol):
    """A model in memory."""

    def windows(self, text: str) -> list[TextWindow]:
        """Return the parts of *text* that fit the model's window; at least one."""
        ...

    def encode(self, texts: list[str]) -> Rows:
        """Return one vector for each text that fits the window, in order."""
        ...


class EmbedRequest(ModelRequest[Encoder, list[bytes]]):
    """The texts of one call, of which each becomes a vector."""

    def __init__(self, texts: list[str]) -> None:
        super().__init__()
        self.size = len(texts)
        self._texts = texts
        self._order = deque(sorted(range(len(texts)), key=lambda at: len(texts[at])))
        self._parts: deque[_Part] = deque()
        self._sums: dict[int, Rows] = {}
        self._left = [0] * len(texts)

    def step(self, model: Encoder) -> bool:
        if not self._parts:
            self._cut(model)
        batch = self._next_batch()
        rows = model.encode([part.window.text for part in batch])
        if len(rows) != len(batch):
            raise EmbeddingError(f"the model gave {len(rows)} vectors for {len(batch)} texts")
        for part, row in zip(batch, rows, strict=True):
            weighted = row * max(1, part.window.pieces)
            self._sums[part.at] = (
                self._sums[part.at] + weighted if part.at in self._sums else weighted
            )
        return not (self._parts or self._order)

    def result(self) -> list[bytes]:
        """Return the vectors in the order of the texts."""
        return [_as_bytes(self._sums[at]) for at in range(self.size)]

    def _next_batch(self) -> list[_Part]:
        """Take windows while they are few and, each padded to the longest, short together."""
        batch = [self._parts.popleft()]
        while self._parts and len(batch) < EMBED_BATCH_TEXTS:
            if (len(batch) + 1) * self._parts[0].window.pieces > EMBED_BATCH_TOKENS:
                break
            batch.append(self._parts.popleft())
        return batch

    def _cut(self, encoder: Encoder) -> None:
        """Cut the next few texts into windows, shortest first; of long ones no more than one.

        Cutting a text of a megabyte takes longer than a batch.
        """
        ats = [self._order.popleft()]
        chars = len(self._texts[ats[0]])
        while self._order and len(ats) < EMBED_BATCH_TEXTS:
            chars += len(self._texts[self._order[0]])
            if chars > EMBED_CUT_CHARS:
                break
            ats.append(self._order.popleft())
        parts = [_Part(at, window) for at in ats for window in encoder.windows(self._texts[at])]
        self._parts.extend(sorted(parts, key=lambda part: part.window.pieces))


class _Part(NamedTuple):
    at: int
    window: TextWindow


def _as_bytes(total: Rows) -> bytes:
    """Return a sum of vectors as the normalised vector that the file holds."""
    import numpy as np

    norm = float(np.linalg.norm(total))
    if not np.isfinite(norm) or norm == 0.0:
        raise EmbeddingError("the windows of a text cancel each other out")
    return (total / norm).astype("<f4").tobytes()
