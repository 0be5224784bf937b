"""Store and verify the owner's signatures of facts, and the owner's public keys.

A proof is the signature followed by the statement that it signs (``org/signature.py``), which
contains a nonce and the hash of the text. A fact whose statement was not signed by one of the
owner's keys, or differs from the row, is withheld (integrity.py). A signature without its statement
cannot be verified: facts that were signed before statements were stored have such ones, and facts
whose text was changed before it was written (because it contained a secret).

Also reads the id of this store, and whether a human wrote the last version of a fact.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Sequence
from typing import NamedTuple

import apsw

from memd.store.access import changes
from memd.store.file.connect import Reading, Writing

HEAD = b"memd owner's word 1\n"
SIGNATURE_BYTES = 64  # of Ed25519
_STORE_ID = "store_id"


class SignedColumns(NamedTuple):
    """The columns of a row that its signature covers."""

    fact_id: str
    kind: str
    category: str
    content: str | None
    tags: str
    valid_from_us: int | None
    valid_to_us: int | None


def trim_proof(proof: bytes | None, row: SignedColumns) -> bytes | None:
    """Return *proof*, without its statement if that differs from *row*, for storing with *row*."""
    if proof is None or len(proof) <= SIGNATURE_BYTES or _agrees(proof[SIGNATURE_BYTES:], row):
        return proof
    return proof[:SIGNATURE_BYTES]


def owner_keys(conn: Reading) -> tuple[bytes, ...]:
    """Return all public keys of the owner, including revoked ones, the newest first."""
    rows = conn.execute("SELECT public_key FROM owner_key ORDER BY owner_key DESC")
    return tuple(key for (key,) in rows)


def is_valid(public_keys: Sequence[bytes], proof: apsw.SQLiteValue, row: SignedColumns) -> bool:
    """Return whether one of *public_keys* signed *row*; True for a proof without a statement."""
    if not isinstance(proof, bytes) or len(proof) <= SIGNATURE_BYTES:
        return True
    signature, statement = proof[:SIGNATURE_BYTES], proof[SIGNATURE_BYTES:]
    return _agrees(statement, row) and any(
        is_signed(key, signature, statement) for key in public_keys
    )


def _agrees(statement: bytes, row: SignedColumns) -> bool:
    if not statement.startswith(HEAD):
        return False
    try:
        payload = json.loads(statement[len(HEAD) :])
        tags = sorted(payload.get("tags", ()))
        has_same_tags = tags == sorted(json.loads(row.tags)) or row.content is None
    except (ValueError, TypeError, AttributeError):
        return False
    body = None if row.content is None else hashlib.sha256(row.content.encode()).hexdigest()
    return (
        has_same_tags
        and payload.get("kind") == row.kind
        and payload.get("id") in (None, row.fact_id)
        and payload.get("category") in (None, row.category)
        and payload.get("body") == body
        and payload.get("valid_from_us") == row.valid_from_us
        and payload.get("valid_to_us") == row.valid_to_us
    )


@functools.lru_cache(maxsize=4_096)
def is_signed(key: bytes, signature: bytes, message: bytes) -> bool:
    # Imported here, since it takes 14 ms and 11 MB, which only signed facts need.
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def current_key(conn: Reading) -> bytes | None:
    """Return the owner's current public key, None before the first."""
    return conn.get_bytes(
        "SELECT public_key FROM owner_key WHERE revoked_at_us IS NULL ORDER BY owner_key DESC"
    )


def set_key(conn: Writing, public_key: bytes, now_us: int) -> None:
    """Make *public_key* the owner's and revoke the previous one."""
    conn.execute(
        "UPDATE owner_key SET revoked_at_us = :now_us WHERE revoked_at_us IS NULL",
        {"now_us": now_us},
    )
    conn.execute(
        """
        INSERT INTO owner_key (public_key, created_at_us)
        VALUES (:public_key, :now_us)
            ON CONFLICT (public_key) DO UPDATE SET revoked_at_us = NULL
        """,
        {"public_key": public_key, "now_us": now_us},
    )
    changes.touch(conn, b"owner key", public_key)


def store_id(conn: Reading) -> bytes | None:
    """Return the id of this store, None before it was created."""
    return conn.get_meta(_STORE_ID, bytes)


def make_store_id(conn: Writing) -> bytes:
    """Return the id of this store, creating it on first use."""
    return conn.ensure_secret(_STORE_ID, 16)


def is_by_human(conn: Reading, fact_id: str) -> bool:
    """Return whether the last operation on the fact was a human's."""
    return conn.exists(
        """
        SELECT o.is_human
          FROM org_fact AS f
               JOIN org_operation AS o ON o.operation_key = f.operation_key
         WHERE f.fact_id = :fact_id
        """,
        {"fact_id": fact_id},
    )
