"""The owner's signature over a fact, kept with what was signed, so that it is verified again.

Kept is the signature and, behind it, the statement it is over (``org/signature.py``), which
holds the nonce and the text's hash. A fact whose statement no key of the owner's signed, or
says something else than the row, is withheld (intact.py). A signature without a statement
proves nothing any more: of a fact that was signed before statements were kept, and of one
whose text was changed before it was written (a secret in it).
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Sequence
from typing import NamedTuple, cast

import apsw

from memd.store.file.connect import Reading

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
    found = conn.execute("SELECT public_key FROM owner_key ORDER BY owner_key DESC")
    return tuple(cast("bytes", key) for (key,) in found)


def holds(keys: Sequence[bytes], proof: apsw.SQLiteValue, row: Signed) -> bool:
    """Return whether the owner signed *row*; True where there is nothing to verify."""
    if not isinstance(proof, bytes) or len(proof) <= SIGNATURE_BYTES:
        return True
    return _says(proof[SIGNATURE_BYTES:], row) and any(_verified(key, proof) for key in keys)


def _says(statement: bytes, row: Signed) -> bool:
    if not statement.startswith(HEAD):
        return False
    try:
        said = json.loads(statement[len(HEAD) :])
        tags = sorted(said.get("tags", ()))
        is_alike = tags == sorted(json.loads(row.tags)) or row.content is None
    except (ValueError, TypeError, AttributeError):
        return False
    body = None if row.content is None else hashlib.sha256(row.content.encode()).hexdigest()
    return (
        is_alike
        and said.get("kind") == row.kind
        and said.get("id") in (None, row.fact_id)
        and said.get("category") in (None, row.category)
        and said.get("body") == body
        and said.get("valid_from_us") == row.valid_from_us
        and said.get("valid_to_us") == row.valid_to_us
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
