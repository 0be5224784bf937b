"""An audit that keeps nothing, writes of who may do what, and who asks in tests of the socket."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from memd.backends.rooms import Rooms
from memd.domain.caller import OWNERS_COMMANDS, Caller
from memd.domain.enums import OrgFactCategory
from memd.domain.org.org import OrgFactWriteRequest
from memd.org.clients import Clients
from memd.org.owner import Owner
from memd.org.review import Review
from memd.serve.authority import Credentials
from memd.store.access.audit import Audit
from memd.store.access.changes import RefusedAttempt


@dataclass
class FakeAudit:
    """Remembers what was refused."""

    rows: list[RefusedAttempt] = field(default_factory=list)
    writes: int = 0
    fail: Exception | None = None

    async def record_refused(self, attempts: Sequence[RefusedAttempt]) -> None:
        if self.fail is not None:
            raise self.fail
        self.writes += 1
        self.rows.extend(attempts)


def of_access(house: Rooms) -> dict[str, Callable[[], Coroutine[Any, Any, Any]]]:
    """Return a write for each thing that the rooms of who may do what can write."""
    caller = Caller(agent_id="ada", method="test")
    clients = Clients(house.db, house.clock, house.db.path.parent / "keys")
    owner = Owner(house.db, house.clock)
    review = Review(house.org, owner)
    fact = OrgFactWriteRequest(content="No.", category=OrgFactCategory.ADR)
    return {
        "client.add": lambda: clients.add(caller, "no", scopes=frozenset({"read"})),
        "client.revoke": lambda: clients.revoke(caller, "no"),
        "audit": lambda: Audit(house.db, house.clock).record_refused(
            [RefusedAttempt("no", "x", 1)]
        ),
        "owner.state": lambda: owner.state(caller),
        "owner.set": lambda: owner.set(caller, "00" * 32, None),
        "org.propose": lambda: review.propose(caller, fact),
    }


def the_operator() -> Credentials:
    """Return the credentials of the owner's own commands, which may call everything."""
    return Credentials(OWNERS_COMMANDS)
