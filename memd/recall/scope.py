"""What a recall searches: the rows of one agent, or what agents share, under one filter.

Shared memories are rows of the reserved agent, so they are a scope of their own beside the caller's
(SPEC 10.1): the same filter, the same retrievers, one ranking. Where nothing is shared there is no
second scope, and no search for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from memd.base.errors import MemoryRetrievalError
from memd.domain.caller import Caller
from memd.domain.enums import MemoryLevel
from memd.domain.memory import MemoryFilter
from memd.domain.values import RESERVED_AGENT
from memd.extract.time_words import Grain
from memd.recall.question import Question
from memd.store.access import agents, names
from memd.store.file.connect import Reading
from memd.store.memory import memories
from memd.store.memory.filters import (
    BoundFilter,
    bind,
    bind_search,
    without_own_copies,
    without_passing,
)
from memd.store.search.fulltext import CachePart, owner_token

LISTED_ROWS_MAX = 2_000  # a filter that keeps no more is listed and scored row by row


@dataclass(frozen=True, slots=True)
class RecallFilter:
    """A request's filter at one moment."""

    filter: MemoryFilter
    now_us: int
    include_hidden: bool = False
    """Whether compressed and archived memories are searched and shown."""
    include_passing: bool = False
    """Whether turns that state nothing are searched."""
    shows_sources: bool = False
    """Whether the sources of a summary are shown, in its stead."""


@dataclass(frozen=True, slots=True)
class SearchScope:
    """The rows of one agent that a search reads, and those that it may show."""

    result_filter: BoundFilter
    """The filter over what may be shown."""
    search_filter: BoundFilter
    """The filter over what is read: a summary is shown for its sources, which are searched."""
    index_filter: BoundFilter
    """*search_filter* for rows that come from *parts*, which leaves less to check."""
    parts: Sequence[CachePart]
    """The parts of the full-text and vector indexes that hold all rows of *search_filter*."""
    owners: Sequence[str]
    """Names of *parts* in the full-text index."""
    first_limit: int
    """How many times as many rows to fetch first as are needed: a filter drops some."""
    include_hidden: bool
    active: Caller | None
    """Whose session and project hide the memories of others."""
    shows_sources: bool = False
    """Whether the sources of a summary are shown, in its stead."""

    @property
    def visible(self) -> BoundFilter:
        """The filter over what may stand in an answer."""
        return self.search_filter if self.include_hidden else self.result_filter


class SearchTarget(NamedTuple):
    """A scope to search; *keys* are its rows where a filter or a time keeps few."""

    scope: SearchScope
    keys: Sequence[int] | None


def caller_scopes(
    conn: Reading,
    caller: Caller,
    where: RecallFilter,
    *,
    also_shared: bool,
    level: MemoryLevel | None = None,
) -> list[SearchScope]:
    """Return the caller's own scope, then that of shared memories if there are any.

    Empty for an unknown agent when nothing is shared. With *level*, that of agents that have none
    of their own, also for an agent of level none (SPEC 7.13). Raises MemoryRetrievalError for the
    reserved agent.
    """
    if caller.agent_id == RESERVED_AGENT:
        raise MemoryRetrievalError(f"{RESERVED_AGENT} is reserved", field="agent_id")
    agent_key, own_level = agents.key_and_level(conn, caller.agent_id)
    if level is not None and (own_level or level) is MemoryLevel.NONE:
        return []
    shared = None
    if also_shared:
        shared = shared_scope(conn, agent_key, where, without_own_copies, active=caller)
    if agent_key is None and shared is None:
        return []
    own = agent_scope(agent_key or 0, where, caller)
    return [own] if shared is None else [own, shared]


Narrow = Callable[[BoundFilter, int], BoundFilter]
"""Narrows a filter over shared memories by their publisher."""


def shared_scope(
    conn: Reading,
    publisher_key: int | None,
    where: RecallFilter,
    narrow: Narrow,
    active: Caller | None = None,
) -> SearchScope | None:
    """Return the scope of what agents published; None when there is nothing.

    *narrow* leaves out memories that *publisher_key* published. The project of *active* hides what
    was shared for another one alone.
    """
    agent_key = names.find_shared_agent(conn)
    if agent_key is None:
        return None
    active = None if active is None else replace(active, session_id=None)
    if publisher_key is None or not names.has_published(conn, publisher_key):
        return agent_scope(agent_key, where, active)
    return agent_scope(agent_key, where, active, lambda shown: narrow(shown, publisher_key))


def agent_scope(
    agent_key: int,
    where: RecallFilter,
    active: Caller | None,
    narrow: Callable[[BoundFilter], BoundFilter] | None = None,
) -> SearchScope:
    """Return the scope of one agent's rows, which *narrow* makes fewer.

    The session and project of *active* hide those of others (:func:`bind`).
    """
    hidden, passing = where.include_hidden, where.include_passing
    shown = bind(agent_key, where.filter, where.now_us, hidden=hidden, active=active)
    if not passing:
        shown = without_passing(shown)
    if narrow is not None:
        shown = narrow(shown)
    parts = [CachePart.SEARCHED]
    if hidden:
        parts.append(CachePart.HIDDEN)
    elif shown.splits_summaries:
        parts.append(CachePart.SUMMARY)
    if passing:
        parts.append(CachePart.PASSING)
    searched = bind_search(shown, hidden=hidden)
    indexed = bind_search(shown, hidden=hidden, indexed=True)
    owners = [owner_token(agent_key, part) for part in parts]
    return SearchScope(
        result_filter=shown,
        search_filter=searched,
        index_filter=indexed,
        parts=parts,
        owners=owners,
        first_limit=2 if searched.is_selective else 1,
        include_hidden=hidden,
        active=active,
        shows_sources=where.shows_sources,
    )


def search_targets(
    conn: Reading, scopes: Sequence[SearchScope], question: Question
) -> list[SearchTarget]:
    """Return each scope, and each a second time for its rows in the times of *question*."""
    targets = [
        SearchTarget(scope, narrow_keys(conn, scope) if scope.search_filter.is_selective else None)
        for scope in scopes
    ]
    if not question.times:
        return targets
    timed = [SearchTarget(scope, _keys_in_times(conn, scope, question)) for scope in scopes]
    return targets + [target for target in timed if target.keys]


def narrow_keys(conn: Reading, scope: SearchScope) -> list[int] | None:
    """Return the rows of a scope that keeps few; None if it keeps many."""
    keys = memories.find_keys(conn, scope.search_filter, LISTED_ROWS_MAX + 1)
    return keys if len(keys) <= LISTED_ROWS_MAX else None


def _keys_in_times(conn: Reading, scope: SearchScope, question: Question) -> list[int]:
    """Return the rows within a period such as last week; none when there are very many.

    "What did I do yesterday" has hardly a word to search by. For a calendar date the retrievers
    find as much with less noise, unless a time is all that the question names (decision 0107).
    """
    keys: dict[int, None] = {}
    for period in question.times:
        if (period.dates or period.grain is Grain.YEAR) and not question.only_time:
            continue
        spans = [(period.from_us, period.to_us), *([period.other] if period.other else [])]
        for low_us, high_us in spans:
            if low_us is not None and high_us is not None:
                rows = memories.find_in_period(
                    conn, scope.search_filter, low_us, high_us, LISTED_ROWS_MAX + 1
                )
                keys.update(dict.fromkeys(rows))
    return list(keys) if len(keys) <= LISTED_ROWS_MAX else []
