"""Replace memories of earlier naps by those of a later one.

A slot names the subject of a memory within its session. The same text in a slot is known; another
text supersedes it, and the earlier memory is archived. Only the digest is rewritten in place, with
its versions kept. A memory that its owner deleted, forgot or edited is left alone. A streamed turn
with the text and speaker of a draft fills the slot, gets the tags, and is never superseded.

Slots of the project hold the newest memory of any session. But a command for a part of the project
does not replace one for the whole, nor one of another runner. A decision, correction or rule that a
later session takes back is superseded (``retractions``). A text that another session of the project
has, or a fix by a command that is known there, is not stored again.

A streamed turn of the assistant that says nothing beyond the nap's memories, or that the user's
next message forbids (``refusals``), is archived as superseded. Turns with more content, and all
that a person said or stored on purpose, stay. The run's ledger records every change, so that a nap
can be undone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from memd.base.clock import to_us
from memd.base.ids import Ids
from memd.domain.caller import Caller
from memd.domain.enums import VISIBLE, ArchiveReason, Origin, Trust
from memd.domain.ingest import Receipt
from memd.domain.memory import MemoryUpdate, distinct
from memd.domain.sleep.consolidation import NAP_TAG
from memd.domain.trust import TALKS
from memd.guard.suspicion import suspicion
from memd.ingest import update
from memd.sleep.distil.agent.fixes import CURED
from memd.sleep.distil.environment import commands
from memd.sleep.distil.exchanges import USERS_KINDS
from memd.sleep.distil.language.phrases import NARRATION
from memd.sleep.distil.language.prose import sentences
from memd.sleep.nap import refusals, retractions, value_updates
from memd.sleep.nap.preparation import NapDraft
from memd.store.file.connect import Reading, Writing
from memd.store.memory import archive_rows, memories, removal, versions
from memd.store.memory.rows import StoredMemory
from memd.store.memory.versions import NewVersion
from memd.store.run import runs
from memd.store.session import slots, turns
from memd.store.session.slots import DIGEST, DecidedRow, SlotRow
from memd.text.preference import is_of_project
from memd.text.repetition import KnownWords


class NapTarget(NamedTuple):
    """The transaction of one nap, and the keys under which its memories are filed."""

    conn: Writing
    caller: Caller
    run_key: int
    agent_key: int
    session_key: int | None
    project_key: int | None
    now_us: int


class DraftOutcome(NamedTuple):
    """What to do with a draft: store it or not, rewrite a memory, and supersede others."""

    is_new: bool = True
    rewrites: SlotRow | None = None
    supersedes: tuple[int, ...] = ()


DECIDED_MAX = 500
"""The number of a project's latest decisions and rules that a nap is compared with."""
BESIDE_MAX = 2
"""The memories of other runners that stay when a newer command of the same purpose arrives."""
NEW, KNOWN = DraftOutcome(), DraftOutcome(is_new=False)


def decide_outcomes(target: NapTarget, drafts: Sequence[NapDraft]) -> list[DraftOutcome]:
    """Decide what to do with each of *drafts*, in order; writes nothing."""
    slot_names = [draft.slot for draft in drafts if draft.slot is not None]
    if target.session_key is None or not slot_names:
        return [NEW] * len(drafts)
    own_slots = slots.of_session(target.conn, target.session_key)
    project_slots: Mapping[str, Sequence[SlotRow]] = {}
    project_slot_names = [slot for slot in slot_names if slot.startswith(commands.ENVIRONMENT_SLOT)]
    if project_slot_names and target.project_key is not None:
        project_slots = slots.of_project(
            target.conn, target.agent_key, target.project_key, project_slot_names
        )
    new_hashes = {
        draft.sha256
        for draft in drafts
        if _is_shareable(draft.slot, target) and draft.slot not in own_slots
    }
    scope = (target.conn, target.agent_key, target.project_key, target.session_key)
    known_elsewhere = slots.find_stored_elsewhere(*scope, new_hashes)
    cured = slots.find_filled_elsewhere(
        *scope, [slot for slot in slot_names if slot.startswith(CURED)]
    )
    outcomes = [
        KNOWN
        if draft.slot not in own_slots
        and _is_shareable(draft.slot, target)
        and (draft.sha256 in known_elsewhere or draft.slot in cured)
        else _decide(draft, own_slots, project_slots, target.now_us)
        for draft in drafts
    ]
    return _take_back(target, drafts, outcomes)


def _take_back(
    target: NapTarget, drafts: Sequence[NapDraft], outcomes: Sequence[DraftOutcome]
) -> list[DraftOutcome]:
    """Add to each new draft's outcome the memories of earlier sessions that it takes back.

    These are memories of naps that nobody edited. A person's words are only taken back by a
    person's, including their denial of the agent that repeats them.
    """
    scope = (target.agent_key, target.project_key, target.session_key)
    known: list[DecidedRow] | None = None
    taken: set[int] = set()
    decided: list[DraftOutcome] = []
    for draft, outcome in zip(drafts, outcomes, strict=True):
        keys: list[int] = []
        if outcome.is_new and _may_supersede(draft):
            if known is None:  # read once: nothing is written in between
                known = slots.list_decided(target.conn, scope, USERS_KINDS, DECIDED_MAX)
            time_us = _time_us(draft, target.now_us)
            rows = [row for row in known if row.memory_key not in taken and row.at_us < time_us]
            keys = _find_superseded(draft, rows)
        taken.update(keys)
        decided.append(outcome._replace(supersedes=(*outcome.supersedes, *keys)))
    return decided


def _find_superseded(draft: NapDraft, rows: Sequence[DecidedRow]) -> list[int]:
    """Return the keys of those *rows* that *draft* supersedes, each once."""
    content, origin = draft.drafts.items[0].content, draft.drafts.origin
    rows = [row for row in rows if not (row.is_elsewhere and is_of_project(content))]
    every = [(row.memory_key, row.content) for row in rows]
    is_person = origin is Origin.PERSON
    replaceable = [
        (row.memory_key, row.content) for row in rows if is_person or row.origin != Origin.PERSON
    ]
    keys: list[int] = []
    if value_updates.announces_update(content):
        keys += value_updates.find_replaced_values(content, replaceable)
    if draft.is_command:
        keys += [key for key, earlier in replaceable if commands.renumbers(content, earlier)]
    if origin in TALKS:
        keys += value_updates.find_old_values(content, every)
    if retractions.may_retract(content):
        keys += retractions.find_retracted(content, replaceable)
        keys += retractions.find_moved(content, replaceable)
        if origin in TALKS:
            keys += retractions.find_denied(content, every)
    return list(dict.fromkeys(keys))


def _may_supersede(draft: NapDraft) -> bool:
    """Return whether *draft* may supersede others: a cheap test before the store is read."""
    first = draft.drafts.items[0]
    if USERS_KINDS.isdisjoint(draft.request.tags) or first.quarantined:
        return False
    text = first.content
    is_update = value_updates.announces_update(text) or value_updates.sets_new_value(text)
    return draft.is_command or is_update or retractions.may_retract(text)


def _is_shareable(slot: str | None, target: NapTarget) -> bool:
    """Return whether another session may have the same memory: no digest, no project slot."""
    if slot is None or slot == DIGEST:
        return False
    return target.project_key is None or not slot.startswith(commands.ENVIRONMENT_SLOT)


def _decide(
    draft: NapDraft,
    own_slots: Mapping[str, SlotRow | None],
    project_slots: Mapping[str, Sequence[SlotRow]],
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
    rows = project_slots.get(draft.slot, ())
    rows = rows if draft.slot in commands.RUNNER_SLOTS else rows[-1:]
    others = [row for row in rows if row != previous]
    if any(_is_narrower(draft, row) for row in rows):
        return KNOWN
    if not others:
        return NEW if previous is None else DraftOutcome(supersedes=(previous.memory_key,))
    return _decide_in_project(draft, previous, others, now_us)


def _decide_in_project(
    draft: NapDraft, previous: SlotRow | None, others: Sequence[SlotRow], now_us: int
) -> DraftOutcome:
    """Decide what to do with a draft if *others* of its project fill the same slot.

    The newest counts. Of commands of other runners, the latest BESIDE_MAX stay.
    """
    alike = [row for row in others if _replaces(draft, row)]
    same = [row for row in others if _has_same_text(row, draft)]
    if same:
        gone = [row for row in alike if row.as_written and row not in same]
        return KNOWN._replace(supersedes=tuple(row.memory_key for row in gone))
    time_us = _time_us(draft, now_us)
    if any(row.at_us > time_us for row in alike) or any(_has_more(row, draft) for row in others):
        return KNOWN
    beside = [row for row in others if row not in alike]
    old = [*([previous] if previous else []), *alike, *beside[:-BESIDE_MAX]]
    return DraftOutcome(supersedes=tuple(row.memory_key for row in old if row.as_written))


def _replaces(draft: NapDraft, row: SlotRow) -> bool:
    """Return whether *draft* has all runners of *row* that still exist."""
    if draft.slot not in commands.RUNNER_SLOTS:
        return True
    return commands.runners(row.content, draft.old_runners) <= commands.runners(
        draft.drafts.items[0].content
    )


def _has_more(row: SlotRow, draft: NapDraft) -> bool:
    """Return whether *row* has all runners of the draft, and more."""
    if draft.slot not in commands.RUNNER_SLOTS:
        return False
    return commands.runners(row.content, draft.old_runners) > commands.runners(
        draft.drafts.items[0].content
    )


def _is_narrower(draft: NapDraft, row: SlotRow) -> bool:
    """Return whether *row* is of the whole project, and the draft, which may replace it, a part."""
    if draft.slot not in commands.RUNNER_SLOTS or commands.covers_a_part(row.content):
        return False
    may_replace = draft.slot in commands.WHOLE_SLOTS or _replaces(draft, row)
    return may_replace and commands.covers_a_part(draft.drafts.items[0].content)


def _has_same_text(row: SlotRow, draft: NapDraft) -> bool:
    return row.content_hash == draft.sha256


def _time_us(draft: NapDraft, now_us: int) -> int:
    at = draft.request.occurred_at
    return now_us if at is None else to_us(at)


def rewrite(target: NapTarget, draft: NapDraft, row: SlotRow) -> None:
    """Replace the text of the memory *row* by the draft's; its id and old version are kept."""
    conn, new = target.conn, draft.drafts.items[0]
    assert target.session_key is not None
    changed_digest = update.AdmittedUpdate(
        MemoryUpdate(content=new.content, origin=draft.drafts.origin),
        new.content,
        new.token_count,
        suspicion(new.content),
        min(_time_us(draft, target.now_us), target.now_us),
    )
    with record_moves(target, [row.memory_key]):
        update.apply_update(conn, target.caller, row.memory_id, changed_digest, target.now_us)
        slots.fill(conn, target.session_key, DIGEST, row.memory_key)


@contextmanager
def record_moves(target: NapTarget, keys: Sequence[int]) -> Iterator[None]:
    """Record in the run's ledger how the block changes the memories *keys*."""
    before = runs.images(target.conn, keys)
    yield
    runs.record(target.conn, target.run_key, keys, runs.MOVED, before)


def fill_slot(
    target: NapTarget, ids: Ids, draft: NapDraft, outcome: DraftOutcome, receipt: Receipt
) -> None:
    """Record which memory fills a slot, and archive those that it supersedes.

    A quarantined memory fills no slot. Nor does an existing memory with the same text, unless it is
    a turn of the same speaker, or was superseded: that one is restored.
    """
    if draft.slot is None or target.session_key is None:
        return
    row = _find_row(target, receipt)
    if row is None:
        return
    fills = not receipt.merged
    if not fills and _was_superseded(target.conn, row):
        with record_moves(target, [row.memory_key]):
            removal.restore(target.conn, row.memory_key, target.now_us)
        fills = True
    elif not fills and _is_turn(draft, row):
        _add_kind(target, draft, row)
        fills = True
    if fills:
        slots.fill(target.conn, target.session_key, draft.slot, row.memory_key)
    elif row.state not in VISIBLE:
        return  # the owner deleted a memory of this text
    archive_superseded(target, ids, outcome)


def archive_superseded(target: NapTarget, ids: Ids, outcome: DraftOutcome) -> None:
    """Archive the memories that *outcome* supersedes, and record it for the run's undo."""
    if outcome.supersedes:
        with record_moves(target, outcome.supersedes):
            removal.supersede(target.conn, outcome.supersedes, target.now_us, new_id=ids.new)


def _find_row(target: NapTarget, receipt: Receipt) -> StoredMemory | None:
    """Return the memory with the draft's text, None if it is quarantined."""
    ids = (*receipt.stored, *receipt.pending, *receipt.merged)
    return memories.by_id(target.conn, target.agent_key, ids[0].id) if ids else None


def _is_turn(draft: NapDraft, row: StoredMemory) -> bool:
    """Return whether *row* is a visible streamed turn, and has the draft's origin."""
    return (
        row.state in VISIBLE
        and NAP_TAG not in row.tag_names
        and Origin(row.origin) in {Origin.PERSON, Origin.ASSISTANT}
        and draft.drafts.origin is Origin(row.origin)
    )


def _add_kind(target: NapTarget, draft: NapDraft, row: StoredMemory) -> None:
    """Give the turn *row* the draft's tags and category, which briefs, lists and prompts use.

    So a kind has the same category in streamed and in imported sessions.
    """
    version = NewVersion(
        content=None,
        token_count=row.token_count,
        reference=row.reference,
        confidence=row.confidence,
        tags=distinct((*row.tag_names, *draft.drafts.tags)),
        expires_at_us=row.expires_at_us,
        origin=Origin(row.origin),
        trust=Trust(row.trust),
        category=draft.drafts.items[0].category,
    )
    with record_moves(target, [row.memory_key]):
        versions.replace(target.conn, row.memory_key, version, target.now_us)


def _was_superseded(conn: Reading, row: StoredMemory) -> bool:
    archived_row = archive_rows.rows_of(conn, [row.memory_key]).get(row.memory_key)
    return archived_row is not None and archived_row.reason == ArchiveReason.SUPERSEDED


TURNS_MAX = 500  # the turns of a session that are compared with a nap's memories
_EXTRA_CHARS_SHARE = 1.5
"""A turn longer than this multiple of all the texts says more than they do."""


def archive_repeated_turns(target: NapTarget, ids: Ids, texts: Sequence[str]) -> None:
    """Supersede the agent's turns of the session that add nothing to *texts* or are forbidden."""
    if target.session_key is None or not texts:
        return
    rows = turns.list_assistant_turns(target.conn, target.session_key, TURNS_MAX)
    replies = turns.list_replies(target.conn, [key for key, _ in rows])
    keys = list({*find_repeated(rows, texts), *refusals.find_forbidden(rows, replies)})
    if not keys:
        return
    with record_moves(target, keys):
        # Unlike archiving by the owner, this keeps memories that were made of a turn.
        removal.archive(target.conn, keys, ArchiveReason.SUPERSEDED, target.now_us, new_id=ids.new)


def find_repeated(rows: Iterable[tuple[int, str]], texts: Sequence[str]) -> list[int]:
    """Return the keys of those *rows* (key and text) that say nothing beyond *texts*.

    >>> rows = [(1, "Let me see. The port of the stage is 8443."), (2, "It is 8443 and 9000.")]
    >>> find_repeated(rows, ["Outcome: The port of the stage is 8443."])
    [1]
    """
    known = KnownWords(texts)
    room = _EXTRA_CHARS_SHARE * sum(map(len, texts))
    return [key for key, text in rows if len(text) <= room and _is_repeated(text, known)]


def _is_repeated(text: str, known: KnownWords) -> bool:
    statements = [part.text for part in sentences(text) if not NARRATION.match(part.text)]
    return bool(statements) and all(known.covers(statement) for statement in statements)
