"""What a question becomes: its words as this store knows them, then its candidates in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from memd.domain.encoding import ModelFingerprint
from memd.domain.enums import SearchMode
from memd.extract.periods import periods
from memd.recall.answer import RankedCandidates
from memd.recall.event import dated
from memd.recall.question import Question, name_candidates, question
from memd.recall.ranking.features import Statistics, measure
from memd.recall.ranking.rankings import Ranked, in_time, judged
from memd.recall.ranking.weights import HYBRID, WITHOUT_VECTORS
from memd.recall.search import Reach, SearchScope, reaches
from memd.recall.tuned import Tuned
from memd.store.access import names
from memd.store.file.connect import Reading
from memd.store.learn import tunings
from memd.store.search import contexts, vectors, words
from memd.store.search import ranked as ranked_rows
from memd.store.search.ranked import SearchCandidate


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A question with its vector, or with the reason why it has none."""

    question: Question
    mode: SearchMode
    vector: bytes | None
    degraded: str | None
    tuned: Tuned | None = None
    """What tuning put in place of the shipped weights, where the question has a vector."""
    apart: int | None = None
    """A memory that is the question itself (``TuningTrial``)."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """How many memories hold each of the question's terms: counted once, for all arms."""


def understood(
    conn: Reading,
    scopes: Sequence[SearchScope],
    text: str,
    fingerprint: ModelFingerprint | None,
    *,
    unread: bool = False,
) -> tuple[Question, list[Reach], bool | None, dict[str, Any] | None]:
    """Return the question, what is to be read for it, and whether vectors fit the model.

    Where that is *unread*, what tuning put to use comes along.
    """
    agent_keys = [scope.agent_key for scope in scopes]
    known = names.known_speakers(conn, agent_keys, name_candidates(text))
    cached = None if fingerprint is None else vectors.cached(conn, str(fingerprint))
    times = periods(text, scopes[0].wanted.now_us)
    stem = words.stemmer(conn)
    asked = question(text, known, stem, times)
    if not times:
        asked = replace(asked, times=dated(conn, scopes, text, stem))
    body = tunings.active(conn) if unread else None
    return asked, reaches(conn, scopes, asked), cached, body


def ranked(
    conn: Reading, scopes: Sequence[SearchScope], query: SearchQuery, keys: Sequence[Sequence[int]]
) -> RankedCandidates:
    """Measure and order the candidates of all *scopes* together, and ask the gate.

    The first scope is the caller's own: its summaries and project are what counts.
    """
    asked, vector, mode = query.question, query.vector, query.mode
    each = [
        _without(conn, query.apart, ranked_rows.candidates(conn, scope.candidates, its))
        for scope, its in zip(scopes, keys, strict=True)
    ]
    found = [candidate for its in each for candidate in its]
    around = {
        key
        for candidate in found
        for key in (candidate.memory_key, candidate.before_key, candidate.after_key)
        if key is not None
    }
    cosines = vectors.among(conn, vector, sorted(around)) if vector is not None else {}
    weights = HYBRID if vector is not None else WITHOUT_VECTORS
    if query.tuned is not None and vector is not None:
        cosines, weights = query.tuned.cosines(cosines), query.tuned.weights
    owners = [owner for scope in scopes for owner in scope.owners]
    statistics = Statistics(words.corpus(conn, owners), query.counts)
    stem = words.stemmer(conn)
    measured = measure(asked, found, cosines, statistics, stem, len(each[0]))
    project_id = scopes[0].wanted.active_project_id
    request_us = scopes[0].wanted.now_us if asked.is_request else None
    items, chance = judged(measured, weights, mode, project_id, request_us)
    if asked.only_time and mode is SearchMode.HYBRID:
        items, chance = in_time(items), 1.0
    return RankedCandidates(_shown(conn, scopes[0], items), chance, query.degraded)


def _without(
    conn: Reading, apart: int | None, found: list[SearchCandidate]
) -> list[SearchCandidate]:
    """Return *found* without the memory *apart*, and without what it lends to its neighbours."""
    if apart is None:
        return found
    to_next, to_last = contexts.lent(conn, apart)
    kept = []
    for one in found:
        if apart == one.before_key:
            context = one.context.replace(to_next, " ", 1)
            one = one._replace(before_key=None, context=context)  # noqa: PLW2901  # as if alone
        elif apart == one.after_key:
            context = one.context.replace(to_last, " ", 1)
            one = one._replace(after_key=None, context=context)  # noqa: PLW2901  # the same
        if one.memory_key != apart:
            kept.append(one)
    return kept


def _shown(conn: Reading, scope: SearchScope, items: Sequence[Ranked]) -> list[Ranked]:
    """Return *items* with the summary, once, in place of what stands behind it."""
    if scope.hidden:
        return list(items)
    hidden = [
        item.measured.candidate.memory_key for item in items if item.measured.candidate.is_hidden
    ]
    fronts = ranked_rows.in_front(conn, scope.wanted, hidden)
    shown: dict[int, Ranked] = {}
    for item in items:
        its = item.measured.candidate
        front = fronts.get(its.memory_key) if its.is_hidden else its
        if front is None or front.memory_key in shown:
            continue
        if front is not its:
            item = replace(item, measured=replace(item.measured, candidate=front))  # noqa: PLW2901  # stands in its place
        shown[front.memory_key] = item
    return list(shown.values())
