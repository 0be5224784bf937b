"""The documented persistence backend: one file, with a repository for each entity.

A daemon can serve the file later, but never at the same time.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from memd.base import log
from memd.base.clock import Clock
from memd.base.errors import MemdError, MigrationError, PersistenceConnectionError
from memd.base.ids import Ids
from memd.base.lock import lock_store
from memd.domain.caller import Caller
from memd.records import models, repositories
from memd.records.config import JOURNAL_BYTES, PersistenceConfig
from memd.records.entities import ENTITIES
from memd.records.records import Records
from memd.records.repositories import DeletableRepository, LogRepository
from memd.store.file.connect import Writing
from memd.store.file.database import Database, open_database
from memd.store.records import shape

_IN_MEMORY = ":memory:"


class SQLitePersistenceBackend:
    """Owns the open file from ``connect`` to ``disconnect``; the repositories are attributes."""

    backend_name = "sqlite"

    def __init__(self, config: PersistenceConfig, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._stack: AsyncExitStack | None = None
        self._db: Database | None = None
        self._records: Records | None = None
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

    async def connect(self) -> None:
        """Open or create the file; do nothing when already connected.

        Raises PersistenceConnectionError when another process has it or it cannot be opened.
        """
        if self._stack is not None:
            return
        async with AsyncExitStack() as stack:
            try:
                self._db = await stack.enter_async_context(
                    open_database(self._path(stack), self._clock)
                )
            except (MemdError, OSError) as error:
                raise PersistenceConnectionError(str(error)) from error
            await self._set_up(self._db)
            self._records = Records(self._db, Ids(self._clock))
            self._stack = stack.pop_all()

    def _path(self, stack: AsyncExitStack) -> Path:
        setting = self._config.sqlite.path
        if setting == _IN_MEMORY:
            return Path(stack.enter_context(TemporaryDirectory(prefix="memd-"))) / "records.db"
        path = Path(setting).expanduser()
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        stack.callback(lock_store(path.with_suffix(".lock"), path).close)
        return path

    async def _set_up(self, db: Database) -> None:
        limit = self._config.sqlite.journal_size_limit
        if not self._config.sqlite.wal_mode:
            log.warning("a store has a write-ahead log; wal_mode is not followed")
        if limit != JOURNAL_BYTES:
            await db.write(Caller(), lambda conn: conn.pragma("journal_size_limit", limit))

    async def disconnect(self) -> None:
        """Close the file; harmless without a connection."""
        stack, self._stack, self._db, self._records = self._stack, None, None, None
        if stack is not None:
            await stack.aclose()

    async def health_check(self) -> bool:
        if self._db is None:
            return False
        try:
            return await self._db.read(lambda conn: conn.exists("SELECT 1"))
        except MemdError as error:
            log.warning("records not healthy", kind=error.kind)
            return False

    async def migrate(self) -> None:
        """Create all missing tables; may be called again."""
        if self._db is None:
            raise PersistenceConnectionError("the backend is not connected", hint="call connect")
        try:
            await self._db.write(Caller(), _make_tables)
        except MemdError as error:
            raise MigrationError(error.message, hint=error.hint) from error

    @property
    def is_connected(self) -> bool:
        """Whether the file is open."""
        return self._stack is not None

    def _require_records(self) -> Records:
        if self._records is None:
            raise PersistenceConnectionError("the backend is not connected", hint="call connect")
        return self._records


def _make_tables(conn: Writing) -> None:
    for entity in ENTITIES.values():
        shape.ensure(conn, entity.table)
        shape.migrate(conn, entity.table)
