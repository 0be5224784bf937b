"""Protect what a person stated from changes by anybody else (decision 0119)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext

from memd.base.errors import DeniedError
from memd.domain.caller import Caller
from memd.domain.enums import VISIBLE, ArchiveReason, Origin
from memd.store.file.connect import Reading, Writing
from memd.store.memory import memories, removal
from memd.store.memory.preferences import StatingMemory

RecordMoves = Callable[[Sequence[int]], AbstractContextManager[object]]
"""Context manager that records how its block changes the memories of these keys, for an undo."""


def may_change(
    conn: Reading, caller: Caller, keys: Sequence[int], origin: Origin | None = None
) -> bool:
    """Return whether *caller* may change or remove all of these memories (``check_may_change``)."""
    if caller.is_owner:
        return True
    client = caller.client if origin in {None, Origin.PERSON} else None
    return not removal.are_stated_by_others(conn, keys, client, is_known=caller.is_known)


def check_may_change(
    conn: Reading, caller: Caller, keys: Sequence[int], origin: Origin | None = None
) -> None:
    """Raise DeniedError if *caller* may not change or remove one of these memories.

    Only what a person stated is protected. The owner may change it, and so may the client that
    stored it for the person, as long as *origin*, that of the new text, is a person or None.
    Anybody may change a summary: it is no statement, and its sources are kept.
    """
    if not may_change(conn, caller, keys, origin):
        raise DeniedError(
            "this memory was stated by a person; only that person can change it"
            if len(keys) == 1
            else "some of these memories were stated by a person; only that person can change them",
            field="id",
            hint='store a memory of your own, or ask the owner to use "memd edit" or "memd delete"',
        )


def supersede_stated(
    conn: Writing,
    caller: Caller,
    stating: Iterable[StatingMemory],
    now_us: int,
    new_id: Callable[[], str],
    record_moves: RecordMoves = nullcontext,
) -> None:
    """Archive the memories that state a preference which *caller* has replaced or removed.

    Otherwise recall would still answer with them. A memory that set the preference may be
    archived by any known client; another memory with the same text only by a caller that may
    change it. Summaries of them, such as a session's digest, stay.
    """
    keys = [
        memory.memory_key
        for memory in stating
        if (memory.has_set_it and caller.is_known) or may_change(conn, caller, [memory.memory_key])
    ]
    if keys := memories.filter_states(conn, keys, VISIBLE):
        with record_moves(keys):
            removal.archive(conn, keys, ArchiveReason.SUPERSEDED, now_us, new_id=new_id)
