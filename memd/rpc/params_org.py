"""The params of ``org.*``, and the pages that its lists come in.

None of them says who calls: that is in the client's key (SPEC D14).
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from memd.base.limits import PAGE_ITEMS_MAX
from memd.model.access import Signature
from memd.model.history import AsOf
from memd.model.org import (
    OperationLogEntry,
    OperationLogSnapshot,
    OrgFactWriteRequest,
    OrgMemoryQuery,
)
from memd.model.values import Name, Time, Value
from memd.rpc.params import Keyed, Params


class Signed(Keyed):
    """What the owner may sign; with a *signature* a human wrote it.

    *author* is refused, whatever it says: who writes is in the key or the signature.
    """

    signature: Signature | None = None
    author: Any = None


class WriteFact(OrgFactWriteRequest, Signed):
    """A fact, or with *fact_id* its next version."""


class RetractFact(Signed):
    """The fact that holds no longer."""

    fact_id: Name


class FactById(Params):
    """One fact."""

    fact_id: Name


class QueryFacts(OrgMemoryQuery, Params):
    """A search over facts."""


class ListPolicies(Params):
    """A part of the policies that hold now; with *every* also those whose time is not now."""

    every: bool = False
    limit: int | None = Field(default=None, ge=0, le=PAGE_ITEMS_MAX)
    offset: int = Field(default=0, ge=0)


class FactHistory(Params):
    """The log of one fact, page by page: *after* is the last page's ``next``, a version."""

    fact_id: Name
    after: int | None = Field(default=None, ge=1)
    limit: int = Field(default=100, ge=1, le=PAGE_ITEMS_MAX)


class SnapshotAt(Params):
    """All facts as they stood at *at*, page by page."""

    at: Time
    after: Name | None = None
    limit: int = Field(default=100, ge=1, le=PAGE_ITEMS_MAX)


class FactsAsOf(AsOf, Params):
    """The facts that held at *valid* as they were known at *known*, page by page."""


class TimelineOf(Params):
    """The life of the thing called *name*, or of the fact with that id."""

    name: Name


class OperationPage(Value):
    """One page of a fact's log, the first version first."""

    items: tuple[OperationLogEntry, ...]
    next: int | None = None


class SnapshotPage(Value):
    """One page of facts as they stood, by fact id, retracted ones included."""

    items: tuple[OperationLogSnapshot, ...]
    next: Name | None = None
