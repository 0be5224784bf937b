"""What forgetting means of what was learnt: lessons and patterns, by id or by time (SPEC D21).

They hold words of tasks, not of memories; a filter reaches them when it names a
time and nothing that only a memory has. A filter is never taken for more than
it says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from memd.base.clock import to_us
from memd.domain.caller import Caller
from memd.domain.memory import MemoryFilter
from memd.store.access import names
from memd.store.file.connect import Reading, Writing
from memd.store.learn import learnings, playbook
from memd.store.learn.learnings import Proof

_TIMES = {"since", "until"}


class Learnt(NamedTuple):
    """What is to go, with the proof of what it was."""

    agent_key: int
    lessons: list[Proof]
    patterns: list[Proof]


def doomed(
    conn: Reading, caller: Caller, ids: Sequence[str] | None, wanted: MemoryFilter | None
) -> Learnt:
    """Return the caller's lessons and patterns of *ids*, or of the time that *wanted* names."""
    agent_key = names.find_agent(conn, caller.agent_id)
    since_us = until_us = None
    if ids is None and wanted is not None and _is_of_time(wanted):
        since_us = None if wanted.since is None else to_us(wanted.since)
        until_us = None if wanted.until is None else to_us(wanted.until)
    meant = (() if ids is None else ids, since_us, until_us)
    if agent_key is None:
        return Learnt(0, [], [])
    return Learnt(
        agent_key,
        learnings.proofs(conn, agent_key, *meant),
        playbook.proofs(conn, agent_key, *meant),
    )


def erase(conn: Writing, found: Learnt) -> None:
    """Destroy lessons and patterns."""
    learnings.erase(conn, found.agent_key, [each.public_id for each in found.lessons])
    playbook.erase(conn, found.agent_key, [each.public_id for each in found.patterns])


def _is_of_time(wanted: MemoryFilter) -> bool:
    return not any(
        getattr(wanted, name) for name in MemoryFilter.model_fields if name not in _TIMES
    )
