"""Compute thirteen logits for a sentence with a linear head over its encoder states.

``python -m tests.bench.fit_sentences`` fitted the head on labelled sentences of many writers
(docs/decisions/0282). The last five columns were fitted on messages written for the purpose
(``tests.bench.fit_wishes``, 0305; ``tests.bench.fit_answers``, 0312; ``tests.bench.fit_scope``,
0323; ``tests.bench.fit_life_changes``, 0341). The logits *plain*, *wish* and *life* are only one
term each: the caller adds those of the reader (``sentence_reader``). ``sentence_head.json`` holds
the weights of the states, and those of the signs that only a nap knows
(:mod:`memd.sleep.distil.sentence_worth`), by name.
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
"""The number of columns for kinds, after the one for worth."""


class SentenceHead(NamedTuple):
    """The weights of the head: a matrix for the states, mappings by name for the signs."""

    weights: Rows
    """Shape (768, 13).

    Columns: worth, five kinds, statement, memory, plain, wish, answer, reach, life.
    """
    reach_bias: float
    life_bias: float
    signs: Mapping[str, Sequence[float]]
    """The weights of each sign of a user's sentence, and "bias": worth, then the kinds."""
    statement_signs: Mapping[str, float]
    """The weight of each sign of an agent's sentence."""
    user_memory_signs: Mapping[str, float]
    """The weight of each sign of a memory in the user's words."""
    agent_memory_signs: Mapping[str, float]
    """The weight of each sign of a memory in the agent's words."""
    written_signs: Mapping[str, Sequence[float]]
    answer_signs: Mapping[str, float]

    def logits(self, states: Rows) -> list[SentenceLogits]:
        """Return the logits of each sentence; *states* has the shape (sentences, 768)."""
        rows: Rows = states @ self.weights
        rows[:, -2:] += (self.reach_bias, self.life_bias)
        return [
            SentenceLogits(worth, tuple(logits[:_KINDS]), *logits[_KINDS:])
            for worth, *logits in rows.tolist()
        ]


@cache
def sentence_head() -> SentenceHead:
    """Return the head that ships with memd; read once."""
    raw = resources.files("memd.embedding").joinpath(HEAD_FILE).read_text("utf-8")
    return parse(json.loads(raw))


def parse(document: Mapping[str, Any]) -> SentenceHead:
    """Return the head in *document*, the parsed JSON of ``HEAD_FILE``."""
    import numpy as np

    blocks = [
        np.frombuffer(base64.b64decode(document[name]), dtype="<f2").reshape(2 * DIMENSION, -1)
        for name in ("states", "written", "answers", "reach", "life")
    ]
    signs = {name: document[name] for name in SentenceHead._fields[1:]}
    return SentenceHead(np.hstack(blocks).astype(np.float32), **signs)
