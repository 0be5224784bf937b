"""What a question becomes: its words as this store knows them, then its candidates in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from memd.domain.encoding import ModelFingerprint
from memd.domain.enums import SearchMode
from memd.extract.periods import periods
from memd.recall.answer import RankedCandidates
from memd.recall.event import dated
from memd.recall.question import Question, name_candidates, question
from memd.recall.ranking.features import Statistics, measure
from memd.recall.ranking.rankings import Ranked, in_time, judged
from memd.recall.ranking.weights import HYBRID, WITHOUT_VECTORS
from memd.recall.search import (
    ARM_ROWS,
    NearestKeys,
    Reach,
    SearchScope,
    fitting,
    gathered,
    reaches,
)
from memd.recall.tuned import Tuned, TuningTrial
from memd.store.access import names
from memd.store.file.connect import Reading
from memd.store.learn import tunings
from memd.store.memory import memories
from memd.store.search import contexts, vectors, words
from memd.store.search import ranked as ranked_rows
from memd.store.search.ranked import SearchCandidate

T = TypeVar("T")

Begin = Callable[[Reading], Sequence[SearchScope]]
"""Says where to search: nowhere, where there is nothing to find."""
Then = Callable[[Reading, Sequence[SearchScope], RankedCandidates], T]
"""Makes an answer of what was found, in the read that ranked it."""


class Search(NamedTuple):
    """What is looked for, and how much of it. *trial* is a tuning that is only tried."""

    text: str
    mode: SearchMode = SearchMode.HYBRID
    rows: int = ARM_ROWS
    """Of each arm."""
    fill: int = 0
    """As many are found, if there are as many, however little they fit."""
    trial: TuningTrial | None = None
    begun: Callable[[], object] = bool
    """Called once the arms are at work, and no more is to be read until they are back."""


class ArmKeys(NamedTuple):
    """What the arms read, and what each of them found there."""

    each: Sequence[Reach]
    near: Sequence[NearestKeys]
    held: Sequence[Sequence[int]]


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


class Understood(NamedTuple):
    """A question, where it is looked for, and what is to be read for it."""

    question: Question
    scopes: Sequence[SearchScope]
    each: Sequence[Reach]
    cached: bool | None
    """Whether vectors fit the model; None where there are none."""
    body: dict[str, Any] | None
    """What tuning put to use, if that was *unread*."""


def understood(
    conn: Reading,
    begin: Begin,
    text: str,
    fingerprint: ModelFingerprint | None,
    *,
    unread: bool = False,
) -> Understood | None:
    """Return the question as this store knows its words; None where nothing is searched."""
    scopes = begin(conn)
    if not scopes:
        return None
    agent_keys = [scope.agent_key for scope in scopes]
    known = names.known_speakers(conn, agent_keys, name_candidates(text))
    cached = None if fingerprint is None else vectors.cached(conn, str(fingerprint))
    times = periods(text, scopes[0].wanted.now_us)
    stem = words.stemmer(conn)
    asked = question(text, known, stem, times)
    if not times:
        asked = replace(asked, times=dated(conn, scopes, text, stem))
    body = tunings.active(conn) if unread else None
    return Understood(asked, scopes, reaches(conn, scopes, asked), cached, body)


def answered(
    conn: Reading,
    scopes: Sequence[SearchScope],
    query: SearchQuery,
    arms: ArmKeys,
    search: Search,
    then: Then[T],
) -> T | None:
    """Rank what the arms found and return what *then* makes of it; None if they found too little.

    One read for all of it: the way to a connection and back takes longer than most of its steps.
    """
    near = fitting(conn, arms.each, arms.near, search.rows)
    if near is None:
        return None
    keys = [gathered(scope, arms.each, near, arms.held) for scope in scopes]
    found = ranked(conn, scopes, query, keys)
    if len(found.items) < search.fill:  # counted as shown: many may stand behind one summary
        rest = [memories.matching(conn, scope.visible, search.fill) for scope in scopes]
        every = [list(dict.fromkeys([*k, *r])) for k, r in zip(keys, rest, strict=True)]
        if every != keys:
            found = ranked(conn, scopes, query, every)
    return then(conn, scopes, found)


def as_found(
    _conn: Reading, _scopes: Sequence[SearchScope], found: RankedCandidates
) -> RankedCandidates:
    """Return what was found as it is: what ``answered`` makes of it for who chooses later."""
    return found


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
