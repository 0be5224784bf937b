"""Reports of memd's own work for the operational records (SPEC 19, D18).

Work is reported after its COMMIT, to a callback that returns at once and never raises. A
report contains ids, counts and times, never a text, a title or a path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class Occurrence(NamedTuple):
    """A piece of work that began, ended or failed.

    A repeated report with the same *occurrence_id* is recorded once. *work* is the kind of the
    work whose duration *seconds* is, None for an occurrence without a duration.
    """

    occurrence_id: str
    agent_id: str
    event: str
    at_us: int
    details: Mapping[str, Any]
    work: str | None = None
    seconds: float = 0.0
    tokens: int = 0
    is_success: bool = True
    used: tuple[str, ...] = ()
    """The ids of memories that an answer used. They are counted per memory, not recorded."""


Note = Callable[[Occurrence], None]
"""Callback that records an occurrence."""


def ignore_occurrence(_occurrence: Occurrence) -> None:
    """Discard an occurrence."""
