"""The strategy ``context``: what is known is written into the prompt beforehand (SPEC 9).

An assistant that gets its memories this way can do without memd: whatever
fails, the prompt is only shorter.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from memd.base.clock import Clock, SystemClock, from_us
from memd.domain.enums import FusionStrategy, MemoryCategory
from memd.domain.inject import (
    ChatMessage,
    Reranker,
    Retriever,
    Retrieves,
    SearchesShared,
    TokenEstimator,
    ToolDefinition,
)
from memd.domain.memory import MemoryQuery
from memd.domain.settings.retrieval import MemoryRetrievalConfig, ScoredMemory
from memd.inject.format import format_memory_context_with_directive
from memd.inject.isolated import Failed, isolated
from memd.inject.pipeline import Entries, Pools, ranked, reranked, selected
from memd.recall.filter import MemoryFilterStrategy
from memd.text.tokens import DefaultTokenEstimator

Scored = tuple[ScoredMemory, ...]
Search = Callable[[str, MemoryQuery], Awaitable[Entries]]


class ContextInjectionStrategy:
    """Finds, ranks, filters and formats, before the assistant begins.

    Needs of *backend* only ``retrieve``, and ``retrieve_sparse`` for fusion by
    ranks. Raises ValueError when *config* asks for a hierarchical retriever or a
    re-ranker and none is given. An explicit *memory_filter* wins over
    ``non_inferable_only``.
    """

    def __init__(  # noqa: PLR0913  # the documented parameters
        self,
        *,
        backend: Retrieves,
        config: MemoryRetrievalConfig,
        shared_store: SearchesShared | None = None,
        token_estimator: TokenEstimator | None = None,
        memory_filter: MemoryFilterStrategy | None = None,
        hierarchical_retriever: Retriever | None = None,
        reranker: Reranker | None = None,
        clock: Clock | None = None,
    ) -> None:
        if config.retriever == "hierarchical" and hierarchical_retriever is None:
            raise ValueError("retriever hierarchical needs a hierarchical_retriever")
        if config.query_specific_rerank_enabled and reranker is None:
            raise ValueError("query_specific_rerank_enabled needs a reranker")
        self._backend = backend
        self._config = config
        self._shared = shared_store if config.include_shared else None
        self._estimator = token_estimator or DefaultTokenEstimator()
        self._filter = memory_filter
        self._retriever = hierarchical_retriever if config.retriever == "hierarchical" else None
        self._reranker = reranker if config.query_specific_rerank_enabled else None
        self._clock = clock or SystemClock()

    @property
    def strategy_name(self) -> str:
        return "context_injection"

    async def prepare_messages(
        self,
        agent_id: str,
        query_text: str,
        token_budget: int,
        categories: frozenset[MemoryCategory] | None = None,
    ) -> tuple[ChatMessage, ...]:
        """Return the directive and the memories that fit, or () when there is nothing to say.

        Never raises for what goes wrong with memories; an exhausted process does.
        """
        if token_budget <= 0:
            return ()
        return await isolated(
            self._prepared(agent_id, query_text, token_budget, categories), (), "context"
        )

    def get_tool_definitions(self) -> tuple[ToolDefinition, ...]:
        """Return no tools: everything is in the prompt already."""
        return ()

    async def chosen(
        self,
        agent_id: str,
        query_text: str,
        categories: frozenset[MemoryCategory] | None = None,
        failed: Failed | None = None,
    ) -> Scored:
        """Return what would be put into the prompt, best first, whatever its size.

        The names of sources that failed are added to *failed*.
        """
        if self._retriever is not None:
            scored = await self._retriever.scored(
                agent_id, query_text, limit=self._config.pool_size, categories=categories
            )
            return await self._cut(scored, query_text, failed)
        pools = await self._fetched(agent_id, query_text, categories, failed)
        return await self.arranged(pools, query_text, failed)

    async def arranged(self, pools: Pools, query_text: str, failed: Failed | None = None) -> Scored:
        """Return what would be put into the prompt of what the sources have found."""
        now = from_us(self._clock.now_us())
        return await self._cut(ranked(pools, self._config, now), query_text, failed)

    async def _cut(self, scored: Scored, query_text: str, failed: Failed | None) -> Scored:
        ordered = await reranked(scored, query_text, self._reranker, failed)
        return selected(ordered, self._config, self._filter, by_rank=ordered is not scored)

    async def _prepared(
        self,
        agent_id: str,
        query_text: str,
        token_budget: int,
        categories: frozenset[MemoryCategory] | None,
    ) -> tuple[ChatMessage, ...]:
        return format_memory_context_with_directive(
            await self.chosen(agent_id, query_text, categories),
            estimator=self._estimator,
            token_budget=token_budget,
            injection_point=self._config.injection_point,
        )

    async def _fetched(
        self,
        agent_id: str,
        query_text: str,
        categories: frozenset[MemoryCategory] | None,
        failed: Failed | None,
    ) -> Pools:
        """Ask all sources at once; one that fails found nothing (SPEC 9.5)."""
        query = MemoryQuery(text=query_text, categories=categories, limit=self._config.pool_size)

        def asked(entries: Awaitable[Entries], what: str) -> asyncio.Task[Entries]:
            return group.create_task(isolated(entries, (), what, failed))

        async with asyncio.TaskGroup() as group:
            personal = asked(self._backend.retrieve(agent_id, query), "memories")
            shared = asked(self._search_shared(agent_id, query), "shared")
            sparse = asked(self._by_words(agent_id, query), "words")
        return Pools(personal.result(), shared.result(), sparse.result())

    async def _search_shared(self, agent_id: str, query: MemoryQuery) -> Entries:
        if self._shared is None:
            return ()
        return await self._shared.search_shared(query, exclude_agent=agent_id)

    async def _by_words(self, agent_id: str, query: MemoryQuery) -> Entries:
        if self._config.fusion_strategy is not FusionStrategy.RRF:
            return ()
        return await retrieve_sparse(self._backend, agent_id, query)


async def retrieve_sparse(backend: Any, agent_id: str, query: MemoryQuery) -> Entries:
    """Return what *backend* finds by words alone, best first; () where it cannot (SPEC 8.4.9).

    A backend that can has a method of this name with the parameters of
    ``retrieve``.
    """
    search: Search | None = getattr(backend, "retrieve_sparse", None)
    return () if search is None else tuple(await search(agent_id, query))
