"""Keys and scopes at the real socket: who may do what, and every attempt beyond it on record."""

from __future__ import annotations

import asyncio
import itertools
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.daemon import WAIT_S, Spawned, running, spawned, wait_until
from support.desk import denied

from memd.base import client_key
from memd.base.errors import (
    DeniedError,
    InvalidError,
    InvalidStateError,
    MemdError,
    MemoryStoreError,
    NotFoundError,
)
from memd.base.paths import Paths
from memd.client import AsyncClient, Client
from memd.domain.caller import SCOPES
from memd.serve.rooms import DaemonRooms, rooms
from memd.serve.routes.routes import methods


@pytest.fixture
def owner(daemon: Spawned) -> Iterator[Client]:
    with daemon.client() as client:
        yield client


_names = iter(range(1_000))
_open: list[Client] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while _open:
        _open.pop().close()


def a_client(daemon: Spawned, owner: Client, **params: Any) -> Client:
    """Add a client of its own and return a connection with its key."""
    name = params.pop("name", None) or f"client{next(_names)}"
    added = owner.call("client.add", {"name": name, **params})
    _open.append(Client(daemon.paths.socket, key=Path(added["key_file"])))
    return _open[-1]


def name_of(client: Client) -> str:
    who: dict[str, Any] = client.call("system.hello")["caller"]
    return str(who["client"])


# Keys.


def test_a_key_is_in_a_file_of_its_owner_alone_and_nowhere_else(
    daemon: Spawned, owner: Client
) -> None:
    added = owner.call("client.add", {"name": "quiet", "agent_id": "ada"})
    place = Path(added["key_file"])
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
    key = client_key.read(place)
    for path in daemon.paths.data_dir.glob("memd.db*"):
        assert key.encode() not in path.read_bytes()
        assert bytes.fromhex(key.removeprefix("memd-key-")) not in path.read_bytes()
    assert key not in daemon.log.read_text("utf-8")


def test_hello_says_whom_the_daemon_takes_one_for(daemon: Spawned, owner: Client) -> None:
    fields = {"agent_id": "bea", "seniority": "senior", "autonomy_level": "semi"}
    with a_client(daemon, owner, name="bea", scopes=["read"], **fields) as client:
        who = client.call("system.hello")["caller"]
    assert who == {"client": "bea", "scopes": ["read"], **fields}
    with Client(daemon.paths.socket) as keyless:
        who = keyless.call("system.hello")["caller"]
    assert (who["client"], who["agent_id"]) == ("local", "default")
    assert who["scopes"] == ["propose", "read", "write"]
    assert who["seniority"] is None


def test_a_key_that_is_nobodys_has_no_rights_at_all_and_is_audited(
    daemon: Spawned, owner: Client
) -> None:
    before = denied(owner, "unknown").get("system.hello", 0)
    stranger = Client(daemon.paths.socket, key="memd-key-" + "0" * 64)
    with stranger, pytest.raises(DeniedError):
        stranger.call("memory.count")
    with Client(daemon.paths.socket) as client:
        with pytest.raises(DeniedError):
            client.call("system.hello", {"client_key": "open sesame"})
        with pytest.raises(DeniedError, match="unknown client key") as caught:
            client.call("memory.count")  # nor those of somebody without a key
        assert "revoke" not in str(caught.value.hint)
        assert "memd client add NAME" in str(caught.value.hint)
    wait_until(lambda: denied(owner, "unknown")["system.hello"] == before + 2, "both are audited")
    assert denied(owner, "unknown")["memory.count"] == 1


def test_a_revoked_key_loses_its_live_connections_too(daemon: Spawned, owner: Client) -> None:
    client = a_client(daemon, owner, name="gone")
    assert client.call("memory.count") == 0
    key = client_key.read(daemon.paths.keys_dir / "gone.key")
    owner.call("client.revoke", {"name": "gone"})
    with pytest.raises(DeniedError, match="revoked"):
        client.call("memory.count")
    client.close()
    with Client(daemon.paths.socket, key=key) as again, pytest.raises(DeniedError) as caught:
        again.call("memory.count")
    assert "revoked" in caught.value.message
    assert denied(owner, "gone") == {"memory.count": 1, "system.hello": 1}
    assert not (daemon.paths.keys_dir / "gone.key").exists()


def test_a_name_has_one_key_and_after_its_revocation_may_have_another(
    daemon: Spawned, owner: Client
) -> None:
    first = a_client(daemon, owner, name="twice")
    assert first.call("memory.count") == 0
    with pytest.raises(InvalidStateError):
        owner.call("client.add", {"name": "twice"})
    owner.call("client.revoke", {"name": "twice"})
    second = a_client(daemon, owner, name="twice")
    assert second.call("memory.count") == 0
    with pytest.raises(DeniedError):
        first.call("memory.count")


@pytest.mark.parametrize("name", ["local", "operator", "owner", "../up", "A", "", "x" * 65])
def test_a_name_that_is_no_file_name_or_not_to_give_is_refused(owner: Client, name: str) -> None:
    with pytest.raises(InvalidError):
        owner.call("client.add", {"name": name})


def test_a_key_file_that_others_could_read_is_not_used(
    daemon: Spawned, owner: Client, tmp_path: Path
) -> None:
    added = owner.call("client.add", {"name": "open"})
    place = tmp_path / "open.key"
    place.write_bytes(Path(added["key_file"]).read_bytes())
    place.chmod(0o640)
    with pytest.raises(MemdError, match="other users may read"):
        Client(daemon.paths.socket, key=place).call("memory.count")
    place.chmod(0o600)
    with Client(daemon.paths.socket, key=place) as client:
        assert client.call("memory.count") == 0
    link = tmp_path / "link.key"
    link.symlink_to(place)
    with pytest.raises(MemdError, match="cannot be read"):
        Client(daemon.paths.socket, key=link).call("memory.count")


def test_a_key_with_the_line_break_of_its_file_is_that_key(daemon: Spawned, owner: Client) -> None:
    added = owner.call("client.add", {"name": "broken-line"})
    text = Path(added["key_file"]).read_text("utf-8")
    assert text.endswith("\n")
    with Client(daemon.paths.socket, key=text) as client:
        assert name_of(client) == "broken-line"
    with Client(daemon.paths.socket) as client:
        who = client.call("system.hello", {"client_key": text})["caller"]
        assert who["client"] == "broken-line"


def test_a_key_file_that_is_not_there_is_named_with_what_to_do(
    daemon: Spawned, tmp_path: Path
) -> None:
    place = tmp_path / "lost.key"
    with pytest.raises(NotFoundError, match=r"lost\.key does not exist") as caught:
        Client(daemon.paths.socket, key=place).call("memory.count")
    assert "memd client add" in str(caught.value.hint)


async def test_the_environment_names_a_clients_key(
    daemon: Spawned, owner: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = owner.call("client.add", {"name": "env", "agent_id": "eve"})
    monkeypatch.setenv("MEMD_CLIENT_KEY_FILE", added["key_file"])
    with Client(daemon.paths.socket) as client:
        assert name_of(client) == "env"
    async with AsyncClient(daemon.paths.socket) as asynchronous:
        assert (await asynchronous.call("system.hello"))["caller"]["agent_id"] == "eve"


def test_a_key_that_lacks_a_scope_says_how_the_owner_makes_one_with_it(
    daemon: Spawned, owner: Client
) -> None:
    reader = a_client(daemon, owner, name="reader", scopes=["read"])
    with pytest.raises(DeniedError) as caught:
        reader.call("sleep.run", {})
    hint = caught.value.hint or ""
    assert '"memd client revoke reader"' in hint
    assert '"memd client add reader --scopes read,admin"' in hint
    owner.call("client.revoke", {"name": "reader"})
    owner.call("client.add", {"name": "reader", "scopes": ["read", "admin"]})  # as it says
    with Client(daemon.paths.socket) as keyless, pytest.raises(DeniedError) as caught:
        keyless.call("sleep.run", {})
    assert "memd client add NAME --scopes read,write,propose,admin" in (caught.value.hint or "")


# Agents.


def test_two_clients_with_keys_see_and_do_exactly_what_they_may(
    daemon: Spawned, owner: Client
) -> None:
    ann = a_client(daemon, owner, name="ann", agent_id="ann")
    cid = a_client(daemon, owner, name="cid", agent_id="cid", scopes=["read"])
    memory_id = ann.call("memory.store", {"content": "Ann keeps bees.", "category": "semantic"})

    assert ann.call("memory.get", {"id": memory_id})["agent_id"] == "ann"
    assert cid.call("memory.get", {"id": memory_id}) is None
    assert cid.call("memory.recall", {"query": "bees"})["memories"] == []
    for client, method, params in (
        (cid, "memory.get", {"id": memory_id, "agent_id": "ann"}),
        (cid, "memory.store", {"content": "x", "category": "semantic"}),
        (cid, "memory.store", {"content": "x", "category": "semantic", "agent_id": "ann"}),
        (ann, "memory.recall", {"query": "bees", "agent_id": "cid"}),
        (ann, "memory.count", {"user_id": "default"}),
        (ann, "store.check", {}),
        (ann, "memory.store", {"content": "x", "category": "semantic", "agent_id": "__shared__"}),
    ):
        with pytest.raises(DeniedError):
            client.call(method, params)
    assert denied(owner, "ann") == {
        "memory.recall": 1, "memory.count": 1, "store.check": 1, "memory.store": 1,
    }  # fmt: skip
    wait_until(
        lambda: denied(owner, "cid") == {"memory.get": 1, "memory.store": 2}, "all are counted"
    )
    assert owner.call("memory.count", {"agent_id": "cid"}) == 0


def test_two_clients_with_keys_share_what_each_publishes_and_takes_back_alone(
    daemon: Spawned, owner: Client
) -> None:
    ora = a_client(daemon, owner, name="ora", agent_id="ora")
    pia = a_client(daemon, owner, name="pia", agent_id="pia")
    memory = {"content": "Staging is reset on Mondays.", "category": "semantic"}
    shared = ora.call("shared.publish", memory)
    (entry,) = pia.call("shared.search", {"text": "staging reset"})
    assert (entry["id"], entry["agent_id"]) == (shared, "ora")
    assert ora.call("shared.search", {"text": "staging reset", "exclude_agent": "ora"}) == []
    with pytest.raises(MemoryStoreError):
        pia.call("shared.retract", {"id": shared})
    for agent_id in ("ora", "__shared__"):
        with pytest.raises(DeniedError):
            pia.call("shared.retract", {"id": shared, "agent_id": agent_id})
        with pytest.raises(DeniedError):
            pia.call("memory.delete", {"id": shared, "agent_id": agent_id})
    with pytest.raises(MemoryStoreError):
        pia.call("memory.delete", {"id": shared})
    assert ora.call("shared.retract", {"id": shared}) is True
    assert ora.call("shared.retract", {"id": shared}) is False
    assert pia.call("shared.search", {"text": "staging reset"}) == []


def test_a_key_of_one_agent_imports_nothing_for_another(daemon: Spawned, owner: Client) -> None:
    owner.call("memory.store", {"content": "Mine.", "category": "semantic", "agent_id": "victim"})
    (entry,) = owner.call("store.export", {"agent_id": "victim"})["items"]
    client = a_client(daemon, owner, name="dov", agent_id="dov")
    forged = {**entry, "id": "0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11", "content": "Not mine."}
    with pytest.raises(DeniedError):
        client.call("store.import", {"items": [forged]})
    assert owner.call("memory.count", {"agent_id": "victim"}) == 1
    assert denied(owner, "dov") == {"store.import": 1}


def test_a_key_of_one_agent_lists_no_other_agents_settings_or_runs(
    daemon: Spawned, owner: Client
) -> None:
    for agent_id in ("hal", "ivy"):
        owner.call("agent.set", {"agent_id": agent_id, "retention_days": 9})
        owner.call("sleep.compress", {"agent_id": agent_id, "force": True})
    client = a_client(daemon, owner, name="hal", agent_id="hal")
    assert [one["agent_id"] for one in client.call("agent.list")["items"]] == ["hal"]
    assert {one["agent_id"] for one in client.call("sleep.report")["items"]} <= {None, "hal"}
    others = [r for r in owner.call("sleep.report")["items"] if r["agent_id"] == "ivy"]
    for run in others:
        with pytest.raises(MemdError) as caught:
            client.call("sleep.report", {"run_id": run["run_id"]})
        assert caught.value.kind == "not_found"


def test_nights_and_naps_are_rows_of_the_audit_and_a_stop_notes_its_head(tmp_path: Path) -> None:
    with spawned(tmp_path) as daemon:
        with daemon.client() as client:
            messages = [{"role": "user", "content": f"Paint fence {n} green."} for n in range(4)]
            client.call("sleep.consolidate", {"session_id": "s", "messages": messages})
            client.call("sleep.run", {})
            rows = client.call("audit.show", {"limit": 1_000})["items"]
            assert "memory.consolidate" in {row["method"] for row in rows}
            with Client(daemon.paths.socket) as keyless, pytest.raises(DeniedError):
                keyless.call("sleep.run")
        assert daemon.stop() == 0
        assert "audit head" in daemon.log.read_text("utf-8")
        assert stat.S_IMODE(daemon.paths.anchors.stat().st_mode) == 0o600
    with spawned(tmp_path) as daemon, daemon.client() as client:
        report = client.call("audit.verify")
        assert report["ok"]
        (noted,) = report["anchors"]
        assert noted["agrees"]
        (row,) = client.call("audit.show", {"outcome": "denied"})["items"]
        assert (row["client"], row["method"], row["rows"]) == ("local", "sleep.run", 0)


def test_a_key_without_an_agent_may_name_any(daemon: Spawned, owner: Client) -> None:
    with a_client(daemon, owner, name="any") as client:
        for agent_id in ("fay", "gus"):
            params = {"content": "x", "category": "semantic", "agent_id": agent_id}
            client.call("memory.store", params)
            assert client.call("memory.count", {"agent_id": agent_id}) == 1


def test_an_agent_that_has_a_key_is_nobody_without_it_and_trying_is_audited(
    daemon: Spawned, owner: Client
) -> None:
    """Whose memories a key keeps apart, no client without it reads or speaks for."""
    owner.call("client.add", {"name": "kit", "agent_id": "kit"})
    text = {"content": "Kit keeps bees.", "category": "semantic"}
    owner.call("memory.store", {**text, "agent_id": "kit"})
    tried: dict[str, dict[str, Any]] = {
        "memory.list": {},
        "memory.store": text,
        "shared.publish": text,
        "preference.list": {},
        "org.propose": text | {"category": "adr"},
        "graph.neighbours": {"name": "Kit"},
        "events.subscribe": {"names": ["event.stored"]},
        "inject.prepare": {"query": "bees"},
        "session.list": {},
        "session.projects": {},
        "session.start": {"session_id": "s"},
    }
    before = denied(owner, "local")
    names = ("kit", " kit", "KIT", "kit\u200b")
    with Client(daemon.paths.socket) as keyless:
        for name, (method, params) in itertools.product(names, tried.items()):
            with pytest.raises(DeniedError, match="needs a client key"):
                keyless.call(method, {**params, "agent_id": name})
        assert keyless.call("memory.count", {"agent_id": "kitty"}) == 0

    def refused() -> bool:
        now = denied(owner, "local")
        return all(now.get(one, 0) == before.get(one, 0) + len(names) for one in tried)

    wait_until(refused, "each attempt is on record")


async def test_who_listened_without_a_key_hears_no_more_of_an_agent_that_has_one_now(
    daemon: Spawned, owner: Client
) -> None:
    """SPEC D14: whose memories a key keeps apart, nobody without it hears of."""
    text = {"content": "Nia keeps bees.", "category": "semantic"}
    async with AsyncClient(socket=daemon.paths.socket) as keyless:
        await keyless.call("events.subscribe", {"names": ["event.stored"], "agent_id": "nia"})
        heard = keyless.events("event.stored", agent_id="oto")
        first = asyncio.create_task(anext(heard))
        await asyncio.sleep(0.05)
        await keyless.call("system.hello")  # is answered after what was asked before it
        owner.call("client.add", {"name": "nia", "agent_id": "nia"})
        owner.call("memory.store", {**text, "agent_id": "nia"})
        owner.call("memory.store", {**text, "agent_id": "oto"})
        event = await asyncio.wait_for(first, WAIT_S)
        assert event["agent_id"] == "oto"
        await heard.aclose()


def test_a_revoked_key_leaves_its_agent_closed(daemon: Spawned, owner: Client) -> None:
    with a_client(daemon, owner, name="leo", agent_id="leo") as leo:
        leo.call("memory.store", {"content": "Leo keeps bees.", "category": "semantic"})
    owner.call("client.revoke", {"name": "leo"})
    with Client(daemon.paths.socket) as keyless, pytest.raises(DeniedError):
        keyless.call("memory.list", {"agent_id": "leo"})
    assert owner.call("memory.count", {"agent_id": "leo"}) == 1


def test_without_a_key_nothing_is_imported_or_listed_for_an_agent_that_has_one(
    daemon: Spawned, owner: Client
) -> None:
    a_client(daemon, owner, name="mia", agent_id="mia")
    owner.call("agent.set", {"agent_id": "mia", "retention_days": 9})
    owner.call("memory.store", {"content": "Mine.", "category": "semantic", "agent_id": "mia"})
    items = owner.call("store.export", {"agent_id": "mia"})["items"]
    with Client(daemon.paths.socket) as keyless:
        with pytest.raises(DeniedError):
            keyless.call("store.import", {"items": items})
        assert "mia" not in {one["agent_id"] for one in keyless.call("agent.list")["items"]}


def test_a_key_for_everybodys_agent_shuts_nobody_out(daemon: Spawned, owner: Client) -> None:
    a_client(daemon, owner, name="ned", agent_id="default")
    with Client(daemon.paths.socket) as keyless:
        keyless.call("memory.count")
        keyless.call("memory.count", {"agent_id": "default"})


@pytest.mark.parametrize("name", ["__shared__", "__SHARED__", " __shared__", "__shared__\u200b"])
def test_what_looks_like_the_reserved_agent_is_reserved(
    daemon: Spawned, owner: Client, name: str
) -> None:
    with Client(daemon.paths.socket) as keyless, pytest.raises(DeniedError):
        keyless.call("memory.store", {"content": "x", "category": "semantic", "agent_id": name})
    with pytest.raises(DeniedError):
        owner.call("client.add", {"name": "sly", "agent_id": name})


# Scopes.


def test_only_hello_is_open_to_everybody() -> None:
    assert [name for name, method in methods().items() if method.scope is None] == ["system.hello"]


@pytest.mark.parametrize("scope", sorted(SCOPES))
def test_every_method_called_without_its_scope_is_denied_and_audited(
    daemon: Spawned, owner: Client, scope: str
) -> None:
    """All of the table, for a key that has every scope but this one (PROMISES P15)."""
    needing = sorted(name for name, method in methods().items() if method.scope == scope)
    assert needing
    name = f"without-{scope}"
    with a_client(daemon, owner, name=name, scopes=sorted(SCOPES - {scope})) as client:
        for method in needing:
            with pytest.raises(DeniedError) as caught:
                client.call(method)
            assert scope in caught.value.message
    assert denied(owner, name) == dict.fromkeys(needing, 1)
    assert owner.call("audit.verify")["ok"]


def test_without_a_key_one_reads_writes_and_proposes_and_does_not_administer(
    daemon: Spawned, owner: Client
) -> None:
    admin = sorted(name for name, method in methods().items() if method.scope == "admin")
    before = denied(owner, "local")
    with Client(daemon.paths.socket) as keyless:
        keyless.call("memory.count")
        keyless.call("memory.store", {"content": "x", "category": "semantic"})
        keyless.call("org.propose", {"content": "x", "category": "adr"})
        for method in admin:
            with pytest.raises(DeniedError):
                keyless.call(method)
    after = denied(owner, "local")
    assert {method: after[method] - before.get(method, 0) for method in admin} == dict.fromkeys(
        admin, 1
    )


def test_a_flood_of_denials_is_counted_whole_in_few_rows(tmp_path: Path) -> None:
    with spawned(tmp_path) as daemon, daemon.client() as owner:  # none was denied there before
        client = a_client(daemon, owner, name="flood", scopes=["read"])
        for _ in range(100):
            with pytest.raises(DeniedError):
                client.call("memory.store", {"content": "x", "category": "semantic"})
        wait_until(lambda: denied(owner, "flood") == {"memory.store": 100}, "all are counted")
        rows = owner.call("audit.show", {"client": "flood"})["items"]
        assert len(rows) <= 5


def test_the_daemon_makes_its_operators_key_once(tmp_path: Path) -> None:
    with spawned(tmp_path) as first:
        key = client_key.read(first.paths.operator_key)
        assert stat.S_IMODE(first.paths.operator_key.stat().st_mode) == 0o600
        first.stop()
    with spawned(tmp_path) as second:
        assert client_key.read(second.paths.operator_key) == key
        with second.client() as client:
            assert client.call("store.check")["ok"]


def test_a_read_only_place_for_keys_leaves_the_daemon_running_without_an_operator(
    tmp_path: Path,
) -> None:
    keys = tmp_path / "data" / "keys"
    keys.parent.mkdir(parents=True, mode=0o700)
    keys.write_text("not a folder")
    with spawned(tmp_path) as daemon, Client(daemon.paths.socket) as client:
        assert client.call("memory.count") == 0
        with pytest.raises(DeniedError):
            client.call("store.check")
    assert keys.read_text() == "not a folder"


async def test_who_finds_the_socket_of_a_first_start_finds_the_operators_key(
    tmp_path: Path,
) -> None:
    paths = Paths.resolve(home=tmp_path, environ={})
    keys: list[str] = []

    async def build(*arguments: Any) -> DaemonRooms:
        assert paths.socket.is_socket()
        keys.append(client_key.read(paths.operator_key))
        return await rooms(*arguments)

    async with (
        running(tmp_path, build),
        AsyncClient(paths.socket, key=paths.operator_key) as owner,
    ):
        assert keys == [client_key.read(paths.operator_key)]
        assert (await owner.call("store.check"))["ok"]
