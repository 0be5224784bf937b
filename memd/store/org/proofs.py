"""The owner's signature over a fact, kept with what was signed, so that it is verified again.

Kept is the signature and, behind it, the statement it is over (``org/signature.py``), which
holds the nonce and the text's hash. A fact whose statement no key of the owner's signed, or
says something else than the row, is withheld (intact.py). A signature without a statement
proves nothing any more: of a fact that was signed before statements were kept, and of one
whose text was changed before it was written (a secret in it).

The owner's public keys are here, too, with the name of this store and where the owner had
the last word.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Sequence
from typing import NamedTuple, cast

import apsw

from memd.store.access import changes
from memd.store.file.connect import Reading, Writing

HEAD = b"memd owner's word 1\n"
SIGNATURE_BYTES = 64  # of Ed25519


class Signed(NamedTuple):
    """What a row says of what its signature is over."""

    fact_id: str
    kind: str
    category: str
    content: str | None
    tags: str
    valid_from_us: int | None
    valid_to_us: int | None


def fitting(proof: bytes | None, row: Signed) -> bytes | None:
    """Return what is kept of *proof* with *row*: its statement only where it says the same."""
    if proof is None or len(proof) <= SIGNATURE_BYTES or _says(proof[SIGNATURE_BYTES:], row):
        return proof
    return proof[:SIGNATURE_BYTES]


def keys(conn: Reading) -> tuple[bytes, ...]:
    """Return every public key that is or was the owner's."""
    rows = conn.execute("SELECT public_key FROM owner_key ORDER BY owner_key DESC")
    return tuple(cast("bytes", key) for (key,) in rows)


def holds(keys: Sequence[bytes], proof: apsw.SQLiteValue, row: Signed) -> bool:
    """Return whether the owner signed *row*; True where there is nothing to verify."""
    if not isinstance(proof, bytes) or len(proof) <= SIGNATURE_BYTES:
        return True
    return _says(proof[SIGNATURE_BYTES:], row) and any(_verified(key, proof) for key in keys)


def _says(statement: bytes, row: Signed) -> bool:
    if not statement.startswith(HEAD):
        return False
    try:
        payload = json.loads(statement[len(HEAD) :])
        tags = sorted(payload.get("tags", ()))
        is_alike = tags == sorted(json.loads(row.tags)) or row.content is None
    except (ValueError, TypeError, AttributeError):
        return False
    body = None if row.content is None else hashlib.sha256(row.content.encode()).hexdigest()
    return (
        is_alike
        and payload.get("kind") == row.kind
        and payload.get("id") in (None, row.fact_id)
        and payload.get("category") in (None, row.category)
        and payload.get("body") == body
        and payload.get("valid_from_us") == row.valid_from_us
        and payload.get("valid_to_us") == row.valid_to_us
    )


@functools.lru_cache(maxsize=4_096)
def _verified(key: bytes, proof: bytes) -> bool:
    # 14 ms and 11 MB that nobody pays who never signs.
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        public = Ed25519PublicKey.from_public_bytes(key)
        public.verify(proof[:SIGNATURE_BYTES], proof[SIGNATURE_BYTES:])
    except (InvalidSignature, ValueError):
        return False
    return True


def current(conn: Reading) -> bytes | None:
    """Return the public key whose signature is the owner's word, None before there is one."""
    public_key = conn.execute(
        "SELECT public_key FROM owner_key WHERE revoked_at_us IS NULL ORDER BY owner_key DESC"
    ).get
    return public_key if isinstance(public_key, bytes) else None


def put(conn: Writing, public_key: bytes, now_us: int) -> None:
    """Make *public_key* the owner's; the one before is the owner's no longer."""
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
    """Return the name of this store, None before anybody asked for it."""
    value = conn.execute("SELECT value FROM meta WHERE key = 'store_id'").get
    return value if isinstance(value, bytes) else None


def make_store_id(conn: Writing) -> bytes:
    """Return the name of this store; made when it is asked for first."""
    conn.execute(
        """
        INSERT INTO meta (key, value)
        VALUES ('store_id', randomblob(16))
            ON CONFLICT (key) DO NOTHING
        """
    )
    made = store_id(conn)
    assert made is not None
    return made


def spoke_last(conn: Reading, fact_id: str) -> bool:
    """Return whether a human wrote, or retracted, the fact as it is now."""
    is_human = conn.execute(
        """
        SELECT o.is_human
          FROM org_fact AS f
               JOIN org_operation AS o ON o.operation_key = f.operation_key
         WHERE f.fact_id = :fact_id
        """,
        {"fact_id": fact_id},
    ).get
    return bool(is_human)
