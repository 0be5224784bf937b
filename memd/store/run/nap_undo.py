"""Undoing a nap: its memories go to the trash, the messages that it stored stay.

A nap's memories are found by their batch, which is the run. What it superseded or rewrote is in the
ledger and is restored exactly, before the rest goes. A memory that the session already had was not
made by the nap. One that somebody worked on since prevents the undo.
"""

from __future__ import annotations

from memd.base.errors import ConflictError
from memd.domain.enums import TrashReason
from memd.store.file.connect import Reading, Writing, keys_array
from memd.store.memory import removal
from memd.store.run import runs, undo
from memd.store.run.runs import RunRow


def check(conn: Reading, run: RunRow) -> None:
    """Raise ConflictError when the state before the nap cannot be restored."""
    undo.check(conn, run.run_key)
    keys = _memories(conn, run, -1)
    if not keys:
        return
    later = _find_summarising_run(conn, keys)
    for key in keys:
        later = later or runs.find_later_run(conn, run.run_key, key)
    if later is not None:
        raise ConflictError(
            "a later run works on what this nap learnt", hint=f"undo that first: {later}"
        )
    if _is_rewritten(conn, keys):
        raise ConflictError(
            "facts of this nap were rewritten since; undoing it would not be exact",
            hint="delete single ones: memd delete ID",
        )
    name = _find_replaced_preference(conn, keys, run.started_at_us)
    if name is not None:
        raise ConflictError(
            f"this nap replaced the preference {name}, whose earlier value is not kept",
            hint="delete the preference or set it again, then undo the nap",
        )


def undo_step(conn: Writing, run: RunRow, now_us: int, undo_us: int, limit: int) -> int:
    """Restore what the nap hid, then move up to *limit* of its memories to the trash.

    Returns how many rows were changed, 0 when none is left.
    """
    restored = undo.undo_step(conn, run.run_key, limit)
    if restored:
        return restored
    keys = _memories(conn, run, limit)
    removal.trash(conn, keys, TrashReason.DELETED, now_us, undo_us)
    return len(keys)


def _memories(conn: Reading, run: RunRow, limit: int) -> list[int]:
    """Return the nap's memories outside the trash, in order; a negative *limit* sets none."""
    rows = conn.execute(
        """
        SELECT m.memory_key
          FROM memory AS m
               JOIN agent AS a ON a.agent_key = m.agent_key
         WHERE a.agent_id = :agent_id AND m.created_at_us = :started_at_us
           AND m.batch = :run_id AND m.state <> 'trashed'
         ORDER BY m.memory_key
         LIMIT :limit
        """,
        {
            "agent_id": run.agent_id,
            "started_at_us": run.started_at_us,
            "run_id": run.run_id,
            "limit": limit,
        },
    )
    return [key for (key,) in rows]


def _find_summarising_run(conn: Reading, keys: list[int]) -> str | None:
    """Return a run that summarised some of these memories, whether it hid them or not."""
    run_id = conn.execute(
        """
        SELECT r.run_id
          FROM carray(:keys) AS k
               CROSS JOIN derived AS d ON d.from_key = k.value
               JOIN memory AS s ON s.memory_key = d.to_key AND s.is_summary
               JOIN run_change AS c ON c.memory_key = s.memory_key AND c.what = 'made'
               JOIN run AS r ON r.run_key = c.run_key
         WHERE s.state <> 'trashed'
         ORDER BY r.run_key DESC
         LIMIT 1
        """,
        {"keys": keys_array(keys)},
    ).get
    return run_id if isinstance(run_id, str) else None


def _is_rewritten(conn: Reading, keys: list[int]) -> bool:
    return bool(
        conn.execute(
            """
            SELECT EXISTS (SELECT 1
                             FROM memory_version
                            WHERE memory_key IN (SELECT value FROM carray(:keys)))
            """,
            {"keys": keys_array(keys)},
        ).get
    )


def _find_replaced_preference(conn: Reading, keys: list[int], began_us: int) -> str | None:
    """Return a preference that one of these memories replaced, if there is one."""
    name = conn.execute(
        """
        SELECT name
          FROM preference
         WHERE memory_key IN (SELECT value FROM carray(:keys)) AND created_at_us < :began_us
        """,
        {"keys": keys_array(keys), "began_us": began_us},
    ).get
    return name if isinstance(name, str) else None
