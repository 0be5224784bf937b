"""Index the current facts in one FTS5 table, and search it.

A cache like that of memories (``fulltext.py``), but small: an organisation has thousands of facts,
not millions, so it is rebuilt in one step. A search returns first the facts that contain the query
literally (:func:`find_literal`), then those that share words with it (:func:`find_sharing`).

Postings are deleted securely, as those of memories are. Secrecy does not require it, since the log
keeps earlier versions, and without it writing a version would take a third less time. But every
search reads postings that are only marked as deleted, which takes half as long again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence

from memd.domain.enums import OrgFactCategory
from memd.store.file.connect import Reading, Writing
from memd.store.org.org_facts import count
from memd.store.search.fts import FtsTable, quote
from memd.store.search.fulltext import stemmer

TABLE = FtsTable("fts_org", "org_fact_words", "fact_key", "content, category")


def create(conn: Writing) -> None:
    """Create the empty index of a new file."""
    conn.execute(_CREATE)


_CREATE = """
CREATE VIRTUAL TABLE fts_org USING fts5(
    content, category, content='org_fact_words', content_rowid='fact_key',
    tokenize='porter unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE fts_org_terms USING fts5vocab(fts_org, col);
INSERT INTO fts_org (fts_org, rank) VALUES ('secure-delete', 1);
INSERT INTO fts_org (fts_org, rank) VALUES ('rank', 'bm25(1.0, 0.0)');
"""


def rebuild(conn: Writing) -> None:
    conn.execute("INSERT INTO fts_org (fts_org) VALUES ('rebuild')")


def find_literal(conn: Reading, text: str, categories: Collection[str], limit: int) -> list[int]:
    """Return the facts that contain *text*, ignoring the case of ASCII letters (SPEC 15.5.5).

    Ordered by the position of *text*, then shorter facts first, then newer ones.
    """
    params = {"text": text, "categories": json.dumps(sorted(categories)), "limit": limit}
    rarest = _rarest_word(conn, text)
    if rarest is None:
        like = f"%{_LIKE.sub(_ESCAPED, text)}%" if len(text) <= _LIKE_CHARS_MAX else "%"
        return conn.list_ints(_LITERAL_ANYWHERE, {**params, "like": like})
    return conn.list_ints(_LITERAL_AMONG, {**params, "match": rarest})


_LITERAL_ANYWHERE = """
SELECT fact_key
  FROM (SELECT fact_key, length(content) AS chars, created_at_us,
               instr(lower(content), lower(:text)) AS place
          FROM org_fact
         WHERE retracted_at_us IS NULL
           AND content LIKE :like ESCAPE '\\'  -- a prefilter, twice as fast as lower() of each fact
           AND category IN (SELECT value FROM json_each(:categories)))
 WHERE place
 ORDER BY place, chars, created_at_us DESC, fact_key DESC
 LIMIT :limit
"""
_LITERAL_AMONG = """
SELECT fact_key
  FROM (SELECT f.fact_key, length(f.content) AS chars, f.created_at_us,
               instr(lower(f.content), lower(:text)) AS place
          FROM fts_org AS w
               JOIN org_fact AS f ON f.fact_key = w.rowid
         WHERE fts_org MATCH :match
           AND f.category IN (SELECT value FROM json_each(:categories)))
 WHERE place
 ORDER BY place, chars, created_at_us DESC, fact_key DESC
 LIMIT :limit
"""


def _rarest_word(conn: Reading, text: str) -> str | None:
    """Return an FTS5 query for the rarest word that every fact with *text* must contain, or None.

    Only words with a boundary on both sides within *text* count: in a fact, the first and the last
    word may be parts of longer words. For "the red car is", these are "red" and "car". Only for
    ASCII texts, which this function and the index split alike.
    """
    words = _WHOLE_WORD.findall(text[:_WORDS_FROM_CHARS]) if text.isascii() else []
    if not words:
        return None
    facts_with = count_facts(conn, words)
    return quote(min(words, key=lambda word: facts_with[word]))


_LIKE, _ESCAPED = re.compile(r"[\\%_]"), r"\\\g<0>"
_LIKE_CHARS_MAX = 10_000  # SQLite accepts LIKE patterns of up to 50,000 bytes
# A run of letters and digits between two other characters: "red" and "car" of "the red car is".
_WHOLE_WORD = re.compile(r"(?<=[^A-Za-z0-9])[A-Za-z0-9]+(?=[^A-Za-z0-9])")
_WORDS_FROM_CHARS = 1_000


def count_facts(conn: Reading, words: Collection[str]) -> dict[str, int]:
    """Return for each word how many facts contain it, in any inflection."""
    stem = stemmer(conn)
    counts = dict.fromkeys(words, 0)
    for word in counts:
        numbers = [
            conn.get_int(
                "SELECT doc FROM fts_org_terms WHERE term = :term AND col = 'content'",
                {"term": term},
            )
            for term in stem(word)
        ]
        counts[word] = min((n or 0 for n in numbers), default=0)
    return counts


def find_sharing(
    conn: Reading, words: Sequence[str], categories: Collection[OrgFactCategory], limit: int
) -> list[int]:
    """Return the facts that contain any of *words*, by BM25, newer ones first among equals.

    Words that more than half of the facts contain are left out; if all are such, the rarest is
    used. Every word is quoted, so that FTS syntax in it is searched as words (H26).
    """
    if not words or not categories:
        return []
    facts_with = {word: facts for word, facts in count_facts(conn, words).items() if facts}
    if not facts_with:
        return []
    most = max(1, count(conn) // 2)
    informative = [word for word in facts_with if facts_with[word] <= most] or [
        min(facts_with, key=facts_with.__getitem__)
    ]
    match = f"content:({' OR '.join(map(quote, informative))})"
    if len(categories) < len(OrgFactCategory):
        kinds = " OR ".join(map(quote, sorted(categories)))
        match = f"category:({kinds}) AND {match}"
    return conn.list_ints(
        """
        SELECT rowid
          FROM fts_org
         WHERE fts_org MATCH :match
         ORDER BY rank, rowid DESC
         LIMIT :limit
        """,
        {"match": match, "limit": limit},
    )
