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
from memd.store.memory import archive_rows, flagged, memories, preferences, removal, sources
from memd.store.memory.preferences import NewPreference
from memd.store.memory.rows import MemoryRow, StoredMemory
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
    receipts = [_Keeping(conn, each, filings.of(each), new).receipt() for each in arrivals]
    for agent_key, model_key, vector in new.known:
        centroids.add(conn, agent_key, model_key, vector)
    for key in new.back:
        removal.restore(conn, key, now_us)
    memories.index_new(conn, new.keys)
    passing.promote(conn, new.meant)
    removal.archive(conn, new.turned, ArchiveReason.LOW_IMPORTANCE, now_us, new_id=ids.new)
    return receipts


@dataclass(slots=True)
class _Keeping:
    """One arrival, on its way to its rows and its receipt; what is *new* joins that of others."""

    conn: Writing
    arrival: Arrival
    filing: Filing
    new: _New
    fate: _Sorted = field(default_factory=_Sorted)

    def receipt(self) -> Receipt:
        """Store what arrived, chunk by chunk, and return what became of it."""
        for draft in self._drafts():
            if draft.set_aside:
                self._set_aside(draft)
            else:
                self._keep(draft)
        return Receipt(
            stored=tuple(self.fate.stored),
            pending=tuple(self.fate.pending),
            merged=tuple(self.fate.merged),
            turned_away=tuple(self.fate.turned_away),
            quarantined=tuple(self.fate.quarantined),
            preferences=tuple(self.fate.preferences),
            redacted=self.arrival.drafts.redacted,
        )

    def _drafts(self) -> Sequence[Draft]:
        """Return the drafts, marked when the arrival is one of too many at once.

        What a program brings in bulk, or takes from a conversation, comes at once for a reason.
        """
        drafts, filing = self.arrival.drafts, self.filing
        if drafts.origin not in BURSTING or self.arrival.batch is not None:
            return drafts.items
        since_us = filing.now_us - BURST_MS * 1_000
        lately = flagged.count_recent_external(
            self.conn, filing.agent_key, filing.client_key, since_us
        )
        if lately < BURST_ITEMS_MAX:
            return drafts.items
        return [replace(each, flags=(*each.flags, Flag.BURST)) for each in drafts.items]

    def _keep(self, draft: Draft) -> None:
        arrival, filing = self.arrival, self.filing
        row = _row(arrival, draft, filing, filing.ids)
        there = self._known(row)
        if there is not None:
            there = self._met_again(draft, there)
            self.fate.merged.append(_item_of(there))
            if not arrival.distilled:
                self._tell_again(draft, there, row)
            return
        vector = self._vector(draft)
        row = self._scored(row, draft)
        kept = row.importance is None or not arrival.judges(draft) or is_kept(row.importance)
        key = self._insert(row, draft)
        if vector is not None and filing.model_key is not None:
            vectors.store(self.conn, filing.model_key, [(key, vector)])
            if kept and not arrival.passing(draft):
                self.new.known.append((filing.agent_key, filing.model_key, vector))
        if not kept:
            self.new.turned.append(key)
        self._prefer(draft, row.importance, key)
        self._sort(row, draft, kept=kept)

    def _vector(self, draft: Draft) -> bytes | None:
        return None if self.arrival.vectors is None else self.arrival.vectors[draft.part]

    def _set_aside(self, draft: Draft) -> None:
        """Store a chunk out of sight: without a vector, and trusted by nobody."""
        filing = self.filing
        row = _row(self.arrival, draft, filing, filing.ids)._replace(
            state=MemoryState.QUARANTINED, trust=Trust.UNTRUSTED
        )
        there = flagged.find_duplicate(self.conn, row)
        if there is not None:
            memories.bump(self.conn, there.memory_key, filing.now_us, row.expires_at_us)
            self.fate.merged.append(_item_of(there))
            return
        self._insert(row, draft)
        self.fate.quarantined.append(_item(row, SET_ASIDE, draft.flags))

    def _insert(self, row: MemoryRow, draft: Draft) -> int:
        """Insert one row with its source and what it looks like; return its key.

        The source is made with the first row: a text merged whole leaves none.
        """
        filing = self.filing
        if filing.source_key is None:
            filing.source_key = _source(self.conn, self.arrival, filing)
        row = row._replace(source_key=filing.source_key)
        (key,) = memories.insert_bare(self.conn, [row], filing.now_us)
        self.new.keys.append(key)
        if (kind := self.arrival.passing(draft)) is not None:
            passing.mark(self.conn, key, kind)
        if draft.flags:
            before = MemoryState.PENDING if draft.set_aside else None
            flagged.flag(self.conn, key, draft.flags, before, filing.now_us)
        return key

    def _known(self, row: MemoryRow) -> StoredMemory | None:
        if self.arrival.distilled:
            return memories.find_in_session(self.conn, row)
        if not self.arrival.gated:
            return None
        return memories.find_duplicate(self.conn, row, self.filing.now_us)

    def _met_again(self, draft: Draft, there: StoredMemory) -> StoredMemory:
        """Return *there*, visible and to stay so when it is told on purpose now.

        What was turned away comes back, as does what went for the cap; what is still to be
        judged is judged no more.
        """
        conn, key = self.conn, there.memory_key
        if there.passing is not None and self.arrival.passing(draft) is None:
            self.new.meant.append(key)
            there = there._replace(passing=None)
        if self.arrival.judged:
            return there
        if there.importance is None:
            pending.set_importance(conn, key, importance(novelty(None), draft.salience))
        away = archive_rows.rows_of(conn, [key]).get(key)
        if away is None or away.reason not in {ArchiveReason.LOW_IMPORTANCE, ArchiveReason.CAP}:
            return there
        self.new.back.append(key)
        return there._replace(state=MemoryState.ACTIVE)

    def _tell_again(self, draft: Draft, there: StoredMemory, row: MemoryRow) -> None:
        memories.bump(self.conn, there.memory_key, self.filing.now_us, row.expires_at_us)
        if there.state in VISIBLE:
            self._prefer(draft, there.importance, there.memory_key)

    def _scored(self, row: MemoryRow, draft: Draft) -> MemoryRow:
        """Return *row* with its importance when its vector is here (SPEC 1.6), else pending."""
        vector, filing = self._vector(draft), self.filing
        if vector is None or filing.model_key is None:
            if self.arrival.judges(draft):
                return row
            # What is never judged needs no vector for its importance: it counts as new.
            return row._replace(importance=importance(novelty(None), draft.salience))
        known = centroids.total(self.conn, filing.agent_key, filing.model_key)
        near = centroids.similarity(self.conn, known, vector, self.arrival.voice)
        score = importance(novelty(near), draft.salience)
        return row._replace(importance=score, state=MemoryState.ACTIVE)

    def _prefer(self, draft: Draft, importance: float | None, key: int) -> None:
        """Set the preference that the chunk states, if any; told again, its row is updated.

        The owner's stays where a program without a key says something else: that is a memory
        then.
        """
        if draft.preference is None:
            return
        filing = self.filing
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
        if preferences.put(self.conn, filing.agent_key, new, filing.now_us):
            self.fate.preferences.append(draft.preference)

    def _sort(self, row: MemoryRow, draft: Draft, *, kept: bool) -> None:
        kind = self.arrival.passing(draft)
        reason = APART[kind] if kind is not None else None if kept else BELOW
        item = _item(row, reason, draft.flags, kind)
        if not kept:
            self.fate.turned_away.append(item)
        elif row.state is MemoryState.PENDING:
            self.fate.pending.append(item)
        else:
            self.fate.stored.append(item)


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


def _item_of(there: StoredMemory) -> ReceiptItem:
    return ReceiptItem(
        id=there.memory_id,
        category=MemoryCategory(there.category),
        importance=there.importance,
        token_count=max(1, there.token_count),
        reason="the same text is there already",
        passing=None if there.passing is None else Passing(there.passing),
    )
