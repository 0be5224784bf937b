"""Retrieve candidates by words and by vectors, and turn them into one ranked list.

Sparse retrieval (BM25) and dense retrieval (vectors) are both filtered exactly. The rows that they
return are read, measured and scored, and summaries replace their sources.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from memd.base.limits import KNN_ROWS_MAX
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
from memd.recall.ranking.newer_first import Kin, find_kin
from memd.recall.ranking.rankings import (
    RETRIEVED_ROWS,
    RankedCandidate,
    put_digests_first,
    put_plans_first,
    rank_by_time,
    rank_with_gate,
)
from memd.recall.ranking.weights import RankerTuning, shipped_weights
from memd.recall.scope import SearchScope, SearchTarget
from memd.store.file.connect import Reading
from memd.store.file.database import Database
from memd.store.memory import memories
from memd.store.search import caches, candidate_rows, fulltext, vectors
from memd.store.search.candidate_rows import SearchCandidate
from memd.store.session.project_notes import filter_related
from memd.text.harms import HARMS

PERSON_ROWS = 3 * RETRIEVED_ROWS  # rows among which a named speaker comes first (decision 0233)
REFETCH_FACTOR = 4  # how many more rows are fetched when too few of the first matched
POSTINGS_MAX = 3_000  # index entries of all searched terms together: about 10 ms of BM25


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates best first, and the gate's probability that one answers."""

    items: list[RankedCandidate]
    gate: float
    degraded: str | None
    """Why only words were searched, if so."""
    kin: Kin = field(default_factory=dict)
    """Cosines of the best memories with statements; empty for a question about a time."""
    unrelated: frozenset[int] = frozenset()
    """Keys of notes, memories of no session and no project, that do not concern the active one."""


ALL_SHARDS = range(vectors.SHARDS)
_NOTE_CHARS = 2_000  # of a note, in which a harm is looked for


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A question with its vector, or with the reason why it has none."""

    question: Question
    mode: SearchMode
    vector: bytes | None = None
    model_key: int = 0
    """The model of *vector*."""
    shards: range = ALL_SHARDS
    """The shards of vectors to search."""
    tokens: bytes = b""
    """Its token vectors; empty for a model without them."""
    degraded: str | None = None
    tuning: RankerTuning | None = None
    """The tuning that replaces the shipped weights, if the question has a vector."""
    excluded_key: int | None = None
    """The memory that the question was taken from (``TuningTrial``)."""
    statistics: Statistics = NO_STATISTICS
    """The frequencies of the question's terms."""


# The retrievers.
#
# Each returns the best of exactly the rows that match the filter (SPEC D6). If few rows match, they
# are listed and scored directly. Otherwise a retriever fetches more rows than it needs, drops those
# that do not match, and fetches again until it has enough.


def sparse_search(
    conn: Reading,
    targets: Sequence[SearchTarget],
    written: Mapping[str, str],
    rows: int,
    counted: Sequence[str],
) -> tuple[list[list[int]], Statistics]:
    """Return up to *rows* keys per target, by BM25, and the statistics of the terms *counted*.

    *written* maps each term to a word of the question.
    """
    owners = [owner for target in targets for owner in target.scope.owners]
    statistics = Statistics(*fulltext.statistics(conn, owners, counted))
    words = [written[term] for term in rare_terms(list(written), statistics)]
    if not words:
        return [[] for _ in targets], statistics
    return [sparse_keys(conn, target, words, rows) for target in targets], statistics


def sparse_keys(conn: Reading, target: SearchTarget, words: Sequence[str], rows: int) -> list[int]:
    """Return up to *rows* matching memories that contain any of *words*, by BM25."""
    scope, listed = target
    match = fulltext.match_query(words, scope.owners)
    if listed is not None:
        return fulltext.search_keys(conn, match, listed, rows)
    limit = scope.first_limit * rows
    while True:
        hits = fulltext.search(conn, match, limit)
        matching = memories.filter_keys(conn, scope.index_filter, hits)
        if len(matching) >= rows or len(hits) < limit:
            return matching[:rows]
        limit *= REFETCH_FACTOR


def rare_terms(terms: Sequence[str], statistics: Statistics) -> Sequence[str]:
    """Return the terms to search for: the rarest, within POSTINGS_MAX, but at least one.

    Common terms add little that dense retrieval does not find. The ranking uses all terms.
    """
    if statistics.corpus.rows * len(terms) <= POSTINGS_MAX:
        return terms
    counts = statistics.frequencies
    known = sorted((term for term in terms if counts[term]), key=counts.__getitem__)
    totals = itertools.accumulate(counts[term] for term in known)
    cheap = [term for term, total in zip(known, totals, strict=True) if total <= POSTINGS_MAX]
    return cheap or known[:1] or list(terms)


class DenseKeys(NamedTuple):
    """The memories nearest to a vector; *fetched* is None if all of them match the filter."""

    keys: list[int]
    fetched: int | None = None


async def dense_search(
    db: Database,
    target: SearchTarget,
    vector: bytes,
    rows: int,
    factor: int = 1,
    shards: range = ALL_SHARDS,
) -> DenseKeys:
    """Return the memories nearest to *vector*, to be filtered by :func:`matching_dense`.

    *factor* multiplies how many are fetched. The *shards* are scanned in parallel. Each scan may
    see another snapshot, but a memory never changes its shard. If more than KNN_ROWS_MAX would have
    to be fetched, all matching rows are compared one by one instead.
    """
    scope, listed = target
    limit = scope.first_limit * rows * factor
    is_exact = listed is not None or limit > KNN_ROWS_MAX
    if listed is not None:
        results = [await db.read(_among, vector, listed)]
    elif not is_exact:
        agent_key = scope.result_filter.agent_key
        within = [vectors.partitions(agent_key, scope.parts, shard) for shard in shards]
        scans = (db.scan(vectors.search, vector, each, limit) for each in within)
        results = await asyncio.gather(*scans)
    else:
        results = await asyncio.gather(
            *(db.scan(_scan_matching, scope, vector, shard) for shard in shards)
        )
    nearest = sorted(
        itertools.chain(*results), key=lambda neighbour: (-neighbour.cosine, neighbour.memory_key)
    )
    keys = [neighbour.memory_key for neighbour in nearest[: rows if is_exact else limit]]
    return DenseKeys(keys, None if is_exact else limit)


def matching_dense(
    conn: Reading, targets: Sequence[SearchTarget], dense: Sequence[DenseKeys], rows: int
) -> list[list[int]] | None:
    """Return up to *rows* matching keys per target; None if more might match than were fetched.

    It runs in the read that ranks them: a transaction of its own would double the cost.
    """
    complete: list[list[int]] = []
    for target, (keys, fetched) in zip(targets, dense, strict=True):
        if fetched is None:
            complete.append(keys)
            continue
        matching = memories.filter_keys(conn, target.scope.index_filter, keys)
        if len(matching) < rows and len(keys) >= fetched:
            return None
        complete.append(matching[:rows])
    return complete


def _scan_matching(
    conn: Reading, scope: SearchScope, vector: bytes, shard: int
) -> list[vectors.DenseMatch]:
    keys = memories.find_keys(conn, scope.search_filter, -1)
    return _among(conn, vector, [key for key in keys if vectors.shard(key) == shard])


def _among(conn: Reading, vector: bytes, keys: Sequence[int]) -> list[vectors.DenseMatch]:
    cache = vectors.current_cache(conn)
    if cache is None:
        return []
    cosines, _ = vectors.compare(conn, cache.model_key, vector, keys)
    return [vectors.DenseMatch(*pair) for pair in cosines.items()]


def person_first(conn: Reading, keys: Sequence[int], person: str, rows: int) -> list[int]:
    """Return *rows* of the nearest *keys*: first those that *person* (casefolded) said.

    Many people talk about a topic, but a question about a person is mostly answered by that person.
    """
    speakers = candidate_rows.read_speakers(conn, keys)
    return sorted(keys, key=lambda key: speakers.get(key, "").casefold() != person)[:rows]


# The ranking.


def rank_candidates(
    conn: Reading, scopes: Sequence[SearchScope], query: SearchQuery, keys: Sequence[Sequence[int]]
) -> Ranking:
    """Measure and order the candidates of all *scopes* together, and ask the gate.

    The first scope is the caller's own; only its summaries and its project are used.
    """
    asked, vector, mode = query.question, query.vector, query.mode
    by_scope = [
        candidate_rows.read_candidates(conn, scope.index_filter, scope_keys)
        for scope, scope_keys in zip(scopes, keys, strict=True)
    ]
    if (excluded_key := query.excluded_key) is not None:
        by_scope = [_exclude(conn, excluded_key, scoped) for scoped in by_scope]
    candidates = [candidate for scoped in by_scope for candidate in scoped]
    nearness = _nearness(conn, query, by_scope)
    weights = shipped_weights(vector=vector is not None, tokens=bool(nearness.maxsims))
    if query.tuning is not None and vector is not None:
        weights = query.tuning.weights_for(tokens=bool(nearness.maxsims))
    stem = fulltext.stemmer(conn)
    measured = measure(asked, candidates, nearness, query.statistics, stem, len(by_scope[0]))
    project_id = scopes[0].result_filter.active_project_id
    request_us = scopes[0].result_filter.now_us if asked.is_request else None
    items, chance = rank_with_gate(measured, weights, mode, project_id, request_us)
    if asked.plans and mode is SearchMode.HYBRID:
        items, chance = put_plans_first(items, asked.plans), 1.0
    elif asked.only_time and mode is SearchMode.HYBRID:
        items, chance = rank_by_time(items, asked, project_id), 1.0
    if asked.last_digests and mode is SearchMode.HYBRID:
        items, chance = put_digests_first(items, asked.last_digests), 1.0
    items = _show_summaries(conn, scopes[0], items)
    compares = vector is not None and mode is SearchMode.HYBRID and not asked.times
    read_vectors = partial(vectors.read, conn, model_key=query.model_key)
    # Only the default model has token vectors, and it reads English alone.
    kin = find_kin(items, read_vectors, english_alone=bool(query.tokens)) if compares else {}
    unrelated = _find_unrelated(conn, scopes[0], items, {each.memory_key for each in by_scope[0]})
    return Ranking(items, chance, query.degraded, kin=kin, unrelated=unrelated)


def _find_unrelated(
    conn: Reading, scope: SearchScope, items: Sequence[RankedCandidate], own: Collection[int]
) -> frozenset[int]:
    """Return which likely notes among *own* memories do not concern the scope's active project.

    What has no bar, because a time brings it, is not among them, and what harms somebody neither.
    """
    project_id = scope.result_filter.active_project_id
    if project_id is None:
        return frozenset()
    likely = [item for item in items if item.passes and item.relevance >= item.bar > 0]
    candidates = [item.measured.candidate for item in likely]
    notes = [
        each.memory_key
        for each in candidates
        if each.project_id is None
        and each.session_key is None
        and each.memory_key in own
        and not HARMS.search(each.own[:_NOTE_CHARS])
    ]
    if not notes:
        return frozenset()
    agent_key = scope.result_filter.agent_key
    return frozenset(notes) - filter_related(conn, agent_key, project_id, notes)


def _nearness(
    conn: Reading, query: SearchQuery, by_scope: Sequence[Sequence[SearchCandidate]]
) -> Nearness:
    """Return the similarities of the question to the candidates of all scopes.

    Token vectors are compared only if every candidate with a vector has them, so that all
    candidates have the same features.
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
    compared = query.mode is SearchMode.HYBRID and query.tokens
    keys = [each.memory_key for each in candidates]
    cosines, tokens = vectors.compare(
        conn, query.model_key, query.vector, sorted(with_neighbours), keys if compared else ()
    )
    embedded = [key for key in keys if key in cosines]
    matches: dict[int, TokenMatch] = {}
    if compared and len(tokens) == len(set(embedded)):
        with_tokens = {key: tokens[key] for key in embedded if tokens[key]}
        own = sum(each.memory_key in with_tokens for each in by_scope[0])
        matches = maxsims(query.tokens, with_tokens, own)
    return Nearness(cosines if query.tuning is None else query.tuning.cosines(cosines), matches)


def _exclude(
    conn: Reading, excluded_key: int, candidates: list[SearchCandidate]
) -> list[SearchCandidate]:
    """Return *candidates* without one memory, and without its words in neighbours' contexts."""
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


def _show_summaries(
    conn: Reading, scope: SearchScope, items: Sequence[RankedCandidate]
) -> list[RankedCandidate]:
    """Return *items* with each summary, once, in place of the sources that it supersedes.

    If the scope shows sources, they stay, and summaries that they belong to are left out.
    """
    hidden = [
        item.measured.candidate.memory_key for item in items if item.measured.candidate.is_hidden
    ]
    if scope.include_hidden or not hidden:
        return list(items)
    summaries = candidate_rows.find_summaries(conn, scope.result_filter, hidden)
    replaced = {each.memory_key for each in summaries.values()} if scope.shows_sources else set()
    shown: dict[int, RankedCandidate] = {}
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
