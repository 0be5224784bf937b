"""A valid record of each entity, as JSON, and a file to store them in."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from support.clocks import HeldClock
from support.store import copy_empty_store

from memd.base.ids import Ids
from memd.client import Client
from memd.domain.values import Value
from memd.records.entities import ENTITIES, Entity
from memd.records.records import Records
from memd.store.file.database import open_database

AT = "2026-03-01T12:00:00Z"
SHA = "ab" * 32

EXAMPLES: dict[str, dict[str, Any]] = {
    "tasks": {"id": "t1", "title": "Write it", "type": "dev", "project": "p1", "created_by": "ann"},
    "cost_records": {
        "id": "c1", "agent_id": "ada", "task_id": "t1", "provider": "local", "model": "m",
        "input_tokens": 10, "output_tokens": 2, "cost": 0.25, "timestamp": AT,
    },
    "messages": {
        "id": "m1", "timestamp": AT, "sender": "ada", "to": "bob", "type": "question",
        "channel": "general", "content": "Shall we?", "attachments": [{"path": "a.md"}],
    },
    "lifecycle_events": {
        "id": "l1", "agent_id": "ada", "event_type": "nap", "timestamp": AT, "initiated_by": "memd",
    },
    "task_metrics": {
        "id": "k1", "agent_id": "ada", "task_id": "t1", "task_type": "nap", "completed_at": AT,
        "is_success": True, "duration_seconds": 1.5,
    },
    "collaboration_metrics": {"id": "o1", "agent_id": "ada", "recorded_at": AT},
    "parked_contexts": {
        "id": "p1", "execution_id": "e1", "agent_id": "ada", "task_id": "t1", "approval_id": "a1",
        "parked_at": AT, "context_json": '{"turn": 3}',
    },
    "audit_entries": {
        "id": "a1", "timestamp": AT, "agent_id": "ada", "tool_name": "shell",
        "tool_category": "system", "action_type": "run", "arguments_hash": SHA, "verdict": "allow",
        "risk_level": "low", "reason": "harmless", "matched_rules": ["r1"],
        "evaluation_duration_ms": 0.5,
    },
    "users": {
        "id": "u1", "username": "ann", "password_hash": "argon2", "role": "ceo", "created_at": AT,
        "updated_at": AT,
    },
    "api_keys": {
        "id": "k1", "key_hash": SHA, "name": "ci", "role": "observer", "user_id": "u1",
        "created_at": AT,
    },
    "checkpoints": {
        "id": "x1", "execution_id": "e1", "agent_id": "ada", "task_id": "t1", "turn_number": 3,
        "context_json": "{}", "created_at": AT,
    },
    "heartbeats": {
        "execution_id": "e1", "agent_id": "ada", "task_id": "t1", "last_heartbeat_at": AT,
    },
    "agent_states": {
        "agent_id": "ada", "execution_id": "e1", "task_id": "t1", "status": "executing",
        "turn_count": 2, "accumulated_cost": 0.1, "last_activity_at": AT, "started_at": AT,
    },
    "settings": {"namespace": "ui", "key": "theme", "value": "dark", "updated_at": AT},
    "artifacts": {
        "id": "f1", "type": "code", "path": "a.py", "task_id": "t1", "created_by": "ada",
        "created_at": AT,
    },
    "projects": {"id": "p1", "name": "Bees", "team": ["ada"], "lead": "ann", "task_ids": ["t1"]},
    "custom_presets": {"name": "calm", "config_json": "{}", "created_at": AT, "updated_at": AT},
}  # fmt: skip


def a_record(name: str, /, **changes: Any) -> Any:
    """Return the example of entity *name*, with *changes*."""
    model: type[Value] = ENTITIES[name].model
    return model.model_validate_json(json.dumps({**EXAMPLES[name], **changes}))


def referred(entity: Entity) -> list[str]:
    """Return the entities whose example that of *entity* refers to."""
    return list((entity.refers or {}).values())


def numbered(name: str, number: int) -> dict[str, Any]:
    """Return what makes the example another one, later than the one before."""
    changes: dict[str, Any] = {ENTITIES[name].key[-1]: f"n{number:02}"}
    for field in ENTITIES[name].order:
        later = (datetime.fromisoformat(AT) + timedelta(minutes=number)).isoformat()
        changes[field] = number if field == "turn_number" else later
    return changes


def save(client: Client, name: str, /, **changes: Any) -> dict[str, Any]:
    """Save the example of entity *name*, with *changes*, and those that it refers to."""
    for other in referred(ENTITIES[name]):
        client.call(f"records.{other}.save", {"record": EXAMPLES[other]})
    record = {**EXAMPLES[name], **changes}
    client.call(f"records.{name}.save", {"record": record})
    return record


@asynccontextmanager
async def some_records(folder: Path) -> AsyncIterator[Records]:
    """Yield the records of a new file."""
    copy_empty_store(folder / "memd.db")
    clock = HeldClock()
    async with open_database(folder / "memd.db", clock) as db:
        yield Records(db, Ids(clock))
