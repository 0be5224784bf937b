"""The audit: one row for each transaction that changed something, each hash over the one before.

The digest covers, for each touched row, SHA-256 of the row's salt and its hash:
it proves what a row was, and stops proving anything once ``forget`` has erased
the salt (STORE 7).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

from memd.model.caller import Caller
from memd.store.connect import Reading, Writing

GENESIS = bytes(32)


class Change(NamedTuple):
    """One link of the chain."""

    seq: int
    at_us: int
    client: str
    method: str
    batch: str | None
    rows: int
    digest: bytes
    prev: bytes
    hash: bytes


def touch(conn: Writing, salt: bytes, row_hash: bytes) -> None:
    """Say that this transaction wrote the row with *row_hash*."""
    conn.touched.append(hashlib.sha256(salt + row_hash).digest())


def record(conn: Writing, caller: Caller, now_us: int, batch: str | None) -> None:
    """Add the link of this transaction; nothing when it touched no row."""
    if not conn.touched:
        return
    digest = hashlib.sha256(b"".join(conn.touched)).digest()
    prev, rows = head(conn), len(conn.touched)
    said = (now_us, caller.client, caller.method, batch, rows)
    conn.execute(
        """
        INSERT INTO change (at_us, client, method, batch, rows, digest, prev, hash)
        VALUES (:at_us, :client, :method, :batch, :rows, :digest, :prev, :hash)
        """,
        {
            "at_us": now_us,
            "client": caller.client,
            "method": caller.method,
            "batch": batch,
            "rows": rows,
            "digest": digest,
            "prev": prev,
            "hash": link(prev, said, digest),
        },
    )


def link(prev: bytes, said: tuple[int, str, str, str | None, int], digest: bytes) -> bytes:
    """Return the hash of a link: over the one before it and everything it says.

    *said* is at_us, client, method, batch and rows. Each field goes in behind its
    length, so that no two links are hashed as the same bytes.
    """
    hashing = hashlib.sha256()
    for field in (prev, *map(_field, said), digest):
        hashing.update(len(field).to_bytes(8, "big") + field)
    return hashing.digest()


def _field(value: int | str | None) -> bytes:
    # The sign tells a missing batch from an empty one.
    return b"-" if value is None else f"+{value}".encode()


def head(conn: Reading) -> bytes:
    """Return the last link's hash, the thing to anchor outside the file."""
    found = conn.execute("SELECT hash FROM change ORDER BY seq DESC LIMIT 1").get
    return found if isinstance(found, bytes) else GENESIS


def verify(conn: Reading) -> int | None:
    """Return the first link that does not fit the one before it, None when all do.

    A cut tail is not found here: that needs the anchored head.
    """
    prev = GENESIS
    links: Iterable[tuple[object, ...]] = conn.execute(
        """
        SELECT seq, at_us, client, method, batch, rows, digest, prev, hash
          FROM change
         ORDER BY seq
        """
    )
    for found in map(Change._make, links):
        said = (found.at_us, found.client, found.method, found.batch, found.rows)
        expected = link(prev, said, found.digest)
        if found.prev != prev or found.hash != expected:
            return found.seq
        prev = found.hash
    return None
