"""How the memories of a later nap replace those of an earlier one.

The subject of a memory within its session is its slot. The same text again is known. A
different text supersedes the earlier one, which is archived; only the digest stays one
memory for the life of its session and is rewritten, with its versions kept. A memory that
its owner deleted, forgot or edited is left alone. A person's turn in the very words of a
memory fills its slot and gets its tags; nothing supersedes it. Some slots belong to the
whole project: there the newest counts, from whichever session. A text that another session
of the project has, or a fix by a command that cured there, is not stored again. The run's
ledger records everything, so that the nap can be undone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from memd.base.clock import to_us
from memd.base.ids import Ids
from memd.domain.caller import Caller
from memd.domain.enums import VISIBLE, ArchiveReason, Origin, Trust
from memd.domain.ingest import Receipt
from memd.domain.memory import MemoryUpdate, distinct
from memd.domain.sleep.consolidation import NAP_TAG
from memd.guard.suspicion import suspicion
from memd.ingest import update
from memd.ingest.replace import supersede
from memd.sleep.distil.fixes import CURED
from memd.sleep.nap.drafting import NapDraft
from memd.store.file.connect import Reading, Writing
from memd.store.memory import archive_rows, memories, removal, versions
from memd.store.memory.rows import StoredMemory
from memd.store.memory.versions import NewVersion
from memd.store.run import runs
from memd.store.session import slots
from memd.store.session.slots import DIGEST, SlotRow

PROJECT_PREFIX = "env:"
"""The prefix of slots that belong to a whole project."""


class NapTarget(NamedTuple):
    """Where one nap's memories are filed, and the transaction that stores them."""

    conn: Writing
    caller: Caller
    run_key: int
    agent_key: int
    session_key: int | None
    project_key: int | None
    now_us: int


class DraftOutcome(NamedTuple):
    """What to do with a draft: store, skip as known, rewrite a memory, or supersede some."""

    is_new: bool = True
    rewrites: SlotRow | None = None
    supersedes: tuple[int, ...] = ()


NEW, KNOWN = DraftOutcome(), DraftOutcome(is_new=False)


def decide_outcomes(target: NapTarget, drafts: Sequence[NapDraft]) -> list[DraftOutcome]:
    """Decide what to do with each of *drafts*, in order; writes nothing."""
    slot_names = [each.slot for each in drafts if each.slot is not None]
    if target.session_key is None or not slot_names:
        return [NEW] * len(drafts)
    own_slots = slots.of_session(target.conn, target.session_key)
    project_slots: Mapping[str, SlotRow] = {}
    project_slot_names = [slot for slot in slot_names if slot.startswith(PROJECT_PREFIX)]
    if project_slot_names and target.project_key is not None:
        project_slots = slots.of_project(
            target.conn, target.agent_key, target.project_key, project_slot_names
        )
    new_hashes = {
        each.sha256 for each in drafts if _is_shareable(each.slot) and each.slot not in own_slots
    }
    scope = (target.conn, target.agent_key, target.project_key, target.session_key)
    known_elsewhere = slots.find_stored_elsewhere(*scope, new_hashes)
    cured = slots.find_filled_elsewhere(
        *scope, [slot for slot in slot_names if slot.startswith(CURED)]
    )
    return [
        KNOWN
        if each.slot not in own_slots
        and _is_shareable(each.slot)
        and (each.sha256 in known_elsewhere or each.slot in cured)
        else _decide(each, own_slots, project_slots, target.now_us)
        for each in drafts
    ]


def _is_shareable(slot: str | None) -> bool:
    """Return whether another session may have it already: no digest, and not a project's slot."""
    return slot is not None and slot != DIGEST and not slot.startswith(PROJECT_PREFIX)


def _decide(
    draft: NapDraft,
    own_slots: Mapping[str, SlotRow | None],
    project_slots: Mapping[str, SlotRow],
    now_us: int,
) -> DraftOutcome:
    if draft.slot is None:
        return NEW
    previous = own_slots.get(draft.slot)
    if draft.slot in own_slots and (
        previous is None or previous.is_closed or _has_same_text(previous, draft)
    ):
        return KNOWN
    if previous is not None and not (previous.is_visible and previous.made_by_nap):
        previous = None  # archived since, independently of naps, or a person's turn
    if previous is not None and draft.slot == DIGEST:
        return (
            KNOWN
            if draft.drafts.items[0].quarantined
            else DraftOutcome(is_new=False, rewrites=previous)
        )
    project_row = project_slots.get(draft.slot)
    if project_row is None or project_row == previous:
        return NEW if previous is None else DraftOutcome(supersedes=(previous.memory_key,))
    if _has_same_text(project_row, draft) or project_row.at_us > _time_us(draft, now_us):
        return KNOWN
    old = [row for row in (previous, project_row) if row is not None and row.as_written]
    return DraftOutcome(supersedes=tuple(row.memory_key for row in old))


def _has_same_text(row: SlotRow, draft: NapDraft) -> bool:
    return row.content_hash == draft.sha256


def _time_us(draft: NapDraft, now_us: int) -> int:
    at = draft.request.occurred_at
    return now_us if at is None else to_us(at)


def rewrite(target: NapTarget, draft: NapDraft, row: SlotRow) -> None:
    """Replace the text of the memory *row* by the draft's; its id stays, its version is kept."""
    conn, new = target.conn, draft.drafts.items[0]
    assert target.session_key is not None
    previous = runs.images(conn, [row.memory_key])
    changed_digest = update.AdmittedUpdate(
        MemoryUpdate(content=new.content, origin=draft.drafts.origin),
        new.content,
        new.token_count,
        suspicion(new.content),
        min(_time_us(draft, target.now_us), target.now_us),
    )
    update.apply_update(conn, target.caller, row.memory_id, changed_digest, target.now_us)
    slots.fill(conn, target.session_key, DIGEST, row.memory_key)
    runs.record(conn, target.run_key, [row.memory_key], runs.MOVED, previous)


def fill_slot(
    target: NapTarget, ids: Ids, draft: NapDraft, outcome: DraftOutcome, receipt: Receipt
) -> None:
    """Record which memory fills a slot, and archive those that it supersedes.

    A quarantined memory fills no slot. A text that the session already has from another
    source stays that memory and fills none, except a person's turn; but one that had been
    superseded is restored.
    """
    if draft.slot is None or target.session_key is None:
        return
    row = _find_row(target, receipt)
    if row is None:
        return
    fills = not receipt.merged
    if not fills and _was_superseded(target.conn, row):
        previous = runs.images(target.conn, [row.memory_key])
        removal.restore(target.conn, row.memory_key, target.now_us)
        runs.record(target.conn, target.run_key, [row.memory_key], runs.MOVED, previous)
        fills = True
    elif not fills and _is_turn(draft, row):
        _add_tags(target, draft, row)
        fills = True
    if fills:
        slots.fill(target.conn, target.session_key, draft.slot, row.memory_key)
    elif row.state not in VISIBLE:
        return  # the owner deleted a memory of this text
    if outcome.supersedes:
        previous = runs.images(target.conn, outcome.supersedes)
        supersede(target.conn, outcome.supersedes, ids, target.now_us)
        runs.record(target.conn, target.run_key, outcome.supersedes, runs.MOVED, previous)


def _find_row(target: NapTarget, receipt: Receipt) -> StoredMemory | None:
    """Return the memory with the draft's text, None when it is out of sight."""
    ids = (*receipt.stored, *receipt.pending, *receipt.merged)
    return memories.by_id(target.conn, target.agent_key, ids[0].id) if ids else None


def _is_turn(draft: NapDraft, row: StoredMemory) -> bool:
    """Return whether *row* is a person's turn in no slot, and the draft that person's word."""
    return (
        row.state in VISIBLE
        and NAP_TAG not in row.tag_names
        and Origin(row.origin) is Origin.PERSON
        and draft.drafts.origin is Origin.PERSON
    )


def _add_tags(target: NapTarget, draft: NapDraft, row: StoredMemory) -> None:
    """Add the draft's tags to the turn *row*: its kind is what briefs and lists go by."""
    version = NewVersion(
        content=None,
        token_count=row.token_count,
        reference=row.reference,
        confidence=row.confidence,
        tags=distinct((*row.tag_names, *draft.request.tags)),
        expires_at_us=row.expires_at_us,
        origin=Origin(row.origin),
        trust=Trust(row.trust),
    )
    previous = runs.images(target.conn, [row.memory_key])
    versions.replace(target.conn, row.memory_key, version, target.now_us)
    runs.record(target.conn, target.run_key, [row.memory_key], runs.MOVED, previous)


def _was_superseded(conn: Reading, row: StoredMemory) -> bool:
    archived_row = archive_rows.rows_of(conn, [row.memory_key]).get(row.memory_key)
    return archived_row is not None and archived_row.reason == ArchiveReason.SUPERSEDED
