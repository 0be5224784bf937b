"""Store drafts as memory rows, within one transaction.

All code that creates memories from texts calls :func:`store_arrivals`, so that each memory is
deduplicated, counted, indexed and audited in the same way.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

from memd.archive.authorship import RecordMoves, supersede_stated
from memd.base.ids import Ids
from memd.base.limits import BURST_ITEMS_MAX, BURST_MS
from memd.domain.caller import Caller
from memd.domain.enums import (
    VISIBLE,
    ArchiveReason,
    MemoryCategory,
    MemoryLevel,
    MemoryState,
    Passing,
    Trust,
)
from memd.domain.ingest import Receipt, ReceiptItem
from memd.domain.trust import BURSTING, Flag, Screened
from memd.ingest.draft import Draft
from memd.ingest.filing import Arrival, Filing, Filings, new_row
from memd.ingest.preference_rows import PreferenceRows
from memd.store.file.connect import Writing
from memd.store.memory import archive_rows, flagged, memories, removal, sources
from memd.store.memory.duplicates import (
    find_alike,
    find_duplicate,
    find_in_session,
    find_quarantined,
)
from memd.store.memory.preferences import StatingMemory
from memd.store.memory.rows import MemoryRow, StoredMemory
from memd.store.search import centroids, embedding_queue, vectors
from memd.store.session import sessions
from memd.text.importance import importance, is_kept, novelty

BELOW_REASON = 'importance below the threshold; archived: "memd archive turned-away" brings it back'
PASSING_REASONS = {
    kind: f'kept as {name}: searchable, never injected; "memd archive restore" makes it a memory'
    for kind, name in (
        (Passing.QUESTION, "a question"),
        (Passing.REQUEST, "a request of the moment"),
        (Passing.ACKNOWLEDGEMENT, "an acknowledgement"),
        (Passing.REMARK, "a remark in passing"),
    )
}
QUARANTINE_REASON = "it looks like an attack; out of sight until its owner releases it"
_RESTORED_BY_NAPS = frozenset({ArchiveReason.LOW_IMPORTANCE, ArchiveReason.CAP})
_RESTORED = _RESTORED_BY_NAPS | {ArchiveReason.SUPERSEDED, ArchiveReason.MANUAL}
"""Reasons of archived memories that are restored when the same text arrives again."""


@dataclass(slots=True)
class _Outcomes:
    """The outcome of each chunk, collected for the receipt."""

    stored: list[ReceiptItem] = field(default_factory=list)
    pending: list[ReceiptItem] = field(default_factory=list)
    merged: list[ReceiptItem] = field(default_factory=list)
    turned_away: list[ReceiptItem] = field(default_factory=list)
    quarantined: list[ReceiptItem] = field(default_factory=list)
    preferences: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Changes:
    """What to index, archive, restore and promote at the end of the call.

    Novelty compares with what was known before the call. So the vectors of new and restored
    memories are added to the running sums after all texts of the call are scored.
    """

    row_keys: list[int] = field(default_factory=list)
    turned_away_keys: list[int] = field(default_factory=list)
    restored_keys: list[int] = field(default_factory=list)
    """Archived memories whose text was stored again on purpose."""
    new_vectors: list[tuple[int, int, bytes]] = field(default_factory=list)
    promoted_keys: list[int] = field(default_factory=list)
    """Turns in passing whose text was stored again on purpose."""
    replaced: dict[int, StatingMemory] = field(default_factory=dict)
    """By key, the memories that state an old value of a preference."""


def store_arrivals(
    conn: Writing,
    caller: Caller,
    arrivals: Sequence[Arrival],
    ids: Ids,
    now_us: int,
    record_moves: RecordMoves = nullcontext,
) -> list[Receipt]:
    """Store arrivals and return their receipts, valid once the transaction is committed.

    Indexes and caches are updated together at the end. *record_moves* wraps the archiving of
    memories that state replaced preferences.
    """
    changes = _Changes()
    filings = Filings(conn, caller, ids, now_us)
    receipts = [
        _ArrivalWriter(conn, arrival, filings.file(arrival), changes).write()
        for arrival in arrivals
    ]
    for agent_key, model_key, vector in changes.new_vectors:
        centroids.add(conn, agent_key, model_key, vector)
    for key in changes.restored_keys:
        removal.restore(conn, key, now_us)
    if changes.turned_away_keys:
        removal.archive_new(conn, changes.turned_away_keys, now_us, new_id=ids.new)
    memories.index_new(conn, changes.row_keys)
    if changes.promoted_keys:
        removal.promote(conn, changes.promoted_keys)
    supersede_stated(conn, caller, changes.replaced.values(), now_us, ids.new, record_moves)
    return receipts


@dataclass(slots=True)
class _ArrivalWriter:
    """Stores one arrival and collects its receipt. *changes* are shared by the whole call."""

    conn: Writing
    arrival: Arrival
    filing: Filing
    changes: _Changes
    outcomes: _Outcomes = field(default_factory=_Outcomes)

    def write(self) -> Receipt:
        """Store the arrival chunk by chunk and return its receipt."""
        if self.arrival.drafts.privacy.is_asked:
            self._withhold()
            return Receipt(redacted=self.arrival.drafts.redacted)
        for draft in self._drafts():
            if draft.quarantined:
                self._quarantine(draft)
            else:
                self._store(draft)
        return Receipt(
            stored=tuple(self.outcomes.stored),
            pending=tuple(self.outcomes.pending),
            merged=tuple(self.outcomes.merged),
            turned_away=tuple(self.outcomes.turned_away),
            quarantined=tuple(self.outcomes.quarantined),
            preferences=tuple(self.outcomes.preferences),
            redacted=self.arrival.drafts.redacted,
        )

    def _drafts(self) -> Sequence[Draft]:
        """Return the drafts, flagged if too many external texts arrived within BURST_MS.

        Bulk imports and conversations are not counted as a burst.
        """
        drafts, filing = self.arrival.drafts, self.filing
        if drafts.origin not in BURSTING or self.arrival.batch is not None:
            return drafts.items
        since_us = filing.now_us - BURST_MS * 1_000
        recent_count = flagged.count_recent_external(
            self.conn, filing.agent_key, filing.client_key, since_us
        )
        if recent_count < BURST_ITEMS_MAX:
            return drafts.items
        return [replace(draft, flags=(*draft.flags, Flag.BURST)) for draft in drafts.items]

    def _store(self, draft: Draft) -> None:
        arrival, filing = self.arrival, self.filing
        row = new_row(arrival, draft, filing)
        known = self._find_known(row)
        if known is not None:
            known = self._revive(draft, known)
            self.outcomes.merged.append(_item_of_memory(known))
            if not arrival.distilled:
                self._refresh(draft, known, row)
            return
        encoding = None if arrival.encodings is None else arrival.encodings[draft.part]
        vector = None if encoding is None else encoding.vector
        is_gated = arrival.has_gate and row.passing is None
        row = self._with_importance(row, draft, vector, is_gated=is_gated)
        stays = row.importance is None or not is_gated or is_kept(row.importance)
        key = self._insert(row, draft)
        if encoding is not None and filing.model_key is not None:
            vectors.store(self.conn, filing.model_key, [(key, encoding)])
            if stays and row.passing is None:
                new = (filing.agent_key, filing.model_key, encoding.vector)
                self.changes.new_vectors.append(new)
        if not stays:
            self.changes.turned_away_keys.append(key)
        if draft.withdraws and not arrival.distilled:
            self._preference_rows.take_back(draft, row)
        self._set_preference(draft, row, key)
        self._add_outcome(row, draft, stays=stays)

    def _withhold(self) -> None:
        """Store nothing of a private turn; it may take back preferences.

        One that says nothing else is about the turn before it, which is archived with its answer.
        """
        arrival, filing = self.arrival, self.filing
        for draft in arrival.drafts.items:
            if draft.withdraws:
                self._preference_rows.take_back(draft, new_row(arrival, draft, filing))
        if arrival.drafts.privacy.is_all and filing.session_key is not None:
            keys = sessions.list_last_turn(self.conn, filing.session_key, filing.client_key)
            removal.archive(
                self.conn, keys, ArchiveReason.MANUAL, filing.now_us, new_id=filing.ids.new
            )

    @property
    def _preference_rows(self) -> PreferenceRows:
        return PreferenceRows(self.conn, self.filing, self.changes.replaced)

    def _set_preference(self, draft: Draft, row: MemoryRow, key: int) -> None:
        """Set the preference that a chunk states, if any."""
        if draft.preference is not None:
            name = self._preference_rows.set(draft.preference, row, key)
            self.outcomes.preferences += filter(None, [name])

    def _quarantine(self, draft: Draft) -> None:
        """Store a chunk as quarantined: without a vector, and untrusted."""
        filing = self.filing
        row = new_row(self.arrival, draft, filing)._replace(
            state=MemoryState.QUARANTINED, trust=Trust.UNTRUSTED
        )
        known = find_quarantined(self.conn, row)
        if known is not None:
            memories.bump(self.conn, known.memory_key, filing.now_us, row.expires_at_us)
            self.outcomes.merged.append(_item_of_memory(known, QUARANTINE_REASON, draft.flags))
            return
        self._insert(row, draft)
        self.outcomes.quarantined.append(_item(row, QUARANTINE_REASON, draft.flags))

    def _insert(self, row: MemoryRow, draft: Draft) -> int:
        """Insert one row with its source and flags; return its key.

        The source is stored with the first new row. If all chunks are merged, it is not stored.
        """
        filing = self.filing
        source_text = self.arrival.drafts.source
        if filing.source_key is None and source_text is not None:
            filing.source_key = _put_source(self.conn, source_text, filing)
        row = row._replace(source_key=filing.source_key)
        (key,) = memories.insert_bare(self.conn, [row], filing.now_us)
        self.changes.row_keys.append(key)
        if draft.flags:
            before = MemoryState.PENDING if draft.quarantined else None
            flagged.flag(self.conn, key, draft.flags, before, filing.now_us)
        return key

    def _find_known(self, row: MemoryRow) -> StoredMemory | None:
        conn, arrival, now_us = self.conn, self.arrival, self.filing.now_us
        if arrival.distilled:
            return find_in_session(conn, row)
        if arrival.merge:
            return find_alike(conn, row, now_us)
        return find_duplicate(conn, row, now_us) if arrival.gated else None

    def _revive(self, draft: Draft, known: StoredMemory) -> StoredMemory:
        """Return the *known* memory, made visible and permanent if now stored on purpose.

        A turn in passing is promoted, a memory that waits for the importance gate skips it, and
        one that was archived for a reason in _RESTORED is restored.
        """
        conn, key = self.conn, known.memory_key
        if known.passing is not None and self.arrival.passing(draft, self.filing) is None:
            self.changes.promoted_keys.append(key)
            known = known._replace(passing=None)
        if self.arrival.has_gate and draft.preference is None:
            return known
        if known.importance is None:
            embedding_queue.set_importance(conn, key, importance(novelty(None), draft.salience))
        archived_row = archive_rows.rows_of(conn, [key]).get(key)
        # A nap restores superseded memories by itself, in a way that can be undone.
        reasons = _RESTORED_BY_NAPS if self.arrival.distilled else _RESTORED
        if archived_row is None or archived_row.reason not in reasons:
            return known
        self.changes.restored_keys.append(key)
        return known._replace(state=MemoryState.ACTIVE)

    def _refresh(self, draft: Draft, known: StoredMemory, row: MemoryRow) -> None:
        memories.bump(self.conn, known.memory_key, self.filing.now_us, row.expires_at_us)
        if known.state in VISIBLE:
            level, importance = MemoryLevel(known.level), known.importance
            known_row = row._replace(level=level, importance=importance)
            if draft.preference is not None and draft.withdraws:  # it ends the opposite anew
                self._preference_rows.take_back(draft, known_row)
            self._set_preference(draft, known_row, known.memory_key)

    def _with_importance(
        self, row: MemoryRow, draft: Draft, vector: bytes | None, *, is_gated: bool
    ) -> MemoryRow:
        """Return *row* with its importance (SPEC 1.6) if it has a *vector*, else pending."""
        filing = self.filing
        if vector is None or filing.model_key is None:
            if is_gated:
                return row
            # Without a gate, the chunk counts as new, and its importance needs no vector.
            return row._replace(importance=importance(novelty(None), draft.salience))
        known_sum = centroids.total(self.conn, filing.agent_key, filing.model_key)
        similarity = centroids.similarity(self.conn, known_sum, vector, self.arrival.speaker_vector)
        score = importance(novelty(similarity), draft.salience)
        return row._replace(importance=score, state=MemoryState.ACTIVE)

    def _add_outcome(self, row: MemoryRow, draft: Draft, *, stays: bool) -> None:
        kind = row.passing
        reason = PASSING_REASONS[kind] if kind is not None else None if stays else BELOW_REASON
        item = _item(row, reason, draft.flags, kind)
        if not stays:
            self.outcomes.turned_away.append(item)
        elif row.state is MemoryState.PENDING:
            self.outcomes.pending.append(item)
        else:
            self.outcomes.stored.append(item)


def _put_source(conn: Writing, source_text: Screened, filing: Filing) -> int:
    raw = source_text.encode()
    return sources.put(
        conn,
        filing.agent_key,
        filing.session_key,
        hashlib.sha256(raw).digest(),
        zlib.compress(raw),
        filing.now_us,
    )


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


def _item_of_memory(
    known: StoredMemory,
    reason: str = "the same text is there already",
    flags: Sequence[Flag] = (),
) -> ReceiptItem:
    return ReceiptItem(
        id=known.memory_id,
        category=MemoryCategory(known.category),
        importance=known.importance,
        token_count=max(1, known.token_count),
        reason=reason,
        flags=tuple(flags),
        passing=None if known.passing is None else Passing(known.passing),
    )
