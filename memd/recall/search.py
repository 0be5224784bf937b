"""Finding candidates: the words arm and the dense arm, filtered exactly.

Each arm returns the best of exactly the rows that a brute-force filter would
keep (SPEC D6). A filter that keeps few rows is turned round: its rows are
listed and scored directly. Otherwise an arm fetches more than it needs, drops
what does not match, and fetches more until it has enough.

A search reads the caller's memories and what others published (SPEC 10.1). Shared memories
are rows of the reserved agent, so they are a scope of their own beside the personal one:
the same filter, the same arms, one ranking. Where there is nothing to find, there is no
scope, and nobody pays for looking.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from memd.base.limits import KNN_ROWS_MAX
from memd.domain.caller import Caller
from memd.domain.encoding import Embedder
from memd.domain.memory import MemoryFilter
from memd.extract.time_words import Grain
from memd.recall.question import Question
from memd.store.access import names
from memd.store.file.connect import Reading
from memd.store.file.database import Database
from memd.store.memory import memories, shared
from memd.store.memory.filters import (
    BoundFilter,
    bind,
    bind_cached_search,
    bind_search,
    by_other_publishers,
    without_passing,
)
from memd.store.search import fulltext, vectors
from memd.store.search.cache_parts import CachePart, owner_token

ARM_ROWS = 64  # of each arm; 100 find no more and cost a third more
LISTED_ROWS_MAX = 2_000  # a filter that keeps no more is listed and scored row by row
MORE = 4  # times as many are fetched when too few of the first matched
WORDS_ROWS = 3_000  # memories that the terms looked up may hold in all: about 10 ms of BM25


@dataclass(frozen=True, slots=True)
class SearchScope:
    """Which rows are searched."""

    bound: BoundFilter
    """What may be shown."""
    reach: BoundFilter
    """What is searched: memories themselves; a summary is shown for what stands behind it."""
    here: BoundFilter
    """Without the filter: what the caller's session and project let it see."""
    hidden: bool
    passing: bool = False
    """Whether turns that state nothing are searched, too."""

    @property
    def agent_key(self) -> int:
        return self.bound.agent_key

    @property
    def parts(self) -> list[CachePart]:
        """Return the parts of the caches that hold all of *reach*."""
        more = [CachePart.PASSING] if self.passing else []
        if self.hidden:
            return [CachePart.SEARCHED, CachePart.HIDDEN, *more]
        return [
            CachePart.SEARCHED,
            *([CachePart.SUMMARY] if self.reach.splits_summaries else []),
            *more,
        ]

    @property
    def visible(self) -> BoundFilter:
        """Return what may stand in an answer."""
        return self.reach if self.hidden else self.bound

    @property
    def candidates(self) -> BoundFilter:
        """Return what of the rows of *parts* is in *reach*; costs less to ask."""
        return bind_cached_search(self.bound, hidden=self.hidden)

    @property
    def owners(self) -> list[str]:
        return [owner_token(self.agent_key, part) for part in self.parts]

    def partitions(self, shard: int) -> list[int]:
        return [vectors.partition(self.agent_key, part, shard) for part in self.parts]


def few(conn: Reading, scope: SearchScope) -> list[int] | None:
    """Return the rows of a filter that keeps few; None without a filter, or if it keeps many."""
    if not scope.reach.is_selective:
        return None
    keys = memories.find_keys(conn, scope.reach, LISTED_ROWS_MAX + 1)
    return keys if len(keys) <= LISTED_ROWS_MAX else None


Reach = tuple[SearchScope, Sequence[int] | None]
"""What an arm reads: a scope, and its rows where a filter or a time keeps few."""


def reaches(conn: Reading, scopes: Sequence[SearchScope], asked: Question) -> list[Reach]:
    """Return what the arms read: each scope, and each once more for what lies in its times."""
    each: list[Reach] = [(scope, few(conn, scope)) for scope in scopes]
    return each + [(scope, rows) for scope in scopes if (rows := _in_time(conn, scope, asked))]


def _in_time(conn: Reading, scope: SearchScope, asked: Question) -> list[int]:
    """Return the rows that lie in one of *times*, a stretch like last week; none for very many.

    "What did I do yesterday" has hardly another word to be found by. For a date of the
    calendar the other arms find as much and less beside, unless a time is all there is to go
    by (decision 0107).
    """
    keys: dict[int, None] = {}
    for one in asked.times:
        if (one.dates or one.grain is Grain.YEAR) and not asked.only_time:
            continue
        stretches = [(one.from_us, one.to_us), *([one.other] if one.other else [])]
        for low_us, high_us in stretches:
            if low_us is not None and high_us is not None:
                rows = memories.find_in_period(
                    conn, scope.reach, low_us, high_us, LISTED_ROWS_MAX + 1
                )
                keys.update(dict.fromkeys(rows))
    return list(keys) if len(keys) <= LISTED_ROWS_MAX else []


def gathered(
    scope: SearchScope, read: Sequence[Reach], *arms: Sequence[Sequence[int]]
) -> list[int]:
    """Return what *arms* found of *scope*, each once; they answer in the order of *read*."""
    each = (keys for arm in arms for (its, _), keys in zip(read, arm, strict=True) if its is scope)
    return list(dict.fromkeys(itertools.chain.from_iterable(each)))


def words_arm(
    conn: Reading,
    each: Sequence[Reach],
    written: Mapping[str, str],
    rows: int,
    counted: Sequence[str],
) -> tuple[list[list[int]], dict[str, int]]:
    """Return what the words arm finds in each scope, and how many memories hold each term."""
    counts = fulltext.frequencies(conn, counted)
    return [by_words(conn, scope, written, rows, few, counts) for scope, few in each], counts


def by_words(
    conn: Reading,
    scope: SearchScope,
    written: Mapping[str, str],
    rows: int,
    listed: Sequence[int] | None,
    counts: Mapping[str, int] | None = None,
) -> list[int]:
    """Return up to *rows* matching memories that hold any of the terms, by BM25.

    *written* is a word for each term; *counts* says how many memories hold each, where
    that is known.
    """
    if not written:
        return []
    chosen = rare(conn, scope, list(written), counts)
    match = fulltext.match_query([written[term] for term in chosen], scope.owners)
    if listed is not None:
        return [hit.memory_key for hit in fulltext.search_keys(conn, match, listed, rows)]
    limit = _first(scope, rows)
    while True:
        hits = [hit.memory_key for hit in fulltext.search(conn, match, limit)]
        fit = _matching(conn, scope, hits)
        if len(fit) >= rows or len(hits) < limit:
            return fit[:rows]
        limit *= MORE


def rare(
    conn: Reading, scope: SearchScope, terms: Sequence[str], counts: Mapping[str, int] | None = None
) -> Sequence[str]:
    """Return the terms worth looking up: the rarest, as many as WORDS_ROWS holds, but one at least.

    What a common term would find, the other arm finds as well or nobody misses; it
    still counts in the ranking of every candidate.
    """
    if fulltext.corpus(conn, scope.owners).rows * len(terms) <= WORDS_ROWS:
        return terms
    if counts is None:
        counts = fulltext.frequencies(conn, terms)
    known = sorted((term for term in terms if counts[term]), key=lambda term: counts[term])
    sums = itertools.accumulate(counts[term] for term in known)
    cheap = [term for term, rows in zip(known, sums, strict=True) if rows <= WORDS_ROWS]
    return cheap or known[:1] or list(terms)


class NearestKeys(NamedTuple):
    """The memories of a scope nearest to a vector; *fetched* is None where all of them match."""

    keys: list[int]
    fetched: int | None = None


async def nearest(
    db: Database, scope: SearchScope, vector: bytes, rows: int, listed: Sequence[int] | None
) -> NearestKeys:
    """Return what is nearest to *vector* at the first attempt, of which :func:`fitting` takes."""
    limit = _first(scope, rows)
    if listed is not None or limit > KNN_ROWS_MAX:
        return NearestKeys(await by_meaning(db, scope, vector, rows, listed))
    return NearestKeys(await _scanned(db, scope, vector, limit), limit)


def fitting(
    conn: Reading, each: Sequence[Reach], near: Sequence[NearestKeys], rows: int
) -> list[list[int]] | None:
    """Return up to *rows* of each of *near* that match; None if there may be more than was fetched.

    It is a step of the read that ranks them: a transaction of its own would cost as much again.
    """
    fit = [_fit(conn, scope, its, rows) for (scope, _), its in zip(each, near, strict=True)]
    known = [keys for keys in fit if keys is not None]
    return known if len(known) == len(fit) else None


def _fit(conn: Reading, scope: SearchScope, near: NearestKeys, rows: int) -> list[int] | None:
    if near.fetched is None:
        return near.keys
    fit = _matching(conn, scope, near.keys)
    return fit[:rows] if len(fit) >= rows or len(near.keys) < near.fetched else None


async def by_meaning(
    db: Database, scope: SearchScope, vector: bytes, rows: int, listed: Sequence[int] | None
) -> list[int]:
    """Return up to *rows* matching memories nearest to *vector*, however many do not match."""
    if listed is not None:
        return _nearest([await db.read(_among, vector, listed)], rows)
    limit = _first(scope, rows)
    while limit <= KNN_ROWS_MAX:
        near = NearestKeys(await _scanned(db, scope, vector, limit), limit)
        fit = await db.read(_fit, scope, near, rows)
        if fit is not None:
            return fit
        limit *= MORE
    # The filter's rows are many, and far from the query. Scan them.
    wide = [db.scan(_of_shard, scope, vector, shard) for shard in range(vectors.SHARDS)]
    return _nearest(await asyncio.gather(*wide), rows)


async def _scanned(db: Database, scope: SearchScope, vector: bytes, limit: int) -> list[int]:
    """Return the nearest of all that *scope* may hold; its shards are scanned side by side.

    They may be seen at different moments; a memory never changes its own.
    """
    shards = range(vectors.SHARDS)
    scans = [db.scan(vectors.search, vector, scope.partitions(at), limit) for at in shards]
    return _nearest(await asyncio.gather(*scans), limit)


def _nearest(shards: Sequence[Sequence[vectors.DenseMatch]], rows: int) -> list[int]:
    near = sorted(itertools.chain(*shards), key=lambda each: (-each.cosine, each.memory_key))
    return [each.memory_key for each in near[:rows]]


def _of_shard(
    conn: Reading, scope: SearchScope, vector: bytes, shard: int
) -> list[vectors.DenseMatch]:
    every = memories.find_keys(conn, scope.reach, -1)
    return _among(conn, vector, [key for key in every if vectors.shard(key) == shard])


def _among(conn: Reading, vector: bytes, listed: Sequence[int]) -> list[vectors.DenseMatch]:
    return [vectors.DenseMatch(*each) for each in vectors.cosines_of(conn, vector, listed).items()]


def _first(scope: SearchScope, rows: int) -> int:
    """Return how many are fetched at first: more than *rows* where a filter drops some."""
    return rows * 2 if scope.reach.is_selective else rows


def _matching(conn: Reading, scope: SearchScope, keys: Sequence[int]) -> list[int]:
    matching = memories.filter_keys(conn, scope.candidates, keys)
    return [key for key in keys if key in matching]


@dataclass(frozen=True, slots=True)
class RecallFilter:
    """What is asked for, at which moment; *hidden* adds what was put away."""

    filter: MemoryFilter
    now_us: int
    hidden: bool = False
    passing: bool = False
    """Whether turns that state nothing are among it."""


def of_caller(
    conn: Reading, caller: Caller, where: RecallFilter, *, also_shared: bool
) -> list[SearchScope]:
    """Return the caller's own scope and, if anything is there, that of what others shared.

    Empty for an agent that nobody has heard of, when nothing is shared either.
    """
    agent_key = names.find_agent(conn, caller.agent_id)
    kept = _bound(agent_key or 0, where, caller)
    here = bind(agent_key or 0, MemoryFilter(), where.now_us, active=caller)
    shared_one = of_others(conn, caller, where) if also_shared else None
    if shared_one is not None:
        return [_scope(kept, here, where), shared_one]
    return [] if agent_key is None else [_scope(kept, here, where)]


def of_others(conn: Reading, reader: Caller | None, where: RecallFilter) -> SearchScope | None:
    """Return the scope of what others than *reader* published, None when there is nothing.

    The project that is asked from hides what was shared for another one alone.
    """
    reader_key = None if reader is None else names.find_agent(conn, reader.agent_id)
    agent_key = shared.shared_agent_key(conn, reader_key)
    if agent_key is None:
        return None
    active = None if reader is None else replace(reader, session_id=None)
    kept = _bound(agent_key, where, active)
    here = bind(agent_key, MemoryFilter(), where.now_us, active=active)
    if reader_key is not None and shared.has_published(conn, reader_key):
        kept, here = by_other_publishers(kept, reader_key), by_other_publishers(here, reader_key)
    return _scope(kept, here, where)


def _bound(agent_key: int, where: RecallFilter, active: Caller | None) -> BoundFilter:
    kept = bind(agent_key, where.filter, where.now_us, hidden=where.hidden, active=active)
    return kept if where.passing else without_passing(kept)


def _scope(kept: BoundFilter, here: BoundFilter, where: RecallFilter) -> SearchScope:
    reach = bind_search(kept, hidden=where.hidden)
    return SearchScope(kept, reach, here, where.hidden, where.passing)


EarlyTask = asyncio.Task[list[bytes]]


class EarlyVector:
    """A question is embedded while it is being understood, where the last one showed that it pays.

    What is embedded is known once the names of its speakers are taken out, and few questions
    have any. So where the last one was embedded as it stands, the next one is, too, at once:
    the model is at work while the store is read. A guess that was wrong costs one text's time
    in the model's thread.
    """

    def __init__(self) -> None:
        self._stands = False

    def begin(self, embedder: Embedder, text: str) -> EarlyTask | None:
        """Begin to embed *text* where that is likely what is wanted. Whoever asks cancels it."""
        if not self._stands:
            return None
        task = asyncio.create_task(_embedded(embedder, text))
        task.add_done_callback(_looked_at)
        return task

    def note(self, *, stands: bool) -> None:
        """Note whether a question was embedded as it stands."""
        self._stands = stands


async def _embedded(embedder: Embedder, text: str) -> list[bytes]:
    return await embedder.embed([text])


def _looked_at(task: EarlyTask) -> None:
    """Leave no warning of an error that nobody waited for."""
    if not task.cancelled():
        task.exception()
