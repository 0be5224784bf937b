"""Compute the logits of sentences from the states of the encoder's fourth layer.

The last layer, whose mean is stored as the vector, encodes what a text is about. Whether a sentence
is a rule, an order or a report shows in the middle layers only (docs/decisions/0282). The sentences
of a message go through the model in one window, so that each is read in its context.
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

_WINDOW_PIECES = 249  # includes [CLS]; [SEP] is added
_SENTENCE_PIECES = 120  # further pieces of a sentence are ignored
_SENTENCE_CHARS = 2_000  # bounds the tokenising of a paste without full stops
_CONTEXT_PIECES = 60  # of the previous sentence, repeated at the start of a window


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
    """A request to classify the sentences of *messages*.

    *agents* holds the indexes of the messages that agents wrote.
    """

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
        """Split the next messages into windows, shortest first.

        Only a few at a time, so that other requests can run in between.
        """
        windows: list[SentenceWindow] = []
        chars = 0
        while self._order and chars <= EMBED_CUT_CHARS:
            message = self._order.popleft()
            chars += self._chars[message]
            texts = [sentence[:_SENTENCE_CHARS] for sentence in self._messages[message]]
            windows += windows_of(message, model.ids(texts))
        self._windows.extend(sorted(windows, key=lambda window: len(window.ids)))

    def _read(self, batch: Sequence[SentenceWindow], model: FastembedEncoder) -> None:
        states = model.states([window.ids for window in batch])
        spans = [span for window in batch for span in window.spans]
        for span, logits in zip(spans, judge(batch, states, self._agents), strict=True):
            self._logits[span.message, span.sentence] = logits


def windows_of(message: int, sentences: Sequence[Sequence[int]]) -> Iterator[SentenceWindow]:
    """Split one message into windows; *sentences* are lists of token ids.

    Every window but the first begins with the end of the previous sentence, as context.

    >>> [window.ids for window in windows_of(0, [[5, 6], [7]])]
    [[101, 5, 6, 7, 102]]
    """
    ids, spans = [CLS], list[SentenceSpan]()
    previous: Sequence[int] = ()
    for index, sentence in enumerate(sentences):
        pieces = sentence[:_SENTENCE_PIECES]
        if spans and len(ids) + len(pieces) > _WINDOW_PIECES:
            yield SentenceWindow([*ids, SEP], spans)
            ids, spans = [CLS, *previous[-_CONTEXT_PIECES:]], []
        start = len(ids)
        ids += pieces
        # A sentence without pieces gets the state of the piece that follows it.
        spans.append(SentenceSpan(message, index, start, max(len(ids), start + 1)))
        previous = pieces
    if spans:
        yield SentenceWindow([*ids, SEP], spans)


def judge(
    windows: Sequence[SentenceWindow], states: Rows, agents: Collection[int] = ()
) -> list[SentenceLogits]:
    """Return the logits of each sentence of *windows*: those of the head plus those of the reader.

    *states* has the shape (windows, pieces, 384). For messages of *agents* the reader is not
    run, and *plain*, *wish* and *life* are -inf.
    """
    head_logits = sentence_head().logits(pool(windows, states))
    reader_logits: list[list[float]] = []
    for window, rows in zip(windows, states, strict=True):
        if window.spans[0].message in agents:
            reader_logits += [[-inf, -inf, -inf]] * len(window.spans)
            continue
        spans = [(span.start, span.end) for span in window.spans]
        reader_logits += sentence_reader().logits(rows[: len(window.ids)], spans).tolist()
    return [
        logits._replace(
            plain=logits.plain + plain, wish=logits.wish + wish, life=logits.life + life
        )
        for logits, (plain, wish, life) in zip(head_logits, reader_logits, strict=True)
    ]


def pool(windows: Sequence[SentenceWindow], states: Rows) -> Rows:
    """Return the mean state of each sentence next to that of its window, each a unit vector.

    *states* has the shape (windows, pieces, 384), the result (sentences, 768).
    """
    import numpy as np

    pooled = []
    for window, rows in zip(windows, states, strict=True):
        whole = _unit(rows[: len(window.ids)].mean(0))
        pooled += [
            np.concatenate([_unit(rows[span.start : span.end].mean(0)), whole])
            for span in window.spans
        ]
    return np.array(pooled, dtype=np.float32)


def _unit(row: Rows) -> Rows:
    """Return *row* scaled to length 1; a zero row stays zero."""
    import numpy as np

    unit: Rows = row / max(float(np.linalg.norm(row)), 1e-9)
    return unit
