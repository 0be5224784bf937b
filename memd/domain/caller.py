"""Who calls. The first argument of every room's function (docs/architecture.md).

A client says what it is (``system.hello``); the daemon decides what it may.
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
"""Whose request a task answers, or whose memories it works on: what it asks a language model is
put down to that agent, through protocols that name none."""

ERASURES_SEEN: Final[ContextVar[int | None]] = ContextVar("erasures_seen", default=None)
"""How often something had been erased when a task began to read: a prompt that was made of what
was read is not sent once there was another erasure."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Whom the daemon takes a connection for, and what that client may (SPEC D14).

    With *agent_id* every call is that agent's; without it a call may name any.
    """

    client: str
    agent_id: str | None = None
    scopes: frozenset[Scope] = frozenset()
    seniority: SeniorityLevel | None = None
    autonomy_level: AutonomyLevel | None = None


LOCAL_CLIENT: Final = Identity(LOCAL, scopes=frozenset({"read", "write", "propose"}))
"""Who comes without a key."""

OWNERS_COMMANDS: Final = Identity(OPERATOR, scopes=SCOPES)
"""Who presents the key that the daemon made for the owner's own command line."""

NOBODY: Final = Identity(UNKNOWN)
"""Who presented a key that is none."""


@dataclass(frozen=True, slots=True)
class Caller:
    """One request's caller, made by the daemon, never by the client.

    *request_hash* is the SHA-256 of the request without its idempotency key: the
    same key with another hash is a conflict (SPEC D7). *seniority* and
    *autonomy_level* are the client key's; without a key there is none (SPEC D14).
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
    """Its key names its agent: it cannot act for another."""
    closed: frozenset[str] = frozenset()
    """Agents, as ``alike`` has them, that it would need a key for."""

    @property
    def is_owner(self) -> bool:
        """Whether it is the owner's own command, or whoever opened the file in this process."""
        return self.client == OPERATOR or self.method == IN_PROCESS

    @property
    def is_known(self) -> bool:
        """Whether it is the owner, or a program to which the owner gave a key."""
        return self.is_owner or self.client not in RESERVED_CLIENTS

    def may_be(self, agent_id: str) -> bool:
        """Return whether the caller may act for *agent_id*."""
        if self.bound:
            return agent_id == self.agent_id
        return not self.closed or alike(agent_id) not in self.closed

    def acting_for(self, agent_id: str) -> Caller:
        """Return the same caller with another agent's memories as its scope.

        Raises DeniedError for a client whose key names its agent, and without a key
        for an agent that has one.
        """
        if self.bound and agent_id != self.agent_id:
            raise DeniedError("this client's key is another agent's", field="agent_id")
        if not self.may_be(agent_id):
            raise DeniedError(
                f"agent {agent_id} has a key, which is to be presented",
                field="agent_id",
                hint="set MEMD_CLIENT_KEY_FILE to its file",
            )
        return replace(self, agent_id=agent_id)
