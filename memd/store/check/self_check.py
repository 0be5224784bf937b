"""The file checked by itself, in small portions, while memd runs.

Once a minute a portion of pages is compared with their checksums, so that each is looked
at within a day or so and nobody waits for it; then the rows that hold texts. What it finds
is in ``system.status`` at once. It changes nothing: ``memd check`` looks at everything in
one go, ``memd repair`` mends.
"""

from __future__ import annotations

from itertools import islice
from typing import cast

from memd.base.clock import Clock, from_us
from memd.domain.upkeep import SelfCheck
from memd.store.check import check, intact
from memd.store.file import page_sums
from memd.store.file.connect import Reading
from memd.store.file.database import Database

PORTION_PAGES = 1_024  # 16 MB: some 50 ms of a thread of its own
PORTION_ROWS = 500
PASS_US = 86_400_000_000  # between the beginnings of two passes


class Checking:
    """One pass after the other; ``portion`` does the next piece."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._page = 1
        self._row = 0
        self._began_us: int | None = None
        self._finished_us: int | None = None
        self._pages = 0

    def progress(self) -> SelfCheck:
        """Return how far it is."""
        return SelfCheck(
            pages=self._pages,
            pages_checked=min(self._page - 1, self._pages),
            finished_at=None if self._finished_us is None else from_us(self._finished_us),
            found=len(self._db.damage.problems()),
        )

    async def portion(self) -> None:
        """Look at the next piece of the file; nothing while a pass is over and the next not due."""
        now_us = self._clock.monotonic_us()
        if self._began_us is None:
            self._began_us, self._page, self._row = now_us, 1, 0
        elif self._row < 0:
            if now_us - self._began_us >= PASS_US:
                self._began_us = None
            return
        if not await self._db.aside(self._pages_portion):
            await self._db.aside(self._rows_portion)

    def _pages_portion(self, conn: Reading) -> bool:
        """Compare some pages with their checksums; False when there are no more."""
        cut = page_sums.layout(self._db.path)
        self._pages = cut.pages if cut.has_sums else 0
        if self._page > self._pages:
            return False
        for page in page_sums.damaged(conn, self._db.path, self._page, PORTION_PAGES):
            self._db.damage.note(check.page_finding(conn, page))
        self._page += PORTION_PAGES
        return True

    def _rows_portion(self, conn: Reading) -> None:
        """Compare some memories with their hashes, then, at the end of a pass, what has a seal."""
        rows = conn.execute(
            "SELECT memory_key FROM memory WHERE memory_key > :after ORDER BY 1 LIMIT :limit",
            {"after": self._row, "limit": PORTION_ROWS},
        )
        keys = [cast("int", key) for (key,) in rows]
        if keys:
            intact.memories(conn, keys)
            self._row = keys[-1]
            return
        for finding in islice(check.sealed_rows(conn), check.PROBLEMS_MAX):
            self._db.damage.note(finding)
        self._row = -1
        self._finished_us = self._clock.now_us()
