"""How long 10,000 tasks and 100,000 cost records take: list, query, aggregate over the socket.

By hand: ``python -m tests.bench.records``.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.daemon import spawned

from memd.base.clock import SystemClock
from memd.base.ids import Ids
from memd.base.paths import Paths
from memd.domain.caller import Caller
from memd.records.entities import ENTITIES
from memd.records.records import Records
from memd.records.work import CostRecord, Task
from memd.store.file.database import opened

TASKS, COSTS, CALLS = 10_000, 100_000, 100
START = datetime(2026, 1, 1, tzinfo=UTC)


def a_task(number: int) -> Task:
    status = ("created", "assigned", "completed")[number % 3]
    return Task.model_validate(
        {
            "id": f"t{number:05}",
            "title": f"Write part {number}",
            "description": "What is to be done, in a sentence or two of some length.",
            "type": "development",
            "project": f"p{number % 20}",
            "created_by": "ann",
            "assigned_to": f"agent{number % 10}",
            "status": status,
        }
    )


def a_cost(number: int) -> CostRecord:
    return CostRecord(
        id=f"c{number:06}",
        agent_id=f"agent{number % 10}",
        task_id=f"t{number % TASKS:05}",
        provider="local",
        model="m",
        input_tokens=1_000,
        output_tokens=200,
        cost=0.01,
        timestamp=START + timedelta(seconds=number),
    )


async def fill(path: Path) -> None:
    """Write the records into a new file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    clock, caller = SystemClock(), Caller()
    async with opened(path, clock) as db:
        records = Records(db, Ids(clock))
        await records.save(caller, ENTITIES["tasks"], *(a_task(n) for n in range(TASKS)))
        await records.save(caller, ENTITIES["cost_records"], *(a_cost(n) for n in range(COSTS)))


def timed(name: str, call: Callable[[], Any]) -> None:
    """Print the median and the 95th percentile of *call*."""
    call()
    took: list[float] = []
    for _ in range(CALLS):
        begun = time.perf_counter()
        call()
        took.append(1_000 * (time.perf_counter() - begun))
    took.sort()
    print(f"{name:44} p50 {took[CALLS // 2]:6.1f} ms  p95 {took[CALLS * 95 // 100]:6.1f} ms")


def main() -> None:
    """Fill a store and ask it over the socket."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        asyncio.run(fill(Paths.resolve(home=home, environ={}).database))
        with spawned(home) as daemon, daemon.client() as client:
            for name, method, params in (
                ("tasks.list, a page of 100", "tasks.list", {}),
                ("tasks.list by three fields", "tasks.list", {
                    "status": "assigned", "assigned_to": "agent1", "project": "p1"}),
                ("tasks.get", "tasks.get", {"id": "t05000"}),
                ("tasks.count", "tasks.count", {}),
                ("cost_records.list of a task", "cost_records.list", {"task_id": "t05000"}),
                ("cost_records.list of an agent, 100", "cost_records.list", {"agent_id": "agent1"}),
                ("cost_records.aggregate of an agent", "cost_records.aggregate", {
                    "agent_id": "agent1"}),
                ("cost_records.aggregate of all", "cost_records.aggregate", {}),
            ):  # fmt: skip
                timed(name, lambda m=method, p=params: client.call(f"records.{m}", p))  # type: ignore[misc]  # bound now


if __name__ == "__main__":
    main()
