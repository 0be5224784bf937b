"""Requests and results of recall (SPEC 2, D5, D6), of provenance, and of synthesis (SPEC 5)."""

from __future__ import annotations

from typing import Literal

from pydantic import AliasChoices, Field

from memd.base.limits import (
    FRAGMENTS_ITEMS_MAX,
    RECALL_BUDGET_TOKENS_MAX,
    RECALL_TOP_K_MAX,
    TEXT_CHARS_MAX,
)
from memd.domain.enums import (
    MemoryCategory,
    MemoryState,
    Origin,
    Passing,
    RunKind,
    SearchMode,
    Trust,
)
from memd.domain.memory import MemoryEntry, MemoryFilter
from memd.domain.values import Count, Name, ProjectId, Query, Share, Text, Time, Value


class RecallRequest(MemoryFilter):
    """A question, with the filters of :class:`MemoryFilter`.

    - *top_k*: how many memories to return; by default all that pass the bar
      (``recall/select.py``), or five with a search mode other than hybrid, which has no bar.
    - *min_relevance* drops memories with a lower probability. With 0 only the gate decides; it
      may abstain.
    - *include_passing*: search turns in passing as well (questions, requests,
      acknowledgements, remarks).
    - *include_shared*: search what agents published as well; by default as the setting
      ``retrieval.include_shared`` says.
    - *preferences*: all of them "first", for a prompt, or only those "matching" the query.
    - *reranker_enabled*: re-rank the best twenty with the optional re-ranker; by default as the
      setting ``retrieval.query_specific_rerank_enabled`` says.
    - *show_sources*: return the sources of a summary, with their own dates, in place of the
      summary (decision 0277).
    - *why*: add the features of each memory, and the excluded candidates with the reasons.
    """

    query: Query
    top_k: int | None = Field(default=None, ge=1, le=RECALL_TOP_K_MAX)
    token_budget: int = Field(default=2000, ge=1, le=RECALL_BUDGET_TOKENS_MAX)
    categories: frozenset[MemoryCategory] | None = Field(
        default=None, validation_alias=AliasChoices("categories", "memory_types")
    )
    include_compressed: bool = False
    include_passing: bool = False
    include_shared: bool | None = None
    search_mode: SearchMode = SearchMode.HYBRID
    min_relevance: Share = 0.0
    preferences: Literal["first", "matching"] = "first"
    reranker_enabled: bool | None = None
    show_sources: bool = False
    why: bool = False


class Explanation(Value):
    """The reasons for a memory's rank.

    *features* are the ranker's inputs by name, *matched* the query's terms in the memory.
    """

    features: dict[str, float]
    matched: tuple[str, ...] = ()


SET_ID = "proc_"
"""The prefix of the id of a preference that was set by name; such a preference has no memory."""


class MemoryChunk(Value):
    """One recalled memory.

    *relevance_score* is the calibrated probability that it answers the query, None for a
    preference. Preferences come first. *user_id* of a shared memory is the agent that published
    it. *origin* and *trust* are set by the daemon; a preference that the owner stated or
    confirmed is trusted like the owner's words.
    """

    id: Name
    user_id: Name
    session_id: Name | None = None
    project_id: ProjectId | None = None
    memory_type: MemoryCategory
    content: Text
    importance: Share | None = None
    token_count: int = Field(ge=1)
    relevance_score: Share | None = None
    preference: bool = False
    preference_key: str | None = None
    is_shared: bool = False
    namespace: Name
    speaker: Name | None = None
    source: Name | None = None
    tags: tuple[str, ...] = ()
    created_at: Time
    updated_at: Time | None = None
    occurred_at: Time | None = None
    state: MemoryState = MemoryState.ACTIVE
    compressed: bool = False
    origin: Origin = Origin.PERSON
    trust: Trust = Trust.OWNER
    passing: Passing | None = None
    """The kind of turn in passing, if it is one."""
    why: Explanation | None = None

    @property
    def set_by_name(self) -> str | None:
        """Return the name of a preference that was set by name, None for any other chunk."""
        is_set = self.preference and self.id == f"{SET_ID}{self.preference_key}"
        return self.preference_key if is_set else None


class ExcludedMemory(Value):
    """A candidate that is not in the answer, and the reason.

    Excluded *by* the gate (no memory of its kind is likely to answer), by the bar (its relevance
    is too low), because it repeats the memory *of*, or for lack of room (the token budget, or
    the maximum per source).
    """

    id: Name
    relevance_score: Share
    by: Literal["gate", "bar", "repeats", "room"]
    of: Name | None = None


class RecallResult(Value):
    """The recalled memories: preferences first, then by relevance.

    *budget_used* is ``total_tokens / token_budget``. If memories match but none fits the
    budget, *memories* is empty and *minimum_required_tokens* is the least sufficient budget.
    *gate* is the probability that the memories hold an answer. *cut*, with *why*, lists the
    best excluded candidates. *degraded* says why dense retrieval or the requested re-ranker
    was not used.
    """

    memories: tuple[MemoryChunk, ...] = ()
    preferences_left_out: int = Field(default=0, ge=0)
    total_tokens: int = Field(default=0, ge=0)
    budget_used: Share = 0.0
    minimum_required_tokens: int | None = None
    prompt_block: str = "<memory>\n</memory>"
    gate: Share | None = None
    cut: tuple[ExcludedMemory, ...] = ()
    degraded: str | None = None


class CreatingRun(Value):
    """The nap, night or compression that created a memory."""

    run_id: Name
    kind: RunKind
    at: Time


class SourceMessage(Value):
    """One message that a memory was made from.

    *ordinal* is its position in the session. Fields are None for a message that is no longer
    stored, because it was forgotten or the retention of sessions dropped its text. *text* alone is
    None if it is damaged.
    """

    ordinal: Count | None = None
    role: str | None = None
    at: Time | None = None
    text: str | None = None
    whole: bool = True
    """Whether *text* is the whole message."""
    damaged: bool = False


class EarlierText(Value):
    """A text that a memory had, until an edit replaced it."""

    content: str
    replaced_at: Time


class Provenance(Value):
    """A memory and its origin."""

    memory: MemoryEntry
    client: str | None = None
    """The client that stored it: the name of its key, ``local`` without one, None if unknown."""
    made_by: CreatingRun | None = None
    """None for an ingested, stored or imported memory, and after a move to another profile."""
    turns: tuple[SourceMessage, ...] = ()
    sources: tuple[MemoryEntry, ...] = ()
    """The memories it was made from, oldest first."""
    sources_left: Count = 0
    """The number of further sources."""
    earlier: tuple[EarlierText, ...] = ()
    """Its texts before edits, the last one first."""


SYNTHESIS_TOKENS = 4500


class Fragment(Value):
    """A text of the caller; *relevance* is the base relevance of its source (SPEC 5.2)."""

    source: Name
    content: str = Field(max_length=TEXT_CHARS_MAX)
    relevance: Share = 0.5
    timestamp: str = ""
    untrusted: bool = False


class SynthesisRequest(Value):
    """A question for one block. A blank *query* leaves every base relevance unchanged.

    Without *fragments* the sources are the agent's learnings, playbook, conversation,
    summaries and graph; *session_id* adds the last messages of that session.
    """

    query: str = Field(max_length=TEXT_CHARS_MAX)
    max_tokens: int = Field(default=SYNTHESIS_TOKENS, ge=0, le=RECALL_BUDGET_TOKENS_MAX)
    fragments: tuple[Fragment, ...] | None = Field(default=None, max_length=FRAGMENTS_ITEMS_MAX)
    session_id: Name | None = None
    project_id: ProjectId | None = None


class SynthesisResult(Value):
    """The block, "" when nothing fits, and its number of lines from each source.

    *left_out* counts lines that were duplicates or did not fit. If a line is fenced,
    *directive* is the paragraph that tells a model how to read it. *degraded* names the
    sources that failed.
    """

    block: str
    tokens: int = Field(default=0, ge=0)
    sources: dict[str, int] = Field(default_factory=dict)
    left_out: int = Field(default=0, ge=0)
    directive: str | None = None
    degraded: str | None = None
