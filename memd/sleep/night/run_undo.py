"""Undoing a run, by its kind: a night's rows are restored, a nap's memories go to the trash."""

from __future__ import annotations

from memd.domain.enums import RunKind
from memd.store.file.connect import Reading, Writing
from memd.store.run import nap_undo, undo
from memd.store.run.runs import RunRow


def check_undo(conn: Reading, run: RunRow) -> None:
    """Raise ConflictError when undoing *run* would not be exact."""
    if run.kind == RunKind.NAP:
        nap_undo.check(conn, run)
    else:
        undo.check(conn, run.run_key)


def undo_step(conn: Writing, run: RunRow, now_us: int, undo_us: int, limit: int) -> int:
    """Undo about *limit* changes of *run*; return how many, 0 when none is left."""
    if run.kind == RunKind.NAP:
        return nap_undo.undo_step(conn, run, now_us, undo_us, limit)
    return undo.undo_step(conn, run.run_key, limit)
