"""What the ranker knows of each candidate (decision 0020). Pure: values in, numbers out.

Absolute features, not ranks or per-query min-max: so that one score orders and
can also say that nothing fits.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memd.domain.encoding import TOKEN_BYTES
from memd.recall.question import Question
from memd.recall.times import fit_times
from memd.store.search.candidate_rows import SearchCandidate
from memd.store.search.fulltext import CONTEXT_WEIGHT, Corpus

K1 = 1.2
B = 0.75
HALF_BM25 = 6.0  # the BM25 at which its share of 1 is one half
TERMS_FULL = 5
BEST_OF_SESSION = 3

_TIME_WORDS = (
    "yesterday today tonight tomorrow ago since recently just last next days week weeks weekend"
    " month months year years morning january february march april june july august september"
    " october november december monday tuesday wednesday thursday friday saturday sunday"
)
_TIME = re.compile(rf"\b(?:{'|'.join(_TIME_WORDS.split())}|\d{{4}})\b", re.IGNORECASE)
_YEAR = re.compile(r"\d{4}")

_ASKED_MAX = 64  # tokens of a question; the rest of a pasted one is compared by its vector alone
_SQUARE = 127.0**2  # of a token vector's length
_COMMON = 0.75
"""The quantile of memories by which a token is common. A mean would move with each text on
everything that somebody puts in, and the order of near-ties with it."""
_USUAL = 0.35
"""How near an average token comes to a memory about something else, and its weight below: among few
memories nobody knows which of the question's tokens is rare."""
_USUAL_MEMORIES = 10

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
    "maxsim",
)
"""The ranker's features, in the order of its weights. Words count as a share of what the question
asks for, or of what the best candidate holds, so that a long question weighs as a short one; what
the neighbours and the session of a memory say counts as far as it is more than the memory's own,
so that it is 0 without them (decision 0108); the words of its session (``smlift``, ``slift``) also
only as far as candidates have a speaker, because where nobody is named a session is no talk about
one thing (decision 0254). ``maxsim`` is of late interaction (0322). ``strange``, the same for all
candidates, and ``nterm`` are for the gate, ``bmx`` is for mode words, ``period`` and ``now``, the
same for all, move what the gate let pass."""


class TokenMatch(NamedTuple):
    """How near the tokens of a question come to a memory, each by its greatest cosine in it."""

    mean: float
    spread: float
    """Their standard deviation: high where a part of the question stands there, a part does not."""


UNMATCHED = TokenMatch(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Measured:
    """One candidate with its features."""

    candidate: SearchCandidate
    features: dict[str, float]
    covx: float
    matched: tuple[str, ...]
    has_vector: bool = True
    match: TokenMatch = UNMATCHED


@dataclass(frozen=True, slots=True)
class Statistics:
    """The store's size and, for each query term, how many memories hold it."""

    corpus: Corpus
    frequencies: Mapping[str, int]

    def idf(self, term: str) -> float:
        """Return how rare *term* is; above 0 even in a store of one memory, unlike FTS5's own."""
        n = self.frequencies.get(term, 0)
        return math.log(1 + (self.corpus.rows - n + 0.5) / (n + 0.5))


NO_STATISTICS = Statistics(Corpus(0, 0, 0), {})


class Nearness(NamedTuple):
    """How near the question comes to memories, by their keys."""

    cosines: Mapping[int, float]
    """Of every candidate and neighbour that has a vector."""
    maxsims: Mapping[int, TokenMatch]
    """Of every candidate with a vector and a token; empty where one waits for token vectors."""


class _Texts(NamedTuple):
    """How often the query's terms stand in a candidate and beside it, and how long both are."""

    own: dict[str, int]
    context: dict[str, int]
    own_length: int
    both_length: int
    pairs: int
    tells_when: bool


class _Weighed:
    """The question's terms as this store weighs them, worked out once for all candidates.

    Sums are made in the order of the question's terms, so that they are always the same.
    """

    __slots__ = ("both_norm", "own_norm", "terms", "top")

    def __init__(self, question: Question, statistics: Statistics) -> None:
        idf = {term: statistics.idf(term) for term in (*question.terms, *question.content)}
        shares = {term: idf[term] for term in question.content}
        total = sum(shares.values())
        self.terms = [
            (
                term,
                idf[term] if statistics.frequencies.get(term) else 0.0,
                shares.get(term, 0.0) / total if total else 0.0,
            )
            for term in question.terms
        ]
        """Each with its weight in BM25, which is 0 of one that no memory holds, and, if it names
        nobody, its share of the question."""
        self.top = sum(weight for _, weight, _ in self.terms) * (K1 + 1)
        rows, own_tokens, context_tokens = statistics.corpus
        self.own_norm = K1 * B / max(own_tokens / max(rows, 1), 1.0)
        self.both_norm = K1 * B / max((own_tokens + context_tokens) / max(rows, 1), 1.0)


class _Words(NamedTuple):
    """What a candidate holds of the question's words."""

    b0: float = 0.0
    """BM25 of its own words; ``b1`` with its neighbours'."""
    b1: float = 0.0
    cover: float = 0.0
    """The share of the question that it holds by itself, by weight; ``covx`` with neighbours."""
    covx: float = 0.0
    named: int = 0
    """How many terms it holds that name nobody."""
    held: tuple[str, ...] = ()


_NO_WORDS = _Words()


def measure(
    question: Question,
    candidates: Sequence[SearchCandidate],
    nearness: Nearness,
    statistics: Statistics,
    stem: Callable[[str], list[str]],
    own_count: int | None = None,
) -> list[Measured]:
    """Return the candidates, in their order, with their features.

    The first *own_count* are compared among themselves only: what others share changes nothing
    among them.
    """
    texts = _texts(question, candidates, stem)
    weighed = _Weighed(question, statistics)
    content = frozenset(question.content)
    words = [_words(weighed, content, text) for text in texts]
    # Without a session a candidate is a place of its own.
    places = [-c.memory_key if c.session_key is None else c.session_key for c in candidates]
    sessions = _covers(weighed, places, words)
    near = _nearness(candidates, places, nearness.cosines)
    person = question.person
    strange = _strange(question, texts) if question.proper else 0.0
    same = {"strange": strange, "now": float(question.asks_now)}
    dates = fit_times(question.times, candidates) if question.times else None
    count = len(candidates) if own_count is None else own_count
    own_share, all_share = _speaker_share(candidates[:count]), _speaker_share(candidates)
    measured = []
    for at, (candidate, text, its) in enumerate(zip(candidates, texts, words, strict=True)):
        cos, near_best, session_mean = near[at]
        best, all_held = sessions[places[at]]
        share = own_share if at < count else all_share
        match = nearness.maxsims.get(candidate.memory_key, UNMATCHED)
        features = {
            "bmx": its.b1 / (its.b1 + HALF_BM25),
            "bmn": its.b0 / weighed.top if weighed.top else 0.0,
            "bmxn": its.b1 / weighed.top if weighed.top else 0.0,
            "cos": cos,
            "nlift": near_best - cos,
            "name": float((candidate.speaker or "").casefold() == person),
            "date": dates[at].date if dates else 0.0,
            "period": dates[at].period if dates else 0.0,
            "isq": float(candidate.own.rstrip().endswith("?")),
            "when": float(text.tells_when),
            "cov": its.cover,
            "smlift": share * (best - its.cover),
            "slift": share * (all_held - its.cover),
            "s3lift": session_mean - cos,
            "nterm": min(its.named, TERMS_FULL) / TERMS_FULL,
            "pair": text.pairs / len(question.pairs) if text.pairs else 0.0,
            "maxsim": match.mean,
            **same,
        }
        has_vector = candidate.memory_key in nearness.cosines
        measured.append(Measured(candidate, features, its.covx, its.held, has_vector, match))
    for some in (measured, measured[:count]):
        best = max((item.features["bmxn"] for item in some), default=0.0)
        for item in some:
            item.features["bmr"] = item.features["bmxn"] / best if best else 0.0
    return measured


def _speaker_share(candidates: Sequence[SearchCandidate]) -> float:
    """Return which share has a named speaker, of all but what naps composed, which tells nothing.

    One share for all: a share for each candidate would lift those with a speaker over the others.
    """
    others = [candidate for candidate in candidates if not candidate.is_composed]
    return sum(each.speaker is not None for each in others) / len(others) if others else 0.0


def _texts(
    question: Question, candidates: Sequence[SearchCandidate], stem: Callable[[str], list[str]]
) -> list[_Texts]:
    terms, pairs = frozenset(question.terms), question.pairs
    times = frozenset(stem(_TIME_WORDS)) if question.asks_when else frozenset()
    texts = []
    for candidate in candidates:
        own, context = stem(candidate.own), stem(candidate.context)
        held, beside = terms.intersection(own), terms.intersection(context)
        texts.append(
            _Texts(
                own={term: own.count(term) for term in held},
                context={term: context.count(term) for term in beside},
                own_length=len(own),
                both_length=len(own) + len(context),
                pairs=len(pairs.intersection(itertools.pairwise(own))) if held and pairs else 0,
                tells_when=question.asks_when and _tells_when(candidate.own, own, times),
            )
        )
    return texts


def _tells_when(text: str, words: Sequence[str], times: frozenset[str]) -> bool:
    """Return whether *text*, of the stems *words*, names a time; most hold none of *times*."""
    if times.isdisjoint(words) and _YEAR.search(text) is None:
        return False
    return _TIME.search(text) is not None


def _strange(question: Question, texts: Sequence[_Texts]) -> float:
    """Return which share of the names that are asked about no candidate holds."""
    held = {term for text in texts for term in (*text.own, *text.context)}
    return len(question.proper - held) / len(question.proper)


def _words(weighed: _Weighed, content: frozenset[str], text: _Texts) -> _Words:
    if not text.own and not text.context:
        return _NO_WORDS
    own_norm = K1 * (1 - B) + weighed.own_norm * text.own_length
    both_norm = K1 * (1 - B) + weighed.both_norm * text.both_length
    b0 = b1 = cover = covx = 0.0
    held = []
    for term, weight, share in weighed.terms:
        own, context = text.own.get(term, 0), text.context.get(term, 0)
        if own:
            held.append(term)
            cover += share
            b0 += weight * own * (K1 + 1) / (own + own_norm)
        if own or context:
            covx += share
            both = own + CONTEXT_WEIGHT * context
            b1 += weight * both * (K1 + 1) / (both + both_norm)
    return _Words(b0, b1, cover, covx, len(content.intersection(held)), tuple(held))


def _covers(
    weighed: _Weighed, places: Sequence[int], words: Sequence[_Words]
) -> dict[int, tuple[float, float]]:
    """Return of each session what the best of it covers of the question, and all of it together."""
    best: dict[int, float] = defaultdict(float)
    held: dict[int, set[str]] = defaultdict(set)
    for place, its in zip(places, words, strict=True):
        best[place] = max(best[place], its.cover)
        held[place].update(its.held)
    return {
        place: (best[place], sum(share for term, _, share in weighed.terms if term in its))
        for place, its in held.items()
    }


def _nearness(
    candidates: Sequence[SearchCandidate], places: Sequence[int], cosines: Mapping[int, float]
) -> list[tuple[float, float, float]]:
    """Return of each candidate its cosine, the best of it and its neighbours, and the session's.

    The last is the mean of the best in its place, neighbours included; 0 is for what has no vector.
    """
    near: list[tuple[float, float]] = []
    by_place: dict[int, dict[int, float]] = defaultdict(dict)
    for place, candidate in zip(places, candidates, strict=True):
        keys = (candidate.memory_key, candidate.before_key, candidate.after_key)
        its = {key: cosines[key] for key in keys if key is not None and key in cosines}
        own = its.get(candidate.memory_key, 0.0)
        near.append((own, max([own, *its.values()])))
        by_place[place].update(its)
    means = {}
    for place, known in by_place.items():
        best = sorted(known.values(), reverse=True)[:BEST_OF_SESSION]
        means[place] = sum(best) / len(best) if best else 0.0
    return [(own, best, means[place]) for place, (own, best) in zip(places, near, strict=True)]


# Late interaction: the vectors of two texts say whether they are about the same, their tokens
# whether what the question asks for stands in the memory, in whatever form (decision 0322).


def maxsims(
    asked: bytes, memories: Mapping[int, bytes], own: int | None = None
) -> dict[int, TokenMatch]:
    """Return of each memory how near the question's tokens come to it.

    *asked* and each of *memories* are token vectors (``Encoding.tokens``), none of them empty. In
    the mean a token weighs more the fewer memories come near it: by the square of what the nearest
    quarter of the first *own* of them, by default of all, lacks to 1.
    """
    if not memories:
        return {}
    import numpy as np  # the model that made the question's vectors has loaded it

    question = np.frombuffer(asked, np.int8).reshape(-1, TOKEN_BYTES)[:_ASKED_MAX]
    scaled = question.astype(np.float32) / _SQUARE
    tokens = np.frombuffer(b"".join(memories.values()), np.int8).reshape(-1, TOKEN_BYTES)
    sizes = [len(each) // TOKEN_BYTES for each in memories.values()]
    cosines = scaled @ tokens.astype(np.float32).T
    best = np.maximum.reduceat(cosines, np.cumsum([0, *sizes[:-1]]), axis=1)
    known = best[:, :own] if own else best
    size, common = known.shape[1], np.quantile(known, _COMMON, axis=1)
    usual = (common * size + _USUAL * _USUAL_MEMORIES) / (size + _USUAL_MEMORIES)
    weights = (1.0 - usual) ** 2
    means = weights @ best / weights.sum()
    matches = map(TokenMatch, means.tolist(), best.std(axis=0).tolist())
    return dict(zip(memories, matches, strict=True))
