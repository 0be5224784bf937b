"""The params of ``graph.*``. Hops and limits are bounded here: every walk has an end."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from memd.base.limits import PAGE_ITEMS_MAX, QUERY_CHARS_MAX, WALK_HOPS_MAX, WALK_PATHS_MAX
from memd.model.graph import Moment
from memd.model.values import Name, NotBlankStr, Time
from memd.rpc.params import Scoped, Writing


class Momentary(Scoped):
    """What holds now, or at *as_of*; as it is known now, or as it was at *known_at*."""

    as_of: Time | None = None
    known_at: Time | None = None

    @property
    def moment(self) -> Moment:
        """Return both times."""
        return Moment(self.as_of, self.known_at)


class Around(Momentary):
    """The thing *name* and how much of what is said about it."""

    name: Name
    limit: int = Field(default=50, ge=1, le=PAGE_ITEMS_MAX)


class Between(Momentary):
    """From one thing to another: at most *limit* ways of at most *hops*."""

    source: Name
    target: Name
    hops: int = Field(default=4, ge=1, le=WALK_HOPS_MAX)
    limit: int = Field(default=5, ge=1, le=WALK_PATHS_MAX)


class Ask(Momentary):
    """A question in words."""

    question: Annotated[NotBlankStr, Field(max_length=QUERY_CHARS_MAX)]
    limit: int = Field(default=10, ge=1, le=WALK_PATHS_MAX)


class AddTriple(Writing):
    """Two things and what is between them; it is kept as a memory, which is its evidence."""

    subject: Name
    relation: Name
    object: Name
