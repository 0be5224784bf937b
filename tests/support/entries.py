"""Builders of memory entries: only the arguments that matter to a test are given."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from memd.domain.enums import MemoryCategory
from memd.domain.memory import MemoryEntry, MemoryStoreRequest
from memd.domain.settings.retrieval import ScoredMemory

NOW = datetime(2026, 3, 17, 12, 0, tzinfo=UTC)


def an_entry(memory_id: str = "m", *, hours_old: float = 0.0, **fields: Any) -> MemoryEntry:
    """Return a semantic memory of agent ``ada``, made *hours_old* before NOW."""
    given = {
        "agent_id": "ada",
        "category": MemoryCategory.SEMANTIC,
        "content": f"content of {memory_id}",
        "created_at": NOW - timedelta(hours=hours_old),
    }
    return MemoryEntry(id=memory_id, **(given | fields))


def entries(*memory_ids: str) -> tuple[MemoryEntry, ...]:
    """Return one entry for each id."""
    return tuple(an_entry(memory_id) for memory_id in memory_ids)


def a_scored(content: str, score: float, **fields: Any) -> ScoredMemory:
    """Return a memory whose id and content are *content*, ranked at *score*."""
    entry = an_entry(content, content=content, **fields)
    return ScoredMemory(entry=entry, relevance_score=score, recency_score=0.0, combined_score=score)


def a_request(content: str = "JWT over sessions", **fields: Any) -> MemoryStoreRequest:
    """Return a request to store an episodic memory."""
    return MemoryStoreRequest(
        **({"category": MemoryCategory.EPISODIC, "content": content} | fields)
    )
