"""Read the history of the store's growth by day, and of memd's naps and nights.

Counts and times are of all agents together. Use a dedicated connection: it scans an index.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from memd.base.clock import DAY_US, from_us
from memd.domain.sleep.upkeep import DayFigures, GrowthHistory, WorkDone
from memd.store.file.connect import Reading

WORKS_MAX = 2_000
_METRICS = "record_task_metrics"


def history(conn: Reading, now_us: int, days: int) -> GrowthHistory:
    """Return the history of the last *days* days, the earliest first; days are in UTC."""
    first = now_us // DAY_US - days + 1
    return GrowthHistory(
        days=tuple(_days(conn, first, days)), works=tuple(_works(conn, first * DAY_US))
    )


def _days(conn: Reading, first: int, days: int) -> Iterator[DayFigures]:
    rows = conn.execute(
        """
        SELECT max(created_at_us / :day_us, :before) AS day, count(*)
          FROM memory
         GROUP BY day
        """,
        {"day_us": DAY_US, "before": first - 1},
    )
    added = dict(rows)
    total = added.get(first - 1, 0)
    start = from_us(first * DAY_US).date()
    for number in range(days):
        total += added.get(first + number, 0)
        yield DayFigures(
            day=start + timedelta(days=number), added=added.get(first + number, 0), total=total
        )


def _works(conn: Reading, since_us: int) -> Iterator[WorkDone]:
    """Yield the newest WORKS_MAX naps and nights from memd's task metrics, oldest first.

    Their ids begin with "memd:"; ";" is the character after ":".
    """
    if not conn.exists("SELECT 1 FROM sqlite_schema WHERE name = ?", (_METRICS,)):
        return
    rows = conn.execute(
        """
        SELECT task_type, completed_at_us, duration_seconds, is_success
          FROM (SELECT task_type, completed_at_us, duration_seconds, is_success
                  FROM record_task_metrics
                 WHERE completed_at_us >= :since_us AND id >= 'memd:' AND id < 'memd;'
                 ORDER BY completed_at_us DESC
                 LIMIT :most)
         ORDER BY completed_at_us
        """,
        {"since_us": since_us, "most": WORKS_MAX},
    )
    for work, at_us, seconds, is_success in rows:
        yield WorkDone(
            work=str(work),
            at=from_us(int(str(at_us))),
            seconds=float(str(seconds)),
            is_success=bool(is_success),
        )
