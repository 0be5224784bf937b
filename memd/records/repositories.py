"""The documented repositories over :class:`Records`.

The base class has what they share; subclasses add the methods with documented names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Generic, TypeVar

from memd.base.clock import to_us
from memd.base.errors import InvalidQueryError, VersionConflictError
from memd.domain.caller import Caller
from memd.domain.values import Value
from memd.records import models
from memd.records.entities import ENTITIES
from memd.records.records import Range, Records
from memd.store.records.rows import Condition

M = TypeVar("M", bound=Value)
_CALLER = Caller()


class Repository(Generic[M]):
    """The records of one entity, in the file that is open at the time of a call."""

    def __init__(self, entity_name: str, records: Callable[[], Records]) -> None:
        self._records = records
        self._entity = ENTITIES[entity_name]

    async def save(self, record: M) -> None:
        """Save *record*; raises DuplicateRecordError for an existing one that is written once."""
        await self._records().save(_CALLER, self._entity, record)

    async def get(self, *key: str) -> M | None:
        """Return the record with *key*, or None."""
        record: M | None = await self._records().get(_CALLER, self._entity, key)
        return record

    async def count(self, **where: Any) -> int:
        """Return the number of records that match *where*."""
        return await self._records().count(_CALLER, self._entity, where)

    async def _list(
        self,
        times: Range = Range(),  # noqa: B008  # a value
        *,
        limit: int | None = None,
        offset: int = 0,
        **where: Any,
    ) -> tuple[M, ...]:
        return await self._records().list(
            _CALLER, self._entity, where, times=times, limit=limit, offset=offset
        )

    async def _delete(self, **where: Any) -> int:
        return await self._records().delete(_CALLER, self._entity, where)


class DeletableRepository(Repository[M]):
    """Records that can be deleted."""

    async def delete(self, *key: str) -> bool:
        return await self._delete(**dict(zip(self._entity.key, key, strict=True))) > 0


class SqliteTasks(DeletableRepository[models.Task]):
    """Tasks, by id."""

    async def list_tasks(
        self,
        *,
        status: models.TaskStatus | None = None,
        assigned_to: str | None = None,
        project: str | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> tuple[models.Task, ...]:
        """Return the tasks that match all given filters, by id."""
        return await self._list(
            status=status, assigned_to=assigned_to, project=project, limit=limit, offset=offset
        )


class SqliteCostRecords(Repository[models.CostRecord]):
    """Cost records, newest first."""

    async def query(
        self, *, agent_id: str | None = None, task_id: str | None = None
    ) -> tuple[models.CostRecord, ...]:
        """Return the cost records of an agent, a task, or both."""
        return await self._list(agent_id=agent_id, task_id=task_id)

    async def aggregate(self, *, agent_id: str | None = None, task_id: str | None = None) -> float:
        """Return their sum, 0.0 without any; raises QueryError for several currencies."""
        where = {"agent_id": agent_id, "task_id": task_id}
        return (await self._records().total(_CALLER, where)).amount


class SqliteMessages(Repository[models.Message]):
    """Messages, newest first."""

    async def get_history(
        self, channel: str, *, limit: int | None = None
    ) -> tuple[models.Message, ...]:
        """Return the newest messages of *channel*; raises QueryError for a limit under 1."""
        return await self._list(channel=channel, limit=limit)


class SqliteAuditEntries(Repository[models.AuditEntry]):
    """Audit entries, newest first; deleted by age only."""

    async def query(  # noqa: PLR0913  # the documents' parameters
        self,
        *,
        agent_id: str | None = None,
        action_type: str | None = None,
        verdict: models.Verdict | None = None,
        risk_level: models.Risk | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 100,
    ) -> tuple[models.AuditEntry, ...]:
        """Return the entries that match all given filters; both times are inclusive."""
        return await self._list(
            Range(since, until),
            agent_id=agent_id,
            action_type=action_type,
            verdict=verdict,
            risk_level=risk_level,
            limit=limit,
        )

    async def purge_before(self, cutoff: datetime) -> int:
        """Delete entries strictly older than *cutoff*; return how many."""
        return await self._records().delete(_CALLER, self._entity, {}, before=cutoff)


class SqliteParkedContexts(DeletableRepository[models.ParkedContext]):
    """Parked contexts, newest first."""

    async def get_by_approval(self, approval_id: str) -> models.ParkedContext | None:
        """Return the context that waits for *approval_id*."""
        return next(iter(await self._list(approval_id=approval_id, limit=1)), None)

    async def get_by_agent(self, agent_id: str) -> tuple[models.ParkedContext, ...]:
        return await self._list(agent_id=agent_id)

    async def get_by_execution(self, execution_id: str) -> tuple[models.ParkedContext, ...]:
        return await self._list(execution_id=execution_id)

    async def get_by_task(self, task_id: str) -> tuple[models.ParkedContext, ...]:
        return await self._list(task_id=task_id)


class SqliteAgentStates(DeletableRepository[models.AgentRuntimeState]):
    """The current state of each agent."""

    async def get_active(self) -> tuple[models.AgentRuntimeState, ...]:
        """Return all states that are not idle, the last active first."""
        active = Condition("status", "<>", "idle")
        return await self._records().list(_CALLER, self._entity, {}, active)


class SqliteSettings(DeletableRepository[models.StoredSetting]):
    """Settings, by namespace and key."""

    async def get_namespace(self, namespace: str) -> tuple[models.StoredSetting, ...]:
        return await self._list(namespace=namespace)

    async def get_all(self) -> tuple[models.StoredSetting, ...]:
        return await self._list()

    async def set(
        self,
        namespace: str,
        key: str,
        value: str,
        updated_at: datetime,
        *,
        expected_updated_at: str | None = None,
    ) -> bool:
        """Set one; with *expected_updated_at* ("" for a new one) only if it has not changed."""
        setting = models.StoredSetting(
            namespace=namespace, key=key, value=value, updated_at=updated_at
        )
        try:
            await self._records().set(_CALLER, setting, expected=expected_updated_at)
        except VersionConflictError:
            return False
        return True

    async def set_many(self, settings: Sequence[models.StoredSetting]) -> None:
        """Set all of *settings* or none."""
        await self._records().save(_CALLER, self._entity, *settings)

    async def delete_namespace(self, namespace: str) -> int:
        return await self._delete(namespace=namespace)


class SqliteArtifacts(DeletableRepository[models.Artifact]):
    """Artifacts, by id."""

    async def save(self, record: models.Artifact) -> bool:  # type: ignore[override]  # SPEC 19.2: True if inserted
        """Save *record*; return whether it is new."""
        return await self._records().save(_CALLER, self._entity, record)

    async def list_artifacts(
        self,
        *,
        task_id: str | None = None,
        created_by: str | None = None,
        artifact_type: models.ArtifactType | None = None,
    ) -> tuple[models.Artifact, ...]:
        """Return the artifacts that match all given filters."""
        return await self._list(task_id=task_id, created_by=created_by, type=artifact_type)


class SqliteProjects(DeletableRepository[models.Project]):
    """Projects, by id."""

    async def list_projects(
        self, *, status: models.ProjectStatus | None = None, lead: str | None = None
    ) -> tuple[models.Project, ...]:
        """Return the projects that match all given filters."""
        return await self._list(status=status, lead=lead)


class SqliteCustomPresets(DeletableRepository[models.CustomPreset]):
    """Presets, by name."""

    async def list_all(self) -> tuple[models.CustomPreset, ...]:
        return await self._list()


class SqliteCheckpoints(DeletableRepository[models.Checkpoint]):
    """Checkpoints, the latest turn first."""

    async def get_latest(
        self, *, execution_id: str | None = None, task_id: str | None = None
    ) -> models.Checkpoint | None:
        """Return the checkpoint of the highest turn; raises ValueError if neither id is given."""
        if execution_id is None and task_id is None:
            raise InvalidQueryError("an execution_id or a task_id is needed", field="execution_id")
        checkpoints = await self._list(execution_id=execution_id, task_id=task_id, limit=1)
        return next(iter(checkpoints), None)

    async def delete_by_execution(self, execution_id: str) -> int:
        return await self._delete(execution_id=execution_id)


class SqliteHeartbeats(DeletableRepository[models.Heartbeat]):
    """Heartbeats of executions, the oldest first."""

    async def get_stale(self, threshold: datetime) -> tuple[models.Heartbeat, ...]:
        """Return the heartbeats strictly before *threshold*."""
        is_stale = Condition("last_heartbeat_at_us", "<", to_us(threshold))
        return await self._records().list(_CALLER, self._entity, {}, is_stale)


class LogRepository(Repository[M]):
    """Records that are written once, newest first."""

    async def query(
        self,
        *,
        agent_id: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int | None = None,
    ) -> tuple[M, ...]:
        """Return an agent's or all records of a time range; both ends are inclusive."""
        return await self._list(Range(since, until), agent_id=agent_id, limit=limit)
