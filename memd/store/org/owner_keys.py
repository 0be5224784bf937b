"""The owner's public keys, the name of this store, and where the owner had the last word."""

from __future__ import annotations

from memd.store.access import changes
from memd.store.file.connect import Reading, Writing


def current(conn: Reading) -> bytes | None:
    """Return the public key whose signature is the owner's word, None before there is one."""
    found = conn.execute(
        "SELECT public_key FROM owner_key WHERE revoked_at_us IS NULL ORDER BY owner_key DESC"
    ).get
    return found if isinstance(found, bytes) else None


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
    found = conn.execute("SELECT value FROM meta WHERE key = 'store_id'").get
    return found if isinstance(found, bytes) else None


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
    found = conn.execute(
        """
        SELECT o.is_human
          FROM org_fact AS f
               JOIN org_operation AS o ON o.operation_key = f.operation_key
         WHERE f.fact_id = :fact_id
        """,
        {"fact_id": fact_id},
    ).get
    return bool(found)
