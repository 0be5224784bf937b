"""Prompts, briefs, tools, and the protocols of injection strategies (SPEC 9-13).

A strategy decides how memories reach an assistant: written into the prompt beforehand, or
fetched by the assistant with tools. Every strategy returns messages and tool definitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Annotated, Any, Protocol, Self, runtime_checkable

from pydantic import Field, WrapValidator, field_serializer, model_validator

from memd.base.limits import PATIENCE_MS_MAX, RECALL_BUDGET_TOKENS_MAX
from memd.domain.enums import InjectionStrategy, MemoryCategory, Origin, Trust
from memd.domain.memory import MemoryEntry, MemoryQuery
from memd.domain.settings.retrieval import ScoredMemory
from memd.domain.values import Name, NotBlankStr, ProjectId, Query, Share, Value

PREPARE_TOKENS = 2000
MEMORY_TOOLS = ("search_memory", "recall_memory")
"""The tools by which an assistant reads its memory (SPEC 12)."""


def policies_tokens(texts: Iterable[str]) -> int:
    """Return the estimated tokens of policies in a prompt, at four characters a token.

    >>> policies_tokens(["x" * 17, "y" * 17])
    10
    """
    return sum(len(f"- {text}\n") for text in texts) // 4


class MessageRole(StrEnum):
    """The role of a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class ToolCategory(StrEnum):
    """The category of a tool; all of memd's are about memory."""

    MEMORY = "memory"


class ChatMessage(Value):
    """One message of a prompt."""

    role: MessageRole
    content: NotBlankStr


class ToolDefinition(Value):
    """A tool for a language model; *parameters_schema* is a JSON schema."""

    name: Name
    description: NotBlankStr
    parameters_schema: dict[str, Any]
    category: ToolCategory = ToolCategory.MEMORY


class SelfEditingMemoryConfig(Value):
    """The settings ``memory.self_editing``: core memory and allowed writes (SPEC 13.2)."""

    core_memory_token_budget: int = Field(default=1024, ge=256, le=8192)
    """Token budget of core memories in a prompt."""
    core_memory_tag: Name = "core"
    """Tag that marks a core memory."""
    allow_core_writes: bool = True
    """Allow the model to write core memories."""
    core_max_entries: int = Field(default=20, ge=1, le=200)
    """Maximum number of core memories."""
    archival_search_limit: int = Field(default=10, ge=1, le=50)
    """Maximum number of results of the archival search."""
    archival_categories: frozenset[MemoryCategory] = frozenset(MemoryCategory) - {
        MemoryCategory.WORKING
    }
    """Categories that the model may write outside of core."""
    write_auto_tag: bool = True
    """Tag what the model writes outside of core with `self_edited`."""

    @field_serializer("archival_categories", when_used="json")
    def _sort_categories(self, categories: frozenset[MemoryCategory]) -> list[str]:
        return sorted(categories)  # so that listings of equal settings are equal

    @model_validator(mode="after")
    def _check_categories(self) -> Self:
        if not self.archival_categories or MemoryCategory.WORKING in self.archival_categories:
            raise ValueError("archival_categories must not be empty and must not hold working")
        return self


class ToolAnswer(Value):
    """The answer of a tool call. An error's text begins with ``Error:``."""

    name: Name
    content: str
    is_error: bool = False


def _check_query(query: object, validate: Callable[[object], str]) -> str:
    """Return the validated query. Raises ValueError for a blank one, naming ``inject.brief``."""
    if isinstance(query, str) and not query.strip():
        raise ValueError("must not be empty: inject.brief needs no question")
    return validate(query)


class PrepareRequest(Value):
    """A request to prepare a prompt. A *token_budget* of 0 or less prepares nothing.

    *strategy*, *include_shared* and *synthesize* default to the settings. *nonce*: every line
    of an untrusted text begins with a mark that no stored text can contain. *synthesize*: one
    block of all sources replaces the memories; core memory and instructions stay.
    *patience_ms*: how long to wait for a model that is not loaded before searching by words
    alone.
    """

    query: Annotated[Query, WrapValidator(_check_query)]
    token_budget: int = Field(default=PREPARE_TOKENS, le=RECALL_BUDGET_TOKENS_MAX)
    strategy: InjectionStrategy | None = None
    categories: frozenset[MemoryCategory] | None = None
    session_id: Name | None = None
    project_id: ProjectId | None = None
    include_shared: bool | None = None
    nonce: bool = False
    synthesize: bool | None = None
    patience_ms: int | None = Field(default=None, ge=0, le=PATIENCE_MS_MAX)


class BriefRequest(Value):
    """A request for a brief, at the beginning of a session or after a compaction.

    *project_id* defaults to the session's. Without a *token_budget*, policies and preferences
    have the budget of a prompt, and memories have 1,200 tokens. With a budget of 0 or less the
    brief is empty.
    """

    token_budget: int | None = Field(default=None, le=RECALL_BUDGET_TOKENS_MAX)
    session_id: Name | None = None
    project_id: ProjectId | None = None


class OmittedCounts(Value):
    """Counts of items that did not fit, or were excluded."""

    policies: int = Field(default=0, ge=0)
    preferences: int = Field(default=0, ge=0)
    facts: int = Field(default=0, ge=0)
    lessons: int = Field(default=0, ge=0)
    memories: int = Field(default=0, ge=0)
    instructions: int = Field(default=0, ge=0)
    in_window: int = Field(default=0, ge=0)
    """Items that are in the session's context window already."""


class InjectedMemory(Value):
    """One memory in the prompt."""

    id: Name
    category: MemoryCategory
    score: Share
    shared: bool = False
    origin: Origin = Origin.ASSISTANT
    trust: Trust = Trust.ASSISTED


class InjectedText(Value):
    """A fact, lesson or pattern in the prompt.

    *label* begins its line: decision, procedure, convention, definition, lesson or pattern.
    """

    id: Name
    label: Name
    score: Share


class PreparedPrompt(Value):
    """The messages to put before a question, and counts of what was left out (SPEC D23).

    *facts* are organisational, *lessons* the agent's own lessons and patterns. *warnings* say
    what every prompt should contain and this one does not.

    *tokens_used* counts every message, the directive included, at four characters a token;
    it is at most the budget. *minimum_required_tokens* is the least budget for one memory,
    when none fits. *gate* is the probability that the memories hold an answer; *degraded*
    says what is missing because of a failure. *in_window* are the ids left out because the
    session's context window has them already. The first *standing* messages, policies and
    preferences, are in every prompt: a conversation that has the same ones may skip them.
    """

    strategy: str
    messages: tuple[ChatMessage, ...] = ()
    standing: int = Field(default=0, ge=0)
    facts: tuple[InjectedText, ...] = ()
    lessons: tuple[InjectedText, ...] = ()
    memories: tuple[InjectedMemory, ...] = ()
    in_window: tuple[Name, ...] = ()
    token_budget: int
    tokens_used: int = Field(default=0, ge=0)
    left_out: OmittedCounts = OmittedCounts()
    minimum_required_tokens: int | None = None
    gate: Share | None = None
    degraded: str | None = None
    warnings: tuple[str, ...] = ()
    nonce: str | None = None


class BriefItem(Value):
    """A memory or fact in a brief. *label* begins its line."""

    id: Name
    label: Name


class Brief(Value):
    """The messages for a session at its beginning, and after a compaction.

    *items* are in the order of their lines. *left_out* counts what did not fit, *in_window*
    names items that are in the context window already. The other fields are those of
    :class:`PreparedPrompt`.
    """

    messages: tuple[ChatMessage, ...] = ()
    standing: int = Field(default=0, ge=0)
    items: tuple[BriefItem, ...] = ()
    token_budget: int
    tokens_used: int = Field(default=0, ge=0)
    left_out: OmittedCounts = OmittedCounts()
    in_window: tuple[Name, ...] = ()
    degraded: str | None = None
    warnings: tuple[str, ...] = ()


@runtime_checkable
class TokenEstimator(Protocol):
    """An estimator of a text's tokens."""

    def estimate_tokens(self, text: str) -> int:
        """Return the number of tokens, never negative."""
        ...


@runtime_checkable
class MemoryInjectionStrategy(Protocol):
    """A way to make memories available to an assistant (seed 002)."""

    @property
    def strategy_name(self) -> str:
        """Return the strategy's own name."""
        ...

    async def prepare_messages(
        self, agent_id: NotBlankStr, query_text: NotBlankStr, token_budget: int
    ) -> tuple[ChatMessage, ...]:
        """Return the messages to put into the prompt, if any."""
        ...

    def get_tool_definitions(self) -> tuple[ToolDefinition, ...]:
        """Return the strategy's tools."""
        ...


class SupportsRetrieve(Protocol):
    """The part of a backend that a pipeline needs."""

    async def retrieve(self, agent_id: NotBlankStr, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        """Return the matching memories, best first."""
        ...


class SupportsSharedSearch(Protocol):
    """The part of a shared store that a pipeline needs."""

    async def search_shared(
        self, query: MemoryQuery, *, exclude_agent: NotBlankStr | None = None
    ) -> tuple[MemoryEntry, ...]:
        """Return shared memories, without those of *exclude_agent*, best first."""
        ...


@runtime_checkable
class Retriever(Protocol):
    """A replacement of the flat retrieval pipeline (setting ``retriever: hierarchical``)."""

    async def retrieve_scored(
        self,
        agent_id: NotBlankStr,
        query_text: NotBlankStr,
        *,
        limit: int,
        categories: frozenset[MemoryCategory] | None = None,
    ) -> tuple[ScoredMemory, ...]:
        """Return at most *limit* memories, best first."""
        ...


@runtime_checkable
class Reranker(Protocol):
    """A re-ranker of candidates by the query."""

    async def rerank(
        self, query: str, candidates: tuple[ScoredMemory, ...]
    ) -> tuple[ScoredMemory, ...]:
        """Return all candidates, reordered."""
        ...


@runtime_checkable
class QueryReformulator(Protocol):
    """A reformulator of queries that found too little (SPEC 12.9)."""

    async def reformulate(
        self, original_query: NotBlankStr, results: tuple[MemoryEntry, ...]
    ) -> str | None:
        """Return another query, or None."""
        ...


@runtime_checkable
class SufficiencyChecker(Protocol):
    """A judge of whether results answer the query (SPEC 12.9)."""

    async def check_sufficiency(self, query: NotBlankStr, results: tuple[MemoryEntry, ...]) -> bool:
        """Return whether to stop searching."""
        ...
