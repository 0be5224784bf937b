"""What of a session's kept messages stands before a place: what a nap is not given any more."""

from __future__ import annotations

from typing import NamedTuple

from memd.store.file.connect import Reading


class EarlierRow(NamedTuple):
    """One kept message; *zlib* holds its text."""

    source_key: int
    role: str
    said_at_us: int | None
    zlib: bytes


def before(conn: Reading, session_key: int, ordinal: int, limit: int) -> list[EarlierRow]:
    """Return the last *limit* kept messages before the *ordinal*-th, in order."""
    rows = conn.execute(
        """
        SELECT g.source_key, g.role, g.said_at_us, o.zlib
          FROM session_message AS g
               JOIN source AS o ON o.source_key = g.source_key
         WHERE g.session_key = :session_key AND g.ordinal < :ordinal
         ORDER BY g.ordinal DESC
         LIMIT :limit
        """,
        {"session_key": session_key, "ordinal": ordinal, "limit": limit},
    ).fetchall()
    return [EarlierRow._make(row) for row in reversed(rows)]
