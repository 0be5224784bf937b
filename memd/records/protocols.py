"""The documented protocols of operational persistence, one for each repository."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol, runtime_checkable

from memd.records.models import (
    AgentRuntimeState,
    Artifact,
    ArtifactType,
    AuditEntry,
    CostRecord,
    CustomPreset,
    Message,
    ParkedContext,
    Project,
    ProjectStatus,
    Risk,
    StoredSetting,
    Task,
    TaskStatus,
    Verdict,
)


@runtime_checkable
class TaskRepository(Protocol):
    """Tasks, listed by status, assignee and project."""

    async def save(self, record: Task, /) -> None: ...
    async def get(self, task_id: str, /) -> Task | None: ...
    async def list_tasks(
        self,
        *,
        status: TaskStatus | None = None,
        assigned_to: str | None = None,
        project: str | None = None,
    ) -> tuple[Task, ...]: ...
    async def delete(self, task_id: str, /) -> bool: ...


@runtime_checkable
class CostRecordRepository(Protocol):
    """Cost records: written once, queried by agent and task, summed."""

    async def save(self, record: CostRecord, /) -> None: ...
    async def query(
        self, *, agent_id: str | None = None, task_id: str | None = None
    ) -> tuple[CostRecord, ...]: ...
    async def aggregate(self, *, agent_id: str | None = None) -> float: ...


@runtime_checkable
class MessageRepository(Protocol):
    """Messages: written once, the history of a channel newest first."""

    async def save(self, record: Message, /) -> None: ...
    async def get_history(
        self, channel: str, *, limit: int | None = None
    ) -> tuple[Message, ...]: ...


@runtime_checkable
class AuditRepository(Protocol):
    """Audit entries: written once, newest first."""

    async def save(self, record: AuditEntry, /) -> None: ...
    async def query(  # noqa: PLR0913  # the documents' parameters
        self,
        *,
        agent_id: str | None = None,
        action_type: str | None = None,
        verdict: Verdict | None = None,
        risk_level: Risk | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 100,
    ) -> tuple[AuditEntry, ...]: ...


@runtime_checkable
class ParkedContextRepository(Protocol):
    """Contexts of agents that wait for an approval."""

    async def save(self, record: ParkedContext, /) -> None: ...
    async def get(self, parked_id: str, /) -> ParkedContext | None: ...
    async def get_by_approval(self, approval_id: str) -> ParkedContext | None: ...
    async def get_by_agent(self, agent_id: str) -> tuple[ParkedContext, ...]: ...
    async def delete(self, parked_id: str, /) -> bool: ...


@runtime_checkable
class AgentStateRepository(Protocol):
    """The current state of each agent."""

    async def save(self, record: AgentRuntimeState, /) -> None: ...
    async def get(self, agent_id: str, /) -> AgentRuntimeState | None: ...
    async def get_active(self) -> tuple[AgentRuntimeState, ...]: ...
    async def delete(self, agent_id: str, /) -> bool: ...


@runtime_checkable
class SettingsRepository(Protocol):
    """Settings by namespace and key, with compare-and-swap."""

    async def get(self, namespace: str, key: str, /) -> StoredSetting | None: ...
    async def get_namespace(self, namespace: str) -> tuple[StoredSetting, ...]: ...
    async def get_all(self) -> tuple[StoredSetting, ...]: ...
    async def set(
        self,
        namespace: str,
        key: str,
        value: str,
        updated_at: datetime,
        *,
        expected_updated_at: str | None = None,
    ) -> bool: ...
    async def set_many(self, settings: Sequence[StoredSetting]) -> None: ...
    async def delete(self, namespace: str, key: str, /) -> bool: ...
    async def delete_namespace(self, namespace: str) -> int: ...


@runtime_checkable
class ArtifactRepository(Protocol):
    """Files made by tasks."""

    async def save(self, record: Artifact, /) -> bool: ...
    async def get(self, artifact_id: str, /) -> Artifact | None: ...
    async def list_artifacts(
        self,
        *,
        task_id: str | None = None,
        created_by: str | None = None,
        artifact_type: ArtifactType | None = None,
    ) -> tuple[Artifact, ...]: ...
    async def delete(self, artifact_id: str, /) -> bool: ...


@runtime_checkable
class ProjectRepository(Protocol):
    """Projects by status and lead."""

    async def save(self, record: Project, /) -> None: ...
    async def get(self, project_id: str, /) -> Project | None: ...
    async def list_projects(
        self, *, status: ProjectStatus | None = None, lead: str | None = None
    ) -> tuple[Project, ...]: ...
    async def delete(self, project_id: str, /) -> bool: ...


@runtime_checkable
class PersonalityPresetRepository(Protocol):
    """Presets by name."""

    async def save(self, record: CustomPreset, /) -> None: ...
    async def get(self, name: str, /) -> CustomPreset | None: ...
    async def list_all(self) -> tuple[CustomPreset, ...]: ...
    async def count(self) -> int: ...
    async def delete(self, name: str, /) -> bool: ...


@runtime_checkable
class PersistenceBackend(Protocol):
    """A file of records: its lifecycle, and its repositories."""

    async def connect(self) -> None: ...
    async def disconnect(self) -> None: ...
    async def health_check(self) -> bool: ...
    async def migrate(self) -> None: ...
    @property
    def is_connected(self) -> bool: ...
    @property
    def backend_name(self) -> str: ...
    @property
    def tasks(self) -> TaskRepository: ...
    @property
    def cost_records(self) -> CostRecordRepository: ...
    @property
    def messages(self) -> MessageRepository: ...
    @property
    def audit_entries(self) -> AuditRepository: ...
    @property
    def parked_contexts(self) -> ParkedContextRepository: ...
    @property
    def agent_states(self) -> AgentStateRepository: ...
    @property
    def settings(self) -> SettingsRepository: ...
    @property
    def artifacts(self) -> ArtifactRepository: ...
    @property
    def projects(self) -> ProjectRepository: ...
    @property
    def custom_presets(self) -> PersonalityPresetRepository: ...
