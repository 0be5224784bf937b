"""Candidates become one ranked list: read, measured, scored, and summaries put in place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from memd.domain.enums import SearchMode
from memd.recall.question import Question
from memd.recall.ranking.features import (
    NO_STATISTICS,
    Nearness,
    Statistics,
    TokenMatch,
    maxsims,
    measure,
)
from memd.recall.ranking.newer import Kin, find_kin
from memd.recall.ranking.rankings import (
    Ranked,
    put_digests_first,
    put_plans_first,
    rank_by_time,
    rank_with_gate,
)
from memd.recall.ranking.weights import Tuned, shipped_weights
from memd.recall.scope import SearchScope
from memd.store.file.connect import Reading
from memd.store.search import caches, candidate_rows, fulltext, vectors
from memd.store.search.candidate_rows import SearchCandidate


@dataclass(frozen=True, slots=True)
class RankedCandidates:
    """Candidates best first, and the gate's probability that one answers."""

    items: list[Ranked]
    gate: float
    degraded: str | None
    """Why only words were searched, if so."""
    kin: Kin = field(default_factory=dict)
    """How near the best come to what a person stated; none where a time is asked about."""


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A question with its vector, or with the reason why it has none."""

    question: Question
    mode: SearchMode
    vector: bytes | None = None
    tokens: bytes = b""
    """Its token vectors; none of a model that gives none."""
    degraded: str | None = None
    tuned: Tuned | None = None
    """The tuning that replaces the shipped weights, where the question has a vector."""
    excluded_key: int | None = None
    """A memory that is the question itself (``TuningTrial``)."""
    statistics: Statistics = NO_STATISTICS
    """What the index counts of the question's terms."""


def rank_candidates(
    conn: Reading, scopes: Sequence[SearchScope], query: SearchQuery, keys: Sequence[Sequence[int]]
) -> RankedCandidates:
    """Measure and order the candidates of all *scopes* together, and ask the gate.

    The first scope is the caller's own: its summaries and its project count.
    """
    asked, vector, mode = query.question, query.vector, query.mode
    by_scope = [
        candidate_rows.read_candidates(conn, scope.indexed, its_keys)
        for scope, its_keys in zip(scopes, keys, strict=True)
    ]
    if (excluded_key := query.excluded_key) is not None:
        by_scope = [_exclude(conn, excluded_key, scoped) for scoped in by_scope]
    candidates = [candidate for scoped in by_scope for candidate in scoped]
    nearness = _nearness(conn, query, by_scope)
    weights = shipped_weights(vector=vector is not None, tokens=bool(nearness.maxsims))
    if query.tuned is not None and vector is not None:
        weights = query.tuned.weights_for(tokens=bool(nearness.maxsims))
    stem = fulltext.stemmer(conn)
    measured = measure(asked, candidates, nearness, query.statistics, stem, len(by_scope[0]))
    project_id = scopes[0].shown.active_project_id
    request_us = scopes[0].shown.now_us if asked.is_request else None
    items, chance = rank_with_gate(measured, weights, mode, project_id, request_us)
    if asked.plans and mode is SearchMode.HYBRID:
        items, chance = put_plans_first(items, asked.plans), 1.0
    elif asked.only_time and mode is SearchMode.HYBRID:
        items, chance = rank_by_time(items, asked, project_id), 1.0
    if asked.last_digests and mode is SearchMode.HYBRID:
        items, chance = put_digests_first(items, asked.last_digests), 1.0
    items = _show_summaries(conn, scopes[0], items)
    now = vector is not None and mode is SearchMode.HYBRID and not asked.times
    kin = find_kin(items, partial(vectors.read, conn)) if now else {}
    return RankedCandidates(items, chance, query.degraded, kin=kin)


def _nearness(
    conn: Reading, query: SearchQuery, by_scope: Sequence[Sequence[SearchCandidate]]
) -> Nearness:
    """Return how near the question comes to the candidates of each scope, the own ones first.

    Its tokens are compared only where none of the candidates with a vector waits for token vectors,
    so that all are measured alike.
    """
    if query.vector is None:
        return Nearness({}, {})
    candidates = [candidate for scoped in by_scope for candidate in scoped]
    with_neighbours = {
        key
        for candidate in candidates
        for key in (candidate.memory_key, candidate.before_key, candidate.after_key)
        if key is not None
    }
    cosines = vectors.cosines_of(conn, query.vector, sorted(with_neighbours))
    embedded = [each.memory_key for each in candidates if each.memory_key in cosines]
    compared = query.mode is SearchMode.HYBRID and query.tokens
    tokens = vectors.tokens_of(conn, embedded) if compared else {}
    near: dict[int, TokenMatch] = {}
    if len(tokens) == len(set(embedded)):
        with_tokens = {key: tokens[key] for key in embedded if tokens[key]}
        own = sum(each.memory_key in with_tokens for each in by_scope[0])
        near = maxsims(query.tokens, with_tokens, own)
    return Nearness(cosines if query.tuned is None else query.tuned.cosines(cosines), near)


def _exclude(
    conn: Reading, excluded_key: int, candidates: list[SearchCandidate]
) -> list[SearchCandidate]:
    """Return *candidates* without one memory, and without its words in its neighbours' contexts."""
    to_next, to_last = caches.context_parts(conn, excluded_key)
    remaining = []
    for candidate in candidates:
        if candidate.memory_key == excluded_key:
            continue
        if excluded_key == candidate.before_key:
            context = candidate.context.replace(to_next, " ", 1)
            remaining.append(candidate._replace(before_key=None, context=context))
        elif excluded_key == candidate.after_key:
            context = candidate.context.replace(to_last, " ", 1)
            remaining.append(candidate._replace(after_key=None, context=context))
        else:
            remaining.append(candidate)
    return remaining


def _show_summaries(conn: Reading, scope: SearchScope, items: Sequence[Ranked]) -> list[Ranked]:
    """Return *items* with each summary, once, in place of the sources that it supersedes.

    Where the scope shows sources, those that a visible summary supersedes stand for themselves, and
    for the summary, which a filter may have found, too.
    """
    if scope.include_hidden:
        return list(items)
    hidden = [
        item.measured.candidate.memory_key for item in items if item.measured.candidate.is_hidden
    ]
    summaries = candidate_rows.find_summaries(conn, scope.shown, hidden)
    replaced = {each.memory_key for each in summaries.values()} if scope.shows_sources else set()
    shown: dict[int, Ranked] = {}
    for item in items:
        candidate = item.measured.candidate
        if candidate.memory_key in replaced:
            continue
        if not candidate.is_hidden:
            shown.setdefault(candidate.memory_key, item)
            continue
        summary = summaries.get(candidate.memory_key)
        if summary is None:
            continue
        if scope.shows_sources:
            shown.setdefault(candidate.memory_key, item)
        elif summary.memory_key not in shown:
            measured = replace(item.measured, candidate=summary)
            shown[summary.memory_key] = replace(item, measured=measured)
    return list(shown.values())
