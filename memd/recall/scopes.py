"""Whose memories one search reads: the caller's, and what others published (SPEC 10.1).

Shared memories are rows of the reserved agent, so they are a scope of their own
beside the personal one: the same filter, the same arms, one ranking. Where there
is nothing to find, there is no scope, and nobody pays for looking.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from memd.domain.caller import Caller
from memd.domain.memory import MemoryFilter
from memd.recall.search import SearchScope
from memd.store.access import names
from memd.store.file.connect import Reading
from memd.store.memory import shared
from memd.store.memory.filters import Bound, bound, by_others, evidence, stating


@dataclass(frozen=True, slots=True)
class RecallFilter:
    """What is asked for, at which moment; *hidden* adds what was put away."""

    filter: MemoryFilter
    now_us: int
    hidden: bool = False
    passing: bool = False
    """Whether turns that state nothing are among it."""


def of_caller(
    conn: Reading, caller: Caller, wanted: RecallFilter, *, also_shared: bool
) -> list[SearchScope]:
    """Return the caller's own scope and, if anything is there, that of what others shared.

    Empty for an agent that nobody has heard of, when nothing is shared either.
    """
    agent_key = names.find_agent(conn, caller.agent_id)
    kept = _bound(agent_key or 0, wanted, caller)
    here = bound(agent_key or 0, MemoryFilter(), wanted.now_us, active=caller)
    shared_one = of_others(conn, caller, wanted) if also_shared else None
    if shared_one is not None:
        return [_scope(kept, here, wanted), shared_one]
    return [] if agent_key is None else [_scope(kept, here, wanted)]


def of_others(conn: Reading, reader: Caller | None, wanted: RecallFilter) -> SearchScope | None:
    """Return the scope of what others than *reader* published, None when there is nothing.

    The project that is asked from hides what was shared for another one alone.
    """
    reader_key = None if reader is None else names.find_agent(conn, reader.agent_id)
    agent_key = shared.owner_key(conn, reader_key)
    if agent_key is None:
        return None
    active = None if reader is None else replace(reader, session_id=None)
    kept = _bound(agent_key, wanted, active)
    here = bound(agent_key, MemoryFilter(), wanted.now_us, active=active)
    if reader_key is not None and shared.has_published(conn, reader_key):
        kept, here = by_others(kept, reader_key), by_others(here, reader_key)
    return _scope(kept, here, wanted)


def _bound(agent_key: int, wanted: RecallFilter, active: Caller | None) -> Bound:
    kept = bound(agent_key, wanted.filter, wanted.now_us, hidden=wanted.hidden, active=active)
    return kept if wanted.passing else stating(kept)


def _scope(kept: Bound, here: Bound, wanted: RecallFilter) -> SearchScope:
    reach = evidence(kept, hidden=wanted.hidden)
    return SearchScope(kept, reach, here, wanted.hidden, wanted.passing)
