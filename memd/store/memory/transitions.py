"""Change the state of memories in a run, and record each change in the run's undo log.

No column that a row's hash covers is changed. The callers check the rows inside the transaction
that changes them (:func:`is_unchanged`, or the state itself), so that a memory that was deleted,
updated or consolidated since the step was planned is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memd.domain.enums import VISIBLE, ArchiveReason, MemoryState, TrashReason
from memd.store.file.connect import Reading, Writing, keys_array
from memd.store.memory import lineage, memories, removal
from memd.store.memory.rows import MemoryRow
from memd.store.run import runs
from memd.store.search import caches, fulltext, vectors


@dataclass(frozen=True, slots=True)
class RunStep:
    """The run that a transition belongs to, the time, and the source of new ids."""

    run_key: int
    run_id: str
    now_us: int
    new_id: Callable[[], str]


class PlannedRow(NamedTuple):
    """A memory as it was when the step that changes it was planned."""

    memory_key: int
    row_hash: bytes
    state: str = MemoryState.ACTIVE


def is_unchanged(conn: Reading, planned: Sequence[PlannedRow]) -> bool:
    """Return whether all rows are still as they were when planned."""
    rows = conn.execute(
        """
        SELECT m.memory_key, m.row_hash, m.state
          FROM carray(:keys) AS k
               CROSS JOIN memory AS m ON m.memory_key = k.value
        """,
        {"keys": keys_array([row.memory_key for row in planned])},
    ).fetchall()
    return set(rows) == set(planned)


class PlannedSummary(NamedTuple):
    """A summary to store in place of *hidden*.

    *sources* are all memories that it summarises; those not in *hidden* stay visible.
    """

    row: MemoryRow
    sources: Sequence[int]
    hidden: Sequence[int]
    reason: ArchiveReason


def summarise(conn: Writing, step: RunStep, summaries: Sequence[PlannedSummary]) -> None:
    """Store summaries and compress the memories that they replace.

    A search still reads the sources of a summary, so their cache rows stay. The summaries and all
    neighbours are written to the full-text index once, in key order.
    """
    keys = memories.insert_bare(conn, [summary.row for summary in summaries], step.now_us)
    conn.executemany(
        "INSERT INTO derived (from_key, to_key) VALUES (?, ?)",
        (
            (source, key)
            for key, summary in zip(keys, summaries, strict=True)
            for source in summary.sources
        ),
    )
    for summary in summaries:
        if summary.hidden:
            _compress(conn, step, summary.hidden, summary.reason)
    hidden = [key for summary in summaries for key in summary.hidden]
    neighbours = [key for key in caches.neighbours(conn, [*hidden, *keys]) if key not in keys]
    fulltext.unindex(conn, neighbours)
    caches.write_contexts(conn, [*neighbours, *keys])
    fulltext.index(conn, sorted([*neighbours, *keys]))
    vectors.index(conn, keys)
    runs.record(conn, step.run_key, keys, runs.MADE, {})


def _compress(conn: Writing, step: RunStep, keys: Sequence[int], reason: ArchiveReason) -> None:
    before = runs.images(conn, keys)
    removal.record_archived(conn, keys, reason, step.now_us, new_id=step.new_id, run=step.run_id)
    memories.set_state_unindexed(conn, keys, MemoryState.COMPRESSED, step.now_us)
    runs.record(conn, step.run_key, keys, runs.MOVED, before)


def hide(
    conn: Writing, step: RunStep, keys: Sequence[int], reason: ArchiveReason, state: MemoryState
) -> int:
    """Archive or compress those of *keys* that are visible; returns how many.

    They can be restored, and ``include_compressed`` finds them.
    """
    keys = memories.filter_states(conn, keys, VISIBLE)
    if not keys:
        return 0
    before = runs.images(conn, keys)
    removal.record_archived(conn, keys, reason, step.now_us, new_id=step.new_id, run=step.run_id)
    memories.set_state(conn, keys, state, step.now_us)
    runs.record(conn, step.run_key, keys, runs.MOVED, before)
    return len(keys)


def archive_compressed(conn: Writing, step: RunStep, keys: Sequence[int]) -> int:
    """Archive those of *keys* that are compressed; returns how many.

    Both states are in the same part of the caches, so these do not change.
    """
    keys = memories.filter_states(conn, keys, {MemoryState.COMPRESSED})
    if not keys:
        return 0
    before = runs.images(conn, keys)
    memories.set_state_unindexed(conn, keys, MemoryState.ARCHIVED, step.now_us)
    conn.execute(
        """
        UPDATE archive
           SET archived_at_us = :now_us
         WHERE memory_key IN (SELECT value FROM carray(:keys))
        """,
        {"keys": keys_array(keys), "now_us": step.now_us},
    )
    runs.record(conn, step.run_key, keys, runs.MOVED, before)
    return len(keys)


def trash_expired(conn: Writing, step: RunStep, keys: Sequence[int], undo_us: int) -> int:
    """Trash memories past their retention (SPEC D21); returns how many rows changed.

    A summary is trashed with the first of its sources, and the other sources are restored.
    """
    summaries, sources = lineage.find_lineage(conn, keys)
    touched = list(dict.fromkeys([*keys, *summaries, *sources]))
    before = runs.images(conn, touched)
    removal.trash(conn, keys, TrashReason.RETENTION, step.now_us, undo_us)
    return runs.record(conn, step.run_key, touched, runs.MOVED, before)
