"""Whose words a memory is: what a person stated is changed and removed by nobody else (0119)."""

from __future__ import annotations

from collections.abc import Sequence

from memd.base.errors import DeniedError
from memd.domain.caller import Caller
from memd.domain.enums import Origin
from memd.store.file.connect import Reading
from memd.store.memory import removal


def check_may_change(
    conn: Reading, caller: Caller, keys: Sequence[int], origin: Origin | None = None
) -> None:
    """Raise DeniedError where a caller would change or remove what a person stated.

    The owner's own commands may, and the client that stored it in a person's name; *origin* is
    that of new words. Others store a memory of their own instead. A summary is nobody's words, and
    its sources are behind it.
    """
    if caller.is_owner:
        return
    client = caller.client if origin in {None, Origin.PERSON} else None
    if removal.are_stated_by_others(conn, keys, client, is_known=caller.is_known):
        raise DeniedError(
            "this memory was stated by a person; only that person can change it"
            if len(keys) == 1
            else "some of these memories were stated by a person; only that person can change them",
            field="id",
            hint='store a memory of your own, or ask the owner to use "memd edit" or "memd delete"',
        )
