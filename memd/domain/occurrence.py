"""What memd did of itself, as the rooms tell it for the operational records (SPEC 19, D18).

Told after the work's own COMMIT, to somebody who returns at once and never raises. Holds
ids, counts and times, never a text, a title or a path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class Occurrence(NamedTuple):
    """One thing that began, ended or failed.

    *occurrence_id*: the same thing told twice is noted once. *work* is what kind of work it
    was, with how long it took, where it was work at all.
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
    """The ids of memories that an answer took up; counted with them, and not in the record."""


Note = Callable[[Occurrence], None]
"""Who takes what occurred."""


def unnoted(_occurrence: Occurrence) -> None:
    """Take it and forget it."""
