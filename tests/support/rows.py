"""Builders of rows: only the columns that matter to a test are given."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from support.clocks import HeldClock

from memd.base.ids import Ids
from memd.domain.enums import MemoryCategory, MemoryLevel, MemoryState, Origin, Trust
from memd.domain.trust import Screened
from memd.store.file.connect import Writing
from memd.store.memory import memories
from memd.store.memory.rows import MemoryRow


def an_id_source(seed: int = 0) -> Ids:
    """Return ids and salts that are the same in every run."""
    state = [seed]

    def chance(size: int) -> bytes:
        state[0] += 1
        return state[0].to_bytes(size, "big")

    return Ids(HeldClock(), chance)


def ran(call: str, line: str, result: str) -> list[dict[str, Any]]:
    """Return the messages of an agent that runs *line*, and of its *result*."""
    function = {"name": "Bash", "arguments": json.dumps({"command": line})}
    return [
        {"role": "assistant", "content": "", "tool_calls": [{"id": call, "function": function}]},
        {"role": "tool", "tool_call_id": call, "content": result},
    ]


def inserted(conn: Writing, rows: Sequence[MemoryRow], now_us: int) -> list[int]:
    """Insert and index *rows* without vectors; return their keys."""
    keys = memories.insert_bare(conn, rows, now_us)
    memories.index_new(conn, keys)
    return keys


def a_row(ids: Ids, content: str = "a cat sat on the mat", **fields: Any) -> MemoryRow:
    """Return an active semantic memory of the first agent."""
    plain = MemoryRow(
        memory_id=ids.new(),
        agent_key=1,
        client_key=None,
        session_key=None,
        project_key=None,
        source_key=None,
        namespace="default",
        category=MemoryCategory.SEMANTIC,
        level=MemoryLevel.PERSISTENT,
        origin=Origin.PERSON,
        trust=Trust.OWNER,
        speaker=None,
        content=Screened(content),
        caption=None,
        reference=None,
        ordinal=None,
        part=0,
        batch=None,
        token_count=max(1, len(content) // 4),
        importance=0.5,
        confidence=1.0,
        created_at_us=1_700_000_000_000_000,
        occurred_at_us=None,
        salt=ids.salt(),
        state=MemoryState.ACTIVE,
        expires_at_us=None,
    )
    return plain._replace(**fields)
