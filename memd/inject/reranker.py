"""Re-rank the best candidates of a question, and cache the orders (SPEC 14.5).

``QuerySpecificReranker`` uses a language model, ``CrossEncoderReranker`` a small local model. Both
change only the order, not the scores. A failure leaves the order unchanged.

Orders are cached as ids, without texts. They expire an hour after they were made, however often
they are read. A full cache evicts the least recently read order. After a failure nothing is cached.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from memd.domain.backend import CompletionProvider
from memd.domain.encoding import PairScorer
from memd.domain.settings.retrieval import ScoredMemory
from memd.inject.isolation import json_reply
from memd.recall.rerank import CANDIDATES, blend_scores
from memd.sleep.strategies.ask import Model
from memd.view.view import untrusted_content_directive, wrap_stored

TASK_TAG = "task-data"
SHOWN_CHARS = 500
"""Characters of a memory that the language model reads."""
REPLY_TOKENS = 1_000

Scored = tuple[ScoredMemory, ...]

_RANK = (
    "You order remembered texts by how well each answers a question. Each has a number. "
    'Answer with JSON alone: {"ranking": [...]}, all numbers, each once, the best first.'
)


class QuerySpecificReranker:
    """Orders candidates by a language model."""

    def __init__(
        self, *, provider: CompletionProvider, model: str, cache: RerankerCache | None = None
    ) -> None:
        self._model = Model(provider, model, 0.0, REPLY_TOKENS)
        self._cache = cache

    async def rerank(self, query: str, candidates: Scored) -> Scored:
        """Return *candidates* in the model's order, with unchanged scores.

        The order is unchanged if the model fails or its answer is no permutation. Raises only
        errors of the process (``isolation.SYSTEM_ERRORS``).
        """
        if len(candidates) <= 1:
            return candidates
        cached = await cached_order(self._cache, query, candidates)
        if cached is not None:
            return cached
        reply = await json_reply(
            self._model,
            rerank_prompt(query, candidates),
            system=f"{_RANK}\n\n{untrusted_content_directive((TASK_TAG,))}",
            what="re-ranking by a model",
        )
        order = None if reply is None else permutation(reply.get("ranking"), len(candidates))
        if order is None:
            return candidates
        return await cache_order(self._cache, query, tuple(candidates[place] for place in order))


class CrossEncoderReranker:
    """Orders candidates by a local model that reads question and text together.

    Only the first CANDIDATES change places. Raises the errors of *scorer*, such as DegradedError
    without an installed model; the pipeline then keeps its order and reports the failure.
    """

    def __init__(self, scorer: PairScorer, *, cache: RerankerCache | None = None) -> None:
        self._scorer = scorer
        self._cache = cache

    async def rerank(self, query: str, candidates: Scored) -> Scored:
        """Return *candidates* in the model's order, with unchanged scores."""
        if len(candidates) <= 1:
            return candidates
        cached = await cached_order(self._cache, query, candidates)
        if cached is not None:
            return cached
        first = candidates[:CANDIDATES]
        scores = await blend_scores(
            self._scorer,
            query,
            [text_with_speaker(memory) for memory in first],
            [memory.combined_score for memory in first],
        )
        order = sorted(range(len(first)), key=lambda place: -scores[place])
        ordered = (*(first[place] for place in order), *candidates[CANDIDATES:])
        return await cache_order(self._cache, query, ordered)


def text_with_speaker(memory: ScoredMemory) -> str:
    """Return a memory's text for the model, prefixed with its speaker."""
    entry = memory.entry
    return entry.content if entry.speaker is None else f"{entry.speaker}: {entry.content}"


def rerank_prompt(query: str, candidates: Sequence[ScoredMemory]) -> str:
    """Return the question and one numbered line per candidate, both fenced."""
    lines = [
        f"{place}. score {memory.combined_score:.2f}:"
        f" {json.dumps(memory.entry.content[:SHOWN_CHARS], ensure_ascii=False)}"
        for place, memory in enumerate(candidates)
    ]
    return "\n".join([wrap_stored(TASK_TAG, query), wrap_stored(TASK_TAG, "\n".join(lines))])


def permutation(ranking: Any, count: int) -> list[int] | None:
    """Return *ranking* if it holds each number below *count* once, else None.

    >>> permutation([1, 0], 2), permutation([0, 0], 2), permutation([True, 0], 2)
    ([1, 0], None, None)
    """
    if not isinstance(ranking, list) or any(type(place) is not int for place in ranking):
        return None
    return ranking if sorted(ranking) == list(range(count)) else None


async def cached_order(
    cache: RerankerCache | None, query: str, candidates: Scored
) -> Scored | None:
    """Return *candidates* in their cached order; None without one, or if an id occurs twice."""
    by_id = {memory.entry.id: memory for memory in candidates}
    if cache is None or len(by_id) != len(candidates):
        return None
    ids = await cache.get(cache_key(query, by_id))
    if ids is None or set(ids) != set(by_id):
        return None
    return tuple(by_id[memory_id] for memory_id in ids)


async def cache_order(cache: RerankerCache | None, query: str, ordered: Scored) -> Scored:
    """Cache the order of *ordered*, unless an id occurs twice, and return *ordered*."""
    ids = tuple(memory.entry.id for memory in ordered)
    if cache is not None and len(set(ids)) == len(ids):
        await cache.put(cache_key(query, ids), ids)
    return ordered


TTL_SECONDS = 3_600.0
SIZE_MAX = 1_000


@dataclass
class _CachedOrder:
    ids: tuple[str, ...]
    made_at_s: float
    read_at_s: float


class RerankerCache:
    """A cache of orders by question and set of candidates.

    It holds at most *max_size* orders, each for *ttl_seconds*. Raises ValueError if one of these is
    not above 0. *monotonic* is a clock in seconds.
    """

    def __init__(
        self,
        ttl_seconds: float = TTL_SECONDS,
        max_size: int = SIZE_MAX,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        if not ttl_seconds > 0 or max_size <= 0:
            raise ValueError(
                f"ttl_seconds and max_size must be above 0, not {ttl_seconds} and {max_size}"
            )
        self._ttl_s = ttl_seconds
        self._size = max_size
        self._now = monotonic
        self._orders: dict[str, _CachedOrder] = {}
        self._lock = asyncio.Lock()

    def __len__(self) -> int:
        return len(self._orders)

    async def get(self, key: str) -> tuple[str, ...] | None:
        """Return the order cached under *key*; None if there is none or it has expired."""
        async with self._lock:
            order = self._orders.get(key)
            if order is None:
                return None
            now = self._now()
            if self._is_expired(order, now):
                del self._orders[key]
                return None
            order.read_at_s = now
            return order.ids

    async def put(self, key: str, ids: Iterable[str]) -> None:
        """Cache an order; remove expired ones and, in a full cache, the least recently read."""
        async with self._lock:
            now = self._now()
            expired = [name for name, order in self._orders.items() if self._is_expired(order, now)]
            for name in (*expired, key):
                self._orders.pop(name, None)
            while len(self._orders) >= self._size:
                del self._orders[min(self._orders, key=lambda name: self._orders[name].read_at_s)]
            self._orders[key] = _CachedOrder(tuple(ids), made_at_s=now, read_at_s=now)

    async def invalidate(self, key: str) -> None:
        """Remove one order."""
        async with self._lock:
            self._orders.pop(key, None)

    async def clear(self) -> None:
        """Remove all orders."""
        async with self._lock:
            self._orders.clear()

    def _is_expired(self, order: _CachedOrder, now: float) -> bool:
        return now - order.made_at_s > self._ttl_s


def cache_key(query_text: str, ids: Iterable[str]) -> str:
    """Return the cache key of a question and a set of candidates, independent of their order."""
    key = f"{query_text}|{','.join(sorted(ids))}"
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
