"""The strategy ``context``: put memories into the prompt before the assistant starts (SPEC 9).

A source that fails only makes the prompt shorter.
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
    SupportsRetrieve,
    SupportsSharedSearch,
    TokenEstimator,
    ToolDefinition,
)
from memd.domain.memory import MemoryQuery
from memd.domain.settings.retrieval import MemoryRetrievalConfig, ScoredMemory
from memd.inject.format import format_memory_context_with_directive
from memd.inject.isolation import Failed, isolate
from memd.inject.pipeline import Entries, MemoryFilterStrategy, Pools, rank, rerank_and_select
from memd.text.tokens import DefaultTokenEstimator

Scored = tuple[ScoredMemory, ...]
Search = Callable[[str, MemoryQuery], Awaitable[Entries]]


class ContextInjectionStrategy:
    """Retrieves, ranks, filters and formats memories for a prompt.

    Uses only ``retrieve`` of *backend*, and ``retrieve_sparse`` for rank fusion. Raises
    ValueError when *config* asks for a hierarchical retriever or a re-ranker and none is
    given. An explicit *memory_filter* takes precedence over ``non_inferable_only``.
    """

    strategy_name = "context_injection"

    def __init__(  # noqa: PLR0913  # the documented parameters
        self,
        *,
        backend: SupportsRetrieve,
        config: MemoryRetrievalConfig,
        shared_store: SupportsSharedSearch | None = None,
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

    async def prepare_messages(
        self,
        agent_id: str,
        query_text: str,
        token_budget: int,
        categories: frozenset[MemoryCategory] | None = None,
    ) -> tuple[ChatMessage, ...]:
        """Return the directive and the memories that fit, or () if there are none.

        Raises only errors of the process (``isolation.SYSTEM_ERRORS``).
        """
        if token_budget <= 0:
            return ()
        return await isolate(
            self._prepare(agent_id, query_text, token_budget, categories), (), "context"
        )

    def get_tool_definitions(self) -> tuple[ToolDefinition, ...]:
        """Return no tools: the memories are in the prompt."""
        return ()

    async def select_memories(
        self,
        agent_id: str,
        query_text: str,
        categories: frozenset[MemoryCategory] | None = None,
        failed: Failed | None = None,
    ) -> Scored:
        """Return the memories for the prompt, best first, regardless of the budget.

        Adds the names of sources that failed to *failed*.
        """
        if self._retriever is not None:
            scored = await self._retriever.retrieve_scored(
                agent_id, query_text, limit=self._config.pool_size, categories=categories
            )
        else:
            pools = await self._fetch_pools(agent_id, query_text, categories, failed)
            scored = rank(pools, self._config, from_us(self._clock.now_us()))
        return await rerank_and_select(
            scored,
            query_text,
            self._config,
            reranker=self._reranker,
            memory_filter=self._filter,
            failed=failed,
        )

    async def _prepare(
        self,
        agent_id: str,
        query_text: str,
        token_budget: int,
        categories: frozenset[MemoryCategory] | None,
    ) -> tuple[ChatMessage, ...]:
        return format_memory_context_with_directive(
            await self.select_memories(agent_id, query_text, categories),
            estimator=self._estimator,
            token_budget=token_budget,
            injection_point=self._config.injection_point,
        )

    async def _fetch_pools(
        self,
        agent_id: str,
        query_text: str,
        categories: frozenset[MemoryCategory] | None,
        failed: Failed | None,
    ) -> Pools:
        """Query all sources concurrently; a source that fails has no entries (SPEC 9.5)."""
        query = MemoryQuery(text=query_text, categories=categories, limit=self._config.pool_size)

        def fetch(entries: Awaitable[Entries], source: str) -> asyncio.Task[Entries]:
            return group.create_task(isolate(entries, (), source, failed))

        async with asyncio.TaskGroup() as group:
            personal = fetch(self._backend.retrieve(agent_id, query), "memories")
            shared = fetch(self._search_shared(agent_id, query), "shared")
            sparse = fetch(self._search_words(agent_id, query), "words")
        return Pools(personal.result(), shared.result(), sparse.result())

    async def _search_shared(self, agent_id: str, query: MemoryQuery) -> Entries:
        if self._shared is None:
            return ()
        return await self._shared.search_shared(query, exclude_agent=agent_id)

    async def _search_words(self, agent_id: str, query: MemoryQuery) -> Entries:
        if self._config.fusion_strategy is not FusionStrategy.RRF:
            return ()
        return await retrieve_sparse(self._backend, agent_id, query)


async def retrieve_sparse(backend: Any, agent_id: str, query: MemoryQuery) -> Entries:
    """Return the memories that *backend* retrieves by words alone, best first (SPEC 8.4.9).

    The backend may have a method of this name with the parameters of ``retrieve``. Without it, the
    result is ().
    """
    search: Search | None = getattr(backend, "retrieve_sparse", None)
    return () if search is None else tuple(await search(agent_id, query))
