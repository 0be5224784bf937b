"""The states of sentences: how each one is said, as the encoder's fourth layer has it.

The last layer, whose mean is stored, tells what a text is about. How it is said, as a rule, an
order or a report, is gone by then, and stands in the middle layers (docs/decisions/0282). The
sentences of a message go through the model together, so that each is read with those beside it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from memd.base.errors import DegradedError
from memd.base.limits import EMBED_BATCH_TEXTS, EMBED_BATCH_TOKENS, EMBED_CUT_CHARS
from memd.domain.encoding import SentenceLogits
from memd.embedding.encoders import CLS, SEP, FastembedEncoder
from memd.embedding.model_files import INSTALL_HINT
from memd.embedding.model_thread import ModelRequest
from memd.embedding.sentence_head import sentence_head
from memd.embedding.sentence_reader import sentence_reader

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memd.embedding.embed import Encoder

    Rows = NDArray[np.float32]

_WINDOW_PIECES = 249  # with [CLS]; [SEP] follows
_SENTENCE_PIECES = 120  # of one sentence; the rest of it is not read
_SENTENCE_CHARS = 2_000  # a paste without a full stop is not cut into pieces as a whole
_BEFORE_PIECES = 60  # of the sentence before a window


class SentenceSpan(NamedTuple):
    """The pieces of one sentence in a window, from *start* to before *end*."""

    message: int
    sentence: int
    start: int
    end: int


class SentenceWindow(NamedTuple):
    """Consecutive sentences of a message that go through the model together."""

    ids: list[int]
    spans: list[SentenceSpan]


class ClassifyRequest(ModelRequest["Encoder", list[list[SentenceLogits]]]):
    """The messages of one request, whose sentences are to be judged; some may be of *agents*."""

    def __init__(self, messages: Sequence[Sequence[str]], agents: Collection[int] = ()) -> None:
        super().__init__()
        self._messages = messages
        self._agents = agents
        self._chars = [sum(map(len, sentences)) for sentences in messages]
        self._order = deque(sorted(range(len(messages)), key=self._chars.__getitem__))
        self._windows: deque[SentenceWindow] = deque()
        self._logits: dict[tuple[int, int], SentenceLogits] = {}

    def step(self, model: Encoder) -> bool:
        if not isinstance(model, FastembedEncoder):
            raise DegradedError("this model judges no sentences", hint=INSTALL_HINT)
        if not self._windows:
            self._split_next(model)
        batch: list[SentenceWindow] = []
        while self._windows and len(batch) < EMBED_BATCH_TEXTS:
            if batch and (len(batch) + 1) * len(self._windows[0].ids) > EMBED_BATCH_TOKENS:
                break
            batch.append(self._windows.popleft())
        if batch:
            self._read(batch, model)
        return not (self._windows or self._order)

    def result(self) -> list[list[SentenceLogits]]:
        return [
            [self._logits[message, sentence] for sentence in range(len(sentences))]
            for message, sentences in enumerate(self._messages)
        ]

    def _split_next(self, model: FastembedEncoder) -> None:
        """Split the next few messages into windows, shortest first: many would hold up others."""
        windows: list[SentenceWindow] = []
        chars = 0
        while self._order and chars <= EMBED_CUT_CHARS:
            at = self._order.popleft()
            chars += self._chars[at]
            texts = [each[:_SENTENCE_CHARS] for each in self._messages[at]]
            windows += windows_of(at, model.ids(texts))
        self._windows.extend(sorted(windows, key=lambda window: len(window.ids)))

    def _read(self, batch: Sequence[SentenceWindow], model: FastembedEncoder) -> None:
        states = model.states([window.ids for window in batch])
        spans = [span for window in batch for span in window.spans]
        for span, logits in zip(spans, judge(batch, states, self._agents), strict=True):
            self._logits[span.message, span.sentence] = logits


def windows_of(message: int, sentences: Sequence[Sequence[int]]) -> Iterator[SentenceWindow]:
    """Yield the windows of one message; a later one begins with the end of the sentence before.

    >>> [window.ids for window in windows_of(0, [[5, 6], [7]])]
    [[101, 5, 6, 7, 102]]
    """
    ids, spans = [CLS], list[SentenceSpan]()
    before: Sequence[int] = ()
    for at, pieces in enumerate(sentences):
        own = pieces[:_SENTENCE_PIECES]
        if spans and len(ids) + len(own) > _WINDOW_PIECES:
            yield SentenceWindow([*ids, SEP], spans)
            ids, spans = [CLS, *before[-_BEFORE_PIECES:]], []
        start = len(ids)
        ids += own
        # A sentence without pieces has the state of what follows it.
        spans.append(SentenceSpan(message, at, start, max(len(ids), start + 1)))
        before = own
    if spans:
        yield SentenceWindow([*ids, SEP], spans)


def judge(
    windows: Sequence[SentenceWindow], states: Rows, agents: Collection[int] = ()
) -> list[SentenceLogits]:
    """Return what head and reader tell of each sentence of *windows*.

    *states* has the shape (windows, pieces, 384). The reader tells nothing of the messages of
    *agents*.
    """
    judged = sentence_head().logits(pool(windows, states))
    read: list[list[float]] = []
    for window, own in zip(windows, states, strict=True):
        if window.spans[0].message in agents:
            read += [[-inf, -inf, -inf]] * len(window.spans)
            continue
        spans = [(span.start, span.end) for span in window.spans]
        read += sentence_reader().logits(own[: len(window.ids)], spans).tolist()
    return [
        logits._replace(
            plain=logits.plain + plain, wish=logits.wish + wish, life=logits.life + life
        )
        for logits, (plain, wish, life) in zip(judged, read, strict=True)
    ]


def pool(windows: Sequence[SentenceWindow], states: Rows) -> Rows:
    """Return of each sentence its mean state and that of its window, each of length 1.

    *states* has the shape (windows, pieces, 384), the result (sentences, 768).
    """
    import numpy as np

    rows = []
    for window, own in zip(windows, states, strict=True):
        whole = _unit(own[: len(window.ids)].mean(0))
        rows += [
            np.concatenate([_unit(own[span.start : span.end].mean(0)), whole])
            for span in window.spans
        ]
    return np.array(rows, dtype=np.float32)


def _unit(row: Rows) -> Rows:
    import numpy as np

    unit: Rows = row / max(float(np.linalg.norm(row)), 1e-9)
    return unit
