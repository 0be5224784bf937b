"""What of the found is told: as much as is worth its place and fits, and the rows of it.

Preferences come first. All of it reads in the transaction that found it.
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
from memd.store.memory.rows import FoundRow


class ToldMemories(NamedTuple):
    """What is told of what was found, and its rows by their keys."""

    chosen: Chosen
    rows: Mapping[int, FoundRow]
    found: RankedCandidates


def tell(
    request: RecallRequest,
    config: MemoryRetrievalConfig,
    conn: Reading,
    scopes: Sequence[SearchScope],
    found: RankedCandidates,
) -> ToldMemories:
    """Return what is told where nothing but the rule decides: all preferences, then the best."""
    selection = select(found.items, request, reordered=config.diversity_penalty_enabled)
    prefers = listed(conn, scopes[0], request)
    chosen = cut(request, config, selection, selection.items, prefers)
    return with_rows(conn, selection, chosen, found)


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
    conn: Reading, selection: Selection, chosen: Chosen, found: RankedCandidates
) -> ToldMemories:
    """Return *chosen* with its rows, and beside it what is not told and why."""
    keys = [item.measured.candidate.memory_key for item in chosen.items]
    cuts = replace(found, cut=selection.all_cut(chosen.items))
    return ToldMemories(chosen, rows(conn, keys), cuts)


def rows(conn: Reading, keys: Sequence[int]) -> dict[int, FoundRow]:
    """Return the rows of *keys*, looked at as what leaves is."""
    found = shared.signed(conn, memories.by_keys(conn, keys))
    look_at(row.content for row in found.values())
    return found


def with_preferences(
    request: RecallRequest,
    conn: Reading,
    scopes: Sequence[SearchScope],
    found: RankedCandidates,
) -> tuple[RankedCandidates, list[PreferenceRow]]:
    """Return what was found and the preferences, for who decides with more than these."""
    return found, listed(conn, scopes[0], request)


def listed(conn: Reading, scope: SearchScope, request: RecallRequest) -> list[PreferenceRow]:
    """Return the preferences that are in every recall, whatever it is filtered by.

    What belongs to another project or session stays there.
    """
    if request.categories and MemoryCategory.PROCEDURAL not in request.categories:
        return []
    found = preferences.listed(conn, scope.agent_key, scope.wanted.now_us)
    look_at(row.value for row in found)
    keys = [row.memory_key for row in found if row.memory_key is not None]
    seen = memories.matching_among(conn, scope.here, keys)
    found = [row for row in found if row.memory_key is None or row.memory_key in seen]
    asked = found_terms(request.query[:QUERY_CHARS_MAX])
    return sorted(found, key=lambda row: -len(asked & found_terms(row.value)))


def found_terms(text: str) -> frozenset[str]:
    """Return the words of *text* that preferences are chosen by."""
    return frozenset(name_candidates(text))
