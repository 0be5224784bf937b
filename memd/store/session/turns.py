"""Of which messages a nap's memory was made: its turns, in order. Read by ``memory.why``.

And the turns that are memories themselves, for a nap that tells the same, and what of a
session's messages stands before a place, which a nap is not given any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

from memd.store.file.connect import Reading, Writing
from memd.store.file.keys import keys_array


class TurnRow(NamedTuple):
    """One message behind a memory; *zlib* holds its text, None when it is no longer kept.

    *place* and *role* are those of its first occurrence in the memory's session, None
    for a message of no session.
    """

    place: int | None
    role: str | None
    at_us: int | None
    zlib: bytes | None


def put_turns(conn: Writing, memory_id: str, source_keys: Sequence[int]) -> None:
    """Note the messages that a memory was made of, in their order, in the place of earlier ones."""
    named = {"memory_id": memory_id}
    conn.execute(
        """
        DELETE FROM memory_turn
         WHERE memory_key = (SELECT memory_key FROM memory WHERE memory_id = :memory_id)
        """,
        named,
    )
    conn.executemany(
        """
        INSERT INTO memory_turn (memory_key, ordinal, source_key)
        SELECT memory_key, :ordinal, :source_key FROM memory WHERE memory_id = :memory_id
        """,
        (
            {**named, "ordinal": ordinal, "source_key": key}
            for ordinal, key in enumerate(dict.fromkeys(source_keys))
        ),
    )


def turns_of(conn: Reading, memory_key: int) -> list[TurnRow]:
    """Return the messages that a memory was made of, in order; none for one that no nap made."""
    rows = conn.execute(
        """
        SELECT g.ordinal, g.role, coalesce(g.said_at_us, o.created_at_us), o.zlib
          FROM memory_turn AS t
               JOIN memory AS m ON m.memory_key = t.memory_key
               LEFT JOIN source AS o ON o.source_key = t.source_key
               LEFT JOIN session_message AS g
                    ON g.session_key = m.session_key AND g.source_key = t.source_key
                   AND g.ordinal = (SELECT min(f.ordinal)
                                      FROM session_message AS f
                                     WHERE f.session_key = m.session_key
                                       AND f.source_key = t.source_key)
         WHERE t.memory_key = :memory_key
         ORDER BY t.ordinal
        """,
        {"memory_key": memory_key},
    )
    return [TurnRow._make(row) for row in rows]


def sources_of(conn: Reading, memory_keys: Sequence[int]) -> list[int]:
    """Return the kept messages that these memories were made of, each once."""
    if not memory_keys:
        return []
    rows = conn.execute(
        """
        SELECT DISTINCT source_key
          FROM memory_turn
         WHERE memory_key IN (SELECT value FROM carray(:keys)) AND source_key IS NOT NULL
        """,
        {"keys": keys_array(memory_keys)},
    )
    return [key for (key,) in rows]


def made_by(conn: Reading, memory_key: int) -> tuple[str, str, int] | None:
    """Return id, kind and beginning of the run that made a memory, None for one told by call."""
    row = conn.execute(
        """
        SELECT r.run_id, r.kind, r.started_at_us
          FROM run AS r
         WHERE r.run_id = (SELECT batch FROM memory WHERE memory_key = :memory_key)
            OR r.run_key = (SELECT run_key
                              FROM run_change
                             WHERE memory_key = :memory_key AND what = 'made')
        """,
        {"memory_key": memory_key},
    ).fetchone()
    return cast("tuple[str, str, int] | None", row)


def of_assistants(conn: Reading, session_key: int, limit: int) -> list[tuple[int, str]]:
    """Return key and text of the last *limit* visible turns that an assistant said in a session.

    Only those that arrived as text and were never changed: no nap's, no summary, nothing
    that was stored as it is.
    """
    rows = conn.execute(
        """
        SELECT m.memory_key, m.content
          FROM memory AS m
         WHERE m.session_key = :session_key AND m.origin = 'assistant'
           AND m.state IN ('active', 'pending') AND m.ordinal IS NOT NULL
           AND NOT m.is_summary AND NOT m.as_is
           AND NOT EXISTS (SELECT 1 FROM memory_version AS v WHERE v.memory_key = m.memory_key)
           AND NOT EXISTS (SELECT 1 FROM run AS r WHERE r.run_id = m.batch AND r.kind = 'nap')
         ORDER BY m.ordinal DESC, m.part DESC, m.memory_key DESC
         LIMIT :limit
        """,
        {"session_key": session_key, "limit": limit},
    )
    return [(key, content) for key, content in rows]


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
