"""Undo a run: restore every row that it changed to exactly its earlier state.

:func:`check` verifies that nobody changed those rows since. Then the changes are undone, last
first, in small steps; each step removes its changes from the ledger in the same transaction. Later
memories stay as they are. The memories that a nap made, which have its id as their batch, go to the
trash at the end; those that somebody rewrote since, and the messages that it stored, stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memd.base.errors import ConflictError
from memd.domain.enums import HIDDEN, VISIBLE, RunKind, TrashReason
from memd.store.access import names
from memd.store.file.connect import Reading, Writing, keys_array
from memd.store.memory import memories, removal, versions
from memd.store.run import runs
from memd.store.run.runs import Change, Image, RunRow
from memd.store.search import caches

CHECK_ROWS = 500
"""Memories whose images are read at once by a check."""
_ONE_BY_ONE = "bring back what it put away one by one: memd archive search, memd archive restore ID"
_OF_NAP = "; delete what it stored: memd list, memd delete ID"


def check(conn: Reading, run: RunRow) -> None:
    """Raise ConflictError when undoing *run* could not be exact.

    Its rows must be unchanged since. The memories of a nap must not have been summarised or used by
    a later run, nor may they have replaced a preference.
    """
    _check_changes(conn, run)
    if run.kind == RunKind.NAP:
        _check_nap(conn, run)


def _check_changes(conn: Reading, run: RunRow) -> None:
    latest: dict[int, Change] = {}
    for change in runs.iter_changes(conn, run.run_key):
        latest[change.memory_key] = change
        if len(latest) == CHECK_ROWS:
            _check(conn, run, latest)
            latest = {}
    _check(conn, run, latest)


def _check(conn: Reading, run: RunRow, latest: dict[int, Change]) -> None:
    run_key, current = run.run_key, runs.images(conn, list(latest))
    for key, change in latest.items():
        if key in current and _is_same(current[key], change.after):
            continue
        if _has_newer_change(conn, run_key, change.change, key):
            continue  # the run itself changed it again, in a change that is still to be checked
        later_run = runs.find_later_run(conn, run_key, key)
        if later_run is not None:
            raise ConflictError(
                "a later run works on what this one left", hint=f"undo that first: {later_run}"
            )
        raise ConflictError(
            "memories of this run were changed, restored or erased since; undoing it would not"
            " be exact",
            hint=_ONE_BY_ONE + (_OF_NAP if run.kind == RunKind.NAP else ""),
        )


def _has_newer_change(conn: Reading, run_key: int, change: int, key: int) -> bool:
    return conn.exists(
        """
        SELECT 1
          FROM run_change
         WHERE memory_key = :key AND run_key = :run_key AND change > :change
        """,
        {"key": key, "run_key": run_key, "change": change},
    )


def _is_same(current: Image, recorded: Image) -> bool:
    """Return whether the row is unchanged.

    A pending memory may have got its vector, and the same text may have been stored again.
    """
    return _comparable(current) == _comparable(recorded)


def _comparable(image: Image) -> Image:
    state = "active" if image["state"] == "pending" else image["state"]
    return image | {"state": state, "beside": None, "updated_at_us": None}


def undo_step(conn: Writing, run: RunRow, now_us: int, undo_us: int, limit: int) -> int:
    """Undo about *limit* changes of *run*; returns how many, 0 when none is left.

    The trash keeps a nap's memories for *undo_us*.
    """
    count = _undo_changes(conn, run.run_key, limit)
    if count or run.kind != RunKind.NAP:
        return count
    keys = _memories_of_nap(conn, run, limit, rewritten=False)
    removal.trash(conn, keys, TrashReason.DELETED, now_us, undo_us)
    return len(keys)


def _undo_changes(conn: Writing, run_key: int, limit: int) -> int:
    """Undo about *limit* of a run's changes, last first; returns how many.

    A row that was changed since the check keeps that change, as if it had been made after the whole
    undo.
    """
    changes = runs.list_last_changes(conn, run_key, limit)
    summaries = [change.memory_key for change in changes if change.what == runs.MADE]
    current = runs.images(conn, [change.memory_key for change in changes])
    before = _images_before(conn, changes, current)
    keys = list(before)
    neighbours = {
        *caches.neighbours(conn, [*summaries, *keys]),
        *caches.find_quoting(conn, summaries),
    }
    superseded = frozenset(_filter_superseded(conn, keys))
    quoting = {
        key: image["beside"]
        for key, image in before.items()
        if _has_other_context(image, current[key])
    }
    # A superseded memory that stays hidden with the same context keeps its place in the caches.
    unaffected = [
        key for key in superseded if before[key]["state"] in HIDDEN and key not in quoting
    ]
    reworded = sorted(superseded - {*unaffected})
    moved = [*summaries, *(key for key in keys if key not in superseded)]
    with caches.reindexing_words(conn, reworded), caches.reindexing(conn, moved):
        _delete_summaries(conn, summaries)
        for key, image in before.items():
            _restore(conn, key, image, current[key])
        caches.write_contexts(conn, memories.filter_states(conn, keys, VISIBLE))
        for key, beside in quoting.items():
            caches.write_context(conn, key, *(beside or (None, None)))
    others = sorted({*neighbours, *caches.neighbours(conn, keys)} - {*summaries, *keys})
    with caches.reindexing_words(conn, others):
        caches.write_contexts(conn, others)
    for session_key in _sessions(conn, keys):
        names.set_compressed(conn, session_key)
    memories.touch(conn, keys)
    runs.delete_changes(conn, run_key, changes)
    return len(changes)


def _images_before(
    conn: Writing, changes: Sequence[Change], current: Mapping[int, Image]
) -> dict[int, Image]:
    """Return the images to restore, by key.

    A memory whose text was stored again since keeps the new ``updated_at_us``. One that was changed
    otherwise is left out.
    """
    before: dict[int, Image] = {}
    later: dict[int, Image] = {}
    for change in changes:  # last first: the oldest image of a memory wins
        key = change.memory_key
        if change.before is None or key not in current:
            continue
        if key not in before:
            if not _is_same(current[key], change.after):
                _update_trash_state(conn, key, change.before)
                continue
            updated_us = current[key]["updated_at_us"]
            later[key] = (
                {} if updated_us == change.after["updated_at_us"] else {"updated_at_us": updated_us}
            )
        before[key] = change.before | later[key]
    return before


def _has_other_context(before: Image, current: Image) -> bool:
    """Return whether a memory that will be hidden again had another context than now.

    A hidden memory keeps the context that it had when it was hidden.
    """
    return before["state"] in HIDDEN and before.get("beside") != current["beside"]


def _filter_superseded(conn: Reading, keys: Sequence[int]) -> list[int]:
    """Return those of *keys* that a summary supersedes; the caches treat them as visible."""
    return conn.list_ints(
        """
        SELECT b.memory_key
          FROM carray(:keys) AS k
               CROSS JOIN behind AS b ON b.memory_key = k.value
        """,
        {"keys": keys_array(keys)},
    )


def _delete_summaries(conn: Writing, keys: Sequence[int]) -> None:
    conn.execute(
        "DELETE FROM memory WHERE memory_key IN (SELECT value FROM carray(:keys)) AND is_summary",
        {"keys": keys_array(keys)},
    )


def _update_trash_state(conn: Writing, key: int, before: Image) -> None:
    """Update the state to which a row that was trashed since the check will be restored."""
    conn.execute(
        "UPDATE trash SET state_before = :state WHERE memory_key = :key",
        {"state": before["state"], "key": key},
    )


def _restore(conn: Writing, key: int, image: Image, current: Image) -> None:
    conn.execute(
        """
        UPDATE memory
           SET state = :state, updated_at_us = :updated_at_us, expires_at_us = :expires_at_us
         WHERE memory_key = :key
        """,
        {
            "state": image["state"],
            "updated_at_us": image["updated_at_us"],
            "expires_at_us": image["expires_at_us"],
            "key": key,
        },
    )
    conn.execute("DELETE FROM archive WHERE memory_key = :key", {"key": key})
    conn.execute("DELETE FROM trash WHERE memory_key = :key", {"key": key})
    if image["archive"] is not None:
        conn.execute(
            """
            INSERT INTO archive (memory_key, archival_id, reason, state_before, run, archived_at_us)
            VALUES (?, ?, ?, ?, ?, ?)
            """,
            (key, *image["archive"]),
        )
    if image["trash"] is not None:
        conn.execute(
            """
            INSERT INTO trash (memory_key, reason, state_before, deleted_at_us, erase_after_us)
            VALUES (?, ?, ?, ?, ?)
            """,
            (key, *image["trash"]),
        )
    if image["row_hash"] != current["row_hash"]:
        versions.revert(conn, key)  # the run rewrote its text


def _sessions(conn: Reading, keys: Sequence[int]) -> list[int]:
    return conn.list_ints(
        """
        SELECT DISTINCT session_key
          FROM memory
         WHERE memory_key IN (SELECT value FROM carray(:keys)) AND session_key IS NOT NULL
        """,
        {"keys": keys_array(keys)},
    )


def _check_nap(conn: Reading, run: RunRow) -> None:
    keys = _memories_of_nap(conn, run, -1, rewritten=True)
    later = _find_summarising_run(conn, keys)
    for key in keys:
        later = later or runs.find_later_run(conn, run.run_key, key)
    if later is not None:
        raise ConflictError(
            "a later run works on what this nap learnt", hint=f"undo that first: {later}"
        )
    unchanged_keys = _memories_of_nap(conn, run, -1, rewritten=False)
    name = _find_replaced_preference(conn, unchanged_keys, run.started_at_us)
    if name is not None:
        raise ConflictError(
            f"this nap replaced the preference {name}, whose earlier value is not kept",
            hint="delete the preference or set it again, then undo the nap",
        )


def _memories_of_nap(conn: Reading, run: RunRow, limit: int, *, rewritten: bool) -> list[int]:
    """Return up to *limit* of the nap's memories outside the trash, in order; all if negative.

    Those that were rewritten since are returned only with *rewritten*.
    """
    return conn.list_ints(
        """
        SELECT m.memory_key
          FROM memory AS m
               JOIN agent AS a ON a.agent_key = m.agent_key
         WHERE a.agent_id = :agent_id AND m.created_at_us = :started_at_us
           AND m.batch = :run_id AND m.state <> 'trashed'
           AND (:rewritten OR NOT EXISTS (SELECT 1
                                            FROM memory_version AS v
                                           WHERE v.memory_key = m.memory_key))
         ORDER BY m.memory_key
         LIMIT :limit
        """,
        {
            "agent_id": run.agent_id,
            "started_at_us": run.started_at_us,
            "run_id": run.run_id,
            "rewritten": rewritten,
            "limit": limit,
        },
    )


def _find_summarising_run(conn: Reading, keys: list[int]) -> str | None:
    """Return the id of a run that summarised one of these memories, even if it hid none."""
    return conn.get_text(
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
    )


def _find_replaced_preference(conn: Reading, keys: list[int], began_us: int) -> str | None:
    """Return the name of a preference that one of these memories replaced, None for none."""
    return conn.get_text(
        """
        SELECT name
          FROM preference
         WHERE memory_key IN (SELECT value FROM carray(:keys)) AND created_at_us < :began_us
        """,
        {"keys": keys_array(keys), "began_us": began_us},
    )
