"""The words cache of facts: one FTS5 table over those that stand, and the search in it.

A cache like that of memories (``words.py``), but small: an organisation knows
thousands of things, not millions, so it is rebuilt in one step. A search brings
first the facts that hold the context literally, as documented, then those that
share words with it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

import apsw

from memd.store.connect import Reading, Writing


def create(conn: Writing) -> None:
    """Create the empty cache of a new file."""
    conn.execute(_CREATE)


_CREATE = """
CREATE VIRTUAL TABLE fts_org USING fts5(
    content, content='org_fact_words', content_rowid='fact_key',
    tokenize='porter unicode61 remove_diacritics 2'
);
INSERT INTO fts_org (fts_org, rank) VALUES ('secure-delete', 1);
"""


def rebuild(conn: Writing) -> None:
    """Build the cache anew from the facts."""
    conn.execute("INSERT INTO fts_org (fts_org) VALUES ('rebuild')")


def index(conn: Writing, fact_key: int) -> None:
    """Add a fact as it is now."""
    conn.execute(
        """
        INSERT INTO fts_org (rowid, content)
        SELECT fact_key, content FROM org_fact_words WHERE fact_key = :fact_key
        """,
        {"fact_key": fact_key},
    )


def unindex(conn: Writing, fact_key: int) -> None:
    """Take a fact out, before its row changes; nothing for one that is retracted."""
    conn.execute(
        """
        INSERT INTO fts_org (fts_org, rowid, content)
        SELECT 'delete', fact_key, content FROM org_fact_words WHERE fact_key = :fact_key
        """,
        {"fact_key": fact_key},
    )


def is_sound(conn: Writing) -> bool:
    """Return whether the cache agrees with the facts, word for word."""
    try:
        conn.execute("INSERT INTO fts_org (fts_org, rank) VALUES ('integrity-check', 1)")
    except apsw.CorruptError:
        return False
    return True


def literal(conn: Reading, text: str, categories: Collection[str], limit: int) -> list[int]:
    """Return the facts that hold *text* as it stands, ASCII letters of either case (SPEC 15.5.5).

    First those where it stands nearest to the beginning, then shorter facts, then newer ones.
    """
    rows = conn.execute(
        """
        SELECT fact_key
          FROM (SELECT fact_key, length(content) AS chars, created_at_us,
                       instr(lower(content), lower(:text)) AS place
                  FROM org_fact
                 WHERE retracted_at_us IS NULL
                   AND category IN (SELECT value FROM json_each(:categories)))
         WHERE place
         ORDER BY place, chars, created_at_us DESC, fact_key DESC
         LIMIT :limit
        """,
        {"text": text, "categories": json.dumps(sorted(categories)), "limit": limit},
    )
    return [key for (key,) in rows]


def sharing(
    conn: Reading, words: Sequence[str], categories: Collection[str], limit: int
) -> list[int]:
    """Return the facts that share any of *words*, by BM25, best first; newer ones first of equals.

    Every word is quoted: FTS syntax in it is words like any other (H26).
    """
    if not words:
        return []
    rows = conn.execute(
        """
        SELECT f.fact_key
          FROM fts_org AS w
               JOIN org_fact AS f ON f.fact_key = w.rowid
         WHERE w.content MATCH :match
           AND f.category IN (SELECT value FROM json_each(:categories))
         ORDER BY bm25(fts_org), f.created_at_us DESC, f.fact_key DESC
         LIMIT :limit
        """,
        {
            "match": " OR ".join('"' + word.replace('"', '""') + '"' for word in words),
            "categories": json.dumps(sorted(categories)),
            "limit": limit,
        },
    )
    return [key for (key,) in rows]
