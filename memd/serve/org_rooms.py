"""What the handlers need of the rooms of what everybody knows, as protocols."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol

from memd.model.access import (
    OwnerState,
    Proposal,
    Signature,
)
from memd.model.caller import Caller
from memd.model.graph import NOW, Added, GraphAnswers, GraphPaths, Moment, Neighbours
from memd.model.history import AsOf, FactsThen, Timeline
from memd.model.org import (
    OperationLogEntry,
    OperationLogSnapshot,
    OrgFact,
    OrgFactAuthor,
    OrgFactWriteRequest,
    OrgMemoryQuery,
)


class Past(Protocol):
    """What held when, and who said so."""

    async def as_of(self, caller: Caller, asked: AsOf) -> FactsThen: ...
    async def timeline(self, caller: Caller, name: str) -> Timeline: ...


class Org(Protocol):
    """What everybody knows."""

    @property
    def past(self) -> Past: ...
    async def write(
        self,
        caller: Caller,
        request: OrgFactWriteRequest,
        *,
        author: OrgFactAuthor | None = None,
        signature: bytes | None = None,
    ) -> str: ...
    async def retract(
        self,
        caller: Caller,
        fact_id: str,
        *,
        author: OrgFactAuthor | None = None,
        signature: bytes | None = None,
    ) -> bool: ...
    async def get(self, caller: Caller, fact_id: str) -> OrgFact | None: ...
    async def query(self, caller: Caller, query: OrgMemoryQuery) -> tuple[OrgFact, ...]: ...
    async def list_policies(
        self, caller: Caller, limit: int | None = None, offset: int = 0, *, every: bool = False
    ) -> tuple[OrgFact, ...]: ...
    async def count_policies(self, caller: Caller) -> int: ...
    async def history(self, caller: Caller, fact_id: str) -> tuple[OperationLogEntry, ...]: ...
    async def snapshot_at(
        self, caller: Caller, at: datetime, after: str | None = None, limit: int | None = None
    ) -> tuple[OperationLogSnapshot, ...]: ...


class Graph(Protocol):
    """What texts say about things, walked from thing to thing."""

    async def neighbours(
        self, caller: Caller, name: str, limit: int = 50, *, at: Moment = NOW
    ) -> Neighbours: ...
    async def path(
        self,
        caller: Caller,
        source: str,
        target: str,
        *,
        hops: int = 4,
        limit: int = 5,
        at: Moment = NOW,
    ) -> GraphPaths: ...
    async def query(
        self, caller: Caller, question: str, *, limit: int = 10, at: Moment = NOW
    ) -> GraphAnswers: ...
    async def add(self, caller: Caller, subject: str, relation: str, object_: str) -> Added: ...


class Owner(Protocol):
    """The owner's key, and what is signed with it."""

    async def state(self, caller: Caller) -> OwnerState: ...
    async def set(
        self, caller: Caller, public_key: str, signature: Signature | None
    ) -> OwnerState: ...
    async def verified(
        self, caller: Caller, signature: Signature | None, action: str, said: Mapping[str, Any]
    ) -> bytes: ...


class Review(Protocol):
    """What is proposed, and what the owner decides."""

    async def propose(self, caller: Caller, request: OrgFactWriteRequest) -> str: ...
    async def propose_retract(self, caller: Caller, fact_id: str) -> str: ...
    async def list(
        self, caller: Caller, after: str | None, limit: int
    ) -> tuple[tuple[Proposal, ...], str | None]: ...
    async def approve(
        self, caller: Caller, proposal_id: str, signature: Signature | None
    ) -> str: ...
    async def reject(
        self, caller: Caller, proposal_id: str, signature: Signature | None
    ) -> bool: ...
