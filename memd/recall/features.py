"""What the ranker knows of each candidate (RANKER). Pure: values in, numbers out.

Absolute features, not ranks or per-query min-max: so that one score orders and
can also say that nothing fits.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from memd.base.clock import from_us
from memd.recall.question import Question
from memd.store.ranked import Candidate
from memd.store.words import CONTEXT_WEIGHT, Corpus

K1 = 1.2
B = 0.75
IDF_MIN = 1e-6
HALF_BM25 = 6.0  # the BM25 at which its share of 1 is one half
TERMS_FULL = 5
BEST_OF_SESSION = 3

NAMES = (
    "bmx",
    "bm",
    "bmxn",
    "cos",
    "name",
    "smcov",
    "date",
    "ncos",
    "isq",
    "len",
    "s3cos",
    "nterm",
    "cap",
)
"""The ranker's features, in the order of its weights."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One candidate with its features."""

    candidate: Candidate
    features: dict[str, float]
    covx: float
    matched: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Statistics:
    """The store's size and, for each query term, how many memories hold it."""

    corpus: Corpus
    frequencies: Mapping[str, int]

    def bm25_idf(self, term: str) -> float:
        n = self.frequencies.get(term, 0)
        return max(math.log((self.corpus.rows - n + 0.5) / (n + 0.5)), IDF_MIN) if n else 0.0

    def idf(self, term: str) -> float:
        n = self.frequencies.get(term, 0)
        return math.log(1 + (self.corpus.rows - n + 0.5) / (n + 0.5))

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

    own: Counter[str]
    context: Counter[str]
    own_length: int
    both_length: int


def measure(
    question: Question,
    found: Sequence[Candidate],
    cosines: Mapping[int, float],
    statistics: Statistics,
    stem: Callable[[str], list[str]],
) -> list[Measured]:
    """Return the candidates, in their order, with their features.

    *cosines* holds the cosine of every candidate and neighbour that has a vector.
    """
    wanted = frozenset(question.terms)
    texts = [_texts(candidate, wanted, stem) for candidate in found]
    weights = {term: statistics.idf(term) for term in question.content}
    total = sum(weights.values()) or 1.0
    cover = [sum(weights[t] for t in weights if t in text.own) / total for text in texts]
    coverx = [
        sum(weights[t] for t in weights if t in text.own or t in text.context) / total
        for text in texts
    ]
    best_cover = _best_of_session(found, cover)
    best_cosines = _mean_of_best(found, cosines)
    measured = []
    for candidate, text, covx in zip(found, texts, coverx, strict=True):
        features = _words(question, text, statistics)
        features |= _meaning(candidate, cosines)
        features |= _signs(question, candidate)
        features["smcov"] = best_cover[_place(candidate)]
        features["s3cos"] = best_cosines.get(_place(candidate), 0.0)
        held = tuple(term for term in question.terms if term in text.own)
        features["nterm"] = (
            min(sum(t in text.own for t in question.content), TERMS_FULL) / TERMS_FULL
        )
        measured.append(Measured(candidate, features, covx, held))
    return measured


def _texts(
    candidate: Candidate, wanted: frozenset[str], stem: Callable[[str], list[str]]
) -> _Texts:
    own, context = stem(candidate.own), stem(candidate.context)
    return _Texts(
        Counter(term for term in own if term in wanted),
        Counter(term for term in context if term in wanted),
        len(own),
        len(own) + len(context),
    )


def _words(question: Question, text: _Texts, statistics: Statistics) -> dict[str, float]:
    own_norm = K1 * (1 - B + B * text.own_length / max(statistics.own_length, 1.0))
    both_norm = K1 * (1 - B + B * text.both_length / max(statistics.both_length, 1.0))
    b0 = b1 = top = 0.0
    for term in question.terms:
        idf = statistics.bm25_idf(term)
        top += idf * (K1 + 1)
        own = text.own[term]
        both = own + CONTEXT_WEIGHT * text.context[term]
        b0 += idf * own * (K1 + 1) / (own + own_norm)
        b1 += idf * both * (K1 + 1) / (both + both_norm)
    return {
        "bm": b0 / (b0 + HALF_BM25),
        "bmx": b1 / (b1 + HALF_BM25),
        "bmxn": b1 / top if top else 0.0,
    }


def _meaning(candidate: Candidate, cosines: Mapping[int, float]) -> dict[str, float]:
    beside = [
        cosines[key]
        for key in (candidate.before_key, candidate.after_key)
        if key is not None and key in cosines
    ]
    return {"cos": cosines.get(candidate.memory_key, 0.0), "ncos": max(beside, default=0.0)}


def _signs(question: Question, candidate: Candidate) -> dict[str, float]:
    moment_us = (
        candidate.occurred_at_us
        if candidate.occurred_at_us is not None
        else candidate.created_at_us
    )
    date = 0.0
    if question.dates:
        moment = from_us(moment_us)
        date = max(asked.match(moment) for asked in question.dates)
    speaks = (
        len(question.names) == 1
        and candidate.speaker is not None
        and candidate.speaker.casefold() in question.names
    )
    return {
        "name": float(speaks),
        "date": date,
        "isq": float(candidate.own.rstrip().endswith("?")),
        "len": math.log(1 + len(candidate.own)) / 6,
        "cap": float(candidate.has_caption),
    }


def _place(candidate: Candidate) -> int:
    """Return the candidate's session, or the candidate itself (negated) where it has none."""
    return candidate.session_key if candidate.session_key is not None else -candidate.memory_key


def _best_of_session(found: Sequence[Candidate], cover: Sequence[float]) -> dict[int, float]:
    best: dict[int, float] = defaultdict(float)
    for candidate, share in zip(found, cover, strict=True):
        best[_place(candidate)] = max(best[_place(candidate)], share)
    return best


def _mean_of_best(found: Sequence[Candidate], cosines: Mapping[int, float]) -> dict[int, float]:
    sessions: dict[int, dict[int, float]] = defaultdict(dict)
    for candidate in found:
        for key in (candidate.memory_key, candidate.before_key, candidate.after_key):
            if key is not None and key in cosines:
                sessions[_place(candidate)][key] = cosines[key]
    return {
        place: sum(sorted(values.values())[-BEST_OF_SESSION:]) / min(len(values), BEST_OF_SESSION)
        for place, values in sessions.items()
    }
