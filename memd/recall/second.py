"""A second look at the best candidates, where it is asked for (SPEC 2.7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memd.base import log
from memd.base.errors import ModelError, UnavailableError
from memd.domain.encoding import PairScorer
from memd.domain.recall import RecallRequest
from memd.domain.settings.retrieval import MemoryRetrievalConfig
from memd.recall.answer import RankedCandidates, blended
from memd.recall.ranking.rankings import Ranked
from memd.recall.rerank import CANDIDATES, second_scores

DAMAGED = "the re-ranker is damaged: ordered without; run: memd model install --reranker"
NO_RERANKER = "no re-ranker: ordered without; run: memd model install --reranker"


def looks_again(request: RecallRequest, config: MemoryRetrievalConfig) -> bool:
    """Return whether *request* wants a second look; the settings decide where it does not say."""
    again = request.reranker_enabled
    return config.query_specific_rerank_enabled if again is None else again


async def looked_again(
    scorer: PairScorer | None, query: str, items: Sequence[Ranked], found: RankedCandidates
) -> tuple[list[Ranked], RankedCandidates]:
    """Return *items* in the order of a second look, and what there is to say about it.

    Without a model, and when it fails or is too slow, they are in the order of their
    blended scores (SPEC 2.7), and ``degraded`` says why.
    """
    if not items:
        return list(items), found
    why = NO_RERANKER
    if scorer is not None:
        try:
            return await _looked(scorer, query, items), found
        except (UnavailableError, ModelError) as error:
            log.warning("ordered without the re-ranker", kind=error.kind)
            if isinstance(error, ModelError):
                why = DAMAGED
            elif error.hint is None:
                why = f"the re-ranker is not available ({error.kind}): ordered without"
    said = why if found.degraded is None else f"{found.degraded}; {why}"
    return blended(items), replace(found, degraded=said)


async def _looked(scorer: PairScorer, query: str, items: Sequence[Ranked]) -> list[Ranked]:
    first, rest = items[:CANDIDATES], items[CANDIDATES:]
    texts = [item.measured.candidate.own for item in first]
    scores = await second_scores(scorer, query, texts, [item.relevance for item in first])
    again = [replace(item, relevance=score) for item, score in zip(first, scores, strict=True)]
    again.sort(key=lambda item: -item.relevance)  # ties stay as they were
    lowest = again[-1].relevance
    return [*again, *(replace(item, relevance=min(lowest, item.relevance)) for item in rest)]
