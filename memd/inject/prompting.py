"""The rooms that compose prompts, on top of those of one database file."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

from memd.backends.assembly import Assembly
from memd.base.lazy import lazy

if TYPE_CHECKING:
    from memd.domain.inject import Reranker
    from memd.inject.in_window import SessionWindows
    from memd.inject.inject import Inject
    from memd.inject.knowledge import Knowledge
    from memd.inject.synthesis import Synthesis
    from memd.inject.tools.files import Files
    from memd.learn.learn import Learn
    from memd.llm.llm import LanguageModel


class Prompting(Assembly):
    """The rooms; each is built, and its modules are imported, when it is first used."""

    llm: LanguageModel | None = None
    """Without it, everything is done by rule (SPEC D8)."""

    @cached_property
    def learn(self) -> Learn:
        """The playbook, lessons and patterns of work."""
        from memd.learn.learn import Learn

        settings = self.settings
        level, secrets = settings.memory.level, settings.daemon.secrets
        return Learn(self.db, self.clock, self.ids, level, secrets, self.work)

    @cached_property
    def knowledge(self) -> Knowledge:
        """Facts, lessons and patterns for prompts."""
        from memd.inject.knowledge import Knowledge
        from memd.recall.text_ranker import TextRanker

        most = self.settings.org_memory.extended_store.max_retrieved_per_query
        ranker = TextRanker(self.db, self.embedder)
        return Knowledge(ranker, self.org, self.learn, most, self.work)

    @cached_property
    def synthesis(self) -> Synthesis:
        """Blocks synthesized from all sources."""
        from memd.inject.synthesis import Synthesis

        return Synthesis(
            self.db,
            self.clock,
            self.recall,
            self.learn,
            self.sessions,
            self.graph,
            self.knowledge,
        )

    @cached_property
    def windows(self) -> SessionWindows:
        """The memories that each session has in its context window."""
        from memd.inject.in_window import SessionWindows

        return SessionWindows(self.db, self.clock)

    @cached_property
    def files(self) -> Files:
        """Memories as files that an assistant edits."""
        from memd.inject.tools.files import Files

        return Files(self.db, self.ingest, self.recall, self.archive, self.clock)

    @cached_property
    def inject(self) -> Inject:
        """Prompts and memory tools."""
        from memd.inject.inject import Inject
        from memd.inject.multi.hierarchical import retriever_for
        from memd.inject.own_memories import MemoryRooms
        from memd.inject.reranker import CrossEncoderReranker, RerankerCache
        from memd.inject.tools.calls import BY_RULE

        llm, clock, memory = self.llm, self.clock, self.settings.memory
        cache = RerankerCache(
            memory.retrieval.rerank_cache_ttl_seconds, monotonic=lambda: clock.monotonic_us() / 1e6
        )
        judges, supervisor = BY_RULE, None
        reranker: Reranker | None = None
        if self.scorer is not None:
            reranker = CrossEncoderReranker(self.scorer, cache=cache)
        if llm is not None:
            from memd.inject.multi import by_model

            uses = self.settings.llm.uses
            judges = by_model.judges(llm) if uses.reformulation else judges
            supervisor = by_model.supervisor(llm, memory.retrieval) if uses.routing else supervisor
            reranker = by_model.reranker(llm, cache) if uses.reranking else reranker
        return Inject(
            rooms=MemoryRooms(self.recall, self.ingest, self.archive),
            config=memory.retrieval,
            clock=clock,
            editing=memory.self_editing,
            org=self.org,
            knowledge=self.knowledge,
            sessions=self.sessions,
            windows=self.windows,
            synthesizer=lazy(lambda: self.synthesis),
            reranker=reranker,
            retriever=partial(retriever_for, clock=clock, supervisor=supervisor),
            judges=judges,
            work=self.work,
        )
