"""The house: every room of the daemon, built from the store upwards and handed what it needs.

What a higher room knows and a lower one needs is handed down here: who hears that
something was stored, whether anybody uses memd just now. What a start can do without
is loaded when it is first asked for.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from memd.backends.assembly import Assembly, assembled
from memd.backends.care import Care
from memd.base.clock import Clock
from memd.base.later import later
from memd.base.paths import Paths
from memd.domain.encoding import PairScorer
from memd.domain.settings.settings import Settings
from memd.embedding.chosen import ChosenEmbedder
from memd.embedding.cross_encoder import RerankerThread
from memd.embedding.embed import EmbedderThread
from memd.ingest.switch import ModelSwitch
from memd.learn.teaching import teaching
from memd.learn.uptake import UptakeCounter
from memd.org.clients import Clients
from memd.org.temporal import catch_up, note_rules
from memd.serve.events import Events
from memd.serve.rooms import Rooms
from memd.serve.short_ids import ShortIds
from memd.sleep.model.answering import answering
from memd.sleep.nap.naps import Naps
from memd.sleep.night.switch import Switch
from memd.sleep.sleep import Sleep, sleeping
from memd.sleep.wiki.exports import Wiki, exporting
from memd.store.access.answers import Answers
from memd.store.access.audit import Audit
from memd.store.search.switching import in_use

if TYPE_CHECKING:
    from memd.domain.inject import Reranker
    from memd.inject.brief import Briefs
    from memd.inject.in_window import SessionWindows
    from memd.inject.inject import Inject
    from memd.inject.known import Knowledge
    from memd.inject.synthesis import Synthesis
    from memd.inject.tools.files import Files
    from memd.learn.learn import Learn
    from memd.learn.tuning.tuning import Tuning
    from memd.llm.llm import LanguageModel
    from memd.org.owner import Owner
    from memd.org.review import Review
    from memd.records.records import Records

LOAD_PROMPTS_AFTER_S = 2.0
_FOR_PROMPTS = (
    "memd.serve.routes.inject",
    "memd.recall.recall",
    "memd.inject.inject",
    "memd.inject.brief",
    "memd.inject.reranker",
    "memd.inject.multi.hierarchical",
    "memd.org.org",
    "memd.learn.learn",
    "memd.archive.archive",
    "memd.ingest.ingest",
    "memd.serve.routes.memory",
)


async def rooms(settings: Settings, paths: Paths, clock: Clock, stack: AsyncExitStack) -> Rooms:
    """Build the rooms; *stack* closes them in reverse."""
    (embedder, scorer), events = _models(settings, paths, stack), Events()
    files = (paths.database, embedder, paths.model_dir)
    house = await assembled(settings, *files, clock, stack, emit=events.emit, scorer=scorer)
    await note_rules(house.db, clock, settings.org_memory)
    access = await _access(house, paths, stack)
    records = later(partial(_records, house))
    llm = answering(settings, house, paths, records, stack)
    asleep = _asleep(house, settings, paths, events, llm)
    prompts = _Prompts(settings, house, scorer, embedder.warm, llm)
    taught = teaching(house, settings, paths, llm)
    uptake = UptakeCounter(house.db, house.clock, house.ids, house.work, house.notes.add)
    for settle in (house.notes.settle, uptake.settled, prompts.settled):  # from its end
        stack.push_async_callback(settle)
    return Rooms(
        **vars(house),
        audit=access.audit,
        clients=access.clients,
        owner=access.owner,
        review=access.review,
        naps=asleep.naps,
        events=events,
        models=(models := await _switch(house, embedder, events)),
        reranker=scorer,
        files=later(prompts.files),
        inject=later(prompts.inject),
        briefs=later(prompts.briefs),
        learn=prompts.learn,
        tuning=later(partial(_tuning, house, events, models, stack)),
        lessons=taught.lessons,
        skills=taught.skills,
        synthesis=prompts.synthesis,
        wiki=asleep.wiki,
        sleep=asleep.sleep.night,
        shares=settings.memory.options.shared_knowledge_base,
        memories_max=settings.memory.consolidation.max_memories_per_agent,
        rhythm=asleep.sleep.rhythm,
        answers=Answers(house.db),
        records=records,
        llm=llm,
        uptake=uptake if settings.daemon.count_use else None,
        short_ids=ShortIds(house.db, settings.org_memory),
        background=(*_background(house, access, asleep, events, models), *taught.background),
    )


def _tuning(house: Assembly, events: Events, models: ModelSwitch, stack: AsyncExitStack) -> Tuning:
    """Build the room of tuning; the run under way is given up when *stack* unwinds."""
    from memd.learn.tuning.tuning import Tuning

    emit = events.emit
    room = Tuning(house.db, house.clock, house.ids, house.recall, house.embedder, emit, models)
    stack.push_async_callback(room.close)
    return room


def _records(house: Assembly) -> Records:
    from memd.records.records import Records

    return Records(house.db, house.ids)


def _background(
    house: Assembly, access: _Access, asleep: _Asleep, events: Events, models: ModelSwitch
) -> tuple[Callable[[], Coroutine[Any, Any, Any]], ...]:
    """Return what runs beside the server until the daemon stops."""
    return (
        house.queue.run,
        models.run,
        Care(house.db, house.upkeep, house.due, events.emit).run,
        asleep.sleep.rhythm.run,
        asleep.naps.run,
        asleep.wiki.run,
        house.learning.run,
        partial(catch_up, house.db),
        house.notes.run,
        access.audit.run,
        partial(_load_prompts, house),
    )


async def _load_prompts(house: Assembly) -> None:
    """Load what a prompt needs once the first answers are given, beside them.

    The patterns of nine languages are most of it; the first prompt would wait for them.
    """
    await asyncio.sleep(LOAD_PROMPTS_AFTER_S)
    for module in _FOR_PROMPTS:
        await house.work.run(import_module, module)


def _models(
    settings: Settings, paths: Paths, stack: AsyncExitStack
) -> tuple[ChosenEmbedder, RerankerThread]:
    """Build the models' threads, which load nothing yet."""
    idle_ms = settings.daemon.model_idle_minutes * 60_000
    embedder = ChosenEmbedder(paths.model_dir, partial(EmbedderThread, idle_ms=idle_ms))
    stack.push_async_callback(embedder.close)
    scorer = RerankerThread(paths.reranker_dir, idle_ms=idle_ms)
    stack.push_async_callback(scorer.close)
    return embedder, scorer


async def _switch(house: Assembly, embedder: ChosenEmbedder, events: Events) -> ModelSwitch:
    """Build the room that changes models; the one that was chosen is in use from here on."""
    embedder.serve(await house.db.read(in_use))
    return ModelSwitch(house, embedder, events.emit)


class _Access(NamedTuple):
    """The rooms of who may do what."""

    audit: Audit
    clients: Clients
    owner: Owner
    review: Review


async def _access(house: Assembly, paths: Paths, stack: AsyncExitStack) -> _Access:
    """Build the rooms of who may do what; the audit's head is noted when *stack* unwinds."""
    audit = Audit(house.db, house.clock, paths.anchors)
    stack.push_async_callback(audit.try_to_anchor)
    clients = Clients(house.db, house.clock, paths.keys_dir)
    await clients.load()
    owner = later(partial(_owner, house))
    return _Access(audit, clients, owner, later(partial(_review, house, owner)))


def _owner(house: Assembly) -> Owner:
    from memd.org.owner import Owner

    return Owner(house.db, house.clock)


def _review(house: Assembly, owner: Owner) -> Review:
    from memd.org.review import Review

    return Review(house.org, owner)


class _Asleep(NamedTuple):
    """The rooms that consolidate."""

    naps: Naps
    wiki: Wiki
    sleep: Sleep


def _asleep(
    house: Assembly, settings: Settings, paths: Paths, events: Events, llm: LanguageModel | None
) -> _Asleep:
    """Build naps and nights; what is read for the graph waits until nobody uses memd."""
    naps = Naps(house, settings, paths.usage_dir, emit=events.emit, llm=llm)
    wiki_dir = paths.data_dir / ("wiki" + paths.database.stem.removeprefix("memd"))
    wiki = exporting(house, settings.memory.consolidation.wiki_export, wiki_dir)
    enabled = Switch(settings, paths.config_file, os.environ)
    providers = None
    if llm is not None:
        from memd.sleep.model.summaries import night_providers

        providers = night_providers(settings, llm)
        if settings.llm.uses.triples and settings.llm.night_tokens:
            from memd.sleep.model.triples import ModelRelations

            house.learning.reader = ModelRelations(llm)
    sleep = sleeping(
        house, settings, emit=wiki.hearing(events.emit), enabled=enabled, providers=providers
    )

    def quiet_s() -> float:
        return sleep.rhythm.quiet_s()  # which is told later whom to ask

    house.learning.quiet_s = quiet_s
    return _Asleep(naps, wiki, sleep)


class _Prompts:
    """The rooms that put memories into prompts; each is made when it is first asked for."""

    def __init__(
        self,
        settings: Settings,
        house: Assembly,
        scorer: PairScorer | None,
        warm: Callable[[], None],
        llm: LanguageModel | None = None,
    ) -> None:
        self._llm = llm
        self._settings = settings
        self._house = house
        self._scorer = scorer
        self.learn = later(self._learn)
        self.synthesis = later(self._synthesis)
        self._warm = warm
        self._windows: SessionWindows | None = None

    def _learn(self) -> Learn:
        from memd.learn.learn import Learn

        house, settings = self._house, self._settings
        level, secrets = settings.memory.level, settings.daemon.secrets
        return Learn(house.db, house.clock, house.ids, level, secrets, house.work)

    def _synthesis(self) -> Synthesis:
        from memd.inject.synthesis import Synthesis

        house = self._house
        return Synthesis(
            house.db,
            house.clock,
            house.recall,
            self.learn,
            house.sessions,
            house.graph,
            self._knowledge(),
        )

    def _knowledge(self) -> Knowledge:
        from memd.inject.known import Knowledge
        from memd.recall.apart import Ranker

        house = self._house
        ranker = Ranker(house.db, house.embedder)
        most = self._settings.org_memory.extended_store.max_retrieved_per_query
        return Knowledge(ranker, house.org, self.learn, most, house.work)

    async def settled(self) -> None:
        """Wait until what prompts gave is noted."""
        if self._windows is not None:
            await self._windows.settled()

    def windows(self) -> SessionWindows:
        from memd.inject.in_window import SessionWindows

        self._windows = self._windows or SessionWindows(self._house.db, self._house.clock)
        return self._windows

    def briefs(self) -> Briefs:
        from memd.inject.brief import Briefs

        house = self._house
        level = self._settings.memory.level
        windows = self.windows()
        return Briefs(house.db, house.clock, house.recall, house.org, windows, level, self._warm)

    def inject(self) -> Inject:
        from memd.inject.inject import Inject
        from memd.inject.multi.hierarchical import over
        from memd.inject.own import MemoryRooms
        from memd.inject.reranker import CrossEncoderReranker, RerankerCache
        from memd.inject.tools.calls import BY_RULE

        house, llm, uses = self._house, self._llm, self._settings.llm.uses
        retrieval, scorer = self._settings.memory.retrieval, self._scorer
        cache = RerankerCache(
            retrieval.rerank_cache_ttl_seconds, monotonic=lambda: house.clock.monotonic_us() / 1e6
        )
        judges, supervisor = BY_RULE, None
        reranker: Reranker | None = None
        if scorer is not None:
            reranker = CrossEncoderReranker(scorer, cache=cache)
        if llm is not None:
            from memd.inject.multi import by_model

            judges = by_model.judges(llm) if uses.reformulation else judges
            supervisor = by_model.supervisor(llm, retrieval) if uses.routing else supervisor
            reranker = by_model.reranker(llm, cache) if uses.reranking else reranker
        return Inject(
            rooms=MemoryRooms(house.recall, house.ingest, house.archive),
            config=retrieval,
            clock=house.clock,
            editing=self._settings.memory.self_editing,
            org=house.org,
            knowledge=self._knowledge(),
            sessions=house.sessions,
            windows=self.windows(),
            synthesizer=self.synthesis,
            reranker=reranker,
            retriever=partial(over, clock=house.clock, supervisor=supervisor),
            judges=judges,
            work=house.work,
        )

    def files(self) -> Files:
        from memd.inject.tools.files import Files

        house = self._house
        return Files(house.db, house.ingest, house.recall, house.archive, house.clock)
