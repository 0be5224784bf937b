"""What a page of another size would cost: ``python -m tests.bench.page_sizes [--rows 20000]``.

For each size a store of as many memories: the log that one more memory writes, the size of the
file, the CPU of looking through it for what was forgotten and of checking its pages, and that
of a recall without its question's embedding, asked in turns so that all sizes meet the same
machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Awaitable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

from support.store import stored

from bench import filled
from bench.corpus import Made
from bench.stage import model_dir
from bench.writes import measured, text
from memd.backends.rooms import Rooms, open_rooms
from memd.base.clock import SystemClock
from memd.domain.caller import Caller
from memd.domain.recall import RecallRequest
from memd.domain.settings.settings import Settings
from memd.embedding.embed import EmbedderThread
from memd.store.file import connect
from memd.store.file.scrub import erase_residue

SIZES = (16_384, 8_192, 4_096)
ROUNDS, ASKED = 6, 20
_CALLER = Caller(agent_id=filled.AGENT, method="bench")


class Known:
    """An embedder that answers at once: a recall is measured without the model's share."""

    def __init__(self, inner: EmbedderThread) -> None:
        self._inner = inner
        self._known: dict[str, bytes] = {}

    async def embed(self, texts: Sequence[str], *, bulk: bool = False) -> list[bytes]:
        new = [one for one in texts if one not in self._known]
        if new:
            vectors = await self._inner.embed(new, bulk=bulk)
            self._known.update(zip(new, vectors, strict=True))
        return [self._known[one] for one in texts]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


async def main() -> None:
    asked = argparse.ArgumentParser(prog="python -m tests.bench.page_sizes", description=__doc__)
    asked.add_argument("--rows", type=int, default=20_000)
    rows = asked.parse_args().rows
    thread = EmbedderThread(model_dir())
    embedder: Any = Known(thread)
    with tempfile.TemporaryDirectory(prefix="memd-bench-") as folder:
        paths = {size: Path(folder) / f"{size}.db" for size in SIZES}
        texts: list[Made] = []
        for size, path in paths.items():
            connect.PAGE_BYTES = size
            texts = await filled.fill(path, rows)
        questions = [each.text[:60] for each in texts[:: max(1, rows // ASKED)]][:ASKED]
        cpu: dict[int, list[float]] = {size: [] for size in SIZES}
        result: dict[int, dict[str, float]] = {}
        async with AsyncExitStack() as stack:
            houses: dict[int, Rooms] = {}
            for size, path in paths.items():
                houses[size] = await open_rooms(
                    Settings(), path, SystemClock(), stack, embedder=embedder, model_dir=model_dir()
                )
            for _ in range(1 + ROUNDS):
                for size, house in houses.items():
                    cpu[size].append(await _recalls(house, questions))
            for size, house in houses.items():
                kept = paths[size]
                cost = await measured(house, kept, partial(_one_more, house, rows))
                result[size] = {
                    "log_kb": round(cost.bytes / 1_000, 1),
                    "pages": round(sum(cost.pages.values()), 1),
                    "forget_cpu_ms": round(await _cpu_ms(erase_residue(house.db)), 0),
                    "check_cpu_ms": round(await _cpu_ms(house.upkeep.check(_CALLER)), 0),
                    "file_mb": round(kept.stat().st_size / 1e6, 1),
                    "recall_cpu_ms": round(statistics.median(cpu[size][1:]), 2),
                    "least_ms": round(min(cpu[size][1:]), 2),
                }
        await thread.close()
    print(json.dumps(result, indent=1))


async def _one_more(house: Rooms, rows: int, number: int) -> None:
    await stored(house, text(rows + number, 60), caller=_CALLER)


async def _cpu_ms(work: Awaitable[object]) -> float:
    begun = time.process_time()
    await work
    return 1_000 * (time.process_time() - begun)


async def _recalls(house: Rooms, questions: list[str]) -> float:
    begun = time.process_time()
    for question in questions:
        await house.recall.recall(_CALLER, RecallRequest(query=question, top_k=10))
    return 1_000 * (time.process_time() - begun) / len(questions)


if __name__ == "__main__":
    asyncio.run(main())
