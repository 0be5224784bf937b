"""What is asked of the synthesizer over the socket, and what it answers (SPEC 5)."""

from __future__ import annotations

from pydantic import Field

from memd.base.limits import FRAGMENTS_ITEMS_MAX, RECALL_BUDGET_TOKENS_MAX, TEXT_CHARS_MAX
from memd.domain.values import Name, ProjectId, Share, Value

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
