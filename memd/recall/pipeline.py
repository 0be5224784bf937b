"""The retrieval pipeline: parse a question, retrieve candidates, rank them.

One search is three short reads and no write: the question is parsed against what the store knows;
sparse retrieval runs while the model embeds the question; then what both retrievers returned is
filtered, ranked, and handed to the caller in the same snapshot.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

from memd.base.errors import ModelError, UnavailableError
from memd.base.work import SharedLock
from memd.domain.encoding import Embedder, Encoding, ModelFingerprint
from memd.domain.enums import SearchMode
from memd.domain.values import matched_part
from memd.embedding.model_files import FINGERPRINT
from memd.extract.times import find_periods
from memd.recall.candidates import (
    PERSON_ROWS,
    REFETCH_FACTOR,
    DenseKeys,
    Ranking,
    SearchQuery,
    dense_search,
    matching_dense,
    person_first,
    rank_candidates,
    sparse_search,
)
from memd.recall.question import Question, name_candidates, question
from memd.recall.ranking.rankings import RETRIEVED_ROWS
from memd.recall.ranking.weights import ActiveTuning, TuningTrial
from memd.recall.scope import SearchScope, SearchTarget, search_targets
from memd.recall.times import (
    asks_for_last_session,
    event_periods,
    find_plans,
    list_last_digests,
)
from memd.store.access import names
from memd.store.file.connect import Reading
from memd.store.file.database import Database
from memd.store.learn import tunings
from memd.store.memory import memories
from memd.store.search import fulltext, vectors

T = TypeVar("T")

OTHER_MODEL = "the memories are being embedded with a new model: only words are searched"
NO_MODEL = "no embedding model: only words are searched; run: memd model install"


ScopeResolver = Callable[[Reading], Sequence[SearchScope]]
"""Says where to search; empty where there is nothing to search."""
Finish = Callable[[Reading, Sequence[SearchScope], Ranking], T]
"""Makes an answer of the candidates, in the read that ranked them."""


class Search(NamedTuple):
    """A question, and how to search for it."""

    text: str
    mode: SearchMode = SearchMode.HYBRID
    rows: int = RETRIEVED_ROWS
    """How many each retriever returns."""
    minimum: int = 0
    """Other rows of the scope fill up to this many candidates."""
    trial: TuningTrial | None = None
    """A tuning to use in place of the active one."""
    on_retrieving: Callable[[], object] = bool
    """Called once both retrievers run: there is time to read something else."""


class ParsedSearch(NamedTuple):
    """A question as this store knows its words, and where to search for it."""

    question: Question
    scopes: Sequence[SearchScope]
    targets: Sequence[SearchTarget]
    model_key: int | None
    """The current model; 0 where stored vectors are another's, None where there are none."""
    tuning: dict[str, Any] | None
    """The stored tuning, if it had not been loaded yet."""
    shards: range
    """The shards that may have vectors."""


class RetrievedKeys(NamedTuple):
    """What each retriever returned, per target."""

    targets: Sequence[SearchTarget]
    nearest: int
    """How many the dense one had to return: more where one person's turns come first."""
    dense: Sequence[DenseKeys]
    sparse: Sequence[list[int]]


EmbeddingTask = asyncio.Task[list[Encoding]]


@dataclass
class RetrievalPipeline:
    """Runs searches over one file with one model.

    The text to embed is known only after speakers' names are taken out, but few questions name any.
    So if the last question was embedded unchanged, the next one is sent to the model at once, while
    the store is read. A wrong guess costs the model's thread one short text.
    """

    db: Database
    embedder: Embedder
    tuning: ActiveTuning
    model_lock: SharedLock
    """Held while a question is embedded and searched; a change of model waits for its end."""
    embeds_ahead: bool = False
    """Whether the last question was embedded as it was asked."""

    async def run(self, scopes: ScopeResolver, search: Search, finish: Finish[T]) -> T | None:
        """Return what *finish* makes of the candidates; None where there is nothing to search."""
        read, text = self.db.read, matched_part(search.text)
        by_words = search.mode is SearchMode.WORDS
        async with self.model_lock.shared():
            fingerprint = None if by_words else self.embedder.fingerprint
            embedding: EmbeddingTask | None = None
            if fingerprint is not None and self.embeds_ahead:
                embedding = asyncio.create_task(self.embedder.encode([text]))
                # Its error is retrieved also where nobody awaits it, or asyncio would warn.
                embedding.add_done_callback(lambda task: task.cancelled() or task.exception())
            try:
                parsed = await read(
                    parse_search, scopes, text, fingerprint, load_tuning=not self.tuning.loaded
                )
                if parsed is None:
                    return None
                query, keys = await self._retrieve(parsed, search, fingerprint, embedding)
            finally:
                if embedding is not None:
                    embedding.cancel()
            factor = 1
            while True:
                answer = await read(rank_and_finish, parsed.scopes, query, keys, search, finish)
                if answer is not None or all(each.fetched is None for each in keys.dense):
                    return answer
                factor *= REFETCH_FACTOR  # too few of the nearest match the filter: search on
                keys = keys._replace(dense=await self._dense(query, keys, factor))

    async def _retrieve(
        self,
        parsed: ParsedSearch,
        search: Search,
        fingerprint: ModelFingerprint | None,
        embedding: EmbeddingTask | None,
    ) -> tuple[SearchQuery, RetrievedKeys]:
        """Run both retrievers, the sparse one while the question is being embedded."""
        asked, targets, mode, trial = parsed.question, parsed.targets, search.mode, search.trial
        if not self.tuning.loaded:
            self.tuning.load(parsed.tuning)
        tuned = None if self.tuning.tuned is None else self.tuning.for_model(fingerprint)
        query = SearchQuery(
            asked,
            mode,
            tuning=tuned if trial is None else trial.tuned,
            excluded_key=None if trial is None else trial.excluded_key,
            shards=parsed.shards,
        )
        rows = search.rows
        if asked.person is not None and mode is SearchMode.HYBRID:
            rows = max(rows, PERSON_ROWS)
        terms = {} if mode is SearchMode.DENSE else asked.written
        counted = tuple(dict.fromkeys([*asked.terms, *asked.content]))
        sparse_task = asyncio.ensure_future(
            self.db.read(sparse_search, targets, terms, search.rows, counted)
        )
        search.on_retrieving()
        try:
            if mode is not SearchMode.WORDS:
                query = await self._embed(query, fingerprint, embedding, parsed.model_key)
            keys = RetrievedKeys(targets, rows, [DenseKeys([]) for _ in targets], [])
            if query.vector is not None:
                keys = keys._replace(dense=await self._dense(query, keys))
            sparse, statistics = await sparse_task
        finally:
            sparse_task.cancel()
        return replace(query, statistics=statistics), keys._replace(sparse=sparse)

    async def _dense(
        self, query: SearchQuery, keys: RetrievedKeys, factor: int = 1
    ) -> Sequence[DenseKeys]:
        assert query.vector is not None
        find = partial(dense_search, self.db, vector=query.vector, shards=query.shards)
        return await asyncio.gather(
            *(find(target=target, rows=keys.nearest, factor=factor) for target in keys.targets)
        )

    async def _embed(
        self,
        query: SearchQuery,
        fingerprint: ModelFingerprint | None,
        embedding: EmbeddingTask | None,
        model_key: int | None,
    ) -> SearchQuery:
        """Return *query* with its vector, or with the reason why it has none."""
        text = query.question.dense
        unchanged = text == query.question.text
        self.embeds_ahead = bool(model_key) and unchanged
        if fingerprint is None:
            return replace(query, degraded=NO_MODEL)
        if model_key is None:
            return query  # no memory has a vector yet
        if not model_key:
            return replace(query, degraded=OTHER_MODEL)
        if embedding is not None and not unchanged:
            embedding.cancel()  # the model's thread would finish it first
            embedding = None
        try:
            (encoding,) = await (self.embedder.encode([text]) if embedding is None else embedding)
        except (UnavailableError, ModelError) as error:
            why = f"the embedding model is not available ({error.kind}): only words are searched"
            return replace(query, degraded=why)
        vector, tokens = encoding
        if not tokens and fingerprint == FINGERPRINT:
            return query  # the model knows no word or sign that it is about
        vector = vector if query.tuning is None else query.tuning.vector(vector)
        return replace(query, vector=vector, model_key=model_key, tokens=tokens)


# The reads, in order.


def parse_search(
    conn: Reading,
    scopes: ScopeResolver,
    text: str,
    fingerprint: ModelFingerprint | None,
    *,
    load_tuning: bool = False,
) -> ParsedSearch | None:
    """Parse *text* with this store's speakers, stemmer and events; None with no scope to search."""
    resolved = scopes(conn)
    if not resolved:
        return None
    agent_keys = [scope.result_filter.agent_key for scope in resolved]
    speakers = names.find_speakers(conn, agent_keys, name_candidates(text))
    model_key = None if fingerprint is None else vectors.live_model(conn, fingerprint.text)
    stem = fulltext.stemmer(conn)
    times = find_periods(text, resolved[0].result_filter.now_us) or event_periods(
        conn, resolved, text, stem
    )
    asked = question(text, speakers, stem, times, resolved[0].result_filter.now_us)
    if asks_for_last_session(text):
        asked = replace(asked, last_digests=list_last_digests(conn, resolved[0]))
    if asked.asks_planned:
        asked = replace(asked, plans=find_plans(conn, resolved[0], times))
    tuning = tunings.read_active(conn) if load_tuning else None
    targets = search_targets(conn, resolved, asked)
    shards = vectors.used_shards(conn)
    return ParsedSearch(asked, resolved, targets, model_key, tuning, shards)


def rank_and_finish(
    conn: Reading,
    scopes: Sequence[SearchScope],
    query: SearchQuery,
    retrieved: RetrievedKeys,
    search: Search,
    finish: Finish[T],
) -> T | None:
    """Rank what was retrieved and return what *finish* makes of it; None if more must be fetched.

    All in one read: a round trip to a connection takes longer than most of the steps.
    """
    dense = matching_dense(conn, retrieved.targets, retrieved.dense, retrieved.nearest)
    if dense is None:
        return None
    if (person := query.question.person) is not None and retrieved.nearest > search.rows:
        dense = [person_first(conn, its_keys, person, search.rows) for its_keys in dense]
    results = [*zip(retrieved.targets, dense, strict=True)]
    results += zip(retrieved.targets, retrieved.sparse, strict=True)
    by_scope = [[keys for target, keys in results if target.scope is scope] for scope in scopes]
    by_scope[0].append([*query.question.last_digests, *query.question.plans])
    keys = [list(dict.fromkeys(itertools.chain(*its))) for its in by_scope]
    candidates = rank_candidates(conn, scopes, query, keys)
    if len(candidates.items) < search.minimum:  # counted as shown: a summary may stand for many
        fill = [memories.find_keys(conn, scope.visible, search.minimum) for scope in scopes]
        more = [list(dict.fromkeys([*k, *r])) for k, r in zip(keys, fill, strict=True)]
        if more != keys:
            candidates = rank_candidates(conn, scopes, query, more)
    return finish(conn, scopes, candidates)


def return_candidates(
    _conn: Reading, _scopes: Sequence[SearchScope], candidates: Ranking
) -> Ranking:
    """Finish a search with its candidates as they are."""
    return candidates
