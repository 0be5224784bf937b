"""The rooms of the daemon, which the methods of the socket call.

Rooms of lower packages get here what comes from higher ones: the emitter of events, and how
long memd has been idle.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from memd.backends.rooms import Rooms, UpkeepLoop, open_store
from memd.base.clock import Clock
from memd.base.lazy import lazy
from memd.base.paths import Paths
from memd.domain.settings.settings import Settings
from memd.embedding.cross_encoder import RerankerThread
from memd.embedding.embed import EmbedderThread, SwitchableEmbedder
from memd.ingest.model_switch import ModelSwitch
from memd.learn.uptake import UptakeCounter
from memd.llm.job_files import JobFiles
from memd.org.clients import Clients
from memd.org.fact_reader import note_rules
from memd.org.temporal import catch_up
from memd.serve.events import Events
from memd.serve.short_ids import ShortIds
from memd.serve.uploads import Uploads
from memd.sleep.nap.naps import Naps
from memd.sleep.sleep import KillSwitch, build_sleep
from memd.sleep.wiki.exports import build_wiki
from memd.store.access.audit import Audit
from memd.store.access.replies import Answers
from memd.store.file.database import Database
from memd.store.search.model_switch import model_in_use

if TYPE_CHECKING:
    from memd.domain.inject import Reranker
    from memd.inject.brief.brief import Briefs
    from memd.inject.inject import Inject
    from memd.inject.knowledge import Knowledge
    from memd.inject.session_windows import SessionWindows
    from memd.inject.synthesis import Synthesis
    from memd.inject.tools.files import Files
    from memd.learn.learn import Learn
    from memd.learn.lessons import Lessons
    from memd.learn.skills import Skills
    from memd.learn.tuning.tuning import Tuning
    from memd.llm.llm import LanguageModel
    from memd.org.owner import Owner
    from memd.org.review import Review
    from memd.sleep.night.night import Night
    from memd.sleep.night.scheduler import NightScheduler

LOAD_PROMPTS_AFTER_S = 2.0  # after the start, when the first calls have been answered
_PROMPT_MODULES = (
    "memd.serve.routes.inject",
    "memd.recall.recall",
    "memd.inject.inject",
    "memd.inject.brief.brief",
    "memd.inject.reranker",
    "memd.inject.multi.hierarchical",
    "memd.org.org",
    "memd.learn.learn",
    "memd.archive.trash",
    "memd.ingest.ingest",
    "memd.serve.routes.memory",
)


def models(
    settings: Settings, paths: Paths, stack: AsyncExitStack
) -> tuple[SwitchableEmbedder, RerankerThread]:
    """Return the threads of the models, which load them at first use; *stack* closes them."""
    idle_ms = settings.daemon.model_idle_minutes * 60_000
    embedder = SwitchableEmbedder(paths.model_dir, partial(EmbedderThread, idle_ms=idle_ms))
    stack.push_async_callback(embedder.close)
    reranker = RerankerThread(paths.reranker_dir, idle_ms=idle_ms)
    stack.push_async_callback(reranker.close)
    return embedder, reranker


async def rooms(
    settings: Settings, paths: Paths, clock: Clock, stack: AsyncExitStack
) -> DaemonRooms:
    """Open the daemon's file and build its rooms; *stack* closes them in reverse."""
    model_threads = models(settings, paths, stack)
    db = await open_store(paths.database, clock, stack, mmap=settings.daemon.mmap_vectors)
    built = DaemonRooms(settings, db, clock, stack, paths, model_threads)
    return await built.begin()


class DaemonRooms(Rooms):
    """All rooms of the daemon: those over its file (``Rooms``), those of prompts, and its own.

    A cached property is built, and its modules are imported, at its first use. The others run
    from the start.
    """

    def __init__(
        self,
        settings: Settings,
        db: Database,
        clock: Clock,
        stack: AsyncExitStack,
        paths: Paths,
        models: tuple[SwitchableEmbedder, RerankerThread],
    ) -> None:
        self.events = events = Events()
        embedder, reranker = models
        super().__init__(
            settings,
            db,
            clock,
            stack,
            embedder=embedder,
            model_dir=paths.model_dir,
            emit=events.emit,
            scorer=reranker,
        )
        self.paths, self.reranker = paths, reranker
        self.shares = settings.memory.options.shared_knowledge_base
        self.memories_max = settings.memory.consolidation.max_memories_per_agent
        self.uploads = Uploads()
        self.answers = Answers(db)
        self.short_ids = ShortIds(db, settings.org_memory)
        self.clients = Clients(db, clock, paths.keys_dir)
        self.audit = Audit(db, clock, paths.anchors)
        self.models = ModelSwitch(self, embedder, events.emit)
        self._uptake = UptakeCounter(db, clock, self.ids, self.work, self.notes.add)
        self.uptake = self._uptake if settings.daemon.count_use else None
        self.llm = self._build_language_model()
        self.naps = Naps(self, settings, paths.usage_dir, emit=events.emit, llm=self.llm)
        wiki_dir = paths.data_dir / ("wiki" + paths.database.stem.removeprefix("memd"))
        self.wiki = build_wiki(self, settings.memory.consolidation.wiki_export, wiki_dir)
        self.scheduler = self._build_scheduler()
        self.sleep: Night = self.scheduler.night

    async def begin(self) -> Self:
        """Load what the rooms need before the first call."""
        await super().begin()
        await note_rules(self.db, self.clock, self.settings.org_memory)
        self.stack.push_async_callback(self.audit.try_to_anchor)
        await self.clients.load()
        self.models.embedder.serve(await self.db.read(model_in_use))
        # The stack calls the last one first.
        for settle in (self.notes.flush, self._uptake.settle, self._settle_windows):
            self.stack.push_async_callback(settle)
        return self

    async def _settle_windows(self) -> None:
        """Wait until it is recorded which memories the prompts contained."""
        if "windows" in vars(self):
            await self.windows.settle()

    def _build_language_model(self) -> LanguageModel | None:
        """Return the model that the settings name, created on first use; None without one.

        Without it, everything is done by rule (SPEC D8). Job files of an earlier provider are
        recovered or erased in any case.
        """
        config, clock, db = self.settings.llm, self.clock, self.db
        jobs = JobFiles(self.paths.jobs_dir, clock, config.job_days)
        jobs.recover()
        db.files.erasers.append(jobs.erase)
        if config.provider == "none":
            return None

        def build() -> LanguageModel:
            from memd.llm.build import language_model
            from memd.records.spending import Spending
            from memd.sleep.model.summaries import night_purposes

            model = language_model(
                config,
                clock,
                extra_purposes=night_purposes(self.settings),
                accounts=Spending(self.records, self.ids, clock, config.provider),
                jobs=jobs,
                erasures=lambda: db.files.erasure_count,
            )
            self.stack.push_async_callback(model.close)
            return model

        return lazy(build)

    def _build_scheduler(self) -> NightScheduler:
        """Build the nights; extraction for the graph waits until memd is idle."""
        settings, llm, providers = self.settings, self.llm, None
        if llm is not None:
            from memd.sleep.model.summaries import night_providers

            providers = night_providers(settings, llm)
            if settings.llm.uses.triples and settings.llm.night_tokens:
                from memd.sleep.model.triples import ModelRelations

                self.relation_extractor.reader = ModelRelations(llm)
        scheduler = build_sleep(
            self,
            settings,
            emit=self.wiki.wrap_emit(self.events.emit),
            enabled=KillSwitch(settings, self.paths.config_file, os.environ),
            providers=providers,
        )

        def quiet_s() -> float:
            return scheduler.quiet_s()  # a function, because the scheduler learns it later

        self.relation_extractor.quiet_s = quiet_s
        return scheduler

    @cached_property
    def background(self) -> tuple[Callable[[], Coroutine[Any, Any, Any]], ...]:
        """The background tasks, which run until the daemon stops."""
        upkeep = UpkeepLoop(self.db, self.upkeep, self.due, self.events.emit)
        exports_skills = self.settings.memory.procedural.skill_md_directory is not None
        return (
            self.queue.run,
            self.models.run,
            upkeep.run,
            self.scheduler.run,
            self.naps.run,
            self.wiki.run,
            self.relation_extractor.run,
            partial(catch_up, self.db),
            self.notes.run,
            self.audit.run,
            self._load_prompts,
            *((self.skills.run,) if exports_skills else ()),
        )

    async def _load_prompts(self) -> None:
        """Import what a prompt needs, shortly after the start.

        Otherwise the first prompt would wait, above all for the patterns of nine languages.
        """
        await asyncio.sleep(LOAD_PROMPTS_AFTER_S)
        for module in _PROMPT_MODULES:
            await self.work.run(import_module, module)

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
            self.work,
            self.graph,
            self.knowledge,
        )

    @cached_property
    def windows(self) -> SessionWindows:
        """The memories that each session has in its context window."""
        from memd.inject.session_windows import SessionWindows

        return SessionWindows(self.db, self.clock)

    @cached_property
    def files(self) -> Files:
        """Memories as files that an assistant edits."""
        from memd.inject.tools.files import Files

        return Files(self.db, self.ingest, self.recall, self.trash, self.clock)

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
            from memd.inject.multi import model_steps

            uses = self.settings.llm.uses
            judges = model_steps.judges(llm) if uses.reformulation else judges
            supervisor = (
                model_steps.supervisor(llm, memory.retrieval) if uses.routing else supervisor
            )
            reranker = model_steps.reranker(llm, cache) if uses.reranking else reranker
        return Inject(
            rooms=MemoryRooms(self.recall, self.ingest, self.trash),
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

    @cached_property
    def owner(self) -> Owner:
        """The owner's key and signatures."""
        from memd.org.owner import Owner

        return Owner(self.db, self.clock)

    @cached_property
    def review(self) -> Review:
        """Proposed facts."""
        from memd.org.review import Review

        return Review(self.org, self.owner)

    @cached_property
    def briefs(self) -> Briefs:
        """Briefs for the start of a session."""
        from memd.inject.brief.brief import Briefs

        level, warm = self.settings.memory.level, self.models.embedder.warm
        return Briefs(self.db, self.clock, self.recall, self.org, self.windows, level, warm)

    @cached_property
    def tuning(self) -> Tuning:
        """Recall fitted to the owner's data; a run in progress is abandoned at the end."""
        from memd.learn.tuning.tuning import Tuning

        emit = self.events.emit
        tuning = Tuning(
            self.db, self.clock, self.ids, self.recall, self.embedder, emit, self.models
        )
        self.stack.push_async_callback(tuning.close)
        return tuning

    @cached_property
    def skills(self) -> Skills:
        """The folder of skills; a relative path is below the data folder."""
        from memd.learn.skills import Skills

        config, paths = self.settings.memory.procedural, self.paths
        directory = config.skill_md_directory
        root = None if directory is None else paths.data_dir / Path(directory).expanduser()
        return Skills(self.db, self.clock, str(paths.database), root, self.work, config)

    @cached_property
    def lessons(self) -> Lessons:
        """Lessons learnt from failures."""
        from memd.learn.lessons import Lessons

        return Lessons(
            db=self.db,
            clock=self.clock,
            ids=self.ids,
            ingest=self.ingest,
            skills=self.skills,
            config=self.settings.memory.procedural,
            secrets=self.settings.daemon.secrets,
            work=self.work,
            llm=self.llm,
        )
