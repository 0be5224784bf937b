"""No request can stop the others: whatever one client sends, another's question is answered.

Every method of the table with its largest params, honest and hostile, while a second client
asks ``system.status``; the gate leaves out what another method reads in the same way.
What the daemon worked between its question and the answer is counted
(docs/decisions/0091); how long it takes is a figure of ``tests/bench/concurrency.py``.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Coroutine
from typing import Any

import psutil
import pytest
from support.daemon import WAIT_S, Spawned
from support.largest_params import calls, honest, hostile
from support.work_units import effort

from memd.base.errors import CallerError, UnavailableError
from memd.client import AsyncClient
from memd.serve.routes.routes import methods

UNITS_MAX = 116
"""Of work between a question and its answer: what a desktop does in about a second, the
longest wait that is promised. Threads on cores that share a pipeline count up to twice."""
PAUSE_S = 0.05  # what of a wait may stay unseen: UNITS_MAX is as much less than 120
READ_ALIKE = {"memory.ingest_many"}
"""Its texts are read as the one of ``memory.ingest``, the many of ``memory.replace_source``."""


class Bystander:
    """A client that asks how the daemon is, and what the daemon worked until it answered."""

    def __init__(self, client: AsyncClient, pid: int) -> None:
        self._client = client
        self._process = psutil.Process(pid)

    async def ask(self) -> float:
        before = self._cpu_s()
        await self._client.call("system.status")
        return self._cpu_s() - before

    def _cpu_s(self) -> float:
        times = self._process.cpu_times()
        return float(times.user + times.system)


@pytest.mark.parametrize(
    ("made", "left"),
    [
        pytest.param(honest, READ_ALIKE, id="honest"),
        pytest.param(honest, set(), id="honest, all", marks=pytest.mark.long),
        pytest.param(hostile, set(), id="hostile, all", marks=pytest.mark.long),
    ],
)
async def test_no_request_stops_the_others(
    daemon: Spawned, made: Callable[[int], str], left: Collection[str]
) -> None:
    worst_s: dict[str, float] = {}
    with effort() as spent:
        async with a_client(daemon) as client, a_client(daemon) as other:
            first = {"content": "a text", "category": "semantic"}
            ids = {"id": await client.call("memory.store", first)}
            bystander = Bystander(other, daemon.process.pid)
            for name, params in calls(made, ids):
                if name in left:
                    continue
                cpu_s = await _during(_called(client, name, params), bystander)
                worst_s[name] = max(worst_s.get(name, 0.0), cpu_s)
    assert len(worst_s) > 0.9 * len(methods())
    slow = {name: cpu_s / spent.unit_s for name, cpu_s in worst_s.items()}
    assert {name: units for name, units in slow.items() if units > UNITS_MAX} == {}


def a_client(daemon: Spawned) -> AsyncClient:
    """Return a client as the owner's own commands have it."""
    return AsyncClient(daemon.paths.socket, timeout=WAIT_S * 5, key=daemon.paths.operator_key)


async def _during(deed: Coroutine[Any, Any, None], bystander: Bystander) -> float:
    """Return the most that the daemon worked before an answer while *deed* was under way."""
    task = asyncio.create_task(deed)
    worst = await bystander.ask()
    while not task.done():
        await asyncio.wait({task}, timeout=PAUSE_S)  # it asks: it does not take all it can get
        worst = max(worst, await bystander.ask())
    await task
    return worst


async def _called(client: AsyncClient, name: str, params: dict[str, Any]) -> None:
    with contextlib.suppress(CallerError, UnavailableError):  # a bug is neither
        await client.call(name, params)
