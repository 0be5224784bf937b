"""What the owner sees of what is suspicious, and of what was set aside for it."""

from __future__ import annotations

from memd.domain.enums import MemoryCategory, MemoryState, Origin, Trust
from memd.domain.trust import Flag
from memd.domain.values import Name, Time, Value


class Flagged(Value):
    """One suspicious memory. *text* is seen through the view: as it may be shown, not as it is."""

    id: Name
    agent_id: Name
    flags: tuple[Flag, ...]
    state: MemoryState
    origin: Origin
    trust: Trust
    category: MemoryCategory
    client: Name | None = None
    session_id: Name | None = None
    source: Name | None = None
    flagged_at: Time
    released_at: Time | None = None
    text: str


class Quarantined(Value):
    """What was set aside by hand: the memory, and the summaries that held its words."""

    id: Name
    removed: int = 0
    """Summaries, and facts of naps, that were made from it and are in the trash now."""
