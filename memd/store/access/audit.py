"""The room of the audit: what was done and refused, and whether anybody changed the record.

The head is noted outside the file at a rhythm and at each stop: as a line of the
log, which a journal keeps, and in a file beside the data. What a check cannot
know from that it says.
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
from memd.store.check.anchors import Noted
from memd.store.file import backup
from memd.store.file.connect import Reading, Writing
from memd.store.file.database import Database

GIVEN = "given"
_CALLER = Caller(client="memd", method="audit")


@dataclass
class Audit:
    """The room's needs, handed in by the daemon. *notes* is the file of noted heads."""

    db: Database
    clock: Clock
    notes: Path | None = None
    _noted: int | None = None

    async def refused(self, attempts: Sequence[RefusedAttempt]) -> None:
        """Write down what was refused, a row for each kind; it is kept once this returns."""
        now_us = self.clock.now_us()

        def work(conn: Writing) -> None:
            changes.refused(conn, attempts, now_us)

        await self.db.write(_CALLER, work)

    async def show(
        self, filters: AuditFilter, after: int | None, limit: int
    ) -> tuple[tuple[AuditRow, ...], int | None]:
        """Return rows, newest first, and what to ask the following ones after."""
        rows = await self.db.read(changes.page, filters, after, limit)
        return tuple(map(_row, rows)), rows[-1].seq if len(rows) == limit else None

    async def verify(self, given: Sequence[tuple[int, bytes]] = ()) -> AuditReport:
        """Check the chain against itself and against every head that was noted.

        *given* are heads that the caller knows, from a journal or a copy elsewhere.
        """
        noted = [Noted(seq, head, GIVEN) for seq, head in given]
        problems: list[str] = []
        if self.notes is not None:
            links, problems = anchors.read(self.notes)
            noted += links

        def work(conn: Reading) -> AuditReport:
            return report(conn, [*noted, *_of_backups(conn, self.db.path)], problems)

        return await self.db.read_dedicated(work)

    async def anchor(self) -> None:
        """Note the head outside the file, unless it is the one that was noted last."""
        head = await self.db.read(changes.last)
        if head.seq in {0, self._noted}:
            return
        log.info("audit head", seq=head.seq, head=head.hash.hex())
        if self.notes is not None:
            anchors.append(self.notes, head, self.clock.now_us())
        self._noted = head.seq

    async def try_to_anchor(self) -> None:
        """Note the head if it can be done; a full disk must not keep memd from stopping."""
        try:
            await self.anchor()
        except (MemdError, OSError) as error:
            log.warning("the audit's head was not noted", why=type(error).__name__)

    async def run(self) -> None:
        """Note the head once in a while. Never ends."""
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


def _of_backups(conn: Reading, database: Path) -> list[Noted]:
    known = backup.find_copies(database, backup.recorded_copies(conn))
    return list(anchors.of_backups(map(Path, known)))


def report(conn: Reading, noted: Sequence[Noted], problems: Sequence[str]) -> AuditReport:
    """Judge the chain by itself and by what was *noted*; *problems* were found before."""
    head, mismatches = changes.last(conn), list(problems)
    broken = changes.verify(conn)
    if broken is not None:
        mismatches.append(
            f"link {broken} does not follow from the one before: something there was"
            " changed, removed or moved"
        )
    if changes.ever(conn) > head.seq:
        mismatches.append(
            f"the end is missing: the file has numbered {changes.ever(conn)} links"
            f" and the last one is {head.seq}"
        )
    judged = [_judged(conn, one) for one in noted]
    mismatches += [_against(one, head) for one in judged if not one.agrees]
    return AuditReport(
        ok=not mismatches,
        links=head.seq,
        head=head.hash.hex(),
        problems=tuple(dict.fromkeys(mismatches)),
        anchors=tuple(judged),
        unproven=_unproven(judged, head),
    )


def _judged(conn: Reading, noted: Noted) -> Anchor:
    agrees = changes.hash_at(conn, noted.seq) == noted.hash
    return Anchor(seq=noted.seq, hash=noted.hash.hex(), source=noted.source, agrees=agrees)


def _against(anchor: Anchor, head: Head) -> str:
    if anchor.seq > head.seq:
        return (
            f"the end is missing: link {anchor.seq} was noted in {anchor.source} and the last"
            f" one is {head.seq} (or the file was restored from an older backup)"
        )
    return f"link {anchor.seq} is not the one that was noted in {anchor.source}"


def _unproven(judged: Sequence[Anchor], head: Head) -> tuple[str, ...]:
    """Say what the chain and the notes cannot show."""
    proven = max((one.seq for one in judged if one.agrees), default=0)
    reasons: list[str] = []
    if proven < head.seq:
        reasons.append(
            f"links {proven + 1} to {head.seq} follow one another, but no note outside the file"
            " names them: that they were written anew, or some after them cut off, cannot be seen"
        )
    if not any(one.source == GIVEN for one in judged):
        reasons.append(
            "the notes lie beside the file: who could change both could forge both; compare with"
            ' "audit head" in the journal or with a copy kept elsewhere'
        )
    return tuple(reasons)
