"""Client keys on a real file: what memory knows of them is what the file holds."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from support.store import OWNER

from memd.backends.rooms import Rooms
from memd.org.clients import Clients


@pytest.fixture
async def clients(house: Rooms, tmp_path: Path) -> Clients:
    """Return the keys of an empty store."""
    clients = Clients(house.db, house.clock, tmp_path / "keys")
    await clients.load()
    return clients


async def cancelled(call: Coroutine[Any, Any, object]) -> None:
    """Begin *call* and cancel it while its write is under way."""
    task = asyncio.ensure_future(call)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_key_is_revoked_though_the_call_is_cancelled(clients: Clients) -> None:
    dropped: list[str] = []
    clients.on_revoke = dropped.append
    added = await clients.add(OWNER, "codex", scopes=frozenset({"read"}))
    key_file = Path(added.key_file)
    key = key_file.read_text().strip()

    await cancelled(clients.revoke(OWNER, "codex"))

    identity = clients.identify(key)
    assert identity is not None
    assert identity.scopes == frozenset()
    assert dropped == ["codex"]
    assert not key_file.exists()


async def test_a_key_closes_its_agent_though_the_call_is_cancelled(clients: Clients) -> None:
    await cancelled(clients.add(OWNER, "codex", agent_id="closed", scopes=frozenset({"read"})))

    assert [client.name for client in await clients.list()] == ["codex"]
    assert clients.agents() == {"closed"}
