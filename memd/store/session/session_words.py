"""The words cache of sessions: one FTS5 table over the texts of the messages that naps kept.

External content over the view ``session_words``, which unpacks the texts: its integrity
check compares word for word, a snippet needs nothing else, and what is deleted is taken
out of its postings at once. A contentless table would keep them until it is merged, and
what was forgotten with them. The second column is whose text it is (``a12``).

A cache: rebuilt in steps, never repaired. While it is being filled, the texts up to a
noted key are in it, and those beyond come in when their turn comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import apsw

from memd.store.file.connect import Reading, Writing
from memd.store.file.keys import keys_array

SNIPPET_WORDS = 32
_FILLED = "session_words_filled"  # in meta while the cache is being filled: up to which key

_CREATE = """
CREATE VIRTUAL TABLE fts_session USING fts5(
    content, owner, content='session_words', content_rowid='source_key',
    tokenize='porter unicode61 remove_diacritics 2'
);
INSERT INTO fts_session (fts_session, rank) VALUES ('secure-delete', 1);
INSERT INTO fts_session (fts_session, rank) VALUES ('rank', 'bm25(1.0, 0.0)');
"""


class HitRow(NamedTuple):
    """One kept message that holds the words, at the last place where it was said."""

    session_id: str
    project_id: str | None
    ordinal: int
    role: str
    at_us: int
    snippet: str


class MessageFilter(NamedTuple):
    """Whose messages are searched for what; None leaves a limit out. *until_us* is exclusive."""

    agent_key: int
    match: str
    session_id: str | None = None
    project_id: str | None = None
    since_us: int | None = None
    until_us: int | None = None


def ensure(conn: Writing) -> None:
    """Make the cache of a file that has none; go on where a filling was broken off."""
    if not conn.execute("SELECT 1 FROM sqlite_schema WHERE name = 'fts_session'").get:
        conn.execute(_CREATE)
        _note_filled(conn, 0)
    while step_build(conn, _ENSURE_ROWS):
        pass


_ENSURE_ROWS = 1_000


def start_build(conn: Writing) -> None:
    """Empty the cache; :func:`step_build` fills it."""
    conn.execute("INSERT INTO fts_session (fts_session) VALUES ('delete-all')")
    _note_filled(conn, 0)


def step_build(conn: Writing, rows: int) -> bool:
    """Add the next *rows* texts; False once all are in."""
    filled = _filled(conn)
    if filled is None:
        return False
    last = conn.execute(
        """
        SELECT max(source_key)
          FROM (SELECT DISTINCT source_key
                  FROM session_message
                 WHERE source_key > :filled
                 ORDER BY source_key
                 LIMIT :rows)
        """,
        {"filled": filled, "rows": rows},
    ).get
    if not isinstance(last, int):
        conn.execute("DELETE FROM meta WHERE key = :key", {"key": _FILLED})
        return False
    conn.execute(
        """
        INSERT INTO fts_session (rowid, content, owner)
        SELECT source_key, content, owner
          FROM session_words
         WHERE source_key > :filled AND source_key <= :last
        """,
        {"filled": filled, "last": last},
    )
    _note_filled(conn, last)
    return True


def _filled(conn: Reading) -> int | None:
    """Return up to which key the cache is filled, None when it is whole."""
    key = conn.execute("SELECT value FROM meta WHERE key = :key", {"key": _FILLED}).get
    return key if isinstance(key, int) else None


def _note_filled(conn: Writing, key: int) -> None:
    conn.execute(
        "INSERT OR REPLACE INTO meta (key, value) VALUES (:name, :key)",
        {"name": _FILLED, "key": key},
    )


def unheard(conn: Reading, keys: Sequence[int]) -> list[int]:
    """Return which texts are no session's message yet, in order, each once."""
    if not keys:
        return []
    rows = conn.execute(
        """
        SELECT source_key
          FROM source AS o
         WHERE source_key IN (SELECT value FROM carray(:keys))
           AND NOT EXISTS (SELECT 1 FROM session_message AS g WHERE g.source_key = o.source_key)
         ORDER BY source_key
        """,
        {"keys": keys_array(keys)},
    )
    return [key for (key,) in rows]


def index(conn: Writing, keys: Sequence[int]) -> None:
    """Add texts that have just become messages of a session (:func:`unheard` before)."""
    keys = _within(conn, keys)
    if not keys:
        return
    conn.execute(
        """
        INSERT INTO fts_session (rowid, content, owner)
        SELECT source_key, content, owner
          FROM session_words
         WHERE source_key IN (SELECT value FROM carray(:keys))
        """,
        {"keys": keys_array(keys)},
    )


def unindex(conn: Writing, keys: Sequence[int]) -> None:
    """Take texts out, before their rows go: FTS5 needs the words it was given."""
    keys = _within(conn, keys)
    if not keys:
        return
    conn.execute(
        """
        INSERT INTO fts_session (fts_session, rowid, content, owner)
        SELECT 'delete', source_key, content, owner
          FROM session_words
         WHERE source_key IN (SELECT value FROM carray(:keys))
        """,
        {"keys": keys_array(keys)},
    )


def _within(conn: Reading, keys: Sequence[int]) -> list[int]:
    filled = _filled(conn)
    return [key for key in keys if filled is None or key <= filled]


def search(conn: Reading, filters: MessageFilter, limit: int) -> list[HitRow]:
    """Return the best *limit* messages by BM25, of equals the newer, each text once."""
    rows = conn.execute(
        """
          WITH w AS MATERIALIZED (SELECT rowid AS source_key, rank AS score
                                    FROM fts_session
                                   WHERE fts_session MATCH :match),
               said AS (SELECT w.source_key, w.score, s.session_id, p.project_id, g.ordinal, g.role,
                               g.session_key, coalesce(g.said_at_us, o.created_at_us) AS at_us
                          FROM w
                               CROSS JOIN source AS o ON o.source_key = w.source_key
                               CROSS JOIN session_message AS g ON g.source_key = w.source_key
                               CROSS JOIN session AS s ON s.session_key = g.session_key
                               LEFT JOIN project AS p ON p.project_key = s.project_key
                         WHERE s.agent_key = :agent_key
                           AND (:session_id IS NULL OR s.session_id = :session_id)
                           AND (:project_id IS NULL OR p.project_id = :project_id)),
               placed AS (SELECT source_key, score, session_id, project_id, ordinal, role, at_us,
                                 row_number() OVER (PARTITION BY source_key
                                                       ORDER BY at_us DESC, session_key DESC,
                                                                ordinal DESC) AS place
                            FROM said
                           WHERE (:since_us IS NULL OR at_us >= :since_us)
                             AND (:until_us IS NULL OR at_us < :until_us))
        SELECT source_key, session_id, project_id, ordinal, role, at_us
          FROM placed
         WHERE place = 1
         ORDER BY score, at_us DESC, source_key DESC
         LIMIT :limit
        """,
        {**filters._asdict(), "limit": limit},
    ).fetchall()
    messages = cast("list[tuple[int, str, str | None, int, str, int]]", rows)
    return [HitRow(*row[1:], _snippet(conn, filters.match, row[0])) for row in messages]


def _snippet(conn: Reading, match: str, key: int) -> str:
    """Return the words around those that match in one text."""
    snippet = conn.execute(
        """
        SELECT snippet(fts_session, 0, '', '', '…', :words)
          FROM fts_session
         WHERE fts_session MATCH :match AND rowid = :key
        """,
        {"match": match, "key": key, "words": SNIPPET_WORDS},
    ).get
    assert isinstance(snippet, str)
    return snippet


def match_text(terms: Sequence[str], agent_key: int, *, each: bool) -> str:
    """Return the FTS5 query for an agent's texts that hold *each* of the terms, or any.

    Every term is quoted: FTS syntax in a query is words like any other (H26).

    >>> match_text(["cat", 'a"b'], 1, each=True)
    'owner:("a1") AND content:("cat" AND "a""b")'
    """
    joined = (" AND " if each else " OR ").join(
        '"' + term.replace('"', '""') + '"' for term in terms
    )
    return f'owner:("a{agent_key}") AND content:({joined})'


def look_again(conn: Reading) -> None:
    """Let FTS5 see what other connections wrote, as ``words.look_again``."""
    conn.execute("SELECT rowid FROM fts_session WHERE rowid = 0").fetchall()


def is_sound(conn: Writing) -> bool:
    """Return whether the cache agrees with the messages, word for word."""
    if _filled(conn) is not None:
        return False
    try:
        conn.execute("INSERT INTO fts_session (fts_session, rank) VALUES ('integrity-check', 1)")
    except apsw.CorruptError:
        return False
    return True
