"""Store clients with a hash of their keys, never the keys themselves (SPEC D14).

A key is 32 random bytes, which cannot be guessed, so a single keyed hash is enough. Its secret
belongs to the file, so that nobody can tell whether two files have the same key.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import NamedTuple, cast

from memd.base.clock import from_us, to_us
from memd.domain.caller import Scope
from memd.domain.enums import AutonomyLevel, SeniorityLevel
from memd.domain.org.access import KeyedClient
from memd.store.access import changes, names
from memd.store.check import integrity
from memd.store.file.connect import Reading, Writing

_META_KEY = "client_secret"


class ClientRow(NamedTuple):
    """A client that has or had a key, and the hash of the key."""

    key_hash: bytes
    client: KeyedClient


def list_clients(conn: Reading) -> list[ClientRow]:
    """Return every client that has or had a key, by name.

    A client whose row is damaged is left out, so it has no rights.
    """
    rows = conn.execute(
        f"""
        SELECT c.key_hash, c.client_id, a.agent_id, c.seniority, c.autonomy_level, c.scopes,
               c.created_at_us, c.revoked_at_us, {integrity.CLIENT.select("c")}
          FROM client AS c
               LEFT JOIN agent AS a ON a.agent_key = c.agent_key
         WHERE c.key_hash IS NOT NULL
         ORDER BY c.client_id
        """  # noqa: S608  # constants of the store
    )
    return [
        _row(columns) for columns in integrity.list_sealed(conn, _Columns, rows, integrity.CLIENT)
    ]


class _Columns(NamedTuple):
    key_hash: bytes
    name: str
    agent_id: str | None
    seniority: str | None
    autonomy_level: str | None
    scopes: str
    created_at_us: int
    revoked_at_us: int | None


def _row(columns: _Columns) -> ClientRow:
    key_hash, name, agent_id, seniority, autonomy, scopes, created_us, revoked_us = columns
    client = KeyedClient(
        name=name,
        agent_id=agent_id,
        seniority=None if seniority is None else SeniorityLevel(seniority),
        autonomy_level=None if autonomy is None else AutonomyLevel(autonomy),
        scopes=frozenset(cast("list[Scope]", json.loads(scopes))),
        created_at=from_us(created_us),
        revoked_at=from_us(revoked_us),
    )
    return ClientRow(key_hash, client)


def put(conn: Writing, client: KeyedClient, key_hash: bytes) -> None:
    """Give *client* a key, which replaces an earlier key of the same name."""
    created_us = to_us(client.created_at)
    agent_key = (
        None if client.agent_id is None else names.ensure_agent(conn, client.agent_id, created_us)
    )
    row = {
        "client_id": client.name,
        "agent_key": agent_key,
        "key_hash": key_hash,
        "seniority": client.seniority and client.seniority.value,
        "autonomy_level": client.autonomy_level and client.autonomy_level.value,
        "scopes": json.dumps(sorted(client.scopes)),
        "created_at_us": created_us,
        "revoked_at_us": to_us(client.revoked_at),
    }
    conn.put("client", row, "client_id")
    changes.touch(conn, key_hash, json.dumps(row, default=bytes.hex, sort_keys=True).encode())


def revoke(conn: Writing, name: str, now_us: int) -> bool:
    """Revoke the key of client *name*; returns whether it had a valid one."""
    value = conn.get_bytes(
        """
        UPDATE client
           SET revoked_at_us = :now_us
         WHERE client_id = :name
           AND key_hash IS NOT NULL
           AND revoked_at_us IS NULL
     RETURNING key_hash
        """,
        {"name": name, "now_us": now_us},
    )
    if value is None:
        return False
    changes.touch(conn, value, f"revoked {name} {now_us}".encode())
    return True


def secret(conn: Reading) -> bytes | None:
    """Return the secret that keys are hashed with, None before the first key."""
    return conn.get_meta(_META_KEY, bytes)


def make_secret(conn: Writing) -> bytes:
    """Return the secret, creating it with the first key."""
    return conn.ensure_secret(_META_KEY)


def hash_key(secret_key: bytes, key: str) -> bytes:
    """Return the hash of *key* that the file stores, under *secret_key*."""
    return hmac.digest(secret_key, key.encode("utf-8", "surrogatepass"), hashlib.sha256)
