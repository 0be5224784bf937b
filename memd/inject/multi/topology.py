"""Define the queries, candidates and results of the hierarchical retriever (SPEC 14.1).

Scores of candidates have no upper bound, because each worker has its own scale. Scores of a
``ScoredMemory`` are at most 1, so they are clamped.
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
"""A strategy for a retry: only one worker, or no retry."""


class RetrievalQuery(Value):
    """A query to the workers; *categories* None means all."""

    text: Text
    agent_id: Name
    categories: frozenset[MemoryCategory] | None = None
    max_results: int = Field(default=RESULTS, ge=1, le=100)
    token_budget: int | None = Field(default=None, ge=1)


class RetrievalCandidate(Value):
    """A candidate of one worker, with scores on that worker's scale."""

    entry: MemoryEntry
    relevance_score: float = Field(ge=0.0)
    recency_score: Share
    combined_score: float = Field(ge=0.0)
    source_worker: Name
    is_shared: bool = False

    def to_scored_memory(self) -> ScoredMemory:
        """Return the candidate with scores of at most 1."""
        return ScoredMemory(
            entry=self.entry,
            relevance_score=min(1.0, self.relevance_score),
            recency_score=self.recency_score,
            combined_score=min(1.0, self.combined_score),
            is_shared=self.is_shared,
        )


class RetrievalResult(Value):
    """The candidates of one worker, best first; *error* is the class of an unexpected error."""

    candidates: tuple[RetrievalCandidate, ...] = ()
    worker_name: Name
    execution_ms: float = Field(default=0.0, ge=0.0)
    error: str | None = None


class FinalRetrievalResult(Value):
    """The merged candidates of all attempts, and the result of each worker in each attempt."""

    candidates: tuple[RetrievalCandidate, ...] = ()
    worker_results: tuple[RetrievalResult, ...] = ()
    retries_performed: int = Field(default=0, ge=0)
    rerank_applied: bool = False


class WorkerRouting(Value):
    """The names of the workers for a query, and the reason."""

    workers: tuple[str, ...]
    reason: str = ""


class RetrievalCorrection(Value):
    """The changes for a retry; None leaves a part unchanged."""

    corrected_query: NotBlankStr | None = None
    alternative_strategy: Alternative | None = None
    reason: str = ""


@runtime_checkable
class RetrievalWorker(Protocol):
    """A retriever of one kind of memories; it returns an empty result instead of raising."""

    @property
    def name(self) -> str:
        """Return the name that a supervisor routes to."""
        ...

    async def retrieve(self, query: RetrievalQuery) -> RetrievalResult:
        """Return the worker's candidates, best first."""
        ...


@runtime_checkable
class RetrievalSupervisor(Protocol):
    """A supervisor that routes queries and decides on retries."""

    async def route(self, query: RetrievalQuery) -> WorkerRouting:
        """Return the workers for a query."""
        ...

    async def evaluate_for_retry(
        self, query: RetrievalQuery, candidates: tuple[RetrievalCandidate, ...]
    ) -> RetrievalCorrection | None:
        """Return the changes for a retry, or None if the candidates are good enough."""
        ...
