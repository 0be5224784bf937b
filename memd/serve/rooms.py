"""What the handlers need of the house, as protocols; ``daemon.py`` hands in the rooms."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from memd.model.access import (
    AddedClient,
    AuditReport,
    AuditRow,
    KeyedClient,
)
from memd.model.caller import Caller, Identity, Scope
from memd.model.encoding import Embedder, Installed
from memd.model.enums import (
    ArchiveReason,
    AutonomyLevel,
    InjectionStrategy,
    MemoryCategory,
    SearchMode,
    SeniorityLevel,
)
from memd.model.files import FileCommand, FileReply
from memd.model.flagged import Flagged, Quarantined
from memd.model.ingest import (
    IngestManyRequest,
    IngestRequest,
    Receipt,
    Receipts,
    Replaced,
    ReplaceSourceRequest,
)
from memd.model.inject import (
    Brief,
    BriefRequest,
    PreparedPrompt,
    PrepareRequest,
    ToolAnswer,
    ToolDefinition,
)
from memd.model.memory import (
    MemoryEntry,
    MemoryFilter,
    MemoryQuery,
    MemoryStoreRequest,
    MemoryUpdate,
    Preference,
)
from memd.model.provenance import Provenance
from memd.model.recall import RecallRequest, RecallResult
from memd.model.removal import Archived, Forgotten, Trashed
from memd.model.session import Session, SessionHit, SessionMessage, SessionQuery
from memd.model.settings import MemoryConfig, SaidBy
from memd.model.sleep import ImportedSession, NapResult, RunReport, SleepStatus, Window
from memd.model.upkeep import CheckReport, DumpPage, Loaded
from memd.model.wiki import WikiExport
from memd.serve.events import Events
from memd.serve.learn_rooms import Learn, Sharing, Synthesis
from memd.serve.org_rooms import Graph, Org, Owner, Review
from memd.serve.short_ids import ShortIds
from memd.store.changes import Refused, Wanted

if TYPE_CHECKING:
    from memd.signals.usage import Usage as Said
    from memd.sleep.nap.consolidator import MemoryConsolidator

Progress = Callable[[int, int], None]
"""Told how many steps are done, and of how many."""

Memories = tuple[MemoryEntry, ...]


class Ingest(Protocol):
    """Texts in, and what changes memories."""

    async def ingest(self, caller: Caller, request: IngestRequest) -> Receipt: ...
    async def ingest_many(
        self, caller: Caller, request: IngestManyRequest, progress: Progress | None = None
    ) -> Receipts: ...
    async def replace_source(self, caller: Caller, request: ReplaceSourceRequest) -> Replaced: ...
    async def store(self, caller: Caller, request: MemoryStoreRequest) -> str: ...
    async def update(
        self, caller: Caller, memory_id: str, changes: MemoryUpdate
    ) -> MemoryEntry: ...
    async def set_preference(self, caller: Caller, name: str, value: str) -> None: ...
    async def confirm_preference(self, caller: Caller, name: str, value: str | None) -> bool: ...
    async def delete_preference(self, caller: Caller, name: str) -> bool: ...


class Recall(Protocol):
    """Memories out."""

    async def recall(self, caller: Caller, request: RecallRequest) -> RecallResult: ...
    async def retrieve(
        self, caller: Caller, query: MemoryQuery, mode: SearchMode = SearchMode.HYBRID
    ) -> Memories: ...
    async def search_shared(
        self, query: MemoryQuery, exclude_agent: str | None = None
    ) -> Memories: ...
    async def get(self, caller: Caller, memory_id: str) -> MemoryEntry | None: ...
    async def why(self, caller: Caller, memory_id: str, *, full: bool) -> Provenance | None: ...
    async def list(
        self, caller: Caller, wanted: MemoryFilter, after: str | None, limit: int
    ) -> tuple[Memories, str | None]: ...
    async def export(
        self, caller: Caller, wanted: MemoryFilter, after: str | None, limit: int
    ) -> tuple[Memories, str | None]: ...
    async def count(self, caller: Caller, category: MemoryCategory | None) -> int: ...
    async def preferences(self, caller: Caller) -> tuple[Preference, ...]: ...


class Archive(Protocol):
    """Thrown away, brought back, erased."""

    async def delete(self, caller: Caller, memory_id: str) -> bool: ...
    async def forget(
        self,
        caller: Caller,
        ids: tuple[str, ...] | None,
        filter: MemoryFilter | None,  # noqa: A002  # the parameter's documented name
        source: str | None,
        dry_run: bool,  # noqa: FBT001  # as the socket names it
    ) -> Forgotten: ...
    async def trash_list(
        self, caller: Caller, after: str | None, limit: int
    ) -> tuple[tuple[Trashed, ...], str | None]: ...
    async def trash_restore(self, caller: Caller, memory_id: str) -> bool: ...


class Quarantine(Protocol):
    """What is suspicious."""

    async def flagged(
        self,
        caller: Caller,
        after: str | None,
        limit: int,
        *,
        aside: bool = False,
        everybody: bool = False,
    ) -> tuple[tuple[Flagged, ...], str | None]: ...
    async def show(self, caller: Caller, memory_id: str) -> Flagged: ...
    async def release(self, caller: Caller, memory_id: str) -> bool: ...
    async def quarantine(self, caller: Caller, memory_id: str) -> Quarantined: ...


class Archival(Protocol):
    """What was put away, shown and brought back."""

    async def search(self, caller: Caller, query: MemoryQuery) -> tuple[Archived, ...]: ...
    async def put_away(
        self, caller: Caller, memory_id: str, reason: ArchiveReason
    ) -> str | None: ...
    async def restore(self, caller: Caller, entry_id: str) -> Archived: ...
    async def restore_to_hot(self, caller: Caller, entry_id: str) -> MemoryEntry: ...
    async def count(self, caller: Caller) -> int: ...
    async def turned_away(
        self, caller: Caller, after: str | None, limit: int, *, everybody: bool
    ) -> tuple[tuple[Archived, ...], str | None]: ...
    async def restore_turned_away(self, caller: Caller, *, everybody: bool) -> int: ...


class Upkeep(Protocol):
    """The care of the file."""

    async def check(self, caller: Caller) -> CheckReport: ...
    async def rebuild(self, caller: Caller, progress: Progress | None) -> None: ...
    async def backup(self, caller: Caller) -> str: ...
    async def note_copy(self, caller: Caller, target: str, *, made: bool = False) -> str: ...
    async def met(self, caller: Caller, entry: MemoryEntry) -> str | None: ...
    async def stats(self) -> dict[str, Any]: ...


class Moving(Protocol):
    """Everything out, and everything of another profile in."""

    async def dump(self, after: str | None, limit: int) -> DumpPage: ...
    async def load(self, caller: Caller, items: Sequence[dict[str, Any]]) -> Loaded: ...


class Sessions(Protocol):
    """Assistants' conversations."""

    async def start(self, caller: Caller, session_id: str | None = None) -> Session: ...
    async def end(self, caller: Caller, session_id: str) -> Session: ...
    async def list(
        self, caller: Caller, after: str | None, limit: int
    ) -> tuple[tuple[Session, ...], str | None]: ...
    async def messages(
        self, caller: Caller, session_id: str, after: int | None, limit: int
    ) -> tuple[tuple[SessionMessage, ...], int | None]: ...
    async def search(self, caller: Caller, wanted: SessionQuery) -> tuple[SessionHit, ...]: ...


class Usage(Protocol):
    """Assistants' context windows."""

    async def report(
        self,
        caller: Caller,
        usage: Said,
        messages: Sequence[dict[str, Any]] | None = None,
        *,
        returns: bool = False,
    ) -> Window: ...
    async def list(self, caller: Caller) -> tuple[Window, ...]: ...
    def unreadable(self) -> tuple[int, str | None]: ...


class Naps(Protocol):
    """Naps by call."""

    @property
    def rule(self) -> MemoryConsolidator: ...
    async def consolidate(
        self,
        caller: Caller,
        *,
        messages: Sequence[dict[str, Any]] | None = None,
        transcript_path: str | None = None,
        max_tokens: int | None = None,
    ) -> NapResult: ...
    async def import_session(
        self,
        caller: Caller,
        raw: bytes,
        *,
        session_id: str | None = None,
        cwd: str | None = None,
        dry_run: bool = False,
    ) -> ImportedSession: ...


class Sleep(Protocol):
    """Nights and compressions, and what undoes them."""

    @property
    def running(self) -> RunReport | None: ...
    async def run(
        self,
        caller: Caller,
        *,
        dry_run: bool = False,
        steps: frozenset[str] | None = None,
        agent_id: str | None = None,
        ahead_us: int = 0,
        progress: Progress | None = None,
    ) -> RunReport: ...
    async def compress(
        self,
        caller: Caller,
        *,
        force: bool = False,
        sessions: int | None = None,
        progress: Progress | None = None,
    ) -> RunReport: ...
    async def undo(
        self, caller: Caller, run_id: str, *, progress: Progress | None = None
    ) -> RunReport: ...
    async def report(self, run_id: str, caller: Caller, after: int = 0) -> RunReport: ...
    async def reports(self, after: str | None, limit: int) -> tuple[RunReport, ...]: ...
    async def pause(self, caller: Caller) -> None: ...
    async def resume(self, caller: Caller) -> None: ...


class Rhythm(Protocol):
    """When nights begin; it is told how long nobody has asked for anything.

    What is *asked* for goes on when its caller stops waiting.
    """

    async def asked(self, run: Coroutine[Any, Any, RunReport]) -> RunReport: ...
    def heed(self, quiet_s: Callable[[], float]) -> None: ...
    async def status(self) -> SleepStatus: ...


class Wiki(Protocol):
    """Memories as files."""

    async def export(self, caller: Caller, target: str | None) -> WikiExport: ...
    async def forgotten(self, caller: Caller) -> str | None: ...


class Files(Protocol):
    """Memories as files."""

    async def run(self, caller: Caller, command: FileCommand) -> FileReply: ...


class Inject(Protocol):
    """Memories into prompts."""

    async def prepare(self, caller: Caller, request: PrepareRequest) -> PreparedPrompt: ...
    def tools(self, strategy: InjectionStrategy | None = None) -> tuple[ToolDefinition, ...]: ...
    async def call(
        self,
        caller: Caller,
        name: str,
        arguments: Mapping[str, Any],
        strategy: InjectionStrategy | None = None,
    ) -> ToolAnswer: ...


class Briefs(Protocol):
    """What a session is told before it asks."""

    async def brief(self, caller: Caller, request: BriefRequest) -> Brief: ...


class Agents(Protocol):
    """What each agent does differently."""

    async def set(self, caller: Caller, settings: MemoryConfig) -> MemoryConfig: ...
    async def get(self, caller: Caller) -> MemoryConfig: ...
    async def list(self, caller: Caller) -> tuple[tuple[str, MemoryConfig], ...]: ...
    def refuse_what_the_file_says(self, agent_id: str, given: Collection[str]) -> None: ...
    async def origins(self, agent_id: str) -> dict[str, SaidBy]: ...


class Clients(Protocol):
    """Clients with keys."""

    def identify(self, key: str) -> Identity | None: ...
    def agents(self) -> frozenset[str]: ...
    def heed(self, leave: Callable[[str], None]) -> None: ...
    async def add(
        self,
        caller: Caller,
        name: str,
        *,
        agent_id: str | None = None,
        seniority: SeniorityLevel | None = None,
        autonomy_level: AutonomyLevel | None = None,
        scopes: frozenset[Scope],
    ) -> AddedClient: ...
    async def list(self) -> tuple[KeyedClient, ...]: ...
    async def revoke(self, caller: Caller, name: str) -> KeyedClient: ...


class Audit(Protocol):
    """What was done and refused."""

    async def refused(self, attempts: Sequence[Refused]) -> None: ...
    async def show(
        self, wanted: Wanted, after: int | None, limit: int
    ) -> tuple[tuple[AuditRow, ...], int | None]: ...
    async def verify(self, given: Sequence[tuple[int, bytes]] = ()) -> AuditReport: ...


@dataclass(frozen=True, slots=True)
class Rooms:
    """All rooms that the socket is a view of."""

    ingest: Ingest
    recall: Recall
    archive: Archive
    archival: Archival
    upkeep: Upkeep
    moving: Moving
    agents: Agents
    audit: Audit
    clients: Clients
    sessions: Sessions
    sharing: Sharing
    usage: Usage
    naps: Naps
    events: Events
    embedder: Embedder
    reranker: Installed
    graph: Graph
    org: Org
    owner: Owner
    review: Review
    files: Files
    inject: Inject
    briefs: Briefs
    learn: Learn
    quarantine: Quarantine
    synthesis: Synthesis
    wiki: Wiki
    sleep: Sleep
    rhythm: Rhythm
    shares: bool = True
    """Whether agents can share memories."""
    memories_max: int | None = None
    """How many memories an agent may have, None for as many as it likes."""
    short_ids: ShortIds | None = None
    """Without, ids are taken whole only."""
    background: tuple[Callable[[], Coroutine[Any, Any, Any]], ...] = ()
    """What runs beside the server until the daemon stops."""
