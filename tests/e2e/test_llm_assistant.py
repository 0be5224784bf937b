"""A connected client is the language model: it registers, and is asked on its own connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from support.setting_effects import Stage, a_stage, tree

from memd.base.errors import DeniedError, InvalidStateError
from memd.client import AsyncClient

MESSAGES = (
    {"role": "user", "content": "We deploy with ansible from the bastion host, never by hand."},
    {"role": "assistant", "content": "Noted. The staging port is 8443, I read it in deploy.yml."},
    *({"role": "assistant", "content": f"This is turn {n} of the rest."} for n in range(6)),
)
FACT = "Deploys go with ansible from the bastion host, never by hand."
REPLY = '{"facts": [{"kind": "decision", "turns": [0], "text": "' + FACT + '"}], "digest": []}'


@asynccontextmanager
async def a_desk(
    home: Path, patch: pytest.MonkeyPatch, **more: Any
) -> AsyncIterator[tuple[Stage, AsyncClient]]:
    llm = {"provider": "assistant", "night_tokens": 100_000, "uses": {"naps": True}, **more}
    async with a_stage(home, patch, tree("llm", llm)) as stage:
        client = AsyncClient(stage.paths.socket, key=stage.paths.operator_key)
        async with client:
            yield stage, client


async def napped(stage: Stage, session: str = "s1") -> list[str]:
    await stage.call(
        "usage.report",
        source="cursor",
        session_id=session,
        used_tokens=170_000,
        window_tokens=200_000,
        messages=list(MESSAGES),
    )
    page = await stage.call("memory.list", limit=100)
    return [each["content"] for each in page["items"]]


async def test_a_registered_client_is_asked_and_its_answer_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []

    async def complete(params: dict[str, Any]) -> dict[str, Any]:
        asked.append(params)
        return {"text": REPLY, "input_tokens": 11, "output_tokens": 7}

    async with a_desk(tmp_path, monkeypatch) as (stage, client):
        await client.provide(complete, "claude", "opus")
        assert FACT in await napped(stage)
        status = await stage.call("llm.status")
        costs = (await stage.call("records.cost_records.list"))["items"]

    (params,) = asked
    assert params["purpose"] == "nap"
    assert params["schema"]["properties"]["facts"]
    assert "<turn>" in params["prompt"]
    assert (status["provider"], status["where"], status["available"]) == (
        "assistant",
        "claude",
        True,
    )
    assert status["night_tokens_spent"] == 18
    assert [each["model"] for each in costs] == ["opus"]


_BY_RULE: list[str] = []
"""What the rules find in the same messages, asked by the first test that needs it."""


async def by_rule(home: Path, patch: pytest.MonkeyPatch) -> list[str]:
    if not _BY_RULE:
        async with a_stage(home, patch, {}) as stage:
            _BY_RULE.extend(sorted(await napped(stage)))
    return _BY_RULE


async def _raises(_: dict[str, Any]) -> str:
    raise ValueError("no")


async def _hangs(_: dict[str, Any]) -> str:
    await asyncio.Event().wait()
    return REPLY


async def _number(_: dict[str, Any]) -> int:
    return 3


async def _huge(_: dict[str, Any]) -> str:
    return "x" * 600_000


async def _empty(_: dict[str, Any]) -> str:
    return ""


@pytest.mark.parametrize("complete", [_raises, _hangs, _number, _huge, _empty])
async def test_an_assistant_that_fails_leaves_it_to_the_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, complete: Any
) -> None:
    expected = await by_rule(tmp_path / "rule", monkeypatch)
    async with a_desk(tmp_path / "desk", monkeypatch, timeout_seconds=1) as (stage, client):
        await client.provide(complete, "claude")
        assert sorted(await napped(stage)) == expected
        assert (await stage.call("llm.status"))["last_error"] or complete is _empty


async def test_nobody_registered_is_the_rules_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = await by_rule(tmp_path / "rule", monkeypatch)
    async with a_desk(tmp_path / "desk", monkeypatch) as (stage, _):
        assert sorted(await napped(stage)) == expected


async def test_an_assistant_that_goes_away_in_the_middle_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = await by_rule(tmp_path / "rule", monkeypatch)
    async with a_desk(tmp_path / "desk", monkeypatch) as (stage, client):
        begun = asyncio.Event()

        async def complete(_: dict[str, Any]) -> str:
            begun.set()
            await asyncio.Event().wait()
            return REPLY

        await client.provide(complete, "claude")
        nap = asyncio.create_task(napped(stage))
        await begun.wait()
        await client.disconnect()
        assert sorted(await nap) == expected
        assert (await stage.call("llm.status"))["where"] is None


async def test_a_given_up_request_is_cancelled_at_the_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancelled = asyncio.Event()

    async def complete(_: dict[str, Any]) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return REPLY

    async with a_desk(tmp_path, monkeypatch, timeout_seconds=1) as (stage, client):
        await client.provide(complete, "claude")
        await napped(stage)
        async with asyncio.timeout(60):
            await cancelled.wait()


async def test_the_last_one_is_asked_and_one_that_leaves_makes_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_desk(tmp_path, monkeypatch) as (stage, client):
        await client.provide(_empty, "first")
        async with AsyncClient(stage.paths.socket, key=stage.paths.operator_key) as second:
            await second.provide(_empty, "second")
            assert (await stage.call("llm.status"))["where"] == "second"
            await second.call("llm.unregister")
            assert (await stage.call("llm.status"))["where"] == "first"


async def test_only_the_owners_clients_are_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_desk(tmp_path, monkeypatch) as (stage, _):
        stranger = AsyncClient(stage.paths.socket)
        with pytest.raises(DeniedError):
            await stranger.provide(_empty, "stranger")
        await stranger.disconnect()
    async with a_stage(tmp_path / "none", monkeypatch, {}) as stage:
        client = AsyncClient(stage.paths.socket, key=stage.paths.operator_key)
        with pytest.raises(InvalidStateError, match="the language model is not an assistant"):
            await client.provide(_empty, "claude")
        await client.disconnect()


async def test_an_answer_that_nobody_asked_for_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_desk(tmp_path, monkeypatch) as (stage, client):
        await client.provide(_empty, "claude")
        assert client._writer is not None
        client._writer.write(b'{"jsonrpc": "2.0", "id": "llm.complete-9", "result": 1}\n')
        client._writer.write(b'{"jsonrpc": "2.0", "id": 7, "error": {"code": 1}}\n')
        assert (await client.call("llm.status"))["where"] == "claude"
        assert (await stage.call("llm.status"))["where"] == "claude"
