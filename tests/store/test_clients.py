"""Client keys on a real file: what memory knows of them is what the file holds."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from support.store import OWNER

from memd.backends.rooms import Rooms
from memd.org.clients import Clients
from memd.store.access import clients as table
from memd.store.access.clients import ClientRow
from memd.store.file.connect import Reading


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


async def test_a_slow_load_does_not_bring_a_revoked_key_back(
    clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = await clients.add(OWNER, "codex", scopes=frozenset({"read"}))
    key = Path(added.key_file).read_text().strip()
    has_read, go_on = threading.Event(), threading.Event()
    list_clients = table.list_clients

    def list_slowly(conn: Reading) -> list[ClientRow]:
        rows = list_clients(conn)
        if not has_read.is_set():
            has_read.set()
            go_on.wait()
        return rows

    monkeypatch.setattr(table, "list_clients", list_slowly)
    loading = asyncio.ensure_future(clients.load())
    await asyncio.to_thread(has_read.wait)
    revoking = asyncio.ensure_future(clients.revoke(OWNER, "codex"))
    revoked = "SELECT revoked_at_us IS NOT NULL FROM client WHERE client_id = 'codex'"
    while not await clients.db.read(lambda conn: conn.exists(revoked)):
        pass
    for _ in range(200):  # in which a load that waits for no other one is done
        await clients.db.read(lambda _: None)
        await asyncio.sleep(0)  # or the reader that is free is never another's
    go_on.set()
    await asyncio.gather(loading, revoking)
    identity = clients.identify(key)
    assert identity is not None
    assert identity.scopes == frozenset()
