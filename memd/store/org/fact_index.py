"""The full-text index of facts: one FTS5 table over the current ones, and searches in it.

A cache like that of memories (``fulltext.py``), but small: an organisation has thousands of facts,
not millions, so it is rebuilt in one step. A search returns first the facts that contain the
context literally, as documented, then those that share words with it.

Its postings are deleted securely, as those of memories are. The log keeps what a fact said before
anyway, and a version would cost a third less without secure deletion; but postings that are only
marked as deleted are read by every search, which then costs half as much again.
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
    """Return the facts that contain *text* literally, ASCII letters in either case (SPEC 15.5.5).

    Ordered by the position of *text*, then shorter facts, then newer ones.
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
           AND content LIKE :like ESCAPE '\\'  -- twice as fast as folding every fact
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
    """Return a match for the rarest word that every fact containing *text* must contain, or None.

    Such a word has a boundary on both sides within *text*: the first and the last may continue in
    the fact. ASCII only, where the index splits words as this does.
    """
    words = _WHOLE_WORD.findall(text[:_WORDS_FROM_CHARS]) if text.isascii() else []
    if not words:
        return None
    facts_with = count_facts(conn, words)
    return quote(min(words, key=lambda word: facts_with[word]))


_LIKE, _ESCAPED = re.compile(r"[\\%_]"), r"\\\g<0>"
_LIKE_CHARS_MAX = 10_000  # SQLite takes patterns of 50,000 bytes
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
    """Return the facts that share any of *words*, by BM25, best first; of equals the newer.

    Words that more than half of the facts contain carry no information and are left out, unless all
    are such. Every word is quoted: FTS syntax in it is words like any other (H26).
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
