"""Make the answer of ranked candidates: select, fit to the budget, read rows, render the block.

Preferences come first (SPEC 2.9-2.13, D5). Rows are read in the snapshot that ranked the
candidates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from memd.base.clock import from_us
from memd.domain.enums import HIDDEN, MemoryCategory, MemoryState, Origin, Passing, Trust
from memd.domain.memory import MemoryFilter
from memd.domain.recall import SET_ID, Explanation, MemoryChunk, RecallRequest, RecallResult
from memd.domain.settings.retrieval import MemoryRetrievalConfig
from memd.domain.trust import TRUST, mark, mark_of_preference, mark_of_shared
from memd.domain.values import RESERVED_AGENT
from memd.guard.redaction import redact, screen_ahead
from memd.recall.candidates import Ranking
from memd.recall.foreign_cap import spread
from memd.recall.question import name_candidates
from memd.recall.ranking.rankings import RankedCandidate
from memd.recall.ranking.scored_memories import diverse_order
from memd.recall.scope import SearchScope
from memd.recall.select import Selection, select
from memd.store.file.connect import Reading
from memd.store.memory import memories, preferences, shared
from memd.store.memory.filters import bind
from memd.store.memory.preferences import PreferenceRow
from memd.store.memory.rows import StoredMemory
from memd.view.labels import memory_block, name_value

PREFERENCES_SHARE = 2  # preferences take at most 1/2 of the budget (SPEC D5)


@dataclass(frozen=True, slots=True)
class AnswerEntries:
    """The preferences and memories that fit the budget."""

    preferences: list[PreferenceRow]
    items: list[RankedCandidate]
    preferences_left_out: int
    minimum: int | None
    """The smallest budget in which something would fit; None if something fits."""


class AnswerContent(NamedTuple):
    """The entries of an answer, their rows by key, and what they were selected from."""

    entries: AnswerEntries
    rows: Mapping[int, StoredMemory]
    candidates: Ranking
    selection: Selection


# Reads, in the transaction that ranked the candidates.


def select_content(
    request: RecallRequest,
    config: MemoryRetrievalConfig,
    conn: Reading,
    scopes: Sequence[SearchScope],
    candidates: Ranking,
) -> AnswerContent:
    """Return the content without a re-ranker: all preferences, then the best memories."""
    selection = select(candidates, request, reordered=config.diversity_penalty_enabled)
    rows = applicable_preferences(conn, scopes[0], request)
    entries = choose(
        selection.items, rows, config, budget=request.token_budget, most=selection.count_max
    )
    keys = [item.measured.candidate.memory_key for item in entries.items]
    return AnswerContent(entries, read_rows(conn, keys), candidates, selection)


def read_rows(conn: Reading, keys: Sequence[int]) -> dict[int, StoredMemory]:
    """Return the rows of *keys*, with their texts screened for secrets in one batch."""
    by_key = memories.by_keys(conn, keys)
    if any(row.agent_id == RESERVED_AGENT for row in by_key.values()):
        by_key = shared.with_publishers(conn, by_key)
    screen_ahead(row.content for row in by_key.values())
    return by_key


def with_preferences(
    request: RecallRequest,
    conn: Reading,
    scopes: Sequence[SearchScope],
    candidates: Ranking,
) -> tuple[Ranking, list[PreferenceRow]]:
    """Return the candidates and the preferences, for a caller that orders them by a model."""
    return candidates, applicable_preferences(conn, scopes[0], request)


def applicable_preferences(
    conn: Reading, scope: SearchScope, request: RecallRequest
) -> list[PreferenceRow]:
    """Return the preferences that apply to every recall, whatever its filter; related ones first.

    Preferences of a project or session apply only there.
    """
    if request.categories and MemoryCategory.PROCEDURAL not in request.categories:
        return []
    agent_key, now_us = scope.result_filter.agent_key, scope.result_filter.now_us
    active_id = None if scope.active is None else scope.active.project_id
    rows = [
        row
        for row in preferences.list_preferences(conn, agent_key, now_us)
        if row.project_id in {None, active_id}
    ]
    screen_ahead(row.value for row in rows)
    keys = [row.memory_key for row in rows if row.memory_key is not None]
    if keys:
        visible = memories.filter_keys(
            conn, bind(agent_key, MemoryFilter(), now_us, active=scope.active), keys
        )
        rows = [row for row in rows if row.memory_key is None or row.memory_key in visible]
    asked = frozenset(name_candidates(request.query))
    return sorted(rows, key=lambda row: -len(asked & _names(row.value)))


@lru_cache(maxsize=512)  # the preferences are in every answer
def _names(value: str) -> frozenset[str]:
    return frozenset(name_candidates(value))


# Pure.


def choose(
    items: Sequence[RankedCandidate],
    prefers: Sequence[PreferenceRow],
    config: MemoryRetrievalConfig,
    *,
    budget: int,
    most: int,
) -> AnswerEntries:
    """Return what fits *budget*, with at most *most* memories.

    Preferences take at most half of the budget and do not count as memories. A memory that is also
    among the preferences, or has the text of one, is left out.
    """
    first = pack(
        [row.token_count for row in prefers],
        budget // PREFERENCES_SHARE,
        len(prefers),
    )
    chosen = [prefers[place] for place in first.places]
    keys = {row.memory_key for row in chosen if not row.is_part}
    values = {row.value for row in chosen}
    pairs = [(item, item.measured.candidate) for item in items]
    others = spread(
        [
            item
            for item, candidate in pairs
            if candidate.memory_key not in keys and candidate.own not in values
        ]
    )
    if config.diversity_penalty_enabled:
        pool = others[: most * config.candidate_pool_multiplier]
        texts = [item.measured.candidate.own for item in pool]
        scores = [item.relevance for item in pool]
        others = [pool[place] for place in diverse_order(texts, scores, config.diversity_lambda)]
    costs = [item.measured.candidate.token_count for item in others]
    packed = pack(costs, budget - first.tokens, most)
    # Preferences may use half of the budget, so one needs a budget of twice its size.
    needs = [packed.minimum, first.minimum and first.minimum * PREFERENCES_SHARE]
    nothing_fits = not packed.places and not chosen
    return AnswerEntries(
        preferences=chosen,
        items=[others[place] for place in packed.places],
        preferences_left_out=len(prefers) - len(chosen),
        minimum=min((need for need in needs if need is not None), default=None)
        if nothing_fits
        else None,
    )


class PackedItems(NamedTuple):
    """The places of the items that fit, their total cost, and the cost of the smallest item."""

    places: list[int]
    tokens: int
    minimum: int | None


def pack(costs: Sequence[int], budget: int, most: int) -> PackedItems:
    """Take up to *most* items in order, skipping those that do not fit in the rest of *budget*.

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


def render(content: AnswerContent, request: RecallRequest, agent_id: str) -> RecallResult:
    """Return the answer with its prompt block (SPEC 4)."""
    entries, rows, candidates, selection = content
    chunks = [_preference_chunk(row, agent_id) for row in entries.preferences]
    for item in entries.items:
        row = rows.get(item.measured.candidate.memory_key)
        if row is not None:  # a forget may have erased it since the ranking
            chunks.append(_memory_chunk(item, row, agent_id, why=request.why))
    tokens = sum(chunk.token_count for chunk in chunks)
    return RecallResult(
        memories=tuple(chunks),
        preferences_left_out=entries.preferences_left_out,
        total_tokens=tokens,
        budget_used=tokens / request.token_budget,
        minimum_required_tokens=entries.minimum,
        prompt_block=memory_block(
            (
                chunk.memory_type,
                name_value(chunk.content, chunk.set_by_name) if chunk.preference else chunk.content,
                mark_of_chunk(chunk),
            )
            for chunk in chunks
        ),
        gate=candidates.gate,
        cut=selection.all_excluded(entries.items) if request.why else (),
        degraded=candidates.degraded,
    )


def _preference_chunk(row: PreferenceRow, agent_id: str) -> MemoryChunk:
    origin, confirmed = Origin(row.origin), row.confirmed_at_us is not None
    return MemoryChunk(
        id=row.memory_id or f"{SET_ID}{row.name}",
        user_id=agent_id,
        memory_type=MemoryCategory.PROCEDURAL,
        content=redact(row.value),
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


def _memory_chunk(
    item: RankedCandidate, row: StoredMemory, agent_id: str, *, why: bool
) -> MemoryChunk:
    state = MemoryState(row.state)
    return MemoryChunk.model_construct(  # a row that matches its hash is valid
        id=row.memory_id,
        user_id=row.agent_id,
        session_id=row.session_id,
        project_id=row.project_id,
        memory_type=MemoryCategory(row.category),
        content=redact(row.content),
        importance=row.importance,
        token_count=row.token_count,
        relevance_score=item.relevance,
        is_shared=row.agent_id != agent_id,
        namespace=row.namespace,
        speaker=row.speaker,
        source=row.reference,
        tags=row.tag_names,
        created_at=from_us(row.created_at_us),
        updated_at=from_us(row.updated_at_us),
        occurred_at=from_us(row.occurred_at_us),
        state=state,
        compressed=state in HIDDEN,
        origin=Origin(row.origin),
        trust=Trust(row.trust),
        passing=None if row.passing is None else Passing(row.passing),
        why=_why(item) if why else None,
    )


def mark_of_chunk(chunk: MemoryChunk) -> str:
    """Return the mark of a line that says where it comes from, "" for the owner's own words."""
    if chunk.preference:
        return mark_of_preference(chunk.origin, confirmed=chunk.trust is Trust.OWNER)
    mark_of = mark_of_shared if chunk.is_shared else mark
    return mark_of(chunk.origin, chunk.trust)


def _why(item: RankedCandidate) -> Explanation:
    features = {name: round(value, 4) for name, value in item.measured.features.items()}
    return Explanation(
        features={**features, "score": round(item.score, 4)}, matched=item.measured.matched
    )
