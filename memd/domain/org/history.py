"""What held when, and who said so: the answers of the past (SPEC D13, backend temporal_kg)."""

from __future__ import annotations

from pydantic import Field

from memd.base.limits import PAGE_ITEMS_MAX
from memd.domain.enums import OrgFactCategory
from memd.domain.org.graph import Statement
from memd.domain.org.org import OrgFact, OrgFactAuthor
from memd.domain.values import Name, Text, Time, Value


class AsOf(Value):
    """A question: what held at *valid* as it was known at *known*; each is now without one.

    *subject* is a thing that the facts speak of, *text* a literal part of them.
    """

    valid: Time | None = None
    known: Time | None = None
    subject: Name | None = None
    text: Text | None = None
    categories: frozenset[OrgFactCategory] | None = None
    limit: int = Field(default=20, ge=1, le=PAGE_ITEMS_MAX)
    after: Name | None = None


class FactThen(Value):
    """A fact as it was known at a moment, with those of its statements that held at another.

    Without *statements* its text says nothing that could be contradicted.
    """

    fact: OrgFact
    operation_id: Name
    """The operation that wrote it so; a page goes on after the last one's."""

    written_at: Time
    """When this version was written: the daemon's clock."""

    statements: tuple[Statement, ...] = ()


class FactsThen(Value):
    """A page of facts that held at *valid* as known at *known*, those written last first.

    *withheld* are the categories that the caller may not read, by the rules in
    force then or by today's.
    """

    valid: Time
    known: Time
    items: tuple[FactThen, ...] = ()
    next: Name | None = None
    withheld: tuple[OrgFactCategory, ...] = ()


class Lasted(Value):
    """One stretch in which a statement held, who said so, and who said that it ended.

    *known_to* is set where the stretch was believed once and is not any more.
    """

    statement: Statement
    category: OrgFactCategory
    said_by: OrgFactAuthor
    said_at: Time
    ended_by: OrgFactAuthor | None = None
    ended_at: Time | None = None
    """When it was said that it ended, if another text said it."""


class Timeline(Value):
    """The life of a thing or of a fact: its stretches, the earliest first."""

    about: Name
    stretches: tuple[Lasted, ...] = ()
    truncated: bool = False
    withheld: tuple[OrgFactCategory, ...] = ()
