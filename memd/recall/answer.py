"""From ranked candidates to the answer: preferences, diversity, budget, block. Pure.

The budget is that of SPEC 2.9-2.13 and D5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memd.base.clock import from_us
from memd.domain.enums import HIDDEN, MemoryCategory, MemoryState, Origin, Passing, Trust
from memd.domain.recall import Cut, MemoryChunk, RecallRequest, RecallResult, Why
from memd.domain.settings.retrieval import MemoryRetrievalConfig
from memd.domain.trust import TRUST, mark, mark_of_preference, mark_of_shared
from memd.guard.outgoing import outgoing
from memd.recall.ranking.crowding import spread
from memd.recall.ranking.diversify import diverse_order
from memd.recall.ranking.rankings import Ranked
from memd.store.memory.preferences import PreferenceRow
from memd.store.memory.rows import StoredMemory
from memd.view.labels import memory_block

PREFERENCES_SHARE = 2  # preferences take at most one part in two of the budget (SPEC D5)


@dataclass(frozen=True, slots=True)
class RankedCandidates:
    """Ranked candidates, what the gate thinks of them, and why meaning was not searched, if so.

    *cut* is what is not told, and why.
    """

    items: list[Ranked]
    gate: float
    degraded: str | None
    cut: Sequence[Cut] = ()


@dataclass(frozen=True, slots=True)
class Chosen:
    """What fits: preferences, then memories; and the least budget in which something would."""

    preferences: list[PreferenceRow]
    items: list[Ranked]
    left_out: int
    minimum: int | None


def nothing() -> RecallResult:
    """Return the answer of an agent that has no memories."""
    return RecallResult()


def choose(
    items: Sequence[Ranked],
    prefers: Sequence[PreferenceRow],
    request: RecallRequest,
    config: MemoryRetrievalConfig,
) -> Chosen:
    """Cut to budget and ``top_k``: preferences use no slot and at most half of the budget.

    What is shown as a preference, be it the same memory or another one that says
    the same, is not shown again.
    """
    first = pack(
        [row.token_count for row in prefers],
        request.token_budget // PREFERENCES_SHARE,
        len(prefers),
    )
    shown = [prefers[place] for place in first.places]
    keys = {row.memory_key for row in shown}
    values = {row.value for row in shown}
    candidates = [(item, item.measured.candidate) for item in items]
    rest = [
        item for item, its in candidates if its.memory_key not in keys and its.own not in values
    ]
    rest = spread(rest)
    most = len(rest) if request.top_k is None else request.top_k
    if config.diversity_penalty_enabled:
        pool = rest[: most * config.candidate_pool_multiplier]
        texts = [item.measured.candidate.own for item in pool]
        scores = [item.relevance for item in pool]
        rest = [pool[place] for place in diverse_order(texts, scores, config.diversity_lambda)]
    costs = [item.measured.candidate.token_count for item in rest]
    packed = pack(costs, request.token_budget - first.tokens, most)
    # A preference that takes half of the budget needs one twice its size.
    needs = [packed.minimum, first.minimum and first.minimum * PREFERENCES_SHARE]
    nothing_fits = not packed.places and not shown
    return Chosen(
        preferences=shown,
        items=[rest[place] for place in packed.places],
        left_out=len(prefers) - len(shown),
        minimum=min((need for need in needs if need is not None), default=None)
        if nothing_fits
        else None,
    )


def render(
    chosen: Chosen,
    rows: Mapping[int, StoredMemory],
    request: RecallRequest,
    agent_id: str,
    candidates: RankedCandidates,
) -> RecallResult:
    """Return the answer with its prompt block (SPEC 4)."""
    chunks = [_preference(row, agent_id) for row in chosen.preferences]
    for item in chosen.items:
        row = rows.get(item.measured.candidate.memory_key)
        if row is not None:  # erased since it was found
            chunks.append(_chunk(item, row, agent_id, why=request.why))
    tokens = sum(chunk.token_count for chunk in chunks)
    return RecallResult(
        memories=tuple(chunks),
        preferences_left_out=chosen.left_out,
        total_tokens=tokens,
        budget_used=tokens / request.token_budget,
        minimum_required_tokens=chosen.minimum,
        prompt_block=memory_block(
            (chunk.memory_type, chunk.content, mark_of_chunk(chunk)) for chunk in chunks
        ),
        gate=candidates.gate,
        cut=tuple(candidates.cut) if request.why else (),
        degraded=candidates.degraded,
    )


def _preference(row: PreferenceRow, agent_id: str) -> MemoryChunk:
    origin, confirmed = Origin(row.origin), row.confirmed_at_us is not None
    return MemoryChunk(
        id=row.memory_id or f"proc_{row.name}",
        user_id=agent_id,
        memory_type=MemoryCategory.PROCEDURAL,
        content=outgoing(row.value),
        importance=row.confidence,
        token_count=row.token_count,
        preference=True,
        preference_key=row.name,
        namespace="default",
        created_at=from_us(row.created_at_us),
        updated_at=from_us(row.updated_at_us),
        origin=origin,
        trust=Trust.OWNER if confirmed else min(TRUST[origin], Trust.ASSISTED),
    )


def _chunk(item: Ranked, row: StoredMemory, agent_id: str, *, why: bool) -> MemoryChunk:
    state = MemoryState(row.state)
    return MemoryChunk(
        id=row.memory_id,
        user_id=row.agent_id,
        session_id=row.session_id,
        memory_type=MemoryCategory(row.category),
        content=outgoing(row.content),
        importance=row.importance,
        token_count=row.token_count,
        relevance_score=item.relevance,
        is_shared=row.agent_id != agent_id,
        namespace=row.namespace,
        speaker=row.speaker,
        source=row.reference,
        tags=row.tag_names,
        created_at=from_us(row.created_at_us),
        updated_at=None if row.updated_at_us is None else from_us(row.updated_at_us),
        occurred_at=None if row.occurred_at_us is None else from_us(row.occurred_at_us),
        state=state,
        compressed=state in HIDDEN,
        origin=Origin(row.origin),
        trust=Trust(row.trust),
        passing=None if row.passing is None else Passing(row.passing),
        why=_why(item) if why else None,
    )


def mark_of_chunk(chunk: MemoryChunk) -> str:
    """Return what stands before a line that is not the owner's own word."""
    if chunk.preference:
        return mark_of_preference(chunk.origin, confirmed=chunk.trust is Trust.OWNER)
    of = mark_of_shared if chunk.is_shared else mark
    return of(chunk.origin, chunk.trust)


def _why(item: Ranked) -> Why:
    features = {name: round(value, 4) for name, value in item.measured.features.items()}
    return Why(features={**features, "score": round(item.score, 4)}, matched=item.measured.matched)


class PackedItems(NamedTuple):
    """Which items fit, by place, what they cost, and what the smallest would have cost."""

    places: list[int]
    tokens: int
    minimum: int | None


def pack(costs: Sequence[int], budget: int, most: int) -> PackedItems:
    """Take items in order while they fit; what does not is skipped, smaller ones still tried.

    >>> pack([900, 1500, 1000, 100, 50], 2000, 5)
    PackedItems(places=[0, 2, 3], tokens=2000, minimum=50)
    """
    places: list[int] = []
    tokens = 0
    for place, cost in enumerate(costs):
        if len(places) == most:
            break
        if tokens + cost <= budget:
            places.append(place)
            tokens += cost
    return PackedItems(places, tokens, min(costs, default=None))
