"""The params of ``client.*``, ``audit.*``, ``owner.*`` and of proposals, and their pages."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field, model_validator

from memd.base.limits import PAGE_ITEMS_MAX
from memd.model.access import AuditRow, ClientName, Hex, KeyedClient, Proposal, Signature
from memd.model.caller import Scope
from memd.model.enums import AutonomyLevel, OrgFactCategory, Outcome, SeniorityLevel
from memd.model.org import OrgTags
from memd.model.values import Name, Text, Time, Value
from memd.rpc.params import Keyed, Params

_DEFAULT_SCOPES: frozenset[Scope] = frozenset({"read", "write", "propose"})


class AddClient(Keyed):
    """A client that gets a key: whose calls are its agent's, or with none anybody's."""

    name: ClientName
    agent_id: Name | None = None
    seniority: SeniorityLevel | None = None
    autonomy_level: AutonomyLevel | None = None
    scopes: frozenset[Scope] = Field(default=_DEFAULT_SCOPES, min_length=1)


class RevokeClient(Keyed):
    """The client whose key is to be one no longer."""

    name: ClientName


class Clients(Value):
    """Every client that has or had a key; there is one page."""

    items: tuple[KeyedClient, ...]
    next: Name | None = None


class ShowAudit(Params):
    """Which rows of the audit, newest first: *after* is the last page's ``next``."""

    client: Name | None = None
    method: Name | None = None
    outcome: Outcome | None = None
    after: int | None = Field(default=None, ge=1)
    limit: int = Field(default=100, ge=1, le=PAGE_ITEMS_MAX)


class AuditPage(Value):
    """One page of the audit."""

    items: tuple[AuditRow, ...]
    next: int | None = None


class GivenHead(Value):
    """A head that was noted elsewhere: link *seq* had this *hash*."""

    seq: int = Field(ge=1)
    hash: Hex


class VerifyAudit(Params):
    """The heads that the caller has from elsewhere, if any."""

    anchors: tuple[GivenHead, ...] = Field(default=(), max_length=PAGE_ITEMS_MAX)


class SetOwner(Keyed):
    """The owner's public key; for another than the first, signed with the one before."""

    public_key: Hex = Field(min_length=64, max_length=64)
    signature: Signature | None = None


class ProposeFact(Keyed):
    """A fact to be written or, with *retract*, one that is to hold no longer.

    *author* is refused, whatever it says: who asks is in the key.
    """

    category: OrgFactCategory | None = None
    content: Text | None = None
    tags: OrgTags = ()
    fact_id: Name | None = None
    valid_from: Time | None = None
    valid_to: Time | None = None
    retract: bool = False
    agent_id: Name | None = None
    author: Any = None

    @model_validator(mode="after")
    def _one_or_the_other(self) -> Self:
        if self.retract and (self.fact_id is None or self.content is not None):
            raise ValueError("to retract a fact, name its fact_id and no content")
        if not self.retract and (self.content is None or self.category is None):
            raise ValueError("a fact needs a category and a content")
        if self.valid_from and self.valid_to and self.valid_from >= self.valid_to:
            raise ValueError("valid_from must be before valid_to")
        return self


class Review(Params):
    """Open proposals, oldest first: *after* is the last page's ``next``."""

    after: Name | None = None
    limit: int = Field(default=100, ge=1, le=PAGE_ITEMS_MAX)


class Proposals(Value):
    """One page of proposals."""

    items: tuple[Proposal, ...]
    next: Name | None = None


class Decide(Keyed):
    """A proposal that the owner approves or rejects, under the owner's signature."""

    id: Name
    signature: Signature | None = None
