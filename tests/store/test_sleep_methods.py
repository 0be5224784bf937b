"""``sleep.*`` on the socket: the parameters that reach the nights, and the results."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, get_args

import pytest
from support.clocks import HeldClock
from support.daemon import until
from support.gated_rooms import OPERATOR, Desk, a_desk
from support.nights import settled

from memd.cli.sleep.sleep import _EFFECTS
from memd.rpc.envelope import Request
from memd.serve.dispatch import ActiveRequest
from memd.serve.routes.sleep import NightStep
from memd.sleep.night.night import STEPS
from memd.store.run.runs import RunRow

A_DAY = settled(retention={"default_retention_days": 1})


async def ask(desk: Desk, method: str, **params: Any) -> Any:
    frame = await desk.dispatch.answer(Request(7, method, params), ActiveRequest(OPERATOR))
    assert frame is not None
    answer = json.loads(frame)
    return answer["result"] if "result" in answer else answer["error"]["data"]


@pytest.fixture
async def desk(tmp_path: Path, clock: HeldClock) -> AsyncIterator[Desk]:
    async with a_desk(tmp_path, clock, settings=A_DAY) as made:
        yield made


async def expired(desk: Desk, clock: HeldClock, *agents: str) -> None:
    """Store a memory of each of *agents* that a night's retention takes away."""
    for agent_id in agents:
        params = {"content": f"the key of {agent_id}", "category": "semantic", "agent_id": agent_id}
        await ask(desk, "memory.store", **params)
    clock.advance(days=2)


def done_by(run: dict[str, Any]) -> dict[str, int]:
    """Return how many rows each step changed, of the steps that changed any."""
    return {step["name"]: step["rows"] for step in run["steps"]}


async def test_a_night_is_asked_for_with_its_steps_and_its_agent(
    desk: Desk, clock: HeldClock
) -> None:
    await expired(desk, clock, "ada", "bob")
    asked = {"dry_run": True, "steps": ["retention", "cap"], "agent_id": "ada"}
    on_finished = await ask(desk, "sleep.run", **asked)
    assert (on_finished["kind"], on_finished["state"], on_finished["dry_run"]) == (
        "night",
        "done",
        True,
    )
    assert (on_finished["agent_id"], done_by(on_finished)) == ("ada", {"retention": 1})
    assert done_by(await ask(desk, "sleep.run", **{**asked, "steps": ["cap"]})) == {}
    assert await ask(desk, "memory.count", agent_id="ada") == 1, "a dry run changes nothing"


def test_the_steps_that_can_be_asked_for_are_those_of_a_night_and_each_is_explained() -> None:
    assert get_args(NightStep) == STEPS
    assert tuple(_EFFECTS) == (*STEPS, "nap")


async def test_a_night_without_an_agent_is_everybodys(desk: Desk, clock: HeldClock) -> None:
    await expired(desk, clock, "ada", "bob")
    on_finished = await ask(desk, "sleep.run")
    assert (on_finished["dry_run"], on_finished["agent_id"]) == (False, None)
    assert done_by(on_finished)["retention"] == 2


@pytest.mark.parametrize(
    ("method", "params", "field"),
    [
        ("sleep.run", {"steps": ["dreaming"]}, "steps.0"),
        ("sleep.run", {"steps": []}, "steps"),
        ("sleep.run", {"dry_run": 1}, "dry_run"),
        ("sleep.compress", {"sessions": 0}, "sessions"),
        ("sleep.compress", {"sessions": -3}, "sessions"),
        ("sleep.compress", {"agent_id": " "}, "agent_id"),
        ("sleep.report", {"limit": 0}, "limit"),
        ("sleep.undo", {}, "run_id"),
    ],
)
async def test_what_is_asked_wrongly_is_named(
    desk: Desk, method: str, params: dict[str, Any], field: str
) -> None:
    refused = await ask(desk, method, **params)
    assert (refused["kind"], refused["field"]) == ("invalid", field)


async def test_reports_come_page_by_page_newest_first(desk: Desk) -> None:
    asked = {"force": True, "sessions": 2}
    made = [(await ask(desk, "sleep.compress", **asked))["run_id"] for _ in range(5)]
    seen: list[str] = []
    after: dict[str, str] = {}
    while True:
        page = await ask(desk, "sleep.report", limit=2, **after)
        seen += [run["run_id"] for run in page["items"]]
        if page["next"] is None:
            break
        after = {"after": page["next"]}
    assert seen == made[::-1]


async def test_a_night_tells_its_progress(desk: Desk, clock: HeldClock) -> None:
    await expired(desk, clock, "ada")
    frames: list[Any] = []
    request = Request(7, "sleep.run", {"progress_token": "t"})
    asking = ActiveRequest(OPERATOR, lambda frame: frames.append(json.loads(frame)))
    await desk.dispatch.answer(request, asking)
    assert {message["params"]["token"] for message in frames} == {"t"}


async def test_a_cancelled_request_ends_the_waiting_and_not_the_night(desk: Desk) -> None:
    night, gate = desk.house.rooms.sleep, asyncio.Event()
    ending = night.on_finished
    begun = asyncio.Event()

    async def held(run: RunRow) -> None:
        begun.set()
        await gate.wait()
        await ending(run)

    night.on_finished = held
    asking = asyncio.create_task(ask(desk, "sleep.run"))
    await begun.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert (await ask(desk, "sleep.status"))["running"]["kind"] == "night"
    gate.set()
    await until_awake(desk)
    assert (await ask(desk, "sleep.status"))["last"]["state"] == "done"


async def until_awake(desk: Desk) -> None:
    async with desk.house.rooms.sleep._lock:  # it is held for as long as a run goes on
        return


async def test_a_use_of_the_memory_ends_the_quiet_and_a_look_at_memd_does_not(
    desk: Desk, clock: HeldClock
) -> None:
    clock.advance(seconds=100)
    looking = "system.status system.hello sleep.status sleep.report model.status usage.list"
    for method in looking.split():
        await ask(desk, method)
    assert desk.dispatch.idle_s() == 100.0
    await ask(desk, "memory.count")
    assert desk.dispatch.idle_s() == 0.0
    clock.advance(seconds=7)
    assert desk.dispatch.idle_s() == 7.0


async def test_while_a_request_is_under_way_it_is_not_quiet(desk: Desk, clock: HeldClock) -> None:
    desk.house.gate = asyncio.Event()
    asking = asyncio.create_task(ask(desk, "memory.count"))
    await until(lambda: desk.house.began == 1, "it runs")
    clock.advance(hours=1)
    assert desk.dispatch.idle_s() == 0.0
    desk.house.gate.set()
    await asking
    clock.advance(seconds=1)
    assert desk.dispatch.idle_s() == 1.0


async def test_a_daemon_that_has_just_started_was_in_use_just_now(desk: Desk) -> None:
    assert desk.dispatch.idle_s() == 0.0
