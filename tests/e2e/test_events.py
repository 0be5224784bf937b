"""Who subscribes is told, about its own agent, after the commit; who does not read loses some."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.daemon import WAIT_S, running, until
from support.gated_rooms import GatedRooms
from support.store import a_house

from memd.base import limits
from memd.base.errors import MemoryConnectionError
from memd.base.paths import Paths
from memd.client import AsyncClient
from memd.domain.caller import Caller
from memd.domain.ingest import IngestRequest
from memd.domain.values import EVERYBODY, EventName
from memd.serve.events import Events, Link, Listener


class Ears:
    """Hears events in a task of its own."""

    def __init__(self, client: AsyncClient) -> None:
        self.client = client
        self._heard: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.task: asyncio.Task[None] | None = None

    async def open(self, *names: str, **more: Any) -> None:
        """Listen; returns once the daemon knows."""

        async def listen() -> None:
            async for event in self.client.events(*names, **more):
                self._heard.put_nowait(event)

        self.task = asyncio.create_task(listen())
        await until(lambda: bool(self.client._event_queues), "it is asked for events")
        await asyncio.sleep(0.05)
        await self.client.call("system.hello")  # is answered after what was asked before it

    async def heard(self) -> dict[str, Any]:
        return await asyncio.wait_for(self._heard.get(), WAIT_S)

    async def close(self) -> None:
        assert self.task is not None
        self.task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.task


@contextlib.asynccontextmanager
async def listening(paths: Paths, *names: str, **more: Any) -> AsyncIterator[Ears]:
    async with AsyncClient(socket=paths.socket) as client:
        ears = Ears(client)
        await ears.open(*names, **more)
        yield ears
        await ears.close()


async def test_what_is_stored_is_told_with_its_ids_and_no_text(tmp_path: Path) -> None:
    async with running(tmp_path) as paths, listening(paths, "event.stored") as ears:
        receipt = await ears.client.call("memory.ingest", {"text": "The lighthouse is red."})
        event = await ears.heard()

    (item,) = receipt["stored"] + receipt["pending"]
    assert event == {
        "name": "event.stored",
        "agent_id": "default",
        "ids": [item["id"]],
        "stored": 1,
    }
    assert "lighthouse" not in json.dumps(event)


async def test_another_agents_events_are_not_told(tmp_path: Path) -> None:
    async with running(tmp_path) as paths, listening(paths, agent_id="ada") as ears:
        for agent in ("bob", "ada"):
            params = {"text": f"A note of {agent} alone.", "agent_id": agent}
            await ears.client.call("memory.ingest", params)
        event = await ears.heard()

    assert event["agent_id"] == "ada"


async def test_a_window_and_a_nap_are_told(tmp_path: Path) -> None:
    names = ("event.usage", "event.consolidated")
    async with running(tmp_path) as paths, listening(paths, *names) as ears:
        await ears.client.call("memory.ingest", {"text": "decided: tabs", "session_id": "s"})
        usage = {"source": "codex", "session_id": "s", "used_tokens": 25_000}
        await ears.client.call("usage.report", usage)
        events = {event["name"]: event for event in [await ears.heard(), await ears.heard()]}

    assert events["event.usage"]["nap"] == "full"
    assert events["event.usage"]["fill"] == pytest.approx(25 / 30)
    assert events["event.consolidated"]["session_id"] == "s"
    assert events["event.consolidated"]["reason"] == "full"


async def test_who_unsubscribes_is_told_no_more(tmp_path: Path) -> None:
    async with running(tmp_path) as paths, AsyncClient(socket=paths.socket) as client:
        assert (await client.call("events.subscribe"))["names"] == sorted(EventName)
        left = await client.call("events.unsubscribe", {"names": ["event.stored"]})
        assert "event.stored" not in left["names"]
        assert (await client.call("events.unsubscribe"))["names"] == []
        assert (await client.call("events.unsubscribe"))["names"] == []


async def test_a_lost_connection_ends_the_events(tmp_path: Path) -> None:
    async with running(tmp_path) as paths:
        client = AsyncClient(socket=paths.socket)
        ears = Ears(client)
        await ears.open()
    assert ears.task is not None
    with pytest.raises(MemoryConnectionError):
        await ears.task


async def test_a_call_that_was_cancelled_is_not_the_reason_of_a_later_loss(
    tmp_path: Path,
) -> None:
    house = GatedRooms(gate=asyncio.Event())
    async with running(tmp_path, build=house.build) as paths:
        client = AsyncClient(socket=paths.socket)
        ears = Ears(client)
        await ears.open()
        call = asyncio.create_task(client.call("memory.recall", {"query": "Where are the bees?"}))
        await until(lambda: house.began == 1, "it is being answered")
        call.cancel()
        await until(lambda: house.cancelled == 1, "it is cancelled")
        await client.call("system.hello")  # is answered after it
    assert ears.task is not None
    with pytest.raises(MemoryConnectionError):
        await ears.task


async def test_a_connection_that_listens_is_not_closed_when_idle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CONNECTION_IDLE_MS_MAX", 50)
    house = GatedRooms()
    async with running(tmp_path, build=house.build) as paths:
        listener, listening = await asyncio.open_unix_connection(paths.socket)
        silent, other = await asyncio.open_unix_connection(paths.socket)
        say(listening, "events.subscribe")
        say(other, "system.hello")
        assert await asyncio.wait_for(silent.read(), WAIT_S)  # and then it was closed
        await listener.readline()

        house.rooms.events.emit("default", EventName.STORED, {"stored": 1})

        assert b"event.stored" in await asyncio.wait_for(listener.readline(), WAIT_S)
        say(listening, "events.unsubscribe")
        assert await asyncio.wait_for(listener.read(), WAIT_S)
        for writer in (listening, other):
            writer.close()


def say(writer: asyncio.StreamWriter, method: str) -> None:
    writer.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method}).encode() + b"\n")


class SlowPeer:
    """A connection whose client reads only when told to."""

    def __init__(self) -> None:
        self.listener: Listener | None = None
        self.link: Link | None = None
        self.reads = False
        self.got: list[dict[str, Any]] = []
        self.closed: set[str] = set()

    def may_receive(self, agent_id: str) -> bool:
        return agent_id not in self.closed

    def offer(self, frame: bytes) -> bool:
        if self.reads:
            self.got.append(json.loads(frame)["params"])
        return self.reads


def test_a_slow_listener_loses_the_oldest_and_is_told_how_many() -> None:
    events, peer = Events(), SlowPeer()
    events.subscribe(peer, "ada", [EventName.STORED])

    for number in range(limits.EVENTS_WAITING_MAX + 3):
        events.emit("ada", EventName.STORED, {"number": number})
    peer.reads = True
    assert peer.listener is not None
    peer.listener.flush()
    events.emit("ada", EventName.STORED, {"number": -1})

    assert [event["number"] for event in peer.got[:2]] == [3, 4]
    assert peer.got[0]["lost"] == 3
    assert "lost" not in peer.got[1]
    assert peer.got[-1]["number"] == -1
    assert len(peer.got) == limits.EVENTS_WAITING_MAX + 1


def test_what_concerns_everybody_is_told_once_to_whoever_subscribed_to_it() -> None:
    events, peer = Events(), SlowPeer()
    peer.reads, peer.closed = True, {"cem"}
    events.subscribe(peer, "ada", [EventName.STORED])
    for agent_id in ("cem", "bob", "dan"):
        events.subscribe(peer, agent_id, [EventName.MODEL])
    events.emit(EVERYBODY, EventName.MODEL, {"state": "changed"})
    events.emit(EVERYBODY, EventName.TUNED, {"stage": "done"})
    assert peer.got == [{"agent_id": "bob", "state": "changed"}]


def test_a_connection_that_went_is_forgotten() -> None:
    events, peer = Events(), SlowPeer()
    events.subscribe(peer, "ada", EventName)
    assert peer.listener is not None
    peer.reads = True

    peer.listener.close()
    events.emit("ada", EventName.STORED, {})

    assert peer.got == []


def test_what_waits_of_an_agent_that_was_closed_since_is_not_told() -> None:
    events, peer = Events(), SlowPeer()
    for agent_id in ("ada", "bob"):
        events.subscribe(peer, agent_id, [EventName.STORED])
        events.emit(agent_id, EventName.STORED, {})
    peer.closed.add("ada")
    peer.reads = True
    assert peer.listener is not None
    peer.listener.flush()
    events.emit("ada", EventName.STORED, {})
    assert [event["agent_id"] for event in peer.got] == ["bob"]


async def test_what_is_merged_or_put_away_is_no_event(tmp_path: Path) -> None:
    names: list[EventName] = []
    caller = Caller(agent_id="ada", method="test")
    async with a_house(tmp_path / "memd.db") as house:
        ingest = replace(house.ingest, emit=lambda _agent, name, _body: names.append(name))
        for _ in range(2):
            await ingest.ingest(caller, IngestRequest(text="The lighthouse is red."))
    assert names == [EventName.STORED]
