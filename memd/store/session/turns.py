"""Store and read the turns of a nap's memory: the messages that it was made of, in order.

``memory.why`` returns them. Also lists turns that are memories themselves, for a nap to compare
with.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from memd.store.check import integrity
from memd.store.file.connect import Reading, Writing, keys_array


class TurnRow(NamedTuple):
    """A message that a memory was made of; everything is None if it was deleted.

    *text* is also None if it is damaged. *place* (its ordinal) and *role* are those of its first
    occurrence in the memory's session, None if the session does not have it.
    """

    place: int | None
    role: str | None
    at_us: int | None
    text: str | None


def set_turns(conn: Writing, memory_id: str, source_keys: Sequence[int]) -> None:
    """Replace the messages that a memory was made of, in their order."""
    params = {"memory_id": memory_id}
    conn.execute(
        """
        DELETE FROM memory_turn
         WHERE memory_key = (SELECT memory_key FROM memory WHERE memory_id = :memory_id)
        """,
        params,
    )
    conn.executemany(
        """
        INSERT INTO memory_turn (memory_key, ordinal, source_key)
        SELECT memory_key, :ordinal, :source_key FROM memory WHERE memory_id = :memory_id
        """,
        (
            {**params, "ordinal": ordinal, "source_key": key}
            for ordinal, key in enumerate(dict.fromkeys(source_keys))
        ),
    )


def turns_of(conn: Reading, memory_key: int) -> list[TurnRow]:
    """Return the messages that a memory was made of, in order; empty unless a nap made it."""
    rows = conn.execute(
        """
        SELECT g.ordinal, g.role, coalesce(g.said_at_us, o.created_at_us),
               o.source_key, o.zlib, o.sha256
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
    return [
        TurnRow(
            place,
            role,
            at_us,
            None if key is None else integrity.read_source(conn, key, packed, sha256),
        )
        for place, role, at_us, key, packed, sha256 in rows
    ]


def sources_of(conn: Reading, memory_keys: Sequence[int]) -> list[int]:
    """Return the stored messages that these memories were made of, each once."""
    if not memory_keys:
        return []
    return conn.list_ints(
        """
        SELECT DISTINCT source_key
          FROM memory_turn
         WHERE memory_key IN (SELECT value FROM carray(:keys)) AND source_key IS NOT NULL
        """,
        {"keys": keys_array(memory_keys)},
    )


def find_run(conn: Reading, memory_key: int) -> tuple[str, str, int] | None:
    """Return id, kind and start of the run that made a memory, None if no run did."""
    return conn.execute(
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


def find_client(conn: Reading, memory_key: int) -> str | None:
    """Return the id of the client that stored a memory, None when it is not known."""
    row = conn.execute(
        """
        SELECT c.client_id
          FROM memory AS m
               JOIN client AS c ON c.client_key = m.client_key
         WHERE m.memory_key = :memory_key
        """,
        {"memory_key": memory_key},
    ).fetchone()
    return None if row is None else row[0]


def list_assistant_turns(conn: Reading, session_key: int, limit: int) -> list[tuple[int, str]]:
    """Return key and text of the last *limit* visible turns of an assistant in a session.

    Only intact turns that were ingested and never changed; no summaries, no memories of naps or of
    ``memory.store``.
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
    turns: list[Any] = list(integrity.skip_undecodable(conn, rows, "memory"))
    keys = frozenset(integrity.memories(conn, [key for key, _ in turns]))
    return [(key, content) for key, content in turns if key in keys]


def list_replies(conn: Reading, keys: Sequence[int]) -> list[tuple[int, str]]:
    """Return the key of each turn among *keys* that a person's turn follows, with that one's text.

    Only turns that can be recalled count. The text is that of its first part.
    """
    rows = conn.execute(
        """
        SELECT m.memory_key, n.content
          FROM memory AS m
               JOIN memory AS n ON n.memory_key = (
                   SELECT o.memory_key
                     FROM memory AS o
                    WHERE o.session_key = m.session_key AND o.ordinal > m.ordinal
                      AND o.state IN ('active', 'pending') AND NOT o.is_summary
                    ORDER BY o.ordinal, o.part LIMIT 1)
         WHERE m.memory_key IN (SELECT value FROM carray(:keys)) AND n.origin = 'person'
        """,
        {"keys": keys_array(keys)},
    )
    replies: list[Any] = list(integrity.skip_undecodable(conn, rows, "memory"))
    return replies
