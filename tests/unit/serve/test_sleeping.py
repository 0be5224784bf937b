"""``sleep.*`` on the socket: what reaches the nights, and what comes back."""

from __future__ import annotations

import asyncio
import json
from typing import Any, get_args

import pytest
from support.access import the_operator
from support.clocks import HeldClock
from support.rooms import FakeHouse
from support.sleeping import FakeNight

from memd.cli.sleep.sleep import _DID
from memd.rpc.envelope import Request
from memd.serve.dispatch import ActiveRequest, Dispatch
from memd.serve.routes.sleep import NightStep
from memd.sleep.night.night import STEPS


async def ask(dispatch: Dispatch, method: str, **params: Any) -> Any:
    frame = await dispatch.answer(Request(7, method, params), ActiveRequest(the_operator()))
    assert frame is not None
    answer = json.loads(frame)
    return answer["result"] if "result" in answer else answer["error"]["data"]


async def test_a_night_is_asked_for_with_its_steps_and_its_agent() -> None:
    house = FakeHouse()
    done = await ask(
        house.dispatch(), "sleep.run", dry_run=True, steps=["retention", "cap"], agent_id="ada"
    )
    assert (done["kind"], done["state"], done["dry_run"]) == ("night", "done", True)
    assert house.night.asked == [
        {"dry_run": True, "steps": frozenset({"retention", "cap"}), "agent_id": "ada"}
    ]


def test_the_steps_that_can_be_asked_for_are_those_of_a_night_and_each_is_explained() -> None:
    assert get_args(NightStep) == STEPS
    assert tuple(_DID) == (*STEPS, "nap")


async def test_a_night_without_an_agent_is_everybodys() -> None:
    house = FakeHouse()
    await ask(house.dispatch(), "sleep.run")
    assert house.night.asked == [{"dry_run": False, "steps": None, "agent_id": None}]


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
    method: str, params: dict[str, Any], field: str
) -> None:
    refused = await ask(FakeHouse().dispatch(), method, **params)
    assert (refused["kind"], refused["field"]) == ("invalid", field)


async def test_reports_come_page_by_page_newest_first() -> None:
    dispatch = FakeHouse().dispatch()
    for _ in range(5):
        await ask(dispatch, "sleep.compress", force=True, sessions=2)
    seen: list[str] = []
    after: dict[str, str] = {}
    while True:
        page = await ask(dispatch, "sleep.report", limit=2, **after)
        seen += [run["run_id"] for run in page["items"]]
        if page["next"] is None:
            break
        after = {"after": page["next"]}
    assert seen == ["run-0004", "run-0003", "run-0002", "run-0001", "run-0000"]


async def test_one_run_is_reported_by_its_id_and_an_unknown_one_is_not_found() -> None:
    dispatch = FakeHouse().dispatch()
    run = await ask(dispatch, "sleep.run")
    found = await ask(dispatch, "sleep.report", run_id=run["run_id"])
    assert found["items"] == [run]
    assert (await ask(dispatch, "sleep.report", run_id="other"))["kind"] == "not_found"


async def test_a_run_is_undone_once() -> None:
    dispatch = FakeHouse().dispatch()
    run = await ask(dispatch, "sleep.run")
    assert (await ask(dispatch, "sleep.undo", run_id=run["run_id"]))["kind"] == "undo"
    assert (await ask(dispatch, "sleep.undo", run_id=run["run_id"]))["kind"] == "conflict"


async def test_pause_and_resume_answer_with_the_status() -> None:
    dispatch = FakeHouse().dispatch()
    assert (await ask(dispatch, "sleep.pause"))["paused"] is True
    assert (await ask(dispatch, "sleep.status"))["paused"] is True
    assert (await ask(dispatch, "sleep.resume"))["paused"] is False


async def test_a_night_tells_its_progress() -> None:
    told: list[Any] = []
    request = Request(7, "sleep.run", {"progress_token": "t"})
    await (
        FakeHouse()
        .dispatch()
        .answer(
            request, ActiveRequest(the_operator(), lambda frame: told.append(json.loads(frame)))
        )
    )
    assert [message["params"]["token"] for message in told] == ["t"]


async def test_a_cancelled_request_ends_the_waiting_and_not_the_night() -> None:
    house = FakeHouse()
    house.night.gate = asyncio.Event()
    dispatch = house.dispatch()
    asking = asyncio.create_task(ask(dispatch, "sleep.run"))
    await asyncio.sleep(0.01)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert (await ask(dispatch, "sleep.status"))["running"]["kind"] == "night"
    house.night.gate.set()
    await asyncio.sleep(0.01)
    assert (await ask(dispatch, "sleep.status"))["last"]["state"] == "done"


async def test_a_use_of_the_memory_ends_the_quiet_and_a_look_at_memd_does_not() -> None:
    clock = HeldClock()
    dispatch = FakeHouse().dispatch(clock)
    clock.advance(seconds=100)
    looking = "system.status system.hello sleep.status sleep.report model.status usage.list"
    for method in looking.split():
        await ask(dispatch, method)
    assert dispatch.quiet_s() == 100.0
    await ask(dispatch, "memory.count")
    assert dispatch.quiet_s() == 0.0
    clock.advance(seconds=7)
    assert dispatch.quiet_s() == 7.0


async def test_while_a_request_is_under_way_it_is_not_quiet() -> None:
    clock = HeldClock()
    house = FakeHouse(gate=asyncio.Event())
    dispatch = house.dispatch(clock)
    asking = asyncio.create_task(ask(dispatch, "memory.count"))
    await asyncio.sleep(0)
    clock.advance(hours=1)
    assert dispatch.quiet_s() == 0.0
    assert house.gate is not None
    house.gate.set()
    await asking
    clock.advance(seconds=1)
    assert dispatch.quiet_s() == 1.0


async def test_a_daemon_that_has_just_started_was_in_use_just_now() -> None:
    assert FakeHouse(night=FakeNight(HeldClock())).dispatch(HeldClock()).quiet_s() == 0.0
