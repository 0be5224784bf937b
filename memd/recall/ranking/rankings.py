"""Putting measured candidates in order, and deciding whether to answer at all."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from memd.base.clock import DAY_US
from memd.domain.enums import SearchMode
from memd.recall.ranking.features import Measured
from memd.recall.ranking.weights import COMPOSED, HYBRID, WITHOUT_VECTORS, Weights, logistic
from memd.recall.retrievers import RETRIEVED_ROWS
from memd.store.search.candidate_rows import SearchCandidate

GATE_TOP = 10
MANY = RETRIEVED_ROWS  # candidates: one arm alone finds as many in any store that is not small


@dataclass(frozen=True, slots=True)
class Ranked:
    """One candidate with its score, its calibrated probability, and what its kind has to pass."""

    measured: Measured
    score: float
    relevance: float
    passes: bool = True
    """Whether the gate lets its kind answer."""
    bar: float = 0.0
    """The least relevance for which its kind is worth a place in this answer."""


NOW_BOOST = 1.0  # in units of the score, for the newest of the best where "now" is asked for
IN_TIME = 0.5  # the relevance of what lies in a time where nothing else is named
IN_TIME_ENTRIES = 8
PROJECT_BOOST = 0.5  # in units of the score, for memories of the active project (SPEC D1)
LATELY_BOOST = 1.5  # the same, for what naps composed of it just now, when it makes a request
LATELY_US = 3 * 86_400_000_000  # in which that boost falls by half
NOTE_BAR = 0.05
"""The bar of what was told by itself, in no session, however sure the gate is.

A note holds its answer whole; a turn is one of several that do (docs/decisions/0196).
"""


Scored = tuple[float, Measured]


def ranked(
    measured: Sequence[Measured],
    weights: Weights,
    mode: SearchMode = SearchMode.HYBRID,
    project_id: str | None = None,
    request_us: int | None = None,
) -> list[Ranked]:
    """Return the candidates best first; ties by time, newest first, then by id.

    Memories of *project_id* move up; where a request was made at *request_us*, what
    happened lately more than the rest.
    In mode dense the score is the cosine (S1's), in mode words the saturated
    BM25, and what holds none of the words is left out.
    """
    scored = _scored(measured, weights, mode, project_id, request_us)
    if mode is not SearchMode.HYBRID:
        return [Ranked(item, score, min(1.0, max(0.0, score))) for score, item in scored]
    return _calibrated(scored, weights, project_id)[0]


def judged(
    measured: Sequence[Measured],
    weights: Weights,
    mode: SearchMode = SearchMode.HYBRID,
    project_id: str | None = None,
    request_us: int | None = None,
) -> tuple[list[Ranked], float]:
    """Return the candidates best first, each behind its gate, and the better chance of the two.

    With vectors what naps composed has a score, a calibration and a gate of its own,
    and stands among the others by its relevance (decisions 0099, 0100). *request_us* is
    when a request was made, None for a question. Modes that name how to search have no gate.
    """
    if mode is not SearchMode.HYBRID:
        return ranked(measured, weights, mode, project_id), 1.0
    kinds = [(measured, weights)]
    if weights is not WITHOUT_VECTORS:
        composed = [item for item in measured if item.candidate.is_composed]
        others = [item for item in measured if not item.candidate.is_composed]
        kinds = [(others, weights), (composed, COMPOSED)]
    items: list[Ranked] = []
    best = 0.0
    for its, table in kinds:
        moment_us = request_us if table is COMPOSED else None
        scored = _scored(its, table, mode, project_id, moment_us)
        of_kind, chance = _calibrated(scored, table, project_id, timed=True)
        items += of_kind
        best = max(best, chance)
    items.sort(key=lambda item: -item.relevance)  # stable: each kind stays in its order
    return items, best


def in_time(items: Sequence[Ranked]) -> list[Ranked]:
    """Return *items* for a question that names nothing but a time: what lies in it answers.

    What naps composed first, then the important, then the newest; a few of them. There is
    nothing else to tell them apart by, so each is as likely as not to be what is meant.
    """
    inside = [item for item in items if _lies_in_time(item.measured)]
    inside.sort(key=lambda item: _worth_telling(item.measured.candidate), reverse=True)
    answers = inside[:IN_TIME_ENTRIES]
    keys = {item.measured.candidate.memory_key for item in answers}
    rest = [item for item in items if item.measured.candidate.memory_key not in keys]
    return [replace(item, relevance=IN_TIME, passes=True, bar=0.0) for item in answers] + [
        replace(item, passes=False, relevance=min(item.relevance, IN_TIME)) for item in rest
    ]


def _lies_in_time(measured: Measured) -> bool:
    return max(measured.features["date"], measured.features["period"]) >= IN_TIME


def _worth_telling(its: SearchCandidate) -> tuple[int, float, int]:
    return its.is_composed, its.importance or 0.0, _moment_us(its)


def _scored(
    measured: Sequence[Measured],
    weights: Weights,
    mode: SearchMode,
    project_id: str | None,
    request_us: int | None,
) -> list[Scored]:
    scored = [
        (_score(item, weights, mode) + _lift(item.candidate, mode, project_id, request_us), item)
        for item in measured
    ]
    if mode is SearchMode.WORDS:
        scored = [(score, item) for score, item in scored if score > 0]
    return _sorted(scored)


def _sorted(scored: Sequence[Scored]) -> list[Scored]:
    return sorted(
        scored,
        key=lambda one: (-one[0], -one[1].candidate.created_at_us, one[1].candidate.memory_id),
    )


def _calibrated(
    scored: Sequence[Scored], weights: Weights, project_id: str | None, *, timed: bool = False
) -> tuple[list[Ranked], float]:
    """Return the candidates of one kind with their probabilities, and the chance of its gate.

    *timed*: what lies in the stretch of time that is asked for is lifted as by a date, and
    where what is so now is wanted, the newer of the best. After the gate, which was fitted
    without: a time that fits many memories answers nothing.
    """
    if not scored:
        return [], 0.0
    gate_signals = _signals(scored, project_id)
    chance = logistic(weights.gate_logit(gate_signals))
    passes, bar = chance >= weights.gate_min, doubted(weights, chance)
    note_bar = _note_bar(weights, bar)
    if timed and any(item.features["period"] for _, item in scored):
        date = weights.features["date"]
        scored = _sorted([(score + date * item.features["period"], item) for score, item in scored])
    if timed and scored[0][1].features["now"]:
        scored = _newer_first(scored)
    evidence = calibration([score for score, _ in scored], gate_signals, weights)
    items = [
        Ranked(item, score, weights.probability(its), passes, note_bar if _is_note(item) else bar)
        for (score, item), its in zip(scored, evidence, strict=True)
    ]
    return items, chance


def _note_bar(weights: Weights, bar: float) -> float:
    """Return what notes need where turns need *bar*; fitted to an owner's memories, both move."""
    if math.isinf(bar) or weights is COMPOSED or weights is WITHOUT_VECTORS:
        return bar
    return NOTE_BAR * weights.bar / HYBRID.bar


def _is_note(item: Measured) -> bool:
    return item.candidate.session_key is None


def _newer_first(scored: Sequence[Scored]) -> list[Scored]:
    """Return *scored* with the best lifted, the newer the more: by the place of its day."""
    best = scored[:GATE_TOP]
    days = [_moment_us(item.candidate) // DAY_US for _, item in best]
    order = {day: at for at, day in enumerate(sorted(set(days)))}
    last = max(1, len(order) - 1)
    lifted = [
        (score + NOW_BOOST * order[day] / last, item)
        for (score, item), day in zip(best, days, strict=True)
    ]
    return _sorted([*lifted, *scored[GATE_TOP:]])


def _moment_us(its: SearchCandidate) -> int:
    return its.created_at_us if its.occurred_at_us is None else its.occurred_at_us


def doubted(weights: Weights, chance: float) -> float:
    """Return the bar as high as an answer needs it that holds anything with *chance* only.

    Out of reach below ``quiet``: who names no number is told nothing rather than something.
    """
    if chance < weights.quiet:
        return math.inf
    return weights.bar / math.pow(chance, weights.doubt)


def calibration(
    scores: Sequence[float], gate_signals: Mapping[str, float], weights: Weights
) -> list[dict[str, float]]:
    """Return what each of *scores*, the best first, is calibrated by (``CALIBRATION``)."""
    best = scores[0]
    total = math.log(sum(math.exp(score - best) for score in scores))
    chance = weights.gate_logit(gate_signals)
    few = gate_signals["few"]
    unsaid = gate_signals["unsaid"]
    common = {
        "gate": chance,
        "few": few,
        "few_gate": few * chance,
        "unsaid": unsaid,
    }
    shares = [score - best - total for score in scores]
    return [{"share": share, "unsaid_share": unsaid * share, **common} for share in shares]


def _score(item: Measured, weights: Weights, mode: SearchMode) -> float:
    if mode is SearchMode.DENSE:
        return item.features["cos"]
    if mode is SearchMode.WORDS:
        return item.features["bmx"]
    return weights.score(item.features)


def _lift(
    its: SearchCandidate, mode: SearchMode, project_id: str | None, request_us: int | None
) -> float:
    if mode is not SearchMode.HYBRID or project_id is None or its.project_id != project_id:
        return 0.0
    if request_us is None:
        return PROJECT_BOOST
    age = max(0, request_us - _moment_us(its)) / LATELY_US
    return PROJECT_BOOST + LATELY_BOOST * math.pow(0.5, age)


def gate(items: Sequence[Ranked], weights: Weights, project_id: str | None = None) -> float:
    """Return the probability that the ten best hold an answer; 0 when there is no candidate."""
    return logistic(weights.gate_logit(signals(items, project_id))) if items else 0.0


def signals(items: Sequence[Ranked], project_id: str | None = None) -> dict[str, float]:
    """Return what the gate looks at, of *items* best first.

    The best cosine and the best cover of all, signs of the best candidate, how
    far the ten best lie apart, and whether names are asked about that are nowhere.
    The best of few is less near by chance, and a small store has hardly a word of
    a question: what is ``few`` is 1 for a store of one memory, 0 from MANY on.
    ``project`` is 1 if the nearest by meaning is of *project_id*, which is asked from;
    ``unsaid``, for the calibration, is which share of the ten best names no speaker.
    """
    return _signals([(item.score, item.measured) for item in items], project_id)


def _signals(
    scored: Sequence[tuple[float, Measured]], project_id: str | None = None
) -> dict[str, float]:
    best = scored[0][1]
    nearest = max((item for _, item in scored), key=lambda item: item.features["cos"])
    maxcos = nearest.features["cos"]
    maxcovx = max(item.covx for _, item in scored)
    top = scored[:GATE_TOP]
    sd10 = statistics.pstdev([score for score, _ in top])
    few = max(0.0, 1 - math.log(len(scored)) / math.log(MANY))
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
