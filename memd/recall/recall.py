"""Memories are found (SPEC 2, D5, D6): understand, search, measure, rank, gate, cut, render.

One recall is six short reads: where to search, and the preferences; what the words mean
to this store; the two arms, the words arm while the query is being embedded; the
candidates with their neighbours; the rows of the answer. It never writes inline.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

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
from memd.recall.listing import Paging
from memd.recall.query import SearchQuery, ranked, understood
from memd.recall.question import name_candidates
from memd.recall.ranking.crowding import spread
from memd.recall.search import (
    ARM_ROWS,
    RecallFilter,
    SearchScope,
    by_meaning,
    gathered,
    of_caller,
    of_others,
    words_arm,
)
from memd.recall.second import looked_again, looks_again
from memd.recall.select import select
from memd.recall.tuned import ActiveTuning, Tuned, TuningTrial
from memd.store.access import agents
from memd.store.file.connect import Reading
from memd.store.file.database import Database
from memd.store.learn import tunings
from memd.store.memory import memories, preferences, shared
from memd.store.memory.preferences import PreferenceRow
from memd.store.memory.rows import FoundRow

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
    turns: Turns = field(default_factory=Turns)
    """A question is embedded and searched with one model; a change waits for its end."""

    async def recall(self, caller: Caller, request: RecallRequest) -> RecallResult:
        """Answer a question: preferences first, then what is relevant, within the budget.

        Says nothing, apart from preferences, when nothing is relevant. The project
        that is asked from moves its own memories up and hides those of level project
        of another; it hides nothing else (SPEC D1). Of a query longer than
        QUERY_CHARS_MAX only the beginning counts. An agent of level none is told
        nothing (SPEC 7.13). Raises MemoryRetrievalError for the reserved agent.
        """
        caller = replace(caller, project_id=request.project_id or caller.project_id)
        wanted = request.model_copy(update={"project_id": None})
        asks_shared = request.include_shared
        limited = self._limited(
            caller, wanted, hidden=request.include_compressed, passing=request.include_passing
        )
        also_shared = self.config.include_shared if asks_shared is None else asks_shared
        scopes, listed = await self.db.read(
            _begin,
            caller,
            limited,
            self.level,
            request,
            also_shared=also_shared and self.shares,
        )
        if not scopes:
            return answer.nothing()
        found = await self._found(
            scopes, request.query, request.search_mode, max(ARM_ROWS, request.top_k or 0)
        )
        prefers = await self._preferences(listed, request)
        again = looks_again(request, self.config)
        reordered = again or self.config.diversity_penalty_enabled
        selection = select(found.items, request, reordered=reordered)
        items = selection.items
        if again:
            asked = request.query[:QUERY_CHARS_MAX]
            items, found = await looked_again(self.scorer, asked, items, found)
        as_many = request.model_copy(update={"top_k": selection.most})
        chosen = answer.choose(items, prefers, as_many, self.config)
        found = replace(found, cut=selection.all_cut(chosen.items))
        keys = [item.measured.candidate.memory_key for item in chosen.items]
        rows = await self.db.read(_rows, keys)
        return answer.render(chosen, rows, request, caller.agent_id, found)

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
        scopes = await self.db.read(_scopes, caller, limited, self.level, also_shared=also_shared)
        if not scopes:
            return ()
        return await self._retrieved(scopes, query, mode)

    async def tuned(self) -> Tuned | None:
        """Return what tuning put to use for the installed model, if anything is."""
        if self.tuning.unread:
            self.tuning.note(await self.db.read(tunings.active))
        return self.tuning.of(self.embedder.fingerprint)

    async def examined(self, caller: Caller, text: str, trial: TuningTrial) -> RankedCandidates:
        """Return what a recall of *text* would choose from if *trial* were in use."""
        limited = self._limited(caller, MemoryFilter(), hidden=False, passing=False)
        scopes = await self.db.read(_scopes, caller, limited, self.level, also_shared=False)
        if not scopes:
            return RankedCandidates([], 0.0, None)
        return await self._found(scopes, text, SearchMode.HYBRID, ARM_ROWS, trial=trial)

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
        scope = await self.db.read(of_others, reader, asked)
        return () if scope is None else await self._retrieved([scope], query)

    async def _retrieved(
        self,
        scopes: Sequence[SearchScope],
        query: MemoryQuery,
        mode: SearchMode = SearchMode.HYBRID,
    ) -> tuple[MemoryEntry, ...]:
        if query.text is None:
            rows = await self.db.read(_listed, scopes, query.limit)
            return tuple(outgoing_entry(row.entry()) for row in rows)
        fill = 0 if mode is SearchMode.WORDS else query.limit
        found = await self._found(scopes, query.text, mode, max(ARM_ROWS, query.limit), fill=fill)
        best = [item for item in found.items if item.relevance >= query.min_relevance]
        if query.session_id is None:  # who names one session wants what is in it
            best = spread(best)
        best = best[: query.limit]
        by_key = await self.db.read(_rows, [item.measured.candidate.memory_key for item in best])
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
        self, caller: Caller, wanted: MemoryFilter, after: str | None, limit: int
    ) -> tuple[tuple[MemoryEntry, ...], str | None]:
        """Return a page of matching memories, newest first, and where the next page begins."""
        return await self.db.read(
            listing.page, caller, wanted, Paging(after, limit), self.clock.now_us()
        )

    async def export(
        self, caller: Caller, wanted: MemoryFilter, after: str | None, limit: int
    ) -> tuple[tuple[MemoryEntry, ...], str | None]:
        """Return a page as :meth:`list` does, of what was told: no summary, but its originals."""
        paging = Paging(after, limit, sources=True)
        return await self.db.read(listing.page, caller, wanted, paging, self.clock.now_us())

    async def count(self, caller: Caller, category: MemoryCategory | None) -> int:
        """Return how many visible memories the agent has, of one category or of all."""
        wanted = MemoryFilter(categories=None if category is None else frozenset({category}))
        limited = self._limited(caller, wanted, hidden=False, passing=True)
        scopes = await self.db.read(of_caller, caller, limited, also_shared=False)
        return await self.db.read(memories.counted, scopes[0].wanted) if scopes else 0

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
    async def _found(
        self,
        scopes: Sequence[SearchScope],
        text: str,
        mode: SearchMode,
        rows: int,
        fill: int = 0,
        trial: TuningTrial | None = None,
    ) -> RankedCandidates:
        fingerprint = None if mode is SearchMode.WORDS else self.embedder.fingerprint
        asked, each, cached, body = await self.db.read(
            understood, scopes, text[:QUERY_CHARS_MAX], fingerprint, unread=self.tuning.unread
        )
        self.tuning.note(body)
        tuned = self.tuning.of(fingerprint) if trial is None else trial.tuned
        apart = None if trial is None else trial.apart
        query = SearchQuery(asked, mode, None, None, tuned, apart)
        terms = {} if mode is SearchMode.DENSE else asked.written
        counted = tuple(dict.fromkeys([*asked.terms, *asked.content]))
        searching = asyncio.ensure_future(self.db.read(words_arm, each, terms, rows, counted))
        try:
            if mode is not SearchMode.WORDS:
                query = await self._with_vector(query, fingerprint, cached=cached)
            near: Sequence[list[int]] = [[] for _ in each]
            if (vector := query.vector) is not None:
                near = await asyncio.gather(
                    *(by_meaning(self.db, scope, vector, rows, few) for scope, few in each)
                )
            held, counts = await searching
        finally:
            searching.cancel()
        keys = [gathered(scope, each, near, held) for scope in scopes]
        query = replace(query, counts=counts)
        found = await self.db.read(ranked, scopes, query, keys)
        if len(found.items) < fill:  # counted as shown: many may stand behind one summary
            rest = [await self.db.read(memories.matching, scope.visible, fill) for scope in scopes]
            every = [list(dict.fromkeys([*k, *r])) for k, r in zip(keys, rest, strict=True)]
            if every != keys:
                found = await self.db.read(ranked, scopes, query, every)
        return found

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
        self, query: SearchQuery, fingerprint: ModelFingerprint | None, *, cached: bool | None
    ) -> SearchQuery:
        """Embed the question, or say why meaning is not searched."""
        if fingerprint is None:
            return replace(query, degraded=NO_MODEL)
        if cached is None:
            return query  # nothing has a vector yet
        if not cached:
            return replace(query, degraded=OTHER_MODEL)
        try:
            (vector,) = await self.embedder.embed([query.question.dense])
        except (UnavailableError, ModelError) as error:
            why = f"the embedding model is not available ({error.kind}): only words are searched"
            return replace(query, degraded=why)
        return replace(query, vector=vector if query.tuned is None else query.tuned.vector(vector))


def found_terms(text: str) -> frozenset[str]:
    """Return the words of *text* that preferences are chosen by."""
    return frozenset(name_candidates(text))


def _listed(conn: Reading, scopes: Sequence[SearchScope], limit: int) -> list[FoundRow]:
    """Return the newest rows of all *scopes*, newest first, then by id."""
    found = [row for scope in scopes for row in memories.listed(conn, scope.wanted, limit)]
    found.sort(key=lambda row: (-row.created_at_us, row.memory_id))
    rows = {row.memory_key: row for row in found[:limit]}
    signed = list(shared.signed(conn, rows).values())
    look_at(row.content for row in signed)
    return signed


def _rows(conn: Reading, keys: Sequence[int]) -> dict[int, FoundRow]:
    found = shared.signed(conn, memories.by_keys(conn, keys))
    look_at(row.content for row in found.values())
    return found


def _begin(
    conn: Reading,
    caller: Caller,
    wanted: RecallFilter,
    level: MemoryLevel,
    request: RecallRequest,
    *,
    also_shared: bool,
) -> tuple[Sequence[SearchScope], Sequence[PreferenceRow]]:
    """Return where to search and the preferences; neither for an agent of level none."""
    scopes = _scopes(conn, caller, wanted, level, also_shared=also_shared)
    return scopes, _preferences(conn, scopes[0], request) if scopes else ()


def _scopes(
    conn: Reading, caller: Caller, wanted: RecallFilter, level: MemoryLevel, *, also_shared: bool
) -> Sequence[SearchScope]:
    """Return where to search; nowhere for an agent of level none (SPEC 7.13)."""
    own = agents.level(conn, caller.agent_id)
    if (own or level) is MemoryLevel.NONE:
        return ()
    return of_caller(conn, caller, wanted, also_shared=also_shared)


def _preferences(conn: Reading, scope: SearchScope, request: RecallRequest) -> list[PreferenceRow]:
    """Return the preferences that are in every recall, whatever it is filtered by.

    What belongs to another project or session stays there.
    """
    if request.categories and MemoryCategory.PROCEDURAL not in request.categories:
        return []
    rows = preferences.listed(conn, scope.agent_key, scope.wanted.now_us)
    look_at(row.value for row in rows)
    keys = [row.memory_key for row in rows if row.memory_key is not None]
    seen = memories.matching_among(conn, scope.here, keys)
    rows = [row for row in rows if row.memory_key is None or row.memory_key in seen]
    asked = found_terms(request.query[:QUERY_CHARS_MAX])
    return sorted(rows, key=lambda row: -len(asked & found_terms(row.value)))
