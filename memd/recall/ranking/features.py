"""What the ranker knows of each candidate (decision 0020). Pure: values in, numbers out.

Absolute features, not ranks or per-query min-max: so that one score orders and
can also say that nothing fits.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from memd.recall.question import Question
from memd.recall.ranking.dates import Fit, fits
from memd.store.search.ranked import SearchCandidate
from memd.store.search.words import CONTEXT_WEIGHT, Corpus

K1 = 1.2
B = 0.75
HALF_BM25 = 6.0  # the BM25 at which its share of 1 is one half
TERMS_FULL = 5
BEST_OF_SESSION = 3

_TIME = re.compile(
    r"""\b(?:yesterday|today|tonight|tomorrow|ago|since|recently|just|last|next
    |days|weeks?|weekend|months?|years?|morning|\d{4}
    |january|february|march|april|june|july|august|september|october|november|december
    |monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b""",
    re.IGNORECASE | re.VERBOSE,
)

NAMES = (
    "bmxn",
    "bmn",
    "bmr",
    "cov",
    "cos",
    "name",
    "smlift",
    "slift",
    "s3lift",
    "nlift",
    "date",
    "isq",
    "when",
    "pair",
)
"""The ranker's features, in the order of its weights. Words count as a share of what the question
asks for, or of what the best candidate holds, so that a long question weighs as a short one; what
the neighbours and the session of a memory say counts as far as it is more than the memory's own,
so that it is 0 without them (decision 0108). ``strange``, the same for all candidates, and
``nterm`` are for the gate, ``bmx`` is for mode words, ``period`` and
``now``, the same for all, move what the gate let pass."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One candidate with its features."""

    candidate: SearchCandidate
    features: dict[str, float]
    covx: float
    matched: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Statistics:
    """The store's size and, for each query term, how many memories hold it."""

    corpus: Corpus
    frequencies: Mapping[str, int]

    def idf(self, term: str) -> float:
        """Return how rare *term* is; above 0 even in a store of one memory, unlike FTS5's own."""
        n = self.frequencies.get(term, 0)
        return math.log(1 + (self.corpus.rows - n + 0.5) / (n + 0.5))

    def bm25_idf(self, term: str) -> float:
        """Return the same for BM25, to which a term that no memory holds is worth nothing."""
        return self.idf(term) if self.frequencies.get(term) else 0.0

    @property
    def own_length(self) -> float:
        return self.corpus.own_tokens / self.corpus.rows if self.corpus.rows else 1.0

    @property
    def both_length(self) -> float:
        total = self.corpus.own_tokens + self.corpus.context_tokens
        return total / self.corpus.rows if self.corpus.rows else 1.0


@dataclass(frozen=True, slots=True)
class _Texts:
    """How often the query's terms stand in a candidate and beside it, and how long both are."""

    own: dict[str, int]
    context: dict[str, int]
    pairs: int
    own_length: int
    both_length: int


@dataclass(frozen=True, slots=True)
class _Weighed:
    """The question's terms as this store weighs them, worked out once for all candidates."""

    shares: dict[str, float]
    """How much of the question each content term is; they sum to 1."""
    order: dict[str, int]
    """The place of each content term: sums are made in one order, so that they are the same."""
    bm25: dict[str, tuple[int, float]]
    """The place and the weight of each term."""
    top: float
    own_norm: float
    both_norm: float


@dataclass(slots=True)
class _Session:
    """What the candidates of one session hold: the best of them, and all together."""

    best: float = 0.0
    terms: set[str] = field(default_factory=set)


def measure(
    question: Question,
    found: Sequence[SearchCandidate],
    cosines: Mapping[int, float],
    statistics: Statistics,
    stem: Callable[[str], list[str]],
    own_count: int | None = None,
) -> list[Measured]:
    """Return the candidates, in their order, with their features.

    *cosines* holds the cosine of every candidate and neighbour that has a vector. The first
    *own_count* are compared among themselves only: what others share changes nothing among them.
    """
    wanted = frozenset(question.terms)
    texts = [_texts(candidate, wanted, question.pairs, stem) for candidate in found]
    weighed = _weighed(question, statistics)
    sessions = _sessions(found, texts, weighed)
    strange = _strange(question, texts)
    best_cosines = _mean_of_best(found, cosines)
    measured = []
    dates = fits(question.times, found)
    covered = {place: _cover(weighed, its.terms) for place, its in sessions.items()}
    for candidate, text, fit in zip(found, texts, dates, strict=True):
        place = _place(candidate)
        features = _words(weighed, text)
        features |= _meaning(candidate, cosines)
        features |= _signs(question, candidate, fit)
        features["cov"] = own = _cover(weighed, text.own)
        features["smlift"] = sessions[place].best - own
        features["slift"] = covered[place] - own
        features["s3lift"] = best_cosines.get(place, 0.0) - features["cos"]
        named = len(weighed.shares.keys() & text.own)
        features["nterm"] = min(named, TERMS_FULL) / TERMS_FULL
        features["pair"] = text.pairs / len(question.pairs) if question.pairs else 0.0
        features["strange"] = strange
        features["now"] = float(question.asks_now)
        covx = _cover(weighed, text.own.keys() | text.context)
        held = tuple(term for term in question.terms if term in text.own)
        measured.append(Measured(candidate, features, covx, held))
    for its in (measured, measured[:own_count]):
        best = max((item.features["bmxn"] for item in its), default=0.0)
        for item in its:
            item.features["bmr"] = item.features["bmxn"] / best if best else 0.0
    return measured


def _weighed(question: Question, statistics: Statistics) -> _Weighed:
    idf = {term: statistics.idf(term) for term in question.content}
    total = sum(idf.values())
    bm25 = {term: (at, statistics.bm25_idf(term)) for at, term in enumerate(question.terms)}
    return _Weighed(
        shares={term: weight / total for term, weight in idf.items()} if total else {},
        order={term: at for at, term in enumerate(idf)},
        bm25=bm25,
        top=sum(weight for _, weight in bm25.values()) * (K1 + 1),
        own_norm=K1 * B / max(statistics.own_length, 1.0),
        both_norm=K1 * B / max(statistics.both_length, 1.0),
    )


def _texts(
    candidate: SearchCandidate,
    wanted: frozenset[str],
    pairs: frozenset[tuple[str, str]],
    stem: Callable[[str], list[str]],
) -> _Texts:
    own, context = stem(candidate.own), stem(candidate.context)
    held = _counted(own, wanted)
    return _Texts(
        own=held,
        context=_counted(context, wanted),
        pairs=len(pairs.intersection(itertools.pairwise(own))) if held and pairs else 0,
        own_length=len(own),
        both_length=len(own) + len(context),
    )


def _counted(terms: Sequence[str], wanted: frozenset[str]) -> dict[str, int]:
    return {term: terms.count(term) for term in wanted.intersection(terms)}


def _strange(question: Question, texts: Sequence[_Texts]) -> float:
    """Return which share of the names that are asked about no candidate holds."""
    if not question.proper:
        return 0.0
    held = {term for text in texts for term in (*text.own, *text.context)}
    return len(question.proper - held) / len(question.proper)


def _cover(weighed: _Weighed, held: Iterable[str]) -> float:
    """Return which share of the question *held* holds, by weight."""
    said = weighed.shares.keys() & held
    return sum(weighed.shares[term] for term in sorted(said, key=weighed.order.__getitem__))


def _words(weighed: _Weighed, text: _Texts) -> dict[str, float]:
    own_norm = K1 * (1 - B) + weighed.own_norm * text.own_length
    both_norm = K1 * (1 - B) + weighed.both_norm * text.both_length
    b0 = b1 = 0.0
    for (_, weight), term in sorted(
        (weighed.bm25[term], term) for term in {**text.own, **text.context}
    ):
        own = text.own.get(term, 0)
        both = own + CONTEXT_WEIGHT * text.context.get(term, 0)
        b0 += weight * own * (K1 + 1) / (own + own_norm)
        b1 += weight * both * (K1 + 1) / (both + both_norm)
    return {
        "bmx": b1 / (b1 + HALF_BM25),
        "bmn": b0 / weighed.top if weighed.top else 0.0,
        "bmxn": b1 / weighed.top if weighed.top else 0.0,
    }


def _meaning(candidate: SearchCandidate, cosines: Mapping[int, float]) -> dict[str, float]:
    beside = [
        cosines[key]
        for key in (candidate.before_key, candidate.after_key)
        if key is not None and key in cosines
    ]
    own = cosines.get(candidate.memory_key, 0.0)
    return {"cos": own, "nlift": max(own, *beside) - own if beside else 0.0}


def _signs(question: Question, candidate: SearchCandidate, fit: Fit) -> dict[str, float]:
    speaks = (
        len(question.names) == 1
        and candidate.speaker is not None
        and candidate.speaker.casefold() in question.names
    )
    return {
        "name": float(speaks),
        "date": fit.date,
        "period": fit.period,
        "isq": float(candidate.own.rstrip().endswith("?")),
        "when": float(question.asks_when and _TIME.search(candidate.own) is not None),
    }


def _place(candidate: SearchCandidate) -> int:
    """Return the candidate's session, or the candidate itself (negated) where it has none."""
    return candidate.session_key if candidate.session_key is not None else -candidate.memory_key


def _sessions(
    found: Sequence[SearchCandidate], texts: Sequence[_Texts], weighed: _Weighed
) -> dict[int, _Session]:
    sessions: dict[int, _Session] = defaultdict(_Session)
    for candidate, text in zip(found, texts, strict=True):
        session = sessions[_place(candidate)]
        session.best = max(session.best, _cover(weighed, text.own))
        session.terms.update(text.own)
    return sessions


def _mean_of_best(
    found: Sequence[SearchCandidate], cosines: Mapping[int, float]
) -> dict[int, float]:
    sessions: dict[int, dict[int, float]] = defaultdict(dict)
    for candidate in found:
        for key in (candidate.memory_key, candidate.before_key, candidate.after_key):
            if key is not None and key in cosines:
                sessions[_place(candidate)][key] = cosines[key]
    return {
        place: sum(sorted(values.values())[-BEST_OF_SESSION:]) / min(len(values), BEST_OF_SESSION)
        for place, values in sessions.items()
    }
