"""An organisation that knows nothing, for tests of the socket in front of it."""

from __future__ import annotations

from datetime import datetime

from memd.base.clock import from_us
from memd.domain.caller import Caller
from memd.domain.org.history import AsOf, FactsThen, Timeline
from memd.domain.org.org import (
    OperationLogEntry,
    OperationLogSnapshot,
    OrgFact,
    OrgFactAuthor,
    OrgFactWriteRequest,
    OrgMemoryQuery,
)


class FakePast:
    """Knows of no time."""

    async def as_of(self, caller: Caller, asked: AsOf) -> FactsThen:
        del caller
        moment = from_us(0)
        return FactsThen(valid=asked.valid or moment, known=asked.known or moment)

    async def timeline(self, caller: Caller, name: str) -> Timeline:
        del caller
        return Timeline(about=name)


class FakeOrg:
    """Knows nothing, and says so."""

    @property
    def past(self) -> FakePast:
        return FakePast()

    async def write(
        self,
        caller: Caller,
        request: OrgFactWriteRequest,
        *,
        author: OrgFactAuthor | None = None,
        signature: bytes | None = None,
    ) -> str:
        del caller, request, author, signature
        return "f000000"

    async def retract(
        self,
        caller: Caller,
        fact_id: str,
        *,
        author: OrgFactAuthor | None = None,
        signature: bytes | None = None,
    ) -> bool:
        del caller, fact_id, author, signature
        return False

    async def get(self, caller: Caller, fact_id: str) -> OrgFact | None:
        del caller, fact_id
        return None

    async def query(self, caller: Caller, query: OrgMemoryQuery) -> tuple[OrgFact, ...]:
        del caller, query
        return ()

    async def list_policies(
        self, caller: Caller, limit: int | None = None, offset: int = 0, *, every: bool = False
    ) -> tuple[OrgFact, ...]:
        del caller, limit, offset, every
        return ()

    async def count_policies(self, caller: Caller) -> int:
        del caller
        return 0

    async def history(self, caller: Caller, fact_id: str) -> tuple[OperationLogEntry, ...]:
        del caller, fact_id
        return ()

    async def snapshot_at(
        self, caller: Caller, at: datetime, after: str | None = None, limit: int | None = None
    ) -> tuple[OperationLogSnapshot, ...]:
        del caller, at, after, limit
        return ()
