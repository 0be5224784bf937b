"""The ranker's features of each candidate (decision 0020). Pure: values in, numbers out.

Features are absolute values, not ranks and not scaled per query. So one score can both order the
candidates and say that none of them fits.
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
HALF_BM25 = 6.0  # the BM25 score that is mapped to 0.5
TERMS_FULL = 5
BEST_OF_SESSION = 3

_TIME_WORDS = (
    "yesterday today tonight tomorrow ago since recently just last next days week weeks weekend"
    " month months year years morning january february march april june july august september"
    " october november december monday tuesday wednesday thursday friday saturday sunday"
)
_TIME = re.compile(rf"\b(?:{'|'.join(_TIME_WORDS.split())}|\d{{4}})\b", re.IGNORECASE)
_YEAR = re.compile(r"\d{4}")

_ASKED_MAX = 64  # tokens of a question; the rest of a pasted text is compared by its vector alone
_SQUARE = 127.0**2  # token vectors are unit vectors scaled to int8: their squared length
_COMMON = 0.75
"""Quantile of the candidates' similarities that says how common a token is. The mean would shift
with every text that touches on everything, and reorder near-ties."""
_USUAL = 0.35
"""Prior of that quantile: the similarity of an average token to an unrelated memory. The
quantile of few candidates is unreliable, so the prior counts as ``_USUAL_MEMORIES`` of them."""
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
"""The ranker's features, in the order of its weights.

Word features are shares: of the question's terms, or of the best candidate's score. So a long
question weighs as much as a short one. Features of the neighbours and of the session are
differences to the memory's own value, and 0 without neighbours (decision 0108). The session's words
(``smlift``, ``slift``) count in proportion to the candidates that have a speaker, because without
speakers a session is rarely about one thing (decision 0254). ``maxsim`` is the late interaction
(decision 0322).

``strange`` (equal for all candidates) and ``nterm`` are for the gate, ``bmx`` is for searches
by words alone. ``period`` and ``now`` (equal for all) adjust the order after the gate.
"""


class TokenMatch(NamedTuple):
    """Statistics over the question's tokens of the highest cosine that each has in a memory."""

    mean: float
    spread: float
    """Standard deviation: high if the memory has one part of the question and lacks another."""


UNMATCHED = TokenMatch(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class MeasuredCandidate:
    """A candidate with its features."""

    candidate: SearchCandidate
    features: dict[str, float]
    covx: float
    matched: tuple[str, ...]
    has_vector: bool = True
    match: TokenMatch = UNMATCHED


@dataclass(frozen=True, slots=True)
class Statistics:
    """The size of the store and, for each query term, the number of memories that contain it."""

    corpus: Corpus
    frequencies: Mapping[str, int]

    def idf(self, term: str) -> float:
        """Return the inverse document frequency, above 0 even for one memory (FTS5's is not)."""
        n = self.frequencies.get(term, 0)
        return math.log(1 + (self.corpus.rows - n + 0.5) / (n + 0.5))


NO_STATISTICS = Statistics(Corpus(0, 0, 0), {})


class Nearness(NamedTuple):
    """Similarities of the question to memories, by memory key."""

    cosines: Mapping[int, float]
    """Of each candidate and neighbour that has a vector."""
    maxsims: Mapping[int, TokenMatch]
    """Of each candidate with token vectors; empty if any candidate still waits for its own."""


class _Texts(NamedTuple):
    """Counts of the query's terms in a candidate and in its context, and the lengths of both."""

    own: dict[str, int]
    context: dict[str, int]
    own_length: int
    both_length: int
    pairs: int
    tells_when: bool


class _Weighed:
    """The weights of the question's terms in this store, computed once for all candidates.

    Sums follow the order of the question's terms, so that floating-point results repeat exactly.
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
        """Each term with its BM25 weight (0 if no memory contains it) and its share of the
        question (0 if it is a person's name)."""
        self.top = sum(weight for _, weight, _ in self.terms) * (K1 + 1)
        rows, own_tokens, context_tokens = statistics.corpus
        self.own_norm = K1 * B / max(own_tokens / max(rows, 1), 1.0)
        self.both_norm = K1 * B / max((own_tokens + context_tokens) / max(rows, 1), 1.0)


class _Words(NamedTuple):
    """The question's words in a candidate."""

    b0: float = 0.0
    """BM25 of the candidate's own words; ``b1`` includes its neighbours'."""
    b1: float = 0.0
    cover: float = 0.0
    """Weighted share of the question's words in the candidate; ``covx`` includes neighbours."""
    covx: float = 0.0
    named: int = 0
    """Number of the question's terms in the candidate that are no person's name."""
    held: tuple[str, ...] = ()
    """The question's terms in the candidate."""


_NO_WORDS = _Words()


def measure(
    question: Question,
    candidates: Sequence[SearchCandidate],
    nearness: Nearness,
    statistics: Statistics,
    stem: Callable[[str], list[str]],
    own_count: int | None = None,
) -> list[MeasuredCandidate]:
    """Return the candidates with their features, in the given order.

    The first *own_count* are the agent's own memories. Features that compare candidates use only
    these for them, so memories that other agents share never change the order of one's own.
    """
    texts = _texts(question, candidates, stem)
    weighed = _Weighed(question, statistics)
    content = frozenset(question.content)
    words = [_words(weighed, content, text) for text in texts]
    # A candidate without a session is a place of its own.
    places = [-c.memory_key if c.session_key is None else c.session_key for c in candidates]
    sessions = _covers(weighed, places, words)
    near = _nearness(candidates, places, nearness.cosines)
    strange = _strange(question, texts) if question.proper else 0.0
    same = {"strange": strange, "now": float(question.asks_now)}
    dates = fit_times(question.times, candidates) if question.times else None
    count = len(candidates) if own_count is None else own_count
    own_share, all_share = _speaker_share(candidates[:count]), _speaker_share(candidates)
    items = []
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
            "name": float(question.person is not None and _is_by(candidate, question.person)),
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
        items.append(MeasuredCandidate(candidate, features, its.covx, its.held, has_vector, match))
    for some in (items, items[:count]):
        best = max((item.features["bmxn"] for item in some), default=0.0)
        for item in some:
            item.features["bmr"] = item.features["bmxn"] / best if best else 0.0
    return items


def _is_by(candidate: SearchCandidate, person: str) -> bool:
    return candidate.speaker is not None and candidate.speaker.casefold() == person


def _speaker_share(candidates: Sequence[SearchCandidate]) -> float:
    """Return the share of the candidates with a named speaker, not counting memories of naps.

    It is one number for all candidates: one for each would favour candidates with a speaker.
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
    """Return whether *text* names a time. Its stems *words* are checked first, as it is cheaper."""
    if times.isdisjoint(words) and _YEAR.search(text) is None:
        return False
    return _TIME.search(text) is not None


def _strange(question: Question, texts: Sequence[_Texts]) -> float:
    """Return the share of the question's names that no candidate contains."""
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
        own, both = text.own.get(term, 0), CONTEXT_WEIGHT * text.context.get(term, 0)
        if own:
            held.append(term)
            cover += share
            b0 += weight * own * (K1 + 1) / (own + own_norm)
            both += own
        if both:
            covx += share
            b1 += weight * both * (K1 + 1) / (both + both_norm)
    return _Words(b0, b1, cover, covx, len(content.intersection(held)), tuple(held))


def _covers(
    weighed: _Weighed, places: Sequence[int], words: Sequence[_Words]
) -> dict[int, tuple[float, float]]:
    """Return for each place the cover of its best candidate, and of all its candidates together."""
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
    """Return for each candidate its cosine, the highest of it and its neighbours, and its place's.

    The place's value is the mean of the best ``BEST_OF_SESSION`` cosines there, with neighbours. A
    missing vector counts as 0.
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


# Late interaction (decision 0322): the vectors of two texts tell whether their topic is the same,
# their token vectors whether the memory contains what the question asks for, in whatever form.


def maxsims(
    asked: bytes, memories: Mapping[int, bytes], own: int | None = None
) -> dict[int, TokenMatch]:
    """Return for each memory how well it matches the question's tokens.

    *asked* and each of *memories* are token vectors (``Encoding.tokens``), none of them empty. The
    mean weighs rare tokens more: by ``(1 - q) ** 2``, where q is the upper quartile of the token's
    similarities to the first *own* memories (by default to all).
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
