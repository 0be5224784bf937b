"""Short texts that are no memories, ranked and gated as memories are (SPEC D6).

Facts of the organisation, lessons and patterns are a few texts beside the thousands
of memories. They are a small store of their own: the same features, weights, gate and
calibration, so that their probabilities mean what those of memories do, and nothing
is brought when nothing fits. Their vectors are made when they are first looked at
and kept by the embedder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memd.base.errors import ModelError, UnavailableError
from memd.base.limits import QUERY_CHARS_MAX
from memd.domain.encoding import Embedder
from memd.extract.periods import periods
from memd.recall.question import Question, question
from memd.recall.ranking.features import Statistics, measure
from memd.recall.ranking.rankings import gate, ranked
from memd.recall.ranking.weights import HYBRID, WITHOUT_VECTORS
from memd.store.file.connect import Reading
from memd.store.file.database import Database
from memd.store.search import fulltext, vectors
from memd.store.search.candidate_rows import SearchCandidate
from memd.store.search.fulltext import Corpus

RELEVANCE_MIN = 0.25  # a fact or lesson that nobody asked for by name has to be likely
ODDS_OF_THE_BEST_MIN = 0.2


class Apart(NamedTuple):
    """One text to be ranked; *key* is whatever its owner knows it by."""

    key: str
    text: str
    created_at_us: int


class Fitting(NamedTuple):
    """One text that fits, and how likely it answers."""

    key: str
    relevance: float


class Ranking(NamedTuple):
    """Every text, the likeliest first, and whether the gate opened for any."""

    items: tuple[Fitting, ...] = ()
    opened: bool = False

    @property
    def fitting(self) -> tuple[Fitting, ...]:
        """The texts that may be told unasked: those not far behind the best; none for a shut gate.

        Among few texts the right one stands far before the others, whatever its number:
        odds, and not probabilities, which an open gate may lift near to 1 for all.
        """
        if not self.opened:
            return ()
        least = ODDS_OF_THE_BEST_MIN * _odds(self.items[0])
        return tuple(
            each for each in self.items if each.relevance >= RELEVANCE_MIN and _odds(each) >= least
        )


@dataclass(frozen=True)
class Ranker:
    """The room's needs. Without a model, or while it fails, words alone decide."""

    db: Database
    embedder: Embedder

    async def ranked(self, query: str, texts: Sequence[Apart]) -> Ranking:
        """Return *texts* as they answer *query*."""
        query = query[:QUERY_CHARS_MAX]
        if not texts or not query.strip():
            return Ranking()
        made = await self._vectors([query, *(each.text for each in texts)])
        return await self.db.read(_ranked, query, texts, made)

    async def _vectors(self, texts: Sequence[str]) -> Sequence[bytes]:
        if self.embedder.fingerprint is None:
            return ()
        try:
            return await self.embedder.embed(texts)
        except (UnavailableError, ModelError):
            return ()


def _ranked(conn: Reading, query: str, texts: Sequence[Apart], made: Sequence[bytes]) -> Ranking:
    stem = fulltext.stemmer(conn)
    times = periods(query, max(each.created_at_us for each in texts))
    asked = question(query, frozenset(), stem, times)
    cosines = dict(enumerate(vectors.cosines(conn, made[0], made[1:]))) if made else {}
    candidates = [_candidate(place, each) for place, each in enumerate(texts)]
    statistics = _statistics(asked, [stem(each.text) for each in texts])
    measured = measure(asked, candidates, cosines, statistics, stem)
    weights = HYBRID if made else WITHOUT_VECTORS
    items = ranked(measured, weights)
    return Ranking(
        tuple(Fitting(item.measured.candidate.memory_id, item.relevance) for item in items),
        opened=gate(items, weights) >= weights.quiet,
    )


def _odds(fitting: Fitting) -> float:
    return fitting.relevance / max(1.0 - fitting.relevance, 1e-9)


def _statistics(asked: Question, texts: Sequence[Sequence[str]]) -> Statistics:
    terms = dict.fromkeys([*asked.terms, *asked.content])
    held = [frozenset(text) for text in texts]
    return Statistics(
        Corpus(len(texts), sum(map(len, texts)), 0),
        {term: sum(term in each for each in held) for term in terms},
    )


def _candidate(place: int, given: Apart) -> SearchCandidate:
    return SearchCandidate(
        memory_key=place,
        session_key=None,
        project_id=None,
        speaker=None,
        has_caption=0,
        own=given.text,
        context="",
        before_key=None,
        after_key=None,
        importance=None,
        created_at_us=given.created_at_us,
        occurred_at_us=None,
        token_count=0,
        memory_id=given.key,
        is_hidden=0,
    )
