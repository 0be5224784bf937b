"""Answer questions from an agent's memories (SPEC 2, D5, D6); list and count them.

A recall is a search (``pipeline.py``) whose ranked candidates are selected, fitted to the budget
and rendered (``answer.py``), read in the snapshot that ranked them. It never writes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from memd.base.clock import Clock
from memd.base.errors import MemoryRetrievalError
from memd.base.work import SharedLock
from memd.domain.caller import Caller
from memd.domain.encoding import Embedder, PairScorer
from memd.domain.enums import MemoryCategory, MemoryLevel, SearchMode
from memd.domain.memory import MemoryEntry, MemoryFilter, MemoryQuery, Preference
from memd.domain.recall import Provenance, RecallRequest, RecallResult
from memd.domain.settings.retrieval import MemoryRetrievalConfig
from memd.domain.values import RESERVED_AGENT
from memd.guard.redaction import redact_entry, screen_ahead
from memd.recall import answer, listing
from memd.recall.answer import AnswerContent
from memd.recall.candidates import Ranking
from memd.recall.foreign_cap import spread
from memd.recall.listing import PageRequest
from memd.recall.pipeline import RetrievalPipeline, ScopeResolver, Search, return_candidates
from memd.recall.ranking.rankings import RETRIEVED_ROWS
from memd.recall.ranking.weights import ActiveTuning, RankerTuning, TuningTrial
from memd.recall.rerank import rerank
from memd.recall.scope import (
    RecallFilter,
    SearchScope,
    caller_scopes,
    shared_scope,
)
from memd.recall.select import select
from memd.recall.text_ranker import RankableText, TextRanker
from memd.store.access import names
from memd.store.file.connect import Reading
from memd.store.file.database import Database
from memd.store.learn import tunings
from memd.store.memory import memories, shared
from memd.store.memory.filters import by_other_publishers
from memd.store.memory.preferences import PreferenceRow
from memd.store.memory.rows import StoredMemory
from memd.text.languages import is_english
from memd.text.words import content_stems

ALL_PREFERENCES = "preferences"
"""Ranked beside the preferences: where it answers best, somebody asks for all of them."""


@dataclass(frozen=True)
class Recall:
    """The recall room; the daemon hands in what it needs."""

    db: Database
    embedder: Embedder
    clock: Clock
    config: MemoryRetrievalConfig
    level: MemoryLevel = MemoryLevel.PERSISTENT
    """The level of agents that have none of their own."""
    shares: bool = True
    """``memory.options.shared_knowledge_base``: off, no shared memory is searched."""
    scorer: PairScorer | None = None
    """The optional re-ranker; without one, re-ranking orders by blended scores."""
    tuning: ActiveTuning = field(default_factory=ActiveTuning)
    model_lock: SharedLock = field(default_factory=SharedLock)

    @cached_property
    def pipeline(self) -> RetrievalPipeline:
        return RetrievalPipeline(self.db, self.embedder, self.tuning, self.model_lock)

    async def recall(
        self,
        caller: Caller,
        request: RecallRequest,
        on_retrieving: Callable[[], object] = bool,
    ) -> RecallResult:
        """Answer a question: preferences first, then relevant memories, within the budget.

        The answer holds only preferences when nothing is relevant. Memories of the active project
        rank higher, and those of level project of another project are hidden (SPEC D1). An agent of
        level none gets nothing (SPEC 7.13). *on_retrieving* is called, at most once, when there is
        time to read something else. Raises MemoryRetrievalError for the reserved agent.
        """
        caller = replace(caller, project_id=request.project_id or caller.project_id)
        request = request.model_copy(update={"project_id": caller.project_id})
        where = RecallFilter(
            request.model_copy(update={"project_id": None}),
            self.clock.now_us(),
            request.include_compressed,
            request.include_passing,
            request.show_sources,
        )
        also_shared = self.config.include_shared
        if request.include_shared is not None:
            also_shared = request.include_shared
        scopes = self._scopes(caller, where, also_shared=also_shared)
        search = Search(
            request.query,
            request.search_mode,
            max(RETRIEVED_ROWS, request.top_k or 0),
            on_retrieving=on_retrieving,
        )
        reranks = self.config.query_specific_rerank_enabled
        if request.reranker_enabled is not None:
            reranks = request.reranker_enabled
        if request.preferences == "first" and not reranks:
            finish = partial(answer.select_content, request, self.config)
            content = await self.pipeline.run(scopes, search, finish)
        else:
            content = await self._content_by_model(scopes, search, request, reranks=reranks)
        if content is None:
            return RecallResult()
        return answer.render(content, request, caller.agent_id)

    async def retrieve(
        self, caller: Caller, query: MemoryQuery, mode: SearchMode = SearchMode.HYBRID
    ) -> tuple[MemoryEntry, ...]:
        """Return matching memories, by relevance with text, newest first without (SPEC 7.5, 7.8).

        With text every row of the filter can be reached: there is no gate, only ``min_relevance``,
        ``limit`` and, unless a session is named, the cap on what one foreign source may fill
        (``select.py``); in mode words only rows that hold one of the words. Nothing for an agent
        of level none (SPEC 7.13).
        """
        passing = query.include_passing or query.text is None
        where = RecallFilter(query, self.clock.now_us(), query.include_compressed, passing)
        scopes = self._scopes(caller, where, also_shared=query.include_shared)
        return await self._retrieve(scopes, query, mode)

    async def search_shared(
        self, query: MemoryQuery, exclude_agent: str | None = None
    ) -> tuple[MemoryEntry, ...]:
        """Return matching shared memories, under the names of their publishers (SPEC 10.1.2).

        What *exclude_agent* published is left out before the limit. Empty where sharing is off.
        Raises MemoryRetrievalError for the reserved agent.
        """
        if exclude_agent == RESERVED_AGENT:
            raise MemoryRetrievalError(f"{RESERVED_AGENT} is reserved", field="exclude_agent")
        if not self.shares:
            return ()
        where = RecallFilter(query, self.clock.now_us(), query.include_compressed)

        def scopes(conn: Reading) -> Sequence[SearchScope]:
            reader_key = None if exclude_agent is None else names.find_agent(conn, exclude_agent)
            scope = shared_scope(conn, reader_key, where, by_other_publishers)
            return () if scope is None else [scope]

        return await self._retrieve(scopes, query, SearchMode.HYBRID)

    # Tuning.

    async def active_tuning(self) -> RankerTuning | None:
        """Return the tuning in use for the installed model, if there is one."""
        if not self.tuning.loaded:
            self.tuning.load(await self.db.read(tunings.read_active))
        return self.tuning.for_model(self.embedder.fingerprint)

    async def evaluate(self, caller: Caller, text: str, trial: TuningTrial) -> Ranking:
        """Return what a recall of *text* would select from if *trial* were in use."""
        where = RecallFilter(MemoryFilter(), self.clock.now_us())
        scopes = self._scopes(caller, where, also_shared=False)
        candidates = await self.pipeline.run(scopes, Search(text, trial=trial), return_candidates)
        return Ranking([], 0.0, None) if candidates is None else candidates

    # Without a question.

    async def get(
        self, caller: Caller, memory_id: str, *, also_shared: bool = False
    ) -> MemoryEntry | None:
        """Return a memory by id; None when unknown, foreign, expired or trashed (SPEC 7.7).

        With *also_shared* also one that any agent shared, as a recall shows its id.
        """
        shares, now_us = also_shared and self.shares, self.clock.now_us()
        return await self.db.read(listing.find_entry, caller, memory_id, now_us, shares=shares)

    async def why(self, caller: Caller, memory_id: str, *, full: bool) -> Provenance | None:
        """Return a memory with what made it, a shared one without; None as :meth:`get`."""
        now_us = self.clock.now_us()
        provenance = await self.db.read(
            lambda conn: listing.find_provenance(conn, caller, memory_id, now_us, full=full)
        )
        if provenance is not None:
            return provenance
        entry = await self.get(caller, memory_id, also_shared=True)
        return None if entry is None else Provenance(memory=entry)

    async def list(
        self,
        caller: Caller,
        where: MemoryFilter,
        after: str | None,
        limit: int,
        *,
        passing: bool = True,
        projectless: bool = False,
    ) -> tuple[tuple[MemoryEntry, ...], str | None]:
        """Return a page of matching memories, newest first, and the cursor of the next page.

        Turns in passing are among them with *passing*, what is of a project without *projectless*.
        """
        page = PageRequest(after, limit, passing=passing, projectless=projectless)
        return await self.db.read(listing.list_page, caller, where, page, self.clock.now_us())

    async def export(
        self, caller: Caller, where: MemoryFilter, after: str | None, limit: int
    ) -> tuple[tuple[MemoryEntry, ...], str | None]:
        """Return a page as :meth:`list` does, with the sources of a summary in its place."""
        page = PageRequest(after, limit, sources=True)
        return await self.db.read(listing.list_page, caller, where, page, self.clock.now_us())

    async def count(self, caller: Caller, category: MemoryCategory | None) -> int:
        """Return how many visible memories the agent has, of one category or of all."""
        categories = None if category is None else frozenset({category})
        of_category = MemoryFilter(categories=categories)
        where = RecallFilter(of_category, self.clock.now_us(), include_passing=True)
        scopes = await self.db.read(caller_scopes, caller, where, also_shared=False)
        return await self.db.read(memories.count, scopes[0].result_filter) if scopes else 0

    async def preferences(self, caller: Caller) -> tuple[Preference, ...]:
        """Return the agent's preferences, newest first."""
        return await self.db.read(listing.list_preferences, caller, self.clock.now_us())

    # The steps.

    def _scopes(self, caller: Caller, where: RecallFilter, *, also_shared: bool) -> ScopeResolver:
        return partial(
            caller_scopes,
            caller=caller,
            where=where,
            level=self.level,
            also_shared=also_shared and self.shares,
        )

    async def _retrieve(
        self, scopes: ScopeResolver, query: MemoryQuery, mode: SearchMode
    ) -> tuple[MemoryEntry, ...]:
        if query.text is None:
            rows = await self.db.read(_list_newest, scopes, query.limit)
            return tuple(redact_entry(row.entry()) for row in rows)
        minimum = 0 if mode is SearchMode.WORDS else query.limit
        search = Search(query.text, mode, max(RETRIEVED_ROWS, query.limit), minimum)
        candidates = await self.pipeline.run(scopes, search, return_candidates)
        if candidates is None:
            return ()
        best = [item for item in candidates.items if item.relevance >= query.min_relevance]
        if query.session_id is None:  # a search of one session wants all that is in it
            best = spread(best)
        relevance = {
            item.measured.candidate.memory_key: item.relevance for item in best[: query.limit]
        }
        by_key = await self.db.read(answer.read_rows, list(relevance))
        return tuple(
            redact_entry(by_key[key].entry(relevance=value))
            for key, value in relevance.items()
            if key in by_key
        )

    async def _content_by_model(
        self, scopes: ScopeResolver, search: Search, request: RecallRequest, *, reranks: bool
    ) -> AnswerContent | None:
        """Return the content where a model orders the memories or matches the preferences."""
        with_preferences = partial(answer.with_preferences, request)
        retrieved = await self.pipeline.run(scopes, search, with_preferences)
        if retrieved is None:
            return None
        candidates, rows = retrieved
        prefers = await self._matching_preferences(rows, request)
        reordered = reranks or self.config.diversity_penalty_enabled
        selection = select(candidates, request, reordered=reordered)
        items = selection.items
        if reranks:
            items, candidates = await rerank(self.scorer, request.query, items, candidates)
        entries = answer.choose(
            items, prefers, self.config, budget=request.token_budget, most=selection.count_max
        )
        keys = [item.measured.candidate.memory_key for item in entries.items]
        by_key = await self.db.read(answer.read_rows, keys)
        return AnswerContent(entries, by_key, candidates, selection)

    async def _matching_preferences(
        self, rows: Sequence[PreferenceRow], request: RecallRequest
    ) -> Sequence[PreferenceRow]:
        """Return the preferences of an answer, the relevant ones first, then the newest (SPEC D5).

        Where only *matching* ones are asked for, a preference that is a memory is ranked as such;
        those that were set by name are ranked and gated by themselves; they have no tags. One in a
        language that the model does not read must share a word with the question. Who asks for
        "preferences" gets all.
        """
        if request.preferences == "first":
            return rows
        if request.tags:
            return []
        by_name = {row.name: row for row in rows if row.memory_key is None}
        texts = [
            RankableText(row.name, f"{row.name.replace('_', ' ')}: {row.value}", row.updated_at_us)
            for row in by_name.values()
        ]
        if rows:
            texts.append(RankableText("", ALL_PREFERENCES, 0))
        ranking = await TextRanker(self.db, self.embedder).rank(request.query, texts)
        keys = [text.key for text in ranking.relevant]
        if keys[:1] == [""]:
            return rows
        asked = content_stems(request.query)
        unread = {
            text.key
            for text in texts
            if ranking.english_alone
            and not is_english(text.text)
            and asked.isdisjoint(content_stems(text.text))
        }
        return [by_name[key] for key in keys if key and key not in unread]


def _list_newest(conn: Reading, scopes: ScopeResolver, limit: int) -> list[StoredMemory]:
    """Return the newest rows of all scopes, newest first, then by id."""
    matching = [
        row
        for scope in scopes(conn)
        for row in memories.list_page(conn, scope.result_filter, limit)
    ]
    matching.sort(key=lambda row: (-row.created_at_us, row.memory_id))
    rows = {row.memory_key: row for row in matching[:limit]}
    signed = list(shared.with_publishers(conn, rows).values())
    screen_ahead(row.content for row in signed)
    return signed
