"""Who may do what, and what became of it: clients with keys, proposals, signatures, the audit."""

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
"""A client's name, which is also its key file's."""

Hex = Annotated[str, StringConstraints(pattern=r"^(?:[0-9a-f]{2}){1,512}$")]
"""Bytes, as lower-case hex."""


class KeyedClient(Value):
    """A client with a key, and what the key says (SPEC D14). Without *agent_id*: any agent."""

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
    """The owner's word: an Ed25519 signature over a statement with the daemon's *nonce*."""

    nonce: Hex
    value: Hex


class OwnerState(Value):
    """What a signer has to know: the owner's public key, the store's name, a fresh nonce."""

    public_key: Hex | None
    store: Hex
    nonce: Hex


class Proposal(Value):
    """A fact that somebody without the right to write it asks for.

    *author_id* is who says to have written it; *client* is who sent it, and what
    counts. *clients* is how many different clients ask for the same.
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
    """One row of the audit: who did or tried what, when, and how many rows it touched."""

    seq: int
    at: Time
    client: str
    method: str
    outcome: Outcome
    attempts: int = Field(ge=1)
    rows: int = Field(ge=0)
    batch: str | None = None


class Anchor(Value):
    """The head of the audit as it was noted outside the file, and whether the file agrees."""

    seq: int = Field(ge=0)
    hash: Hex
    source: str
    agrees: bool


class AuditReport(Value):
    """What checking the chain found.

    *problems* are what was changed, removed or cut; *unproven* says what nobody can
    know from what was at hand.
    """

    ok: bool
    links: int = Field(ge=0)
    head: Hex
    problems: tuple[str, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    unproven: tuple[str, ...] = ()
