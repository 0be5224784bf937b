"""A second look at the best candidates, each beside the question (SPEC 14.5).

``QuerySpecificReranker`` asks a language model, ``CrossEncoderReranker`` a small
model on this computer. Both change the order only: the scores stay, and whatever
fails leaves the order as it was. An order is kept for an hour; one that came of a
failure is not.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from memd.domain.encoding import PairScorer
from memd.domain.provider import CompletionProvider
from memd.domain.retrieval import ScoredMemory
from memd.inject.json_reply import json_reply
from memd.inject.rerank_cache import RerankerCache, cache_key
from memd.recall.rerank import CANDIDATES, second_scores
from memd.sleep.strategies.ask import Model
from memd.view.view import untrusted_content_directive, wrapped

TASK_TAG = "task-data"
SHOWN_CHARS = 500
REPLY_TOKENS = 1_000

Scored = tuple[ScoredMemory, ...]

_RANK = (
    "You order remembered texts by how well each answers a question. Each has a number. "
    'Answer with JSON alone: {"ranking": [...]}, all numbers, each once, the best first.'
)


class QuerySpecificReranker:
    """Asks a language model for the order; without a good answer the order stays."""

    def __init__(
        self, *, provider: CompletionProvider, model: str, cache: RerankerCache | None = None
    ) -> None:
        self._model = Model(provider, model, 0.0, REPLY_TOKENS)
        self._cache = cache

    async def rerank(self, query: str, candidates: Scored) -> Scored:
        """Return *candidates* in the model's order, their scores unchanged.

        In the order given when there is at most one, and when the model fails or its
        answer is not every number once. Raises the process's own errors only.
        """
        if len(candidates) <= 1:
            return candidates
        kept = await remembered(self._cache, query, candidates)
        if kept is not None:
            return kept
        reply = await json_reply(
            self._model,
            asked(query, candidates),
            system=f"{_RANK}\n\n{untrusted_content_directive((TASK_TAG,))}",
            what="re-ranking by a model",
        )
        order = None if reply is None else permutation(reply.get("ranking"), len(candidates))
        if order is None:
            return candidates
        return await remember(self._cache, query, tuple(candidates[place] for place in order))


class CrossEncoderReranker:
    """Orders by a model that reads question and text together, on this computer.

    Only the first CANDIDATES change places. Raises what *scorer* raises, DegradedError
    where no such model is installed: the pipeline then keeps its order and says so.
    """

    def __init__(self, scorer: PairScorer, *, cache: RerankerCache | None = None) -> None:
        self._scorer = scorer
        self._cache = cache

    async def rerank(self, query: str, candidates: Scored) -> Scored:
        """Return *candidates* in another order, their scores unchanged."""
        if len(candidates) <= 1:
            return candidates
        kept = await remembered(self._cache, query, candidates)
        if kept is not None:
            return kept
        first = candidates[:CANDIDATES]
        scores = await second_scores(
            self._scorer,
            query,
            [text_with_speaker(memory) for memory in first],
            [memory.combined_score for memory in first],
        )
        order = sorted(range(len(first)), key=lambda place: -scores[place])
        found = (*(first[place] for place in order), *candidates[CANDIDATES:])
        return await remember(self._cache, query, found)


def text_with_speaker(memory: ScoredMemory) -> str:
    """Return a memory's text as the ranker reads it: with who said it."""
    entry = memory.entry
    return entry.content if entry.speaker is None else f"{entry.speaker}: {entry.content}"


def asked(query: str, candidates: Sequence[ScoredMemory]) -> str:
    """Return the prompt: the question, then one numbered line for each candidate, all fenced."""
    lines = [
        f"{place}. score {memory.combined_score:.2f}:"
        f" {json.dumps(memory.entry.content[:SHOWN_CHARS], ensure_ascii=False)}"
        for place, memory in enumerate(candidates)
    ]
    return "\n".join([wrapped(TASK_TAG, query), wrapped(TASK_TAG, "\n".join(lines))])


def permutation(ranking: Any, count: int) -> list[int] | None:
    """Return *ranking* if it has every number below *count* once, else None.

    >>> permutation([1, 0], 2), permutation([0, 0], 2), permutation([True, 0], 2)
    ([1, 0], None, None)
    """
    if not isinstance(ranking, list) or any(type(place) is not int for place in ranking):
        return None
    return ranking if sorted(ranking) == list(range(count)) else None


async def remembered(cache: RerankerCache | None, query: str, candidates: Scored) -> Scored | None:
    """Return *candidates* in the order kept for them; None without one.

    Ids that occur twice have no order that ids could say.
    """
    by_id = {memory.entry.id: memory for memory in candidates}
    if cache is None or len(by_id) != len(candidates):
        return None
    ids = await cache.get(cache_key(query, by_id))
    if ids is None or set(ids) != set(by_id):
        return None
    return tuple(by_id[memory_id] for memory_id in ids)


async def remember(cache: RerankerCache | None, query: str, ordered: Scored) -> Scored:
    """Keep an order, where ids can say it, and return it."""
    ids = tuple(memory.entry.id for memory in ordered)
    if cache is not None and len(set(ids)) == len(ids):
        await cache.put(cache_key(query, ids), ids)
    return ordered
