"""Rank measured candidates, calibrate their scores, and decide whether anything answers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

from memd.base.clock import DAY_US
from memd.domain.enums import SearchMode
from memd.domain.sleep.consolidation import DIGEST_TAG
from memd.recall.question import Question
from memd.recall.ranking.features import MeasuredCandidate
from memd.recall.ranking.weights import COMPOSED, HYBRID, WITHOUT_VECTORS, Weights, logistic
from memd.recall.times import contain_moment, names_time
from memd.store.search.candidate_rows import SearchCandidate

GATE_TOP = 10
RETRIEVED_ROWS = 64  # by each retriever; 100 find no more and cost a third more (decision 0164)
MANY = RETRIEVED_ROWS  # candidates: either brings as many from any store that is not small


@dataclass(frozen=True, slots=True)
class RankedCandidate:
    """One candidate with its score, its calibrated probability, and the bar of its kind."""

    measured: MeasuredCandidate
    score: float
    relevance: float
    passes: bool = True
    """Whether the gate lets its kind answer."""
    bar: float = 0.0
    """The lowest relevance with which a memory of its kind is selected for this answer."""


NOW_BOOST = 1.0  # added to the score of the newest of the best, for a question about now
IN_TIME = 0.5  # relevance of a memory within the time of a question that names nothing else
IN_TIME_ENTRIES = 8
DIGEST_RELEVANCE = 0.9  # of the digests that answer "where did we leave off?"
_THEN, _NAMED = 3.0, 2.0  # fits above any other: it happened at that time, its text names that time
DECIDES = frozenset(("decision", "correction", "constraint", "preference"))
PROJECT_BOOST = 0.5  # added to the score of memories of the active project (SPEC D1)
LATELY_BOOST = 1.5  # added for a request to a memory of a nap of that project, as of now
LATELY_US = 3 * DAY_US  # half-life of that boost
OTHERS_MIN = 0.02  # lower bound of the other candidates' share, in the calibration
NOTE_BAR = 0.055
"""The bar of notes, which belong to no session. It does not depend on the gate.

A note contains its answer as a whole, while several turns share theirs (decisions 0196, 0322).
"""


Scored = tuple[float, MeasuredCandidate]


def rank(
    measured: Sequence[MeasuredCandidate],
    weights: Weights,
    mode: SearchMode = SearchMode.HYBRID,
    project_id: str | None = None,
) -> list[RankedCandidate]:
    """Return the candidates best first; ties are ordered by time, newest first, then by id.

    Memories of *project_id* get ``PROJECT_BOOST``. In mode dense the score is the cosine (S1). In
    mode words it is the saturated BM25, without candidates that have none of the words.
    """
    scored = _score_all(measured, weights, mode, project_id)
    if mode is not SearchMode.HYBRID:
        return [RankedCandidate(item, score, min(1.0, max(0.0, score))) for score, item in scored]
    return _calibrate(scored, weights, project_id)[0]


def rank_with_gate(
    measured: Sequence[MeasuredCandidate],
    weights: Weights,
    mode: SearchMode = SearchMode.HYBRID,
    project_id: str | None = None,
    request_us: int | None = None,
) -> tuple[list[RankedCandidate], float]:
    """Return the candidates best first, each judged by its gate, and the highest gate probability.

    Memories of naps, and memories without a vector yet, have their own weights, calibration and
    gate. All kinds are merged by relevance (decisions 0099, 0100, 0242). *request_us* is the time
    of a request, None for a question. Modes other than hybrid have no gate.
    """
    if mode is not SearchMode.HYBRID:
        return rank(measured, weights, mode, project_id), 1.0
    kinds = [(measured, weights)]
    if weights is not WITHOUT_VECTORS:
        embedded = [item for item in measured if item.has_vector]
        composed = [item for item in embedded if item.candidate.is_composed]
        others = [item for item in embedded if not item.candidate.is_composed]
        pending = [item for item in measured if not item.has_vector]
        kinds = [(others, weights), (composed, COMPOSED), (pending, WITHOUT_VECTORS)]
    items: list[RankedCandidate] = []
    best = 0.0
    for candidates, table in kinds:
        moment_us = request_us if table is COMPOSED else None
        scored = _score_all(candidates, table, mode, project_id, moment_us)
        # The gate is stricter in a small store. A few notes or pending memories do not make the
        # store small; memories of naps are counted by themselves.
        count = None if table is COMPOSED else len(measured)
        of_kind, chance = _calibrate(scored, table, project_id, timed=True, count=count)
        items += of_kind
        best = max(best, chance)
    items.sort(key=lambda item: -item.relevance)  # stable: each kind stays in its order
    return items, best


def rank_by_time(
    items: Sequence[RankedCandidate], asked: Question, project_id: str | None = None
) -> list[RankedCandidate]:
    """Rank *items* for a question that names only a time: memories within that time answer.

    Memories of that time come first, then those whose text names it. Memories near it answer only
    if there are none within it. Memories of other projects answer only if *project_id* has none,
    and for a question about decisions, others only if there are no decisions.

    The first memory of each session is followed by the second of each, and so on. Within a session
    the digest comes first, then memories of naps, then by importance and time. All get the same
    relevance, since nothing else tells them apart.
    """
    fits = [(_time_fit(item, asked), item) for item in items]
    inside = [(fit, item) for fit, item in fits if fit >= IN_TIME]
    if project_id is not None:
        own = [each for each in inside if each[1].measured.candidate.project_id == project_id]
        inside = own or inside
    nearest = min(max((fit for fit, _ in inside), default=0.0), _NAMED)
    inside = [each for each in inside if each[0] >= nearest]
    if asked.asks_decided:
        decided = [each for each in inside if each[1].measured.candidate.kind in DECIDES]
        inside = decided or inside
    inside.sort(key=lambda each: _time_priority(each[1].measured.candidate), reverse=True)
    then = _session_by_session([item for fit, item in inside if fit == _THEN])
    others = _session_by_session([item for fit, item in inside if fit != _THEN])
    answers = [*then, *others][:IN_TIME_ENTRIES]
    keys = {item.measured.candidate.memory_key for item in answers}
    left = [item for item in items if item.measured.candidate.memory_key not in keys]
    return [replace(item, relevance=IN_TIME, passes=True, bar=0.0) for item in answers] + [
        replace(item, passes=False, relevance=min(item.relevance, IN_TIME)) for item in left
    ]


def put_digests_first(
    items: Sequence[RankedCandidate], digests: Sequence[int]
) -> list[RankedCandidate]:
    """Return *items* with the *digests* first, in their order; they pass the gate in any case."""
    answers, others = _split(items, digests, DIGEST_RELEVANCE)
    return [*answers, *others]


def put_plans_first(
    items: Sequence[RankedCandidate], plans: Sequence[int]
) -> list[RankedCandidate]:
    """Return *items* with the *plans* first, in their order; no other memory passes the gate."""
    answers, others = _split(items, plans, IN_TIME)
    return [*answers, *(replace(item, passes=False) for item in others)]


def _split(
    items: Sequence[RankedCandidate], keys: Sequence[int], relevance: float
) -> tuple[list[RankedCandidate], list[RankedCandidate]]:
    """Return the items of *keys* with *relevance* and no bar, and the others with at most it."""
    by_key = {item.measured.candidate.memory_key: item for item in items}
    answers = [by_key[key] for key in keys if key in by_key]
    others = [item for item in items if item.measured.candidate.memory_key not in keys]
    return (
        [replace(item, relevance=relevance, passes=True, bar=0.0) for item in answers],
        [replace(item, relevance=min(item.relevance, relevance)) for item in others],
    )


def _time_fit(item: RankedCandidate, asked: Question) -> float:
    """Return _THEN if the memory is of a time of the question, _NAMED if its text names one."""
    features = item.measured.features
    if contain_moment(asked.times, item.measured.candidate.moment_us):
        return _THEN
    if names_time(asked.times, features["period"]):
        return _NAMED
    return max(features["date"], features["period"])


def _session_by_session(items: Sequence[RankedCandidate]) -> list[RankedCandidate]:
    """Return the first of *items* of each session, then the second of each, and so on."""
    counts: Counter[int] = Counter()
    places = []
    for item in items:
        candidate = item.measured.candidate
        own_place = -candidate.memory_key  # a memory without a session is a session of its own
        session = own_place if candidate.session_key is None else candidate.session_key
        places.append(counts[session])
        counts[session] += 1
    return [item for _, item in sorted(zip(places, items, strict=True), key=itemgetter(0))]


def _time_priority(candidate: SearchCandidate) -> tuple[bool, bool, float, int]:
    is_digest = candidate.kind == DIGEST_TAG
    return is_digest, candidate.is_composed, candidate.importance or 0.0, candidate.moment_us


def _score_all(
    measured: Sequence[MeasuredCandidate],
    weights: Weights,
    mode: SearchMode,
    project_id: str | None,
    request_us: int | None = None,
) -> list[Scored]:
    if mode is SearchMode.DENSE:
        return _sort([(item.features["cos"], item) for item in measured])
    if mode is SearchMode.WORDS:
        return _sort(
            [(item.features["bmx"], item) for item in measured if item.features["bmx"] > 0]
        )
    scored = [(weights.score(item.features), item) for item in measured]
    if project_id is not None:
        scored = [
            (score + _lift(item.candidate, project_id, request_us), item) for score, item in scored
        ]
    return _sort(scored)


def _sort(scored: Sequence[Scored]) -> list[Scored]:
    return sorted(
        scored,
        key=lambda one: (-one[0], -one[1].candidate.created_at_us, one[1].candidate.memory_id),
    )


def _calibrate(
    scored: Sequence[Scored],
    weights: Weights,
    project_id: str | None,
    *,
    timed: bool = False,
    count: int | None = None,
) -> tuple[list[RankedCandidate], float]:
    """Return the candidates of one kind with their relevance, and the gate's probability.

    *count* is the number of all candidates, if there are others than these. With *timed*, memories
    within a period of the question get the weight of a date, and for a question about now newer
    memories are lifted. This happens after the gate, which was fitted without it: a period that
    fits many memories says nothing about whether one of them answers.
    """
    if not scored:
        return [], 0.0
    gate_signals = _signals(scored, project_id, count)
    chance = logistic(weights.gate_logit(gate_signals))
    passes, bar = chance >= weights.gate_min, answer_bar(weights, chance)
    note_bar = bar
    if not math.isinf(bar) and weights is not COMPOSED and weights is not WITHOUT_VECTORS:
        note_bar = NOTE_BAR * weights.bar / HYBRID.bar  # a tuning moves both alike
    if timed and any(item.features["period"] for _, item in scored):
        date = weights.features["date"]
        scored = _sort([(score + date * item.features["period"], item) for score, item in scored])
    if timed and scored[0][1].features["now"]:
        scored = _newer_first(scored)
    common, evidence = calibration([score for score, _ in scored], gate_signals, weights)
    relevances = weights.probabilities(common, evidence)
    items = [
        RankedCandidate(
            item,
            score,
            relevance,
            passes,
            note_bar if item.candidate.session_key is None else bar,
        )
        for (score, item), relevance in zip(scored, relevances, strict=True)
    ]
    return items, chance


def _newer_first(scored: Sequence[Scored]) -> list[Scored]:
    """Return *scored* with the best raised by up to NOW_BOOST, by the rank of their days."""
    best = scored[:GATE_TOP]
    days = [item.candidate.moment_us // DAY_US for _, item in best]
    order = {day: at for at, day in enumerate(sorted(set(days)))}
    last = max(1, len(order) - 1)
    lifted = [
        (score + NOW_BOOST * order[day] / last, item)
        for (score, item), day in zip(best, days, strict=True)
    ]
    return _sort([*lifted, *scored[GATE_TOP:]])


def answer_bar(weights: Weights, chance: float) -> float:
    """Return the relevance that a memory needs if the gate's probability is *chance*.

    It is infinite below ``quiet``: a request without ``top_k`` then gets no memories.
    """
    if chance < weights.quiet:
        return math.inf
    return weights.bar / math.pow(chance, weights.doubt)


def calibration(
    scores: Sequence[float], gate_signals: Mapping[str, float], weights: Weights
) -> tuple[dict[str, float], list[dict[str, float]]]:
    """Return the features of ``CALIBRATION`` that all *scores*, best first, share, and each's."""
    best = scores[0]
    total = math.log(sum(math.exp(score - best) for score in scores))
    chance = weights.gate_logit(gate_signals)
    few, unsaid, sd10 = (gate_signals[name] for name in ("few", "unsaid", "sd10"))
    common = {
        "gate": chance,
        "few": few,
        "few_gate": few * chance,
        "unsaid": unsaid,
        "sd10": sd10,
        "unsaid_sd10": unsaid * sd10,
    }
    shares = [score - best - total for score in scores]
    return common, [
        {"share": share, "alone": -math.log(max(1 - math.exp(share), OTHERS_MIN))}
        for share in shares
    ]


def _lift(candidate: SearchCandidate, project_id: str, request_us: int | None) -> float:
    if candidate.project_id != project_id:
        return 0.0
    if request_us is None:
        return PROJECT_BOOST
    age = max(0, request_us - candidate.moment_us) / LATELY_US
    return PROJECT_BOOST + LATELY_BOOST * math.pow(0.5, age)


def gate(
    items: Sequence[RankedCandidate], weights: Weights, project_id: str | None = None
) -> float:
    """Return the probability that one of the ten best answers; 0 without candidates."""
    return logistic(weights.gate_logit(signals(items, project_id))) if items else 0.0


def signals(items: Sequence[RankedCandidate], project_id: str | None = None) -> dict[str, float]:
    """Return the gate's features of *items*, best first.

    They are the highest cosine and cover, features of the best candidate, the spread of the ten
    best scores, and the share of the question's names that no candidate has. ``few`` corrects them
    for small stores, where the best match by chance is worse: it is 1 for one memory and 0 from
    MANY on. ``project`` is 1 if the candidate with the highest cosine is of *project_id*.
    ``unsaid``, for the calibration, is the share of the ten best without a speaker.
    """
    return _signals([(item.score, item.measured) for item in items], project_id)


def _signals(
    scored: Sequence[Scored], project_id: str | None = None, count: int | None = None
) -> dict[str, float]:
    best = scored[0][1]
    nearest = max((item for _, item in scored), key=lambda item: item.features["cos"])
    maxcos = nearest.features["cos"]
    maxcovx = max(item.covx for _, item in scored)
    top = scored[:GATE_TOP]
    mean = sum(score for score, _ in top) / len(top)
    sd10 = math.sqrt(sum((score - mean) ** 2 for score, _ in top) / len(top))
    few = max(0.0, 1 - math.log(count or len(scored)) / math.log(MANY))
    return {
        "maxcos": maxcos,
        "maxcovx": maxcovx,
        "sd10": sd10,
        "unsaid": sum(item.candidate.speaker is None for _, item in top) / len(top),
        "t1_nterm": best.features["nterm"],
        "t1_bmxn": best.features["bmxn"],
        "t1_date": best.features["date"],
        "strange": best.features["strange"],
        "few": few,
        "few_maxcos": few * maxcos,
        "few_maxcovx": few * maxcovx,
        "few_sd10": few * sd10,
        "project": float(project_id is not None and nearest.candidate.project_id == project_id),
    }
