"""Rooms that remember in a dict: enough of a house to test the socket in front of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from support.access import FakeAudit, FakeClients, FakeOwner, FakeReview, an_authority
from support.flagging import FakeQuarantine
from support.graphs import FakeGraph
from support.learning import FakeLearn, FakeLessons, FakeSkills, FakeSynthesis, FakeTuning
from support.napping import FakeNaps, FakeSessions
from support.organising import FakeOrg
from support.sharing import FakeSharing
from support.sleeping import FakeNight, a_rhythm

from memd.base.clock import Clock, SystemClock
from memd.base.errors import MemoryNotFoundError
from memd.base.ids import Ids
from memd.base.paths import Paths
from memd.domain.caller import Caller
from memd.domain.encoding import ModelFingerprint
from memd.domain.enums import ArchiveReason, InjectionStrategy, MemoryCategory, SearchMode
from memd.domain.files import FileCommand, FileReply, WikiExport
from memd.domain.ingest import (
    IngestManyRequest,
    IngestRequest,
    Receipt,
    ReceiptItem,
    Receipts,
    Replaced,
    ReplaceSourceRequest,
)
from memd.domain.inject import (
    Brief,
    BriefRequest,
    PreparedPrompt,
    PrepareRequest,
    ToolAnswer,
    ToolDefinition,
)
from memd.domain.memory import (
    MemoryEntry,
    MemoryFilter,
    MemoryQuery,
    MemoryStoreRequest,
    MemoryUpdate,
    Preference,
)
from memd.domain.recall import Provenance, RecallRequest, RecallResult
from memd.domain.removal import Archived, Forgotten, Trashed
from memd.domain.settings.reload import Reloaded
from memd.domain.settings.settings import MemoryConfig, SaidBy, Settings
from memd.domain.sleep.upkeep import CheckReport, DayFigures, DumpPage, GrowthHistory, Loaded
from memd.llm.assistant import ConnectedAssistant
from memd.llm.llm import LanguageModel, ProviderIdentity
from memd.records.records import Records
from memd.serve.authority import Authority
from memd.serve.dispatch import Dispatch
from memd.serve.events import Events
from memd.serve.metrics import Metrics
from memd.serve.rooms import Rooms
from memd.serve.route import ProgressCallback
from memd.serve.status import System
from memd.store.file.database import opened

Memories = tuple[MemoryEntry, ...]

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@dataclass
class FakeHouse:
    """All rooms in one: keeps what is stored, and may be told to wait or to fail.

    A call that finds *gate* closed waits there; *fail* is raised by the next call
    that meets it. *began* and *ended* count the calls that passed either end.
    """

    kept: dict[str, MemoryEntry] = field(default_factory=dict)
    replies: dict[str, str] = field(default_factory=dict)
    named: dict[str, str] = field(default_factory=dict)
    agents: dict[str, MemoryConfig] = field(default_factory=dict)
    callers: list[Caller] = field(default_factory=list)
    night: FakeNight = field(default_factory=lambda: FakeNight(SystemClock()))
    sessions: FakeSessions = field(default_factory=FakeSessions)
    naps: FakeNaps = field(default_factory=FakeNaps)
    events: Events = field(default_factory=Events)
    audit: FakeAudit = field(default_factory=FakeAudit)
    clients: FakeClients = field(default_factory=FakeClients)
    gate: asyncio.Event | None = None
    fail: BaseException | None = None
    began: int = 0
    ended: int = 0
    most: int = 0
    cancelled: int = 0

    async def pass_through(self, caller: Caller) -> None:
        self.callers.append(caller)
        self.began += 1
        self.most = max(self.most, self.began - self.ended)
        try:
            if self.fail is not None:
                raise self.fail
            if self.gate is not None:
                await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.ended += 1

    def rooms(self) -> Rooms:
        fakes: dict[str, Any] = {
            "ingest": FakeIngest(self),
            "recall": FakeRecall(self),
            "archive": FakeArchive(self),
            "archival": FakeArchival(self),
            "upkeep": FakeUpkeep(self),
            "moving": FakeMoving(self),
            "agents": FakeAgents(self),
            "audit": self.audit,
            "clients": self.clients,
            "sessions": self.sessions,
            "sharing": FakeSharing(),
            "naps": self.naps,
            "events": self.events,
            "embedder": FakeEmbedder(),
            "models": FakeModels(),
            "reranker": FakeEmbedder(),
            "graph": FakeGraph(),
            "org": FakeOrg(),
            "owner": FakeOwner(),
            "review": FakeReview(),
            "files": FakeFiles(),
            "inject": FakeInject(),
            "briefs": FakeBriefs(),
            "learn": FakeLearn(),
            "tuning": FakeTuning(),
            "lessons": FakeLessons(),
            "skills": FakeSkills(),
            "quarantine": FakeQuarantine(),
            "synthesis": FakeSynthesis(),
            "wiki": FakeWiki(),
            "sleep": self.night,
            "rhythm": a_rhythm(self.night),
            "records": None,
            "llm": a_model(),
        }
        return Rooms(**fakes)

    def dispatch(
        self,
        clock: Clock | None = None,
        *,
        authority: Authority | None = None,
        stop: Callable[[], None] = lambda: None,
    ) -> Dispatch:
        """Return what answers for these rooms, to whom *authority* lets."""
        rooms, metrics, clock = self.rooms(), Metrics(), clock or SystemClock()
        system = System(rooms, metrics, clock, stop, _reload)
        authority = authority or an_authority(self.clients, self.audit)
        return Dispatch(rooms, system, clock, metrics, authority)

    async def build(
        self, settings: Settings, paths: Paths, clock: Clock, stack: AsyncExitStack
    ) -> Rooms:
        del settings
        db = await stack.enter_async_context(opened(paths.data_dir / "records.db", clock))
        return replace(self.rooms(), records=Records(db, Ids(clock)))


async def _reload() -> Reloaded:
    return Reloaded()


def a_model() -> LanguageModel:
    """Return a language model that nobody is yet."""
    assistants = ConnectedAssistant(timeout_ms=1_000)
    return LanguageModel(assistants, ProviderIdentity("assistant"), SystemClock(), purposes=())


@dataclass
class FakeIngest:
    house: FakeHouse

    async def ingest(self, caller: Caller, request: IngestRequest) -> Receipt:
        memory_id = await self.store(
            caller,
            MemoryStoreRequest(
                category=request.category or MemoryCategory.SEMANTIC, content=request.text
            ),
        )
        category = self.house.kept[memory_id].category
        return Receipt(stored=(ReceiptItem(id=memory_id, category=category, token_count=1),))

    async def ingest_many(
        self, caller: Caller, request: IngestManyRequest, progress: ProgressCallback | None = None
    ) -> Receipts:
        receipts = []
        for number, item in enumerate(request.items, 1):
            receipts.append(await self.ingest(caller, item))
            if progress is not None:
                progress(number, len(request.items))
        return Receipts(items=tuple(receipts))

    async def replace_source(self, caller: Caller, request: ReplaceSourceRequest) -> Replaced:
        receipts = [await self.ingest(caller, item) for item in request.items]
        ids = tuple(item.id for receipt in receipts for item in receipt.stored)
        return Replaced(ids=ids, new=len(ids))

    async def store(self, caller: Caller, request: MemoryStoreRequest) -> str:
        await self.house.pass_through(caller)
        key = caller.idempotency_key
        if key is not None and key in self.house.replies:
            return self.house.replies[key]
        memory_id = f"m{len(self.house.kept):06}"
        self.house.kept[memory_id] = MemoryEntry(
            id=memory_id,
            agent_id=caller.agent_id,
            namespace=request.namespace,
            category=request.category,
            content=request.content,
            created_at=NOON,
        )
        if key is not None:
            self.house.replies[key] = memory_id
        return memory_id

    async def update(self, caller: Caller, memory_id: str, changes: MemoryUpdate) -> MemoryEntry:
        await self.house.pass_through(caller)
        found = _mine(self.house, caller, memory_id)
        if found is None:
            raise MemoryNotFoundError("no such memory", field="id")
        new = found.model_copy(update={"content": changes.content or found.content})
        self.house.kept[memory_id] = new
        return new

    async def set_preference(self, caller: Caller, name: str, value: str) -> None:
        await self.house.pass_through(caller)
        self.house.named[name] = value

    async def confirm_preference(self, caller: Caller, name: str, value: str | None) -> bool:
        await self.house.pass_through(caller)
        return name in self.house.named

    async def delete_preference(self, caller: Caller, name: str) -> bool:
        await self.house.pass_through(caller)
        return self.house.named.pop(name, None) is not None


@dataclass
class FakeRecall:
    house: FakeHouse

    async def recall(self, caller: Caller, request: RecallRequest) -> RecallResult:
        del request
        await self.house.pass_through(caller)
        return RecallResult()

    async def retrieve(
        self, caller: Caller, query: MemoryQuery, mode: SearchMode = SearchMode.HYBRID
    ) -> Memories:
        del mode
        await self.house.pass_through(caller)
        return tuple(
            entry
            for entry in self.house.kept.values()
            if entry.agent_id == caller.agent_id and (query.text or "") in entry.content
        )[: query.limit]

    async def search_shared(self, query: MemoryQuery, exclude_agent: str | None = None) -> Memories:
        del query, exclude_agent
        return ()

    async def get(self, caller: Caller, memory_id: str) -> MemoryEntry | None:
        await self.house.pass_through(caller)
        return _mine(self.house, caller, memory_id)

    async def why(self, caller: Caller, memory_id: str, *, full: bool) -> Provenance | None:
        del full
        found = await self.get(caller, memory_id)
        return None if found is None else Provenance(memory=found)

    async def list(
        self, caller: Caller, wanted: MemoryFilter, after: str | None, limit: int
    ) -> tuple[Memories, str | None]:
        del wanted
        await self.house.pass_through(caller)
        mine = sorted(k for k, e in self.house.kept.items() if e.agent_id == caller.agent_id)
        rest = [k for k in mine if after is None or k > after]
        page = tuple(self.house.kept[k] for k in rest[:limit])
        return page, page[-1].id if len(rest) > limit else None

    async def export(
        self, caller: Caller, wanted: MemoryFilter, after: str | None, limit: int
    ) -> tuple[Memories, str | None]:
        return await self.list(caller, wanted, after, limit)

    async def count(self, caller: Caller, category: MemoryCategory | None) -> int:
        await self.house.pass_through(caller)
        return sum(
            entry.agent_id == caller.agent_id and category in (None, entry.category)
            for entry in self.house.kept.values()
        )

    async def preferences(self, caller: Caller) -> tuple[Preference, ...]:
        await self.house.pass_through(caller)
        return tuple(
            Preference(name=n, value=v, updated_at=NOON) for n, v in self.house.named.items()
        )


@dataclass
class FakeArchive:
    house: FakeHouse

    async def delete(self, caller: Caller, memory_id: str) -> bool:
        await self.house.pass_through(caller)
        return _mine(self.house, caller, memory_id) is not None and bool(
            self.house.kept.pop(memory_id)
        )

    async def forget(
        self,
        caller: Caller,
        ids: tuple[str, ...] | None,
        filter: MemoryFilter | None,  # noqa: A002  # the parameter's documented name
        source: str | None,
        dry_run: bool,
    ) -> Forgotten:
        del filter, source
        await self.house.pass_through(caller)
        found = tuple(i for i in ids or () if _mine(self.house, caller, i) is not None)
        if not dry_run:
            for memory_id in found:
                del self.house.kept[memory_id]
        return Forgotten(count=len(found), ids=found, dry_run=dry_run)

    async def trash_list(
        self, caller: Caller, after: str | None, limit: int
    ) -> tuple[tuple[Trashed, ...], str | None]:
        del after, limit
        await self.house.pass_through(caller)
        return (), None

    async def trash_restore(self, caller: Caller, memory_id: str) -> bool:
        del memory_id
        await self.house.pass_through(caller)
        return False


@dataclass
class FakeArchival:
    house: FakeHouse

    async def search(self, caller: Caller, query: MemoryQuery) -> tuple[Archived, ...]:
        found = await FakeRecall(self.house).retrieve(caller, query)
        return tuple(_archived(entry) for entry in found)

    async def move_to_archive(
        self, caller: Caller, memory_id: str, reason: ArchiveReason
    ) -> str | None:
        del reason
        await self.house.pass_through(caller)
        found = _mine(self.house, caller, memory_id)
        return None if found is None else found.id

    async def restore(self, caller: Caller, entry_id: str) -> Archived:
        return _archived(await self.restore_to_hot(caller, entry_id))

    async def restore_to_hot(self, caller: Caller, entry_id: str) -> MemoryEntry:
        await self.house.pass_through(caller)
        found = _mine(self.house, caller, entry_id)
        if found is None:
            raise MemoryNotFoundError("no such memory", field="id")
        return found

    async def count(self, caller: Caller) -> int:
        await self.house.pass_through(caller)
        return 0

    async def turned_away(
        self, caller: Caller, after: str | None, limit: int, *, everybody: bool
    ) -> tuple[tuple[Archived, ...], str | None]:
        del after, limit, everybody
        await self.house.pass_through(caller)
        return (), None

    async def restore_turned_away(self, caller: Caller, *, everybody: bool) -> int:
        del everybody
        await self.house.pass_through(caller)
        return 0


class FakeFiles:
    async def run(self, caller: Caller, command: FileCommand) -> FileReply:
        del caller
        return FileReply(text=command.command)


class FakeBriefs:
    async def brief(self, caller: Caller, request: BriefRequest) -> Brief:
        del caller
        return Brief(token_budget=request.token_budget)


class FakeInject:
    async def prepare(self, caller: Caller, request: PrepareRequest) -> PreparedPrompt:
        del caller
        return PreparedPrompt(strategy="context", token_budget=request.token_budget)

    def tools(self, strategy: InjectionStrategy | None = None) -> tuple[ToolDefinition, ...]:
        del strategy
        return ()

    async def call(
        self,
        caller: Caller,
        name: str,
        arguments: Mapping[str, Any],
        strategy: InjectionStrategy | None = None,
    ) -> ToolAnswer:
        del caller, arguments, strategy
        return ToolAnswer(name=name, content="")


class FakeWiki:
    async def export(self, caller: Caller, target: str | None) -> WikiExport:
        return WikiExport(agent_id=caller.agent_id, path=target or "nowhere")

    async def forgotten(self, caller: Caller) -> str | None:
        del caller
        return None


@dataclass
class FakeMoving:
    house: FakeHouse

    async def dump(self, after: str | None, limit: int) -> DumpPage:
        del after, limit
        return DumpPage(items=())

    async def load(self, caller: Caller, items: Sequence[dict[str, Any]]) -> Loaded:
        await self.house.pass_through(caller)
        return Loaded(stored=len(items), known=0, skipped=0)


@dataclass
class FakeUpkeep:
    house: FakeHouse

    async def met(self, caller: Caller, entry: MemoryEntry) -> str | None:
        return "known" if _mine(self.house, caller, entry.id) else None

    async def check(self, caller: Caller) -> CheckReport:
        await self.house.pass_through(caller)
        return CheckReport(ok=True)

    async def rebuild(self, caller: Caller, progress: ProgressCallback | None) -> None:
        await self.house.pass_through(caller)
        if progress is not None:
            progress(1, 1)

    async def backup(self, caller: Caller) -> str:
        await self.house.pass_through(caller)
        return "nowhere"

    async def note_copy(self, caller: Caller, target: str, *, made: bool = False) -> str:
        del made
        await self.house.pass_through(caller)
        return target

    async def history(self, days: int) -> GrowthHistory:
        return GrowthHistory(
            days=tuple(DayFigures(day=NOON.date(), added=1, total=1) for _ in range(days))
        )

    async def stats(self) -> dict[str, Any]:
        return {"memories": len(self.house.kept)}


@dataclass
class FakeAgents:
    house: FakeHouse

    async def set(self, caller: Caller, settings: MemoryConfig) -> MemoryConfig:
        self.house.agents[caller.agent_id] = settings
        return settings

    async def get(self, caller: Caller) -> MemoryConfig:
        return self.house.agents.get(caller.agent_id, MemoryConfig())

    async def list(self, caller: Caller) -> tuple[tuple[str, MemoryConfig], ...]:
        del caller
        return tuple(sorted(self.house.agents.items(), key=lambda item: item[0]))

    def refuse_what_the_file_says(self, agent_id: str, given: Collection[str]) -> None:
        del agent_id, given

    async def origins(self, agent_id: str) -> dict[str, SaidBy]:
        del agent_id
        return {}


class FakeModels:
    """One model, which is changed at once."""

    name = "one"
    embedder = None

    def __init__(self) -> None:
        self.ground = self
        self.db = self
        self.work = self

    async def read(self, *_asked: object) -> list[object]:
        return []

    async def run(self, *_asked: object) -> list[object]:
        return []

    async def status(self) -> dict[str, Any]:
        return {"in_use": self.name, "before": None, "coming": None}

    async def use(self, caller: Caller, name: str) -> dict[str, Any]:
        del caller
        self.name = name
        return await self.status()

    async def undo(self, caller: Caller) -> dict[str, Any]:
        return await self.use(caller, "one")


class FakeEmbedder:
    """An installed model that is never loaded."""

    fingerprint = ModelFingerprint("fake", "00" * 32, 256, "mean", 384)
    loaded = False

    async def embed(self, texts: Sequence[str], *, bulk: bool = False) -> list[bytes]:
        del texts, bulk
        raise AssertionError("the socket embeds nothing")


def _archived(entry: MemoryEntry) -> Archived:
    return Archived(
        archival_id=f"a-{entry.id}",
        reason=ArchiveReason.CAP,
        archived_at=entry.created_at,
        entry=entry,
    )


def _mine(house: FakeHouse, caller: Caller, memory_id: str) -> MemoryEntry | None:
    found = house.kept.get(memory_id)
    return found if found is not None and found.agent_id == caller.agent_id else None
