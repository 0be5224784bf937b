"""The two retrievers: sparse, by words (BM25), and dense, by vectors; both filtered exactly.

Each returns the best of exactly the rows that a brute-force filter would keep (SPEC D6). The rows
of a filter that keeps few are listed and scored directly. Otherwise a retriever fetches more rows
than it needs, drops those that do not match, and fetches again until it has enough.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from memd.base.limits import KNN_ROWS_MAX
from memd.recall.ranking.features import Statistics
from memd.recall.scope import SearchScope, SearchTarget
from memd.store.file.connect import Reading
from memd.store.file.database import Database
from memd.store.memory import memories
from memd.store.search import candidate_rows, fulltext, vectors

RETRIEVED_ROWS = 64  # by each retriever; 100 find no more and cost a third more (decision 0164)
PERSON_ROWS = 3 * RETRIEVED_ROWS  # among these, who is asked about comes first (decision 0233)
REFETCH_FACTOR = 4  # how many more rows are fetched when too few of the first matched
POSTINGS_MAX = 3_000  # memories that the terms looked up may hold in all: about 10 ms of BM25


# Sparse.


def sparse_search(
    conn: Reading,
    targets: Sequence[SearchTarget],
    written: Mapping[str, str],
    rows: int,
    counted: Sequence[str],
) -> tuple[list[list[int]], Statistics]:
    """Return up to *rows* keys per target, by BM25, and what the index counts of *counted*.

    *written* has a word of the question for each term.
    """
    owners = [owner for target in targets for owner in target.scope.owners]
    statistics = Statistics(fulltext.corpus(conn, owners), fulltext.frequencies(conn, counted))
    return [sparse_keys(conn, target, written, rows, statistics) for target in targets], statistics


def sparse_keys(
    conn: Reading,
    target: SearchTarget,
    written: Mapping[str, str],
    rows: int,
    statistics: Statistics,
) -> list[int]:
    """Return up to *rows* matching memories that hold any of the terms, by BM25."""
    if not written:
        return []
    scope, listed = target
    words = [written[term] for term in rare_terms(list(written), statistics)]
    match = fulltext.match_query(words, scope.owners)
    if listed is not None:
        return fulltext.search_keys(conn, match, listed, rows)
    limit = _first_limit(scope, rows)
    while True:
        hits = fulltext.search(conn, match, limit)
        matching = _matching(conn, scope, hits)
        if len(matching) >= rows or len(hits) < limit:
            return matching[:rows]
        limit *= REFETCH_FACTOR


def rare_terms(terms: Sequence[str], statistics: Statistics) -> Sequence[str]:
    """Return the terms worth looking up: the rarest, within POSTINGS_MAX, but at least one.

    Dense retrieval finds what a common term would; in the ranking every term counts.
    """
    if statistics.corpus.rows * len(terms) <= POSTINGS_MAX:
        return terms
    counts = statistics.frequencies
    known = sorted((term for term in terms if counts[term]), key=counts.__getitem__)
    totals = itertools.accumulate(counts[term] for term in known)
    cheap = [term for term, total in zip(known, totals, strict=True) if total <= POSTINGS_MAX]
    return cheap or known[:1] or list(terms)


# Dense.


class DenseKeys(NamedTuple):
    """The memories nearest to a vector; *fetched* is None where all of them match the filter."""

    keys: list[int]
    fetched: int | None = None


async def dense_first(db: Database, target: SearchTarget, vector: bytes, rows: int) -> DenseKeys:
    """Return a first attempt at the nearest, still to be passed to :func:`matching_dense`."""
    limit = _first_limit(target.scope, rows)
    if target.keys is not None or limit > KNN_ROWS_MAX:
        return DenseKeys(await dense_keys(db, target, vector, rows))
    return DenseKeys(await _scan_shards(db, target.scope, vector, limit), limit)


def matching_dense(
    conn: Reading, targets: Sequence[SearchTarget], dense: Sequence[DenseKeys], rows: int
) -> list[list[int]] | None:
    """Return up to *rows* matching keys per target; None if more might match than were fetched.

    Part of the read that ranks them: a transaction of its own would cost as much again.
    """
    matching = [
        _matching_fetched(conn, target.scope, fetched, rows)
        for target, fetched in zip(targets, dense, strict=True)
    ]
    complete = [keys for keys in matching if keys is not None]
    return complete if len(complete) == len(matching) else None


async def dense_keys(db: Database, target: SearchTarget, vector: bytes, rows: int) -> list[int]:
    """Return up to *rows* matching memories nearest to *vector*, however many do not match."""
    scope, listed = target
    if listed is not None:
        return _nearest([await db.read(_among, vector, listed)], rows)
    limit = _first_limit(scope, rows)
    while limit <= KNN_ROWS_MAX:
        fetched = DenseKeys(await _scan_shards(db, scope, vector, limit), limit)
        matching = await db.read(_matching_fetched, scope, fetched, rows)
        if matching is not None:
            return matching
        limit *= REFETCH_FACTOR
    # The filter keeps many rows, all far from the question: scan them.
    scans = [db.scan(_scan_matching, scope, vector, shard) for shard in range(vectors.SHARDS)]
    return _nearest(await asyncio.gather(*scans), rows)


async def _scan_shards(db: Database, scope: SearchScope, vector: bytes, limit: int) -> list[int]:
    """Return the nearest keys of all shards, which are scanned in parallel.

    Each scan may see another snapshot, but a memory never changes its shard.
    """
    shards = range(vectors.SHARDS)
    scans = [db.scan(vectors.search, vector, scope.partitions(at), limit) for at in shards]
    return _nearest(await asyncio.gather(*scans), limit)


def person_first(conn: Reading, keys: Sequence[int], person: str, rows: int) -> list[int]:
    """Return *rows* of the nearest *keys*: what *person* (casefolded) says, then the others.

    Everyone speaks of what a question is about; who is asked about answers it in most cases.
    """
    speakers = candidate_rows.read_speakers(conn, keys)
    return sorted(keys, key=lambda key: speakers.get(key, "").casefold() != person)[:rows]


def _nearest(shards: Sequence[Sequence[vectors.DenseMatch]], rows: int) -> list[int]:
    nearest = sorted(
        itertools.chain(*shards), key=lambda neighbour: (-neighbour.cosine, neighbour.memory_key)
    )
    return [neighbour.memory_key for neighbour in nearest[:rows]]


def _scan_matching(
    conn: Reading, scope: SearchScope, vector: bytes, shard: int
) -> list[vectors.DenseMatch]:
    keys = memories.find_keys(conn, scope.searched, -1)
    return _among(conn, vector, [key for key in keys if vectors.shard(key) == shard])


def _among(conn: Reading, vector: bytes, keys: Sequence[int]) -> list[vectors.DenseMatch]:
    return [vectors.DenseMatch(*pair) for pair in vectors.cosines_of(conn, vector, keys).items()]


def _matching_fetched(
    conn: Reading, scope: SearchScope, dense: DenseKeys, rows: int
) -> list[int] | None:
    if dense.fetched is None:
        return dense.keys
    matching = _matching(conn, scope, dense.keys)
    enough = len(matching) >= rows or len(dense.keys) < dense.fetched
    return matching[:rows] if enough else None


def _first_limit(scope: SearchScope, rows: int) -> int:
    """Return how many rows to fetch first: more than *rows* where a filter drops some."""
    return rows * 2 if scope.searched.is_selective else rows


def _matching(conn: Reading, scope: SearchScope, keys: Sequence[int]) -> list[int]:
    matching = memories.filter_keys(conn, scope.indexed, keys)
    return [key for key in keys if key in matching]
