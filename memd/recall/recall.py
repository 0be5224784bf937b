"""Memories are found (SPEC 2, D5, D6): understand, search, measure, rank, gate, cut, render.

One recall is a few short reads: where to search, and what the words mean to this store; the
two arms, the words arm while the query is being embedded; then the candidates with their
neighbours, the preferences and the rows of the answer. It never writes inline.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from memd.base.clock import Clock
from memd.base.errors import MemoryRetrievalError, ModelError, UnavailableError
from memd.base.limits import QUERY_CHARS_MAX
from memd.base.turns import Turns, in_turn
from memd.domain.caller import Caller
from memd.domain.encoding import Embedder, ModelFingerprint, PairScorer
from memd.domain.enums import MemoryCategory, MemoryLevel, SearchMode
from memd.domain.memory import MemoryEntry, MemoryFilter, MemoryQuery, Preference
from memd.domain.recall import Provenance, RecallRequest, RecallResult
from memd.domain.settings.retrieval import MemoryRetrievalConfig
from memd.domain.values import RESERVED_AGENT
from memd.guard.outgoing import look_at, outgoing_entry
from memd.recall import answer, listing
from memd.recall.answer import RankedCandidates
from memd.recall.apart import Apart, Ranker
from memd.recall.content import RecallContent, cut, select_content, with_preferences, with_rows
from memd.recall.content import rows as rows_of
from memd.recall.listing import Paging
from memd.recall.query import (
    ArmKeys,
    Begin,
    Search,
    SearchQuery,
    Then,
    Understood,
    answered,
    as_ranked,
    understood,
)
from memd.recall.ranking.crowding import spread
from memd.recall.rerank import rerank, wants_reranking
from memd.recall.search import (
    ARM_ROWS,
    EarlyTask,
    EarlyVector,
    NearestKeys,
    RecallFilter,
    SearchScope,
    by_meaning,
    nearest,
    of_caller,
    of_others,
    words_arm,
)
from memd.recall.select import select
from memd.recall.tuned import ActiveTuning, Tuned, TuningTrial
from memd.store.access import agents
from memd.store.file.connect import Reading
from memd.store.file.database import Database
from memd.store.learn import tunings
from memd.store.memory import memories, shared
from memd.store.memory.preferences import PreferenceRow
from memd.store.memory.rows import StoredMemory

T = TypeVar("T")

OTHER_MODEL = "the memories are being embedded with a new model: only words are searched"
NO_MODEL = "no embedding model: only words are searched; run: memd model install"


@dataclass(frozen=True)
class Recall:
    """The room's needs, handed in by the daemon."""

    db: Database
    embedder: Embedder
    clock: Clock
    config: MemoryRetrievalConfig
    level: MemoryLevel = MemoryLevel.PERSISTENT
    """The level of agents that have none of their own."""
    shares: bool = True
    """``memory.options.shared_knowledge_base``: off, nothing that is shared is found."""
    scorer: PairScorer | None = None
    """The optional re-ranker; without one what it is asked for is ordered by blended scores."""
    tuning: ActiveTuning = field(default_factory=ActiveTuning)
    """What tuning put to use."""
    early: EarlyVector = field(default_factory=EarlyVector)
    """Whether a question is embedded before it is understood."""
    turns: Turns = field(default_factory=Turns)
    """A question is embedded and searched with one model; a change waits for its end."""

    async def recall(
        self, caller: Caller, request: RecallRequest, begun: Callable[[], object] = bool
    ) -> RecallResult:
        """Answer a question: preferences first, then what is relevant, within the budget.

        Says nothing, apart from preferences, when nothing is relevant. The project
        that is asked from moves its own memories up and hides those of level project
        of another; it hides nothing else (SPEC D1). Of a query longer than
        QUERY_CHARS_MAX only the beginning counts. An agent of level none is told
        nothing (SPEC 7.13). Raises MemoryRetrievalError for the reserved agent. *begun* is
        called, at most once, when there is time to read something else.
        """
        caller = replace(caller, project_id=request.project_id or caller.project_id)
        where = request.model_copy(update={"project_id": None})
        asks_shared = request.include_shared
        limited = self._limited(
            caller, where, hidden=request.include_compressed, passing=request.include_passing
        )
        also_shared = self.config.include_shared if asks_shared is None else asks_shared
        begin = partial(
            _scopes,
            caller=caller,
            where=limited,
            level=self.level,
            also_shared=also_shared and self.shares,
        )
        rows = max(ARM_ROWS, request.top_k or 0)
        search = Search(request.query, request.search_mode, rows, begun=begun)
        again = wants_reranking(request, self.config)
        if request.preferences == "first" and not again:
            made = await self._search(begin, search, partial(select_content, request, self.config))
        else:
            made = await self._reranked(begin, search, request, again=again)
        if made is None:
            return answer.nothing()
        return answer.render(made.chosen, made.rows, request, caller.agent_id, made.candidates)

    async def retrieve(
        self, caller: Caller, query: MemoryQuery, mode: SearchMode = SearchMode.HYBRID
    ) -> tuple[MemoryEntry, ...]:
        """Return matching memories, by relevance with text, newest first without (SPEC 7.5, 7.8).

        With text every row of the filter can be reached: there is no gate, only
        ``min_relevance``, ``limit`` and, unless a session is named, the cap on what one
        foreign source may fill (``crowding.py``); but with *mode* words only what holds one of the
        words. Nothing for an agent of level none (SPEC 7.13).
        """
        passing = query.include_passing or query.text is None
        limited = self._limited(caller, query, hidden=query.include_compressed, passing=passing)
        also_shared = query.include_shared and self.shares
        begin = partial(
            _scopes, caller=caller, where=limited, level=self.level, also_shared=also_shared
        )
        return await self._retrieved(begin, query, mode)

    async def tuned(self) -> Tuned | None:
        """Return what tuning put to use for the installed model, if anything is."""
        if self.tuning.unread:
            self.tuning.note(await self.db.read(tunings.active))
        return self.tuning.of(self.embedder.fingerprint)

    async def examined(self, caller: Caller, text: str, trial: TuningTrial) -> RankedCandidates:
        """Return what a recall of *text* would choose from if *trial* were in use."""
        limited = self._limited(caller, MemoryFilter(), hidden=False, passing=False)
        begin = partial(_scopes, caller=caller, where=limited, level=self.level, also_shared=False)
        candidates = await self._search(begin, Search(text, trial=trial), as_ranked)
        return RankedCandidates([], 0.0, None) if candidates is None else candidates

    async def search_shared(
        self, query: MemoryQuery, exclude_agent: str | None = None
    ) -> tuple[MemoryEntry, ...]:
        """Return shared memories that match, under the names of their publishers (SPEC 10.1.2).

        What *exclude_agent* published is left out before the limit. Nothing where
        sharing is switched off. Raises MemoryRetrievalError for the reserved agent.
        """
        if exclude_agent == RESERVED_AGENT:
            raise MemoryRetrievalError(f"{RESERVED_AGENT} is reserved", field="exclude_agent")
        if not self.shares:
            return ()
        reader = None if exclude_agent is None else Caller(agent_id=exclude_agent)
        asked = RecallFilter(query, self.clock.now_us(), query.include_compressed)

        def begin(conn: Reading) -> Sequence[SearchScope]:
            scope = of_others(conn, reader, asked)
            return () if scope is None else [scope]

        return await self._retrieved(begin, query)

    async def _retrieved(
        self, begin: Begin, query: MemoryQuery, mode: SearchMode = SearchMode.HYBRID
    ) -> tuple[MemoryEntry, ...]:
        if query.text is None:
            rows = await self.db.read(_listed, begin, query.limit)
            return tuple(outgoing_entry(row.entry()) for row in rows)
        fill = 0 if mode is SearchMode.WORDS else query.limit
        search = Search(query.text, mode, max(ARM_ROWS, query.limit), fill)
        candidates = await self._search(begin, search, as_ranked)
        if candidates is None:
            return ()
        best = [item for item in candidates.items if item.relevance >= query.min_relevance]
        if query.session_id is None:  # who names one session wants what is in it
            best = spread(best)
        best = best[: query.limit]
        by_key = await self.db.read(rows_of, [item.measured.candidate.memory_key for item in best])
        return tuple(
            outgoing_entry(
                by_key[item.measured.candidate.memory_key].entry(relevance=item.relevance)
            )
            for item in best
            if item.measured.candidate.memory_key in by_key
        )

    async def get(self, caller: Caller, memory_id: str) -> MemoryEntry | None:
        """Return a memory by id; None when unknown, foreign, expired or trashed (SPEC 7.7)."""
        return await self.db.read(listing.one, caller, memory_id, self.clock.now_us())

    async def why(self, caller: Caller, memory_id: str, *, full: bool) -> Provenance | None:
        """Return a memory with what it was made of; None as :meth:`get`."""
        now_us = self.clock.now_us()
        return await self.db.read(
            lambda conn: listing.made_of(conn, caller, memory_id, now_us, full=full)
        )

    async def list(
        self, caller: Caller, where: MemoryFilter, after: str | None, limit: int
    ) -> tuple[tuple[MemoryEntry, ...], str | None]:
        """Return a page of matching memories, newest first, and where the next page begins."""
        return await self.db.read(
            listing.page, caller, where, Paging(after, limit), self.clock.now_us()
        )

    async def export(
        self, caller: Caller, where: MemoryFilter, after: str | None, limit: int
    ) -> tuple[tuple[MemoryEntry, ...], str | None]:
        """Return a page as :meth:`list` does, of what was told: no summary, but its originals."""
        paging = Paging(after, limit, sources=True)
        return await self.db.read(listing.page, caller, where, paging, self.clock.now_us())

    async def count(self, caller: Caller, category: MemoryCategory | None) -> int:
        """Return how many visible memories the agent has, of one category or of all."""
        where = MemoryFilter(categories=None if category is None else frozenset({category}))
        limited = self._limited(caller, where, hidden=False, passing=True)
        scopes = await self.db.read(of_caller, caller, limited, also_shared=False)
        return await self.db.read(memories.count, scopes[0].bound) if scopes else 0

    async def preferences(self, caller: Caller) -> tuple[Preference, ...]:
        """Return the agent's preferences, newest first."""
        return await self.db.read(listing.preferences_of, caller, self.clock.now_us())

    # The steps.

    def _limited(
        self, caller: Caller, asked: MemoryFilter, *, hidden: bool, passing: bool
    ) -> RecallFilter:
        if caller.agent_id == RESERVED_AGENT:
            raise MemoryRetrievalError(f"{RESERVED_AGENT} is reserved", field="agent_id")
        return RecallFilter(asked, self.clock.now_us(), hidden, passing)

    @in_turn
    async def _search(self, begin: Begin, search: Search, then: Then[T]) -> T | None:
        """Return what *then* makes of the candidates; None where there is nowhere to search."""
        text = search.text[:QUERY_CHARS_MAX]
        by_words = search.mode is SearchMode.WORDS
        fingerprint = None if by_words else self.embedder.fingerprint
        early = None if fingerprint is None else self.early.begin(self.embedder, text)
        try:
            known = await self.db.read(
                understood, begin, text, fingerprint, unread=self.tuning.unread
            )
            if known is None:
                return None
            query, arms = await self._searched(known, search, fingerprint, early)
        finally:
            if early is not None:
                early.cancel()
        made = await self.db.read(answered, known.scopes, query, arms, search, then)
        if made is None and (vector := query.vector) is not None:  # few of the nearest match
            near = await asyncio.gather(
                *(by_meaning(self.db, scope, vector, search.rows, few) for scope, few in arms.each)
            )
            arms = arms._replace(near=[NearestKeys(keys) for keys in near])
            made = await self.db.read(answered, known.scopes, query, arms, search, then)
        return made

    async def _searched(
        self,
        known: Understood,
        search: Search,
        fingerprint: ModelFingerprint | None,
        early: EarlyTask | None,
    ) -> tuple[SearchQuery, ArmKeys]:
        """Return what both arms find, the words arm while the question is being embedded."""
        asked, each, mode, trial = known.question, known.each, search.mode, search.trial
        self.tuning.note(known.body)
        tuned = self.tuning.of(fingerprint) if trial is None else trial.tuned
        query = SearchQuery(asked, mode, None, None, tuned, None if trial is None else trial.apart)
        terms = {} if mode is SearchMode.DENSE else asked.written
        counted = tuple(dict.fromkeys([*asked.terms, *asked.content]))
        searching = asyncio.ensure_future(
            self.db.read(words_arm, each, terms, search.rows, counted)
        )
        search.begun()
        try:
            if mode is not SearchMode.WORDS:
                query = await self._with_vector(query, fingerprint, early, cached=known.cached)
            near: Sequence[NearestKeys] = [NearestKeys([]) for _ in each]
            if (vector := query.vector) is not None:
                near = await asyncio.gather(
                    *(nearest(self.db, scope, vector, search.rows, few) for scope, few in each)
                )
            held, counts = await searching
        finally:
            searching.cancel()
        return replace(query, counts=counts), ArmKeys(each, near, held)

    async def _reranked(
        self, begin: Begin, search: Search, request: RecallRequest, *, again: bool
    ) -> RecallContent | None:
        """Return the content where a model has its say on the preferences or on the order."""
        both = await self._search(begin, search, partial(with_preferences, request))
        if both is None:
            return None
        candidates, listed = both
        prefers = await self._preferences(listed, request)
        reordered = again or self.config.diversity_penalty_enabled
        selection = select(candidates.items, request, reordered=reordered)
        items = selection.items
        if again:
            asked = request.query[:QUERY_CHARS_MAX]
            items, candidates = await rerank(self.scorer, asked, items, candidates)
        chosen = cut(request, self.config, selection, items, prefers)
        return await self.db.read(with_rows, selection, chosen, candidates)

    async def _preferences(
        self, rows: Sequence[PreferenceRow], request: RecallRequest
    ) -> Sequence[PreferenceRow]:
        """Return those of *rows* that are told, the relevant ones first, then the newest (SPEC D5).

        Where only *matching* ones are wanted, one that is a memory is found and ranked as
        that, and those that were set by name are ranked and gated by themselves.
        """
        if request.preferences == "first":
            return rows
        named = {row.name: row for row in rows if row.memory_key is None}
        texts = [
            Apart(row.name, f"{row.name.replace('_', ' ')}: {row.value}", row.updated_at_us)
            for row in named.values()
        ]
        query = request.query[:QUERY_CHARS_MAX]
        ranking = await Ranker(self.db, self.embedder).ranked(query, texts)
        return [named[each.key] for each in ranking.fitting]

    async def _with_vector(
        self,
        query: SearchQuery,
        fingerprint: ModelFingerprint | None,
        early: EarlyTask | None,
        *,
        cached: bool | None,
    ) -> SearchQuery:
        """Embed the question, or say why meaning is not searched."""
        dense = query.question.dense
        self.early.note(stands=bool(cached) and dense == query.question.text)
        if fingerprint is None:
            return replace(query, degraded=NO_MODEL)
        if cached is None:
            return query  # nothing has a vector yet
        if not cached:
            return replace(query, degraded=OTHER_MODEL)
        if early is not None and dense != query.question.text:
            early.cancel()  # before the next one waits behind it
            early = None
        try:
            (vector,) = await (self.embedder.embed([dense]) if early is None else early)
        except (UnavailableError, ModelError) as error:
            why = f"the embedding model is not available ({error.kind}): only words are searched"
            return replace(query, degraded=why)
        return replace(query, vector=vector if query.tuned is None else query.tuned.vector(vector))


def _listed(conn: Reading, begin: Begin, limit: int) -> list[StoredMemory]:
    """Return the newest rows of where *begin* says, newest first, then by id."""
    matches = [row for scope in begin(conn) for row in memories.list_page(conn, scope.bound, limit)]
    matches.sort(key=lambda row: (-row.created_at_us, row.memory_id))
    rows = {row.memory_key: row for row in matches[:limit]}
    signed = list(shared.with_publishers(conn, rows).values())
    look_at(row.content for row in signed)
    return signed


def _scopes(
    conn: Reading, caller: Caller, where: RecallFilter, level: MemoryLevel, *, also_shared: bool
) -> Sequence[SearchScope]:
    """Return where to search; nowhere for an agent of level none (SPEC 7.13)."""
    own = agents.level(conn, caller.agent_id)
    if (own or level) is MemoryLevel.NONE:
        return ()
    return of_caller(conn, caller, where, also_shared=also_shared)
