"""``client.*`` and ``audit.*``: who may do what, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping

from memd.model.access import AddedClient, AuditReport, KeyedClient
from memd.model.caller import Caller
from memd.rpc import params_access as p
from memd.rpc.params import Params
from memd.serve.dispatch import Handler
from memd.serve.rooms import Audit, Clients, Rooms
from memd.store.changes import Wanted


def handlers(rooms: Rooms) -> Mapping[str, Handler]:
    """Return the handlers of clients and of the audit."""
    clients, audit = _Clients(rooms.clients), _Audit(rooms.audit)
    return {
        "client.add": clients.add,
        "client.list": clients.list,
        "client.revoke": clients.revoke,
        "audit.show": audit.show,
        "audit.verify": audit.verify,
    }


class _Clients:
    """``client.*``."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients

    async def add(self, caller: Caller, params: p.AddClient) -> AddedClient:
        return await self._clients.add(
            caller,
            params.name,
            agent_id=params.agent_id,
            seniority=params.seniority,
            autonomy_level=params.autonomy_level,
            scopes=params.scopes,
        )

    async def list(self, caller: Caller, params: Params) -> p.Clients:
        del caller, params
        return p.Clients(items=await self._clients.list())

    async def revoke(self, caller: Caller, params: p.RevokeClient) -> KeyedClient:
        return await self._clients.revoke(caller, params.name)


class _Audit:
    """``audit.*``."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit

    async def show(self, caller: Caller, params: p.ShowAudit) -> p.AuditPage:
        del caller
        outcome = None if params.outcome is None else params.outcome.value
        wanted = Wanted(params.client, params.method, outcome)
        items, after = await self._audit.show(wanted, params.after, params.limit)
        return p.AuditPage(items=items, next=after)

    async def verify(self, caller: Caller, params: p.VerifyAudit) -> AuditReport:
        del caller
        return await self._audit.verify(
            [(one.seq, bytes.fromhex(one.hash)) for one in params.anchors]
        )
