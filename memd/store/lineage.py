"""What summaries were made from: who must come back when one of them goes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memd.store.connect import Reading
from memd.store.keys import keys_array


def behind(conn: Reading, keys: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the summaries made from *keys* or among them, and all sources hidden behind them.

    Whoever removes one of *keys* must remove the summaries too, since they hold its
    words, and bring the other sources back: nothing else shows them.
    """
    if not keys:
        return [], []
    summaries = _keys(
        conn.execute(
            """
            SELECT d.to_key
              FROM carray(:keys) AS k
                   CROSS JOIN derived AS d ON d.from_key = k.value
             UNION
            SELECT d.to_key
              FROM carray(:keys) AS k
                   CROSS JOIN derived AS d ON d.to_key = k.value
             ORDER BY 1
            """,
            {"keys": keys_array(keys)},
        )
    )
    if not summaries:
        return [], []
    sources = _keys(
        conn.execute(
            """
            SELECT DISTINCT d.from_key
              FROM carray(:summaries) AS k
                   CROSS JOIN derived AS d ON d.to_key = k.value
                   JOIN memory AS s ON s.memory_key = d.to_key AND s.is_summary
                   JOIN behind AS b ON b.memory_key = d.from_key
             ORDER BY d.from_key
            """,
            {"summaries": keys_array(summaries)},
        )
    )
    return summaries, sources


def _keys(rows: Iterable[tuple[object, ...]]) -> list[int]:
    return [key for (key,) in rows if isinstance(key, int)]
