"""The full-text index: one FTS5 table per generation over the view ``memory_words``.

External content, so its integrity check compares it with the rows; secure delete, so that nothing
forgotten leaves a posting. It has two text columns: the memory's own words, and the words of its
neighbours in the session, which carry half the context of a short turn (decision 0032). The third
column holds the owner token and has no weight: ``owner:a12 AND ...`` is many times faster than a
join. Here and in the vector cache the rows of an agent are divided into parts; a search names the
parts that it reads, so it does not pay for rows that it would drop.

It is a cache: rebuilt beside the live one, never repaired. Every function that removes or adds rows
runs in the transaction that changes the memories.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from itertools import islice
from typing import NamedTuple, cast

import apsw

from memd.store.file.connect import Reading, Writing
from memd.store.search.cjk_bigrams import split_signs
from memd.store.search.fts import FtsTable, quote

# Table names carry a generation, a number from meta; nothing else is ever put into the SQL.
# ruff: noqa: S608
TOKENIZER = ("porter", "unicode61", "remove_diacritics", "2")
WORDS = TOKENIZER[1:]
CONTEXT_WEIGHT = 0.3
SEGMENTS_MAX = 4  # so many are not merged
MERGE_PAGES = 400  # of 4 KB, in one step: about 20 ms
_BUILD = "words_build"  # in meta: the generation being built, and the last key in it


class CachePart(StrEnum):
    """A part of an agent's rows; the view ``cache_part`` defines in which a memory is.

    The letter begins the owner token; the order numbers the vector partitions.
    """

    SEARCHED = "a"
    """Read by every search: visible memories and superseded sources."""
    HIDDEN = "h"
    """Memories hidden on their own, not by a summary."""
    SUMMARY = "s"
    """Summaries: a search reads their sources and returns them."""
    PASSING = "p"
    """Turns in passing: searched on request."""


def owner_token(agent_key: int, part: CachePart) -> str:
    """Return the token of an agent's rows of one part in the full-text index.

    >>> owner_token(12, CachePart.SEARCHED)
    'a12'
    """
    return f"{part}{agent_key}"


class Corpus(NamedTuple):
    """The size of the store, for BM25."""

    rows: int
    own_tokens: int
    context_tokens: int


def generation(conn: Reading) -> int:
    """Return the live generation, 0 before the first."""
    return conn.get_meta("words_generation", int) or 0


def create(conn: Writing, number: int) -> None:
    """Create the empty tables of a generation, beside the live one."""
    conn.execute(
        f"""
        CREATE VIRTUAL TABLE fts_{number} USING fts5(
            own, context, owner,
            content='memory_words', content_rowid='memory_key',
            tokenize='{" ".join(TOKENIZER)}'
        );
        CREATE VIRTUAL TABLE fts_{number}_terms USING fts5vocab(fts_{number}, col);
        INSERT INTO fts_{number}(fts_{number}, rank) VALUES ('secure-delete', 1);
        INSERT INTO fts_{number}(fts_{number}, rank)
        VALUES ('rank', 'bm25(1.0, {CONTEXT_WEIGHT}, 0.0)');
        """
    )


def activate(conn: Writing, number: int) -> None:
    """Make a generation the live one and drop the previous one."""
    before = generation(conn)
    conn.set_meta("words_generation", number)
    if before:
        conn.execute(f"DROP TABLE fts_{before}_terms; DROP TABLE fts_{before}")


def index(conn: Writing, keys: Sequence[int]) -> None:
    """Add the memories, as they are now, to the live generation and to one being built."""
    for table, targeted in _targets(conn, keys):
        table.add(conn, targeted)


def unindex(conn: Writing, keys: Sequence[int]) -> None:
    """Remove the memories, before their rows change."""
    for table, targeted in _targets(conn, keys):
        table.remove(conn, targeted)


def _table(number: int) -> FtsTable:
    return FtsTable(f"fts_{number}", "memory_words", "memory_key", "own, context, owner")


def _targets(conn: Reading, keys: Sequence[int]) -> Iterator[tuple[FtsTable, Sequence[int]]]:
    """Yield each generation with those of *keys* that are in it.

    One being built contains the memories up to its last key; later ones are added, as they are
    then, by the build.
    """
    if not keys:
        return
    yield _table(generation(conn)), keys
    building = current_build(conn)
    if building is not None:
        filled = [key for key in keys if key <= building.last_key]
        if filled:
            yield _table(building.number), filled


class Build(NamedTuple):
    """A generation being filled beside the live one, up to *last_key*."""

    number: int
    last_key: int


def current_build(conn: Reading) -> Build | None:
    """Return the generation that is being built, if any."""
    value = conn.get_meta(_BUILD, str)
    return None if value is None else Build(*map(int, value.split()))


def rebuild(conn: Writing) -> None:
    """Build the live generation anew, in one step; one being built begins again."""
    number = generation(conn)
    conn.execute(f"INSERT INTO fts_{number} (fts_{number}) VALUES ('rebuild')")
    if current_build(conn) is not None:
        start_build(conn)


def start_build(conn: Writing) -> None:
    """Begin a new generation beside the live one, dropping an unfinished one."""
    unfinished = current_build(conn)
    if unfinished is not None:
        conn.execute(
            f"DROP TABLE fts_{unfinished.number}_terms; DROP TABLE fts_{unfinished.number}"
        )
    number = max(generation(conn), unfinished.number if unfinished else 0) + 1
    create(conn, number)
    conn.set_meta(_BUILD, f"{number} 0")


def step_build(conn: Writing, rows: int) -> bool:
    """Fill the next *rows* memories; False once the build is complete and live."""
    building = current_build(conn)
    if building is None:  # another rebuild completed it meanwhile
        return False
    last = _table(building.number).fill(conn, "memory", building.last_key, rows)
    if last is not None:
        conn.set_meta(_BUILD, f"{building.number} {last}")
        return True
    activate(conn, building.number)
    conn.set_meta(_BUILD, None)
    return False


def merge(conn: Writing) -> bool:
    """Merge segments of the live generation, one step; False when nothing is left to merge.

    Every search reads each segment, and small transactions leave many.
    """
    number = generation(conn)
    segments = conn.execute(f"SELECT count(DISTINCT segid) FROM fts_{number}_idx").get
    if not isinstance(segments, int) or segments <= SEGMENTS_MAX:
        return False
    before = conn.total_changes()
    conn.execute(
        f"INSERT INTO fts_{number} (fts_{number}, rank) VALUES ('merge', :pages)",
        {"pages": -MERGE_PAGES},
    )
    return conn.total_changes() - before > 1  # 1 is how FTS5 reports that nothing was left to merge


def stemmer(conn: Reading, tokenizer: Sequence[str] = TOKENIZER) -> Callable[[str], list[str]]:
    """Return the index's own tokenizer: a text's terms, folded and stemmed, in order.

    With WORDS as the *tokenizer* they are not stemmed, as :func:`match_query` takes them.
    """
    tokenize = conn.fts5_tokenizer(tokenizer[0], list(tokenizer[1:]))

    def terms(text: str) -> list[str]:
        tokens = tokenize(
            split_signs(text).encode(),
            apsw.FTS5_TOKENIZE_DOCUMENT,
            None,
            include_offsets=False,
            include_colocated=False,
        )
        return cast("list[str]", tokens)  # without offsets the tokenizer returns plain terms

    return terms


def match_query(terms: Sequence[str], owners: Sequence[str]) -> str:
    """Return the FTS5 query for memories of *owners* that contain any of *terms*.

    FTS5 stems the terms, so they must be words and not stems: the stem of "databases" is "databas",
    and the stem of that is another. Each is quoted: FTS syntax in a query is words like any other
    (H26).

    >>> match_query(["cat", 'a"b'], ["a1"])
    'owner:("a1") AND {own context}:("cat" OR "a""b")'
    """
    any_term = " OR ".join(map(quote, terms))
    any_owner = " OR ".join(map(quote, owners))
    return f"owner:({any_owner}) AND {{own context}}:({any_term})"


def search(conn: Reading, match: str, limit: int) -> list[int]:
    """Return the best *limit* memories for *match* by BM25, best first."""
    number = generation(conn)
    return conn.list_ints(
        f"""
        SELECT rowid
          FROM fts_{number}
         WHERE fts_{number} MATCH :match
         ORDER BY rank
         LIMIT :limit
        """,
        {"match": match, "limit": limit},
    )


def search_latest(conn: Reading, match: str, limit: int) -> list[int]:
    """Return the *limit* memories for *match* that were stored last, the latest first."""
    number = generation(conn)
    return conn.list_ints(
        f"""
        SELECT rowid
          FROM fts_{number}
         WHERE fts_{number} MATCH :match
         ORDER BY rowid DESC
         LIMIT :limit
        """,
        {"match": match, "limit": limit},
    )


def find_latest(conn: Reading, beginnings: Sequence[str], owner: str, limit: int) -> list[int]:
    """Return the *limit* memories stored last that have a word with one of *beginnings*.

    A beginning is compared with stems: "intoler" finds "intolerance", "intoleran" does not.
    """
    any_word = " OR ".join(f"{quote(beginning).rstrip('*')}*" for beginning in beginnings)
    return search_latest(conn, f"owner:{quote(owner)} AND own:({any_word})", limit)


def search_keys(conn: Reading, match: str, keys: Sequence[int], limit: int) -> list[int]:
    """Return the best *limit* of *keys* for *match*, best first and exactly."""
    number = generation(conn)
    candidates = frozenset(keys)
    rows = conn.execute(
        f"SELECT rowid FROM fts_{number} WHERE fts_{number} MATCH :match ORDER BY rank",
        {"match": match},
    )
    return list(islice((key for (key,) in rows if key in candidates), limit))


def statistics(
    conn: Reading, owners: Sequence[str], terms: Sequence[str]
) -> tuple[Corpus, dict[str, int]]:
    """Return the size of the live generation, and for each term how many memories have it.

    The size is that of all agents, zeros when *owners* have nothing; a memory has a term in its own
    words.
    """
    number = generation(conn)
    any_owner = " OR ".join(f'"{owner}"' for owner in owners)
    # An auxiliary function only runs on a matching row; any one will do.
    sizes = conn.execute(
        f"SELECT corpus(fts_{number}) FROM fts_{number} WHERE fts_{number} MATCH :match LIMIT 1",
        {"match": f"owner:({any_owner})"},
    ).get
    counting = f"SELECT doc FROM fts_{number}_terms WHERE term = :term AND col = 'own'"
    counts = {term: conn.get_int(counting, {"term": term}) or 0 for term in terms}
    return Corpus(*map(int, sizes.split())) if isinstance(sizes, str) else Corpus(0, 0, 0), counts


def refresh(conn: Reading) -> None:
    """Refresh the live generation (``FtsTable.refresh``)."""
    number = generation(conn)
    if number:
        _table(number).refresh(conn)


def is_intact(conn: Writing) -> bool:
    """Return whether the live generation agrees with the rows, word for word."""
    return _table(generation(conn)).is_intact(conn)
