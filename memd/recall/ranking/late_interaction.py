"""Late interaction: how near each token of a question comes to a token of a memory. Pure.

The vectors of two texts say whether they are about the same; this says whether what the question
asks for stands in the memory, in whatever form (docs/decisions/0322).
"""

from __future__ import annotations

from collections.abc import Mapping

from memd.domain.encoding import TOKEN_BYTES

_ASKED_MAX = 64  # tokens of a question; the rest of a pasted one is compared by its vector alone
_SQUARE = 127.0**2  # of a token vector's length
_COMMON = 0.75
"""The quantile of memories by which a token is common. A mean would move with each text on
everything that somebody puts in, and the order of near-ties with it."""
_USUAL = 0.35
"""How near an average token comes to a memory about something else, and its weight below: among few
memories nobody knows which of the question's tokens is rare."""
_USUAL_MEMORIES = 10


def maxsims(
    asked: bytes, memories: Mapping[int, bytes], own: int | None = None
) -> dict[int, float]:
    """Return of each memory the mean over the question's tokens of their greatest cosine in it.

    *asked* and each of *memories* are token vectors (``Encoding.tokens``), none of them empty. A
    token weighs more the fewer memories come near it: by the square of what the nearest quarter of
    the first *own* of them, by default of all, lacks to 1.
    """
    if not memories:
        return {}
    import numpy as np  # the model that made the question's vectors has loaded it

    question = np.frombuffer(asked, np.int8).reshape(-1, TOKEN_BYTES)[:_ASKED_MAX]
    scaled = question.astype(np.float32) / _SQUARE
    tokens = np.frombuffer(b"".join(memories.values()), np.int8).reshape(-1, TOKEN_BYTES)
    sizes = [len(each) // TOKEN_BYTES for each in memories.values()]
    cosines = scaled @ tokens.astype(np.float32).T
    best = np.maximum.reduceat(cosines, np.cumsum([0, *sizes[:-1]]), axis=1)
    known = best[:, :own] if own else best
    size, common = known.shape[1], np.quantile(known, _COMMON, axis=1)
    usual = (common * size + _USUAL * _USUAL_MEMORIES) / (size + _USUAL_MEMORIES)
    weights = (1.0 - usual) ** 2
    result = weights @ best / weights.sum()
    return dict(zip(memories, result.tolist(), strict=True))
