"""Recall before and after a night.

    python -m tests.bench.recall_after_night --rows 10000 100000

A store of ``bench.large_store``; a copy of it sleeps a default night 120 days later.
Both are then asked the same questions in turns, in this process and over the
sockets of two daemons, so that other work on the machine weighs on both alike and
the ratio can be trusted where a time cannot. A summary's vector is the mean of
its sources', as the store's own vectors are drawn.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import numpy as np

from bench.bench_daemon import Stage, new_places, staged, write_result
from bench.large_store import AGENT, SEED
from bench.large_store import main as filled
from bench.night import DAYS, MovedClock, house
from bench.scores import p50_p95
from memd.base.limits import EMBED_TOKEN_VECTORS_MAX
from memd.domain.caller import Caller
from memd.domain.encoding import TOKEN_BYTES, Encoding
from memd.domain.recall import RecallRequest
from memd.domain.settings.settings import Settings
from memd.sleep.sleep import build_sleep
from memd.store.file.connect import Reading, Writing
from memd.store.search import embedding_queue, vectors

QUESTIONS = 200
WARM_UP = 20
STEP_ROWS = 500

Ask = Callable[[str], Awaitable[int]]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.recall_after_night", description=__doc__
    )
    parser.add_argument("--rows", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--json", type=Path, dest="out")
    options = parser.parse_args(argv)
    result = {str(rows): of_size(rows) for rows in options.rows}
    write_result(result, options.out)


def of_size(rows: int) -> dict[str, Any]:
    """Return the figures of a store of *rows* memories."""
    with tempfile.TemporaryDirectory(prefix="memd-bench-") as made:
        before, after = (new_places(Path(made) / name) for name in ("before", "after"))
        texts = filled(before.database, rows)
        shutil.copy(before.database, after.database)
        night = asyncio.run(_slept(after.database))
        asked = [each.asked for each in random.Random(SEED).sample(texts, QUESTIONS + WARM_UP)]
        return {
            **night,
            "in_process": asyncio.run(_in_process(before.database, after.database, asked)),
            "socket": asyncio.run(_over_sockets(Path(made), asked)),
        }


async def _slept(path: Path) -> dict[str, Any]:
    """Run the night and give the summaries vectors; returns what is in the store after it."""
    clock = MovedClock()
    clock.ahead = timedelta(days=DAYS)
    caller = Caller(method="bench")
    async with house(path, clock) as rooms:
        begun = time.perf_counter()
        await build_sleep(rooms, Settings()).night.run(caller)
        seconds = time.perf_counter() - begun
        while await rooms.db.write(caller, _embed):
            pass
        await rooms.db.checkpoint(truncate=True)
        return {"night_seconds": round(seconds, 1), **await rooms.db.read(_counts)}


def _embed(conn: Writing) -> int:
    """Give the next summaries that wait the mean of their sources' vectors."""
    cache = vectors.current_cache(conn)
    assert cache is not None
    keys = [row.memory_key for row in embedding_queue.list_pending(conn, STEP_ROWS)]
    means = []
    for key in keys:
        rows = conn.execute(
            """
            SELECT e.vector, e.tokens
              FROM derived AS d
                   JOIN embedding AS e ON e.memory_key = d.from_key AND e.model_key = :model_key
             WHERE d.to_key = :key
            """,
            {"model_key": cache.model_key, "key": key},
        ).fetchall()
        sources = cast("list[tuple[bytes, bytes]]", rows)
        mean = np.mean([np.frombuffer(vector, "<f4") for vector, _ in sources], axis=0)
        tokens = b"".join(its for _, its in sources)[: EMBED_TOKEN_VECTORS_MAX * TOKEN_BYTES]
        vector = (mean / np.linalg.norm(mean)).astype("<f4").tobytes()
        means.append((key, Encoding(vector, tokens)))
    embedding_queue.store_vectors(conn, cache.model_key, means)
    embedding_queue.activate(conn, keys)
    return len(keys)


def _counts(conn: Reading) -> dict[str, int]:
    row = conn.execute(
        """
        SELECT count(*) FILTER (WHERE state = 'active'), count(*) FILTER (WHERE is_summary),
               count(*) FILTER (WHERE state IN ('compressed', 'archived'))
          FROM memory
        """
    ).fetchone()
    assert row is not None
    return dict(zip(("visible", "summaries", "put_away"), map(int, map(str, row)), strict=True))


async def _in_process(before: Path, after: Path, asked: Sequence[str]) -> dict[str, Any]:
    async with AsyncExitStack() as stack:
        asks = []
        for path, days in ((before, 0), (after, DAYS)):
            clock = MovedClock()
            clock.ahead = timedelta(days=days)
            rooms = await stack.enter_async_context(house(path, clock))

            async def ask(text: str, recall: Any = rooms.recall) -> int:
                caller = Caller(agent_id=AGENT, method="bench")
                return len((await recall.recall(caller, RecallRequest(query=text))).memories)

            asks.append(ask)
        return await _compared(asks, asked)


async def _over_sockets(homes: Path, asked: Sequence[str]) -> dict[str, Any]:
    with staged(homes / "before") as one, staged(homes / "after") as other:

        def asks(stage: Stage) -> Ask:
            async def ask(text: str) -> int:
                return len(stage.recall(AGENT, text)["memories"])

            return ask

        return await _compared([asks(one), asks(other)], asked)


async def _compared(asks: Sequence[Ask], asked: Sequence[str]) -> dict[str, Any]:
    """Ask both in turns, first the one and then the other first; returns the milliseconds."""
    taken: list[list[float]] = [[], []]
    shown = [0, 0]
    for number, text in enumerate(asked):
        for which in (0, 1) if number % 2 else (1, 0):
            begun = time.perf_counter()
            count = await asks[which](text)
            if number >= WARM_UP:
                taken[which].append(1_000 * (time.perf_counter() - begun))
                shown[which] += count
    ratios = [after / before for before, after in zip(*taken, strict=True)]
    figures = [
        {**p50_p95(times), "memories_shown": round(count / len(times), 1)}
        for times, count in zip(taken, shown, strict=True)
    ]
    return {
        "before": figures[0],
        "after": figures[1],
        "ratio_p50": round(statistics.median(ratios), 3),
    }


if __name__ == "__main__":
    main()
