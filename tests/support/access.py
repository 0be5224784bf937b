"""Clients and the audit as rooms in front of nothing, and who asks in tests of the socket."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from memd.backends.assembly import Assembly
from memd.base.errors import DeniedError, NotFoundError
from memd.domain.caller import OWNERS_COMMANDS, Caller, Identity, Scope
from memd.domain.enums import AutonomyLevel, OrgFactCategory, Outcome, SeniorityLevel
from memd.domain.org.access import (
    AddedClient,
    AuditReport,
    AuditRow,
    KeyedClient,
    OwnerState,
    Proposal,
    Signature,
)
from memd.domain.org.org import OrgFactWriteRequest
from memd.org.clients import Clients
from memd.org.owner import Owner
from memd.org.review import Review
from memd.serve.authority import Authority, Credentials
from memd.store.access.audit import Audit
from memd.store.access.changes import AuditFilter, RefusedAttempt

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@dataclass
class FakeClients:
    """Remembers clients by name; the name is the key."""

    known: dict[str, KeyedClient] = field(default_factory=dict)
    leave: Callable[[str], None] | None = None

    def identify(self, key: str) -> Identity | None:
        found = self.known.get(key)
        if found is None:
            return None
        return Identity(
            client=found.name,
            agent_id=found.agent_id,
            scopes=found.scopes if found.revoked_at is None else frozenset(),
            seniority=found.seniority,
            autonomy_level=found.autonomy_level,
        )

    def agents(self) -> frozenset[str]:
        return frozenset(one.agent_id for one in self.known.values() if one.agent_id)

    def heed(self, leave: Callable[[str], None]) -> None:
        self.leave = leave

    async def add(
        self,
        caller: Caller,
        name: str,
        *,
        agent_id: str | None = None,
        seniority: SeniorityLevel | None = None,
        autonomy_level: AutonomyLevel | None = None,
        scopes: frozenset[Scope],
    ) -> AddedClient:
        del caller
        self.known[name] = KeyedClient(
            name=name,
            agent_id=agent_id,
            seniority=seniority,
            autonomy_level=autonomy_level,
            scopes=scopes,
            created_at=NOON,
        )
        return AddedClient(client=self.known[name], key_file=f"{name}.key")

    async def list(self) -> tuple[KeyedClient, ...]:
        return tuple(self.known.values())

    async def revoke(self, caller: Caller, name: str) -> KeyedClient:
        del caller
        if name not in self.known:
            raise NotFoundError(f"no client {name} has a key", field="name")
        self.known[name] = self.known[name].model_copy(update={"revoked_at": NOON})
        if self.leave is not None:
            self.leave(name)
        return self.known[name]


@dataclass
class FakeAudit:
    """Remembers what was refused."""

    rows: list[RefusedAttempt] = field(default_factory=list)
    writes: int = 0
    fail: Exception | None = None

    async def refused(self, attempts: Sequence[RefusedAttempt]) -> None:
        if self.fail is not None:
            raise self.fail
        self.writes += 1
        self.rows.extend(attempts)

    async def note(self, client: str, method: str) -> None:
        await self.refused([RefusedAttempt(client, method, 1)])

    async def show(
        self, wanted: AuditFilter, after: int | None, limit: int
    ) -> tuple[tuple[AuditRow, ...], int | None]:
        del wanted, after
        found = (
            AuditRow(
                seq=seq,
                at=NOON,
                client=row.client,
                method=row.method,
                outcome=Outcome.DENIED,
                attempts=row.attempts,
                rows=0,
            )
            for seq, row in enumerate(self.rows, 1)
        )
        return tuple(found)[:limit], None

    async def verify(self, given: Sequence[tuple[int, bytes]] = ()) -> AuditReport:
        del given
        return AuditReport(ok=True, links=len(self.rows), head="00" * 32)


class FakeOwner:
    """An owner whose every signature is right."""

    async def state(self, caller: Caller) -> OwnerState:
        del caller
        return OwnerState(public_key=None, store="00", nonce="00")

    async def set(self, caller: Caller, public_key: str, signature: Signature | None) -> OwnerState:
        del signature
        return (await self.state(caller)).model_copy(update={"public_key": public_key})

    async def verified(
        self, caller: Caller, signature: Signature | None, action: str, said: Mapping[str, Any]
    ) -> bytes:
        del caller, action, said
        if signature is None:
            raise DeniedError("not signed")
        return b""


class FakeReview:
    """Takes every proposal and keeps none."""

    async def propose(self, caller: Caller, request: OrgFactWriteRequest) -> str:
        del caller, request
        return "p0"

    async def propose_retract(self, caller: Caller, fact_id: str) -> str:
        del caller, fact_id
        return "p0"

    async def list(
        self, caller: Caller, after: str | None, limit: int
    ) -> tuple[tuple[Proposal, ...], str | None]:
        del caller, after, limit
        return (), None

    async def approve(self, caller: Caller, proposal_id: str, signature: Signature | None) -> str:
        del caller, signature
        return proposal_id

    async def reject(self, caller: Caller, proposal_id: str, signature: Signature | None) -> bool:
        del caller, proposal_id, signature
        return True


def of_access(house: Assembly) -> dict[str, Callable[[], Coroutine[Any, Any, Any]]]:
    """Return a write for each thing that the rooms of who may do what can write."""
    caller = Caller(agent_id="ada", method="test")
    clients = Clients(house.db, house.clock, house.db.path.parent / "keys")
    owner = Owner(house.db, house.clock)
    review = Review(house.org, owner)
    fact = OrgFactWriteRequest(content="No.", category=OrgFactCategory.ADR)
    return {
        "client.add": lambda: clients.add(caller, "no", scopes=frozenset({"read"})),
        "client.revoke": lambda: clients.revoke(caller, "no"),
        "audit": lambda: Audit(house.db, house.clock).refused([RefusedAttempt("no", "x", 1)]),
        "owner.state": lambda: owner.state(caller),
        "owner.set": lambda: owner.set(caller, "00" * 32, None),
        "org.propose": lambda: review.propose(caller, fact),
    }


def an_authority(
    clients: FakeClients | None = None, audit: FakeAudit | None = None, operator: str | None = None
) -> Authority:
    known: Any = clients or FakeClients()
    return Authority(known, operator, (audit or FakeAudit()).note)


def the_operator() -> Credentials:
    """Return the credentials of the owner's own commands, which may call everything."""
    return Credentials(OWNERS_COMMANDS)
