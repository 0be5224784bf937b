"""The room of the audit: read it, verify it, and record its head outside the file.

The head is recorded periodically and at each stop: as a line of the log, which a journal keeps, and
in a file in the data folder. A verification also reports what these heads cannot prove.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from memd.base import log
from memd.base.clock import Clock, from_us
from memd.base.errors import MemdError
from memd.base.limits import ANCHOR_S
from memd.domain.caller import Caller
from memd.domain.enums import Outcome
from memd.domain.org.access import Anchor, AuditReport, AuditRow
from memd.store.access import changes
from memd.store.access.changes import AuditFilter, AuditLink, Head, RefusedAttempt
from memd.store.check import anchors
from memd.store.check.anchors import RecordedHead
from memd.store.file import backup
from memd.store.file.connect import Reading
from memd.store.file.database import Database

GIVEN = "given"
"""The source of heads that a caller of :meth:`Audit.verify` passes."""
_CALLER = Caller(client="memd", method="audit")


@dataclass
class Audit:
    """Reads, verifies and anchors the audit. *anchor_file* is the file of recorded heads."""

    db: Database
    clock: Clock
    anchor_file: Path | None = None
    _anchored_seq: int | None = None

    async def record_refused(self, attempts: Sequence[RefusedAttempt]) -> None:
        """Record refused attempts, a row for each kind; durable once this returns."""
        now_us = self.clock.now_us()
        await self.db.write(_CALLER, lambda conn: changes.record_refused(conn, attempts, now_us))

    async def show(
        self, filters: AuditFilter, after: int | None, limit: int
    ) -> tuple[tuple[AuditRow, ...], int | None]:
        """Return up to *limit* rows, newest first, and *after* of the next page, None for none."""
        rows = await self.db.read(changes.list_page, filters, after, limit)
        return tuple(map(_row, rows)), rows[-1].seq if len(rows) == limit else None

    async def verify(self, given: Sequence[tuple[int, bytes]] = ()) -> AuditReport:
        """Verify the chain by itself and against every recorded head.

        *given* are heads that the caller knows, from a journal or a copy elsewhere.
        """
        recorded = [RecordedHead(seq, head, GIVEN) for seq, head in given]
        problems: list[str] = []
        if self.anchor_file is not None:
            from_file, problems = anchors.read(self.anchor_file)
            recorded += from_file

        def work(conn: Reading) -> AuditReport:
            paths = backup.find_copies(self.db.path, backup.list_recorded(conn))
            backup_heads = anchors.read_manifests(map(Path, paths))
            return report(conn, [*recorded, *backup_heads], problems)

        return await self.db.read_dedicated(work)

    async def anchor(self) -> None:
        """Record the head outside the file, unless it was the last one recorded."""
        head = await self.db.read(changes.last_link)
        if head.seq in {0, self._anchored_seq}:
            return
        log.info("audit head", seq=head.seq, head=head.hash.hex())
        if self.anchor_file is not None:
            anchors.append(self.anchor_file, head, self.clock.now_us())
        self._anchored_seq = head.seq

    async def try_to_anchor(self) -> None:
        """Record the head if possible; a full disk must not keep memd from stopping."""
        try:
            await self.anchor()
        except (MemdError, OSError) as error:
            log.warning("the audit's head was not noted", why=type(error).__name__)

    async def run(self) -> None:
        """Record the head periodically. Never ends."""
        while True:
            await asyncio.sleep(ANCHOR_S)
            await self.try_to_anchor()


def _row(link: AuditLink) -> AuditRow:
    return AuditRow(
        seq=link.seq,
        at=from_us(link.at_us),
        client=link.client,
        method=link.method,
        outcome=Outcome(link.outcome),
        attempts=link.attempts,
        rows=link.rows,
        batch=link.batch,
    )


def report(conn: Reading, recorded: Sequence[RecordedHead], problems: Sequence[str]) -> AuditReport:
    """Verify the chain by itself and against the *recorded* heads; *problems* are reported, too."""
    head, mismatches = changes.last_link(conn), list(problems)
    broken = changes.verify(conn)
    if broken is not None:
        mismatches.append(
            f"link {broken} does not follow from the one before: something there was"
            " changed, removed or moved"
        )
    if changes.count_ever(conn) > head.seq:
        mismatches.append(
            f"the end is missing: the file has numbered {changes.count_ever(conn)} links"
            f" and the last one is {head.seq}"
        )
    checked_anchors = [_compare(conn, anchor) for anchor in recorded]
    mismatches += [_mismatch(anchor, head) for anchor in checked_anchors if not anchor.agrees]
    return AuditReport(
        ok=not mismatches,
        links=head.seq,
        head=head.hash.hex(),
        problems=tuple(dict.fromkeys(mismatches)),
        anchors=tuple(checked_anchors),
        unproven=_unproven(checked_anchors, head),
    )


def _compare(conn: Reading, recorded: RecordedHead) -> Anchor:
    agrees = changes.hash_at(conn, recorded.seq) == recorded.hash
    return Anchor(seq=recorded.seq, hash=recorded.hash.hex(), source=recorded.source, agrees=agrees)


def _mismatch(anchor: Anchor, head: Head) -> str:
    if anchor.seq > head.seq:
        return (
            f"the end is missing: link {anchor.seq} was noted in {anchor.source} and the last"
            f" one is {head.seq} (or the file was restored from an older backup)"
        )
    return f"link {anchor.seq} is not the one that was noted in {anchor.source}"


def _unproven(checked_anchors: Sequence[Anchor], head: Head) -> tuple[str, ...]:
    """Return what the chain and the recorded heads cannot prove."""
    proven = max((anchor.seq for anchor in checked_anchors if anchor.agrees), default=0)
    reasons: list[str] = []
    if proven < head.seq:
        reasons.append(
            f"entries {proven + 1} to {head.seq} are chained, but not recorded outside the file:"
            " if they were rewritten, or later ones were cut off, it cannot be detected"
        )
    if not any(anchor.source == GIVEN for anchor in checked_anchors):
        reasons.append(
            "the recorded heads are stored beside the file, and whoever can change one can change"
            ' both; compare with "audit head" in the journal, or with a copy that is kept elsewhere'
        )
    return tuple(reasons)
