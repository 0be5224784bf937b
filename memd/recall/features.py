"""What the ranker knows of each candidate (RANKER). Pure: values in, numbers out.

Absolute features, not ranks or per-query min-max: so that one score orders and
can also say that nothing fits.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from memd.base.clock import from_us
from memd.recall.question import Question
from memd.store.ranked import Candidate
from memd.store.words import CONTEXT_WEIGHT, Corpus

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
_DIGIT = re.compile(r"\d")

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
    "s3cos",
    "nterm",
    "when",
    "pair",
    "scov",
    "digit",
)
"""The ranker's features, in the order of its weights; ``strange``, the same for all candidates
of a question, is for the gate."""


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

    own: Counter[str]
    context: Counter[str]
    pairs: int
    own_length: int
    both_length: int


@dataclass(slots=True)
class _Session:
    """What the candidates of one session hold: the best of them, and all together."""

    best: float = 0.0
    terms: set[str] = field(default_factory=set)


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
    texts = [_texts(candidate, wanted, question.pairs, stem) for candidate in found]
    weights = {term: statistics.idf(term) for term in question.content}
    sessions = _sessions(found, texts, weights)
    strange = _strange(question, texts)
    best_cosines = _mean_of_best(found, cosines)
    measured = []
    for candidate, text in zip(found, texts, strict=True):
        session = sessions[_place(candidate)]
        features = _words(question, text, statistics)
        features |= _meaning(candidate, cosines)
        features |= _signs(question, candidate)
        features["smcov"] = session.best
        features["scov"] = _cover(weights, session.terms)
        features["s3cos"] = best_cosines.get(_place(candidate), 0.0)
        features["nterm"] = min(sum(t in text.own for t in weights), TERMS_FULL) / TERMS_FULL
        features["pair"] = text.pairs / len(question.pairs) if question.pairs else 0.0
        features["strange"] = strange
        covx = _cover(weights, text.own.keys() | text.context.keys())
        held = tuple(term for term in question.terms if term in text.own)
        measured.append(Measured(candidate, features, covx, held))
    return measured


def _texts(
    candidate: Candidate,
    wanted: frozenset[str],
    pairs: frozenset[tuple[str, str]],
    stem: Callable[[str], list[str]],
) -> _Texts:
    own, context = stem(candidate.own), stem(candidate.context)
    held = Counter(term for term in own if term in wanted)
    return _Texts(
        own=held,
        context=Counter(term for term in context if term in wanted),
        pairs=len(pairs.intersection(itertools.pairwise(own))) if held and pairs else 0,
        own_length=len(own),
        both_length=len(own) + len(context),
    )


def _strange(question: Question, texts: Sequence[_Texts]) -> float:
    """Return which share of the names that are asked about no candidate holds."""
    held = {term for text in texts for term in (*text.own, *text.context)}
    return len(question.proper - held) / len(question.proper) if question.proper else 0.0


def _cover(weights: Mapping[str, float], terms: Collection[str]) -> float:
    """Return which share of the question's weight *terms* hold."""
    total = sum(weights.values())
    return sum(weights[term] for term in weights if term in terms) / total if total else 0.0


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
        "when": float(question.asks_when and _TIME.search(candidate.own) is not None),
        "digit": float(_DIGIT.search(candidate.own) is not None),
    }


def _place(candidate: Candidate) -> int:
    """Return the candidate's session, or the candidate itself (negated) where it has none."""
    return candidate.session_key if candidate.session_key is not None else -candidate.memory_key


def _sessions(
    found: Sequence[Candidate], texts: Sequence[_Texts], weights: Mapping[str, float]
) -> dict[int, _Session]:
    sessions: dict[int, _Session] = defaultdict(_Session)
    for candidate, text in zip(found, texts, strict=True):
        session = sessions[_place(candidate)]
        session.best = max(session.best, _cover(weights, text.own))
        session.terms.update(text.own)
    return sessions


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
