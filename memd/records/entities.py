"""The declaration of every entity: model, key, order, filters and permitted operations.

Tables, repositories, the socket's methods, commands and their tests are derived from these
declarations (SPEC 19.2, docs/records.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

from memd.domain.caller import Scope
from memd.domain.values import Value
from memd.records import models
from memd.records.columns import column_name, columns_of
from memd.store.records.table import PREFIX, RecordTable

Saving = Literal["replace", "once"]


@dataclass(frozen=True)
class Entity:
    """One kind of record. *name* is the name of its repository, methods and table.

    *saving*: ``replace`` replaces the record with the same key; ``once`` refuses a second one.
    *order* are the fields by which records are listed. *time* is the field for ``since`` and
    ``until``, both inclusive, and for ``purge``.
    """

    name: str
    model: type[Value]
    key: tuple[str, ...] = ("id",)
    filters: tuple[str, ...] = ()
    saving: Saving = "replace"
    order: tuple[str, ...] = ()
    newest_first: bool = False
    time: str | None = None
    deletes: bool = True
    refers: Mapping[str, str] | None = None
    """Fields that hold the id of a record, with the name of its entity."""
    covering: tuple[tuple[str, ...], ...] = ()
    """Additional indexes that cover the columns of sums."""
    reading: Scope = "read"
    writing: Scope = "write"
    audited: bool = True
    """Whether writes are audited; False for what an agent reports every few seconds."""

    @cached_property
    def table(self) -> RecordTable:
        order = tuple(column_name(self.model, name) for name in self.order)
        needs = {name: ENTITIES[other].table for name, other in (self.refers or {}).items()}
        indexes = [(name, *order) for name in self.filters]
        if order:
            indexes.append(order)
        indexes += self.covering
        return RecordTable(
            name=PREFIX + self.name,
            columns=columns_of(self.model, {name: table.name for name, table in needs.items()}),
            key=self.key,
            order=order,
            newest_first=self.newest_first,
            indexes=tuple(indexes),
            needs=tuple(needs.values()),
        )

    @property
    def owner(self) -> str | None:
        """The field with the record's agent, or None."""
        return "agent_id" if "agent_id" in self.model.model_fields else None

    @property
    def verbs(self) -> tuple[str, ...]:
        """The operations that all records of the entity support."""
        verbs = ["save", "get", "list", "count"]
        if self.deletes:
            verbs.append("delete")
        if self.time is not None:
            verbs.append("purge")
        return tuple(verbs)


def _log(name: str, model: type[Value], time: str, *filters: str, **options: Any) -> Entity:
    """Return a log: an entity whose records are written once and listed newest first."""
    return Entity(
        name, model, filters=filters, saving="once", order=(time,), newest_first=True, time=time,
        deletes=False, **options,
    )  # fmt: skip


_ALL = (
    Entity("tasks", models.Task, filters=("status", "assigned_to", "project")),
    _log(
        "cost_records", models.CostRecord, "timestamp", "agent_id", "task_id",
        refers={"task_id": "tasks"},
        covering=(("agent_id", "currency", "cost"), ("currency", "cost")),
    ),
    _log("messages", models.Message, "timestamp", "channel"),
    _log("lifecycle_events", models.LifecycleEvent, "timestamp", "agent_id", "event_type"),
    _log("task_metrics", models.TaskMetric, "completed_at", "agent_id", "task_type"),
    _log("collaboration_metrics", models.CollaborationMetric, "recorded_at", "agent_id"),
    Entity(
        "parked_contexts", models.ParkedContext, order=("parked_at",), newest_first=True,
        filters=("execution_id", "approval_id", "agent_id", "task_id"),
    ),
    _log(
        "audit_entries", models.AuditEntry, "timestamp",
        "agent_id", "action_type", "verdict", "risk_level",
    ),
    Entity("users", models.User, filters=("username",), reading="admin", writing="admin"),
    Entity(
        "api_keys", models.ApiKey, filters=("user_id", "key_hash"), refers={"user_id": "users"},
        reading="admin", writing="admin",
    ),
    Entity("checkpoints", models.Checkpoint, filters=("execution_id", "task_id"),
        order=("turn_number",), newest_first=True, audited=False),
    Entity("heartbeats", models.Heartbeat, key=("execution_id",), filters=("agent_id",),
        order=("last_heartbeat_at",), audited=False),
    Entity("agent_states", models.AgentRuntimeState, key=("agent_id",), filters=("status",),
        order=("last_activity_at",), newest_first=True, audited=False),
    Entity("settings", models.StoredSetting, key=("namespace", "key"), filters=("namespace",)),
    Entity("artifacts", models.Artifact, filters=("task_id", "created_by", "type")),
    Entity("projects", models.Project, filters=("status", "lead")),
    Entity("custom_presets", models.CustomPreset, key=("name",)),
)  # fmt: skip

ENTITIES: Final[Mapping[str, Entity]] = {entity.name: entity for entity in _ALL}


def tables() -> list[RecordTable]:
    """Return the table of each entity, whether it exists in a file or not."""
    return [entity.table for entity in ENTITIES.values()]
