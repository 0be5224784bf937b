"""Memories are put into prompts (SPEC 9, 11-13, D23): gather, compose, answer tool calls.

``prepare`` never refuses a prompt because something went wrong with a memory:
what fails is left out and named. One recall finds preferences, own memories and
shared ones together; the strategy then decides what of it is said, and how.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from memd.base.clock import Clock
from memd.base.ids import Chance
from memd.base.limits import RECALL_BUDGET_TOKENS_MAX
from memd.encode.tokens import DefaultTokenEstimator
from memd.inject.context import ContextInjectionStrategy
from memd.inject.format import formatted
from memd.inject.isolated import Failed, isolated
from memd.inject.own import OwnMemories, Rooms
from memd.inject.pipeline import Pools, without
from memd.inject.prompt import Prompt
from memd.model.backend import SharedKnowledgeStore
from memd.model.caller import Caller
from memd.model.enums import FusionStrategy, InjectionStrategy, SearchMode
from memd.model.inject import PreparedPrompt, PrepareRequest, Reranker
from memd.model.memory import MemoryEntry, MemoryMetadata
from memd.model.recall import MemoryChunk, RecallRequest, RecallResult
from memd.model.retrieval import MemoryRetrievalConfig, ScoredMemory
from memd.recall.filter import MemoryFilterStrategy

NONCE_BYTES = 8

Policies = Callable[[Caller], Awaitable[Sequence[str]]]
"""Returns what everybody has to heed, in order."""


@dataclass(frozen=True)
class Inject:
    """The room's needs, handed in by the daemon."""

    rooms: Rooms
    config: MemoryRetrievalConfig
    clock: Clock
    shared: SharedKnowledgeStore | None = None
    policies: Policies | None = None
    memory_filter: MemoryFilterStrategy | None = None
    reranker: Reranker | None = None
    chance: Chance = secrets.token_bytes

    async def prepare(self, caller: Caller, request: PrepareRequest) -> PreparedPrompt:
        """Return one prompt for a question, within its budget.

        Raises for nothing but a request that is wrong: what fails is left out, and
        *degraded* names it.
        """
        strategy = request.strategy or self.config.strategy
        nonce = self.chance(NONCE_BYTES).hex() if request.nonce else None
        prompt = Prompt(request.token_budget, DefaultTokenEstimator())
        found, failed = RecallResult(), Failed()
        if request.token_budget > 0:
            found = await self._composed(prompt, caller, request, strategy, nonce, failed)
        return PreparedPrompt(
            strategy=strategy,
            messages=tuple(prompt.messages),
            memories=prompt.memories,
            token_budget=request.token_budget,
            tokens_used=prompt.used,
            left_out=prompt.left_out,
            minimum_required_tokens=prompt.minimum,
            gate=found.gate,
            degraded=_degraded(found, failed),
            nonce=nonce,
        )

    async def _composed(
        self,
        prompt: Prompt,
        caller: Caller,
        request: PrepareRequest,
        strategy: InjectionStrategy,
        nonce: str | None,
        failed: Failed,
    ) -> RecallResult:
        prompt.add_policies(await isolated(self._policies(caller), (), "policies", failed))
        found = await isolated(
            self._recalled(caller, request, SearchMode.HYBRID), RecallResult(), "memories", failed
        )
        preferences = [chunk for chunk in found.memories if chunk.preference]
        shown = prompt.add_preferences([chunk.content for chunk in preferences])
        told = [told for place in shown for told in _told(preferences[place])]
        scored = await isolated(self._arranged(caller, request, found), (), "ranking", failed)
        left = without(scored, told)
        prompt.add_memories(
            formatted(
                left,
                estimator=prompt.estimator,
                token_budget=prompt.left,
                injection_point=self.config.injection_point,
                nonce=nonce,
            ),
            len(left),
        )
        return found

    async def _policies(self, caller: Caller) -> Sequence[str]:
        return () if self.policies is None else await self.policies(caller)

    async def _recalled(
        self, caller: Caller, request: PrepareRequest, mode: SearchMode
    ) -> RecallResult:
        """Return preferences and the whole pool: what is cut is cut here, by this room's rules."""
        shared = request.include_shared
        asked = RecallRequest(
            query=request.query,
            token_budget=RECALL_BUDGET_TOKENS_MAX,
            categories=request.categories,
            project_id=request.project_id,
            include_shared=self.config.include_shared if shared is None else shared,
            search_mode=mode,
        )
        asked = asked.model_copy(update={"top_k": self.config.pool_size})
        return await self.rooms.recall.recall(caller, asked)

    async def _arranged(
        self, caller: Caller, request: PrepareRequest, found: RecallResult
    ) -> tuple[ScoredMemory, ...]:
        strategy = ContextInjectionStrategy(
            backend=OwnMemories(self.rooms, caller),
            config=self.config,
            shared_store=self.shared,
            memory_filter=self.memory_filter,
            reranker=self.reranker,
            clock=self.clock,
        )
        sparse: tuple[MemoryEntry, ...] = ()
        chunks = [chunk for chunk in found.memories if not chunk.preference]
        if chunks and self.config.fusion_strategy is FusionStrategy.RRF:
            words = await self._recalled(
                caller, request.model_copy(update={"include_shared": False}), SearchMode.WORDS
            )
            sparse = tuple(_entry(chunk) for chunk in words.memories if not chunk.preference)
        pools = Pools(
            tuple(_entry(chunk) for chunk in chunks if not chunk.is_shared),
            tuple(_entry(chunk) for chunk in chunks if chunk.is_shared),
            sparse,
        )
        return await strategy.arranged(pools, request.query)


def _entry(chunk: MemoryChunk) -> MemoryEntry:
    return MemoryEntry(
        id=chunk.id,
        agent_id=chunk.user_id,
        namespace=chunk.namespace,
        category=chunk.memory_type,
        content=chunk.content,
        metadata=MemoryMetadata(source=chunk.source, tags=chunk.tags),
        created_at=chunk.created_at,
        updated_at=chunk.updated_at,
        occurred_at=chunk.occurred_at,
        relevance_score=chunk.relevance_score,
        session_id=chunk.session_id,
        speaker=chunk.speaker,
        importance=chunk.importance,
        token_count=chunk.token_count,
        state=chunk.state,
        origin=chunk.origin,
        trust=chunk.trust,
    )


def _told(preference: MemoryChunk) -> tuple[str, str]:
    return preference.id, preference.content


def _degraded(found: RecallResult, failed: Failed) -> str | None:
    said = [f"{what} failed and is left out" for what in dict.fromkeys(failed)]
    return "; ".join([*([found.degraded] if found.degraded else []), *said]) or None
