"""Index the texts of session messages that naps stored, in one FTS5 table, and search it.

The table has external content: the view ``session_words``, which decompresses the texts. So its
integrity check compares every word, snippets need no other table, and the postings of a deleted
text are removed at once. A contentless table would keep them, and the forgotten words, until a
merge. The second column is the owner token (``a12`` for agent key 12).

The index is a cache: rebuilt in steps, never repaired. During a build it contains the texts up to a
key in ``meta``; the build adds later ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from memd.store.check import integrity
from memd.store.file.connect import Reading, Writing, keys_array
from memd.store.search.cjk_bigrams import join_signs
from memd.store.search.fts import FtsTable, quote

SNIPPET_WORDS = 32
_FILLED = "session_words_filled"  # in meta while the index is being filled: the last key in it
_TABLE = FtsTable("fts_session", "session_words", "source_key", "content, owner")

_CREATE = """
CREATE VIRTUAL TABLE fts_session USING fts5(
    content, owner, content='session_words', content_rowid='source_key',
    tokenize='porter unicode61 remove_diacritics 2'
);
INSERT INTO fts_session (fts_session, rank) VALUES ('secure-delete', 1);
INSERT INTO fts_session (fts_session, rank) VALUES ('rank', 'bm25(1.0, 0.0)');
"""


class MessageMatch(NamedTuple):
    """A stored message that matches. A text in several sessions counts at its last occurrence."""

    session_id: str
    project_id: str | None
    ordinal: int
    role: str
    at_us: int
    snippet: str


class MessageFilter(NamedTuple):
    """The conditions of a message search; None sets no limit. *until_us* is exclusive."""

    agent_key: int
    match: str
    session_id: str | None = None
    project_id: str | None = None
    since_us: int | None = None
    until_us: int | None = None


def exists(conn: Reading) -> bool:
    """Return whether the file has the index; files of schema 1 have none."""
    return conn.exists("SELECT 1 FROM sqlite_schema WHERE name = 'fts_session'")


def ensure(conn: Writing) -> None:
    """Create the index of a file that has none, or continue an interrupted build."""
    if not exists(conn):
        conn.execute(_CREATE)
        conn.set_meta(_FILLED, 0)
    while step_build(conn, _BUILD_ROWS):
        pass


_BUILD_ROWS = 1_000


def start_build(conn: Writing) -> None:
    """Empty the index; :func:`step_build` fills it."""
    conn.execute("INSERT INTO fts_session (fts_session) VALUES ('delete-all')")
    conn.set_meta(_FILLED, 0)


def step_build(conn: Writing, rows: int) -> bool:
    """Add the next *rows* texts; False when there are no more."""
    filled = conn.get_meta(_FILLED, int)
    if filled is None:
        return False
    last = _TABLE.fill(conn, "session_message", filled, rows)
    conn.set_meta(_FILLED, last)
    return last is not None


def find_new(conn: Reading, keys: Sequence[int]) -> list[int]:
    """Return those of *keys* that are not a message of any session yet, in order, each once."""
    if not keys:
        return []
    return conn.list_ints(
        """
        SELECT source_key
          FROM source AS o
         WHERE source_key IN (SELECT value FROM carray(:keys))
           AND NOT EXISTS (SELECT 1 FROM session_message AS g WHERE g.source_key = o.source_key)
         ORDER BY source_key
        """,
        {"keys": keys_array(keys)},
    )


def index(conn: Writing, keys: Sequence[int]) -> None:
    """Add texts that have become messages of a session.

    *keys* are the result of :func:`find_new` from before the messages were inserted.
    """
    _TABLE.add(conn, _up_to_filled(conn, keys))


def unindex(conn: Writing, keys: Sequence[int]) -> None:
    """Remove texts, before their rows are deleted.

    The words that a damaged text was indexed with are not known, so the index is rebuilt for it.
    """
    if _are_damaged(conn, keys):
        start_build(conn)
        while step_build(conn, _BUILD_ROWS):
            pass
    _TABLE.remove(conn, _up_to_filled(conn, keys))


def _are_damaged(conn: Reading, keys: Sequence[int]) -> bool:
    """Return whether one of *keys* is a message whose text does not match its hash."""
    rows = conn.execute(
        """
        SELECT o.zlib, o.sha256
          FROM source AS o
         WHERE o.source_key IN (SELECT value FROM carray(:keys))
           AND EXISTS (SELECT 1 FROM session_message AS g WHERE g.source_key = o.source_key)
        """,
        {"keys": keys_array(keys)},
    )
    return any(integrity.unpack(packed, sha256) is None for packed, sha256 in rows)


def _up_to_filled(conn: Reading, keys: Sequence[int]) -> list[int]:
    filled = conn.get_meta(_FILLED, int)
    return [key for key in keys if filled is None or key <= filled]


def search(conn: Reading, filters: MessageFilter, limit: int) -> list[MessageMatch]:
    """Return the best *limit* messages by BM25, newer ones first among equals, each text once."""
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
    )
    return [
        MessageMatch._make((*row, _snippet(conn, filters.match, key))) for key, *row in list(rows)
    ]


def _snippet(conn: Reading, match: str, key: int) -> str:
    """Return up to SNIPPET_WORDS words around the matches in one text."""
    snippet = conn.execute(
        """
        SELECT snippet(fts_session, 0, '', '', '…', :words)
          FROM fts_session
         WHERE fts_session MATCH :match AND rowid = :key
        """,
        {"match": match, "key": key, "words": SNIPPET_WORDS},
    ).get
    assert isinstance(snippet, str)
    return join_signs(snippet)


def match_query(terms: Sequence[str], agent_key: int, *, all_terms: bool) -> str:
    """Return the FTS5 query for an agent's texts that contain all of the terms, or any.

    Every term is quoted, so that FTS syntax in it is searched as words (H26).

    >>> match_query(["cat", 'a"b'], 1, all_terms=True)
    'owner:("a1") AND content:("cat" AND "a""b")'
    """
    joined = (" AND " if all_terms else " OR ").join(map(quote, terms))
    return f'owner:("a{agent_key}") AND content:({joined})'


def refresh(conn: Reading) -> None:
    """Refresh the index (``FtsTable.refresh``)."""
    _TABLE.refresh(conn)


def is_intact(conn: Writing) -> bool:
    """Return whether the index agrees with the messages, word for word."""
    return conn.get_meta(_FILLED, int) is None and _TABLE.is_intact(conn)
