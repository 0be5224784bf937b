"""A source says something else than before: an edited file is imported again.

What it still says stays, under its ids; what it no longer says is superseded (SPEC D21):
in the archive, from where it can be brought back. The source is the truth about what was
brought from it, its tags and its date included.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as changed
from typing import NamedTuple

from memd.base.clock import to_us
from memd.base.ids import Ids
from memd.domain.caller import Caller
from memd.domain.enums import VISIBLE, ArchiveReason, MemoryState
from memd.domain.ingest import Receipt, Replaced, ReplaceSourceRequest
from memd.guard.secrets import screen_name
from memd.ingest.draft import Draft
from memd.ingest.filing import Arrival
from memd.ingest.keep import keep
from memd.ingest.update import refuse_others
from memd.store.access import names
from memd.store.file.connect import Reading, Writing
from memd.store.memory import memories, removal, sources
from memd.store.memory.sources import SourceRow

BROUGHT_BACK = frozenset({ArchiveReason.SUPERSEDED, ArchiveReason.LOW_IMPORTANCE})
"""Why a memory lay in the archive that comes back when its source says it (again)."""


class _Same(NamedTuple):
    """What makes two chunks of a source the same."""

    content_hash: bytes
    namespace: str
    occurred_at_us: int | None
    tags: tuple[str, ...]


@dataclass(slots=True)
class _Compared:
    """What a source says, beside what was brought from it before."""

    new: list[Arrival] = field(default_factory=list)
    """The arrivals with those of their drafts that are not there, each text once."""
    unchanged: list[SourceRow] = field(default_factory=list)
    back: list[SourceRow] = field(default_factory=list)
    superseded: list[SourceRow] = field(default_factory=list)

    @property
    def count_new(self) -> int:
        return len(self.back) + sum(len(arrival.drafts.items) for arrival in self.new)


def foresee(
    conn: Reading,
    caller: Caller,
    request: ReplaceSourceRequest,
    arrivals: Sequence[Arrival],
    now_us: int,
) -> Replaced:
    """Return what :func:`replace` would do; nothing is written."""
    return _answer(_compared(conn, caller, request, arrivals, now_us), [], arrivals)


def replace(
    conn: Writing,
    caller: Caller,
    request: ReplaceSourceRequest,
    arrivals: Sequence[Arrival],
    ids: Ids,
    now_us: int,
) -> tuple[Replaced, list[Receipt]]:
    """Store what is new of a source and supersede what it no longer says, in one transaction.

    With ``more`` to come nothing is superseded yet. Raises DeniedError where what would be
    is what a person said, and somebody else asks.
    """
    compared = _compared(conn, caller, request, arrivals, now_us)
    gone = memories.by_keys(conn, [row.memory_key for row in compared.superseded])
    for old in gone.values():
        refuse_others(conn, caller, old, None)
    supersede(conn, [row.memory_key for row in compared.superseded], ids, now_us)
    for row in compared.back:
        removal.restore(conn, row.memory_key, now_us)
    receipts = keep(conn, caller, compared.new, ids, now_us)
    return _answer(compared, receipts, arrivals), receipts


def _compared(
    conn: Reading,
    caller: Caller,
    request: ReplaceSourceRequest,
    arrivals: Sequence[Arrival],
    now_us: int,
) -> _Compared:
    agent_key = names.find_agent(conn, caller.agent_id)
    source = screen_name(request.source)
    rows = [] if agent_key is None else sources.list_imported(conn, agent_key, source, now_us)
    compared = _Compared()
    _sort(compared, rows, arrivals)
    if not request.more:
        stay = {row.memory_id for row in (*compared.back, *compared.unchanged)} | {*request.kept}
        compared.superseded = [row for row in rows if row.memory_id not in stay and _shows(row)]
    return compared


def _sort(compared: _Compared, rows: Sequence[SourceRow], arrivals: Sequence[Arrival]) -> None:
    there: dict[_Same, SourceRow] = {}
    for row in rows:
        there.setdefault(_same_row(row), row)
    met: set[_Same] = set()
    for arrival in arrivals:
        new: list[Draft] = []
        for draft, same in _chunks(arrival):
            if same in met:
                continue
            met.add(same)
            if same not in there:
                new.append(draft)
            elif there[same].reason in BROUGHT_BACK:
                compared.back.append(there[same])
            else:
                compared.unchanged.append(there[same])
        if new:
            drafts = changed(arrival.drafts, items=tuple(new))
            compared.new.append(changed(arrival, drafts=drafts))


def _chunks(arrival: Arrival) -> Iterator[tuple[Draft, _Same]]:
    at = arrival.request.occurred_at
    for draft in arrival.drafts.items:
        yield (
            draft,
            _Same(
                hashlib.sha256(draft.content.encode()).digest(),
                arrival.drafts.namespace,
                None if at is None else to_us(at),
                arrival.drafts.tags,
            ),
        )


def _same_row(row: SourceRow) -> _Same:
    return _Same(row.content_hash, row.namespace, row.occurred_at_us, row.tags)


def _shows(row: SourceRow) -> bool:
    """Return whether a search can show the memory, or a summary that stands for it."""
    if row.state == MemoryState.QUARANTINED:
        return False  # out of sight already, and the archive is not
    return row.reason not in {*BROUGHT_BACK, ArchiveReason.CAP}


def supersede(conn: Writing, keys: Sequence[int], ids: Ids, now_us: int) -> None:
    """Put memories into the archive, and what a nap made of them; summaries that hold them go.

    What else such a summary was made from comes back, so nothing is lost with it.
    """
    if not keys:
        return
    made = removal.restore_sources(conn, keys, now_us)
    rows = memories.by_keys(conn, made)
    napped = [key for key, row in rows.items() if not row.is_summary]
    removal.erase(conn, [key for key in made if key not in napped], now_us)
    stale = [key for key in napped if rows[key].state in VISIBLE]
    removal.archive(conn, [*keys, *stale], ArchiveReason.SUPERSEDED, now_us, new_id=ids.new)


def _answer(
    compared: _Compared, receipts: Sequence[Receipt], arrivals: Sequence[Arrival]
) -> Replaced:
    there = [row.memory_id for row in (*compared.unchanged, *compared.back)]
    made = [
        item.id
        for receipt in receipts
        for item in (*receipt.stored, *receipt.pending, *receipt.merged, *receipt.quarantined)
    ]
    kinds = [kind for arrival in arrivals for kind in arrival.drafts.redacted]
    return Replaced(
        ids=(*there, *made),
        new=compared.count_new,
        unchanged=len(compared.unchanged),
        superseded=len(compared.superseded),
        quarantined=sum(
            draft.set_aside for arrival in compared.new for draft in arrival.drafts.items
        ),
        redacted=tuple(dict.fromkeys(kinds)),
    )
