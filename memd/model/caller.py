"""Who calls. The first argument of every room's function (HOUSE 1.3).

A client says what it is (``system.hello``); the daemon decides what it may.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from memd.model.enums import AutonomyLevel, SeniorityLevel
from memd.model.values import DEFAULT_AGENT

LOCAL = "local"


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
    scopes: frozenset[str] = frozenset({"read", "write", "propose", "admin"})
    method: str = "in_process"
    idempotency_key: str | None = None
    request_hash: bytes = b""
    seniority: SeniorityLevel | None = None
    autonomy_level: AutonomyLevel | None = None

    def acting_for(self, agent_id: str) -> Caller:
        """Return the same caller with another agent's memories as its scope."""
        return replace(self, agent_id=agent_id)
