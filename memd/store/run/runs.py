"""Record runs (naps, nights, compressions, undos): request, steps, and changes to undo.

Each step of a run is recorded in its own transaction, together with the position of the next one,
so that a killed run continues without doing anything twice. For each changed memory an image of its
row before and after is recorded, to restore the old state exactly and to detect later changes.
Nothing here contains a memory's text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from memd.base.errors import cursor_error
from memd.domain.enums import RunKind, RunState
from memd.store.file.connect import Reading, Writing, keys_array
from memd.store.session.sessions import IS_LISTED

Image = dict[str, Any]
"""A memory's mutable columns, row hash, archive and trash rows, and the keys of the neighbours
that its context quotes (``beside``). See :func:`images`."""

MADE, MOVED = "made", "moved"
"""Kinds of changes: a summary was made; a memory changed its state or text."""


class RunRow(NamedTuple):
    """The state of a run. *asked* is the request, *cursor* the position of the next step."""

    run_key: int
    run_id: str
    kind: str
    agent_id: str | None
    state: str
    asked: dict[str, Any]
    cursor: dict[str, Any]
    report: dict[str, Any]
    started_at_us: int
    finished_at_us: int | None
    session_id: str | None = None
    """The session of a nap, unless it was forgotten, with its project and client."""
    project_id: str | None = None
    client: str | None = None


class StepSum(NamedTuple):
    """The rows and the number of all steps of a run with the same name."""

    name: str
    rows: int
    steps: int


class Change(NamedTuple):
    """A change of one memory by a run; *what* is MADE or MOVED. *before* is None for MADE."""

    change: int
    memory_key: int
    what: str
    before: Image | None
    after: Image


_COLUMNS = f"""
SELECT r.run_key, r.run_id, r.kind, a.agent_id, r.state, r.asked, r.cursor, r.report,
       r.started_at_us, r.finished_at_us, s.session_id, p.project_id, c.client_id
  FROM run AS r
       LEFT JOIN agent AS a ON a.agent_key = r.agent_key
       LEFT JOIN session AS s ON r.kind = 'nap' AND s.agent_key = r.agent_key
                             AND s.session_id = r.asked ->> '$.session_id' AND {IS_LISTED}
       LEFT JOIN project AS p ON p.project_key = s.project_key
       LEFT JOIN client AS c ON c.client_key = s.client_key
"""  # noqa: S608  # a constant of the store


def start(
    conn: Writing,
    run_id: str,
    kind: RunKind,
    agent_key: int | None,
    asked: Mapping[str, Any],
    now_us: int,
) -> int:
    conn.insert(
        "run",
        {
            "run_id": run_id,
            "kind": kind,
            "agent_key": agent_key,
            "state": RunState.RUNNING,
            "asked": json.dumps(asked),
            "started_at_us": now_us,
        },
    )
    return conn.last_insert_rowid()


def step(
    conn: Writing, run_key: int, name: str, rows: int, cursor: Mapping[str, Any], now_us: int
) -> None:
    """Record, in the step's transaction, that it is done, and the position of the next one."""
    conn.execute(
        """
        INSERT INTO run_step (run_key, step, name, rows, at_us)
        SELECT :run_key, coalesce(max(step), 0) + 1, :name, :rows, :now_us
          FROM run_step
         WHERE run_key = :run_key
        """,
        {"run_key": run_key, "name": name, "rows": rows, "now_us": now_us},
    )
    conn.execute(
        "UPDATE run SET cursor = :cursor WHERE run_key = :run_key",
        {"cursor": json.dumps(cursor), "run_key": run_key},
    )


def finish(
    conn: Writing, run_key: int, state: RunState, report: Mapping[str, Any], now_us: int
) -> None:
    """End a run: store its report and clear its cursor."""
    conn.execute(
        """
        UPDATE run
           SET state = :state, report = :report, cursor = '{}', finished_at_us = :now_us
         WHERE run_key = :run_key
        """,
        {"state": state, "report": json.dumps(report), "now_us": now_us, "run_key": run_key},
    )


def postpone(conn: Writing, run_key: int, report: Mapping[str, Any]) -> None:
    """Store the report of an unfinished run, which has the reason and end of its pause."""
    conn.execute(
        "UPDATE run SET report = :report WHERE run_key = :run_key",
        {"report": json.dumps(report), "run_key": run_key},
    )


def set_state(conn: Writing, run_key: int, state: RunState) -> None:
    conn.execute(
        "UPDATE run SET state = :state WHERE run_key = :run_key",
        {"state": state, "run_key": run_key},
    )


def find(conn: Reading, run_id: str) -> RunRow | None:
    return next(_runs(conn, "WHERE r.run_id = :run_id", {"run_id": run_id}), None)


def list_page(
    conn: Reading, after: str | None, limit: int, kinds: Sequence[RunKind] = tuple(RunKind)
) -> list[RunRow]:
    """Return up to *limit* runs of *kinds*, newest first.

    *after* is the id of the run that the previous page ended with; InvalidError if it is unknown.
    """
    if after is not None and find(conn, after) is None:
        raise cursor_error()
    where = """
    WHERE r.kind IN (SELECT value FROM json_each(:kinds))
      AND (:after IS NULL OR r.run_key < (SELECT run_key FROM run WHERE run_id = :after))
    ORDER BY r.run_key DESC
    LIMIT :limit
    """
    return list(_runs(conn, where, {"kinds": json.dumps(kinds), "after": after, "limit": limit}))


def find_last_full_night(conn: Reading, steps: Sequence[str]) -> RunRow | None:
    """Return the last night that was requested with all *steps* and for all agents."""
    where = """
    WHERE r.kind = 'night' AND r.asked ->> '$.agent_id' IS NULL
      AND NOT EXISTS (SELECT 1 FROM json_each(:steps) AS s
                       WHERE s.value NOT IN (SELECT value FROM json_each(r.asked, '$.steps')))
    ORDER BY r.run_key DESC
    LIMIT 1
    """
    return next(_runs(conn, where, {"steps": json.dumps(steps)}), None)


def list_unfinished(conn: Reading) -> list[RunRow]:
    """Return the runs that are running or being undone, oldest first.

    After a start these are the runs that a kill interrupted.
    """
    return list(_runs(conn, "WHERE r.state IN ('running', 'undoing') ORDER BY r.run_key", {}))


def _runs(conn: Reading, where: str, params: Mapping[str, Any]) -> Iterator[RunRow]:
    for row in conn.execute(_COLUMNS + where, params):
        run = RunRow._make(row)
        yield run._replace(
            asked=json.loads(str(run.asked)),
            cursor=json.loads(str(run.cursor)),
            report=json.loads(str(run.report)),
        )


def sum_steps(conn: Reading, run_key: int) -> list[StepSum]:
    """Return the sums of a run's steps by name, ordered by the first step of each name."""
    return conn.list_rows(
        StepSum,
        """
        SELECT name, sum(rows), count(*)
          FROM run_step
         WHERE run_key = :run_key
         GROUP BY name
         ORDER BY min(step)
        """,
        {"run_key": run_key},
    )


# What was done to memories.


def images(conn: Reading, keys: Sequence[int]) -> dict[int, Image]:
    """Return the image of each of *keys*, which an undo restores or compares."""
    rows = conn.execute(
        """
        SELECT m.memory_key,
               json_object(
                   'state', m.state,
                   'row_hash', hex(m.row_hash),
                   'updated_at_us', m.updated_at_us,
                   'expires_at_us', m.expires_at_us,
                   'archive', iif(r.memory_key IS NULL, NULL,
                                  json_array(r.archival_id, r.reason, r.state_before, r.run,
                                             r.archived_at_us)),
                   'beside', iif(c.memory_key IS NULL, NULL,
                                 json_array(c.before_key, c.after_key)),
                   'trash', iif(t.memory_key IS NULL, NULL,
                                json_array(t.reason, t.state_before, t.deleted_at_us,
                                           t.erase_after_us)))
          FROM carray(:keys) AS k
               CROSS JOIN memory AS m ON m.memory_key = k.value
               LEFT JOIN archive AS r ON r.memory_key = m.memory_key
               LEFT JOIN trash AS t ON t.memory_key = m.memory_key
               LEFT JOIN memory_context AS c ON c.memory_key = m.memory_key
        """,
        {"keys": keys_array(keys)},
    )
    return {key: json.loads(str(image)) for key, image in rows}


def record(
    conn: Writing, run_key: int, keys: Sequence[int], what: str, before: Mapping[int, Image]
) -> int:
    """Record changes of *keys* after the fact; *before* are their images, empty for MADE.

    Memories that do not exist or did not change are left out; returns the number of the others.
    :func:`step` must follow in the same transaction.
    """
    after = images(conn, keys)
    keys = [key for key in keys if key in after and after[key] != before.get(key)]
    row = conn.execute(
        """
        SELECT (SELECT coalesce(max(change), 0) FROM run_change WHERE run_key = :run_key),
               (SELECT coalesce(max(step), 0) + 1 FROM run_step WHERE run_key = :run_key)
        """,
        {"run_key": run_key},
    ).fetchone()
    assert row is not None
    last, number = row
    conn.executemany(
        """
        INSERT INTO run_change (run_key, change, step, memory_key, what, before, after)
        VALUES (:run_key, :change, :step, :memory_key, :what, :before, :after)
        """,
        (
            {
                "run_key": run_key,
                "change": last + place,
                "step": number,
                "memory_key": key,
                "what": what,
                "before": json.dumps(before[key]) if key in before else None,
                "after": json.dumps(after[key]),
            }
            for place, key in enumerate(keys, start=1)
        ),
    )
    return len(keys)


def forget(conn: Writing, keys: Sequence[int]) -> None:
    """Remove the row hashes of *keys* from the ledger: they could prove what an erased text was."""
    conn.execute(
        """
        UPDATE run_change
           SET before = json_remove(before, '$.row_hash'),
               after = json_remove(after, '$.row_hash')
         WHERE memory_key IN (SELECT value FROM carray(:keys))
        """,
        {"keys": keys_array(keys)},
    )


def list_last_changes(conn: Reading, run_key: int, limit: int) -> list[Change]:
    """Return the last changes of a run that are not undone, last first, in whole steps.

    Returns the fewest steps that have *limit* changes. A step was one transaction and must be
    undone in one: in between, a summary would be deleted and its sources still hidden.
    """
    rows = conn.execute(
        """
        SELECT change, memory_key, what, before, after, step
          FROM run_change
         WHERE run_key = :run_key
         ORDER BY change DESC
        """,
        {"run_key": run_key},
    )
    latest: list[Change] = []
    last = 0
    for *row, number in rows:
        if len(latest) >= limit and number != last:
            break
        latest.append(_change(tuple(row)))
        last = number
    rows.close()
    return latest


def count_made(conn: Reading, run_key: int) -> int:
    """Return how many summaries a run made."""
    return conn.get_count(
        "SELECT count(*) FROM run_change WHERE run_key = ? AND what = 'made'", (run_key,)
    )


def iter_changes(conn: Reading, run_key: int) -> Iterator[Change]:
    """Yield every change of a run that is not undone, in order."""
    rows = conn.execute(
        """
        SELECT change, memory_key, what, before, after
          FROM run_change
         WHERE run_key = :run_key
         ORDER BY change
        """,
        {"run_key": run_key},
    )
    return map(_change, rows)


def _change(row: tuple[Any, ...]) -> Change:
    change, key, what, before, after = row
    return Change(
        change, key, what, None if before is None else json.loads(before), json.loads(after)
    )


def delete_changes(conn: Writing, run_key: int, changes: Sequence[Change]) -> None:
    """Delete changes that were undone."""
    conn.executemany(
        "DELETE FROM run_change WHERE run_key = ? AND change = ?",
        ((run_key, change.change) for change in changes),
    )


def find_later_run(conn: Reading, run_key: int, memory_key: int) -> str | None:
    """Return the id of the last later run that changed the memory, None when none did."""
    return conn.get_text(
        """
        SELECT r.run_id
          FROM run_change AS c
               JOIN run AS r ON r.run_key = c.run_key
         WHERE c.memory_key = :memory_key AND c.run_key > :run_key
         ORDER BY c.run_key DESC
         LIMIT 1
        """,
        {"memory_key": memory_key, "run_key": run_key},
    )


# The kill switch at run time.


def is_paused(conn: Reading) -> bool:
    return conn.get_meta("sleep_paused", int) == 1


def set_paused(conn: Writing, *, paused: bool) -> None:
    """Pause sleep, or resume it; a restart does not change it."""
    conn.set_meta("sleep_paused", int(paused))
