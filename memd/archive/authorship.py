"""Whose words a memory is: what a person stated is changed and removed by nobody else (0119)."""

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
"""Records, for who can undo it, how a block changes the memories of these keys."""


def check_may_change(
    conn: Reading, caller: Caller, keys: Sequence[int], origin: Origin | None = None
) -> None:
    """Raise DeniedError where a caller would change or remove what a person stated.

    The owner's own commands may, and the client that stored it in a person's name; *origin* is
    that of new words. Others store a memory of their own instead. A summary is nobody's words, and
    its sources are behind it.
    """
    if not _may_change(conn, caller, keys, origin):
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

    Recall would go on telling what no longer holds. Whoever may replace the preference may hide
    the memory that it came with; another memory of the same text only who may change it. What was
    made of them, such as a session's digest, stays.
    """
    keys = [
        memory.memory_key
        for memory in stating
        if (memory.has_set_it and caller.is_known)
        or _may_change(conn, caller, [memory.memory_key], None)
    ]
    if keys := memories.filter_states(conn, keys, VISIBLE):
        with record_moves(keys):
            removal.archive(conn, keys, ArchiveReason.SUPERSEDED, now_us, new_id=new_id)


def _may_change(conn: Reading, caller: Caller, keys: Sequence[int], origin: Origin | None) -> bool:
    if caller.is_owner:
        return True
    client = caller.client if origin in {None, Origin.PERSON} else None
    return not removal.are_stated_by_others(conn, keys, client, is_known=caller.is_known)
