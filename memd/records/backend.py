"""The documented persistence backend: one SQLite file, with a repository for each entity.

A daemon can serve the same file later, but not while the backend is connected.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from memd.base import log
from memd.base.clock import Clock
from memd.base.errors import MemdError, MigrationError, PersistenceConnectionError
from memd.base.ids import Ids
from memd.domain.caller import Caller
from memd.records import models, repositories
from memd.records.config import JOURNAL_BYTES, PersistenceConfig
from memd.records.entities import ENTITIES
from memd.records.records import Records
from memd.records.repositories import DeletableRepository, LogRepository
from memd.store.file.connect import Writing
from memd.store.file.database import Database, open_database
from memd.store.file.file_backend import FileBackend, own_file
from memd.store.records import shape

_IN_MEMORY = ":memory:"


class _OpenRecords(NamedTuple):
    db: Database
    records: Records


class SQLitePersistenceBackend(FileBackend[_OpenRecords]):
    """Owns the open file from ``connect`` to ``disconnect``; the repositories are attributes."""

    _connection_error = PersistenceConnectionError
    backend_name = "sqlite"

    def __init__(self, config: PersistenceConfig, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        records = self._require_records
        self.tasks = repositories.SqliteTasks("tasks", records)
        self.cost_records = repositories.SqliteCostRecords("cost_records", records)
        self.messages = repositories.SqliteMessages("messages", records)
        self.lifecycle_events = LogRepository[models.LifecycleEvent]("lifecycle_events", records)
        self.task_metrics = LogRepository[models.TaskMetric]("task_metrics", records)
        self.collaboration_metrics = LogRepository[models.CollaborationMetric](
            "collaboration_metrics", records
        )
        self.parked_contexts = repositories.SqliteParkedContexts("parked_contexts", records)
        self.audit_entries = repositories.SqliteAuditEntries("audit_entries", records)
        self.users = DeletableRepository[models.User]("users", records)
        self.api_keys = DeletableRepository[models.ApiKey]("api_keys", records)
        self.checkpoints = repositories.SqliteCheckpoints("checkpoints", records)
        self.heartbeats = repositories.SqliteHeartbeats("heartbeats", records)
        self.agent_states = repositories.SqliteAgentStates("agent_states", records)
        self.settings = repositories.SqliteSettings("settings", records)
        self.artifacts = repositories.SqliteArtifacts("artifacts", records)
        self.projects = repositories.SqliteProjects("projects", records)
        self.custom_presets = repositories.SqliteCustomPresets("custom_presets", records)

    async def _open(self, stack: AsyncExitStack) -> _OpenRecords:
        db = await stack.enter_async_context(open_database(self._path(stack), self._clock))
        await self._set_up(db)
        return _OpenRecords(db, Records(db, Ids(self._clock)))

    def _path(self, stack: AsyncExitStack) -> Path:
        setting = self._config.sqlite.path
        if setting == _IN_MEMORY:
            return Path(stack.enter_context(TemporaryDirectory(prefix="memd-"))) / "records.db"
        path = Path(setting).expanduser()
        own_file(stack, path)
        return path

    async def _set_up(self, db: Database) -> None:
        limit = self._config.sqlite.journal_size_limit
        if not self._config.sqlite.wal_mode:
            log.warning("a store has a write-ahead log; wal_mode is not followed")
        if limit != JOURNAL_BYTES:
            await db.write(Caller(), lambda conn: conn.pragma("journal_size_limit", limit))

    async def health_check(self) -> bool:
        if self._opened is None:
            return False
        try:
            return await self._opened.db.read(lambda conn: conn.exists("SELECT 1"))
        except MemdError as error:
            log.warning("records not healthy", kind=error.kind)
            return False

    async def migrate(self) -> None:
        """Create all missing tables; may be called again."""
        db = self._require_open().db
        try:
            await db.write(Caller(), _make_tables)
        except MemdError as error:
            raise MigrationError(error.message, hint=error.hint) from error

    def _require_records(self) -> Records:
        return self._require_open().records


def _make_tables(conn: Writing) -> None:
    for entity in ENTITIES.values():
        shape.ensure(conn, entity.table)
        shape.migrate(conn, entity.table)
