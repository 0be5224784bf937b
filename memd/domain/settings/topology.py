"""What the hierarchical retriever asks, finds and answers (SPEC 14.1).

Scores of candidates have no upper bound, because every worker has a scale of its
own; ``ScoredMemory`` has one. What leaves the retriever is clamped on the way out.
"""

from __future__ import annotations

from typing import Literal, Protocol, runtime_checkable

from pydantic import Field

from memd.domain.enums import MemoryCategory
from memd.domain.memory import MemoryEntry
from memd.domain.settings.retrieval import ScoredMemory
from memd.domain.values import Name, NotBlankStr, Share, Text, Value

RESULTS = 20

Alternative = Literal["semantic_only", "episodic_only", "skip"]
"""What else to try: one worker alone, or nothing more."""


class RetrievalQuery(Value):
    """A question to the workers. *categories*: only these; None for all."""

    text: Text
    agent_id: Name
    categories: frozenset[MemoryCategory] | None = None
    max_results: int = Field(default=RESULTS, ge=1, le=100)
    token_budget: int | None = Field(default=None, ge=1)


class RetrievalCandidate(Value):
    """One memory that a worker found, on that worker's own scale."""

    entry: MemoryEntry
    relevance_score: float = Field(ge=0.0)
    recency_score: Share
    combined_score: float = Field(ge=0.0)
    source_worker: Name
    is_shared: bool = False

    def scored(self) -> ScoredMemory:
        """Return the candidate on the scale from 0 to 1: what is above counts as 1."""
        return ScoredMemory(
            entry=self.entry,
            relevance_score=min(1.0, self.relevance_score),
            recency_score=self.recency_score,
            combined_score=min(1.0, self.combined_score),
            is_shared=self.is_shared,
        )


class RetrievalResult(Value):
    """What one worker found, best first. *error* names the class of a failure nobody expected."""

    candidates: tuple[RetrievalCandidate, ...] = ()
    worker_name: Name
    execution_ms: float = Field(default=0.0, ge=0.0)
    error: str | None = None


class FinalRetrievalResult(Value):
    """What all workers found, in all attempts: *worker_results* keeps each of them."""

    candidates: tuple[RetrievalCandidate, ...] = ()
    worker_results: tuple[RetrievalResult, ...] = ()
    retries_performed: int = Field(default=0, ge=0)
    rerank_applied: bool = False


class WorkerRouting(Value):
    """Which workers a question goes to, and why."""

    workers: tuple[str, ...]
    reason: str = ""


class RetrievalCorrection(Value):
    """How to try again; what is None stays as it was."""

    corrected_query: NotBlankStr | None = None
    alternative_strategy: Alternative | None = None
    reason: str = ""


@runtime_checkable
class RetrievalWorker(Protocol):
    """Finds memories in one way. It never raises for what goes wrong with memories."""

    @property
    def name(self) -> str:
        """Return the name that a supervisor routes to."""
        ...

    async def retrieve(self, query: RetrievalQuery) -> RetrievalResult:
        """Return what this worker finds, best first."""
        ...


@runtime_checkable
class RetrievalSupervisor(Protocol):
    """Decides who looks, and whether to look again."""

    async def route(self, query: RetrievalQuery) -> WorkerRouting:
        """Return the workers that a question goes to."""
        ...

    async def evaluate_for_retry(
        self, query: RetrievalQuery, candidates: tuple[RetrievalCandidate, ...]
    ) -> RetrievalCorrection | None:
        """Return how to try again, or None when what was found is good enough."""
        ...
