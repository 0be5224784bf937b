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
    """The weights: of the states a matrix, a column for each number; the others by name."""

    weights: Rows
    """Those of the states: worth, kinds, statement, memory, plain, wish, answer, reach, life."""
    reach_bias: float
    life_bias: float
    signs: Mapping[str, Sequence[float]]
    """Those of each sign of a user's sentence by its name, "bias" among them: worth, kinds."""
    statement_signs: Mapping[str, float]
    """Those of each sign of an agent's sentence."""
    user_memory_signs: Mapping[str, float]
    """Those of each sign of a memory in the user's words."""
    agent_memory_signs: Mapping[str, float]
    """Those of each sign of one in the agent's."""
    written_signs: Mapping[str, Sequence[float]]
    answer_signs: Mapping[str, float]

    def logits(self, states: Rows) -> list[SentenceLogits]:
        """Return the numbers of the sentences with these *states*, of shape (sentences, 768)."""
        rows: Rows = states @ self.weights
        rows[:, -2:] += (self.reach_bias, self.life_bias)
        return [
            SentenceLogits(worth, tuple(others[:_KINDS]), *others[_KINDS:])
            for worth, *others in rows.tolist()
        ]


@cache
def sentence_head() -> SentenceHead:
    """Return the head of the package, read once."""
    raw = resources.files("memd.embedding").joinpath(HEAD_FILE).read_text("utf-8")
    return parse(json.loads(raw))


def parse(document: Mapping[str, Any]) -> SentenceHead:
    """Return the head that a *document* of the form of ``HEAD_FILE`` holds."""
    import numpy as np

    blocks = [
        np.frombuffer(base64.b64decode(document[name]), dtype="<f2").reshape(2 * DIMENSION, -1)
        for name in ("states", "written", "answers", "reach", "life")
    ]
    others = {name: document[name] for name in SentenceHead._fields[1:]}
    return SentenceHead(np.hstack(blocks).astype(np.float32), **others)
