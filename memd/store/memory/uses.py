"""How often a memory was used in an answer; the rows go with the memory."""

from __future__ import annotations

import json
from collections.abc import Sequence

from memd.store.file.connect import Reading, Writing


def texts_of(conn: Reading, ids: Sequence[str]) -> dict[str, str]:
    """Return the texts of those of the memories *ids* that still exist, by id."""
    rows = conn.execute(
        """
        SELECT m.memory_id, m.content
          FROM json_each(:ids) AS w
               JOIN memory AS m ON m.memory_id = w.value
        """,
        {"ids": json.dumps(ids)},
    )
    return {str(memory_id): str(content) for memory_id, content in rows}


def count_uses(conn: Writing, ids: Sequence[str], now_us: int) -> None:
    """Count one use of each of *ids*; ids erased meanwhile are ignored."""
    conn.execute(
        """
        INSERT INTO memory_use (memory_key, access_count, last_access_us)
        SELECT m.memory_key, 1, :now_us
          FROM json_each(:ids) AS w
               JOIN memory AS m ON m.memory_id = w.value
         WHERE true
            ON CONFLICT (memory_key) DO UPDATE
           SET access_count = access_count + 1,
               last_access_us = max(coalesce(last_access_us, 0), excluded.last_access_us)
        """,
        {"ids": json.dumps(ids), "now_us": now_us},
    )
