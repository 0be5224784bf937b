"""What a question becomes: its words as this store knows them, then its candidates in order.

A question may date itself by an event: "before the release". The memory that tells of the event
says when it was. Only one that holds every word of it tells of it, and one that asks, or that
itself only dates something by it ("frozen until the release"), does not. Where none does, the
question is asked as if it named no time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from memd.base.clock import DAY_US, from_us, to_us
from memd.domain.encoding import ModelFingerprint
from memd.domain.enums import SearchMode
from memd.extract.events import Event, Side, asks_ahead, events
from memd.extract.periods import Period, periods
from memd.extract.time_words import Grain
from memd.recall.answer import RankedCandidates
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
from memd.store.search import candidate_rows, contexts, fulltext, vectors
from memd.store.search.candidate_rows import SearchCandidate
from memd.text.function_words import FUNCTION_WORDS

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
    cached = None if fingerprint is None else vectors.is_current_model(conn, str(fingerprint))
    times = periods(text, scopes[0].bound.now_us)
    stem = fulltext.stemmer(conn)
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
    candidates = ranked(conn, scopes, query, keys)
    if len(candidates.items) < search.fill:  # counted as shown: many may stand behind one summary
        rest = [memories.find_keys(conn, scope.visible, search.fill) for scope in scopes]
        every = [list(dict.fromkeys([*k, *r])) for k, r in zip(keys, rest, strict=True)]
        if every != keys:
            candidates = ranked(conn, scopes, query, every)
    return then(conn, scopes, candidates)


def as_ranked(
    _conn: Reading, _scopes: Sequence[SearchScope], candidates: RankedCandidates
) -> RankedCandidates:
    """Return *candidates* as they are: what ``answered`` makes of them for who chooses later."""
    return candidates


def ranked(
    conn: Reading, scopes: Sequence[SearchScope], query: SearchQuery, keys: Sequence[Sequence[int]]
) -> RankedCandidates:
    """Measure and order the candidates of all *scopes* together, and ask the gate.

    The first scope is the caller's own: its summaries and project are what counts.
    """
    asked, vector, mode = query.question, query.vector, query.mode
    each = [
        _without(conn, query.apart, candidate_rows.read_candidates(conn, scope.candidates, its))
        for scope, its in zip(scopes, keys, strict=True)
    ]
    candidates = [candidate for its in each for candidate in its]
    around = {
        key
        for candidate in candidates
        for key in (candidate.memory_key, candidate.before_key, candidate.after_key)
        if key is not None
    }
    cosines = vectors.cosines_of(conn, vector, sorted(around)) if vector is not None else {}
    weights = HYBRID if vector is not None else WITHOUT_VECTORS
    if query.tuned is not None and vector is not None:
        cosines, weights = query.tuned.cosines(cosines), query.tuned.weights
    owners = [owner for scope in scopes for owner in scope.owners]
    statistics = Statistics(fulltext.corpus(conn, owners), query.counts)
    stem = fulltext.stemmer(conn)
    measured = measure(asked, candidates, cosines, statistics, stem, len(each[0]))
    project_id = scopes[0].bound.active_project_id
    request_us = scopes[0].bound.now_us if asked.is_request else None
    items, chance = judged(measured, weights, mode, project_id, request_us)
    if asked.only_time and mode is SearchMode.HYBRID:
        items, chance = in_time(items), 1.0
    return RankedCandidates(_shown(conn, scopes[0], items), chance, query.degraded)


def _without(
    conn: Reading, apart: int | None, items: list[SearchCandidate]
) -> list[SearchCandidate]:
    """Return *items* without the memory *apart*, and without what it lends to its neighbours."""
    if apart is None:
        return items
    to_next, to_last = contexts.quoted_parts(conn, apart)
    kept = []
    for one in items:
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
    fronts = candidate_rows.find_summaries(conn, scope.bound, hidden)
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


ROWS = 32  # memories that are looked through, the best by their words
QUESTION_CHARS_MAX = 300  # a long text is no question about a time
APART_US = 7 * DAY_US  # memories farther apart tell of several events
TEXT_CHARS = 1_000  # of a memory, in which times are looked for


def dated(
    conn: Reading, scopes: Sequence[SearchScope], text: str, stem: Callable[[str], list[str]]
) -> tuple[Period, ...]:
    """Return the time beside the event that the question *text* names, where a memory knows it."""
    if "?" not in text or len(text) > QUESTION_CHARS_MAX:
        return ()
    named = events(text)
    if not named or asks_ahead(text):
        return ()
    times = (_dated(conn, scopes, event, stem) for event in named)
    return tuple(period for period in times if period is not None)


def _dated(
    conn: Reading,
    scopes: Sequence[SearchScope],
    event: Event,
    stem: Callable[[str], list[str]],
) -> Period | None:
    telling = [word for word in event.words if word.casefold() not in FUNCTION_WORDS]
    terms = frozenset(term for word in telling for term in stem(word))
    if not terms:
        return None
    for scope in scopes:
        match = fulltext.match_query(telling, scope.owners)
        keys = [hit.memory_key for hit in fulltext.search(conn, match, ROWS)]
        by_key = {
            its.memory_key: its
            for its in candidate_rows.read_candidates(conn, scope.candidates, keys)
        }
        candidates = [by_key[key] for key in keys if key in by_key]
        telling_of = [when(its) for its in candidates if tells_of(its.own, terms, stem)]
        if telling_of:
            return _beside(event.side, telling_of)
    return None


def tells_of(own: str, terms: frozenset[str], stem: Callable[[str], list[str]]) -> bool:
    """Return whether a memory of the text *own* tells of what *terms* name."""
    if own.rstrip().endswith("?") or not terms <= frozenset(stem(own)):
        return False
    dates = (frozenset(term for word in one.words for term in stem(word)) for one in events(own))
    return not any(terms <= its for its in dates)


class EventTime(NamedTuple):
    """When an event was: the stretch that its memory names, or the moment the memory is of."""

    begin_us: int
    end_us: int
    grain: Grain = Grain.DAY


def when(its: SearchCandidate) -> EventTime:
    """Return when it was what a memory tells of: as its text says, if that says one time."""
    moment_us = its.created_at_us if its.occurred_at_us is None else its.occurred_at_us
    times = [one for one in periods(its.own[:TEXT_CHARS], moment_us) if not one.bounds]
    if len(times) == 1 and times[0].from_us is not None and times[0].to_us is not None:
        return EventTime(times[0].from_us, times[0].to_us, times[0].grain)
    return EventTime(moment_us, moment_us)


def _beside(side: Side, moments: Sequence[EventTime]) -> Period | None:
    """Return the time on *side* of the event; None where *moments* are those of several."""
    begins = [one.begin_us for one in moments]
    if max(begins) - min(begins) > APART_US:
        return None
    begin_us, end_us, grain = moments[0]
    low_us: int | None = begin_us
    high_us: int | None = end_us
    if side is Side.BEFORE:
        low_us, high_us = None, begin_us
    elif side is Side.AFTER:
        low_us, high_us = end_us, None
    elif side is Side.SINCE:
        high_us = None
    elif begin_us == end_us:
        midnight = from_us(begin_us).replace(hour=0, minute=0, second=0, microsecond=0)
        low_us, high_us = to_us(midnight), to_us(midnight) + DAY_US
    return Period(0, 0, low_us, high_us, grain, begin_us, bounds=True, by_event=True)
