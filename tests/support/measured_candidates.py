"""Candidates with features, and questions, for the ranker; no store."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Any

from memd.extract.times import find_periods
from memd.recall.question import Question, question
from memd.recall.ranking.features import MeasuredCandidate, Nearness, Statistics, measure
from memd.store.search.candidate_rows import SearchCandidate
from memd.store.search.fulltext import Corpus


def words_of(text: str) -> list[str]:
    """Return the words of *text*, folded and not stemmed: enough for a test."""
    return re.findall(r"[^\W_]+", text.casefold())


def asked(text: str, *names: str, now_us: int = 0) -> Question:
    """Return *text* as a question of *now_us*, where *names* are known speakers."""
    return question(text, frozenset(names), words_of, find_periods(text, now_us, UTC))


def a_candidate(key: int, own: str, **fields: Any) -> SearchCandidate:
    """Return a memory that says *own*."""
    given: dict[str, Any] = {
        "memory_key": key,
        "session_key": None,
        "project_id": None,
        "speaker": None,
        "own": own,
        "context": "",
        "before_key": None,
        "after_key": None,
        "importance": 0.6,
        "created_at_us": key,
        "occurred_at_us": None,
        "token_count": 10,
        "memory_id": f"m{key:04}",
        "is_hidden": 0,
    }
    return SearchCandidate(**(given | fields))


def measured(
    about: Question,
    candidates: Sequence[SearchCandidate],
    cosines: Mapping[int, float] | None = None,
    own_count: int | None = None,
) -> list[MeasuredCandidate]:
    """Return *candidates* measured in a store that holds just them."""
    texts = [set(words_of(candidate.own)) for candidate in candidates]
    terms = {*about.terms, *about.content}
    statistics = Statistics(
        Corpus(len(candidates), sum(len(words_of(c.own)) for c in candidates), 0),
        {term: sum(term in text for text in texts) for term in terms},
    )
    nearness = Nearness(cosines or {}, {})
    return measure(about, candidates, nearness, statistics, words_of, own_count)
