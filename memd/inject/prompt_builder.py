"""Compose one prompt: gather all sources at once, then add their texts within the budget."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from memd.base.clock import from_us
from memd.base.limits import POLICIES_SHOWN_ITEMS_MAX
from memd.domain.caller import Caller
from memd.domain.enums import InjectionStrategy, Passing, Trust
from memd.domain.inject import (
    ChatMessage,
    MessageRole,
    PreparedPrompt,
    PrepareRequest,
    Retriever,
)
from memd.domain.recall import MemoryChunk, RecallResult
from memd.domain.settings.retrieval import NON_INFERABLE_TAG, MemoryRetrievalConfig, ScoredMemory
from memd.domain.trust import mark_of_preference
from memd.extract.passing import passing_kind
from memd.guard.redaction import redact
from memd.inject.context import ContextInjectionStrategy
from memd.inject.format import (
    PreferenceLine,
    directive,
    format_memories,
    to_preference_line,
)
from memd.inject.isolation import Failed, describe_failures, isolate
from memd.inject.knowledge import KnowledgeCandidates, RelevantKnowledge
from memd.inject.own_memories import (
    OwnMemories,
    fetch_pools,
    only_preferences,
    recall_for_prompt,
    without_preferences,
)
from memd.inject.pipeline import (
    disable_unavailable,
    exclude,
    rank,
    rerank_and_select,
    uses_fusion,
    with_relevance,
    without_threshold,
)
from memd.inject.prompt import Prompt, PromptContent
from memd.inject.session_windows import PromptWindow
from memd.inject.tools import calls, extra_tools
from memd.inject.tools.editing_tools import instruction
from memd.inject.tools.self_editing import SelfEditingMemoryStrategy
from memd.inject.tools.tool_based import QUALIFIES
from memd.text.tokens import DefaultTokenEstimator

if TYPE_CHECKING:
    from memd.inject.inject import Inject

P = ParamSpec("P")
T = TypeVar("T")

TAGGED_ONLY = (
    f"A memory is in prompts like this one only if it is tagged {NON_INFERABLE_TAG}. {QUALIFIES}"
)
"""The instruction in prompts with ``non_inferable_only`` (seed 004, decision log D23)."""
BLOCK_TRIES = 4
"""Attempts to synthesize a block that fits: the tokens of its line marks are known afterwards."""


@dataclass
class PromptBuilder:
    """Composes one prompt for a request to *room*."""

    room: Inject
    caller: Caller
    request: PrepareRequest
    strategy: InjectionStrategy
    nonce: str | None
    synthesize: bool
    failed: Failed = field(default_factory=list)
    result: RecallResult = field(default_factory=RecallResult)

    def __post_init__(self) -> None:
        self.prompt = Prompt(
            self.request.token_budget,
            DefaultTokenEstimator(),
            nonce=self.nonce,
            project_id=self.request.project_id or self.caller.project_id,
        )
        self.window = PromptWindow(self.room.windows, self.caller, self.request)

    async def compose(self) -> None:
        """Gather all sources, and add their texts in order of importance."""
        # The other sources wait until the recall is retrieving, so as not to delay its reads.
        retrieving = asyncio.Event()
        memories = isolate(
            self._gather_memories(retrieving.set), ([], self.result), "memories", self.failed
        )
        (preferences, self.result), policies, candidates = await asyncio.gather(
            _notify_after(memories, retrieving.set),
            _run_after(retrieving, lambda: isolate(self._policies(), (), "policies", self.failed)),
            _run_after(retrieving, self._find_knowledge),
        )
        if self.request.session_id is not None:
            self.result = await isolate(self.window.drop_own(self.result), self.result, "window")
        await self._offload(policies, self.prompt.add_policies, policies)
        shown = await self._add_preferences(preferences)
        if self.strategy is InjectionStrategy.SELF_EDITING:
            await self._add_core()
        elif self.strategy is InjectionStrategy.TOOL_BASED:
            await self._add_search_instructions()
        if self.synthesize:
            await self._add_block()
        elif self.strategy is InjectionStrategy.CONTEXT and self._has_question:
            await self._add_content(candidates, shown)

    def finish(self) -> PreparedPrompt:
        """Return the composed prompt."""
        prompt = self.prompt.finish(self.strategy, self.nonce, self.window.left_out)
        failures = describe_failures(self.failed) if self.failed else None
        degraded = "; ".join(filter(None, (self.result.degraded, failures))) or None
        return prompt.model_copy(update={"gate": self.result.gate, "degraded": degraded})

    async def _add_preferences(
        self, preferences: Sequence[tuple[str, PreferenceLine]]
    ) -> list[str]:
        """Add the preferences that fit; return their ids and texts, which must not be repeated.

        Ids of memories that the recall also returned are left out: these may say more.
        """
        lines = [line for _, line in preferences]
        indexes = await self._offload(
            [line.line for line in lines], self.prompt.add_preferences, lines
        )
        included = [preferences[index] for index in indexes]
        ids = {memory_id for memory_id, _ in included}
        ids -= {chunk.id for chunk in without_preferences(self.result)}
        return [*ids, *(line.text for _, line in included)]

    async def _add_search_instructions(self) -> None:
        strategy = calls.search_strategy(self._memories, self.room.config)
        messages = await strategy.prepare_messages(
            self.caller.agent_id, self.request.query, self.prompt.tokens_left
        )
        extra = await self._extra_instructions()
        self.prompt.add_instructions([_append_text(message, extra) for message in messages])

    async def _add_content(self, candidates: KnowledgeCandidates, shown: Sequence[str]) -> None:
        """Add the memories and knowledge that fit the question; *shown*: ids and texts to omit."""
        scored = await isolate(self._rank_memories(), (), "ranking", self.failed)
        if shown:
            scored = exclude(scored, shown)
        knowledge = await self._select_knowledge(candidates)
        if self.request.session_id is not None:
            scored, knowledge = await isolate(
                self.window.drop_seen(scored, knowledge), (scored, knowledge), "window"
            )
        if self.room.config.non_inferable_only:
            instruction = ChatMessage(role=MessageRole.SYSTEM, content=TAGGED_ONLY)
            self.prompt.add_instructions([instruction])
        point = self.room.config.injection_point
        content = PromptContent(knowledge, scored, point, self.nonce)
        await self._offload(content.texts, self.prompt.add_content, content)

    async def _offload(
        self, texts: Sequence[str], call: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return the result of *call*, which reads all *texts*; long ones in the work thread."""
        return await self.room.work.run_sized(sum(map(len, texts)), call, *args, **kwargs)

    @property
    def _has_question(self) -> bool:
        """Whether the query is more than an acknowledgement such as "yes" or "go on"."""
        return passing_kind(self.request.query) is not Passing.ACKNOWLEDGEMENT

    @property
    def _memories(self) -> OwnMemories:
        return OwnMemories(self.room.rooms, self.caller)

    async def _extra_instructions(self) -> str:
        """Return the instructions to search facts and sessions, for those that exist."""
        facts = await isolate(self._fact_instruction(), "", "facts", self.failed)
        return facts + await isolate(self._session_instruction(), "", "sessions", self.failed)

    async def _session_instruction(self) -> str:
        sessions = self.room.sessions
        has_sessions = sessions is not None and await sessions.has_messages(self.caller)
        return extra_tools.SESSIONS_TOOL_INSTRUCTION if has_sessions else ""

    async def _fact_instruction(self) -> str:
        knowledge, query = self.room.knowledge, self.request.query
        has_facts = knowledge is not None and await knowledge.has_facts(self.caller, query)
        return extra_tools.FACTS_TOOL_INSTRUCTION if has_facts else ""

    async def _find_knowledge(self) -> KnowledgeCandidates:
        """Return candidates besides memories; none if the request has categories of memories."""
        knowledge = self.room.knowledge
        uses_knowledge = self.strategy is InjectionStrategy.CONTEXT and not self.synthesize
        if knowledge is None or not uses_knowledge or self.request.categories is not None:
            return KnowledgeCandidates()
        return await knowledge.find_candidates(self.caller, self.request.query, self.failed)

    async def _select_knowledge(self, candidates: KnowledgeCandidates) -> RelevantKnowledge:
        """Return the candidates that fit; called after the recall, which embeds the query."""
        knowledge, query = self.room.knowledge, self.request.query
        if knowledge is None or candidates == KnowledgeCandidates():
            return RelevantKnowledge()
        return await knowledge.select_relevant(query, candidates, self.failed)

    async def _policies(self) -> tuple[str, ...]:
        if self.room.org is None:
            return ()
        policies = await self.room.org.list_policies(self.caller, limit=POLICIES_SHOWN_ITEMS_MAX)
        return tuple(redact(policy.content) for policy in policies)

    async def _gather_memories(
        self, on_retrieving: Callable[[], object]
    ) -> tuple[list[tuple[str, PreferenceLine]], RecallResult]:
        """Return the preferences, each with its memory's id, and the result of the recall."""
        if self.strategy is InjectionStrategy.CONTEXT:
            result = await recall_for_prompt(
                self.room.rooms,
                self.caller,
                self.request,
                self.room.config,
                on_retrieving=on_retrieving,
            )
            lines = [(chunk.id, _preference_line(chunk)) for chunk in only_preferences(result)]
            return lines, result
        preferences = await self.room.rooms.recall.preferences(self.caller)
        lines = [
            (preference.memory_id or preference.name, to_preference_line(preference))
            for preference in preferences
        ]
        return lines, RecallResult()

    async def _rank_memories(self) -> tuple[ScoredMemory, ...]:
        if not without_preferences(self.result):
            return ()
        room, request = self.room, self.request
        if room.retriever is not None and room.config.retriever == "hierarchical":
            return await self._search_by_workers(room.retriever)
        pools = await fetch_pools(self.result, room.rooms, self.caller, request, room.config)
        is_fused = uses_fusion(pools, room.config)
        config = room.config if is_fused else without_threshold(room.config)
        scored = await rerank_and_select(
            rank(pools, config, from_us(room.clock.now_us())),
            request.query,
            config,
            reranker=room.reranker if config.query_specific_rerank_enabled else None,
            memory_filter=room.memory_filter,
            failed=self.failed,
        )
        return scored if is_fused else with_relevance(scored)

    async def _search_by_workers(
        self, make_retriever: Callable[[OwnMemories, MemoryRetrievalConfig], Retriever]
    ) -> tuple[ScoredMemory, ...]:
        """Return the results of a hierarchical retriever, which makes its own searches."""
        room, memories, request = self.room, self._memories, self.request
        config = without_threshold(room.config)
        if request.include_shared is not None:
            config = config.model_copy(update={"include_shared": request.include_shared})
        retriever = make_retriever(memories, config)
        strategy = ContextInjectionStrategy(
            backend=memories,
            config=disable_unavailable(config, retriever, room.reranker),
            shared_store=memories,
            memory_filter=room.memory_filter,
            hierarchical_retriever=retriever,
            reranker=room.reranker,
            clock=room.clock,
        )
        return await strategy.select_memories(
            self.caller.agent_id, request.query, request.categories, self.failed
        )

    async def _add_core(self) -> None:
        """Add the instruction how to edit core memory, if it fits, and then the core memory.

        If no core memory is in the prompt, the instruction includes the directive, because the
        answers of the tools are fenced as well.
        """
        config = self.room.editing
        failed_before = len(self.failed)
        strategy = SelfEditingMemoryStrategy(backend=self._memories, config=config)
        core = await strategy.core(self.caller.agent_id, self.failed)
        formatted_core = format_memories(
            core,
            estimator=self.prompt.estimator,
            token_budget=min(self.prompt.tokens_left, config.core_memory_token_budget),
            nonce=self.nonce,
        )
        text = instruction(config, empty=not core and len(self.failed) == failed_before)
        text += await self._extra_instructions()
        if not formatted_core.messages:
            text = f"{text}\n\n{directive()}"
        message = ChatMessage(role=MessageRole.SYSTEM, content=text)
        self.prompt.add_instructions([message], formatted_core.tokens)
        self.prompt.add_memories(formatted_core, len(core))

    async def _add_block(self) -> None:
        """Add a synthesized block, with fewer tokens until it fits with its fence and marks."""
        synthesizer = self.room.synthesizer
        assert synthesizer is not None
        tokens_max = tokens = self.prompt.room_for_block(self.nonce)
        for _ in range(BLOCK_TRIES):
            if tokens <= 0:
                break
            work = synthesizer.synthesize(self.caller, self.request.query, tokens)
            block = await isolate(work, "", "synthesis", self.failed)
            excess = self.prompt.add_block(block, self.room.config.injection_point, self.nonce)
            if excess <= 0:
                return
            # Reduced in proportion to the excess, and by at least one token.
            tokens = min(tokens - 1, tokens * tokens_max // (tokens_max + excess))
        self.prompt.leave_out_block()


async def _notify_after(work: Awaitable[T], notify: Callable[[], object]) -> T:
    """Return the result of *work*; call *notify* at its end, also if it raises."""
    try:
        return await work
    finally:
        notify()


async def _run_after(event: asyncio.Event, work: Callable[[], Awaitable[T]]) -> T:
    """Return the result of *work*, which starts when *event* is set."""
    await event.wait()
    return await work()


def _preference_line(chunk: MemoryChunk) -> PreferenceLine:
    mark = mark_of_preference(chunk.origin, confirmed=chunk.trust is Trust.OWNER)
    return PreferenceLine(chunk.content, mark, chunk.set_by_name, chunk.updated_at)


def _append_text(message: ChatMessage, text: str) -> ChatMessage:
    return message.model_copy(update={"content": f"{message.content}{text}"})
