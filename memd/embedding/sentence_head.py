"""The head over the states of a sentence: what thirteen numbers tell of it.

It is linear and was fitted on labelled sentences of many writers
(``python -m tests.bench.sentence_fit``, docs/decisions/0282), the last five numbers on messages
that were written for it (``tests.bench.written``, 0305; ``tests.bench.answers``, 0312;
``tests.bench.reach_fit``, 0323; ``tests.bench.life_fit``, 0341). Three of these, of what is plain,
of wishes and of a life, are halves: the reader adds the other (``sentence_reader``).
``sentence_head.json`` holds it: the weights of the states, and those of the signs that only a nap
knows (:mod:`memd.sleep.distil.speech`), by name.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

from memd.domain.encoding import SentenceLogits
from memd.embedding.model_files import DIMENSION

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.float32]

HEAD_FILE = "sentence_head.json"
_KINDS = 5


class SentenceHead(NamedTuple):
    """The weights: a column for each number, a row for each feature."""

    states: bytes
    """Those of the states, little-endian float16."""
    signs: Mapping[str, Sequence[float]]
    """Those of each sign of a user's sentence by its name, "bias" among them: worth, kinds."""
    statement_signs: Mapping[str, float]
    """Those of each sign of an agent's sentence."""
    user_memory_signs: Mapping[str, float]
    """Those of each sign of a memory in the user's words."""
    agent_memory_signs: Mapping[str, float]
    """Those of each sign of one in the agent's."""
    written: bytes
    """Those of the states, a column for what is plainly stated and one for wishes."""
    written_signs: Mapping[str, Sequence[float]]
    answers: bytes
    """Those of the states, for what an answer of the agent plainly tells."""
    answer_signs: Mapping[str, float]
    reach: bytes
    """Those of the states, for a wish that holds everywhere."""
    reach_bias: float
    life: bytes
    """Those of the states, for an event or a change of somebody's life."""
    life_bias: float

    def logits(self, states: Rows) -> list[SentenceLogits]:
        """Return the numbers of the sentences with these *states*, of shape (sentences, 768)."""
        import numpy as np

        blocks = [np.frombuffer(each, dtype="<f2") for each in self._blocks]
        weights = np.hstack([each.reshape(2 * DIMENSION, -1) for each in blocks])
        rows: Rows = states @ weights.astype(np.float32)
        rows[:, -2:] += (self.reach_bias, self.life_bias)
        return [
            SentenceLogits(worth, tuple(others[:_KINDS]), *others[_KINDS:])
            for worth, *others in rows.tolist()
        ]

    @property
    def _blocks(self) -> tuple[bytes, ...]:
        return self.states, self.written, self.answers, self.reach, self.life


@cache
def sentence_head() -> SentenceHead:
    """Return the head of the package, read once."""
    raw = resources.files("memd.embedding").joinpath(HEAD_FILE).read_text("utf-8")
    return parse(json.loads(raw))


def parse(document: Mapping[str, Any]) -> SentenceHead:
    """Return the head that a *document* of the form of ``HEAD_FILE`` holds."""
    return SentenceHead(
        base64.b64decode(document["states"]),
        document["signs"],
        document["statement_signs"],
        document["user_memory_signs"],
        document["agent_memory_signs"],
        base64.b64decode(document["written"]),
        document["written_signs"],
        base64.b64decode(document["answers"]),
        document["answer_signs"],
        base64.b64decode(document["reach"]),
        document["reach_bias"],
        base64.b64decode(document["life"]),
        document["life_bias"],
    )
