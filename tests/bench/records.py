"""How long 10,000 tasks and 100,000 cost records take: list, query, aggregate over the socket.

By hand: ``python -m tests.bench.records``.
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import psutil
from support.daemon import spawned

from memd.base.clock import SystemClock
from memd.base.ids import Ids
from memd.base.paths import Paths
from memd.domain.caller import Caller
from memd.records.entities import ENTITIES
from memd.records.models import CostRecord, Task
from memd.records.records import Records
from memd.store.file.database import open_database

TASKS, COSTS, CALLS = 10_000, 100_000, 200
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
    async with open_database(path, clock) as db:
        records = Records(db, Ids(clock))
        await records.save(caller, ENTITIES["tasks"], *(a_task(n) for n in range(TASKS)))
        await records.save(caller, ENTITIES["cost_records"], *(a_cost(n) for n in range(COSTS)))


def timed(name: str, pid: int, call: Callable[[int], Any]) -> None:
    """Print the median and the 95th percentile of *call*, and what it costs the daemon of CPU.

    It gets another number each time.
    """
    call(CALLS)
    took: list[float] = []
    before = _cpu_s(pid)
    for number in range(CALLS):
        begun = time.perf_counter()
        call(number)
        took.append(1_000 * (time.perf_counter() - begun))
    cpu = 1_000 * (_cpu_s(pid) - before) / CALLS
    took.sort()
    half, most = took[CALLS // 2], took[CALLS * 95 // 100]
    print(f"{name:36} p50 {half:6.1f} ms  p95 {most:6.1f} ms  CPU of the daemon {cpu:4.1f} ms")


def _cpu_s(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def _after(number: int) -> str:
    return base64.urlsafe_b64encode(json.dumps([f"t{number:05}"]).encode()).decode()


Params = Callable[[int], dict[str, Any]]
ASKED: tuple[tuple[str, str, Params], ...] = (
    ("tasks.list, each page of 100", "tasks.list", lambda n: {"after": _after(n * 97 % TASKS)}),
    ("tasks.list by three fields", "tasks.list", lambda n: {
        "status": ("assigned", "completed")[n % 2],
        "assigned_to": f"agent{n % 10}", "project": f"p{n % 20}"}),
    ("tasks.get", "tasks.get", lambda n: {"id": f"t{n * 97 % TASKS:05}"}),
    ("tasks.count", "tasks.count", lambda _: {}),
    ("cost_records.list of a task", "cost_records.list", lambda n: {
        "task_id": f"t{n * 97 % TASKS:05}"}),
    ("cost_records.list of an agent, 100", "cost_records.list", lambda n: {
        "agent_id": f"agent{n % 10}"}),
    ("cost_records.aggregate of an agent", "cost_records.aggregate", lambda n: {
        "agent_id": f"agent{n % 10}"}),
    ("cost_records.aggregate of all", "cost_records.aggregate", lambda _: {}),
)  # fmt: skip
"""What is asked: nothing twice in a row, so that no memory of the last answer helps."""


def main() -> None:
    """Fill a store and ask it over the socket."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        asyncio.run(fill(Paths.resolve(home=home, environ={}).database))
        with spawned(home) as daemon, daemon.client() as client:
            for name, method, params in ASKED:

                def call(number: int, method: str = method, params: Params = params) -> Any:
                    return client.call(f"records.{method}", params(number))

                timed(name, daemon.process.pid, call)


if __name__ == "__main__":
    main()
