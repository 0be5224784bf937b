"""A later nap over a session: what it says anew takes the place of what it said before.

What a memory of a nap is about is its slot. The same words again are known. Other words
supersede the earlier ones, which go to the archive; only the digest is one memory for as
long as its session lives, rewritten, with its versions before. What its owner deleted,
forgot or rewrote stays as it is. Some slots are of the whole project: there the newest
counts, whichever session said it; and what another session of the project told in the
same words, or cured by the same command, is not told twice. All of it stands in the run's
ledger, for the way back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from memd.base.clock import to_us
from memd.base.ids import Ids
from memd.domain.caller import Caller
from memd.domain.enums import VISIBLE, ArchiveReason
from memd.domain.ingest import Receipt
from memd.domain.memory import MemoryUpdate
from memd.guard.suspicion import suspicion
from memd.ingest import update
from memd.ingest.replace import supersede
from memd.sleep.distil.fixes import CURED
from memd.sleep.nap.drafting import Drafted
from memd.store.file.connect import Reading, Writing
from memd.store.memory import archived, memories, removal
from memd.store.memory.rows import StoredMemory
from memd.store.run import runs
from memd.store.session import slots
from memd.store.session.slots import DIGEST, SlotRow

PROJECT_WIDE = "env:"
"""How the slots begin that are of a whole project."""


class NapTarget(NamedTuple):
    """Where one nap's memories belong, and the transaction in which they are stored."""

    conn: Writing
    caller: Caller
    run_key: int
    agent_key: int
    session_key: int | None
    project_key: int | None
    now_us: int


class DraftOutcome(NamedTuple):
    """What becomes of a draft: it is new or known, rewrites a memory, or supersedes *keys*."""

    is_new: bool = True
    rewrites: SlotRow | None = None
    supersedes: tuple[int, ...] = ()


NEW, KNOWN = DraftOutcome(), DraftOutcome(is_new=False)


def fates(place: NapTarget, drafted: Sequence[Drafted]) -> list[DraftOutcome]:
    """Return what becomes of each of *drafted*, in order; nothing is written."""
    named = [each.slot for each in drafted if each.slot is not None]
    if place.session_key is None or not named:
        return [NEW] * len(drafted)
    here = slots.of_session(place.conn, place.session_key)
    there: Mapping[str, SlotRow] = {}
    wide = [slot for slot in named if slot.startswith(PROJECT_WIDE)]
    if wide and place.project_key is not None:
        there = slots.of_project(place.conn, place.agent_key, place.project_key, wide)
    fresh = {each.sha256 for each in drafted if _is_shared(each.slot) and each.slot not in here}
    beside = (place.conn, place.agent_key, place.project_key, place.session_key)
    elsewhere = slots.told_elsewhere(*beside, fresh)
    cured = slots.filled_elsewhere(*beside, [slot for slot in named if slot.startswith(CURED)])
    return [
        KNOWN
        if each.slot not in here
        and _is_shared(each.slot)
        and (each.sha256 in elsewhere or each.slot in cured)
        else _fate(each, here, there, place.now_us)
        for each in drafted
    ]


def _is_shared(slot: str | None) -> bool:
    """Return whether another session may have told it: no digest, nothing that has its newest."""
    return slot is not None and slot != DIGEST and not slot.startswith(PROJECT_WIDE)


def _fate(
    new: Drafted,
    here: Mapping[str, SlotRow | None],
    there: Mapping[str, SlotRow],
    now_us: int,
) -> DraftOutcome:
    if new.slot is None:
        return NEW
    before = here.get(new.slot)
    if new.slot in here and (before is None or before.is_closed or _says(before, new)):
        return KNOWN
    if before is not None and not before.is_visible:
        before = None  # it was put away since, by itself
    if before is not None and new.slot == DIGEST:
        return (
            KNOWN if new.drafts.items[0].set_aside else DraftOutcome(is_new=False, rewrites=before)
        )
    other = there.get(new.slot)
    if other is None or other == before:
        return NEW if before is None else DraftOutcome(supersedes=(before.memory_key,))
    if _says(other, new) or other.at_us > _at(new, now_us):
        return KNOWN
    old = [row for row in (before, other) if row is not None and row.as_written]
    return DraftOutcome(supersedes=tuple(row.memory_key for row in old))


def _says(there: SlotRow, new: Drafted) -> bool:
    return there.content_hash == new.sha256


def _at(new: Drafted, now_us: int) -> int:
    at = new.request.occurred_at
    return now_us if at is None else to_us(at)


def rewrite(place: NapTarget, new: Drafted, there: SlotRow) -> None:
    """Let the memory *there* say what is *new*, under its id; the version before is kept."""
    conn, draft = place.conn, new.drafts.items[0]
    assert place.session_key is not None
    before = runs.images(conn, [there.memory_key])
    words = update.AdmittedUpdate(
        MemoryUpdate(content=draft.content, origin=new.drafts.origin),
        draft.content,
        draft.token_count,
        suspicion(draft.content),
        min(_at(new, place.now_us), place.now_us),
    )
    update.change(conn, place.caller, there.memory_id, words, place.now_us)
    slots.put(conn, place.session_key, DIGEST, there.memory_key)
    runs.note(conn, place.run_key, [there.memory_key], runs.MOVED, before)


def settle(place: NapTarget, ids: Ids, new: Drafted, fate: DraftOutcome, receipt: Receipt) -> None:
    """Note what was stored for a slot, and put away what it takes the place of.

    What looks like an attack takes no place. What the session was told in the same words
    by somebody else is theirs, and no slot's; but what was superseded comes back.
    """
    if new.slot is None or place.session_key is None:
        return
    row = _row(place, receipt)
    if row is None:
        return
    stands = not receipt.merged
    if not stands and _was_superseded(place.conn, row):
        before = runs.images(place.conn, [row.memory_key])
        removal.restore(place.conn, row.memory_key, place.now_us)
        runs.note(place.conn, place.run_key, [row.memory_key], runs.MOVED, before)
        stands = True
    if stands:
        slots.put(place.conn, place.session_key, new.slot, row.memory_key)
    elif row.state not in VISIBLE:
        return  # its owner threw these words away
    if fate.supersedes:
        before = runs.images(place.conn, fate.supersedes)
        supersede(place.conn, fate.supersedes, ids, place.now_us)
        runs.note(place.conn, place.run_key, fate.supersedes, runs.MOVED, before)


def _row(place: NapTarget, receipt: Receipt) -> StoredMemory | None:
    """Return the memory that says what was to be said, None when that is out of sight."""
    ids = (*receipt.stored, *receipt.pending, *receipt.merged)
    return memories.by_id(place.conn, place.agent_key, ids[0].id) if ids else None


def _was_superseded(conn: Reading, row: StoredMemory) -> bool:
    away = archived.of(conn, [row.memory_key]).get(row.memory_key)
    return away is not None and away.reason == ArchiveReason.SUPERSEDED
