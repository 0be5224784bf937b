"""List the memories that a run hid and made, from its ledger."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from memd.store.file.connect import Reading

# Made by the run, or visible before and hidden afterwards. A change from compressed to archived
# does not count: the memory was hidden before.
_TOUCHED = """
  FROM run_change AS c
       JOIN memory AS m ON m.memory_key = c.memory_key
 WHERE c.run_key = :run_key AND c.change > :after
   AND m.agent_key IN (SELECT value FROM json_each(:agents))
   AND (c.what = 'made'
        OR (c.before ->> '$.state' IN ('active', 'pending')
            AND c.after ->> '$.state' NOT IN ('active', 'pending')))
"""  # put together from constants of this module only
# ruff: noqa: S608


class RunMemoryRow(NamedTuple):
    """A memory that a run made or hid.

    *mode* is "abstractive" or "extractive" if a summary was made of it, else None.
    """

    change: int
    memory_id: str
    is_made: bool
    archival_id: str | None
    mode: str | None


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
        SELECT c.change, m.memory_id, c.what = 'made', c.after ->> '$.archive[0]',
               (SELECT substr(t.tag, 6)
                  FROM derived AS d
                       JOIN memory_tag AS t ON t.memory_key = d.to_key
                 WHERE d.from_key = c.memory_key
                   AND t.tag IN ('mode:abstractive', 'mode:extractive')
                 LIMIT 1)
        {_TOUCHED}
         ORDER BY c.change
         LIMIT :limit
        """,
        {**params, "limit": limit},
    )
    page = [RunMemoryRow._make(row)._replace(is_made=bool(row[2])) for row in rows]
    if len(page) < limit:
        return page, 0
    next_params = {**params, "after": page[-1].change}
    return page, conn.get_count(f"SELECT count(*) {_TOUCHED}", next_params)
