"""``owner.*``, ``client.*``, ``audit.*``: the owner's key, client keys, the audit."""

from __future__ import annotations

from pydantic import Field

from memd.base.limits import PAGE_ITEMS_MAX
from memd.domain.caller import Scope
from memd.domain.enums import AutonomyLevel, Outcome, SeniorityLevel
from memd.domain.org.access import (
    AddedClient,
    AuditReport,
    AuditRow,
    ClientName,
    Hex,
    KeyedClient,
    OwnerState,
    Signature,
)
from memd.domain.values import Name, Value
from memd.serve.routes.routes import Context, KeyParams, Page, Params, Router
from memd.store.access.changes import AuditFilter

router = Router()

_DEFAULT_SCOPES: frozenset[Scope] = frozenset({"read", "write", "propose"})


class SetOwnerParams(KeyParams):
    """The owner's public key; a replacement is signed with the previous key."""

    public_key: Hex = Field(min_length=64, max_length=64)
    signature: Signature | None = None


class AddClientParams(KeyParams):
    """A client that gets a key, bound to *agent_id* or, without one, to no agent."""

    name: ClientName
    agent_id: Name | None = None
    seniority: SeniorityLevel | None = None
    autonomy_level: AutonomyLevel | None = None
    scopes: frozenset[Scope] = Field(default=_DEFAULT_SCOPES, min_length=1)


class RevokeClientParams(KeyParams):
    """The client whose key is revoked."""

    name: ClientName


class AuditParams(Params):
    """A filter of the audit's rows, newest first: *after* is the ``next`` of the page before."""

    client: Name | None = None
    method: Name | None = None
    outcome: Outcome | None = None
    after: int | None = Field(default=None, ge=1)
    limit: int = Field(default=100, ge=1, le=PAGE_ITEMS_MAX)


class AnchoredHead(Value):
    """An anchored head of the audit chain: row *seq* had this *hash*."""

    seq: int = Field(ge=1)
    hash: Hex


class VerifyAuditParams(Params):
    """The anchored heads to verify against, if any."""

    anchors: tuple[AnchoredHead, ...] = Field(default=(), max_length=PAGE_ITEMS_MAX)


class AuditPage(Value):
    """One page of the audit."""

    items: tuple[AuditRow, ...]
    next: int | None = None


@router.method("owner.state", "Get what a signature needs: public key, store id, nonce.")
async def owner(context: Context, _params: Params) -> OwnerState:
    return await context.rooms.owner.state(context.caller)


@router.method("owner.set", "Set or replace the owner's public key.", scope="admin")
async def set_owner(context: Context, params: SetOwnerParams) -> OwnerState:
    return await context.rooms.owner.set(context.caller, params.public_key, params.signature)


@router.method("client.add", "Create a client key; returns the path of its file.", scope="admin")
async def add_client(context: Context, params: AddClientParams) -> AddedClient:
    return await context.rooms.clients.add(
        context.caller,
        params.name,
        agent_id=params.agent_id,
        seniority=params.seniority,
        autonomy_level=params.autonomy_level,
        scopes=params.scopes,
    )


@router.method(
    "client.list", "List clients with keys and their scopes.", scope="admin", writes=False
)
async def clients(context: Context, _params: Params) -> Page[KeyedClient]:
    return Page[KeyedClient](items=await context.rooms.clients.list())


@router.method("client.revoke", "Revoke a client key.", scope="admin")
async def revoke_client(context: Context, params: RevokeClientParams) -> KeyedClient:
    return await context.rooms.clients.revoke(context.caller, params.name)


@router.method("audit.show", "List audit rows: changes and refusals.", scope="admin", writes=False)
async def audit(context: Context, params: AuditParams) -> AuditPage:
    outcome = None if params.outcome is None else params.outcome.value
    where = AuditFilter(params.client, params.method, outcome)
    items, after = await context.rooms.audit.show(where, params.after, params.limit)
    return AuditPage(items=items, next=after)


@router.method("audit.verify", "Verify the audit.", scope="admin", writes=False)
async def verify_audit(context: Context, params: VerifyAuditParams) -> AuditReport:
    return await context.rooms.audit.verify(
        [(head.seq, bytes.fromhex(head.hash)) for head in params.anchors]
    )
