"""The head over the states of a sentence: what seven numbers tell of it.

It is linear and was fitted on labelled sentences of many writers
(``python -m tests.bench.sentence_fit``, docs/decisions/0282). ``sentence_head.json`` holds it: the
weights of the states, and those of the signs that only a nap knows
(:mod:`memd.sleep.distil.speech`), by name.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

from memd.domain.encoding import SentenceLogits
from memd.embedding.model_files import DIMENSION

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.float32]

HEAD_FILE = "sentence_head.json"


class SentenceHead(NamedTuple):
    """The weights: a column for each number, a row for each feature."""

    states: bytes
    """Those of the states, little-endian float16."""
    signs: Mapping[str, Sequence[float]]
    """Those of each sign of a user's sentence by its name, "bias" among them: worth, kinds."""
    statement_signs: Mapping[str, float]
    """Those of each sign of an agent's sentence."""

    def logits(self, states: Rows) -> list[SentenceLogits]:
        """Return the numbers of the sentences with these *states*, of shape (sentences, 768)."""
        import numpy as np

        weights = np.frombuffer(self.states, dtype="<f2").astype(np.float32)
        columns: Rows = states @ weights.reshape(2 * DIMENSION, -1)
        return [SentenceLogits(row[0], tuple(row[1:-1]), row[-1]) for row in columns.tolist()]


@cache
def sentence_head() -> SentenceHead:
    """Return the head of the package, read once."""
    raw = resources.files("memd.embedding").joinpath(HEAD_FILE).read_text("utf-8")
    document = json.loads(raw)
    states = base64.b64decode(document["states"])
    return SentenceHead(states, document["signs"], document["statement_signs"])
