"""What a night costs: ``python -m tests.bench.night FILE [--rows 100000] --json OUT``.

FILE is in the LoCoMo format. Every turn is ingested, the clock is moved 120 days
on, and a night with the product's defaults is run. Before and after it the same
questions are asked: turn by turn with ``include_compressed``, and by session with
the defaults, where a summary counts for the session whose turns it was made from.
The rooms are the daemon's own, in this process, because the clock must be moved.
Fails when the night consolidates less than half of the memories.

With ``--rows`` a night over a made store of so many memories follows, while a
client stores a memory ten times a second: how long the night takes, and how long
the client waits.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from bench import locomo
from bench.bench_daemon import model_dir, write_result
from bench.large_store import main as filled
from bench.locomo import ADVERSARIAL, Asked, Dialogue
from bench.recall import SESSION_BUDGET_TOKENS, SESSION_TOP_K, TOP_K
from bench.scores import Graded, quantile, report
from memd.backends.rooms import Rooms, open_rooms
from memd.base.clock import Clock, SystemClock
from memd.domain.caller import Caller
from memd.domain.enums import MemoryCategory
from memd.domain.ingest import IngestManyRequest
from memd.domain.memory import MemoryStoreRequest
from memd.domain.recall import RecallRequest, RecallResult
from memd.domain.settings.settings import Settings
from memd.embedding.embed import EmbedderThread
from memd.sleep.sleep import build_sleep
from memd.store.file.connect import Reading

DAYS = 120
SHARE_MIN = 50.0
BATCH = 100
QUIET_SECONDS = 10.0


class MovedClock(SystemClock):
    """The machine's clock, and then some."""

    ahead = timedelta()

    def now_us(self) -> int:
        return super().now_us() + self.ahead // timedelta(microseconds=1)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.night", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--json", type=Path, dest="out")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="memd-bench-") as made:
        result = asyncio.run(measure(locomo.read(options.file), Path(made) / "memd.db"))
        if options.rows:
            large = Path(made) / "large.db"
            filled(large, options.rows)
            result["large"] = asyncio.run(over(large, options.rows))
    write_result(result, options.out)
    if result["consolidated_percent"] < SHARE_MIN:
        raise SystemExit(f"only {result['consolidated_percent']} % were consolidated")


@asynccontextmanager
async def house(path: Path, clock: Clock) -> AsyncIterator[Rooms]:
    """Open the rooms over *path* with the installed model."""
    async with AsyncExitStack() as stack:
        embedder = EmbedderThread(model_dir())
        stack.push_async_callback(embedder.close)
        yield await open_rooms(
            Settings(), path, clock, stack, embedder=embedder, model_dir=model_dir()
        )


async def measure(dialogues: Sequence[Dialogue], path: Path) -> dict[str, Any]:
    """Return the figures before and after the night, and what it did."""
    clock = MovedClock()
    async with house(path, clock) as rooms:
        for dialogue in dialogues:
            caller = Caller(agent_id=dialogue.name, method="bench")
            items = [turn.item() for turn in dialogue.turns]
            for start in range(0, len(items), BATCH):
                request = IngestManyRequest.model_validate({"items": items[start : start + BATCH]})
                await rooms.ingest.ingest_many(caller, request)
        await rooms.queue.drain()
        return await _with_night(rooms, clock, dialogues)


async def _with_night(
    rooms: Rooms, clock: MovedClock, dialogues: Sequence[Dialogue]
) -> dict[str, Any]:
    before = await _asked(rooms, dialogues)
    visible = await rooms.db.read(_visible)
    clock.ahead = timedelta(days=DAYS)
    start = time.perf_counter()
    night = await build_sleep(rooms, Settings()).night.run(Caller(method="bench"))
    seconds = time.perf_counter() - start
    await rooms.queue.drain()
    after = await _asked(rooms, dialogues)
    hidden = await rooms.db.read(_archived)
    return {
        "memories": visible,
        "consolidated_percent": round(100 * hidden / visible, 1),
        "visible_after": await rooms.db.read(_visible),
        "night_seconds": round(seconds, 1),
        "steps": [step.model_dump() for step in night.steps],
        "before": before,
        "after": after,
        "lost": {
            "turn R@10, include_compressed": _lost(before, after, "turn_compressed"),
            "session R@10": _lost(before, after, "session"),
        },
    }


async def over(path: Path, rows: int) -> dict[str, Any]:
    """Return how long a night over the store takes, and how long a client's writes wait."""
    clock = MovedClock()
    clock.ahead = timedelta(days=DAYS)
    async with house(path, clock) as rooms:
        quiet = await _writing(rooms, asyncio.create_task(asyncio.sleep(QUIET_SECONDS)))
        start = time.perf_counter()
        night = asyncio.create_task(
            build_sleep(rooms, Settings()).night.run(Caller(method="bench"))
        )
        waits = await _writing(rooms, night)
        return {
            "rows": rows,
            "night_seconds": round(time.perf_counter() - start, 1),
            "steps": [step.model_dump() for step in night.result().steps],
            "write_ms_quiet": _waits(quiet),
            "write_ms_during": _waits(waits),
        }


async def _writing(rooms: Rooms, until: asyncio.Task[Any]) -> list[float]:
    """Store a memory ten times a second until the task is done; returns how long each took."""
    waits: list[float] = []
    caller = Caller(agent_id="somebody", method="bench")
    while not until.done():
        request = MemoryStoreRequest(
            category=MemoryCategory.EPISODIC, content=f"an interactive write, number {len(waits)}"
        )
        start = time.perf_counter()
        await rooms.ingest.store(caller, request)
        waits.append(1_000 * (time.perf_counter() - start))
        await asyncio.sleep(0.1)
    return waits


def _waits(waits: Sequence[float]) -> dict[str, float]:
    return {
        "writes": len(waits),
        "p50": round(quantile(waits, 0.5), 1),
        "p99": round(quantile(waits, 0.99), 1),
        "longest": round(max(waits), 1),
    }


def _lost(before: dict[str, Any], after: dict[str, Any], what: str) -> float:
    lost: float = before[what]["R@10"] - after[what]["R@10"]
    return round(lost, 2)


def _visible(conn: Reading) -> int:
    return _count(conn, "state IN ('active', 'pending')")


def _archived(conn: Reading) -> int:
    return _count(
        conn,
        "memory_key IN (SELECT memory_key FROM archive"
        " WHERE reason IN ('consolidated', 'compressed'))",
    )


def _count(conn: Reading, where: str) -> int:
    count = conn.execute(f"SELECT count(*) FROM memory WHERE {where}").get
    assert isinstance(count, int)
    return count


async def _asked(rooms: Rooms, dialogues: Sequence[Dialogue]) -> dict[str, Any]:
    turns: list[Graded] = []
    sessions: list[Graded] = []
    tokens: list[int] = []
    for dialogue in dialogues:
        for asked in dialogue.questions:
            caller = Caller(agent_id=dialogue.name, method="bench")
            answer = await rooms.recall.recall(
                caller, RecallRequest(query=asked.text, top_k=TOP_K, include_compressed=True)
            )
            turns.append(Graded(asked.category, asked.gold, _places(answer)))
            tokens.append(answer.total_tokens)
            sessions.append(await _by_session(rooms, caller, dialogue, asked))
    return {
        "turn_compressed": report(turns, ADVERSARIAL),
        "session": report(sessions, ADVERSARIAL),
        "tokens_returned": round(sum(tokens) / len(tokens), 1),
    }


def _places(answer: RecallResult) -> tuple[str, ...]:
    return tuple(str(each.source) for each in answer.memories if not each.preference)


async def _by_session(rooms: Rooms, caller: Caller, dialogue: Dialogue, asked: Asked) -> Graded:
    session = {turn.place: turn.session for turn in dialogue.turns}
    answer = await rooms.recall.recall(
        caller,
        RecallRequest(query=asked.text, top_k=SESSION_TOP_K, token_budget=SESSION_BUDGET_TOKENS),
    )
    gold = tuple(dict.fromkeys(session[place] for place in asked.gold))
    places = (str(each.session_id) for each in answer.memories if not each.preference)
    return Graded(asked.category, gold, tuple(dict.fromkeys(places)))


if __name__ == "__main__":
    main()
