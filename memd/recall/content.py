"""The content of an answer: what of the candidates is worth its place and fits, and its rows.

Preferences come first. All of it reads in the transaction that retrieved the candidates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from memd.base.limits import QUERY_CHARS_MAX
from memd.domain.enums import MemoryCategory
from memd.domain.recall import RecallRequest
from memd.domain.settings.retrieval import MemoryRetrievalConfig
from memd.guard.outgoing import look_at
from memd.recall import answer
from memd.recall.answer import Chosen, RankedCandidates
from memd.recall.question import name_candidates
from memd.recall.ranking.rankings import Ranked
from memd.recall.search import SearchScope
from memd.recall.select import Selection, select
from memd.store.file.connect import Reading
from memd.store.memory import memories, preferences, shared
from memd.store.memory.preferences import PreferenceRow
from memd.store.memory.rows import StoredMemory


class RecallContent(NamedTuple):
    """What an answer holds of *candidates*, and its rows by their keys."""

    chosen: Chosen
    rows: Mapping[int, StoredMemory]
    candidates: RankedCandidates


def select_content(
    request: RecallRequest,
    config: MemoryRetrievalConfig,
    conn: Reading,
    scopes: Sequence[SearchScope],
    candidates: RankedCandidates,
) -> RecallContent:
    """Return the content by rule alone: all preferences, then the best."""
    selection = select(candidates.items, request, reordered=config.diversity_penalty_enabled)
    prefers = listed(conn, scopes[0], request)
    chosen = cut(request, config, selection, selection.items, prefers)
    return with_rows(conn, selection, chosen, candidates)


def cut(
    request: RecallRequest,
    config: MemoryRetrievalConfig,
    selection: Selection,
    items: Sequence[Ranked],
    prefers: Sequence[PreferenceRow],
) -> Chosen:
    """Return what fits of *items*, those of *selection* in whichever order."""
    as_many = request.model_copy(update={"top_k": selection.most})
    return answer.choose(items, prefers, as_many, config)


def with_rows(
    conn: Reading, selection: Selection, chosen: Chosen, candidates: RankedCandidates
) -> RecallContent:
    """Return *chosen* with its rows, and beside it what is left out and why."""
    keys = [item.measured.candidate.memory_key for item in chosen.items]
    cuts = replace(candidates, cut=selection.all_cut(chosen.items))
    return RecallContent(chosen, rows(conn, keys), cuts)


def rows(conn: Reading, keys: Sequence[int]) -> dict[int, StoredMemory]:
    """Return the rows of *keys*, looked at as what leaves is."""
    by_key = shared.with_publishers(conn, memories.by_keys(conn, keys))
    look_at(row.content for row in by_key.values())
    return by_key


def with_preferences(
    request: RecallRequest,
    conn: Reading,
    scopes: Sequence[SearchScope],
    candidates: RankedCandidates,
) -> tuple[RankedCandidates, list[PreferenceRow]]:
    """Return the candidates and the preferences, for who decides with more than these."""
    return candidates, listed(conn, scopes[0], request)


def listed(conn: Reading, scope: SearchScope, request: RecallRequest) -> list[PreferenceRow]:
    """Return the preferences that are in every recall, whatever it is filtered by.

    What belongs to another project or session stays there.
    """
    if request.categories and MemoryCategory.PROCEDURAL not in request.categories:
        return []
    prefers = preferences.list_preferences(conn, scope.agent_key, scope.bound.now_us)
    look_at(row.value for row in prefers)
    keys = [row.memory_key for row in prefers if row.memory_key is not None]
    seen = memories.filter_keys(conn, scope.here, keys)
    prefers = [row for row in prefers if row.memory_key is None or row.memory_key in seen]
    asked = preference_terms(request.query[:QUERY_CHARS_MAX])
    return sorted(prefers, key=lambda row: -len(asked & preference_terms(row.value)))


def preference_terms(text: str) -> frozenset[str]:
    """Return the words of *text* that preferences are chosen by."""
    return frozenset(name_candidates(text))
