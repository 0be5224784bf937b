"""Write and verify the audit: a chain of links, one for each transaction that changed rows.

The hash of a link covers the hash of the link before. Its digest covers, for each touched row,
SHA-256 of the row's salt and hash: it proves what the row was, until ``forget`` erases the salt.
Refused attempts are links as well, with their number and without touched rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

import apsw

from memd.domain.caller import Caller
from memd.domain.enums import Outcome
from memd.store.file.connect import Reading, Writing

GENESIS = bytes(32)
_NOTHING = hashlib.sha256(b"").digest()

LinkContent = tuple[int | str | None, ...]
"""The content of a link: at_us, client, method, outcome, attempts, batch, rows."""


class AuditLink(NamedTuple):
    """One link of the chain; *rows* is the number of touched rows."""

    seq: int
    at_us: int
    client: str
    method: str
    outcome: str
    attempts: int
    batch: str | None
    rows: int
    digest: bytes
    prev: bytes
    hash: bytes

    @property
    def content(self) -> LinkContent:
        return self[1:8]


class Head(NamedTuple):
    """The last link, to be recorded outside the file."""

    seq: int
    hash: bytes


class RefusedAttempt(NamedTuple):
    """Refused calls of a method by a client, and their number."""

    client: str
    method: str
    attempts: int


class AuditFilter(NamedTuple):
    """Conditions on links; None sets none."""

    client: str | None = None
    method: str | None = None
    outcome: str | None = None


def touch(conn: Writing, salt: bytes, row_hash: bytes) -> None:
    """Record that this transaction wrote the row with *row_hash*."""
    conn.touched.append(hashlib.sha256(salt + row_hash).digest())


def touch_all(conn: Writing, rows: apsw.Cursor) -> None:
    """Record the salt and hash of each of *rows*."""
    for salt, row_hash in list(rows):
        touch(conn, salt, row_hash)


def record(conn: Writing, caller: Caller, now_us: int, batch: str | None) -> None:
    """Append the link of this transaction, unless it touched no row."""
    if not conn.touched:
        return
    digest = hashlib.sha256(b"".join(conn.touched)).digest()
    rows = len(conn.touched)
    content = (now_us, caller.client, caller.method, Outcome.DONE.value, 1, batch, rows)
    _append(conn, content, digest)


def record_refused(conn: Writing, attempts: Iterable[RefusedAttempt], now_us: int) -> None:
    for client, method, times in attempts:
        _append(conn, (now_us, client, method, Outcome.DENIED.value, times, None, 0), _NOTHING)


def _append(conn: Writing, content: LinkContent, digest: bytes) -> None:
    prev = last_link(conn).hash
    conn.execute(
        """
        INSERT INTO change (at_us, client, method, outcome, attempts, batch, rows,
                            digest, prev, hash)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (*content, digest, prev, hash_link(prev, content, digest)),
    )


def hash_link(prev: bytes, content: LinkContent, digest: bytes) -> bytes:
    """Return the hash of a link, over the previous hash and all its content.

    Each field is preceded by its length, so that no two links are hashed as the same bytes.
    """
    # The sign distinguishes a missing batch from an empty one.
    fields = [b"-" if value is None else f"+{value}".encode() for value in content]
    hashing = hashlib.sha256()
    for field in (prev, *fields, digest):
        hashing.update(len(field).to_bytes(8, "big") + field)
    return hashing.digest()


def last_link(conn: Reading) -> Head:
    """Return the head of the chain; for an empty chain number 0 and GENESIS."""
    row = conn.execute("SELECT seq, hash FROM change ORDER BY seq DESC LIMIT 1").fetchone()
    return Head(0, GENESIS) if row is None else Head._make(row)


def hash_at(conn: Reading, seq: int) -> bytes | None:
    """Return the hash of the link *seq*, GENESIS for 0, None when there is none."""
    if seq == 0:
        return GENESIS
    return conn.get_bytes("SELECT hash FROM change WHERE seq = :seq", {"seq": seq})


def count_ever(conn: Reading) -> int:
    """Return how many links SQLite has ever numbered, including removed ones."""
    return conn.get_int("SELECT seq FROM sqlite_sequence WHERE name = 'change'") or 0


def list_page(
    conn: Reading, filters: AuditFilter, after: int | None, limit: int
) -> list[AuditLink]:
    """Return up to *limit* links with numbers below *after*, newest first."""
    return conn.list_rows(
        AuditLink,
        f"""
        {_LINKS}
         WHERE (:after IS NULL OR seq < :after)
           AND (:client IS NULL OR client = :client)
           AND (:method IS NULL OR method = :method)
           AND (:outcome IS NULL OR outcome = :outcome)
         ORDER BY seq DESC
         LIMIT :limit
        """,
        {"after": after, "limit": limit, **filters._asdict()},
    )


_LINKS = """
        SELECT seq, at_us, client, method, outcome, attempts, batch, rows, digest, prev, hash
          FROM change
"""


def verify(conn: Reading) -> int | None:
    """Return the first link that does not follow from the one before it, None when all do.

    For a missing link, the next one is returned. Missing links at the end are not detected: that
    needs a head that was recorded elsewhere.
    """
    prev, seq = GENESIS, 0
    for audit_link in map(AuditLink._make, conn.execute(f"{_LINKS} ORDER BY seq")):
        expected = hash_link(prev, audit_link.content, audit_link.digest)
        if audit_link.seq != seq + 1 or audit_link.prev != prev or audit_link.hash != expected:
            return audit_link.seq
        prev, seq = audit_link.hash, audit_link.seq
    return None
