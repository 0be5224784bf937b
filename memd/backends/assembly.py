"""The rooms over one file, put together once: for the daemon and for the in-process backend."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memd.base import log
from memd.base.clock import Clock, from_us
from memd.base.errors import DamagedError, MemdError, OrgMemoryWriteError
from memd.base.ids import Ids
from memd.base.later import later
from memd.base.turns import Turns
from memd.base.work import Work
from memd.domain.caller import Caller
from memd.domain.encoding import Embedder, PairScorer, TokenCounter
from memd.domain.enums import MemoryCategory
from memd.domain.memory import MemoryStoreRequest
from memd.domain.settings.settings import MemoryConfig, Settings
from memd.domain.values import Emit, unheard
from memd.ingest.agents import Agents
from memd.ingest.queue import EmbeddingQueue
from memd.ingest.sessions import Sessions
from memd.org.learning import RelationExtractor
from memd.records.notes import Notes
from memd.store.check.upkeep import Upkeep
from memd.store.file.database import Database, opened
from memd.store.file.faults import is_torn
from memd.text.tokens import counter_for

if TYPE_CHECKING:
    from memd.archive.archival import Archival
    from memd.archive.archive import Archive
    from memd.archive.quarantine import Quarantine
    from memd.domain.org.graph import Added
    from memd.ingest.ingest import Ingest
    from memd.ingest.moving import Moving
    from memd.ingest.sharing import Sharing
    from memd.org.graph import Add, Graph
    from memd.org.org import Org
    from memd.recall.recall import Recall


@dataclass(frozen=True)
class Assembly:
    """Every room over one open file."""

    db: Database
    ingest: Ingest
    recall: Recall
    archive: Archive
    archival: Archival
    quarantine: Quarantine
    upkeep: Upkeep
    moving: Moving
    agents: Agents
    sessions: Sessions
    sharing: Sharing
    queue: EmbeddingQueue
    embedder: Embedder
    clock: Clock
    ids: Ids
    work: Work
    counter: TokenCounter
    graph: Graph
    learning: RelationExtractor
    org: Org
    notes: Notes
    turns: Turns
    """Between questions, the model changes."""

    async def due(self) -> None:
        """Do what is due once a minute: idle and old sessions, the trash, replies."""
        await self.sessions.end_idle()
        await self.archive.purge()
        await self.sessions.drop_old()
        await self.upkeep.tidy()


async def assembled(  # noqa: PLR0913  # all that the rooms stand on
    settings: Settings,
    database: Path,
    embedder: Embedder,
    model_dir: Path,
    clock: Clock,
    stack: AsyncExitStack,
    *,
    emit: Emit = unheard,
    scorer: PairScorer | None = None,
) -> Assembly:
    """Open the file and build the rooms; *stack* closes them in reverse.

    ``queue.run``, ``notes.run`` and ``Care`` of the file (care.py) are the caller's to start. The
    embedder and the re-ranker are the caller's to close. *emit* is told of what is stored. What a
    start can do without is built, and its modules loaded, when it is first used.
    """
    daemon = settings.daemon
    db = await _opened(database, clock, stack, mmap=daemon.mmap_vectors)
    work = Work()
    stack.callback(work.close)
    ground = _Ground(settings, db, embedder, counter_for(model_dir), clock, Ids(clock), work)
    turns = Turns()
    queue = EmbeddingQueue(db, embedder, ground.counter, clock, ground.ids, emit, turns)
    learning = RelationExtractor(db, clock, work)
    ingest = later(partial(_ingest, ground, queue, learning.hearing(emit)))
    graph = later(partial(_graph, ground, partial(_add, ingest, learning)))
    memory = settings.memory
    agents = Agents(db, clock, default=MemoryConfig(type=memory.level), file=memory.agents)
    await _take_file(agents)
    org = later(partial(_org, ground, graph))
    notes = Notes(db, clock, work)
    return Assembly(
        db=db,
        ingest=ingest,
        recall=later(partial(_recall, ground, scorer, turns)),
        archive=later(partial(_archive, ground)),
        archival=later(partial(_archival, ground)),
        quarantine=later(partial(_quarantine, ground, queue)),
        upkeep=Upkeep(db=db, clock=clock),
        moving=later(partial(_moving, ground, queue, org)),
        agents=agents,
        sessions=_sessions(ground, notes),
        sharing=later(partial(_sharing, ground, ingest)),
        queue=queue,
        embedder=embedder,
        clock=clock,
        ids=ground.ids,
        work=work,
        counter=ground.counter,
        graph=graph,
        learning=learning,
        org=org,
        notes=notes,
        turns=turns,
    )


async def _opened(database: Path, clock: Clock, stack: AsyncExitStack, *, mmap: bool) -> Database:
    """Open the file; one of which SQLite can read nothing any more is repaired first.

    A flipped bit in a text of its schema is enough for that, with every row whole. Nothing is
    decided by it: the rows come over as ``memd repair`` brings them, the damaged file is kept.
    """
    try:
        return await stack.enter_async_context(opened(database, clock, mmap=mmap))
    except DamagedError as error:
        if not is_torn(error):
            raise
        from memd.records.entities import tables
        from memd.store.repairing.repair import repair

        now_us = clock.now_us()
        stamp = from_us(now_us).strftime("%Y%m%dT%H%M%S%f")
        done = repair(database, database.with_suffix(".audit"), stamp, now_us, tables())
        log.error("the file could not be opened; it was repaired", lost=len(done.lost))
        db = await stack.enter_async_context(opened(database, clock, mmap=mmap))
        db.damage.note(f"file: it was repaired at the start, the damaged one is {done.damaged}")
        return db


async def _take_file(agents: Agents) -> None:
    """Take over the settings of single agents; a file that cannot be written starts without."""
    try:
        await agents.take_file()
    except MemdError as error:
        log.error("settings of agents not taken over", kind=error.kind)


class _Ground(NamedTuple):
    """What the rooms stand on."""

    settings: Settings
    db: Database
    embedder: Embedder
    counter: TokenCounter
    clock: Clock
    ids: Ids
    work: Work


def _ingest(ground: _Ground, queue: EmbeddingQueue, emit: Emit) -> Ingest:
    from memd.ingest.ingest import Ingest

    settings = ground.settings
    return Ingest(
        db=ground.db,
        embedder=ground.embedder,
        counter=ground.counter,
        clock=ground.clock,
        ids=ground.ids,
        work=ground.work,
        queue=queue,
        emit=emit,
        level=settings.memory.level,
        secrets=settings.daemon.secrets,
        chunking=settings.memory.chunking,
        advises=settings.memory.retrieval.non_inferable_only,
    )


def _sessions(ground: _Ground, notes: Notes) -> Sessions:
    daemon = ground.settings.daemon
    return Sessions(
        db=ground.db,
        clock=ground.clock,
        ids=ground.ids,
        work=ground.work,
        undo_days=daemon.undo_days,
        text_days=daemon.session_days,
        note=notes.add,
    )


def _sharing(ground: _Ground, ingest: Ingest) -> Sharing:
    from memd.ingest.sharing import Sharing

    enabled = ground.settings.memory.options.shared_knowledge_base
    return Sharing(ingest=ingest, enabled=enabled, undo_days=ground.settings.daemon.undo_days)


def _graph(ground: _Ground, add: Add) -> Graph:
    from memd.org.graph import Graph

    return Graph(ground.db, ground.clock, add, read_access=ground.settings.org_memory.read_access)


def _moving(ground: _Ground, queue: EmbeddingQueue, org: Org) -> Moving:
    from memd.ingest.moving import Moving
    from memd.records import moving as entities

    secrets = ground.settings.daemon.secrets
    return Moving(ground.db, ground.ids, org.learnt, queue.wake, entities, secrets)


def _recall(ground: _Ground, scorer: PairScorer | None, turns: Turns) -> Recall:
    from memd.recall.recall import Recall

    memory = ground.settings.memory
    return Recall(
        db=ground.db,
        embedder=ground.embedder,
        clock=ground.clock,
        config=memory.retrieval,
        level=memory.level,
        shares=memory.options.shared_knowledge_base,
        scorer=scorer,
        turns=turns,
    )


def _archive(ground: _Ground) -> Archive:
    from memd.archive.archive import Archive

    return Archive(db=ground.db, clock=ground.clock, undo_days=ground.settings.daemon.undo_days)


def _archival(ground: _Ground) -> Archival:
    from memd.archive.archival import Archival

    return Archival(db=ground.db, clock=ground.clock, ids=ground.ids)


def _quarantine(ground: _Ground, queue: EmbeddingQueue) -> Quarantine:
    from memd.archive.quarantine import Quarantine

    return Quarantine(ground.db, ground.clock, ground.settings.daemon.undo_days, queue.wake)


def _org(ground: _Ground, graph: Graph) -> Org:
    async def walk(caller: Caller, context: str, limit: int) -> tuple[str, ...]:
        return await graph.facts(caller, context, limit)

    from memd.org.org import Org

    return Org(
        db=ground.db,
        clock=ground.clock,
        ids=ground.ids,
        config=ground.settings.org_memory,
        work=ground.work,
        walk=walk,
        secrets=ground.settings.daemon.secrets,
    )


async def _add(ingest: Ingest, learning: RelationExtractor, caller: Caller, text: str) -> Added:
    """Store the text of a triple as a memory of the caller's, and read it at once."""
    from memd.domain.org.graph import Added

    request = MemoryStoreRequest(category=MemoryCategory.SEMANTIC, content=text)
    memory_id = await ingest.store(caller, request)
    said = await learning.read(caller, memory_id)
    if not said:
        raise OrgMemoryWriteError(
            "the triple was kept as a memory, but nothing is said by it",
            hint="a name may have been screened as a secret",
        )
    return Added(memory_id=memory_id, statement_id=said[0])
