"""The strategy ``tool_based``: the assistant searches when it needs to (SPEC 12).

The prompt has a short instruction instead of memories. Answers are fenced like all memories, and
each result has an id, with which it can be read again.

A search may be repeated with a reformulated query until its results are sufficient (SPEC 12.9).
It ends when they are, when there is no new query, or when a step fails, and returns the results of
all rounds. It makes at most rounds + 1 searches, rounds + 1 checks and rounds reformulations.
"""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from memd.base import log
from memd.base.limits import NAME_CHARS_MAX
from memd.domain.backend import MemoryBackend
from memd.domain.enums import MemoryCategory
from memd.domain.inject import (
    MEMORY_TOOLS,
    ChatMessage,
    MessageRole,
    QueryReformulator,
    SufficiencyChecker,
    SupportsSharedSearch,
    TokenEstimator,
    ToolDefinition,
)
from memd.domain.memory import MemoryEntry, MemoryQuery
from memd.domain.settings.retrieval import MemoryRetrievalConfig
from memd.inject.format import directive
from memd.inject.isolation import isolate
from memd.inject.pipeline import Entries, MemoryFilterStrategy, relevance
from memd.inject.tools.arguments import (
    answer_or_error,
    categories_of,
    define_tool,
    entry_of,
    limit_of,
    limit_schema,
    refusal,
    render_entries,
    short_value,
    text_of,
    text_schema,
)

SEARCH, RECALL = MEMORY_TOOLS
SEARCH_LIMIT, SEARCH_LIMIT_MAX = 10, 50
SEARCH_RELEVANCE_MIN = 0.02
"""Least relevance of a result: a less relevant one is not worth its tokens (decision 0375)."""

QUALIFIES = (
    "Worth remembering and worth looking up is what cannot be read off the files at hand: why "
    "something was designed as it is, what the team decided, what was tried and rejected, what "
    "holds across repositories."
)
INSTRUCTION = (
    f"You have a memory of earlier work. Use {SEARCH} to look for what is known about a subject, "
    f"before you decide and whenever something seems to have been settled before. Use {RECALL} to "
    f"read one memory again by the id that a search gave. {QUALIFIES}"
)
UNAVAILABLE = refusal("the memory is temporarily unavailable; go on without it")
UNEXPECTED = refusal("an unexpected fault while reading the memory; go on without it")

DEFINITIONS = (
    define_tool(
        SEARCH,
        "Search what is remembered from earlier work. Returns memories with their ids.",
        ("query",),
        query=text_schema("What to look for, in a few words."),
        categories={
            "type": "array",
            "items": {"type": "string"},
            "description": "Only these: episodic, procedural, semantic, social, working.",
        },
        limit=limit_schema("How many memories at most.", SEARCH_LIMIT, SEARCH_LIMIT_MAX),
    ),
    define_tool(
        RECALL,
        "Read one memory by its id.",
        ("memory_id",),
        memory_id=text_schema("An id that a search gave.", maxLength=NAME_CHARS_MAX),
    ),
)


class ToolBasedInjectionStrategy:
    """Offers two tools, and an instruction when to use them.

    The tools search the agent's own memories in *backend*. *shared_store*, *token_estimator* and
    *memory_filter* are accepted without effect (SPEC 12.7). Raises ValueError if *config* enables
    reformulation and *reformulator* or *sufficiency_checker* is missing.
    """

    strategy_name = "tool_based"

    def __init__(  # noqa: PLR0913  # the documented parameters
        self,
        *,
        backend: MemoryBackend,
        config: MemoryRetrievalConfig,
        shared_store: SupportsSharedSearch | None = None,
        token_estimator: TokenEstimator | None = None,
        memory_filter: MemoryFilterStrategy | None = None,
        reformulator: QueryReformulator | None = None,
        sufficiency_checker: SufficiencyChecker | None = None,
    ) -> None:
        del shared_store, token_estimator, memory_filter
        self._backend = backend
        self._limit_max = min(SEARCH_LIMIT_MAX, config.max_memories)
        self._loop: ReformulationLoop | None = None
        if config.query_reformulation_enabled:
            if reformulator is None or sufficiency_checker is None:
                raise ValueError(
                    "query_reformulation_enabled needs a reformulator and a sufficiency_checker"
                )
            self._loop = ReformulationLoop(
                reformulator, sufficiency_checker, config.max_reformulation_rounds
            )
        self._tools: dict[str, Callable[[Mapping[str, Any], str], Awaitable[str]]] = {
            SEARCH: self._search,
            RECALL: self._recall,
        }

    async def prepare_messages(
        self, agent_id: str, query_text: str, token_budget: int
    ) -> tuple[ChatMessage, ...]:
        """Return the instruction with the directive; () without a budget."""
        del agent_id, query_text
        if token_budget <= 0:
            return ()
        text = f"{INSTRUCTION}\n\n{directive()}"
        return (ChatMessage(role=MessageRole.SYSTEM, content=text),)

    def get_tool_definitions(self) -> tuple[ToolDefinition, ...]:
        """Return the two tools, as copies that the caller may change."""
        return copy.deepcopy(DEFINITIONS)

    async def handle_tool_call(
        self, tool_name: str, arguments: Mapping[str, Any], agent_id: str
    ) -> str:
        """Call a tool and return its answer; an error's text begins with ``Error:``.

        Raises ValueError for an unknown tool.
        """
        tool = self._tools.get(tool_name)
        if tool is None:
            raise ValueError(
                f"no tool {short_value(tool_name)}; there are {', '.join(self._tools)}"
            )
        return await answer_or_error(tool(arguments, agent_id), UNAVAILABLE, UNEXPECTED)

    async def _search(self, arguments: Mapping[str, Any], agent_id: str) -> str:
        query = text_of(arguments, "query")
        categories, unknown = categories_of(arguments)
        limit = limit_of(arguments, SEARCH_LIMIT, self._limit_max)

        async def search(text: str) -> tuple[MemoryEntry, ...]:
            memory_query = search_query(text, categories, limit)
            return await self._backend.retrieve(agent_id, memory_query)

        entries = await (search(query) if self._loop is None else self._loop.run(query, search))
        answer = render_entries(entries[:limit])
        return f"{answer}\nIgnored categories: {', '.join(unknown)}" if unknown else answer

    async def _recall(self, arguments: Mapping[str, Any], agent_id: str) -> str:
        return render_entries([await entry_of(self._backend, agent_id, arguments)])


Search = Callable[[str], Awaitable[Entries]]


@dataclass(frozen=True, slots=True)
class ReformulationLoop:
    """Repeats a search with reformulated queries, at most *rounds* times."""

    reformulator: QueryReformulator
    checker: SufficiencyChecker
    rounds: int

    async def run(self, query: str, search: Search) -> Entries:
        """Return the results of all searches, best first. Raises errors of the first search."""
        entries = await search(query)
        for _ in range(self.rounds):
            if await self._is_sufficient(query, entries):
                return entries
            new_query = await isolate(
                self.reformulator.reformulate(query, entries), None, "reformulation"
            )
            if not new_query or new_query == query:
                return entries
            results = await isolate(search(new_query), None, "another search")
            if results is None:
                return entries
            query, entries = new_query, merge(entries, results)
        log.debug("search ended", enough=await self._is_sufficient(query, entries))
        return entries

    async def _is_sufficient(self, query: str, entries: Entries) -> bool:
        """Return the checker's decision; True if it fails, which ends the loop."""
        check = self.checker.check_sufficiency(query, entries)
        return await isolate(check, True, "sufficiency check")


def search_query(
    text: str, categories: frozenset[MemoryCategory] | None, limit: int
) -> MemoryQuery:
    """Return the query of a model's search."""
    return MemoryQuery(
        text=text, categories=categories, limit=limit, min_relevance=SEARCH_RELEVANCE_MIN
    )


def merge(*batches: Iterable[MemoryEntry]) -> Entries:
    """Return each memory once, with its highest relevance, best first; equals in their order."""
    best: dict[str, MemoryEntry] = {}
    for entries in batches:
        for entry in entries:
            other = best.get(entry.id)
            if other is None or relevance(entry) > relevance(other):
                best[entry.id] = entry
    return tuple(sorted(best.values(), key=relevance, reverse=True))
