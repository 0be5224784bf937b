"""The one way in: drafts become rows, inside one transaction of the store.

Other rooms that make memories come through here too, so that every memory is
screened, deduplicated, counted, indexed and audited alike.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from memd.base.clock import to_us
from memd.base.ids import Ids
from memd.base.limits import BURST_ITEMS_MAX, BURST_MS
from memd.domain.caller import Caller
from memd.domain.enums import (
    VISIBLE,
    ArchiveReason,
    MemoryCategory,
    MemoryState,
    Origin,
    Passing,
    Trust,
)
from memd.domain.ingest import Receipt, ReceiptItem
from memd.domain.trust import BURSTING, Flag
from memd.ingest.draft import Draft
from memd.ingest.filing import Arrival, Filing, Filings
from memd.store.file.connect import Writing
from memd.store.memory import archived, flagged, memories, preferences, removal, sources
from memd.store.memory.preferences import NewPreference
from memd.store.memory.rows import FoundRow, MemoryRow
from memd.store.search import centroids, pending, vectors
from memd.store.session import passing
from memd.store.session.sessions import IDLE_US
from memd.text.importance import importance, is_kept, novelty

BELOW = 'importance below the threshold; archived: "memd archive turned-away" brings it back'
APART = {
    kind: f'kept as {name}: searchable, never injected; "memd archive restore" makes it a memory'
    for kind, name in (
        (Passing.QUESTION, "a question"),
        (Passing.REQUEST, "a request of the moment"),
        (Passing.ACKNOWLEDGEMENT, "an acknowledgement"),
        (Passing.REMARK, "a remark in passing"),
    )
}
SET_ASIDE = "it looks like an attack; out of sight until its owner releases it"


@dataclass(slots=True)
class _Sorted:
    """What became of the chunks so far."""

    stored: list[ReceiptItem] = field(default_factory=list)
    pending: list[ReceiptItem] = field(default_factory=list)
    merged: list[ReceiptItem] = field(default_factory=list)
    turned_away: list[ReceiptItem] = field(default_factory=list)
    quarantined: list[ReceiptItem] = field(default_factory=list)
    preferences: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _New:
    """The rows that were made, those turned away, and the vectors that become known.

    Novelty compares with what was known before the call, so *known* joins the running
    sums when all of the call is scored, as does what comes *back*: told on purpose now,
    and archived before.
    """

    keys: list[int] = field(default_factory=list)
    turned: list[int] = field(default_factory=list)
    back: list[int] = field(default_factory=list)
    known: list[tuple[int, int, bytes]] = field(default_factory=list)
    meant: list[int] = field(default_factory=list)
    """Turns in passing that are told on purpose now."""


def keep(
    conn: Writing, caller: Caller, arrivals: Sequence[Arrival], ids: Ids, now_us: int
) -> list[Receipt]:
    """Store arrivals and return their receipts, which hold once the transaction is committed.

    They find their places among their neighbours and in the caches together, at the end.
    """
    new = _New()
    filings = Filings(conn, caller, ids, now_us)
    receipts = [_keep(conn, arrival, filings.of(arrival), new) for arrival in arrivals]
    for agent_key, model_key, vector in new.known:
        centroids.add(conn, agent_key, model_key, vector)
    for key in new.back:
        removal.restore(conn, key, now_us)
    memories.settle(conn, new.keys)
    passing.admit(conn, new.meant)
    removal.archive(conn, new.turned, ArchiveReason.LOW_IMPORTANCE, now_us, new_id=ids.new)
    return receipts


def _keep(conn: Writing, arrival: Arrival, filing: Filing, new: _New) -> Receipt:
    now_us = filing.now_us
    fate = _Sorted()
    for draft in _remarked(conn, arrival, filing):
        if draft.set_aside:
            _set_aside(conn, arrival, draft, filing, new, fate)
            continue
        vector = None if arrival.vectors is None else arrival.vectors[draft.part]
        row = _row(arrival, draft, filing, filing.ids)
        there = _known(conn, arrival, row, now_us)
        if there is not None:
            there = _met_again(conn, arrival, draft, there, new)
            fate.merged.append(_item_of(there))
            if not arrival.distilled:
                _tell_again(conn, draft, there, row, filing, fate)
            continue
        scored = _scored(conn, arrival, row, draft, filing)
        kept = scored.importance is None or not arrival.judges(draft) or is_kept(scored.importance)
        key = _inserted(conn, arrival, scored, draft, filing, new)
        if vector is not None and filing.model_key is not None:
            vectors.put(conn, filing.model_key, [(key, vector)])
            if kept and not arrival.passing(draft):
                new.known.append((filing.agent_key, filing.model_key, vector))
        if not kept:
            new.turned.append(key)
        _prefer(conn, draft, scored.importance, key, filing, fate)
        _sort(fate, scored, draft, kept=kept, passing=arrival.passing(draft))
    return Receipt(
        stored=tuple(fate.stored),
        pending=tuple(fate.pending),
        merged=tuple(fate.merged),
        turned_away=tuple(fate.turned_away),
        quarantined=tuple(fate.quarantined),
        preferences=tuple(fate.preferences),
        redacted=arrival.drafts.redacted,
    )


def _remarked(conn: Writing, arrival: Arrival, filing: Filing) -> Sequence[Draft]:
    """Return the drafts of an arrival, marked when it is one of too many at once.

    What a program brings in bulk, or takes from a conversation, comes at once for a reason.
    """
    drafts = arrival.drafts
    if drafts.origin not in BURSTING or arrival.batch is not None:
        return drafts.items
    since_us = filing.now_us - BURST_MS * 1_000
    lately = flagged.came_lately(conn, filing.agent_key, filing.client_key, since_us)
    if lately < BURST_ITEMS_MAX:
        return drafts.items
    return [replace(each, flags=(*each.flags, Flag.BURST)) for each in drafts.items]


def _inserted(
    conn: Writing, arrival: Arrival, row: MemoryRow, draft: Draft, filing: Filing, new: _New
) -> int:
    """Insert one row with its source and what it looks like; return its key."""
    row = _sourced(conn, arrival, row, filing)
    (key,) = memories.insert_bare(conn, [row], filing.now_us)
    new.keys.append(key)
    if (kind := arrival.passing(draft)) is not None:
        passing.put(conn, key, kind)
    if draft.flags:
        before = MemoryState.PENDING if draft.set_aside else None
        flagged.put(conn, key, draft.flags, before, filing.now_us)
    return key


def _set_aside(
    conn: Writing, arrival: Arrival, draft: Draft, filing: Filing, new: _New, fate: _Sorted
) -> None:
    """Store a chunk out of sight: without a vector, and trusted by nobody."""
    row = _row(arrival, draft, filing, filing.ids)._replace(
        state=MemoryState.QUARANTINED, trust=Trust.UNTRUSTED
    )
    there = flagged.same(conn, row)
    if there is not None:
        memories.bump(conn, there.memory_key, filing.now_us, row.expires_at_us)
        fate.merged.append(_item_of(there))
        return
    _inserted(conn, arrival, row, draft, filing, new)
    fate.quarantined.append(_item(row, SET_ASIDE, draft.flags))


def _known(conn: Writing, arrival: Arrival, row: MemoryRow, now_us: int) -> FoundRow | None:
    if arrival.distilled:
        return memories.told_in_session(conn, row)
    return memories.same_content(conn, row, now_us) if arrival.gated else None


def _met_again(
    conn: Writing, arrival: Arrival, draft: Draft, there: FoundRow, new: _New
) -> FoundRow:
    """Return *there*, visible and to stay so when it is told on purpose now.

    What was turned away comes back, as does what went for the cap; what is still to be
    judged is judged no more.
    """
    if there.passing is not None and arrival.passing(draft) is None:
        new.meant.append(there.memory_key)
        there = there._replace(passing=None)
    if arrival.judged:
        return there
    if there.importance is None:
        pending.set_importance(conn, there.memory_key, importance(novelty(None), draft.salience))
    away = archived.of(conn, [there.memory_key]).get(there.memory_key)
    if away is None or away.reason not in {ArchiveReason.LOW_IMPORTANCE, ArchiveReason.CAP}:
        return there
    new.back.append(there.memory_key)
    return there._replace(state=MemoryState.ACTIVE)


def _tell_again(
    conn: Writing, draft: Draft, there: FoundRow, row: MemoryRow, filing: Filing, fate: _Sorted
) -> None:
    memories.bump(conn, there.memory_key, filing.now_us, row.expires_at_us)
    if there.state in VISIBLE:
        _prefer(conn, draft, there.importance, there.memory_key, filing, fate)


def _sourced(conn: Writing, arrival: Arrival, row: MemoryRow, filing: Filing) -> MemoryRow:
    """Return *row* with its source, made with the first row: a text merged whole leaves none."""
    if filing.source_key is None:
        filing.source_key = _source(conn, arrival, filing)
    return row._replace(source_key=filing.source_key)


def _source(conn: Writing, arrival: Arrival, filing: Filing) -> int | None:
    whole = arrival.drafts.source
    if whole is None:
        return None
    raw = whole.encode()
    return sources.put(
        conn,
        filing.agent_key,
        filing.session_key,
        hashlib.sha256(raw).digest(),
        zlib.compress(raw),
        filing.now_us,
    )


def _row(arrival: Arrival, draft: Draft, filing: Filing, ids: Ids) -> MemoryRow:
    request, drafts = arrival.request, arrival.drafts
    return MemoryRow(
        memory_id=ids.new(),
        agent_key=filing.agent_key,
        client_key=filing.client_key,
        session_key=filing.session_key,
        project_key=filing.project_key,
        source_key=filing.source_key,
        namespace=drafts.namespace,
        category=draft.category,
        level=arrival.level,
        origin=drafts.origin,
        trust=drafts.trust,
        speaker=drafts.speaker,
        content=draft.content,
        caption=drafts.caption,
        reference=drafts.reference,
        ordinal=filing.ordinal,
        part=draft.part,
        batch=arrival.batch,
        token_count=draft.token_count,
        importance=None,
        confidence=request.confidence,
        created_at_us=filing.now_us,
        occurred_at_us=None if request.occurred_at is None else to_us(request.occurred_at),
        salt=ids.salt(),
        state=MemoryState.PENDING,
        expires_at_us=_end(arrival, draft, filing),
        tags=drafts.tags,
        # What was filed by a guess alone, as an import is, stays when its session ends.
        as_is=not arrival.gated and not arrival.distilled and request.category is not None,
    )


def _end(arrival: Arrival, draft: Draft, filing: Filing) -> int | None:
    """Return when a memory expires: when it is said to, or for working ones of no session.

    A time may have passed while the text was embedded: then it expires as it is made.
    """
    expires_at = arrival.request.expires_at
    if expires_at is not None:
        return max(to_us(expires_at), filing.now_us)
    working = draft.category is MemoryCategory.WORKING and not arrival.stays
    return filing.now_us + IDLE_US if working and filing.session_key is None else None


def _scored(
    conn: Writing, arrival: Arrival, row: MemoryRow, draft: Draft, filing: Filing
) -> MemoryRow:
    """Return *row* with its importance when its vector is here (SPEC 1.6), else still pending."""
    vector = None if arrival.vectors is None else arrival.vectors[draft.part]
    if vector is None or filing.model_key is None:
        # What is never judged needs no vector for its importance: it counts as new.
        return (
            row
            if arrival.judges(draft)
            else row._replace(importance=importance(novelty(None), draft.salience))
        )
    known = centroids.total(conn, filing.agent_key, filing.model_key)
    near = centroids.similarity(conn, known, vector, arrival.voice)
    score = importance(novelty(near), draft.salience)
    return row._replace(importance=score, state=MemoryState.ACTIVE)


def _prefer(
    conn: Writing,
    draft: Draft,
    importance: float | None,
    key: int,
    filing: Filing,
    fate: _Sorted,
) -> None:
    """Set the preference that the chunk states, if any; told again, its row is updated.

    The owner's stays where a program without a key says something else: that is a memory then.
    """
    if draft.preference is None:
        return
    new = NewPreference(
        draft.preference,
        draft.content,
        1.0 if importance is None else importance,
        draft.token_count,
        key,
        filing.ids.salt(),
        Origin.PERSON,  # nobody else's text states one
        filing.client_key,
        filing.now_us if filing.known else None,
    )
    if preferences.put(conn, filing.agent_key, new, filing.now_us):
        fate.preferences.append(draft.preference)


def _sort(
    fate: _Sorted, row: MemoryRow, draft: Draft, *, kept: bool, passing: Passing | None
) -> None:
    reason = APART[passing] if passing is not None else None if kept else BELOW
    item = _item(row, reason, draft.flags, passing)
    if not kept:
        fate.turned_away.append(item)
    elif row.state is MemoryState.PENDING:
        fate.pending.append(item)
    else:
        fate.stored.append(item)


def _item(
    row: MemoryRow, reason: str | None, flags: tuple[Flag, ...], passing: Passing | None = None
) -> ReceiptItem:
    return ReceiptItem(
        id=row.memory_id,
        category=row.category,
        importance=row.importance,
        token_count=row.token_count,
        reason=reason,
        flags=flags,
        passing=passing,
    )


def _item_of(there: FoundRow) -> ReceiptItem:
    return ReceiptItem(
        id=there.memory_id,
        category=MemoryCategory(there.category),
        importance=there.importance,
        token_count=max(1, there.token_count),
        reason="the same text is there already",
        passing=None if there.passing is None else Passing(there.passing),
    )
