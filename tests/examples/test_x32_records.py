"""X32: two companies, each with a backend of its own (document 004, multi-tenancy)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol, runtime_checkable

import pytest
import yaml
from pydantic import ValidationError

from memd.api import (
    CostRecord,
    CostRecordRepository,
    Message,
    MessageRepository,
    PersistenceBackend,
    PersistenceConfig,
    SQLiteConfig,
    Task,
    TaskRepository,
    TaskStatus,
    create_backend,
)
from memd.base.errors import DuplicateRecordError, PersistenceConnectionError

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def config(path: Path | str) -> PersistenceConfig:
    return PersistenceConfig.model_validate(
        {
            "backend": "sqlite",
            "sqlite": {"path": str(path), "wal_mode": True, "journal_size_limit": 67108864},
        }
    )


def a_task(number: int, status: TaskStatus) -> Task:
    return Task(
        id=f"t{number}",
        title="Write it",
        type="development",
        project="bees",
        created_by="ann",
        assigned_to="ada" if number < 3 else "bob",
        status=status,
    )


def a_message(number: int) -> Message:
    return Message(
        id=f"m{number}",
        timestamp=AT + timedelta(minutes=number),
        sender="ada",
        to="bob",
        type="question",
        channel="general",
        content=f"Shall we? {number}",
    )


async def fill(a: PersistenceBackend) -> None:
    for number, status in enumerate((TaskStatus.CREATED, TaskStatus.ASSIGNED) * 2):
        await a.tasks.save(a_task(number, status))
    cost = CostRecord(
        agent_id="ada",
        task_id="t0",
        provider="local",
        model="m",
        input_tokens=10,
        output_tokens=2,
        cost=0.25,
        timestamp=AT,
    )
    await a.cost_records.save(cost)
    for number in range(3):
        await a.messages.save(a_message(number))
    with pytest.raises(DuplicateRecordError):
        await a.messages.save(a_message(0))


def test_a_backend_and_its_repositories_are_the_documents_protocols(tmp_path: Path) -> None:
    backend = create_backend(config(tmp_path / "a.db"))
    assert isinstance(backend, PersistenceBackend)
    assert isinstance(backend.tasks, TaskRepository)
    assert isinstance(backend.cost_records, CostRecordRepository)
    assert isinstance(backend.messages, MessageRepository)


async def test_two_companies_see_nothing_of_each_other(tmp_path: Path) -> None:
    a, b = create_backend(config(tmp_path / "a.db")), create_backend(config(tmp_path / "b.db"))
    for backend in (a, b):
        await backend.connect()
        await backend.migrate()
        await backend.migrate()
        assert backend.is_connected
        assert await backend.health_check()
        assert backend.backend_name == "sqlite"
    assert await a.cost_records.aggregate() == 0.0

    await fill(a)
    tasks = await a.tasks.list_tasks(status=TaskStatus.ASSIGNED, assigned_to="ada", project="bees")
    assert [task.id for task in tasks] == ["t1"]
    assert await a.tasks.list_tasks(status=TaskStatus.CREATED, assigned_to="bob") == ()
    assert await a.cost_records.aggregate(agent_id="ada") == 0.25
    assert await a.cost_records.aggregate(agent_id="bob") == 0.0
    history = await a.messages.get_history("general", limit=2)
    assert [message.id for message in history] == ["m2", "m1"]

    assert await b.tasks.list_tasks() == ()
    assert await b.tasks.get("t0") is None
    assert await b.cost_records.aggregate() == 0.0
    assert await b.messages.get_history("general") == ()
    for backend in (a, b):
        await backend.disconnect()
        await backend.disconnect()
        assert not backend.is_connected
        assert not await backend.health_check()


async def test_what_was_saved_is_there_after_the_next_connect(tmp_path: Path) -> None:
    backend = create_backend(config(tmp_path / "a.db"))
    await backend.connect()
    await backend.tasks.save(a_task(1, TaskStatus.CREATED))
    await backend.disconnect()
    with pytest.raises(PersistenceConnectionError):
        await backend.tasks.get("t1")
    await backend.connect()
    assert await backend.tasks.get("t1") == a_task(1, TaskStatus.CREATED)
    other = create_backend(config(tmp_path / "a.db"))
    with pytest.raises(PersistenceConnectionError):
        await other.connect()
    await backend.disconnect()


async def test_a_file_in_memory_goes_with_its_backend() -> None:
    for _ in range(2):
        backend = create_backend(config(":memory:"))
        await backend.connect()
        await backend.migrate()
        assert await backend.tasks.count() == 0
        await backend.tasks.save(a_task(1, TaskStatus.CREATED))
        await backend.disconnect()


def test_the_configuration_has_the_documents_defaults_and_no_way_up() -> None:
    default = PersistenceConfig()
    assert default.backend == "sqlite"
    assert default.sqlite == SQLiteConfig(
        path="synthorg.db", wal_mode=True, journal_size_limit=67_108_864
    )
    for wrong in ("../up.db", "/data/../etc/x.db", "", " "):
        with pytest.raises(ValidationError):
            config(wrong)
    with pytest.raises(ValidationError):
        PersistenceConfig.model_validate({"backend": "postgresql"})


# The document's own text, with the indentation that its page has lost.
PROTOCOLS = '''
@runtime_checkable
class PersistenceBackend(Protocol):
    """Lifecycle management for operational data storage."""
    async def connect(self) -> None: ...
    async def disconnect(self) -> None: ...
    async def health_check(self) -> bool: ...
    async def migrate(self) -> None: ...
    @property
    def is_connected(self) -> bool: ...
    @property
    def backend_name(self) -> NotBlankStr: ...
    @property
    def tasks(self) -> TaskRepository: ...
    @property
    def cost_records(self) -> CostRecordRepository: ...
    @property
    def messages(self) -> MessageRepository: ...
    # ... plus lifecycle_events, task_metrics, collaboration_metrics,
    # parked_contexts, audit_entries, users, api_keys, checkpoints,
    # heartbeats, agent_states, settings, artifacts, projects,
    # custom_presets

@runtime_checkable
class TaskRepository(Protocol):
    """CRUD + query interface for Task persistence."""
    async def save(self, task: Task) -> None: ...
    async def get(self, task_id: str) -> Task | None: ...
    async def list_tasks(self, *, status: TaskStatus | None = None, assigned_to: str | None = None, project: str | None = None) -> tuple[Task, ...]: ...
    async def delete(self, task_id: str) -> bool: ...

@runtime_checkable
class CostRecordRepository(Protocol):
    """CRUD + aggregation interface for CostRecord persistence."""
    async def save(self, record: CostRecord) -> None: ...
    async def query(self, *, agent_id: str | None = None, task_id: str | None = None) -> tuple[CostRecord, ...]: ...
    async def aggregate(self, *, agent_id: str | None = None) -> float: ...

@runtime_checkable
class MessageRepository(Protocol):
    """CRUD + query interface for Message persistence."""
    async def save(self, message: Message) -> None: ...
    async def get_history(self, channel: str, *, limit: int | None = None) -> tuple[Message, ...]: ...
'''  # noqa: E501  # as it is typed there
OTHERS = """lifecycle_events, task_metrics, collaboration_metrics,
parked_contexts, audit_entries, users, api_keys, checkpoints,
heartbeats, agent_states, settings, artifacts, projects,
custom_presets"""
CONFIGURATION = """
persistence:
  backend: "sqlite" # sqlite, postgresql, mariadb (future)
  sqlite:
    path: "/data/synthorg.db" # database file path (mounted volume in Docker)
    wal_mode: true # WAL for concurrent read performance
    journal_size_limit: 67108864 # 64 MB WAL journal limit
  # postgresql: # future
  #   url: "postgresql://user:pass@host:5432/synthorg"
  #   pool_size: 10
"""
TENANCY = """
# One database per company -- configured in each company's YAML
company_a_backend = create_backend(company_a_config.persistence)
company_b_backend = create_backend(company_b_config.persistence)
# Each backend has independent lifecycle: connect -> migrate -> use -> disconnect
"""


def test_a_backend_is_what_the_document_types(tmp_path: Path) -> None:
    typed: dict[str, Any] = {"Protocol": Protocol, "runtime_checkable": runtime_checkable}
    exec("from __future__ import annotations\n" + PROTOCOLS, typed)  # noqa: S102  # as typed
    backend = create_backend(config(tmp_path / "a.db"))
    for protocol, typed_for in (
        ("PersistenceBackend", backend),
        ("TaskRepository", backend.tasks),
        ("CostRecordRepository", backend.cost_records),
        ("MessageRepository", backend.messages),
    ):
        assert isinstance(typed_for, typed[protocol])
    for name in OTHERS.replace("\n", " ").split(", "):
        assert hasattr(backend, name.strip()), name


def test_the_document_s_configuration_is_read_as_typed() -> None:
    config = PersistenceConfig.model_validate(yaml.safe_load(CONFIGURATION)["persistence"])
    assert config.sqlite.path == "/data/synthorg.db"
    assert (config.sqlite.wal_mode, config.sqlite.journal_size_limit) == (True, 67_108_864)


async def test_the_document_s_tenancy_runs_as_typed(tmp_path: Path) -> None:
    typed: dict[str, Any] = {"create_backend": create_backend}
    for company in "ab":
        typed[f"company_{company}_config"] = SimpleNamespace(
            persistence=config(tmp_path / f"{company}.db")
        )
    exec(TENANCY, typed)  # noqa: S102  # as typed
    a, b = typed["company_a_backend"], typed["company_b_backend"]
    for backend in (a, b):
        await backend.connect()
        await backend.migrate()
    await fill(a)
    assert await a.tasks.count() == 4
    assert await b.tasks.count() == 0
    await a.disconnect()
    assert await b.health_check()
    await b.disconnect()
