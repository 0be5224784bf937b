"""Client keys, proposals, signatures and the audit."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from memd.base.limits import CLIENT_NAME_CHARS_MAX
from memd.domain.caller import Scope
from memd.domain.enums import (
    AutonomyLevel,
    OperationType,
    OrgFactCategory,
    Outcome,
    ProposalState,
    SeniorityLevel,
)
from memd.domain.org.org import OrgTags
from memd.domain.values import Name, Text, Time, Value

ClientName = Annotated[
    str, StringConstraints(pattern=rf"^[a-z0-9][a-z0-9._-]{{0,{CLIENT_NAME_CHARS_MAX - 1}}}$")
]
"""A client's name, also the name of its key file."""

Hex = Annotated[str, StringConstraints(pattern=r"^(?:[0-9a-f]{2}){1,512}$")]
"""Bytes, as lower-case hex."""


class KeyedClient(Value):
    """A client with a key, and its rights (SPEC D14). Without *agent_id*: any agent."""

    name: ClientName
    agent_id: Name | None = None
    seniority: SeniorityLevel | None = None
    autonomy_level: AutonomyLevel | None = None
    scopes: frozenset[Scope] = frozenset({"read", "write", "propose"})
    created_at: Time
    revoked_at: Time | None = None


class AddedClient(Value):
    """A client that was just added, and the file with its key."""

    client: KeyedClient
    key_file: str


class Signature(Value):
    """The owner's Ed25519 signature over a statement with the daemon's *nonce*."""

    nonce: Hex
    value: Hex


class OwnerState(Value):
    """What a signer needs: the owner's public key, the store's id, a fresh nonce."""

    public_key: Hex | None
    store: Hex
    nonce: Hex


class Proposal(Value):
    """A fact proposed by a client that may not write it.

    *author_id* is the claimed author, which is not verified; *client* is the client that sent
    it. *clients* is the number of clients that sent the same proposal.
    """

    id: Name
    kind: OperationType
    category: OrgFactCategory
    content: Text | None = None
    tags: OrgTags = ()
    fact_id: Name | None = None
    valid_from: Time | None = None
    valid_to: Time | None = None
    author_id: Name
    client: Name
    at: Time
    state: ProposalState
    decided_at: Time | None = None
    operation_id: Name | None = None
    clients: int = Field(default=1, ge=1)


class AuditRow(Value):
    """One row of the audit: client, method, outcome, time, and number of changed rows."""

    seq: int
    at: Time
    client: str
    method: str
    outcome: Outcome
    attempts: int = Field(ge=1)
    rows: int = Field(ge=0)
    batch: str | None = None


class Anchor(Value):
    """A head of the audit recorded outside the file, and whether the file agrees."""

    seq: int = Field(ge=0)
    hash: Hex
    source: str
    agrees: bool


class AuditReport(Value):
    """The result of verifying the audit chain.

    *problems* are changed, removed or truncated rows; *unproven* says what cannot be verified
    with the given anchors.
    """

    ok: bool
    links: int = Field(ge=0)
    head: Hex
    problems: tuple[str, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    unproven: tuple[str, ...] = ()
