"""A nap is undone: what it learnt goes to the trash, the messages that it kept stay.

What it made is told by its batch, which is the run; what it superseded or rewrote stands in
the ledger and comes back exactly, before the rest goes. What the session knew already was
not made by it. What somebody worked on since is not taken away under their hands.
"""

from __future__ import annotations

from memd.base.errors import ConflictError
from memd.domain.enums import TrashReason
from memd.store.file.connect import Reading, Writing
from memd.store.file.keys import keys_array
from memd.store.memory import removal
from memd.store.run import runs, undo
from memd.store.run.runs import RunRow


def check(conn: Reading, run: RunRow) -> None:
    """Raise ConflictError when the state before the nap cannot be had back."""
    undo.check(conn, run.run_key)
    facts = _facts(conn, run, -1)
    if not facts:
        return
    later = _summarised_by(conn, facts)
    for key in facts:
        later = later or runs.later(conn, run.run_key, key)
    if later is not None:
        raise ConflictError(
            "a later run works on what this nap learnt", hint=f"undo that first: {later}"
        )
    if _is_rewritten(conn, facts):
        raise ConflictError(
            "facts of this nap were rewritten since; undoing it would not be exact",
            hint="take away single ones: memd delete ID",
        )
    name = _replaced_preference(conn, facts, run.started_at_us)
    if name is not None:
        raise ConflictError(
            f"this nap replaced the preference {name}, whose earlier value is not kept",
            hint="delete the preference or set it anew, then undo the nap",
        )


def take_back(conn: Writing, run: RunRow, now_us: int, undo_us: int, limit: int) -> int:
    """Bring back what the nap put away, then move up to *limit* of what it made to the trash.

    Returns how many rows were touched, 0 when none is left.
    """
    back = undo.take_back(conn, run.run_key, limit)
    if back:
        return back
    keys = _facts(conn, run, limit)
    removal.trash(conn, keys, TrashReason.DELETED, now_us, undo_us)
    return len(keys)


def _facts(conn: Reading, run: RunRow, limit: int) -> list[int]:
    """Return what the nap made and nobody took away, in order; no *limit* below 0."""
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


def _summarised_by(conn: Reading, facts: list[int]) -> str | None:
    """Return a run that made a summary of *facts*, hidden behind it or beside it."""
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
        {"keys": keys_array(facts)},
    ).get
    return run_id if isinstance(run_id, str) else None


def _is_rewritten(conn: Reading, facts: list[int]) -> bool:
    return bool(
        conn.execute(
            """
            SELECT EXISTS (SELECT 1
                             FROM memory_version
                            WHERE memory_key IN (SELECT value FROM carray(:keys)))
            """,
            {"keys": keys_array(facts)},
        ).get
    )


def _replaced_preference(conn: Reading, facts: list[int], began_us: int) -> str | None:
    """Return a preference that one of *facts* said anew, if there is one."""
    name = conn.execute(
        """
        SELECT name
          FROM preference
         WHERE memory_key IN (SELECT value FROM carray(:keys)) AND created_at_us < :began_us
        """,
        {"keys": keys_array(facts), "began_us": began_us},
    ).get
    return name if isinstance(name, str) else None
