"""Queries of past facts, and timelines (SPEC D13, backend temporal_kg)."""

from __future__ import annotations

from pydantic import Field

from memd.base.limits import PAGE_ITEMS_MAX
from memd.domain.enums import OrgFactCategory
from memd.domain.org.graph import Statement
from memd.domain.org.org import OrgFact, OrgFactAuthor
from memd.domain.values import Name, Text, Time, Value


class AsOfQuery(Value):
    """A query of facts valid at *valid* as known at *known*, both by default now.

    *subject* is an entity in the facts, *text* a literal part of them.
    """

    valid: Time | None = None
    known: Time | None = None
    subject: Name | None = None
    text: Text | None = None
    categories: frozenset[OrgFactCategory] | None = None
    limit: int = Field(default=20, ge=1, le=PAGE_ITEMS_MAX)
    after: Name | None = None


class PastFact(Value):
    """A fact as known at one time, with its statements that were valid at another.

    Without *statements* its text has none that could be contradicted.
    """

    fact: OrgFact
    operation_id: Name
    """The operation that wrote this version; a page continues after the last one."""

    written_at: Time
    """When this version was written, by the daemon's clock."""

    statements: tuple[Statement, ...] = ()


class PastFacts(Value):
    """A page of facts valid at *valid* as known at *known*, last written first.

    *withheld* are the categories that the caller may not read, by the rules of that time or
    of today.
    """

    valid: Time
    known: Time
    items: tuple[PastFact, ...] = ()
    next: Name | None = None
    withheld: tuple[OrgFactCategory, ...] = ()


class TimelineStretch(Value):
    """A period in which a statement held, with the authors of its beginning and end.

    *known_to* is set if the period was once believed and no longer is.
    """

    statement: Statement
    category: OrgFactCategory
    said_by: OrgFactAuthor
    said_at: Time
    ended_by: OrgFactAuthor | None = None
    ended_at: Time | None = None
    """When another text stated the end."""


class Timeline(Value):
    """The timeline of an entity or a fact, earliest first."""

    about: Name
    stretches: tuple[TimelineStretch, ...] = ()
    truncated: bool = False
    withheld: tuple[OrgFactCategory, ...] = ()
