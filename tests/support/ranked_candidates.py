"""Ranked candidates and preferences, for selection within a budget; no store."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any

from memd.domain.recall import RecallRequest
from memd.recall.candidates import Ranking
from memd.recall.ranking.features import NAMES, MeasuredCandidate
from memd.recall.ranking.rankings import RankedCandidate
from memd.recall.select import Selection, select
from memd.store.memory.preferences import PreferenceRow
from memd.store.search.candidate_rows import SearchCandidate

BAR = 0.1
"""The bar of ``an_entry``."""

_keys = count(1)


def a_ranked(tokens: int = 10, own: str | None = None, relevance: float = 0.5) -> RankedCandidate:
    """Return a candidate of *tokens* tokens, with a key of its own."""
    key = next(_keys)
    candidate = SearchCandidate(
        memory_key=key,
        session_key=None,
        project_id=None,
        speaker=None,
        own=f"text {key}" if own is None else own,
        context="",
        before_key=None,
        after_key=None,
        importance=0.6,
        created_at_us=key,
        occurred_at_us=None,
        token_count=tokens,
        memory_id=f"m{key:06}",
        is_hidden=0,
    )
    measured = MeasuredCandidate(candidate, dict.fromkeys(NAMES, 0.0), 0.0, ())
    return RankedCandidate(measured, relevance, relevance)


def an_entry(relevance: float, own: str | None = None, **fields: Any) -> RankedCandidate:
    """Return a candidate that passed the gate and has a word; *fields* are of the memory."""
    ranked = replace(a_ranked(own=own, relevance=relevance), bar=BAR)
    candidate = ranked.measured.candidate._replace(**fields)
    measured = replace(ranked.measured, candidate=candidate, matched=("word",))
    return replace(ranked, measured=measured)


def selected(
    items: list[RankedCandidate], query: str = "which?", *, reordered: bool = False, **asked: Any
) -> Selection:
    """Return what of *items* answers a question, by the rule unless *asked* says otherwise."""
    candidates = Ranking(items, 0.9, degraded=None)
    return select(candidates, RecallRequest(query=query, **asked), reordered=reordered)


def a_preference(
    tokens: int = 10, value: str | None = None, memory_key: int | None = None
) -> PreferenceRow:
    """Return a preference of *tokens* tokens."""
    key = next(_keys)
    return PreferenceRow(
        preference_key=key,
        name=f"p{key}",
        value=f"value {key}" if value is None else value,
        confidence=1.0,
        token_count=tokens,
        memory_key=memory_key,
        memory_id=None if memory_key is None else f"m{memory_key:06}",
        created_at_us=key,
        updated_at_us=key,
        origin="person",
        client="operator",
        confirmed_at_us=key,
        project_id=None,
        is_part=False,
    )
