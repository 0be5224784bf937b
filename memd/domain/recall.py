"""What is asked of recall, and what it answers (SPEC 2, D5, D6).

Then what a memory was made of (the messages behind a nap's, the sources of a summary), and
what the synthesizer is asked over the socket and answers (SPEC 5).
"""

from __future__ import annotations

from typing import Annotated, Literal

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
from memd.domain.values import Name, ProjectId, Share, Text, Time, Value


class RecallRequest(MemoryFilter):
    """A question. Filters are those of :class:`MemoryFilter`.

    Without *top_k* each question gets as many as are worth their place (``recall/select.py``); a
    mode that says how to search has no such rule and brings five. *min_relevance* drops memories
    whose probability is lower; 0 leaves it to the gate, which answers with nothing when nothing
    fits. *include_passing* also finds turns that state nothing: what was asked, wanted done,
    acknowledged, remarked. *include_shared* also finds
    what other agents published; without it ``retrieval.include_shared`` of the settings
    decides. *preferences* come "first", as a prompt needs them, or only those that are "matching"
    the query, as a person wants who searches. *reranker_enabled* looks at the best twenty a
    second time, with the optional re-ranker; without it
    ``retrieval.query_specific_rerank_enabled`` decides. *why* adds each memory's features to
    the answer, and what was cut and by what.
    """

    query: Text
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
    why: bool = False


class Why(Value):
    """Why a memory was found and placed where it is.

    *features* are the ranker's inputs by name, *matched* the query's terms that
    the memory holds.
    """

    features: dict[str, float]
    matched: tuple[str, ...] = ()


class MemoryChunk(Value):
    """One recalled memory.

    *relevance_score* is the calibrated probability that it answers the query;
    a preference has none. Preferences come first and are marked. A shared one
    is marked, too: *user_id* is the agent that published it. *origin* and *trust*
    are the daemon's own word on where the text came from; a preference is trusted as
    the owner's when he said or confirmed it.
    """

    id: Name
    user_id: Name
    session_id: Name | None = None
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
    """What the turn does, if it states nothing."""
    why: Why | None = None


class Cut(Value):
    """A memory that was near and is not in the answer.

    *by* the gate (its kind holds no answer), the bar (it is not worth its place), because it
    repeats *of*, or for want of room: the budget, or what one source may fill.
    """

    id: Name
    relevance_score: Share
    by: Literal["gate", "bar", "repeats", "room"]
    of: Name | None = None


class RecallResult(Value):
    """What was recalled: preferences first, then by relevance.

    ``budget_used == total_tokens / token_budget``. When something was found but
    nothing fits the budget, *memories* is empty and *minimum_required_tokens*
    says what would do. *gate* is the probability that the memories hold an
    answer; *cut*, where *why* was asked for, the best of what is not in it; *degraded* says
    why meaning was not searched, or why the order is without the re-ranker that was asked for.
    """

    memories: tuple[MemoryChunk, ...] = ()
    preferences_left_out: int = Field(default=0, ge=0)
    total_tokens: int = Field(default=0, ge=0)
    budget_used: Share = 0.0
    minimum_required_tokens: int | None = None
    prompt_block: str = "<memory>\n</memory>"
    gate: Share | None = None
    cut: tuple[Cut, ...] = ()
    degraded: str | None = None


Count = Annotated[int, Field(ge=0)]


class MadeBy(Value):
    """The nap, night or compression that made a memory."""

    run_id: Name
    kind: RunKind
    at: Time


class Turn(Value):
    """One message behind a memory, in the order in which it was read.

    *ordinal* is its place in the session. What is None is no longer kept: the owner's
    retention dropped the session's text, or it was forgotten.
    """

    ordinal: Count | None = None
    role: str | None = None
    at: Time | None = None
    text: str | None = None
    whole: bool = True
    """Whether *text* is all of it."""


class Provenance(Value):
    """A memory, and why it is there."""

    memory: MemoryEntry
    made_by: MadeBy | None = None
    """None for what was told, stored or imported; a move leaves this behind, too."""
    turns: tuple[Turn, ...] = ()
    sources: tuple[MemoryEntry, ...] = ()
    """The memories that it was made of, the oldest first."""
    sources_left: Count = 0
    """How many more there are."""


SYNTHESIS_TOKENS = 4500


class Fragment(Value):
    """One text of the caller's own; *relevance* is the base relevance of its source (SPEC 5.2)."""

    source: Name
    content: str = Field(max_length=TEXT_CHARS_MAX)
    relevance: Share = 0.5
    timestamp: str = ""
    untrusted: bool = False


class SynthesisRequest(Value):
    """A question for one block. A blank *query* leaves every base relevance as it is.

    Without *fragments* the agent's own learnings, playbook, conversation, summaries and
    graph are asked; *session_id* adds what was said there last.
    """

    query: str = Field(max_length=TEXT_CHARS_MAX)
    max_tokens: int = Field(default=SYNTHESIS_TOKENS, ge=0, le=RECALL_BUDGET_TOKENS_MAX)
    fragments: tuple[Fragment, ...] | None = Field(default=None, max_length=FRAGMENTS_ITEMS_MAX)
    session_id: Name | None = None
    project_id: ProjectId | None = None


class Synthesized(Value):
    """The block, "" when nothing fits, and how many lines of it come from each source.

    *left_out* counts what was said twice or did not fit. Where a line is fenced,
    *directive* is the paragraph that tells a model how to read it. *degraded* names the
    sources that failed.
    """

    block: str
    tokens: int = Field(default=0, ge=0)
    sources: dict[str, int] = Field(default_factory=dict)
    left_out: int = Field(default=0, ge=0)
    directive: str | None = None
    degraded: str | None = None
