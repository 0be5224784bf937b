"""Cancellation, progress, going away, stopping: the life of a request at a real socket."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.daemon import WAIT_S, running, until
from support.gated_rooms import GatedRooms
from support.raw_socket import Wire, operating, req, wire

from memd.base import errors, log
from memd.base.errors import (
    AlreadyRunningError,
    InternalError,
    InvalidError,
    NotRunningError,
    UnsafePathError,
)
from memd.base.limits import IN_FLIGHT_REQUESTS_MAX
from memd.base.paths import Paths
from memd.client import AsyncClient, Client
from memd.serve import server

STORE = {"content": "a", "category": "semantic"}


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """What the log writes, down to its least important lines."""
    stream = io.StringIO()
    log.configure(level="debug", stream=stream)
    yield stream
    log.configure()


def cancel(request_id: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": request_id}}


async def test_a_cancelled_request_is_answered_cancelled(line: Wire, house: GatedRooms) -> None:
    house.gate = asyncio.Event()
    await line.send(req("memory.count", "a"))
    await until(lambda: house.began == 1, "it runs")
    await line.send(cancel("a"))
    answer = await line.frame()
    assert (answer["id"], answer["error"]["code"]) == ("a", -32800)
    assert house.cancelled == 1


@pytest.mark.parametrize("what", ["unknown", None, True, {}, [1]])
async def test_cancelling_what_does_not_run_does_nothing(line: Wire, what: Any) -> None:
    await line.send(cancel(what))
    assert "result" in await line.ask(req("system.hello"))


async def test_one_member_of_a_batch_can_be_cancelled(line: Wire, house: GatedRooms) -> None:
    house.gate = asyncio.Event()
    await line.send([req("memory.count", 1), req("memory.count", 2)])
    await until(lambda: house.began == 2, "both run")
    await line.send(cancel(2))
    await until(lambda: house.cancelled == 1, "one is cancelled")
    house.gate.set()
    one, two = await line.frame()
    assert one["result"] == 0
    assert two["error"]["code"] == -32800


async def test_a_request_is_cancelled_by_a_line_of_the_same_packet(
    line: Wire, house: GatedRooms
) -> None:
    house.gate = asyncio.Event()
    frames = [req("memory.count", 1), cancel(1)]
    await line.raw(b"".join(json.dumps(frame).encode() + b"\n" for frame in frames))
    answer = await line.frame()
    assert (answer["id"], answer["error"]["code"]) == (1, -32800)
    assert house.began == house.cancelled


async def test_a_request_is_cancelled_by_a_member_of_its_own_batch(
    line: Wire, house: GatedRooms
) -> None:
    house.gate = asyncio.Event()
    await line.send([req("memory.count", 1), cancel(1), cancel(2), req("memory.count", 2)])
    await until(lambda: house.began - house.cancelled == 1, "one is left")
    house.gate.set()
    one, two = await line.frame()
    assert (one["id"], one["error"]["code"]) == (1, -32800)
    assert (two["id"], two["result"]) == (2, 0)  # it had not begun when it was cancelled


async def test_an_id_in_flight_cannot_be_used_again(line: Wire, house: GatedRooms) -> None:
    house.gate = asyncio.Event()
    await line.send(req("memory.count", 1))
    await until(lambda: house.began == 1, "it runs")
    answer = await line.ask(req("memory.count", 1))
    assert answer["error"]["code"] == -32600
    house.gate.set()
    assert "result" in await line.frame()


async def test_reads_end_with_their_client_and_a_write_that_began_is_finished(
    gated: Paths, house: GatedRooms
) -> None:
    house.gate = asyncio.Event()
    async with wire(gated.socket) as gone:
        await gone.send(req("memory.count", 1), req("memory.store", 2, **STORE))
        await until(lambda: house.began == 2, "both run")
    await until(lambda: house.cancelled == 1, "the read is cancelled")
    house.gate.set()
    await until(lambda: house.done == 1, "the write is finished")
    assert await house.memories() == 1
    assert house.cancelled == 1


async def test_a_client_that_only_stops_sending_still_gets_its_answers(
    line: Wire, house: GatedRooms
) -> None:
    house.gate = asyncio.Event()
    await line.send(req("memory.count"))
    line.writer.write_eof()
    await until(lambda: house.began == 1, "it runs")
    house.gate.set()
    assert (await line.frame())["result"] == 0
    assert await line.closed()


async def test_progress_is_told_under_the_token_that_was_given(line: Wire) -> None:
    items, token = [{"text": "a"}, {"text": "b"}], {"progress_token": "t"}
    await line.send(req("memory.ingest_many", items=items, **token))
    frames = [await line.frame(), await line.frame()]
    assert [t["params"] for t in frames] == [
        {"token": "t", "value": {"done": n, "total": 2}} for n in (0, 2)
    ]
    assert len((await line.frame())["result"]["items"]) == 2


async def test_a_bug_is_an_incident_and_tells_no_text(
    line: Wire, house: GatedRooms, written: io.StringIO
) -> None:
    house.fail = RuntimeError("the gate code is 4711")
    answer = await line.ask(req("memory.recall", query="the gate code is 4711"))
    assert answer["error"]["code"] == -32603
    incident = answer["error"]["data"]["incident"]
    logged = written.getvalue()
    assert incident in logged
    assert "RuntimeError" in logged
    assert "pass_through" in logged
    assert "4711" not in logged + str(answer)


async def test_a_stop_answers_what_runs_and_refuses_the_rest(home: Path, house: GatedRooms) -> None:
    house.gate = asyncio.Event()
    async with running(home, house.build) as paths:
        client = AsyncClient(paths.socket)
        waiting = asyncio.create_task(client.call("memory.store", STORE))
        await until(lambda: house.began == 1, "it runs")
        async with wire(paths.socket) as other:
            await operating(other, paths)
            assert (await other.ask(req("system.shutdown")))["result"] is None
            await asyncio.sleep(0.1)
            house.gate.set()
            memory_id = await waiting
            assert await other.closed()
        await client.disconnect()
        await until(lambda: not paths.socket.exists(), "the socket is gone")
        with pytest.raises(NotRunningError) as caught:
            Client(paths.socket).call("system.hello")
        assert caught.value.hint == "start it: memd serve"
    async with running(home) as paths, AsyncClient(paths.socket) as client:
        assert await client.call("memory.get", {"id": memory_id}), "what was answered is kept"


async def test_a_stop_does_not_wait_for_who_asks_nothing(
    home: Path, house: GatedRooms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "DRAIN_MS_MAX", 3_600_000)
    async with asyncio.timeout(WAIT_S), contextlib.AsyncExitStack() as behind:
        async with running(home, house.build) as paths:
            idle = await behind.enter_async_context(wire(paths.socket))
            await idle.ask(req("system.hello"))
        assert await idle.closed()


async def test_a_stop_waits_for_what_runs_no_longer_than_it_may(
    home: Path, house: GatedRooms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "DRAIN_MS_MAX", 50)
    house.gate = asyncio.Event()  # nobody opens it
    async with asyncio.timeout(WAIT_S), contextlib.AsyncExitStack() as behind:
        async with running(home, house.build) as paths:
            waiting = await behind.enter_async_context(wire(paths.socket))
            await waiting.send(req("memory.count"))
            await until(lambda: house.began == 1, "it runs")
        assert (await waiting.frame())["error"]["data"]["kind"] == "stopping"
        assert await waiting.closed()


async def test_a_second_daemon_on_the_same_profile_leaves(home: Path, house: GatedRooms) -> None:
    async with running(home, house.build) as paths:
        with pytest.raises(AlreadyRunningError, match=r"pid \d+") as refused:
            async with running(home, house.build):
                pass
        assert paths.stop_command in (refused.value.hint or "")
        async with AsyncClient(paths.socket) as client:
            assert await client.health_check()


async def test_h08_a_directory_others_may_write_to_keeps_the_daemon_from_starting(
    home: Path, house: GatedRooms
) -> None:
    paths = Paths.resolve(home=home, environ={})
    paths.socket.parent.mkdir(mode=0o700)
    paths.socket.parent.chmod(0o777)
    with pytest.raises(UnsafePathError):
        async with running(home, house.build):
            pass


async def test_a_room_that_dies_brings_the_daemon_down(home: Path, house: GatedRooms) -> None:
    async def dies() -> None:
        raise RuntimeError

    async def build(*args: Any) -> Any:
        rooms = await house.build(*args)
        rooms.background = (dies,)
        return rooms

    with pytest.raises(BaseExceptionGroup):
        async with running(home, build) as paths:
            await until(lambda: not paths.socket.exists(), "the daemon is gone")


async def test_the_log_never_sees_a_param(
    line: Wire, written: io.StringIO, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")  # of what the libraries write
    gossip = "the gate code is 4711"
    calls: list[Any] = [
        req("memory.store", content=gossip, category="semantic"),
        req("memory.store", content=gossip, category=gossip),
        req("memory.recall", query=gossip, top_k=gossip),
        req(gossip, text=gossip),
        [req("memory.ingest", text=gossip, surprise=gossip)],
    ]
    for call in calls:
        answer = await line.ask(call)
        assert "4711" not in str(answer) or answer["error"]["code"] == -32601
    assert "memory.store" in written.getvalue()
    assert "4711" not in written.getvalue()
    assert "4711" not in caplog.text


# The clients.


async def test_calls_at_once_share_one_connection_and_get_their_own_answers(
    gated: Paths, house: GatedRooms
) -> None:
    async with AsyncClient(gated.socket) as client:
        ids = await asyncio.gather(
            *(client.call("memory.store", {**STORE, "content": f"n{i}"}) for i in range(200))
        )
        entries = await asyncio.gather(*(client.call("memory.get", {"id": i}) for i in ids))
        assert [entry["content"] for entry in entries] == [f"n{i}" for i in range(200)]
        assert (await client.call("system.metrics"))["accepted"] == 1
    assert len({caller.idempotency_key for caller in house.callers[:200]}) == 200


async def test_a_call_that_is_cancelled_is_cancelled_in_the_daemon_too(
    gated: Paths, house: GatedRooms
) -> None:
    house.gate = asyncio.Event()
    async with AsyncClient(gated.socket) as client:
        call = asyncio.create_task(client.call("memory.count"))
        await until(lambda: house.began == 1, "it runs")
        call.cancel()
        await until(lambda: house.cancelled == 1, "it is cancelled there")


async def test_an_answer_that_does_not_come_is_a_timeout(gated: Paths, house: GatedRooms) -> None:
    house.gate = asyncio.Event()
    async with AsyncClient(gated.socket, timeout=0.1) as client:  # the end of patience is tested
        with pytest.raises(errors.TimeoutError):
            await client.call("memory.count")
        client._timeout = WAIT_S
        assert (await client.call("system.hello"))["name"] == "memd"
    with Client(gated.socket, timeout=0.1) as waiting:  # the end of patience is tested
        with pytest.raises(errors.TimeoutError):
            await asyncio.to_thread(waiting.call, "memory.count")
        waiting._timeout = WAIT_S
        house.gate.set()
        assert await asyncio.to_thread(waiting.call, "memory.count") == 0


async def test_the_waiting_client_does_the_same(gated: Paths) -> None:
    steps: list[tuple[int, int]] = []

    def work() -> None:
        with Client(gated.socket) as client:
            memory_id = client.add("hello")
            assert client.search("hello")[0]["id"] == memory_id
            assert client.recall("hello")["memories"][0]["id"] == memory_id
            assert client.ingest("text")["stored"]
            items = [{"text": "a"}, {"text": "b"}]
            client.call(
                "memory.ingest_many", {"items": items}, progress=lambda d, t: steps.append((d, t))
            )
            with pytest.raises(InvalidError):
                client.call("memory.get", {"id": 1})
            with pytest.raises(errors.TooLargeError):
                client.add("x" * 2_000_000)
            with pytest.raises(InvalidError):
                client.add("\ud800")

    await asyncio.to_thread(work)
    assert steps == [(0, 2), (2, 2)]


async def test_the_async_client_tells_progress(gated: Paths) -> None:
    steps: list[tuple[int, int]] = []
    async with AsyncClient(gated.socket) as client:
        items = [{"text": "a"}, {"text": "b"}]
        await client.call(
            "memory.ingest_many", {"items": items}, progress=lambda d, t: steps.append((d, t))
        )
    assert steps == [(0, 2), (2, 2)]


@pytest.mark.parametrize("kind", ["waiting", "async"])
async def test_a_write_whose_answer_was_lost_is_sent_again_and_happens_once(
    home: Path, house: GatedRooms, kind: str
) -> None:
    """Between the client and the daemon stands a relay that swallows the first answer."""
    async with running(home, house.build) as paths:
        seen: list[int] = []

        async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            async with wire(paths.socket) as behind:
                while line := await reader.readline():
                    answer = await behind.ask(line[:-1])
                    if json.loads(line)["method"] == "memory.store":
                        seen.append(answer["id"])
                        if len(seen) == 1:
                            break
                    writer.write(json.dumps(answer).encode() + b"\n")
                    await writer.drain()
                writer.close()
                await writer.wait_closed()

        between = home / "relay.sock"
        async with await asyncio.start_unix_server(relay, between):
            if kind == "async":
                client = AsyncClient(between)
                memory_id = await client.call("memory.store", STORE)
                await client.disconnect()
            else:
                waiting = Client(between)
                memory_id = await asyncio.to_thread(waiting.call, "memory.store", STORE)
                waiting.close()
        assert len(seen) == 2
        assert await house.memories() == 1
        async with AsyncClient(paths.socket) as looking:
            assert (await looking.call("memory.get", {"id": memory_id}))["content"] == "a"


async def test_a_bug_arrives_with_its_incident(gated: Paths, house: GatedRooms) -> None:
    house.fail = KeyError("x")
    async with AsyncClient(gated.socket) as client:
        with pytest.raises(InternalError) as caught:
            await client.call("memory.count")
        assert caught.value.incident


async def test_a_stop_refuses_in_words_what_waits_and_what_arrives_meanwhile(
    home: Path, house: GatedRooms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "DRAIN_MS_MAX", 3_600_000)
    house.gate = asyncio.Event()
    async with running(home, house.build) as paths, wire(paths.socket) as busy:
        for number in range(IN_FLIGHT_REQUESTS_MAX + 8):  # more than may run at a time
            await busy.send(req("memory.count", number))
        await until(lambda: house.began == IN_FLIGHT_REQUESTS_MAX, "they run")
        async with wire(paths.socket) as other:
            await operating(other, paths)
            await other.send(req("system.shutdown"))
            kinds = [(await busy.frame())["error"]["data"]["kind"] for _ in range(8)]
            assert kinds == ["stopping"] * 8
            await busy.send(req("memory.count", "late"))
            assert (await busy.frame())["error"]["data"]["kind"] == "stopping"
            house.gate.set()
            answered = [await busy.frame() for _ in range(IN_FLIGHT_REQUESTS_MAX)]
            assert all("result" in answer for answer in answered)
            assert await busy.closed()
