"""What is said of a window becomes a nap: once, in its turn, whatever goes wrong meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from support.clocks import HeldClock
from support.store import ADA, BOB, a_house

from memd.base.errors import (
    BusyError,
    DiskFullError,
    InvalidError,
    MemdError,
    ModelError,
    NotFoundError,
)
from memd.base.limits import NAPS_WAITING_MAX
from memd.cli.sleep.usage import _nap as nap_text
from memd.domain.caller import Caller
from memd.domain.settings.settings import UsageSettings
from memd.domain.sleep.sleep import Window
from memd.domain.values import EventName
from memd.signals.usage import Usage
from memd.sleep.nap.nap import Nap
from memd.sleep.nap.source import NapRequest
from memd.sleep.window import window_watcher as room
from memd.sleep.window.reports import QUEUED_REPORTS_MAX
from memd.sleep.window.window_watcher import WindowWatcher
from memd.store.file.database import Database
from memd.store.session import windows


@dataclass
class FakeNap:
    """Notes what is wanted, and does what a nap does for the windows.

    A nap that finds *gate* closed waits there; each nap raises the next of *fails*, if any.
    """

    db: Database
    requests: list[NapRequest] = field(default_factory=list)
    callers: list[Caller] = field(default_factory=list)
    fails: list[BaseException] = field(default_factory=list)
    gate: asyncio.Event | None = None
    rehearsed: int = 0
    damaged: bool = False

    async def warm_up(self) -> None:
        self.rehearsed += 1
        if self.damaged:
            raise ModelError("tokenizer.json is no tokenizer")

    async def nap(self, caller: Caller, request: NapRequest) -> None:
        self.requests.append(request)
        self.callers.append(caller)
        if self.gate is not None:
            await self.gate.wait()
        if self.fails:
            raise self.fails.pop(0)
        assert request.on_write is not None
        seen = request.on_write
        await self.db.write(caller, lambda conn: seen(conn, 5))


@dataclass
class FakeSessions:
    ended: list[str] = field(default_factory=list)

    async def end(self, caller: Caller, session_id: str) -> None:
        del caller
        self.ended.append(session_id)
        raise NotFoundError("no such session")


@dataclass
class Stage:
    watching: WindowWatcher
    nap: FakeNap
    sessions: FakeSessions
    events: list[dict[str, Any]]

    async def say(self, used: int | None = None, caller: Caller = ADA, **more: Any) -> Window:
        usage = {"source": "codex", "session_id": "s", "used_tokens": used, **more}
        return await self.watching.report(caller, Usage(**usage))

    async def window(self) -> Window:
        await self.watching.settle()
        (window,) = await self.watching.list(ADA)
        return window


@pytest.fixture
async def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    monkeypatch.setattr(room, "RETRY_SECONDS", (0.0, 0.0))
    async with a_house(tmp_path / "memd.db", HeldClock()) as house:
        nap, sessions, events = FakeNap(house.db), FakeSessions(), list[dict[str, Any]]()

        def emit(agent_id: str, name: EventName, body: Any) -> None:
            events.append({"agent_id": agent_id, "name": name, **body})

        watching = WindowWatcher(
            db=house.db,
            clock=house.clock,
            nap=cast("Nap", nap),
            sessions=cast("Any", sessions),
            rule=UsageSettings(),
            usage_path=tmp_path / "usage",
            emit=emit,
        )
        yield Stage(watching, nap, sessions, events)


async def test_a_window_is_known_before_it_is_full(stage: Stage) -> None:
    window = await stage.say(15_000, window_tokens=30_000, model="m")
    assert window.fill == 0.5
    assert await stage.window() == window
    assert stage.nap.requests == []
    assert stage.events == [
        {
            "agent_id": "ada",
            "name": "event.usage",
            "source": "codex",
            "session_id": "s",
            "used_tokens": 15_000,
            "window_tokens": 30_000,
            "fill": 0.5,
        }
    ]


async def test_a_half_full_window_has_the_first_nap_made_ready_for_once(stage: Stage) -> None:
    await stage.say(14_999)
    await stage.watching.settle()
    assert stage.nap.rehearsed == 0
    for used in (15_000, 16_000):
        await stage.say(used)
    await stage.watching.settle()
    assert stage.nap.rehearsed == 1


async def test_what_cannot_be_made_ready_for_ends_nothing(stage: Stage) -> None:
    stage.nap.damaged = True
    await stage.say(15_000)
    await stage.watching.settle()
    await stage.say(25_000)
    await stage.watching.settle()
    assert len(stage.nap.requests) == 1


async def test_what_is_not_said_stays_as_it_was(stage: Stage) -> None:
    await stage.say(15_000, window_tokens=60_000, model="m", cwd="/here")
    window = await stage.say(None, event="Stop", transcript_path="/there")
    assert (window.used_tokens, window.window_tokens, window.model, window.cwd) == (
        15_000,
        60_000,
        "m",
        "/here",
    )
    assert (await stage.window()).transcript_path == "/there"


async def test_until_the_nap_is_done_the_window_may_still_fire(stage: Stage) -> None:
    """So a kill in between leaves the nap to the next start."""
    stage.nap.gate = asyncio.Event()
    await stage.say(15_000)
    await stage.say(25_000)
    stored = await stage.nap.db.read(windows.list_windows)
    assert [(row.used_tokens, row.armed) for row in stored] == [(15_000, True)]
    stage.nap.gate.set()
    assert (await stage.window()).armed is False


async def test_a_window_that_naps_is_listed_meanwhile_to_its_agent(stage: Stage) -> None:
    stage.nap.gate = asyncio.Event()
    window = await stage.say(27_000)
    assert (window.napping, nap_text(window.model_dump())) == (True, "napping")
    assert await stage.watching.list(ADA) == (window,)
    assert await stage.watching.list(BOB) == ()
    stage.nap.gate.set()
    window = await stage.window()
    assert (window.napped_at is not None, window.napping) == (True, False)


async def test_a_window_whose_nap_ends_while_the_list_is_read_is_listed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is stored after the rows were read, and naps no more when they are there."""
    stage.nap.gate = gate = asyncio.Event()
    await stage.say(27_000)
    read = stage.watching.db.read

    async def read_then_end_the_nap(*asked: Any) -> Any:
        window = await read(*asked)
        gate.set()
        await stage.watching.settle()
        return window

    with monkeypatch.context() as patch:
        patch.setattr(stage.watching.db, "read", read_then_end_the_nap)
        (listed,) = await stage.watching.list(ADA)
    assert listed.used_tokens == 27_000
    assert (await stage.window()).napped_at is not None


async def test_what_is_said_meanwhile_is_looked_at_afterwards(stage: Stage) -> None:
    stage.nap.gate = asyncio.Event()
    await stage.say(25_000)
    await asyncio.sleep(0)
    for used in (26_000, 27_000, 9_000):
        await stage.say(used)
    assert len(stage.nap.requests) <= 1
    stage.nap.gate.set()
    window = await stage.window()

    assert (window.used_tokens, window.armed) == (9_000, True)
    assert [request.reason for request in stage.nap.requests] == ["full"]


async def test_an_end_during_a_nap_is_not_lost_to_the_turns_after_it(stage: Stage) -> None:
    stage.nap.gate = asyncio.Event()
    await stage.say(25_000)
    await stage.say(25_100, event="session_end")
    for turn in range(20):
        window = await stage.say(25_200 + turn, event="turn")
        assert window.used_tokens == 25_200 + turn
    stage.nap.gate.set()
    assert (await stage.window()).used_tokens == 25_219
    assert [request.reason for request in stage.nap.requests] == ["full", "ended"]
    assert stage.sessions.ended == ["s"]
    assert len(stage.events) == 3  # of the turns one


async def test_reports_during_a_nap_become_one_that_says_what_each_says(stage: Stage) -> None:
    stage.nap.gate = asyncio.Event()
    await stage.say(25_000)
    await stage.say(26_000, model="m", transcript_path="/old")
    await stage.say(None, cwd="/here", transcript_path="/there")
    await stage.say(None, event="turn", window_tokens=31_000)
    stage.nap.gate.set()
    window = await stage.window()
    assert (window.used_tokens, window.window_tokens, window.event) == (26_000, 31_000, "turn")
    assert (window.model, window.cwd, window.transcript_path) == ("m", "/here", "/there")
    assert len(stage.events) == 2


async def test_a_window_that_empties_and_fills_during_a_nap_naps_again(stage: Stage) -> None:
    stage.nap.gate = asyncio.Event()
    await stage.say(25_000)
    for used in (9_000, 10_000, 24_500, 25_000):
        await stage.say(used)
    stage.nap.gate.set()
    assert (await stage.window()).used_tokens == 25_000
    assert [request.reason for request in stage.nap.requests] == ["full", "full"]


async def test_too_many_reports_with_an_effect_are_refused_and_none_is_dropped(
    stage: Stage,
) -> None:
    stage.nap.gate = asyncio.Event()
    await stage.say(25_000)
    for number in range(QUEUED_REPORTS_MAX):
        await stage.say(25_001 + number, event="SessionEnd")
    with pytest.raises(BusyError):
        await stage.say(26_000, event="SessionEnd")
    stage.nap.gate.set()
    assert (await stage.window()).used_tokens == 25_000 + QUEUED_REPORTS_MAX
    assert len(stage.sessions.ended) == QUEUED_REPORTS_MAX


async def test_the_end_of_a_session_takes_everything_and_ends_it(stage: Stage) -> None:
    await stage.say(3_000, event="SessionEnd", transcript_path="/there")
    await stage.watching.settle()
    (request,) = stage.nap.requests
    assert (request.reason, request.last, request.transcript_path) == ("ended", True, "/there")
    assert stage.sessions.ended == ["s"]


async def test_without_a_readable_transcript_the_session_is_napped_over(stage: Stage) -> None:
    stage.nap.fails = [InvalidError("the transcript is not read: it is elsewhere")]
    await stage.say(25_000, transcript_path="/elsewhere")
    window = await stage.window()
    assert [request.transcript_path for request in stage.nap.requests] == ["/elsewhere", None]
    assert window.napped_at is not None


async def test_what_the_load_prevents_is_tried_again(stage: Stage) -> None:
    stage.nap.fails = [BusyError("busy"), BusyError("busy")]
    await stage.say(25_000)
    assert (await stage.window()).napped_at is not None
    assert len(stage.nap.requests) == 3


@pytest.mark.parametrize("error", [DiskFullError("full"), RuntimeError("a bug")])
async def test_a_nap_that_failed_is_called_for_again_by_the_next_report(
    stage: Stage, error: Exception
) -> None:
    stage.nap.fails = [error] * (3 if isinstance(error, MemdError) else 1)
    await stage.say(25_000)
    await stage.watching.settle()
    assert await stage.watching.list(ADA) == ()

    await stage.say(25_100)
    assert (await stage.window()).napped_at is not None


async def test_too_many_naps_are_refused_and_nothing_is_noted(stage: Stage) -> None:
    stage.nap.gate = asyncio.Event()
    for number in range(NAPS_WAITING_MAX):
        await stage.say(25_000, session_id=f"s{number}")
    with pytest.raises(BusyError):
        await stage.say(25_000, session_id="one too many")
    assert len(stage.nap.requests) <= room.NAPS_AT_ONCE
    stage.nap.gate.set()
    await stage.watching.settle()
    await stage.say(25_000, session_id="one too many")
    await stage.watching.settle()
    assert len(stage.nap.requests) == NAPS_WAITING_MAX + 1


async def test_each_agent_has_its_own_windows(stage: Stage) -> None:
    await stage.say(15_000)
    await stage.say(15_000, BOB, session_id="other")
    assert [w.session_id for w in await stage.watching.list(BOB)] == ["other"]
    assert [event["agent_id"] for event in stage.events] == ["ada", "bob"]


async def test_the_same_session_of_another_agent_takes_over_nothing(stage: Stage) -> None:
    await stage.say(15_000, transcript_path="/adas", cwd="/adas/folder", model="m")
    theirs = await stage.say(16_000, BOB)
    assert (theirs.transcript_path, theirs.cwd, theirs.model) == (None, None, None)
    assert (await stage.window()).transcript_path == "/adas"

    await stage.say(25_000, BOB)
    await stage.say(25_000)  # neither waits for the nap of the other
    await stage.watching.settle()
    naps = zip(stage.nap.callers, stage.nap.requests, strict=True)
    assert {caller.agent_id: request.transcript_path for caller, request in naps} == {
        "bob": None,
        "ada": "/adas",
    }
    for agent in (ADA, BOB):
        (window,) = await stage.watching.list(agent)
        assert window.napped_at is not None


async def test_an_event_that_is_read_again_is_no_news(stage: Stage) -> None:
    at = datetime(2026, 3, 1, tzinfo=UTC)
    for _ in range(2):
        await stage.say(9_000, event="PreCompact", at=at)
        await stage.watching.settle()
    assert [request.reason for request in stage.nap.requests] == ["event"]
    assert (await stage.window()).seen_at == at


async def test_a_small_window_has_a_small_summary(stage: Stage) -> None:
    await stage.say(7_000, window_tokens=8_000)
    await stage.say(190_000, window_tokens=200_000, session_id="large")
    await stage.watching.settle()
    assert [request.max_tokens for request in stage.nap.requests] == [8_000, 30_000]


async def test_the_project_is_the_working_tree_that_the_assistant_stands_in(
    stage: Stage, tmp_path: Path
) -> None:
    deep = tmp_path / "tree" / "src" / "room"
    deep.mkdir(parents=True)
    (tmp_path / "tree" / ".git").mkdir()
    await stage.say(25_000, cwd=str(deep))
    await stage.watching.settle()
    assert [caller.project_id for caller in stage.nap.callers] == [str(tmp_path / "tree")]
