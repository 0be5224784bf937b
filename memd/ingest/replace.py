"""Replace what was imported from a source, for example when an edited file is imported again.

Chunks that the source still has, with the same tags and date, keep their ids, and an edited text:
the source has not changed there since. Chunks that it no longer has are superseded (SPEC D21), that
is archived, and can be restored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from dataclasses import replace as replace_fields

from memd.archive.authorship import check_may_change
from memd.base.clock import to_us
from memd.base.ids import Ids
from memd.domain.caller import Caller
from memd.domain.enums import ArchiveReason, MemoryState
from memd.domain.ingest import Receipt, ReplaceResult, ReplaceSourceRequest
from memd.guard.secrets import screen_name
from memd.ingest.arrivals import store_arrivals
from memd.ingest.draft import Draft
from memd.ingest.filing import Arrival
from memd.store.access import names
from memd.store.file.connect import Reading, Writing
from memd.store.memory import removal, sources
from memd.store.memory.sources import SourceRow, SourceText
from memd.store.session import projects

RESTORABLE = frozenset({ArchiveReason.SUPERSEDED, ArchiveReason.LOW_IMPORTANCE})
"""Reasons of archived memories that are restored when their source has them again."""


@dataclass(slots=True)
class _SourceDiff:
    """The contents of a source compared with what was imported from it before."""

    new: list[Arrival] = field(default_factory=list)
    """The arrivals with only their new drafts, each once."""
    unchanged: list[SourceRow] = field(default_factory=list)
    restored: list[SourceRow] = field(default_factory=list)
    superseded: list[SourceRow] = field(default_factory=list)
    projects: dict[int, str] = field(default_factory=dict)
    """The new projects of restored and unchanged memories, by their keys."""
    former: str | None = None
    """The source on another computer, of which the memories are."""

    def add_known(self, row: SourceRow, project_id: str | None) -> None:
        """Add the memory of a chunk of *project_id*; None leaves it in its project."""
        (self.restored if row.reason in RESTORABLE else self.unchanged).append(row)
        project = None if project_id is None else screen_name(project_id)
        if project not in {None, row.project_id}:
            self.projects[row.memory_key] = project

    def is_moved(self, row: SourceRow) -> bool:
        """Return whether a known memory gets another project or source."""
        return self.former is not None or row.memory_key in self.projects

    @property
    def new_count(self) -> int:
        return len(self.restored) + sum(len(arrival.drafts.items) for arrival in self.new)


def preview(
    conn: Reading,
    caller: Caller,
    request: ReplaceSourceRequest,
    arrivals: Sequence[Arrival],
    now_us: int,
) -> ReplaceResult:
    """Return what :func:`replace` would do; writes nothing."""
    return _result(_compare(conn, caller, request, arrivals, now_us), [], arrivals)


def replace(
    conn: Writing,
    caller: Caller,
    request: ReplaceSourceRequest,
    arrivals: Sequence[Arrival],
    ids: Ids,
    now_us: int,
) -> tuple[ReplaceResult, list[Receipt]]:
    """Store the new chunks of a source and supersede those it no longer has, in one transaction.

    Known ones are moved to the project of their chunks, and to the path that their source has now.
    If the request says that ``more`` follows, nothing is superseded yet. Raises DeniedError as
    ``check_may_change`` does.
    """
    diff = _compare(conn, caller, request, arrivals, now_us)
    superseded = [row.memory_key for row in diff.superseded]
    check_may_change(conn, caller, [*superseded, *diff.projects])
    removal.supersede(conn, superseded, now_us, new_id=ids.new)
    if diff.former is not None:
        agent_key = names.agent_key(conn, caller.agent_id)
        sources.rename(conn, agent_key, diff.former, screen_name(request.source))
    for project_id in set(diff.projects.values()):
        keys = [key for key, project in diff.projects.items() if project == project_id]
        projects.move_memories(conn, keys, names.ensure_project(conn, project_id, now_us))
    for row in diff.restored:
        removal.restore(conn, row.memory_key, now_us)
    receipts = store_arrivals(conn, caller, diff.new, ids, now_us)
    return _result(diff, receipts, arrivals), receipts


def _compare(
    conn: Reading,
    caller: Caller,
    request: ReplaceSourceRequest,
    arrivals: Sequence[Arrival],
    now_us: int,
) -> _SourceDiff:
    agent_key = names.find_agent(conn, caller.agent_id)
    source = screen_name(request.source)
    rows = sources.list_imported(conn, agent_key, source, now_us)
    diff = _SourceDiff()
    if not rows:
        hashes = (text.content_hash for each in arrivals for _, text in _chunks(each))
        diff.former = sources.find_moved(conn, agent_key, source, hashes)
        if diff.former is not None:
            rows = sources.list_imported(conn, agent_key, diff.former, now_us)
    _match(diff, rows, arrivals, caller.project_id)
    if not request.more:
        kept_ids = {row.memory_id for row in (*diff.restored, *diff.unchanged)} | {*request.kept}
        diff.superseded = [
            row for row in rows if row.memory_id not in kept_ids and _is_visible(row)
        ]
    return diff


def _match(
    diff: _SourceDiff,
    rows: Sequence[SourceRow],
    arrivals: Sequence[Arrival],
    project_id: str | None,
) -> None:
    """Sort the chunks of *arrivals* into new, restored and unchanged ones of *diff*.

    Their project is *project_id*, unless they name one. Without either, memories stay in theirs.
    """
    chunks = [(arrival, list(_chunks(arrival))) for arrival in arrivals]
    rows_by_text = _by_text(rows, {text for _, drafts in chunks for _, text in drafts})
    seen: set[SourceText] = set()
    for arrival, drafts in chunks:
        new: list[Draft] = []
        for draft, text in drafts:
            if text in seen:
                continue
            seen.add(text)
            if text in rows_by_text:
                diff.add_known(rows_by_text[text], arrival.request.project_id or project_id)
            else:
                new.append(draft)
        if new:
            new_drafts = replace_fields(arrival.drafts, items=tuple(new))
            diff.new.append(replace_fields(arrival, drafts=new_drafts))


def _by_text(
    rows: Sequence[SourceRow], texts: AbstractSet[SourceText]
) -> dict[SourceText, SourceRow]:
    """Return the memory of each text; *texts* are those that the source has now.

    A memory that was edited is of its imported text, too, unless the source has the new one.
    """
    rows_by_text: dict[SourceText, SourceRow] = {}
    for row in rows:
        rows_by_text.setdefault(row.text, row)
    for row in rows:
        if row.text not in texts and row.reason != ArchiveReason.SUPERSEDED:
            rows_by_text.setdefault(row.imported, row)
    return rows_by_text


def _chunks(arrival: Arrival) -> Iterator[tuple[Draft, SourceText]]:
    occurred_at_us = to_us(arrival.request.occurred_at)
    for draft in arrival.drafts.items:
        content_hash = hashlib.sha256(draft.content.encode()).digest()
        drafts = arrival.drafts
        yield draft, SourceText(content_hash, drafts.namespace, occurred_at_us, drafts.tags)


def _is_visible(row: SourceRow) -> bool:
    """Return whether recall can return the memory or a summary of it."""
    if row.state == MemoryState.QUARANTINED:
        return False
    return row.reason in {None, ArchiveReason.CONSOLIDATED, ArchiveReason.COMPRESSED}


def _result(
    diff: _SourceDiff, receipts: Sequence[Receipt], arrivals: Sequence[Arrival]
) -> ReplaceResult:
    kept_ids = [row.memory_id for row in (*diff.unchanged, *diff.restored)]
    stored_ids = [
        item.id
        for receipt in receipts
        for item in (*receipt.stored, *receipt.pending, *receipt.merged, *receipt.quarantined)
    ]
    moved = sum(diff.is_moved(row) for row in diff.unchanged)
    kinds = [kind for arrival in arrivals for kind in arrival.drafts.redacted]
    return ReplaceResult(
        ids=(*kept_ids, *stored_ids),
        new=diff.new_count,
        unchanged=len(diff.unchanged) - moved,
        moved=moved,
        superseded=len(diff.superseded),
        quarantined=sum(
            draft.quarantined for arrival in diff.new for draft in arrival.drafts.items
        ),
        redacted=tuple(dict.fromkeys(kinds)),
    )
