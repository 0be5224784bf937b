"""What a memory was made of: the messages behind a nap's, the sources of a summary."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from memd.domain.enums import RunKind
from memd.domain.memory import MemoryEntry
from memd.domain.values import Name, Time, Value

Count = Annotated[int, Field(ge=0)]


class MadeBy(Value):
    """The nap, night or compression that made a memory."""

    run_id: Name
    kind: RunKind
    at: Time


class Turn(Value):
    """One message behind a memory, in the order in which it was read.

    *ordinal* is its place in the session. What is None is no longer kept: the owner's
    retention dropped the session's text, or it was forgotten.
    """

    ordinal: Count | None = None
    role: str | None = None
    at: Time | None = None
    text: str | None = None
    whole: bool = True
    """Whether *text* is all of it."""


class Provenance(Value):
    """A memory, and why it is there."""

    memory: MemoryEntry
    made_by: MadeBy | None = None
    """None for what was told, stored or imported; a move leaves this behind, too."""
    turns: tuple[Turn, ...] = ()
    sources: tuple[MemoryEntry, ...] = ()
    """The memories that it was made of, the oldest first."""
    sources_left: Count = 0
    """How many more there are."""
