"""The params of what is suspicious, and its page."""

from __future__ import annotations

from memd.model.flagged import Flagged
from memd.model.values import Name, Value
from memd.rpc.params import Paged, WritingById


class ListFlagged(Paged):
    """What is suspicious, newest first; *quarantined* what is out of sight, *everybody* of all.

    With an *id* that one alone, with its whole text.
    """

    id: Name | None = None
    quarantined: bool = False
    everybody: bool = False


class FlaggedPage(Value):
    """One page of what is suspicious."""

    items: tuple[Flagged, ...]
    next: Name | None = None


class SetAside(WritingById):
    """The memory to be set aside, or released, by its id, whosever it is."""
