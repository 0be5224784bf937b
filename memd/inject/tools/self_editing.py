"""The strategy ``self_editing``: the assistant edits its own memory (SPEC 13).

Memory has three blocks. *Core* is in every prompt: a few short semantic memories with a certain
tag. *Archival* is searched and written by category. *Recall* is read by id and written as
episodic memories. All are ordinary memories of the agent.

A full core block refuses new memories, so there are tools to replace and delete core memories.
"""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from memd.base.errors import DeniedError
from memd.domain.backend import MemoryBackend
from memd.domain.enums import MemoryCategory, Trust
from memd.domain.inject import (
    ChatMessage,
    SelfEditingMemoryConfig,
    TokenEstimator,
    ToolDefinition,
)
from memd.domain.memory import (
    MemoryEntry,
    MemoryMetadata,
    MemoryQuery,
    MemoryStoreRequest,
    MemoryUpdate,
)
from memd.domain.settings.retrieval import ScoredMemory
from memd.inject.format import format_memories
from memd.inject.isolation import Failed, isolate
from memd.inject.tools.arguments import (
    BadArgumentError,
    answer_or_error,
    category_of,
    entry_of,
    id_of,
    limit_of,
    list_line,
    refusal,
    render_entries,
    short_value,
    text_of,
)
from memd.inject.tools.editing_tools import DEFINITIONS
from memd.inject.tools.tool_based import SEARCH_LIMIT, search_query
from memd.text.tokens import DefaultTokenEstimator

SELF_EDITED = "self_edited"
CONTENT_CHARS_MAX = 50_000
FAILED = refusal("the memory could not be used; go on without it")

Arguments = Mapping[str, Any]
Tool = Callable[[str, Arguments], Awaitable[str]]


class SelfEditingMemoryStrategy:
    """Puts the core block into the prompt, and offers tools to read and write all three blocks.

    Raises TypeError unless *backend* is a MemoryBackend.
    """

    strategy_name = "self_editing"

    def __init__(
        self,
        *,
        backend: MemoryBackend,
        config: SelfEditingMemoryConfig | None = None,
        token_estimator: TokenEstimator | None = None,
    ) -> None:
        if not isinstance(backend, MemoryBackend):
            raise TypeError(f"{type(backend).__name__} is not a MemoryBackend")
        self._backend = backend
        self._config = config or SelfEditingMemoryConfig()
        self._estimator = token_estimator or DefaultTokenEstimator()
        self._tools: dict[str, Tool] = {
            "core_memory_read": self._core_read,
            "core_memory_write": self._core_write,
            "core_memory_replace": self._core_replace,
            "core_memory_delete": self._core_delete,
            "archival_memory_search": self._archival_search,
            "archival_memory_write": self._archival_write,
            "recall_memory_read": self._recall_read,
            "recall_memory_write": self._recall_write,
        }

    async def prepare_messages(
        self, agent_id: str, query_text: str, token_budget: int
    ) -> tuple[ChatMessage, ...]:
        """Return messages with the core memory; () if it is empty or cannot be read.

        The query is ignored. The budget is the smaller of *token_budget* and
        ``core_memory_token_budget``.
        """
        del query_text
        core = await self.core(agent_id)
        budget = min(token_budget, self._config.core_memory_token_budget)
        return format_memories(core, estimator=self._estimator, token_budget=budget).messages

    async def core(self, agent_id: str, failed: Failed | None = None) -> tuple[ScoredMemory, ...]:
        """Return the core memories, newest first, each with score 1.

        If they cannot be read, the result is () and "core memory" is added to *failed*. Untrusted
        memories (from a tool or the web) are left out, as they would be in every prompt.
        """
        entries = await isolate(self._core(agent_id), (), "core memory", failed)
        return tuple(
            ScoredMemory(entry=entry, relevance_score=1.0, recency_score=1.0, combined_score=1.0)
            for entry in entries
            if entry.trust is not Trust.UNTRUSTED
        )

    def get_tool_definitions(self) -> tuple[ToolDefinition, ...]:
        """Return the tools, as copies that the caller may change."""
        return copy.deepcopy(DEFINITIONS)

    async def handle_tool_call(self, tool_name: str, arguments: Arguments, agent_id: str) -> str:
        """Call a tool and return its answer; an error's text begins with ``Error:``."""
        tool = self._tools.get(tool_name)
        if tool is None:
            return refusal(f"no tool {short_value(tool_name)}; there are {', '.join(self._tools)}")
        return await answer_or_error(tool(agent_id, arguments), FAILED, FAILED)

    # Core.

    async def _core(self, agent_id: str) -> tuple[MemoryEntry, ...]:
        query = MemoryQuery(
            categories=frozenset({MemoryCategory.SEMANTIC}),
            tags=(self._config.core_memory_tag,),
            limit=self._config.core_max_entries,
        )
        return await self._backend.retrieve(agent_id, query)

    async def _core_read(self, agent_id: str, arguments: Arguments) -> str:
        del arguments
        return render_entries(await self._core(agent_id), list_line)

    async def _core_write(self, agent_id: str, arguments: Arguments) -> str:
        self._check_core_writes()
        content = _content(arguments)
        core = () if self._is_repeated else await self._core(agent_id)
        if len(core) >= self._config.core_max_entries:
            raise BadArgumentError(
                f"core memory is full ({len(core)} entries): replace or delete one first"
            )
        memory_id = await self._store(agent_id, content, MemoryCategory.SEMANTIC, self._core_tags)
        return f"Stored in core memory (id={memory_id})."

    async def _core_replace(self, agent_id: str, arguments: Arguments) -> str:
        self._check_core_writes()
        memory_id = id_of(arguments)
        if not self._is_repeated:
            await self._check_is_core(agent_id, memory_id)
            memory_id = await self._replace(agent_id, memory_id, _content(arguments))
        return f"Replaced in core memory (id={memory_id})."

    async def _replace(self, agent_id: str, memory_id: str, content: str) -> str:
        """Replace a core memory's text; return its id, which may be a new one."""
        update = getattr(self._backend, "update", None)
        if update is not None:
            try:
                await cast("Callable[..., Awaitable[Any]]", update)(
                    agent_id, memory_id, MemoryUpdate(content=content)
                )
            except DeniedError as error:
                raise BadArgumentError(error.message) from None
            await self._check_is_visible(agent_id, memory_id)
            return memory_id
        # For a backend without updates: store first, so that a failure loses nothing.
        new_id = await self._store(agent_id, content, MemoryCategory.SEMANTIC, self._core_tags)
        await self._backend.delete(agent_id, memory_id)
        return new_id

    async def _check_is_visible(self, agent_id: str, memory_id: str) -> None:
        """Raise BadArgumentError if the memory was quarantined when it was written."""
        if await self._backend.get(agent_id, memory_id) is None:
            raise BadArgumentError(
                f"the text was quarantined (id={memory_id}): it reads like orders to an assistant "
                "and stays out of sight until its owner releases it"
            )

    async def _core_delete(self, agent_id: str, arguments: Arguments) -> str:
        self._check_core_writes()
        memory_id = id_of(arguments)
        if not self._is_repeated:
            await self._check_is_core(agent_id, memory_id)
            try:
                await self._backend.delete(agent_id, memory_id)
            except DeniedError as error:
                raise BadArgumentError(error.message) from None
        return f"Deleted from core memory (id={memory_id})."

    @property
    def _is_repeated(self) -> bool:
        """Whether this call was executed before: its preconditions may no longer hold (SPEC D7)."""
        return bool(getattr(self._backend, "repeated", False))

    @property
    def _core_tags(self) -> tuple[str, ...]:
        return (self._config.core_memory_tag,)

    def _check_core_writes(self) -> None:
        if not self._config.allow_core_writes:
            raise BadArgumentError("core memory is read-only here")

    async def _check_is_core(self, agent_id: str, memory_id: str) -> None:
        """Raise BadArgumentError unless *memory_id* is a core memory."""
        entry = await self._backend.get(agent_id, memory_id)
        tag = self._config.core_memory_tag
        if (
            entry is None
            or tag not in entry.metadata.tags
            or entry.category is not MemoryCategory.SEMANTIC
        ):
            raise BadArgumentError(f"no core memory has the id {short_value(memory_id)}")

    # Archival and recall.

    async def _archival_search(self, agent_id: str, arguments: Arguments) -> str:
        query = text_of(arguments, "query")
        categories: frozenset[MemoryCategory] | None = None
        if arguments.get("category") is not None:
            categories = frozenset({category_of(arguments, frozenset(MemoryCategory))})
        limit = limit_of(arguments, SEARCH_LIMIT, self._config.archival_search_limit)
        memory_query = search_query(query, categories, limit)
        entries = await self._backend.retrieve(agent_id, memory_query)
        return render_entries(entries[:limit], list_line)

    async def _archival_write(self, agent_id: str, arguments: Arguments) -> str:
        content = _content(arguments)
        category = category_of(arguments, self._config.archival_categories)
        memory_id = await self._store(agent_id, content, category, self._write_tags)
        return f"Stored in archival memory (id={memory_id})."

    async def _recall_read(self, agent_id: str, arguments: Arguments) -> str:
        entry = await entry_of(self._backend, agent_id, arguments)
        return render_entries([entry], list_line)

    async def _recall_write(self, agent_id: str, arguments: Arguments) -> str:
        content = _content(arguments)
        memory_id = await self._store(agent_id, content, MemoryCategory.EPISODIC, self._write_tags)
        return f"Stored in recall memory (id={memory_id})."

    @property
    def _write_tags(self) -> tuple[str, ...]:
        return (SELF_EDITED,) if self._config.write_auto_tag else ()

    async def _store(
        self, agent_id: str, content: str, category: MemoryCategory, tags: tuple[str, ...]
    ) -> str:
        """Store a memory and return its id; raises BadArgumentError if it is quarantined."""
        request = MemoryStoreRequest(
            category=category, content=content, metadata=MemoryMetadata(tags=tags)
        )
        memory_id = await self._backend.store(agent_id, request)
        await self._check_is_visible(agent_id, memory_id)
        return memory_id


def _content(arguments: Arguments) -> str:
    return text_of(arguments, "content", CONTENT_CHARS_MAX)
