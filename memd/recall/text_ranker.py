"""Rank short texts that are not memories, with the ranker and gate of memories (SPEC D6).

Facts of the organisation, lessons and patterns are a few texts beside thousands of memories. They
are ranked as a small store of their own, with the same features, weights, gate and calibration, so
that their probabilities are comparable and nothing is returned when nothing fits. Their vectors are
computed on first use and cached by the embedder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memd.base.errors import ModelError, UnavailableError
from memd.domain.encoding import Embedder, Encoding
from memd.domain.values import matched_part
from memd.extract.times import find_periods
from memd.recall.question import Question, question
from memd.recall.ranking.features import Nearness, Statistics, maxsims, measure
from memd.recall.ranking.rankings import gate, rank
from memd.recall.ranking.weights import shipped_weights
from memd.store.file.connect import Reading
from memd.store.file.database import Database
from memd.store.search import fulltext, vectors
from memd.store.search.candidate_rows import SearchCandidate
from memd.store.search.fulltext import Corpus

RELEVANCE_MIN = 0.4  # a fact or lesson that nobody asked for by name has to be likely
ODDS_OF_THE_BEST_MIN = 0.2


class RankableText(NamedTuple):
    """A text to be ranked; *key* identifies it to the caller."""

    key: str
    text: str
    created_at_us: int


class RankedText(NamedTuple):
    """A text and the probability that it answers."""

    key: str
    relevance: float


class TextRanking(NamedTuple):
    """Every text, the likeliest first, and whether the gate opened.

    *english_alone*: they were ranked by the default model, which takes any texts of one other
    language for close.
    """

    items: tuple[RankedText, ...] = ()
    gate_open: bool = False
    english_alone: bool = False

    @property
    def relevant(self) -> tuple[RankedText, ...]:
        """The texts close enough to the best to be shown unasked; none when the gate is closed.

        Among few texts the right one leads by far, whatever its probability. Odds are compared,
        because an open gate may lift every probability close to 1.
        """
        if not self.gate_open:
            return ()
        least = ODDS_OF_THE_BEST_MIN * _odds(self.items[0])
        return tuple(
            item for item in self.items if item.relevance >= RELEVANCE_MIN and _odds(item) >= least
        )


@dataclass(frozen=True)
class TextRanker:
    """Ranks texts by meaning and words; by words alone without a model, or while it fails."""

    db: Database
    embedder: Embedder

    async def rank(self, query: str, texts: Sequence[RankableText]) -> TextRanking:
        """Return *texts* ranked by how likely they answer *query*."""
        query = matched_part(query)
        if not texts or not query.strip():
            return TextRanking()
        embedded = await self._encode([query, *(text.text for text in texts)])
        return await self.db.read(_rank, query, texts, embedded)

    async def _encode(self, texts: Sequence[str]) -> Sequence[Encoding]:
        if self.embedder.fingerprint is None:
            return ()
        try:
            return await self.embedder.encode(texts)
        except (UnavailableError, ModelError):
            return ()


def _rank(
    conn: Reading, query: str, texts: Sequence[RankableText], embedded: Sequence[Encoding]
) -> TextRanking:
    stem = fulltext.stemmer(conn)
    times = find_periods(query, max(text.created_at_us for text in texts))
    asked = question(query, frozenset(), stem, times)
    nearness = _nearness(conn, embedded[0], embedded[1:]) if embedded else Nearness({}, {})
    candidates = [_candidate(place, text) for place, text in enumerate(texts)]
    statistics = _statistics(asked, [stem(text.text) for text in texts])
    measured = measure(asked, candidates, nearness, statistics, stem)
    weights = shipped_weights(vector=bool(embedded), tokens=bool(nearness.maxsims))
    items = rank(measured, weights)
    return TextRanking(
        tuple(RankedText(item.measured.candidate.memory_id, item.relevance) for item in items),
        gate_open=gate(items, weights) >= weights.quiet,
        english_alone=bool(nearness.maxsims),
    )


def _nearness(conn: Reading, asked: Encoding, texts: Sequence[Encoding]) -> Nearness:
    """Return how near *asked* comes to the texts, by their places."""
    cosines = dict(enumerate(vectors.cosines(conn, asked.vector, [text.vector for text in texts])))
    tokens = {place: text.tokens for place, text in enumerate(texts) if text.tokens}
    return Nearness(cosines, maxsims(asked.tokens, tokens) if asked.tokens else {})


def _odds(text: RankedText) -> float:
    return text.relevance / max(1.0 - text.relevance, 1e-9)


def _statistics(asked: Question, texts: Sequence[Sequence[str]]) -> Statistics:
    terms = dict.fromkeys([*asked.terms, *asked.content])
    terms_by_text = [frozenset(text) for text in texts]
    return Statistics(
        Corpus(len(texts), sum(map(len, texts)), 0),
        {term: sum(term in present for present in terms_by_text) for term in terms},
    )


def _candidate(place: int, text: RankableText) -> SearchCandidate:
    return SearchCandidate(
        memory_key=place,
        session_key=None,
        project_id=None,
        speaker=None,
        own=text.text,
        context="",
        before_key=None,
        after_key=None,
        importance=None,
        created_at_us=text.created_at_us,
        occurred_at_us=None,
        token_count=0,
        memory_id=text.key,
        is_hidden=0,
    )
