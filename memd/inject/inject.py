"""Memories are put into prompts (SPEC 9, 11-13, D23): gather, compose, answer tool calls.

``prepare`` never refuses a prompt because something went wrong with a memory:
what fails is left out and named. Policies, preferences and memories share one
budget, in this order; what is left out is counted.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from memd.base.clock import Clock
from memd.base.errors import MemoryCapabilityError
from memd.base.ids import Chance
from memd.base.limits import POLICIES_SHOWN_ITEMS_MAX
from memd.base.work import Work
from memd.domain.caller import Caller
from memd.domain.enums import InjectionStrategy, Passing, Trust
from memd.domain.inject import (
    ChatMessage,
    MessageRole,
    PreparedPrompt,
    PrepareRequest,
    Reranker,
    Retriever,
    SelfEditingMemoryConfig,
    ToolAnswer,
    ToolDefinition,
)
from memd.domain.recall import MemoryChunk, RecallResult
from memd.domain.settings.retrieval import NON_INFERABLE_TAG, MemoryRetrievalConfig, ScoredMemory
from memd.domain.trust import mark_of_preference
from memd.embedding.patience import patience
from memd.extract.passing import passing
from memd.guard.outgoing import outgoing
from memd.inject.context import ContextInjectionStrategy
from memd.inject.format import directive, formatted
from memd.inject.in_window import PromptWindow, SessionWindows
from memd.inject.isolated import Failed, isolated, spoken
from memd.inject.known import Fits, Knowledge, Offers
from memd.inject.own import MemoryRooms, OwnMemories, memories, pools_of, preferences, recalled
from memd.inject.pipeline import Pools, as_recalled, fuses, gated, possible, without
from memd.inject.prompt import Fitted, PreferenceLine, Prompt, said_of
from memd.inject.tools import calls, fact_tool, session_tool
from memd.inject.tools.arguments import ERROR
from memd.inject.tools.editing_tools import instruction
from memd.inject.tools.fact_tool import NO_FACTS, SEARCH_FACTS
from memd.inject.tools.session_tool import NO_MESSAGES, SEARCH_SESSIONS
from memd.inject.tools.tool_based import QUALIFIES, UNAVAILABLE, UNEXPECTED
from memd.recall.filter import MemoryFilterStrategy
from memd.text.tokens import DefaultTokenEstimator

if TYPE_CHECKING:
    from memd.ingest.sessions import Sessions
    from memd.inject.synthesis import Synthesis
    from memd.org.org import Org

P = ParamSpec("P")
T = TypeVar("T")

TAGGED_ALONE = (
    f"A memory is told in prompts like this one only if it is tagged {NON_INFERABLE_TAG}. "
    f"{QUALIFIES}"
)
"""What an assistant is told where the tag decides (seed 004, decision log D23)."""
NONCE_BYTES = 8
BLOCK_TRIES = 4  # how many lines a block has, and so marks, is known when it is made


@dataclass(frozen=True)
class Inject:
    """The room's needs, handed in by the daemon. What is None is done without."""

    rooms: MemoryRooms
    config: MemoryRetrievalConfig
    clock: Clock
    org: Org | None = None
    knowledge: Knowledge | None = None
    sessions: Sessions | None = None
    windows: SessionWindows | None = None
    synthesizer: Synthesis | None = None
    memory_filter: MemoryFilterStrategy | None = None
    reranker: Reranker | None = None
    retriever: Callable[[OwnMemories, MemoryRetrievalConfig], Retriever] | None = None
    """Makes a retriever over one caller's memories, which also search what is shared."""
    judges: calls.SearchJudges = calls.BY_RULE
    editing: SelfEditingMemoryConfig = field(default_factory=SelfEditingMemoryConfig)
    chance: Chance = secrets.token_bytes
    work: Work = field(default_factory=Work)
    """Where prompts of long texts are put together."""
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def prepare(self, caller: Caller, request: PrepareRequest) -> PreparedPrompt:
        """Return one prompt for a question, within its budget.

        What fails is left out, and *degraded* names it. Raises MemoryCapabilityError
        when a synthesized block is asked for and nobody makes one.
        """
        is_synthesis = request.synthesize
        synthesize = self.config.synthesize if is_synthesis is None else is_synthesis
        if synthesize and self.synthesizer is None:
            raise MemoryCapabilityError("nothing here synthesizes", field="synthesize")
        strategy = request.strategy or self.config.strategy
        nonce = self.chance(NONCE_BYTES).hex() if request.nonce else None
        making = _Making(self, caller, request, strategy, nonce, synthesize=synthesize)
        async with making.window.turn():
            if request.token_budget > 0:
                with patience(request.patience_ms):
                    await making.compose()
            making.window.note(making.prompt.ids)
        return making.prompt.prepared(strategy, nonce, making.window.left_out).model_copy(
            update={
                "gate": making.result.gate,
                "degraded": _degraded(making.result, making.failed),
            }
        )

    def tools(self, strategy: InjectionStrategy | None = None) -> tuple[ToolDefinition, ...]:
        """Return the tools of a strategy, by default of the one in the settings."""
        return calls.definitions(strategy or self.config.strategy)

    async def call(
        self,
        caller: Caller,
        name: str,
        arguments: Mapping[str, Any],
        strategy: InjectionStrategy | None = None,
    ) -> ToolAnswer:
        """Answer one tool call; without a *strategy* the tool's name says whose it is.

        A write that comes again under its idempotency key is answered as before. Raises
        InvalidError for a tool that there is not, DeniedError for one that writes when the
        caller may only read, ConflictError for a key that was another request's.
        """
        chosen = calls.strategy_of(name, strategy)
        calls.check_scope(caller, name)
        beside = await self._beside(caller, name, arguments)
        if beside is not None:
            return beside
        if not calls.writes(name):
            return await self._answered(chosen, OwnMemories(self.rooms, caller), name, arguments)
        async with self.writing:  # a repetition waits for the first, which may still be at work
            repeated = await self.rooms.ingest.was_done(caller)
            own = OwnMemories(self.rooms, caller, repeated)
            return await self._answered(chosen, own, name, arguments)

    async def _beside(
        self, caller: Caller, name: str, arguments: Mapping[str, Any]
    ) -> ToolAnswer | None:
        """Answer a tool that stands beside the documented ones; None for one that does not."""
        work, text = None, ""
        if name == SEARCH_FACTS:
            text = NO_FACTS
            if self.knowledge is not None:
                work = fact_tool.searched(self.knowledge, caller, arguments)
        elif name == SEARCH_SESSIONS:
            text = NO_MESSAGES
            if self.sessions is not None:
                work = session_tool.searched(self.sessions, caller, arguments)
        else:
            return None
        if work is not None:
            text = await spoken(work, UNAVAILABLE, UNEXPECTED)
        return ToolAnswer(name=name, content=text, is_error=text.startswith(ERROR))

    async def _answered(
        self,
        strategy: InjectionStrategy,
        own: OwnMemories,
        name: str,
        arguments: Mapping[str, Any],
    ) -> ToolAnswer:
        made = calls.memory_tools(strategy, own, self.config, self.editing, self.judges)
        return await calls.answered(made, name, arguments, own.caller.agent_id)


@dataclass
class _Making:
    """One prompt in the making."""

    room: Inject
    caller: Caller
    request: PrepareRequest
    strategy: InjectionStrategy
    nonce: str | None
    synthesize: bool
    failed: Failed = field(default_factory=list)
    result: RecallResult = field(default_factory=RecallResult)

    def __post_init__(self) -> None:
        self.prompt = Prompt(self.request.token_budget, DefaultTokenEstimator(), nonce=self.nonce)
        self.window = PromptWindow(self.room.windows, self.caller, self.request)

    async def compose(self) -> None:
        """Gather what there is, and add it in the order in which it matters."""
        free = asyncio.Event()
        (lines_by, self.result), policies, offers = await asyncio.gather(
            _announcing(
                isolated(self._gathered(free.set), ([], self.result), "memories", self.failed),
                free.set,
            ),
            _once(free, lambda: isolated(self._policies(), (), "policies", self.failed)),
            _once(free, self._offered),
        )
        self.result = await isolated(self.window.foreign(self.result), self.result, "window")
        await self._weighed(policies, self.prompt.add_policies, policies)
        prefers = [parts for _, parts in lines_by]
        texts = [each.text for each in prefers]
        shown = await self._weighed(texts, self.prompt.add_preferences, prefers)
        parts = [part for place in shown for part in (lines_by[place][0], lines_by[place][1].text)]
        if self.strategy is InjectionStrategy.SELF_EDITING:
            await self._add_core()
        elif self.strategy is InjectionStrategy.TOOL_BASED:
            messages = await calls.searching(self._own, self.room.config).prepare_messages(
                self.caller.agent_id, self.request.query, self.prompt.left
            )
            beside = await self._of_tools_beside()
            self.prompt.add_instructions([_with(each, beside) for each in messages])
        if self.synthesize:
            await self._add_block()
        elif self.strategy is InjectionStrategy.CONTEXT and self._asks:
            scored = without(await isolated(self._arranged(), (), "ranking", self.failed), parts)
            known = await self._known(offers)
            scored, known = await isolated(
                self.window.news(scored, known), (scored, known), "window"
            )
            if self.room.config.non_inferable_only:
                said_first = ChatMessage(role=MessageRole.SYSTEM, content=TAGGED_ALONE)
                self.prompt.add_instructions([said_first])
            point = self.room.config.injection_point
            fitted = Fitted(known, scored, point, self.nonce)
            await self._weighed(fitted.texts, self.prompt.add_fitting, fitted)

    async def _weighed(
        self, texts: Sequence[str], call: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Do what reads all of *texts*: beside the loop where they are long."""
        return await self.room.work.weighed(sum(map(len, texts)), call, *args, **kwargs)

    @property
    def _asks(self) -> bool:
        """Whether there is a question at all: who says "yes" or "go on" is told nothing new."""
        return passing(self.request.query) is not Passing.ACKNOWLEDGEMENT

    @property
    def _own(self) -> OwnMemories:
        return OwnMemories(self.room.rooms, self.caller)

    async def _of_tools_beside(self) -> str:
        """Return how facts and sessions are looked up."""
        of_facts = await isolated(self._of_facts(), "", "facts", self.failed)
        return of_facts + await isolated(self._of_sessions(), "", "sessions", self.failed)

    async def _of_sessions(self) -> str:
        sessions = self.room.sessions
        there = sessions is not None and await sessions.any(self.caller)
        return session_tool.INSTRUCTION if there else ""

    async def _of_facts(self) -> str:
        """Return how facts are looked up, "" where there are none to be found."""
        known = self.room.knowledge
        asked = self.caller, self.request.query
        return fact_tool.INSTRUCTION if known and await known.any_facts(*asked) else ""

    async def _offered(self) -> Offers:
        """Return what may fit besides memories; who asks for categories of those wants none."""
        known = self.room.knowledge
        offers = self.strategy is InjectionStrategy.CONTEXT and not self.synthesize
        if known is None or not offers or self.request.categories is not None:
            return Offers()
        return await known.offered(self.caller, self.request.query, self.failed)

    async def _known(self, offers: Offers) -> Fits:
        """Return what fits; ranked after the memories, when the question has its vector."""
        if self.room.knowledge is None:
            return Fits()
        return await self.room.knowledge.fitting(self.request.query, offers, self.failed)

    async def _policies(self) -> tuple[str, ...]:
        if self.room.org is None:
            return ()
        policies = await self.room.org.list_policies(self.caller, limit=POLICIES_SHOWN_ITEMS_MAX)
        return tuple(outgoing(policy.content) for policy in policies)

    async def _gathered(
        self, begun: Callable[[], object]
    ) -> tuple[list[tuple[str, PreferenceLine]], RecallResult]:
        """Return the preferences, each with the id of its memory, and what was recalled."""
        if self.strategy is InjectionStrategy.CONTEXT:
            result = await recalled(
                self.room.rooms, self.caller, self.request, self.room.config, begun=begun
            )
            return [(chunk.id, _recalled(chunk)) for chunk in preferences(result)], result
        known = await self.room.rooms.recall.preferences(self.caller)
        return [(each.memory_id or each.name, said_of(each)) for each in known], RecallResult()

    async def _arranged(self) -> tuple[ScoredMemory, ...]:
        if not memories(self.result):
            return ()
        room, own, request = self.room, self._own, self.request
        retriever, pools = None, Pools()
        hierarchical = room.retriever if room.config.retriever == "hierarchical" else None
        if hierarchical is None:
            pools = await pools_of(self.result, room.rooms, self.caller, request, room.config)
        config = room.config if fuses(pools, room.config) else gated(room.config)
        if request.include_shared is not None:
            config = config.model_copy(update={"include_shared": request.include_shared})
        if hierarchical is not None:
            retriever = hierarchical(own, config)
        strategy = ContextInjectionStrategy(
            backend=own,
            config=possible(config, retriever, room.reranker),
            shared_store=own,
            memory_filter=room.memory_filter,
            hierarchical_retriever=retriever,
            reranker=room.reranker,
            clock=room.clock,
        )
        if retriever is not None:
            return await strategy.chosen(
                self.caller.agent_id, request.query, request.categories, self.failed
            )
        scored = await strategy.arranged(pools, request.query, self.failed)
        return scored if fuses(pools, room.config) else as_recalled(scored)

    async def _add_core(self) -> None:
        """Add the core memory, and before it, as far as there is room, how it is kept.

        Where nothing is in core, or nothing of it fits, the instruction brings the directive:
        what the tools answer with is fenced, too.
        """
        room = self.room.editing
        failed = len(self.failed)
        core = await calls.editing(self._own, room).core(self.caller.agent_id, self.failed)
        formatted_core = formatted(
            core,
            estimator=self.prompt.estimator,
            token_budget=min(self.prompt.left, room.core_memory_token_budget),
            nonce=self.nonce,
        )
        text = instruction(room, empty=not core and len(self.failed) == failed)
        text += await self._of_tools_beside()
        if not formatted_core.messages:
            text = f"{text}\n\n{directive()}"
        message = ChatMessage(role=MessageRole.SYSTEM, content=text)
        self.prompt.add_instructions([message], formatted_core.tokens)
        self.prompt.add_memories(formatted_core, len(core))

    async def _add_block(self) -> None:
        assert self.room.synthesizer is not None
        most = room = self.prompt.room_for_block(self.nonce)
        for _ in range(BLOCK_TRIES):
            if room <= 0:
                break
            made = self.room.synthesizer.synthesize(self.caller, self.request.query, room)
            block = await isolated(made, "", "synthesis", self.failed)
            over = self.prompt.add_block(block, self.room.config.injection_point, self.nonce)
            if over <= 0:
                return
            room = min(room - 1, room * most // (most + over))
        self.prompt.leave_out_block()


async def _announcing(work: Awaitable[T], over: Callable[[], object]) -> T:
    try:
        return await work
    finally:
        over()


async def _once(moment: asyncio.Event, work: Callable[[], Awaitable[T]]) -> T:
    """Do *work* from *moment* on: earlier it would stand in the way of the recall.

    That reads what its arms need, and only then the store is free while they are at work.
    """
    await moment.wait()
    return await work()


def _recalled(chunk: MemoryChunk) -> PreferenceLine:
    confirmed = chunk.trust is Trust.OWNER
    return PreferenceLine(chunk.content, mark_of_preference(chunk.origin, confirmed=confirmed))


def _with(message: ChatMessage, text: str) -> ChatMessage:
    return message.model_copy(update={"content": f"{message.content}{text}"})


def _degraded(result: RecallResult, failed: Failed) -> str | None:
    reasons = [f"{what} failed and is left out" for what in dict.fromkeys(failed)]
    return "; ".join([*([result.degraded] if result.degraded else []), *reasons]) or None
