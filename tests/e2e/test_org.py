"""Organisational memory at the real socket: written, asked for, its past, and what is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support import commands
from support.commands import Memd
from support.daemon import Spawned, spawned
from support.owner_keys import AnOwner

from memd.base.errors import (
    ConflictError,
    DeniedError,
    InvalidError,
    MemdError,
    OrgMemoryAccessDeniedError,
    OrgMemoryConnectionError,
    OrgMemoryWriteError,
)
from memd.base.limits import TEXT_CHARS_MAX
from memd.client import AsyncClient, Client
from memd.domain.enums import OrgFactCategory
from memd.domain.org.org import OrgFactAuthor, OrgFactWriteRequest, OrgMemoryBackend, OrgMemoryQuery

MARK = "xyzzy-plugh"
"""Stands in every bad value, and must stand in no error."""

ADR: dict[str, Any] = {"category": "adr", "content": "We chose SQLite for the store."}


@pytest.fixture(scope="module")
def key_file(owner: AnOwner) -> Path:
    params = {"name": "ada", "agent_id": "ada", "seniority": "senior", "autonomy_level": "semi"}
    return Path(owner.client.call("client.add", params)["key_file"])


@pytest.fixture(scope="module")
def ada(daemon: Spawned, key_file: Path) -> Iterator[Client]:
    with Client(daemon.paths.socket, key=key_file) as client:
        yield client


# What is written and asked for.


def test_a_fact_is_written_found_changed_and_retracted(ada: Client) -> None:
    fact_id = ada.call("org.write", {**ADR, "tags": ["store", "db"]})
    fact = ada.call("org.get", {"fact_id": fact_id})
    assert (fact["content"], fact["tags"], fact["version"]) == (ADR["content"], ["db", "store"], 1)
    assert fact["author"] == {
        "agent_id": "ada",
        "seniority": "senior",
        "autonomy_level": "semi",
        "is_human": False,
    }
    answer = ada.call("org.query", {"context": "which store did we choose?"})
    assert fact_id in [one["id"] for one in answer]
    ada.call("org.write", {**ADR, "content": "We chose Postgres.", "fact_id": fact_id})
    assert ada.call("org.get", {"fact_id": fact_id})["created_at"] == fact["created_at"]
    assert ada.call("org.retract", {"fact_id": fact_id}) is True
    assert ada.call("org.retract", {"fact_id": fact_id}) is False
    assert ada.call("org.get", {"fact_id": fact_id}) is None
    page = ada.call("org.history", {"fact_id": fact_id})
    assert [entry["content"] for entry in page["items"]] == [
        ADR["content"],
        "We chose Postgres.",
        None,
    ]


def test_long_lists_come_in_pages(ada: Client) -> None:
    text = "x" * 300_000
    fact_id = ada.call("org.write", {**ADR, "content": text})
    for _ in range(6):
        ada.call("org.write", {**ADR, "content": text, "fact_id": fact_id})
    versions: list[int] = []
    after, pages = None, 0
    while True:
        page = ada.call("org.history", {"fact_id": fact_id, "after": after, "limit": 5})
        versions += [entry["version"] for entry in page["items"]]
        after, pages = page["next"], pages + 1
        if after is None:
            break
    assert versions == [1, 2, 3, 4, 5, 6, 7]
    assert pages == 3  # by size: three texts fit into a frame
    for _ in range(4):
        ada.call("org.write", ADR)
    now = datetime.now(UTC) + timedelta(seconds=1)
    ids: list[str] = []
    params: dict[str, Any] = {"at": now.isoformat(), "limit": 2}
    while True:
        page = ada.call("org.snapshot_at", params)
        ids += [one["fact_id"] for one in page["items"]]
        if page["next"] is None:
            break
        params["after"] = page["next"]
    assert len(ids) == len(set(ids)) >= 5
    assert ids == sorted(ids)


def test_what_changed_since_a_time_comes_in_pages_the_last_first(ada: Client, memd: Memd) -> None:
    ada.call("org.write", {**ADR, "content": "Before."})
    since = ada.call("org.history", {"fact_id": ada.call("org.write", ADR)})["items"][0]
    fact_id = ada.call("org.write", {**ADR, "content": "One."})
    ada.call("org.write", {**ADR, "content": "Two.", "fact_id": fact_id})
    ada.call("org.retract", {"fact_id": fact_id})
    params: dict[str, Any] = {"since": since["timestamp"], "limit": 2}
    first = ada.call("org.changes", params)
    second = ada.call("org.changes", {**params, "after": first["next"]})
    contents = [entry["content"] for entry in (*first["items"], *second["items"])]
    assert contents == [None, "Two.", "One.", ADR["content"]]
    rest = ada.call("org.changes", {**params, "after": second["next"]})
    assert rest == {"items": [], "next": None}
    code, out, _ = memd("org", "changes", "--since", since["timestamp"])
    assert code == 0
    assert [line.split("\t")[4] for line in out.splitlines()][:3] == ["retracted", "Two.", "One."]
    assert "Before." not in out
    assert memd("org", "changes", "--since", "soon").err.startswith("memd: --since must be a time")


def test_a_write_that_is_sent_twice_happens_once(ada: Client) -> None:
    params = {**ADR, "content": "Sent twice.", "idempotency_key": "k1"}
    assert ada.call("org.write", params) == ada.call("org.write", params)
    with pytest.raises(ConflictError):
        ada.call("org.write", {**params, "content": "Sent thrice."})
    assert len(ada.call("org.query", {"context": "Sent t", "limit": 50})) == 1


def test_a_secret_is_replaced_before_it_is_stored(daemon: Spawned, ada: Client) -> None:
    secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"  # noqa: S105  # the shape of one
    fact_id = ada.call("org.write", {**ADR, "content": f"CI uses {secret}"})
    assert secret not in ada.call("org.get", {"fact_id": fact_id})["content"]
    for path in daemon.paths.data_dir.glob("memd.db*"):
        assert secret.encode() not in path.read_bytes()


def test_the_status_counts_facts(ada: Client, owner: AnOwner) -> None:
    before = owner.client.call("system.status")["facts"]
    fact_id = ada.call("org.write", ADR)
    assert owner.client.call("system.status")["facts"] == before + 1
    ada.call("org.retract", {"fact_id": fact_id})
    assert owner.client.call("system.status")["facts"] == before


def test_forgetting_memories_erases_no_fact(ada: Client, owner: AnOwner) -> None:
    """docs/decisions/0048."""
    fact_id = ada.call("org.write", ADR)
    done = owner.client.call("memory.forget", {"ids": [fact_id]})
    assert done["count"] == 0
    assert ada.call("org.get", {"fact_id": fact_id}) is not None


# What is refused.

BAD: list[tuple[str, dict[str, Any], str | None]] = [
    ("org.write", {}, "content"),
    ("org.write", {"content": MARK}, "category"),
    ("org.write", {"content": " ", "category": "adr"}, "content"),
    ("org.write", {"content": f"{MARK}\ud800", "category": "adr"}, None),
    ("org.write", {"content": MARK, "category": "gossip"}, "category"),
    ("org.write", {"content": MARK, "category": None}, "category"),
    ("org.write", {"content": MARK, "category": "adr", "tags": [" "]}, "tags.0"),
    ("org.write", {"content": MARK, "category": "adr", "tags": ["a"] * 65}, "tags"),
    ("org.write", {"content": MARK, "category": "adr", "fact_id": ""}, "fact_id"),
    ("org.write", {"content": MARK, "category": "adr", "agent_id": "bob"}, "agent_id"),
    ("org.write", {"content": MARK, "category": "adr", "is_human": True}, "is_human"),
    ("org.write", {"content": MARK, "category": "adr", "seniority": "c_suite"}, "seniority"),
    ("org.write", {"content": MARK, "category": "adr", "created_at": "2020-01-01T00:00:00Z"},
     "created_at"),
    ("org.write", {"content": MARK, "category": "adr", "valid_from": "2026-01-01T00:00:00"},
     "valid_from"),
    ("org.write", {"content": MARK, "category": "adr", "valid_to": MARK}, "valid_to"),
    ("org.write", {"content": MARK, "category": "adr", "valid_from": "2026-02-01T00:00:00Z",
                   "valid_to": "2026-01-01T00:00:00Z"}, None),
    ("org.retract", {}, "fact_id"),
    ("org.retract", {"fact_id": " "}, "fact_id"),
    ("org.get", {"fact_id": 7}, "fact_id"),
    ("org.query", {"limit": 0}, "limit"),
    ("org.query", {"limit": 101}, "limit"),
    ("org.query", {"limit": "5"}, "limit"),
    ("org.query", {"categories": ["gossip"]}, "categories.0"),
    ("org.query", {"context": " "}, "context"),
    ("org.policies", {"limit": -1}, "limit"),
    ("org.policies", {"offset": -1}, "offset"),
    ("org.count_policies", {"category": "adr"}, "category"),
    ("org.history", {"fact_id": "x", "limit": 1001}, "limit"),
    ("org.snapshot_at", {}, "at"),
    ("org.snapshot_at", {"at": "2026-01-01T00:00:00"}, "at"),
    ("org.snapshot_at", {"at": MARK}, "at"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "params", "field"), BAD)
def test_what_is_wrong_is_named_and_not_quoted(
    ada: Client, method: str, params: dict[str, Any], field: str | None
) -> None:
    before = len(ada.call("org.query", {"context": MARK, "limit": 50}))
    with pytest.raises((InvalidError, DeniedError)) as caught:
        ada.call(method, params)
    if field is not None:
        assert caught.value.field == field
    assert MARK not in str(caught.value) + str(caught.value.hint)
    assert len(ada.call("org.query", {"context": MARK, "limit": 50})) == before == 0


def test_a_text_over_the_limit_is_refused(ada: Client) -> None:
    with pytest.raises(MemdError) as caught:
        ada.call("org.write", {**ADR, "content": "x" * (TEXT_CHARS_MAX + 1)})
    assert caught.value.kind in {"invalid", "too_large"}


def test_a_version_of_no_fact_is_refused(ada: Client) -> None:
    with pytest.raises(OrgMemoryWriteError) as caught:
        ada.call("org.write", {**ADR, "fact_id": "no such fact"})
    assert (caught.value.kind, caught.value.field) == ("org_write", "fact_id")


def test_no_parameter_makes_an_author(daemon: Spawned, ada: Client) -> None:
    """SPEC D14: not in the key's name, not without a key, not as a human."""
    ada.call("org.write", ADR)
    for author in ({}, {"is_human": True}, {"is_human": True, "agent_id": "a"}, "human"):
        with pytest.raises(DeniedError):
            ada.call("org.write", {**ADR, "author": author})
    with pytest.raises(OrgMemoryAccessDeniedError):
        ada.call("org.write", {**ADR, "category": "core_policy"})
    with Client(daemon.paths.socket) as keyless:
        for method, params in (("org.write", ADR), ("org.retract", {"fact_id": "x"})):
            with pytest.raises(OrgMemoryAccessDeniedError, match="no key"):
                keyless.call(method, params)
        assert keyless.call("org.query", {"context": "SQLite"})  # it reads


# The protocol over the socket.


async def test_a_connected_client_is_the_documented_backend(
    daemon: Spawned, key_file: Path
) -> None:
    client = AsyncClient(daemon.paths.socket, key=key_file)
    assert isinstance(client, OrgMemoryBackend)
    request = OrgFactWriteRequest(content="Litestar it is", category=OrgFactCategory.ADR)
    author = OrgFactAuthor.model_validate({"agent_id": "ada", "seniority": "senior"})
    with pytest.raises(OrgMemoryConnectionError):
        await client.write(request, author=OrgFactAuthor(is_human=True))
    for ask in (client.query(OrgMemoryQuery()), client.list_policies(), client.count_policies()):
        with pytest.raises(OrgMemoryConnectionError):
            await ask
    await client.connect()
    with pytest.raises(OrgMemoryAccessDeniedError):
        await client.write(request, author=OrgFactAuthor(is_human=True))
    fact_id = await client.write(request, author=author)
    (fact,) = await client.query(OrgMemoryQuery(context="Litestar it is"))
    assert (fact.id, fact.author.agent_id) == (fact_id, "ada")
    with pytest.raises(OrgMemoryWriteError):
        await client.write(request.model_copy(update={"fact_id": "none"}), author=author)
    assert await client.list_policies(limit=1) == ()
    assert await client.count_policies() == 0
    await client.disconnect()


# What a person types.


@pytest.fixture
def memd(daemon: Spawned, key_file: Path) -> Memd:
    return partial(commands.memd, daemon.home, MEMD_CLIENT_KEY_FILE=str(key_file))


def test_a_person_writes_finds_and_retracts(memd: Memd) -> None:
    code, out, _ = memd("org", "write", "-c", "convention", "We paint the shed green.")
    fact_id = out.strip()
    assert (code, len(fact_id)) == (0, 36)
    assert fact_id in memd("org", "query", "shed")[1]
    answer = memd("org", "query", "which colour has the shed", "--json").json
    assert answer["items"][0]["id"] == fact_id
    _, out, err = memd("org", "show", fact_id)
    assert out == "We paint the shed green.\n"
    fields = [line.split(maxsplit=1) for line in err.splitlines()]
    assert [name for name, _ in fields] == ["id:", "category:", "version:", "written_at:", "by:"]
    assert dict(fields[:3] + fields[4:]) == {
        "id:": fact_id, "category:": "convention", "version:": "1", "by:": "ada (senior)"
    }  # fmt: skip
    again = ("org", "write", "-c", "convention", "We paint the shed blue.", "--fact", fact_id)
    assert memd(*again)[1].strip() == fact_id
    code, out, _ = memd("org", "history", fact_id)
    rows = [line.split("\t") for line in out.splitlines()]
    assert code == 0
    assert [row[:1] + row[2:] for row in rows] == [
        ["1", "ada (senior)", "We paint the shed green.", ""],
        ["2", "ada (senior)", "We paint the shed blue.", ""],
    ]
    assert memd("org", "retract", fact_id) == (0, "", "")
    for command in ("retract", "show"):
        assert memd("org", command, fact_id) == (
            1,
            "",
            f"memd: no current fact has the id {fact_id}\n",
        )
    assert memd("org", "history", fact_id)[1].endswith("\tretracted\t\n")
    assert memd("org", "history", "nothing") == (1, "", "memd: no fact has the id nothing\n")


def test_a_shell_that_a_variable_makes_a_client_is_told_so(memd: Memd) -> None:
    code, _, err = memd("client", "add", "another")
    assert code == 1
    assert "unset MEMD_CLIENT_KEY_FILE" in err


def test_a_key_without_seniority_is_told_what_it_lacks(daemon: Spawned) -> None:
    with daemon.client() as owner:
        made = owner.call("client.add", {"name": "coder", "scopes": ["read", "write"]})
    coder = partial(commands.memd, daemon.home, MEMD_CLIENT_KEY_FILE=made["key_file"])
    code, _, err = coder("org", "write", "-c", "convention", "We paint it green.")
    assert code == 1
    assert "the key of client coder has no seniority" in err
    assert "memd client add coder --seniority LEVEL" in err


def test_the_owners_key_alone_writes_no_fact_and_is_told_the_command_that_signs(
    daemon: Spawned,
) -> None:
    params = {"content": "We paint it green.", "category": "convention"}
    with daemon.client() as owner, pytest.raises(OrgMemoryAccessDeniedError) as caught:
        owner.call("org.write", params)
    assert "without the owner's signature" in caught.value.message
    assert caught.value.hint == "memd org write, at a terminal, signs it"


def test_a_decision_is_written_and_found_by_the_word_that_prompts_use(memd: Memd) -> None:
    fact_id = memd("org", "write", "-c", "decision", "We chose slate for the roof.").out.strip()
    for word in ("decision", "adr"):
        (fact,) = memd("org", "query", "slate", "-c", word, "--json").json["items"]
        assert (fact["id"], fact["category"]) == (fact_id, "adr")
        (valid,) = memd("org", "as-of", "slate", "-c", word, "--json").json["items"]
        assert valid["fact"]["id"] == fact_id
    memd("org", "propose", "-c", "decision", "We chose tin for the shed.")
    proposals = memd("org", "review", "--json").json["items"]
    assert [one["category"] for one in proposals if "tin" in one["content"]] == ["adr"]


def test_a_new_version_stays_in_the_category_of_its_fact(memd: Memd) -> None:
    fact_id = memd("org", "write", "-c", "decision", "We chose brick for the oven.").out.strip()
    assert memd("org", "write", "We chose stone for the oven.", "--fact", fact_id[-8:]).code == 0
    assert memd("org", "show", fact_id, "--json").json["fact"]["category"] == "adr"
    memd("org", "propose", "We chose clay for the oven.", "--fact", fact_id)
    proposals = memd("org", "review", "--json").json["items"]
    assert [one["category"] for one in proposals if "clay" in one["content"]] == ["adr"]
    memd("org", "write", "-c", "procedure", "Heat the oven with beech.", "--fact", fact_id)
    memd("org", "retract", fact_id)
    assert memd("org", "write", "Heat the oven with oak.", "--fact", fact_id).code == 0
    assert memd("org", "show", fact_id, "--json").json["fact"]["category"] == "procedure"
    for command in ("write", "propose"):
        code, _, err = memd("org", command, "We chose mud.", "--fact", "nothing")
        assert (code, err) == (1, "memd: no fact has the id nothing\n")


def test_a_person_is_told_that_there_is_nothing(memd: Memd) -> None:
    message = "no policies; the settings list some in org_memory.core_policies\n"
    assert memd("org", "policies") == (0, "", message)
    assert memd("org", "query", "zeppelins") == (0, "", "no fact matches\n")
    assert memd("org", "query", "-c", "entity_definition") == (0, "", "no fact matches\n")
    assert memd("org", "policies", "--json").json["items"] == []
    assert memd("org", "show", "nothing", "--json").json["fact"] is None
    assert memd("org", "retract", "nothing", "--json").json["retracted"] is False


def test_a_person_is_told_what_is_wrong(memd: Memd) -> None:
    code, _, err = memd("org", "write", "-c", "gossip", "no")
    assert (code, "category" in err) == (2, True)
    code, _, err = memd("org", "write", "-c", "adr", "no", "--until", "2026-03-31T12:00:00")
    assert (code, "with its zone" in err) == (2, True)


def test_policies_that_no_prompt_has_room_for_are_warned_of(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    file = tmp_path / "config" / "config.yaml"
    policies = [f"Rule {number}: " + "review every change " * 50 for number in range(9)]
    for many, warned in ((9, True), (1, False)):
        file.write_text(json.dumps({"org_memory": {"core_policies": policies[:many]}}))
        with spawned(tmp_path):
            code, out, err = commands.memd(tmp_path, "org", "policies")
        assert code == 0
        assert len(out.splitlines()) == many
        warning = (
            r"memd: the policies take about 2,\d{3} tokens: a prompt of 2,000, the default, leave"
        )
        assert bool(re.match(warning + "s some out\n$", err)) is warned
        assert bool(err) is warned
