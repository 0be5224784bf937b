"""The caller, the first argument of every room's functions (docs/architecture.md).

A client introduces itself (``system.hello``); the daemon decides its scopes.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Final, Literal

from memd.base.errors import DeniedError
from memd.domain.enums import AutonomyLevel, SeniorityLevel
from memd.domain.values import DEFAULT_AGENT, alike

LOCAL = "local"
OPERATOR = "operator"
IN_PROCESS = "in_process"
UNKNOWN = "unknown"
RESERVED_CLIENTS: Final = frozenset({LOCAL, OPERATOR, UNKNOWN, "owner", "memd", "cli"})

Scope = Literal["read", "write", "propose", "admin"]
"""What a client may do; every method needs one of them."""

SCOPES: Final[frozenset[Scope]] = frozenset({"read", "write", "propose", "admin"})


WORKING_FOR: Final[ContextVar[str]] = ContextVar("working_for", default=DEFAULT_AGENT)
"""The agent that the current task works for. A language model's costs are recorded for it,
through protocols that have no agent parameter."""

ERASURES_SEEN: Final[ContextVar[int | None]] = ContextVar("erasures_seen", default=None)
"""The count of erasures when the current task began to read: a prompt made from what it read is
not sent if there has been another erasure since."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The client of a connection, and its rights (SPEC D14).

    With *agent_id* every call is that agent's; without it a call may name any agent.
    """

    client: str
    agent_id: str | None = None
    scopes: frozenset[Scope] = frozenset()
    seniority: SeniorityLevel | None = None
    autonomy_level: AutonomyLevel | None = None


LOCAL_CLIENT: Final = Identity(LOCAL, scopes=frozenset({"read", "write", "propose"}))
"""A client without a key."""

OWNERS_COMMANDS: Final = Identity(OPERATOR, scopes=SCOPES)
"""A client with the key that the daemon created for the owner's own commands."""

NOBODY: Final = Identity(UNKNOWN)
"""A client that presented an unknown key."""


@dataclass(frozen=True, slots=True)
class Caller:
    """One request's caller, built by the daemon, never by the client.

    *request_hash* is the SHA-256 of the request without its idempotency key: the same key
    with another hash is a conflict (SPEC D7). *seniority* and *autonomy_level* belong to the
    client key; without a key there is none (SPEC D14).
    """

    client: str = LOCAL
    agent_id: str = DEFAULT_AGENT
    session_id: str | None = None
    project_id: str | None = None
    scopes: frozenset[Scope] = SCOPES
    method: str = IN_PROCESS
    idempotency_key: str | None = None
    request_hash: bytes = b""
    seniority: SeniorityLevel | None = None
    autonomy_level: AutonomyLevel | None = None
    bound: bool = False
    """The key is bound to its agent: the caller cannot act for another."""
    closed: frozenset[str] = frozenset()
    """Agents, in the form of ``alike``, that need a key the caller does not have."""

    @property
    def is_owner(self) -> bool:
        """Whether it is the owner's own command, or a program that opened the file itself."""
        return self.client == OPERATOR or self.method == IN_PROCESS

    @property
    def is_known(self) -> bool:
        """Whether it is the owner, or a client with a key."""
        return self.is_owner or self.client not in RESERVED_CLIENTS

    def may_be(self, agent_id: str) -> bool:
        """Return whether the caller may act for *agent_id*."""
        if self.bound:
            return agent_id == self.agent_id
        return not self.closed or alike(agent_id) not in self.closed

    def acting_for(self, agent_id: str) -> Caller:
        """Return this caller acting for another agent.

        Raises DeniedError for a client that is bound to its agent, and without a key for an
        agent that has one.
        """
        if self.bound and agent_id != self.agent_id:
            raise DeniedError("this client's key is another agent's", field="agent_id")
        if not self.may_be(agent_id):
            raise DeniedError(
                f"agent {agent_id} has a key: present it",
                field="agent_id",
                hint="set MEMD_CLIENT_KEY_FILE to its file",
            )
        return replace(self, agent_id=agent_id)
