"""Build the rooms over one file; ``serve.rooms.DaemonRooms`` adds those of the daemon.

A room is built, and its modules are imported, on first use. So a start does not wait for rooms
that it does not need, and a program that only stores never imports the search.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from memd.base import log
from memd.base.clock import Clock, from_us
from memd.base.errors import DamagedError, MemdError, OrgMemoryWriteError
from memd.base.ids import Ids
from memd.base.work import SharedLock, Work
from memd.domain.caller import Caller
from memd.domain.encoding import Embedder, PairScorer, SentenceClassifier
from memd.domain.enums import MemoryCategory
from memd.domain.memory import MemoryStoreRequest
from memd.domain.settings.settings import MemoryConfig, Settings
from memd.domain.values import EVERYBODY, Emit, EventName, unheard
from memd.ingest.agents import Agents
from memd.ingest.queue import EmbeddingQueue
from memd.ingest.sessions import Sessions
from memd.org.relation_extraction import RelationExtractor
from memd.records.notes import Notes
from memd.store.check.upkeep import BackgroundCheck, Upkeep
from memd.store.file.database import Database, open_database
from memd.store.file.faults import is_corruption
from memd.text.tokens import counter_for

if TYPE_CHECKING:
    from memd.archive.archive import Archive
    from memd.archive.quarantine import Quarantine
    from memd.archive.trash import Trash
    from memd.backends.transfer import Moving
    from memd.domain.org.graph import StoredTriple
    from memd.ingest.ingest import Ingest
    from memd.ingest.preferences import PreferenceWriter
    from memd.ingest.sharing import Sharing
    from memd.org.graph import Graph
    from memd.org.org import Org
    from memd.recall.recall import Recall
    from memd.records.records import Records

RHYTHM_SECONDS = 60.0
"""The interval of due work."""
LOOK_SECONDS = 2.0
"""The interval of checks that the file exists and is undamaged."""


class Rooms:
    """Every room over one open file; *stack* closes their resources.

    After ``begin``, the caller runs ``queue.run``, ``notes.run``, ``relation_extractor.run`` and an
    :class:`UpkeepLoop` in the background, and closes the *embedder* and the *scorer*. *model_dir*
    has the embedding model's tokenizer, *emit* is called with the events of what is stored, and
    the *scorer* scores pairs for re-ranking; without one, no model re-ranks.
    """

    def __init__(  # noqa: PLR0913  # all that the rooms share
        self,
        settings: Settings,
        db: Database,
        clock: Clock,
        stack: AsyncExitStack,
        *,
        embedder: Embedder,
        model_dir: Path,
        emit: Emit = unheard,
        scorer: PairScorer | None = None,
    ) -> None:
        self.settings, self.db, self.clock, self.stack = settings, db, clock, stack
        self.embedder, self.counter, self.scorer = embedder, counter_for(model_dir), scorer
        self.ids = Ids(clock)
        self.work = Work()
        stack.callback(self.work.close)
        self.model_lock = SharedLock()  # a change of model waits for searches under way
        self.upkeep = Upkeep(db=db, clock=clock)
        self.notes = Notes(db, clock, self.work)
        self.relation_extractor = RelationExtractor(db, clock, self.work)
        self.queue = EmbeddingQueue(
            db, embedder, self.counter, clock, self.ids, emit, self.model_lock
        )
        memory = settings.memory
        default = MemoryConfig(type=memory.level)
        self.agents = Agents(db, clock, default=default, file=memory.agents)
        self._emit = self.relation_extractor.wrap_emit(emit)

    async def begin(self) -> Self:
        """Apply the agents' settings of the settings file; only log an error, as of a full disk."""
        try:
            await self.agents.apply_file()
        except MemdError as error:
            log.error("settings of agents not taken over", kind=error.kind)
        return self

    async def due(self) -> None:
        """Do the work of each minute: end idle sessions, delete old texts, trash and replies."""
        await self.sessions.end_idle()
        await self.trash.purge()
        await self.sessions.drop_old()
        await self.upkeep.tidy()

    @cached_property
    def ingest(self) -> Ingest:
        """Store, correct and observe (SPEC 3)."""
        from memd.ingest.ingest import Ingest

        settings = self.settings
        return Ingest(
            db=self.db,
            embedder=self.embedder,
            counter=self.counter,
            clock=self.clock,
            ids=self.ids,
            work=self.work,
            queue=self.queue,
            emit=self._emit,
            level=settings.memory.level,
            secrets=settings.daemon.secrets,
            chunking=settings.memory.chunking,
            advises=settings.memory.retrieval.non_inferable_only,
        )

    @property
    def classifier(self) -> SentenceClassifier | None:
        """The model that judges sentences; None if the embedder, given by a program, cannot."""
        return self.embedder if isinstance(self.embedder, SentenceClassifier) else None

    @cached_property
    def preferences(self) -> PreferenceWriter:
        """Set, confirm and delete preferences."""
        from memd.ingest.preferences import PreferenceWriter

        return PreferenceWriter(
            self.db,
            self.counter,
            self.clock,
            self.ids,
            self.work,
            self.settings.memory.level,
            self.settings.daemon.secrets,
        )

    @cached_property
    def recall(self) -> Recall:
        """Search and read."""
        from memd.recall.recall import Recall

        memory = self.settings.memory
        return Recall(
            db=self.db,
            embedder=self.embedder,
            clock=self.clock,
            config=memory.retrieval,
            level=memory.level,
            shares=memory.options.shared_knowledge_base,
            scorer=self.scorer,
            model_lock=self.model_lock,
        )

    @cached_property
    def archive(self) -> Archive:
        """The archive: memories that are hidden, kept indefinitely and restorable."""
        from memd.archive.archive import Archive

        return Archive(db=self.db, clock=self.clock, ids=self.ids)

    @cached_property
    def trash(self) -> Trash:
        """The trash, and forgetting."""
        from memd.archive.trash import Trash

        return Trash(db=self.db, clock=self.clock, undo_days=self.settings.daemon.undo_days)

    @cached_property
    def quarantine(self) -> Quarantine:
        """Quarantined memories, until a person decides."""
        from memd.archive.quarantine import Quarantine

        undo_days = self.settings.daemon.undo_days
        return Quarantine(self.db, self.clock, undo_days, self.queue.wake)

    @cached_property
    def moving(self) -> Moving:
        """Export and import."""
        from memd.backends.transfer import Moving

        secrets = self.settings.daemon.secrets
        return Moving(self.db, self.clock, self.ids, self.queue.wake, secrets)

    @cached_property
    def sessions(self) -> Sessions:
        """Sessions and their messages."""
        daemon = self.settings.daemon
        return Sessions(
            db=self.db,
            clock=self.clock,
            ids=self.ids,
            work=self.work,
            undo_days=daemon.undo_days,
            text_days=daemon.session_days,
            note=self.notes.add,
        )

    @cached_property
    def sharing(self) -> Sharing:
        """Memories that agents share."""
        from memd.ingest.sharing import Sharing

        enabled = self.settings.memory.options.shared_knowledge_base
        undo_days = self.settings.daemon.undo_days
        return Sharing(ingest=self.ingest, enabled=enabled, undo_days=undo_days)

    @cached_property
    def graph(self) -> Graph:
        """The graph: entities and statements."""
        from memd.org.graph import Graph

        read_access = self.settings.org_memory.read_access
        return Graph(self.db, self.clock, self._add, read_access=read_access)

    @cached_property
    def org(self) -> Org:
        """Organisational facts and policies."""
        from memd.org.org import Org

        async def walk(caller: Caller, context: str, limit: int) -> tuple[str, ...]:
            return await self.graph.find_fact_ids(caller, context, limit)

        return Org(
            db=self.db,
            clock=self.clock,
            ids=self.ids,
            config=self.settings.org_memory,
            work=self.work,
            walk=walk,
            secrets=self.settings.daemon.secrets,
        )

    @cached_property
    def records(self) -> Records:
        """Operational records."""
        from memd.records.records import Records

        return Records(self.db, self.ids)

    async def _add(self, caller: Caller, text: str) -> StoredTriple:
        """Store the text of a triple as a memory, and extract its statement at once."""
        from memd.domain.org.graph import StoredTriple

        request = MemoryStoreRequest(category=MemoryCategory.SEMANTIC, content=text)
        memory_id = await self.ingest.store(caller, request)
        ids = await self.relation_extractor.read(caller, memory_id)
        if not ids:
            raise OrgMemoryWriteError(
                "the triple was kept as a memory, but nothing is said by it",
                hint="a name may have been screened as a secret",
            )
        return StoredTriple(memory_id=memory_id, statement_id=ids[0])


async def open_rooms(  # noqa: PLR0913  # all that the rooms share
    settings: Settings,
    database: Path,
    clock: Clock,
    stack: AsyncExitStack,
    *,
    embedder: Embedder,
    model_dir: Path,
    emit: Emit = unheard,
) -> Rooms:
    """Open the file and its rooms; nothing runs in the background yet."""
    db = await open_store(database, clock, stack, mmap=settings.daemon.mmap_vectors)
    rooms = Rooms(settings, db, clock, stack, embedder=embedder, model_dir=model_dir, emit=emit)
    return await rooms.begin()


async def open_store(
    database: Path, clock: Clock, stack: AsyncExitStack, *, mmap: bool
) -> Database:
    """Open the file, creating it if needed; repair it first if SQLite cannot read any of it.

    For example, one flipped bit in the text of the schema makes a file with intact rows unreadable.
    The repair copies the rows like ``memd repair``, and keeps the damaged file.
    """
    try:
        return await stack.enter_async_context(open_database(database, clock, mmap=mmap))
    except DamagedError as error:
        if not is_corruption(error):
            raise
        from memd.records.entities import tables
        from memd.store.repair.repair import repair

        now_us = clock.now_us()
        stamp = from_us(now_us).strftime("%Y%m%dT%H%M%S%f")
        done = repair(database, database.with_suffix(".audit"), stamp, now_us, tables())
        log.error("the file could not be opened; it was repaired", lost=len(done.lost))
        db = await stack.enter_async_context(open_database(database, clock, mmap=mmap))
        db.damage.add(f"file: it was repaired at the start, the damaged one is {done.damaged}")
        return db


class UpkeepLoop:
    """Checks the file every two seconds, and does due work once a minute."""

    def __init__(
        self,
        db: Database,
        upkeep: Upkeep,
        due: Callable[[], Awaitable[None]],
        emit: Emit,
    ) -> None:
        self._db = db
        self._upkeep = upkeep
        self._due = due
        self._emit = emit
        self._checking = upkeep.background_check

    async def run(self) -> None:
        """Run for ever; log an error of the file, and try again a minute later."""
        with suppress(MemdError):
            await self._upkeep.sweep()
        while True:
            for _ in range(round(RHYTHM_SECONDS / LOOK_SECONDS)):
                await asyncio.sleep(LOOK_SECONDS)
                self.check_file()
            await self.run_round(self._checking)

    def check_file(self) -> None:
        """Detect a missing file, and report new damage."""
        self._db.write_refusal()
        fresh = self._db.damage.take_new()
        if fresh:
            log.error("the store is damaged: see memd status", found=len(fresh))
            self._emit(EVERYBODY, EventName.DAMAGED, {"what": list(fresh)})

    async def run_round(self, checking: BackgroundCheck) -> None:
        """Do due work, then check a portion of the file."""
        try:
            if await self._db.recover():
                await self._due()
            await checking.check_portion()
        except MemdError as error:
            log.error("upkeep failed", kind=error.kind)
