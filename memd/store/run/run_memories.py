"""List the memories that a run made and moved, from its ledger."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from memd.store.file.connect import Reading

_CHANGED = """
  FROM run_change AS c
       JOIN memory AS m ON m.memory_key = c.memory_key
 WHERE c.run_key = :run_key AND c.change > :after
   AND m.agent_key IN (SELECT value FROM json_each(:agents))
   AND (c.what = 'made' OR c.before ->> '$.state' <> c.after ->> '$.state')
"""  # put together from constants of this module only
# ruff: noqa: S608
_VISIBLE = {"active", "pending"}


class RunMemoryRow(NamedTuple):
    """A memory that a run made or moved to another state.

    *mode* is "abstractive" or "extractive" if a summary was made of it, else None.
    """

    change: int
    memory_key: int
    memory_id: str
    agent_id: str
    before: str | None
    """Its state before the run; None if the run made it."""
    after: str
    archival_id: str | None
    mode: str | None

    @property
    def is_made(self) -> bool:
        """Return whether the run made it."""
        return self.before is None

    @property
    def is_hidden(self) -> bool:
        """Return whether the run hid it. What was hidden before does not count."""
        return self.before in _VISIBLE and self.after not in _VISIBLE


def list_changes(
    conn: Reading, run_key: int, agent_keys: Sequence[int], after: int, limit: int
) -> tuple[list[RunMemoryRow], int]:
    """Return up to *limit* changes after change *after*, and how many follow these.

    Only changes of memories of these agents; those that were undone and those of forgotten memories
    are not in the ledger any more.
    """
    params: Mapping[str, Any] = {
        "run_key": run_key, "after": after, "agents": json.dumps(list(agent_keys)),
    }  # fmt: skip
    rows = conn.execute(
        f"""
        SELECT c.change, m.memory_key, m.memory_id,
               (SELECT a.agent_id FROM agent AS a WHERE a.agent_key = m.agent_key),
               c.before ->> '$.state', c.after ->> '$.state', c.after ->> '$.archive[0]',
               (SELECT substr(t.tag, 6)
                  FROM derived AS d
                       JOIN memory_tag AS t ON t.memory_key = d.to_key
                 WHERE d.from_key = c.memory_key
                   AND t.tag IN ('mode:abstractive', 'mode:extractive')
                 LIMIT 1)
        {_CHANGED}
         ORDER BY c.change
         LIMIT :limit
        """,
        {**params, "limit": limit},
    )
    page = [RunMemoryRow._make(row) for row in rows]
    if len(page) < limit:
        return page, 0
    next_params = {**params, "after": page[-1].change}
    return page, conn.get_count(f"SELECT count(*) {_CHANGED}", next_params)
