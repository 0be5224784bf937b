"""The audit: one row for each transaction that changed something, each hash over the one before.

The digest covers, for each touched row, SHA-256 of the row's salt and its hash:
it proves what a row was, and stops proving anything once ``forget`` has erased
the salt. What was refused is a row too: of no rows, with how often.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple, cast

from memd.domain.caller import Caller
from memd.domain.enums import Outcome
from memd.store.file.connect import Reading, Writing

GENESIS = bytes(32)
_NOTHING = hashlib.sha256(b"").digest()

LinkContent = tuple[int | str | None, ...]
"""What a link says: at_us, client, method, outcome, attempts, batch, rows."""


class AuditLink(NamedTuple):
    """One link of the chain."""

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
    """The last link: the thing to note outside the file."""

    seq: int
    hash: bytes


class RefusedAttempt(NamedTuple):
    """What a client tried in vain, and how often."""

    client: str
    method: str
    attempts: int


class AuditFilter(NamedTuple):
    """Which links to show: all of *client*, *method*, *outcome* that are given."""

    client: str | None = None
    method: str | None = None
    outcome: str | None = None


def touch(conn: Writing, salt: bytes, row_hash: bytes) -> None:
    """Say that this transaction wrote the row with *row_hash*."""
    conn.touched.append(hashlib.sha256(salt + row_hash).digest())


def record(conn: Writing, caller: Caller, now_us: int, batch: str | None) -> None:
    """Add the link of this transaction; nothing when it touched no row."""
    if not conn.touched:
        return
    digest = hashlib.sha256(b"".join(conn.touched)).digest()
    rows = len(conn.touched)
    content = (now_us, caller.client, caller.method, Outcome.DONE.value, 1, batch, rows)
    _append(conn, content, digest)


def refused(conn: Writing, attempts: Iterable[RefusedAttempt], now_us: int) -> None:
    """Add a link for each kind of attempt that was refused."""
    for client, method, times in attempts:
        _append(conn, (now_us, client, method, Outcome.DENIED.value, times, None, 0), _NOTHING)


def _append(conn: Writing, content: LinkContent, digest: bytes) -> None:
    prev = head(conn)
    conn.execute(
        """
        INSERT INTO change (at_us, client, method, outcome, attempts, batch, rows,
                            digest, prev, hash)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (*content, digest, prev, link(prev, content, digest)),
    )


def link(prev: bytes, content: LinkContent, digest: bytes) -> bytes:
    """Return the hash of a link: over the one before it and everything it says.

    Each field goes in behind its length, so that no two links are hashed as the
    same bytes.
    """
    hashing = hashlib.sha256()
    for field in (prev, *map(_field, content), digest):
        hashing.update(len(field).to_bytes(8, "big") + field)
    return hashing.digest()


def _field(value: int | str | None) -> bytes:
    # The sign tells a missing batch from an empty one.
    return b"-" if value is None else f"+{value}".encode()


def head(conn: Reading) -> bytes:
    """Return the last link's hash, of an empty chain the genesis."""
    return last(conn).hash


def last(conn: Reading) -> Head:
    """Return the last link, of an empty chain number 0."""
    row = conn.execute("SELECT seq, hash FROM change ORDER BY seq DESC LIMIT 1").fetchone()
    return Head(0, GENESIS) if row is None else Head._make(cast("tuple[int, bytes]", row))


def hash_at(conn: Reading, seq: int) -> bytes | None:
    """Return the hash of the link *seq*, None when there is none."""
    if seq == 0:
        return GENESIS
    value = conn.execute("SELECT hash FROM change WHERE seq = :seq", {"seq": seq}).get
    return value if isinstance(value, bytes) else None


def ever(conn: Reading) -> int:
    """Return how many links SQLite has ever numbered, whoever removed some since."""
    value = conn.execute("SELECT seq FROM sqlite_sequence WHERE name = 'change'").get
    return value if isinstance(value, int) else 0


def page(conn: Reading, filters: AuditFilter, after: int | None, limit: int) -> Sequence[AuditLink]:
    """Return links, newest first, those before *after*."""
    rows = conn.execute(
        """
        SELECT seq, at_us, client, method, outcome, attempts, batch, rows, digest, prev, hash
          FROM change
         WHERE (:after IS NULL OR seq < :after)
           AND (:client IS NULL OR client = :client)
           AND (:method IS NULL OR method = :method)
           AND (:outcome IS NULL OR outcome = :outcome)
         ORDER BY seq DESC
         LIMIT :limit
        """,
        {"after": after, "limit": limit, **filters._asdict()},
    )
    return [AuditLink._make(cast("Iterable[object]", row)) for row in rows]


def verify(conn: Reading) -> int | None:
    """Return the first link that does not fit the one before it, None when all do.

    A link that is missing is named by the next one. A cut tail is not found here:
    that needs the head as it was noted elsewhere.
    """
    prev, seq = GENESIS, 0
    links: Iterable[tuple[object, ...]] = conn.execute(
        """
        SELECT seq, at_us, client, method, outcome, attempts, batch, rows, digest, prev, hash
          FROM change
         ORDER BY seq
        """
    )
    for one in map(AuditLink._make, links):
        expected = link(prev, one.content, one.digest)
        if one.seq != seq + 1 or one.prev != prev or one.hash != expected:
            return one.seq
        prev, seq = one.hash, one.seq
    return None
