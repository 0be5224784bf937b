"""The caller of a request: the first argument of the rooms' methods (docs/architecture.md).

A client may present a key (``system.hello``); the daemon derives its identity and scopes.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Final, Literal

from memd.base.errors import DeniedError
from memd.domain.enums import AutonomyLevel, SeniorityLevel
from memd.domain.values import DEFAULT_AGENT, alike

LOCAL = "local"
"""The name of a client without a key."""
OPERATOR = "operator"
"""The name of the owner's own commands."""
IN_PROCESS = "in_process"
"""In place of a method: a program that opened the file itself."""
UNKNOWN = "unknown"
"""The name of a client that presented an unknown key."""
RESERVED_CLIENTS: Final = frozenset({LOCAL, OPERATOR, UNKNOWN, "owner", "memd", "cli"})
"""Names that no client key may have."""

Scope = Literal["read", "write", "propose", "admin"]
"""What a client may do; every method needs one of them."""

SCOPES: Final[frozenset[Scope]] = frozenset({"read", "write", "propose", "admin"})


WORKING_FOR: Final[ContextVar[str]] = ContextVar("working_for", default=DEFAULT_AGENT)
"""The agent that the current task works for. The costs of a language model are recorded for it:
the protocols in between have no agent parameter."""

ERASURES_SEEN: Final[ContextVar[int | None]] = ContextVar("erasures_seen", default=None)
"""The number of erasures before the current task began to read. If it has changed, a prompt for a
language model is not sent, because it may contain erased texts."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The client of a connection, and its rights (SPEC D14).

    With an *agent_id* all its calls are for that agent; without one a call may name any agent.
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
    """The caller of one request, built by the daemon, never by the client.

    *request_hash* is the SHA-256 of the request without its idempotency key: the same key
    with another hash is a conflict (SPEC D7). *seniority* and *autonomy_level* are those of the
    client key, None without a key (SPEC D14).
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
    """Agents that need a key which the caller does not have, normalized by ``alike``."""

    @property
    def is_owner(self) -> bool:
        """Whether it is one of the owner's commands, or a program that opened the file itself."""
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

        Raises DeniedError if the caller's key is bound to another agent, or if the agent needs
        a key that the caller does not have.
        """
        if self.bound and agent_id != self.agent_id:
            raise DeniedError("this client's key is another agent's", field="agent_id")
        if not self.may_be(agent_id):
            raise DeniedError(
                f"agent {agent_id} needs a client key",
                field="agent_id",
                hint="set MEMD_CLIENT_KEY_FILE to its file; without a valid one: memd client add",
            )
        return replace(self, agent_id=agent_id)
