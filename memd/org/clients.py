"""Create, identify and revoke client keys (SPEC D14).

The daemon creates a key, writes it to a file for the owner to pass on, and stores only a hash. All
clients are also cached in memory, so that identifying a caller needs no read. The daemon is the
only writer of the table, so the cache is never stale.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from memd.base import client_key
from memd.base.clock import Clock, from_us
from memd.base.errors import (
    DeniedError,
    InvalidError,
    InvalidStateError,
    NotFoundError,
    QuotaError,
)
from memd.base.finish import finish
from memd.base.ids import Chance
from memd.base.limits import CLIENTS_MAX
from memd.domain.caller import RESERVED_CLIENTS, Caller, Identity, Scope
from memd.domain.enums import AutonomyLevel, SeniorityLevel
from memd.domain.org.access import AddedClient, KeyedClient
from memd.domain.values import DEFAULT_AGENT, RESERVED_AGENT, alike
from memd.store.access import clients
from memd.store.access.clients import ClientRow
from memd.store.file.connect import Reading, Writing
from memd.store.file.database import Database

OnRevoke = Callable[[str], None]
"""Called with the name of a client whose key was revoked."""


@dataclass
class Clients:
    """Creates, identifies and revokes client keys; call :meth:`load` first."""

    db: Database
    clock: Clock
    keys_dir: Path
    chance: Chance = secrets.token_bytes
    _secret: bytes | None = None
    _clients: dict[bytes, KeyedClient] = field(default_factory=dict)
    _agents: frozenset[str] = frozenset()
    _loading: asyncio.Lock = field(default_factory=asyncio.Lock)
    on_revoke: OnRevoke | None = None

    async def load(self) -> None:
        """Read all clients into the cache; loads run one at a time, so an older one never wins."""

        def work(conn: Reading) -> tuple[bytes | None, list[ClientRow]]:
            return clients.secret(conn), clients.list_clients(conn)

        async with self._loading:
            self._secret, rows = await self.db.read(work)
            self._clients = {row.key_hash: row.client for row in rows}
            agents = {alike(row.client.agent_id) for row in rows if row.client.agent_id}
            self._agents = frozenset(agents - {DEFAULT_AGENT})

    def identify(self, key: str) -> Identity | None:
        """Return the client with *key*, without scopes if revoked; None for an unknown key."""
        if self._secret is None:
            return None
        credentials = self._clients.get(clients.hash_key(self._secret, key))
        if credentials is None:
            return None
        return Identity(
            client=credentials.name,
            agent_id=credentials.agent_id,
            scopes=credentials.scopes if credentials.revoked_at is None else frozenset(),
            seniority=credentials.seniority,
            autonomy_level=credentials.autonomy_level,
        )

    def agents(self) -> frozenset[str]:
        """Return the agents of all keys, also revoked ones, without the default agent.

        Names are normalised with ``alike``.
        """
        return self._agents

    async def add(
        self,
        caller: Caller,
        name: str,
        *,
        agent_id: str | None = None,
        seniority: SeniorityLevel | None = None,
        autonomy_level: AutonomyLevel | None = None,
        scopes: frozenset[Scope],
    ) -> AddedClient:
        """Create a key for the client *name* and write it to a 0600 file below *keys_dir*.

        The key is valid once this returns. Raises InvalidError for a reserved name,
        InvalidStateError when the client has a key, QuotaError.
        """
        if name in RESERVED_CLIENTS:
            raise InvalidError(f"{name} is not a client's name", field="name")
        if agent_id is not None and alike(agent_id) == RESERVED_AGENT:
            raise DeniedError(f"agent {RESERVED_AGENT} is reserved", field="agent_id")
        now_us = self.clock.now_us()
        client = KeyedClient(
            name=name,
            agent_id=agent_id,
            seniority=seniority,
            autonomy_level=autonomy_level,
            scopes=scopes,
            created_at=from_us(now_us),
        )
        place = self.keys_dir / f"{name}.key"

        def work(conn: Writing) -> AddedClient:
            _check_room(conn, name)
            key = client_key.generate(self.chance)
            # Before the commit: a key file without its row in the database gives no access.
            client_key.write(place, key)
            secret = clients.make_secret(conn)
            clients.put(conn, client, clients.hash_key(secret, key))
            return AddedClient(client=client, key_file=str(place))

        async def change() -> AddedClient:
            added = await self.db.write(caller, work, reply=AddedClient)
            await self.load()
            return added

        return await finish(change)

    async def list(self) -> tuple[KeyedClient, ...]:
        """Return every client that has or had a key, by name."""
        return tuple(row.client for row in await self.db.read(clients.list_clients))

    async def revoke(self, caller: Caller, name: str) -> KeyedClient:
        """Revoke the key of client *name*, also for its open connections, and remove its file.

        All steps are done even if the call is cancelled meanwhile. Raises NotFoundError when the
        client has no key.
        """
        now_us = self.clock.now_us()

        def work(conn: Writing) -> KeyedClient:
            if not clients.revoke(conn, name, now_us):
                raise NotFoundError(f"no client {name} has a key", field="name")
            return next(row.client for row in clients.list_clients(conn) if row.client.name == name)

        async def change() -> KeyedClient:
            revoked = await self.db.write(caller, work, reply=KeyedClient)
            await self.load()
            if self.on_revoke is not None:
                self.on_revoke(name)
            (self.keys_dir / f"{name}.key").unlink(missing_ok=True)
            return revoked

        return await finish(change)


def _check_room(conn: Writing, name: str) -> None:
    existing = [row.client for row in clients.list_clients(conn)]
    if any(client.name == name and client.revoked_at is None for client in existing):
        raise InvalidStateError(
            f"client {name} has a key already", hint=f"memd client revoke {name}"
        )
    if len(existing) >= CLIENTS_MAX:
        raise QuotaError(f"memd knows {CLIENTS_MAX} clients at most")
