"""Why a memory is there: who made it, of which messages, of which other memories."""

from __future__ import annotations

import zlib

from memd.base.clock import from_us
from memd.domain.caller import Caller
from memd.domain.enums import RunKind
from memd.domain.provenance import MadeBy, Provenance, Turn
from memd.guard.outgoing import outgoing, outgoing_entry
from memd.recall import listing
from memd.store.access import names
from memd.store.file.connect import Reading
from memd.store.memory import lineage, memories
from memd.store.session import turns
from memd.store.session.turns import TurnRow

TURN_CHARS_MAX = 400
SOURCES_MAX = 50


def made_of(
    conn: Reading, caller: Caller, memory_id: str, now_us: int, *, full: bool
) -> Provenance | None:
    """Return what a memory was made of; None where ``memory.get`` has none.

    With *full* the messages are whole, else each is cut to its first characters.
    """
    entry = listing.one(conn, caller, memory_id, now_us)
    agent_key = names.find_agent(conn, caller.agent_id)
    row = None if agent_key is None else memories.by_id(conn, agent_key, memory_id)
    if entry is None or row is None:
        return None
    run = turns.made_by(conn, row.memory_key)
    keys = lineage.made_from(conn, row.memory_key)
    found = memories.by_keys(conn, keys[:SOURCES_MAX])
    return Provenance(
        memory=entry,
        made_by=None
        if run is None
        else MadeBy(run_id=run[0], kind=RunKind(run[1]), at=from_us(run[2])),
        turns=tuple(_turn(turn, full=full) for turn in turns.turns_of(conn, row.memory_key)),
        sources=tuple(
            outgoing_entry(found[key].entry()) for key in keys[:SOURCES_MAX] if key in found
        ),
        sources_left=max(0, len(keys) - SOURCES_MAX),
    )


def _turn(row: TurnRow, *, full: bool) -> Turn:
    if row.zlib is None:
        return Turn()
    text = outgoing(zlib.decompress(row.zlib).decode())
    whole = full or len(text) <= TURN_CHARS_MAX
    return Turn(
        ordinal=row.place,
        role=row.role,
        at=None if row.at_us is None else from_us(row.at_us),
        text=text if whole else text[: TURN_CHARS_MAX - 1] + "…",
        whole=whole,
    )
