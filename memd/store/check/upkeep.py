"""The room for maintenance of the file: check, rebuild, backup, figures.

While memd runs, the file is checked in the background: once a minute a portion of its pages is
compared with their checksums, and after all pages the rows that contain texts. A pass takes about a
day and delays nobody. Findings are in ``system.status`` at once. The background check changes
nothing: ``memd check`` checks everything at once, ``memd repair`` repairs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any

from memd.base.clock import Clock, from_us, to_us
from memd.base.errors import DamagedError, InvalidError, MemdError
from memd.domain.caller import Caller
from memd.domain.memory import MemoryEntry
from memd.domain.sleep.upkeep import CheckReport, GrowthHistory, SelfCheck
from memd.store.access import replies
from memd.store.check import check, integrity, renewal
from memd.store.file import backup, page_sums
from memd.store.file.connect import Reading, Writing
from memd.store.file.database import Database
from memd.store.memory import archive_rows
from memd.store.org import fact_index, org_facts
from memd.store.search import embedding_queue, fulltext, vectors
from memd.store.session import message_index

REBUILD_MESSAGES = 100  # messages of one step: some are long
_LISTED_MAX = 5
FREE_PAGES_MIN, FREE_SHARE = 1_000, 0.1
"""The file shrinks only above this number and share of free pages: fewer are soon used again."""
_SHRINK_PAGES, _SHRINK_STEPS = 256, 8
"""Pages given back in one transaction (about 20 ms), and transactions in one call of ``tidy``."""
REBUILD_ROWS = 500  # rows of one step: a write waits about 50 ms at most

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Upkeep:
    """Checks, rebuilds, backups and figures of one database."""

    db: Database
    clock: Clock

    @cached_property
    def background_check(self) -> BackgroundCheck:
        """The check that runs in the background."""
        return BackgroundCheck(self.db, self.clock)

    async def check(self, caller: Caller) -> CheckReport:
        """Check the whole file and report; changes nothing."""
        problems = await self.db.read_dedicated(
            lambda conn: list(islice(check.check_rows(conn), check.PROBLEMS_MAX))
        )
        unchecked: tuple[str, ...] = ()
        if self.db.read_only:
            unchecked = ("the caches: the store is read-only",)
        else:
            try:
                problems += await self.db.write(caller, lambda conn: list(check.check_caches(conn)))
            except DamagedError:
                problems.append("file: the caches could not be checked; run: memd repair")
        self.db.damage.replace(problems)
        figures = await self.db.read(check.counts)
        return CheckReport(
            ok=not problems, problems=tuple(problems), unchecked=unchecked, figures=figures
        )

    async def rebuild(self, caller: Caller, progress: Progress | None = None) -> None:
        """Rebuild the caches from the rows in small steps, while recall uses the old caches.

        Indexes, contexts and damaged vectors come first (renewal.py). No memory's row changes.
        After a kill the old caches stay in use, and the next rebuild starts from the beginning. The
        index of messages is emptied and refilled; after a kill the next start completes it.
        """
        report = progress or (lambda _done, _total: None)
        total = 2 * (await self.db.read(check.counts))["memories"]
        done = 0
        await self._renew(caller)
        await self.db.write(caller, fact_index.rebuild)
        await self.db.write(caller, message_index.start_build)
        while await self.db.write(
            caller, lambda conn: message_index.step_build(conn, REBUILD_MESSAGES)
        ):
            pass
        await self.db.write(caller, fulltext.start_build)
        while await self.db.write(caller, lambda conn: fulltext.step_build(conn, REBUILD_ROWS)):
            done = min(done + REBUILD_ROWS, total // 2)
            report(done, total)
        if await self.db.write(caller, vectors.start_build):
            while await self.db.write(caller, lambda conn: vectors.step_build(conn, REBUILD_ROWS)):
                done = min(done + REBUILD_ROWS, total)
                report(done, total)
        report(total, total)

    async def _renew(self, caller: Caller) -> None:
        for name in await self.db.read(renewal.list_indexes):
            await self.db.write(caller, partial(renewal.reindex, name=name))
        damaged = await self.db.read_dedicated(renewal.find_damaged_vectors)
        for at in range(0, len(damaged), REBUILD_ROWS):
            keys = damaged[at : at + REBUILD_ROWS]
            await self.db.write(caller, partial(renewal.renew_vectors, keys=keys))
        after: int | None = 0
        while after is not None:
            step = partial(renewal.renew_contexts, after=after, limit=REBUILD_ROWS)
            after = await self.db.write(caller, step)

    async def backup(self, caller: Caller, target: str | None = None) -> str:
        """Write a verified backup and return its path; by default in the database's folder.

        A *target* is recorded first. A store that cannot be written is backed up as well.
        """
        stamp = from_us(self.clock.now_us()).strftime("%Y%m%dT%H%M%S%f")
        if target is None:
            path = backup.default_path(self.db.path, stamp)
            # The folder may have been removed while the daemon has the file open.
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        else:
            path = Path(target).absolute()
            await self.record_copy(caller, str(path))
        await self.db.read_dedicated(lambda conn: backup.make(conn, path), transaction=False)
        return str(path)

    async def record_copy(self, caller: Caller, target: str, *, made: bool = False) -> str:
        """Record a copy that the caller is about to make, so that ``forget`` can list it.

        Returns the path of the store. Call it again with *made* when the copy is complete: if this
        process cannot see the file, it is recorded as a copy that cannot be checked for existence.
        Raises InvalidError for a *target* that is not absolute. Does nothing for a store that
        cannot be written.
        """
        copy = Path(target)
        if not copy.is_absolute():
            raise InvalidError("target must be absolute", field="target")
        if not (made and copy.exists()):
            with suppress(MemdError):
                await self.db.write(
                    caller, lambda conn: backup.record_copy(conn, copy, unseen=made)
                )
        return str(self.db.path.absolute())

    async def sweep(self) -> None:
        """Remove partial backups that a kill left in the folders of recorded copies."""
        await self.db.read_dedicated(
            lambda conn: backup.sweep([path.parent for path in backup.list_recorded(conn)])
        )

    async def find_known(self, caller: Caller, entry: MemoryEntry) -> str | None:
        """Return "known" for a memory the agent has, "skipped" for an erased or expired one.

        A memory is known if one has the same id, or the same text, place and time, so that a file
        that is imported twice is stored once. Returns None for any other.
        """
        known = await self.db.read(_find_known, caller.agent_id, entry)
        expired = entry.expires_at and to_us(entry.expires_at) <= self.clock.now_us()
        return "skipped" if known is None and expired else known

    def why_degraded(self) -> list[str]:
        """Return the reason why writes are refused, if they are, and the damage detected."""
        refused = self.db.write_refusal()
        damaged = self.db.damage.problems()
        reasons = [
            f"damaged and withheld: {what}; run: memd check" for what in damaged[:_LISTED_MAX]
        ]
        if len(damaged) > _LISTED_MAX:
            reasons.append(f"and {len(damaged) - _LISTED_MAX} more damaged; run: memd check")
        return [*([] if refused is None else [refused]), *reasons]

    async def stats(self) -> dict[str, Any]:
        """Return counts of rows, path and size in bytes of the file, and why it is degraded."""
        from memd.store.records import rows  # not needed at a start

        why = self.why_degraded()
        figures = await self.db.read(_figures, self.clock.now_us())
        path = self.db.path
        size = path.stat().st_size if path.exists() else 0
        return {
            **figures,
            "records": await self.db.read(rows.count_all),
            "database": str(path),
            "file_bytes": size,
            "degraded": why,
            "check": self.background_check.progress(),
        }

    async def history(self, days: int) -> GrowthHistory:
        """Return how the store grew in the last *days*, and memd's work."""
        from memd.store.check.growth import history  # not needed at a start

        return await self.db.read_dedicated(lambda conn: history(conn, self.clock.now_us(), days))

    async def tidy(self) -> None:
        """Delete old replies, shrink the file and empty the WAL; to be called once a minute."""
        now_us = self.db.lasting.now_us()

        def work(conn: Writing) -> int:
            replies.record_lasting(conn, now_us)
            return replies.purge(conn, now_us)

        await self.db.write(_CALLER, work)
        for _ in range(_SHRINK_STEPS):
            if not await self.db.write(_CALLER, _shrink):
                break
        await self.db.checkpoint(truncate=True)


_CALLER = Caller(client="memd", method="tidy")


def _shrink(conn: Writing) -> bool:
    """Give _SHRINK_PAGES free pages back to the system; False when too few are free."""
    pages, free = int(conn.pragma("page_count")), int(conn.pragma("freelist_count"))
    if free < FREE_PAGES_MIN or free < FREE_SHARE * pages:
        return False
    conn.execute(f"PRAGMA incremental_vacuum({_SHRINK_PAGES})").fetchall()
    return True


def _find_known(conn: Reading, agent_id: str, entry: MemoryEntry) -> str | None:
    if conn.exists(
        """
        SELECT 1
          FROM agent AS a
               JOIN memory AS m ON m.agent_key = a.agent_key
         WHERE a.agent_id = :agent_id
           AND (m.memory_id = :memory_id
                OR m.content_hash = :content_hash AND m.category = :category
                   AND m.namespace = :namespace
                   AND coalesce(m.occurred_at_us, m.created_at_us) = :at_us)
         LIMIT 1
        """,
        {
            "agent_id": agent_id,
            "memory_id": entry.id,
            "content_hash": hashlib.sha256(entry.content.encode()).digest(),
            "category": entry.category.value,
            "namespace": entry.namespace,
            "at_us": to_us(entry.occurred_at or entry.created_at),
        },
    ):
        return "known"
    erased = conn.exists("SELECT 1 FROM forgotten WHERE memory_id = ?", (entry.id,))
    return "skipped" if erased else None


def _figures(conn: Reading, now_us: int) -> dict[str, int]:
    figures = dict(conn.execute("SELECT state, count(*) FROM memory GROUP BY state"))
    return {
        **figures,
        "memories": sum(figures.values()),
        "pending": embedding_queue.count_pending(conn),
        "turned_away": archive_rows.count_below_threshold(conn, now_us),
        "facts": org_facts.count(conn),
    }


PORTION_PAGES = 1_024  # 16 MB: about 50 ms in its thread
PORTION_ROWS = 500
PASS_US = 86_400_000_000  # between the starts of two passes


class BackgroundCheck:
    """The background check: repeated passes over the file, in portions."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._page = 1
        self._row = 0
        self._began_us: int | None = None
        self._finished_us: int | None = None
        self._pages = 0

    def progress(self) -> SelfCheck:
        """Return the progress of the current pass."""
        return SelfCheck(
            pages=self._pages,
            pages_checked=min(self._page - 1, self._pages),
            finished_at=from_us(self._finished_us),
            found=len(self._db.damage.problems()),
        )

    async def check_portion(self) -> None:
        """Check the next portion of the file; does nothing between two passes."""
        now_us = self._clock.monotonic_us()
        if self._began_us is None:
            self._began_us, self._page, self._row = now_us, 1, 0
        elif self._row < 0:
            if now_us - self._began_us >= PASS_US:
                self._began_us = None
            return
        if not await self._db.read_dedicated(self._pages_portion):
            await self._db.read_dedicated(self._rows_portion)

    def _pages_portion(self, conn: Reading) -> bool:
        """Compare some pages with their checksums; False when there are no more."""
        file_layout = page_sums.layout(self._db.path)
        self._pages = file_layout.pages if file_layout.has_sums else 0
        if self._page > self._pages:
            return False
        for page in page_sums.find_damaged(conn, self._db.path, self._page, PORTION_PAGES):
            self._db.damage.add(check.page_finding(conn, page))
        self._page += PORTION_PAGES
        return True

    def _rows_portion(self, conn: Reading) -> None:
        """Compare PORTION_ROWS memories with their hashes; after the last, rows of other tables."""
        keys = conn.list_ints(
            "SELECT memory_key FROM memory WHERE memory_key > :after ORDER BY 1 LIMIT :limit",
            {"after": self._row, "limit": PORTION_ROWS},
        )
        if keys:
            integrity.memories(conn, keys)
            self._row = keys[-1]
            return
        for finding in islice(check.check_sealed_rows(conn), check.PROBLEMS_MAX):
            self._db.damage.add(finding)
        self._row = -1
        self._finished_us = self._clock.now_us()
