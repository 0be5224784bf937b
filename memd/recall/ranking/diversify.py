"""Maximal marginal relevance: reorder a ranking so that it repeats itself less (SPEC 8.5).

Each pick maximises its score minus its similarity to the closest earlier pick. This comes after
re-ranking and filtering, so that excluded memories repel nothing, and before the cut to
``max_memories``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from memd.domain.settings.retrieval import ScoredMemory

Bigrams = frozenset[tuple[str, str]]


def bigram_jaccard(text_a: str, text_b: str) -> float:
    """Return the Jaccard similarity of two texts' word pairs.

    Words are separated by white space and compared in lower case. A text of one word has no pairs
    and is similar to nothing, not even itself.

    >>> round(bigram_jaccard("a b c", "a b d"), 4)
    0.3333
    """
    return jaccard(bigrams(text_a), bigrams(text_b))


def apply_diversity_penalty(
    scored: tuple[ScoredMemory, ...],
    *,
    diversity_lambda: float = 0.7,
    similarity_fn: Callable[[str, str], float] | None = None,
) -> tuple[ScoredMemory, ...]:
    """Return all of *scored*, each once, in diverse order.

    *diversity_lambda* 1 orders by score alone, 0 by difference alone; among
    equals the earlier in *scored* wins. *similarity_fn* takes two contents and
    returns 0 to 1. Raises ValueError when *diversity_lambda* is not from 0 to 1.
    """
    order = diverse_order(
        [memory.entry.content for memory in scored],
        [memory.combined_score for memory in scored],
        diversity_lambda,
        similarity_fn=similarity_fn,
    )
    return tuple(scored[i] for i in order)


def diverse_order(
    texts: Sequence[str],
    scores: Sequence[float],
    diversity_lambda: float,
    *,
    similarity_fn: Callable[[str, str], float] | None = None,
) -> list[int]:
    """Return the indexes of *texts* in diverse order, by the rule of the penalty above."""
    if not 0.0 <= diversity_lambda <= 1.0:  # also false for NaN
        raise ValueError(f"diversity_lambda must be from 0 to 1, not {diversity_lambda}")
    remaining = list(range(len(texts)))
    similarity = _similarity(texts, similarity_fn)
    closest = [0.0] * len(texts)
    order: list[int] = []
    while remaining:
        values = [
            diversity_lambda * scores[i] - (1 - diversity_lambda) * closest[i] for i in remaining
        ]
        pick = remaining.pop(values.index(max(values)))
        order.append(pick)
        for i in remaining:
            closest[i] = max(closest[i], similarity(i, pick))
    return order


def score_by_rank(scored: tuple[ScoredMemory, ...]) -> tuple[ScoredMemory, ...]:
    """Return *scored* with scores that fall with the rank, from 1 down.

    A re-ranker changes the order but not the scores, by which the diversity penalty would sort
    again (SPEC 8.5.6).
    """
    return tuple(
        memory.model_copy(update={"combined_score": 1.0 - rank / len(scored)})
        for rank, memory in enumerate(scored)
    )


def _similarity(
    texts: Sequence[str], similarity_fn: Callable[[str, str], float] | None
) -> Callable[[int, int], float]:
    """Return a function of two indexes; by default each text is split into word pairs once."""
    if similarity_fn is not None:
        return lambda i, j: similarity_fn(texts[i], texts[j])
    pairs = [bigrams(text) for text in texts]
    return lambda i, j: jaccard(pairs[i], pairs[j])


def bigrams(text: str) -> Bigrams:
    """Return the word pairs of *text*, as :func:`bigram_jaccard` compares them."""
    words = text.lower().split()
    return frozenset(itertools.pairwise(words))


def jaccard(a: Bigrams, b: Bigrams) -> float:
    """Return the Jaccard similarity of two sets of word pairs; 0 where one is empty."""
    if not a or not b:
        return 0.0
    common = len(a & b)
    return common / (len(a) + len(b) - common)
