"""Queries of past facts, and timelines (SPEC D13, backend temporal_kg)."""

from __future__ import annotations

from pydantic import Field

from memd.base.limits import PAGE_ITEMS_MAX
from memd.domain.enums import OrgFactCategory
from memd.domain.org.graph import Statement
from memd.domain.org.org import OrgFact, OrgFactAuthor
from memd.domain.values import Name, Text, Time, Value


class AsOfQuery(Value):
    """A query of facts valid at *valid* as known at *known*, by default both now.

    *subject* is an entity that the facts mention, *text* a literal part of their text.
    """

    valid: Time | None = None
    known: Time | None = None
    subject: Name | None = None
    text: Text | None = None
    categories: frozenset[OrgFactCategory] | None = None
    limit: int = Field(default=20, ge=1, le=PAGE_ITEMS_MAX)
    after: Name | None = None


class PastFact(Value):
    """A fact as known at one time, with those of its statements that were valid at another.

    A fact without *statements* contains none that another fact could contradict.
    """

    fact: OrgFact
    operation_id: Name
    """The operation that wrote this version; that of a page's last fact is its ``next``."""

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
    """A period in which a statement was true, with the authors of its beginning and end.

    If the statement's *known_to* is set, memd knew this period once but it was corrected since.
    """

    statement: Statement
    category: OrgFactCategory
    said_by: OrgFactAuthor
    said_at: Time
    ended_by: OrgFactAuthor | None = None
    ended_at: Time | None = None
    """When another text stated the end."""


class VersionStretch(Value):
    """A period in which a version of a fact was valid, to the beginning of the next one.

    If *known_to* is set, the version was replaced altogether then, or retracted.
    """

    version: int = Field(ge=1)
    quote: str
    """The beginning of the text."""
    category: OrgFactCategory
    valid_from: Time | None = None
    valid_to: Time | None = None
    known_to: Time | None = None
    said_by: OrgFactAuthor
    said_at: Time


class Timeline(Value):
    """The timeline of an entity or a fact, earliest first.

    That of a fact has its *versions*, too, in their order.
    """

    about: Name
    versions: tuple[VersionStretch, ...] = ()
    stretches: tuple[TimelineStretch, ...] = ()
    truncated: bool = False
    withheld: tuple[OrgFactCategory, ...] = ()
