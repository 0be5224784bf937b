"""Texts as they arrived, kept compressed when cleaning and cutting changed them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from memd.store.file.connect import Writing
from memd.store.file.keys import keys_array
from memd.store.session import session_words


def put(
    conn: Writing, agent_key: int, session_key: int | None, sha256: bytes, zlib: bytes, now_us: int
) -> int:
    """Keep a text and return its key; the same text of the same agent is kept once."""
    found = conn.execute(
        "SELECT source_key FROM source WHERE agent_key = :agent_key AND sha256 = :sha256",
        {"agent_key": agent_key, "sha256": sha256},
    ).get
    if isinstance(found, int):
        return found
    conn.execute(
        """
        INSERT INTO source (agent_key, session_key, sha256, zlib, created_at_us)
        VALUES (:agent_key, :session_key, :sha256, :zlib, :now_us)
        """,
        {
            "agent_key": agent_key,
            "session_key": session_key,
            "sha256": sha256,
            "zlib": zlib,
            "now_us": now_us,
        },
    )
    return conn.last_insert_rowid()


def drop_unused(conn: Writing, keys: Sequence[int]) -> None:
    """Drop those of *keys* that no memory and no session's message came from."""
    conn.executemany(
        """
        DELETE FROM source
         WHERE source_key = :key
           AND NOT EXISTS (SELECT 1 FROM memory WHERE source_key = :key)
           AND NOT EXISTS (SELECT 1 FROM session_message WHERE source_key = :key)
        """,
        ({"key": key} for key in keys),
    )


@contextmanager
def leaving(conn: Writing, keys: Sequence[int]) -> Iterator[None]:
    """Let the body end that texts are messages; drop those that no other memory needs.

    A memory of a nap says what it has to say itself; one that was told as this text does not.
    """
    session_words.unindex(conn, keys)
    yield
    conn.executemany(
        """
        DELETE FROM source
         WHERE source_key = :key
           AND NOT EXISTS (SELECT 1
                             FROM memory AS m
                            WHERE m.source_key = :key
                              AND NOT EXISTS (SELECT 1
                                                FROM memory_turn AS t
                                               WHERE t.memory_key = m.memory_key))
        """,
        ({"key": key} for key in keys),
    )


def erase(conn: Writing, keys: Sequence[int]) -> None:
    """Destroy texts, whatever was made of them, and every session's messages that are these."""
    if not keys:
        return
    session_words.unindex(conn, keys)
    conn.execute(
        "DELETE FROM source WHERE source_key IN (SELECT value FROM carray(:keys))",
        {"keys": keys_array(keys)},
    )
