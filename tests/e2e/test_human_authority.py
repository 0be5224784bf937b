"""Who writes for a human, at the real socket: the owner's signature and nothing else (H53-H60)."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import forked
from support.commands import memd
from support.daemon import ROOT, WAIT_S, Spawned, environment, spawned, wait_until
from support.desk import denied
from support.owner_keys import AnOwner

from memd.base import client_key
from memd.base.errors import (
    DeniedError,
    HumanFactError,
    InvalidError,
    InvalidStateError,
    MemdError,
    OrgMemoryAccessDeniedError,
    OrgMemoryWriteError,
    QuotaError,
)
from memd.base.limits import PROPOSALS_OPEN_MAX
from memd.client import Client
from memd.domain.org.access import Proposal
from memd.org.signature import new_key, proposal_content, request_content, statement
from memd.serve.routes.org import WriteFactParams
from memd.serve.validation import validate

POLICY: dict[str, Any] = {"category": "core_policy", "content": "Never push on a Friday."}


@pytest.fixture
def agent(daemon: Spawned, owner: AnOwner, request: pytest.FixtureRequest) -> Iterator[Client]:
    """A senior agent with every scope that an agent may have, and more."""
    name = f"a{abs(hash(request.node.name))}"
    fields = {"name": name, "agent_id": name, "seniority": "c_suite", "autonomy_level": "full"}
    scopes = ["read", "write", "propose", "admin"]
    added = owner.client.call("client.add", {**fields, "scopes": scopes})
    with Client(daemon.paths.socket, key=Path(added["key_file"])) as client:
        yield client


def name_of(client: Client) -> str:
    return str(client.call("system.hello")["caller"]["client"])


def test_a_signature_makes_the_author_human(owner: AnOwner) -> None:
    fact_id = owner.client.call("org.write", owner.written(**POLICY))
    fact = owner.client.call("org.get", {"fact_id": fact_id})
    assert fact["author"]["is_human"] is True
    assert fact["author"]["agent_id"] is None
    assert any(one["id"] == fact_id for one in owner.client.call("org.policies"))
    assert owner.client.call("org.retract", owner.retracted(fact_id)) is True
    assert owner.client.call("org.get", {"fact_id": fact_id}) is None


@pytest.mark.parametrize(
    "claim", ["human:bob", "human", {"is_human": True}, {"agent_id": "bob"}, True, 1]
)
def test_h53_an_agent_that_claims_an_author_is_not_permitted_and_audited(
    owner: AnOwner, agent: Client, claim: Any
) -> None:
    for method, params in (
        ("org.write", POLICY),
        ("org.propose", POLICY),
        ("org.retract", {"fact_id": "x"}),
    ):
        with pytest.raises(DeniedError):
            agent.call(method, {**params, "author": claim})
    refused = denied(owner.client, name_of(agent))
    assert refused == {"org.write": 1, "org.propose": 1, "org.retract": 1}
    assert not [p for p in agent.call("org.policies") if p["content"] == POLICY["content"]]


@pytest.mark.parametrize(
    "claim",
    [
        {"is_human": True},
        {"seniority": "c_suite"},
        {"autonomy_level": "full"},
        {"scopes": ["admin"]},
        {"author": {"is_human": True}},
    ],
)
def test_an_agent_that_says_who_it_is_in_its_parameters_is_refused_and_audited(
    owner: AnOwner, agent: Client, claim: dict[str, Any]
) -> None:
    """Claims are attempts, not misspelt parameters, whichever method they come with."""
    for method, params in (
        ("org.write", {"content": "x", "category": "adr"}),
        ("memory.store", {"content": "x", "category": "semantic"}),
        ("org.approve", {"id": "x"}),
    ):
        with pytest.raises(DeniedError, match="says"):
            agent.call(method, {**params, **claim})
    assert set(denied(owner.client, name_of(agent))) == {"org.write", "memory.store", "org.approve"}


def test_h54_an_agent_cannot_approve_or_reject_its_own_proposal(
    owner: AnOwner, agent: Client
) -> None:
    proposal = agent.call("org.propose", POLICY)
    forger = AnOwner(agent)  # a key of its own is not the owner's
    for method in ("org.approve", "org.reject"):
        with pytest.raises(DeniedError):
            agent.call(method, {"id": proposal})
        with pytest.raises(DeniedError):
            agent.call(method, forger.decided(method, proposal))
    (waiting,) = [p for p in agent.call("org.review")["items"] if p["id"] == proposal]
    assert waiting["state"] == "open"
    assert denied(owner.client, name_of(agent)).keys() == {"org.approve", "org.reject"}
    assert owner.client.call("org.reject", owner.decided("org.reject", proposal)) is True


def test_a_version_says_who_proposed_what_the_owner_approved(owner: AnOwner, agent: Client) -> None:
    proposal = agent.call("org.propose", POLICY)
    fact_id = owner.client.call("org.approve", owner.decided("org.approve", proposal))
    owner.client.call("org.retract", owner.retracted(fact_id))
    log = agent.call("org.history", {"fact_id": fact_id})["items"]
    assert [entry["proposed_by"] for entry in log] == [name_of(agent), None]
    assert [entry["author_is_human"] for entry in log] == [True, True]


def test_a_proposal_keeps_its_times_and_tags_and_is_signed_with_them(
    owner: AnOwner, agent: Client
) -> None:
    """What the owner approves is what was asked for, to the last claim."""
    fact = {"category": "adr", "content": "The team uses Flask.", "tags": ["web"]}
    fact_id = owner.client.call("org.write", owner.written(**fact))
    times = {"valid_from": "2026-01-01T00:00:00Z", "valid_to": "2026-03-01T00:00:00Z"}
    with pytest.raises(HumanFactError):
        agent.call("org.write", {**fact, **times, "fact_id": fact_id})
    asked = {**fact, "fact_id": fact_id}
    plain = agent.call("org.propose", asked)
    other = agent.call("org.propose", {**asked, "tags": ["api"]})
    timed = agent.call("org.propose", {**asked, **times})
    waiting = {p["id"]: p for p in agent.call("org.review")["items"] if p["fact_id"] == fact_id}
    assert list(waiting) == [timed, plain, other]  # the refused write proposed the first
    assert {name: waiting[timed][name] for name in times} == times
    stripped = Proposal.model_validate({**waiting[timed], "valid_from": None, "valid_to": None})
    signature = owner.sign("org.approve", proposal_content(stripped))
    with pytest.raises(DeniedError):
        owner.client.call("org.approve", {"id": timed, "signature": signature})

    owner.client.call("org.approve", owner.decided("org.approve", timed))
    now = agent.call("org.get", {"fact_id": fact_id})
    assert {name: now[name] for name in times} == times
    left = [p["id"] for p in agent.call("org.review")["items"] if p["fact_id"] == fact_id]
    assert left == [plain, other]
    backwards = {"valid_from": times["valid_to"], "valid_to": times["valid_from"]}
    with pytest.raises(InvalidError):
        agent.call("org.propose", {**asked, **backwards})


def test_h55_an_agent_that_supersedes_a_humans_fact_makes_a_proposal(
    owner: AnOwner, agent: Client
) -> None:
    fact = {"category": "convention", "content": "We use Flask."}
    fact_id = owner.client.call("org.write", owner.written(**fact))
    newer = {"category": "convention", "content": "We use Litestar.", "fact_id": fact_id}
    with pytest.raises(OrgMemoryAccessDeniedError) as caught:
        agent.call("org.write", newer)
    assert isinstance(caught.value, HumanFactError)
    (waiting,) = [p for p in agent.call("org.review")["items"] if p["fact_id"] == fact_id]
    assert waiting["id"] in caught.value.message
    assert (waiting["kind"], waiting["content"]) == ("PUBLISH", "We use Litestar.")
    assert agent.call("org.get", {"fact_id": fact_id})["content"] == "We use Flask."
    with pytest.raises(HumanFactError):
        agent.call("org.retract", {"fact_id": fact_id})
    assert len([p for p in agent.call("org.review")["items"] if p["fact_id"] == fact_id]) == 2
    assert denied(owner.client, name_of(agent)) == {"org.write": 1, "org.retract": 1}

    written = owner.client.call("org.approve", owner.decided("org.approve", waiting["id"]))
    assert written == fact_id
    now = agent.call("org.get", {"fact_id": fact_id})
    assert (now["content"], now["version"]) == ("We use Litestar.", 2)
    assert now["author"]["is_human"] is True


def test_h60_what_fifty_agents_of_one_client_say_counts_once(
    daemon: Spawned, owner: AnOwner
) -> None:
    proposal: dict[str, Any] = {"category": "adr", "content": "Everybody agrees on this."}
    with Client(daemon.paths.socket) as crowd:
        ids = {crowd.call("org.propose", {**proposal, "agent_id": f"bot{n}"}) for n in range(50)}
    assert len(ids) == 1
    (one,) = [p for p in owner.client.call("org.review")["items"] if p["id"] in ids]
    assert one["clients"] == 1
    added = owner.client.call("client.add", {"name": "second"})
    with Client(daemon.paths.socket, key=Path(added["key_file"])) as second:
        second.call("org.propose", proposal)
    both = [
        p for p in owner.client.call("org.review")["items"] if p["content"] == proposal["content"]
    ]
    assert [p["clients"] for p in both] == [2, 2]
    owner.client.call("org.reject", owner.decided("org.reject", one["id"]))
    assert not [p for p in owner.client.call("org.review")["items"] if p in both]


def test_p15_no_key_writes_as_a_human_whatever_it_tries(
    daemon: Spawned, owner: AnOwner, agent: Client
) -> None:
    """Every way in but the owner's own key, each refused, each on record (PROMISES P15)."""
    fact = validate(WriteFactParams, POLICY)
    right = owner.written(**POLICY)["signature"]
    forged = AnOwner(agent).sign("org.write", request_content(fact))
    elsewhere = {**right, "value": _over(owner, right["nonce"], "org.write", fact, store="00" * 16)}
    action = {**right, "value": _over(owner, right["nonce"], "org.approve", fact)}
    own_nonce = {"nonce": "00" * 32, "value": _over(owner, "00" * 32, "org.write", fact)}
    tries = [
        POLICY,
        {**POLICY, "signature": forged},
        {**POLICY, "signature": elsewhere},
        {**POLICY, "signature": action},
        {**POLICY, "signature": own_nonce},
        {**POLICY, "content": "Push on Fridays.", "signature": right},
        {**POLICY, "category": "adr", "signature": right},
        {**POLICY, "tags": ["more"], "signature": right},
        {**POLICY, "valid_to": "2030-01-01T00:00:00Z", "signature": right},
        {**POLICY, "fact_id": "0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11", "signature": right},
        {**POLICY, "signature": {"nonce": right["nonce"], "value": "00" * 64}},
        {**POLICY, "signature": {"nonce": right["nonce"], "value": "00"}},
    ]
    for params in tries:
        with pytest.raises(DeniedError):
            agent.call("org.write", params)
    with pytest.raises(DeniedError):
        agent.call("owner.set", {"public_key": AnOwner(agent).public_key})
    assert owner.client.call("owner.state")["public_key"] == owner.public_key
    assert agent.call("org.write", {**POLICY, "signature": right})  # which was good all the time
    with Client(daemon.paths.socket) as keyless, pytest.raises(DeniedError):
        keyless.call("org.write", POLICY)
    _counted(owner, name_of(agent), {"org.write": len(tries), "owner.set": 1})


def test_a_replayed_signature_is_refused_and_audited_and_a_retry_is_none(
    owner: AnOwner, agent: Client
) -> None:
    signed = owner.written(category="adr", content="Replay me.")
    kept = {**signed, "idempotency_key": "once"}
    first = agent.call("org.write", kept)
    assert agent.call("org.write", kept) == first
    for again in (signed, {**kept, "idempotency_key": "twice"}):
        with pytest.raises(DeniedError, match="used before"):
            agent.call("org.write", again)
    with pytest.raises(DeniedError, match="used before"):
        owner.client.call("org.write", kept)
    assert len(agent.call("org.history", {"fact_id": first})["items"]) == 1
    _counted(owner, name_of(agent), {"org.write": 2})


def test_signatures_do_not_outlive_the_daemon_that_gave_the_nonce(tmp_path: Path) -> None:
    with spawned(tmp_path) as daemon, daemon.client() as client:
        owner = AnOwner(client)
        owner.register()
        signed = owner.written(**POLICY)
        daemon.stop()
    with spawned(tmp_path) as daemon, daemon.client() as client:
        with pytest.raises(DeniedError, match="nonce"):
            client.call("org.write", signed)
        assert client.call("org.policies") == []


def test_the_owners_key_is_changed_only_with_the_old_ones_signature(tmp_path: Path) -> None:
    with spawned(tmp_path) as daemon, daemon.client() as client:
        old, new = AnOwner(client), AnOwner(client)
        with Client(daemon.paths.socket) as keyless, pytest.raises(DeniedError):
            keyless.call("owner.set", {"public_key": new.public_key})
        old.register()
        old.register()  # the same one again changes nothing
        params = {"public_key": new.public_key}
        for signature in (None, new.sign("owner.set", params), old.sign("org.write", params)):
            with pytest.raises(DeniedError):
                client.call("owner.set", {**params, "signature": signature})
        client.call("owner.set", {**params, "signature": old.sign("owner.set", params)})
        with pytest.raises(DeniedError):
            client.call("org.write", old.written(**POLICY))
        assert client.call("org.write", new.written(**POLICY))


def test_what_was_decided_or_is_no_proposal_is_not_decided_again(
    owner: AnOwner, agent: Client
) -> None:
    proposal = agent.call("org.propose", {"category": "procedure", "content": "Tag, then ship."})
    yes, no = owner.decided("org.approve", proposal), owner.decided("org.reject", proposal)
    fact_id = owner.client.call("org.approve", yes)
    assert agent.call("org.get", {"fact_id": fact_id})["author"]["is_human"] is True
    with pytest.raises(InvalidStateError):
        owner.client.call("org.reject", no)
    with pytest.raises(DeniedError):
        owner.client.call("org.approve", {**yes, "id": "0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11"})


def test_a_proposal_to_retract_takes_the_fact_away_once_approved(
    owner: AnOwner, agent: Client
) -> None:
    fact_id = owner.client.call("org.write", owner.written(category="adr", content="Old."))
    proposal = agent.call("org.propose", {"retract": True, "fact_id": fact_id})
    assert agent.call("org.get", {"fact_id": fact_id}) is not None
    owner.client.call("org.approve", owner.decided("org.approve", proposal))
    assert agent.call("org.get", {"fact_id": fact_id}) is None
    with pytest.raises(OrgMemoryWriteError):
        agent.call("org.propose", {"retract": True, "fact_id": fact_id})
    with pytest.raises(OrgMemoryWriteError):
        agent.call("org.propose", {**POLICY, "fact_id": "no fact's"})


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"content": "x"},
        {"category": "gossip", "content": "x"},
        {"retract": True},
        {"retract": True, "fact_id": "x", "content": "y"},
        {"category": "adr", "content": "  "},
    ],
)
def test_a_proposal_of_nothing_or_of_two_things_is_invalid(
    agent: Client, params: dict[str, Any]
) -> None:
    with pytest.raises(MemdError) as caught:
        agent.call("org.propose", params)
    assert caught.value.kind == "invalid"


def test_one_client_has_so_many_open_proposals_and_no_more(daemon: Spawned, owner: AnOwner) -> None:
    added = owner.client.call("client.add", {"name": "eager"})
    with Client(daemon.paths.socket, key=Path(added["key_file"])) as eager:
        for number in range(PROPOSALS_OPEN_MAX):
            eager.call("org.propose", {"category": "adr", "content": f"Idea {number}."})
        with pytest.raises(QuotaError):
            eager.call("org.propose", {"category": "adr", "content": "One more."})
        assert eager.call("org.propose", {"category": "adr", "content": "Idea 7."})


# At a terminal.


def test_a_policy_is_written_in_one_command_at_a_terminal_and_not_without_one(
    tmp_path: Path,
) -> None:
    with spawned(tmp_path):
        text = "Never push on a Friday."
        code, output = typed(tmp_path, ["org", "write", "-c", "core_policy", text], [], tty=False)
        assert code == 1
        assert "terminal" in output
        answers = [("new passphrase", "horse"), ("repeat", "horse")]
        code, output = typed(tmp_path, ["org", "write", "-c", "core_policy", text], answers)
        assert code == 0, output
        assert "passphrase of the owner key" not in output, "it has just been typed"
        what_for, _, asked = output.partition("to set it later: memd owner init --renew")
        assert "it signs what you write, so that no program writes in your name" in what_for
        assert "new passphrase" in asked
        key = json.loads((tmp_path / "data" / "keys" / "owner.key").read_text("utf-8"))
        assert "bare" not in key
        code, output = typed(tmp_path, ["org", "retract", "x"], [("of the", "donkey")])
        assert code == 1
        assert "passphrase does not open" in output
        code, output = typed(tmp_path, ["org", "policies", "--json"], [], tty=False)
        (policy,) = json.loads(output)["items"]
        assert policy["content"] == text
        assert policy["author"]["is_human"] is True
        code, output = typed(tmp_path, ["org", "retract", policy["id"][-8:]], [("of the", "horse")])
        assert code == 0, output  # the whole id is signed, however it was typed


def test_who_lost_the_owners_key_file_is_told_to_bring_it_back(tmp_path: Path) -> None:
    with spawned(tmp_path) as daemon, daemon.client() as client:
        AnOwner(client).register()
        code, output = typed(tmp_path, ["org", "write", "-c", "core_policy", "x"], [])
        assert code == 1
        assert "its file is missing" in output
        assert "restore your copy" in output


def test_a_renewal_that_was_killed_at_its_end_can_be_finished(tmp_path: Path) -> None:
    with spawned(tmp_path):
        key_file = tmp_path / "data" / "keys" / "owner.key"
        code, output = typed(tmp_path, ["owner", "init"], [("new passphrase", "")])
        assert code == 0, output
        old = key_file.read_text()
        code, output = typed(tmp_path, ["owner", "init", "--renew"], [("new passphrase", "")])
        assert code == 0, output
        new_file = key_file.rename(key_file.with_name("owner.key.new"))
        write = ["org", "write", "-c", "core_policy", "x"]
        hint = f"mv {new_file} {key_file}"
        for old_file in (None, old):
            if old_file is not None:
                client_key.write(key_file, old_file)
            for command in (write, ["owner", "init"]):
                code, output = typed(tmp_path, command, [])
                assert code == 1
                assert hint in output
            assert hint in memd(tmp_path, "owner", "show").err
        new_file.rename(key_file)
        code, output = typed(tmp_path, write, [])
        assert code == 0, output


def test_a_key_whose_registration_was_killed_is_registered_by_the_next_command(
    tmp_path: Path,
) -> None:
    key = new_key("")
    with spawned(tmp_path):
        client_key.write(tmp_path / "data" / "keys" / "owner.key", key.text)
        code, output = typed(tmp_path, ["owner", "init"], [])
        assert code == 0, output
        assert memd(tmp_path, "owner", "show").out.strip() == key.public_key
        code, output = typed(tmp_path, ["owner", "init"], [])
        assert code == 1
        assert "an owner key already" in output


def test_an_unused_new_key_is_not_named_as_the_owners(tmp_path: Path) -> None:
    with spawned(tmp_path) as daemon, daemon.client() as client:
        AnOwner(client).register()
        for name in ("owner.key", "owner.key.new"):
            client_key.write(tmp_path / "data" / "keys" / name, new_key("").text)
        code, output = typed(tmp_path, ["org", "write", "-c", "core_policy", "x"], [])
        assert code == 1
        assert "restore your copy of the file of that key" in output


def test_who_types_no_passphrase_signs_nothing_and_is_told_so(tmp_path: Path) -> None:
    with spawned(tmp_path):
        answers = [("new passphrase", "\x04")]  # the end of input
        code, output = typed(tmp_path, ["org", "write", "-c", "core_policy", "x"], answers)
        assert code == 1
        assert "nothing was signed" in output
        assert "Traceback" not in output


def test_a_proposal_is_reviewed_at_a_terminal(tmp_path: Path) -> None:
    with spawned(tmp_path) as daemon, Client(daemon.paths.socket) as keyless:
        keyless.call("org.propose", {"category": "adr", "content": "Use tabs."})
        keyless.call("org.propose", {"category": "adr", "content": "Use spaces."})
        answers = [("uit?", "r"), ("new passphrase", ""), ("uit?", "a")]
        code, output = typed(tmp_path, ["org", "review"], answers)
        assert code == 0, output
        assert "every program of yours can sign" in output
        (fact,) = keyless.call("org.query", {})
        assert fact["content"] == "Use spaces."
        assert keyless.call("org.review")["items"] == []


def typed(
    home: Path, argv: list[str], answers: list[tuple[str, str]], *, tty: bool = True
) -> tuple[int, str]:
    """Run memd with *argv*, at a terminal of its own or without; answer what it asks."""
    if not tty:
        done = forked.run(argv, env=environment(home), cwd=ROOT)
        return done.returncode, done.stdout + done.stderr
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        os.execve(sys.executable, [sys.executable, "-m", "memd", *argv], environment(home))  # noqa: S606  # a test's own child
    output, seen = "", 0
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until:
        if not select.select([terminal], [], [], 0.1)[0]:
            continue
        try:
            output += os.read(terminal, 4096).decode("utf-8", "replace")
        except OSError:
            break
        if answers and answers[0][0] in output[seen:]:
            seen = len(output)
            os.write(terminal, f"{answers.pop(0)[1]}\n".encode())
    else:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert not answers, output
    return os.waitstatus_to_exitcode(status), output


def _over(owner: AnOwner, nonce: str, action: str, fact: WriteFactParams, store: str = "") -> str:
    """Return the owner's own signature over something else than what will be asked."""
    store = store or owner.client.call("owner.state")["store"]
    return owner.key.sign(statement(store, nonce, action, request_content(fact))).hex()


def _counted(owner: AnOwner, client: str, counts: dict[str, int]) -> None:
    wait_until(lambda: denied(owner.client, client) == counts, f"refusals are counted: {counts}")
