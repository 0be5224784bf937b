"""Check that a file whose nap or night was interrupted contains only complete steps (P3).

The rules are about rows alone, so they hold at any point of a night: a summary has exactly the
memories that it hides as sources, except that a session's may also have those of an earlier list;
the ledger contains everything that a run hid, and nothing that it did not.
"""

from __future__ import annotations

from collections.abc import Iterator

from memd.base.errors import ConflictError
from memd.store.check import check
from memd.store.file.connect import Reading, Writing
from memd.store.run import runs, undo


def halves(conn: Writing) -> list[str]:
    """Return all that is half done or damaged in the file."""
    return [*_groups(conn), *_ledgers(conn), *check.check_rows(conn), *check.check_caches(conn)]


def _groups(conn: Reading) -> Iterator[str]:
    """Yield groups that are neither as they were nor wholly behind one summary."""
    for key, tag, mine, others in conn.execute(_SUMMARIES):
        if not mine:
            yield f"half: summary {key} hides nothing"
        if others != (1 if tag == "consolidated" else 0):
            yield f"half: {others} sources of summary {key} are not behind it"
    for key, reason, fronts in conn.execute(_HIDDEN):
        if fronts != 1:
            yield f"half: memory {key} was {reason} behind {fronts} summaries"


_SUMMARIES = """
SELECT s.memory_key, t.tag,
       count(*) FILTER (WHERE r.reason = t.tag AND m.state IN ('compressed', 'archived')),
       count(*) FILTER (WHERE r.reason IS NOT t.tag
                          AND NOT (t.tag = 'compressed' AND r.reason IS 'consolidated'))
  FROM memory AS s
       JOIN memory_tag AS t
         ON t.memory_key = s.memory_key AND t.tag IN ('consolidated', 'compressed')
       LEFT JOIN derived AS d ON d.to_key = s.memory_key
       LEFT JOIN memory AS m ON m.memory_key = d.from_key
       LEFT JOIN archive AS r ON r.memory_key = d.from_key
 WHERE s.is_summary AND s.state IN ('active', 'pending')
 GROUP BY s.memory_key
"""
_HIDDEN = """
SELECT m.memory_key, r.reason, count(s.memory_key)
  FROM archive AS r
       JOIN memory AS m ON m.memory_key = r.memory_key AND m.state IN ('compressed', 'archived')
       LEFT JOIN derived AS d ON d.from_key = m.memory_key
       LEFT JOIN memory AS s ON s.memory_key = d.to_key AND s.state IN ('active', 'pending')
             AND EXISTS (SELECT 1 FROM memory_tag AS t
                          WHERE t.memory_key = s.memory_key AND t.tag = r.reason)
 WHERE r.reason IN ('consolidated', 'compressed')
 GROUP BY m.memory_key
"""


def _ledgers(conn: Reading) -> Iterator[str]:
    """Yield runs whose ledger says something else than what was done."""
    for row in runs.list_page(conn, None, 1_000):
        unnoted = conn.execute(_UNNOTED, {"run_id": row.run_id, "run_key": row.run_key}).get
        if row.kind != "nap" and unnoted:
            yield f"half: {unnoted} memories of a run that is {row.state} are not in its ledger"
        if row.state in {"running", "done"} and row.kind != "nap":
            noted = conn.execute(_NOTED, {"run_key": row.run_key}).fetchone()
            assert noted is not None
            if noted[0] != noted[1]:
                yield f"half: the steps say {noted[0]} rows, the changes {noted[1]}"
        if row.state in {"running", "undoing"}:
            yield from _next(conn, row)


def _next(conn: Reading, row: runs.RunRow) -> Iterator[str]:
    """Yield why an interrupted run could not go on exactly."""
    last = conn.execute(
        "SELECT name FROM run_step WHERE run_key = ? ORDER BY step DESC LIMIT 1", (row.run_key,)
    ).get
    if row.state == "running" and last is not None and row.cursor.get("task") != last:
        yield f"half: the last step was {last}, the cursor says {row.cursor.get('task')}"
    try:
        undo.check(conn, row)
    except ConflictError:
        yield "half: a change in the ledger is not what the memory is"


_UNNOTED = """
SELECT count(*)
  FROM archive AS r
 WHERE r.run = :run_id
   AND NOT EXISTS (SELECT 1 FROM run_change AS c
                    WHERE c.run_key = :run_key AND c.memory_key = r.memory_key)
"""
_NOTED = """
SELECT (SELECT coalesce(sum(rows), 0) FROM run_step WHERE run_key = :run_key),
       (SELECT count(*) FROM run_change WHERE run_key = :run_key AND what = 'moved')
"""
