"""What is put into prompts: messages, tools, and the protocols of whoever makes them (SPEC 9-13).

A strategy decides how memories reach an assistant: written into the prompt
before it begins, or fetched by the assistant with tools. All of them hand out
the same two things, messages and tool definitions.
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
from memd.domain.values import Name, NotBlankStr, ProjectId, Share, Text, Value

PREPARE_TOKENS = 2000


def policies_tokens(texts: Iterable[str]) -> int:
    """Return about how many tokens policies take in a prompt, by the rule of four characters.

    >>> policies_tokens(["x" * 17, "y" * 17])
    10
    """
    return sum(len(f"- {text}\n") for text in texts) // 4


class MessageRole(StrEnum):
    """Who speaks a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class ToolCategory(StrEnum):
    """What a tool is about; memd's are all about memory."""

    MEMORY = "memory"


class ChatMessage(Value):
    """One message of a prompt."""

    role: MessageRole
    content: NotBlankStr


class ToolDefinition(Value):
    """A tool as a language model is told of it; *parameters_schema* is a JSON schema."""

    name: Name
    description: NotBlankStr
    parameters_schema: dict[str, Any]
    category: ToolCategory = ToolCategory.MEMORY


class SelfEditingMemoryConfig(Value):
    """How much core memory there is, and what may be written (SPEC 13.2): ``memory.self_editing``.

    *core_max_entries*, *core_memory_token_budget*: how many core memories there may be, and
    what they may take of a prompt. *write_auto_tag*: what is written outside of core is
    tagged ``self_edited``.
    """

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
    def _in_order(self, categories: frozenset[MemoryCategory]) -> list[str]:
        return sorted(categories)  # or two listings of the same settings differ

    @model_validator(mode="after")
    def _archives_what_lasts(self) -> Self:
        if not self.archival_categories or MemoryCategory.WORKING in self.archival_categories:
            raise ValueError("archival_categories must not be empty and must not hold working")
        return self


class ToolAnswer(Value):
    """What a tool call gave. An error's text begins with ``Error:``."""

    name: Name
    content: str
    is_error: bool = False


def _asked(query: object, validate: Callable[[object], str]) -> str:
    """Return the question; raises ValueError for none, which says where there is an answer."""
    if isinstance(query, str) and not query.strip():
        raise ValueError("must not be empty: inject.brief tells without a question")
    return validate(query)


class PrepareRequest(Value):
    """What a prompt is prepared for. A *token_budget* of 0 or less prepares nothing.

    *strategy*, *include_shared*, *synthesize*: the settings decide unless said. *nonce*: every
    line of an untrusted text begins with a mark that no stored text can know.
    *synthesize*: one block made of all sources in place of the memories that were found;
    core memory and instructions stay. *patience_ms*: how long a model that is not loaded is
    waited for before words alone are searched, for who answers a prompt that waits.
    """

    query: Annotated[Text, WrapValidator(_asked)]
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
    """What a brief is made for: a session's beginning, or its window after a compaction.

    *project_id*: without one it is the session's. A *token_budget* of 0 or less briefs nothing.
    """

    token_budget: int = Field(default=PREPARE_TOKENS, le=RECALL_BUDGET_TOKENS_MAX)
    session_id: Name | None = None
    project_id: ProjectId | None = None


class LeftOut(Value):
    """How many of each were found and did not fit, or were not let through."""

    policies: int = Field(default=0, ge=0)
    preferences: int = Field(default=0, ge=0)
    facts: int = Field(default=0, ge=0)
    lessons: int = Field(default=0, ge=0)
    memories: int = Field(default=0, ge=0)
    instructions: int = Field(default=0, ge=0)
    in_window: int = Field(default=0, ge=0)
    """What the session has in its context window already."""


class InjectedMemory(Value):
    """One memory that is in the prompt."""

    id: Name
    category: MemoryCategory
    score: Share
    shared: bool = False
    origin: Origin = Origin.ASSISTANT
    trust: Trust = Trust.ASSISTED


class InjectedText(Value):
    """One text in the prompt that is no memory: a fact, a lesson or a pattern.

    *label* is what its line begins with: decision, procedure, convention, definition,
    lesson or pattern.
    """

    id: Name
    label: Name
    score: Share


class PreparedPrompt(Value):
    """One prompt: what to put before a question, and what had to be left out (SPEC D23).

    *facts* are everybody's, *lessons* the agent's own lessons and patterns. *warnings* say
    what should always be in a prompt and is not in this one.

    *tokens_used* counts every message, the directive included, by the rule of four
    characters; it is at most the budget. *minimum_required_tokens* is the least
    budget in which one of the memories would have fitted, when none did. *gate* is
    the probability that the memories hold an answer; *degraded* says what is
    missing because something failed. *in_window* are the ids of what would fit and is left
    out because the session has it in its context window already.
    """

    strategy: str
    messages: tuple[ChatMessage, ...] = ()
    facts: tuple[InjectedText, ...] = ()
    lessons: tuple[InjectedText, ...] = ()
    memories: tuple[InjectedMemory, ...] = ()
    in_window: tuple[Name, ...] = ()
    token_budget: int
    tokens_used: int = Field(default=0, ge=0)
    left_out: LeftOut = LeftOut()
    minimum_required_tokens: int | None = None
    gate: Share | None = None
    degraded: str | None = None
    warnings: tuple[str, ...] = ()
    nonce: str | None = None


class BriefItem(Value):
    """One thing that a brief tells: a memory or a fact. *label* is what its line begins with."""

    id: Name
    label: Name


class Brief(Value):
    """What a session is told at its beginning, and after its window was emptied.

    *items* are in the order of their lines. *left_out* counts what had no room, *in_window*
    names what the session has in its context window already; the rest is as in a prompt.
    """

    messages: tuple[ChatMessage, ...] = ()
    items: tuple[BriefItem, ...] = ()
    token_budget: int
    tokens_used: int = Field(default=0, ge=0)
    left_out: LeftOut = LeftOut()
    in_window: tuple[Name, ...] = ()
    degraded: str | None = None
    warnings: tuple[str, ...] = ()


@runtime_checkable
class TokenEstimator(Protocol):
    """Whatever tells how many tokens a text has."""

    def estimate_tokens(self, text: str) -> int:
        """Return a number of tokens, never negative."""
        ...


@runtime_checkable
class MemoryInjectionStrategy(Protocol):
    """Makes memories available to an assistant (seed 002)."""

    @property
    def strategy_name(self) -> str:
        """Return the strategy's own name."""
        ...

    async def prepare_messages(
        self, agent_id: NotBlankStr, query_text: NotBlankStr, token_budget: int
    ) -> tuple[ChatMessage, ...]:
        """Return the messages to put into the prompt, none when there is nothing to say."""
        ...

    def get_tool_definitions(self) -> tuple[ToolDefinition, ...]:
        """Return the tools that come with the strategy."""
        ...


class Retrieves(Protocol):
    """The one part of a backend that a pipeline needs."""

    async def retrieve(self, agent_id: NotBlankStr, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        """Return what matches, best first."""
        ...


class SearchesShared(Protocol):
    """The one part of a store of shared knowledge that a pipeline needs."""

    async def search_shared(
        self, query: MemoryQuery, *, exclude_agent: NotBlankStr | None = None
    ) -> tuple[MemoryEntry, ...]:
        """Return what agents other than *exclude_agent* share, best first."""
        ...


@runtime_checkable
class Retriever(Protocol):
    """Finds and ranks by itself, in place of the flat pipeline (``retriever: hierarchical``)."""

    async def scored(
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
    """Looks at the query and the candidates together, and orders them anew."""

    async def rerank(
        self, query: str, candidates: tuple[ScoredMemory, ...]
    ) -> tuple[ScoredMemory, ...]:
        """Return the candidates, all of them, in another order."""
        ...


@runtime_checkable
class QueryReformulator(Protocol):
    """Asks the same thing in other words, when the first words found too little (SPEC 12.9)."""

    async def reformulate(
        self, original_query: NotBlankStr, results: tuple[MemoryEntry, ...]
    ) -> str | None:
        """Return another query, or None when there is none to try."""
        ...


@runtime_checkable
class SufficiencyChecker(Protocol):
    """Decides whether what was found answers the query (SPEC 12.9)."""

    async def check_sufficiency(self, query: NotBlankStr, results: tuple[MemoryEntry, ...]) -> bool:
        """Return whether to stop searching."""
        ...
