"""Store, list and delete the messages of sessions that naps read (SPEC 1.8).

Old messages are deleted; the memories made of them stay.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from memd.store.access import changes
from memd.store.check import integrity
from memd.store.file.connect import Reading, Writing, keys_array
from memd.store.memory import sources
from memd.store.session import message_index
from memd.store.session.sessions import SessionSpan


class MessageRow(NamedTuple):
    """A stored message, whose *text* is None if it is damaged; it was stored at *kept_at_us*."""

    source_key: int
    ordinal: int
    role: str
    said_at_us: int | None
    kept_at_us: int
    text: str | None


class NewMessage(NamedTuple):
    """A message to store: the *nth* of its session with this text; *said_at_us* None if unknown."""

    source_key: int
    nth: int
    role: str
    said_at_us: int | None = None


# A text that an earlier session has as well is stored once, with the earlier time; a message counts
# as stored when its session began, at the earliest.
_MESSAGES = """
        SELECT g.source_key, g.ordinal, g.role, g.said_at_us,
               max(o.created_at_us, s.started_at_us), o.zlib, o.sha256
          FROM session_message AS g
               JOIN session AS s ON s.session_key = g.session_key
               JOIN source AS o ON o.source_key = g.source_key
"""


def list_page(conn: Reading, session_key: int, after: int, limit: int) -> list[MessageRow]:
    """Return up to *limit* of the session's messages after ordinal *after*, in order."""
    rows = conn.execute(
        f"""
        {_MESSAGES}
         WHERE g.session_key = :session_key AND g.ordinal > :after
         ORDER BY g.ordinal
         LIMIT :limit
        """,
        {"session_key": session_key, "after": after, "limit": limit},
    )
    return [_message(conn, row) for row in rows]


def list_last(
    conn: Reading, session_key: int, limit: int, before: int | None = None
) -> list[MessageRow]:
    """Return the session's last *limit* messages, in order; only those before ordinal *before*."""
    rows = conn.execute(
        f"""
        {_MESSAGES}
         WHERE g.session_key = :session_key AND (:before IS NULL OR g.ordinal < :before)
         ORDER BY g.ordinal DESC
         LIMIT :limit
        """,
        {"session_key": session_key, "before": before, "limit": limit},
    )
    return [_message(conn, row) for row in rows][::-1]


def _message(conn: Reading, row: tuple[Any, ...]) -> MessageRow:
    key, ordinal, role, said_at_us, kept_at_us, packed, sha256 = row
    text = integrity.read_source(conn, key, packed, sha256)
    return MessageRow(key, ordinal, role, said_at_us, kept_at_us, text)


def find_repeating(conn: Reading, keys: Sequence[int], *, doubtful: bool) -> list[int]:
    """Return the sources of messages that contain the text of a memory of the same session.

    A memory and a message may have the same text although neither was made from the other. Runs of
    white space are compared as one space. What a damaged memory or message contained is not known:
    with *doubtful* a damaged message is returned with any memory of its session, and each message
    with a damaged memory; else they are left out.
    """
    rows = conn.execute(
        """
        SELECT m.memory_key, m.session_key, CAST(m.content AS BLOB)
          FROM memory AS m
         WHERE m.memory_key IN (SELECT value FROM carray(:keys)) AND m.session_key IS NOT NULL
           AND EXISTS (SELECT 1 FROM session_message AS g WHERE g.session_key = m.session_key)
        """,
        {"keys": keys_array(keys)},
    )
    memories: list[tuple[int, int, bytes]] = list(rows)
    intact_keys = frozenset(integrity.memories(conn, [key for key, _, _ in memories]))
    by_session: dict[int, list[str]] = {}
    for key, session_key, content in memories:
        if key in intact_keys or doubtful:
            text = content.decode() if key in intact_keys else ""  # which each message contains
            by_session.setdefault(session_key, []).append(_collapse_space(text))
    return [
        source_key
        for session_key, texts in by_session.items()
        for source_key in _find_containing(conn, session_key, texts, doubtful=doubtful)
    ]


def _find_containing(
    conn: Reading, session_key: int, texts: Sequence[str], *, doubtful: bool
) -> Iterator[int]:
    rows = conn.execute(
        """
        SELECT DISTINCT o.source_key, o.zlib, o.sha256
          FROM session_message AS g
               JOIN source AS o ON o.source_key = g.source_key
         WHERE g.session_key = :session_key
        """,
        {"session_key": session_key},
    )
    for key, packed, sha256 in rows:
        text = integrity.unpack(packed, sha256)
        message = None if text is None else _collapse_space(text)
        if doubtful if message is None else any(text in message for text in texts):
            yield key


def _collapse_space(text: str) -> str:
    return " ".join(text.split())


def list_by_hash(conn: Reading, session_key: int) -> dict[tuple[bytes, int], tuple[int, int]]:
    """Return (source key, ordinal) of each stored message, by (hash of its text, nth)."""
    rows = conn.execute(
        """
        SELECT o.sha256, g.nth, g.source_key, g.ordinal
          FROM session_message AS g
               JOIN source AS o ON o.source_key = g.source_key
         WHERE g.session_key = :session_key
        """,
        {"session_key": session_key},
    )
    return {(sha256, nth): (key, ordinal) for sha256, nth, key, ordinal in rows}


class TextAtTime(NamedTuple):
    """The *number* of messages with the text *sha256* and one time, and their highest *nth*."""

    sha256: bytes
    said_at_us: int | None
    number: int
    nth_max: int


def list_times(conn: Reading, session_key: int) -> list[TextAtTime]:
    """Return the times at which each text of the session was said."""
    rows = conn.execute(
        """
        SELECT o.sha256, g.said_at_us, count(*), max(g.nth)
          FROM session_message AS g
               JOIN source AS o ON o.source_key = g.source_key
         WHERE g.session_key = :session_key
         GROUP BY g.source_key, g.said_at_us
        """,
        {"session_key": session_key},
    )
    return [TextAtTime(*row) for row in rows]


def count_ever_stored(conn: Reading, session_key: int) -> int:
    """Return how many messages of the session were ever stored, including erased ones."""
    return conn.get_count(
        "SELECT heard FROM session WHERE session_key = :session_key", {"session_key": session_key}
    )


def add(conn: Writing, session_key: int, rows: Sequence[NewMessage]) -> None:
    """Append messages after the last ordinal ever used, and index them."""
    start = count_ever_stored(conn, session_key)
    new = message_index.find_new(conn, [row.source_key for row in rows])
    conn.executemany(
        """
        INSERT INTO session_message (session_key, ordinal, source_key, nth, role, said_at_us)
        VALUES (:session_key, :ordinal, :source_key, :nth, :role, :said_at_us)
        """,
        (
            {"session_key": session_key, "ordinal": ordinal, **row._asdict()}
            for ordinal, row in enumerate(rows, start)
        ),
    )
    message_index.index(conn, new)
    conn.execute(
        "UPDATE session SET heard = heard + :new WHERE session_key = :session_key",
        {"new": len(rows), "session_key": session_key},
    )


def list_texts(conn: Reading, span: SessionSpan) -> list[int]:
    """Return the source key of each of the messages that were stored in *span*, in order."""
    return conn.list_ints(
        """
        SELECT g.source_key
          FROM session AS s
               JOIN session_message AS g ON g.session_key = s.session_key
               JOIN source AS o ON o.source_key = g.source_key
         WHERE s.agent_key = :agent_key
           AND (:session_id IS NULL OR s.session_id = :session_id)
           AND (:since_us IS NULL OR max(o.created_at_us, s.started_at_us) >= :since_us)
           AND (:until_us IS NULL OR max(o.created_at_us, s.started_at_us) < :until_us)
         ORDER BY g.session_key, g.ordinal
        """,
        span._asdict(),
    )


def erase(conn: Writing, texts: Sequence[int]) -> None:
    """Erase texts (source keys) and the messages that have them; the audit has their number."""
    sources.erase(conn, list({*texts}))
    payload = f"messages:{len(texts)}".encode()
    changes.touch(conn, b"", hashlib.sha256(payload).digest())


def has_messages(conn: Reading, agent_key: int) -> bool:
    """Return whether any message of the agent's sessions is stored."""
    return conn.exists(
        """
        SELECT 1
          FROM session AS s
               JOIN session_message AS g ON g.session_key = s.session_key
         WHERE s.agent_key = :agent_key
        """,
        {"agent_key": agent_key},
    )


def delete_old(conn: Writing, before_us: int, limit: int) -> int:
    """Delete up to *limit* messages of a session inactive since *before_us*; returns how many.

    Messages are deleted from the first to the last. Ordinals are not reused, so that no nap reads a
    message again. A text is deleted with the last message that has it, unless a memory that no nap
    made was stored from it: age never deletes the original of a memory.
    """
    row = conn.execute(
        """
        SELECT g.session_key, max(g.ordinal), count(*)
          FROM (SELECT session_key, ordinal
                  FROM session_message
                 WHERE session_key = (SELECT s.session_key
                                        FROM session AS s
                                       WHERE s.last_activity_us < :before_us
                                         AND EXISTS (SELECT 1
                                                       FROM session_message AS m
                                                      WHERE m.session_key = s.session_key)
                                       ORDER BY s.last_activity_us, s.session_key
                                       LIMIT 1)
                 ORDER BY ordinal
                 LIMIT :limit) AS g
        """,
        {"before_us": before_us, "limit": limit},
    ).fetchone()
    assert row is not None
    session_key, last, count = row
    if not isinstance(count, int) or not count:
        return 0
    params = {"session_key": session_key, "last": last}
    keys = conn.list_ints(_ONLY_IN_THESE, params)
    message_index.unindex(conn, keys)
    conn.execute(
        "DELETE FROM session_message WHERE session_key = :session_key AND ordinal <= :last", params
    )
    conn.execute(_DELETE_UNUSED, {"keys": keys_array(keys)})
    payload = f"old messages:{session_key}:{last}".encode()
    changes.touch(conn, b"", hashlib.sha256(payload).digest())
    return count


# A memory that a nap made has turns and does not need the source; one stored from this text does.
_DELETE_UNUSED = """
DELETE FROM source AS o
 WHERE o.source_key IN (SELECT value FROM carray(:keys))
   AND NOT EXISTS (SELECT 1
                     FROM memory AS m
                    WHERE m.source_key = o.source_key
                      AND NOT EXISTS (SELECT 1
                                        FROM memory_turn AS t
                                       WHERE t.memory_key = m.memory_key))
"""
_ONLY_IN_THESE = """
SELECT DISTINCT g.source_key
  FROM session_message AS g
 WHERE g.session_key = :session_key AND g.ordinal <= :last
   AND NOT EXISTS (SELECT 1
                     FROM session_message AS o
                    WHERE o.source_key = g.source_key
                      AND (o.session_key <> :session_key OR o.ordinal > :last))
"""
