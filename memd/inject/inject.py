"""Compose prompts from memories, and answer memory tool calls (SPEC 9, 11-13, D23).

Policies, preferences and memories share the budget of a prompt, in this order. The answer counts
what does not fit. A source that fails is left out and named.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memd.base.clock import Clock
from memd.base.errors import MemoryCapabilityError
from memd.base.ids import Chance
from memd.base.work import Work
from memd.domain.caller import Caller
from memd.domain.enums import InjectionStrategy
from memd.domain.inject import (
    PreparedPrompt,
    PrepareRequest,
    Reranker,
    Retriever,
    SelfEditingMemoryConfig,
    ToolAnswer,
    ToolDefinition,
)
from memd.domain.settings.retrieval import MemoryRetrievalConfig
from memd.embedding.model_thread import load_timeout
from memd.inject.knowledge import Knowledge
from memd.inject.own_memories import MemoryRooms, OwnMemories
from memd.inject.pipeline import MemoryFilterStrategy
from memd.inject.prompt_builder import PromptBuilder
from memd.inject.session_windows import SessionWindows
from memd.inject.tools import calls, extra_tools
from memd.inject.tools.arguments import answer_or_error, to_answer
from memd.inject.tools.extra_tools import SEARCH_FACTS, SEARCH_SESSIONS
from memd.inject.tools.tool_based import UNAVAILABLE, UNEXPECTED

if TYPE_CHECKING:
    from memd.ingest.sessions import Sessions
    from memd.inject.synthesis import Synthesis
    from memd.org.org import Org

NONCE_BYTES = 8
"""Length of the random mark of fenced lines: no stored text can guess it."""


@dataclass(frozen=True)
class Inject:
    """Composes prompts and answers tool calls; sources that are None are not used."""

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
    """Makes a retriever over one caller's memories and those shared with it."""
    judges: calls.SearchJudges = calls.BY_RULE
    editing: SelfEditingMemoryConfig = field(default_factory=SelfEditingMemoryConfig)
    chance: Chance = secrets.token_bytes
    work: Work = field(default_factory=Work)
    """Runs functions over large texts in the work thread."""
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held during a tool call that writes, so that a repetition waits for the first call."""

    async def prepare(self, caller: Caller, request: PrepareRequest) -> PreparedPrompt:
        """Return one prompt for a question, within its budget.

        A source that fails is left out and named in ``degraded``. Raises MemoryCapabilityError
        for a synthesized block without a synthesizer.
        """
        requested = request.synthesize
        synthesize = self.config.synthesize if requested is None else requested
        if synthesize and self.synthesizer is None:
            raise MemoryCapabilityError("nothing here synthesizes", field="synthesize")
        strategy = request.strategy or self.config.strategy
        nonce = self.chance(NONCE_BYTES).hex() if request.nonce else None
        builder = PromptBuilder(self, caller, request, strategy, nonce, synthesize=synthesize)
        in_session = request.session_id is not None
        async with builder.window.exclusive() if in_session else nullcontext():
            if request.token_budget > 0:
                with load_timeout(request.patience_ms):
                    await builder.compose()
            if in_session:
                builder.window.note(builder.prompt.ids)
        return builder.finish()

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
        """Answer one tool call; without a *strategy*, use the one that has the tool.

        A write that is repeated under its idempotency key gets the same answer. Raises
        InvalidError for an unknown tool, DeniedError for a tool that writes if the caller may
        only read, and ConflictError for the idempotency key of another request.
        """
        strategy = calls.strategy_of(name, strategy)
        calls.check_scope(caller, name)
        answer = await self._call_extra_tool(caller, name, arguments)
        if answer is not None:
            return answer
        if not calls.is_writing(name):
            memories = OwnMemories(self.rooms, caller)
            return await self._call_memory_tool(strategy, memories, name, arguments)
        async with self.writing:
            repeated = await self.rooms.ingest.is_repeated(caller)
            memories = OwnMemories(self.rooms, caller, repeated)
            return await self._call_memory_tool(strategy, memories, name, arguments)

    async def _call_extra_tool(
        self, caller: Caller, name: str, arguments: Mapping[str, Any]
    ) -> ToolAnswer | None:
        """Answer a call of a tool that memd adds to the documented ones; None for any other."""
        if name == SEARCH_FACTS:
            work = extra_tools.search_facts(self.knowledge, caller, arguments)
        elif name == SEARCH_SESSIONS:
            work = extra_tools.search_sessions(self.sessions, caller, arguments)
        else:
            return None
        return to_answer(name, await answer_or_error(work, UNAVAILABLE, UNEXPECTED))

    async def _call_memory_tool(
        self,
        strategy: InjectionStrategy,
        memories: OwnMemories,
        name: str,
        arguments: Mapping[str, Any],
    ) -> ToolAnswer:
        tools = calls.memory_tools(strategy, memories, self.config, self.editing, self.judges)
        answer = await tools.handle_tool_call(name, arguments, memories.caller.agent_id)
        return to_answer(name, answer)
