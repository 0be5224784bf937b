"""The table of methods and what answers them, over a real store."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic import TypeAdapter
from support.fakes import fingerprint
from support.gated_rooms import APeer, Desk, a_desk
from support.store import OWNER
from support.tuning_data import worse

from memd.domain.caller import OWNERS_COMMANDS
from memd.domain.enums import AutonomyLevel, SeniorityLevel
from memd.domain.org.access import Proposal
from memd.domain.settings.settings import Settings
from memd.org.signature import proposal_content, statement
from memd.rpc.envelope import Request
from memd.serve.authority import Credentials
from memd.serve.dispatch import ActiveRequest
from memd.serve.metrics import BOUNDS_US, Metrics
from memd.serve.routes.routes import methods, records
from memd.serve.status import document
from memd.store.learn import tunings
from memd.store.search import model_switch

BOSS = replace(OWNERS_COMMANDS, seniority=SeniorityLevel.C_SUITE, autonomy_level=AutonomyLevel.FULL)
"""The owner's own commands, with a key that lets them write facts."""
SETTINGS = Settings.model_validate(
    {"llm": {"provider": "assistant", "night_tokens": 5, "uses": {"lessons": True}}}
)


async def ask(desk: Desk, method: str, **params: Any) -> dict[str, Any]:
    frame = await desk.dispatch.answer(
        Request(7, method, params), ActiveRequest(Credentials(BOSS), peer=APeer())
    )
    assert frame is not None
    answer: dict[str, Any] = json.loads(frame)
    assert answer["id"] == 7
    return answer


EXAMPLES: dict[str, dict[str, Any]] = {
    "model.use": {"name": "another"},
    "model.bench": {"names": ["one"]},
    "memory.ingest": {"text": "a"},
    "memory.ingest_many": {"items": [{"text": "a"}]},
    "memory.replace_source": {"source": "notes.md", "items": [{"text": "a"}]},
    "memory.store": {"content": "a", "category": "semantic"},
    "memory.recall": {"query": "a"},
    "llm.register": {"name": "a"},
    "memory.synthesize": {"query": "a"},
    "memory.update": {"content": "b"},
    "learn.distil": {"task_id": "t"},
    "learn.failure": {"task_id": "t", "task_title": "a"},
    "learn.outcome": {"final_response": "done"},
    "learn.success": {"description": "a", "tools": ["b"]},
    "preference.set": {"name": "a", "value": "b"},
    "preference.get": {"name": "a"},
    "preference.confirm": {"name": "a"},
    "preference.delete": {"name": "a"},
    "store.note_copy": {"target": "/copy.db"},
    "org.write": {"content": "a", "category": "adr"},
    "org.snapshot_at": {"at": "2026-01-01T00:00:00Z"},
    "org.as_of": {"valid": "2026-01-01T00:00:00Z"},
    "org.changes": {"since": "2026-01-01T00:00:00Z"},
    "shared.publish": {"content": "a", "category": "semantic"},
    "graph.add": {"subject": "a", "relation": "uses", "object": "b"},
    "graph.neighbours": {"name": "a"},
    "graph.path": {"source": "a", "target": "b"},
    "graph.query": {"question": "a?"},
    "session.add_messages": {
        "session_id": "s0",
        "messages": [{"role": "user", "content": "a"}],
    },
    "session.move_project": {"new_project_id": "/srv/new"},
    "session.search": {"query": "a word"},
    "usage.report": {"source": "codex", "session_id": "s0", "used_tokens": 7},
    "sleep.consolidate": {"messages": [{"role": "user", "content": "a"}]},
    "sleep.should_consolidate": {"current_tokens": 25_000},
    "sleep.estimate_tokens": {"messages": [{"role": "user", "content": "a"}]},
    "inject.prepare": {"query": "a"},
    "inject.call": {"name": "search_memory", "arguments": {"query": "a"}},
    "inject.file": {"command": "view", "path": "/memories"},
    "org.propose": {"category": "adr", "content": "a"},
    "client.add": {"name": "a"},
    "agent.set": {"level": "persistent", "retention_days": 3},
}

FAILED: dict[str, Any] = {
    "task_id": "t1",
    "task_title": "Deploy the heron service",
    "task_description": "Roll it out on Monday",
    "task_type": "development",
    "error_message": "the migration waits for a lock that nobody gives back",
    "tool_calls_made": ["shell"],
    "turn_count": 3,
}

Maker = Callable[[Desk], Awaitable[dict[str, Any]]]


async def done(desk: Desk, method: str, **params: Any) -> Any:
    answer = await ask(desk, method, **params)
    assert "error" not in answer, (method, answer)
    return answer["result"]


def made_by(method: str, into: str = "id", out: str | None = None, **params: Any) -> Maker:
    """Return what has *method* make what another method is asked about."""

    async def make(desk: Desk) -> dict[str, Any]:
        result = await done(desk, method, **params)
        return {into: result if out is None else result[out]}

    return make


a_memory = made_by("memory.store", content="the heron nests late", category="semantic")
a_fact = made_by("org.write", "fact_id", content="No Fridays.", category="adr")
a_proposal = made_by("org.propose", content="No Fridays.", category="adr")
a_session = made_by("session.start", "session_id", "session_id", session_id="s0")


async def a_relation(desk: Desk) -> dict[str, Any]:
    await done(desk, "org.write", content="The shop uses Flask.", category="adr")
    return {"name": "Flask"}


async def an_archived(desk: Desk) -> dict[str, Any]:
    return {"id": await done(desk, "archive.add", **await a_memory(desk))}


async def a_deleted(desk: Desk) -> dict[str, Any]:
    memory = await a_memory(desk)
    assert await done(desk, "memory.delete", **memory)
    return memory


async def a_quarantined(desk: Desk) -> dict[str, Any]:
    memory = await a_memory(desk)
    await done(desk, "memory.quarantine", **memory)
    return memory


async def a_skill(desk: Desk) -> dict[str, Any]:
    await done(desk, "learn.failure", **FAILED)
    return {"id": (await done(desk, "skill.list"))["items"][0]["id"]}


async def an_export(desk: Desk) -> dict[str, Any]:
    await a_memory(desk)
    return {"items": (await done(desk, "store.export"))["items"]}


async def a_dump(desk: Desk) -> dict[str, Any]:
    await a_memory(desk)
    return {"items": (await done(desk, "store.dump"))["items"]}


async def a_change(desk: Desk) -> dict[str, Any]:
    """Have the model another come, as if it had been asked for."""
    now_us, model = 1, fingerprint("another")
    await desk.db.write(OWNER, lambda conn: model_switch.begin(conn, "another", model, now_us))
    return {}


async def a_tuned_run(desk: Desk) -> dict[str, Any]:
    """Return a run of tuning that made something better, by what its row says."""
    run_id = (await done(desk, "tune.start"))["run_id"]
    await desk.house.rooms.tuning.settle()
    (body,) = [row.body for row in await desk.db.read(tunings.list_runs) if row.run_id == run_id]
    body["run"]["deployed"] = True
    body["tuned"] = worse(desk.house.rooms.embedder.fingerprint).body()
    await desk.db.write(OWNER, lambda conn: tunings.put(conn, run_id, body, 1))
    return {"run_id": run_id}


async def a_run_in_use(desk: Desk) -> dict[str, Any]:
    await done(desk, "tune.activate", **await a_tuned_run(desk))
    return {}


async def a_run_under_way(desk: Desk) -> dict[str, Any]:
    """Begin a run whose first step waits for a thread."""
    desk.behind.append(asyncio.create_task(desk.house.rooms.tuning._work.run(time.sleep, 0.1)))
    await asyncio.sleep(0)
    await done(desk, "tune.start")
    return {}


async def an_assistant(desk: Desk) -> dict[str, Any]:
    await done(desk, "llm.register", name="a")
    return {}


async def a_project(desk: Desk) -> dict[str, Any]:
    await done(desk, "memory.store", content="a", category="semantic", project_id="/srv/old")
    return {"project_id": "/srv/old"}


async def an_owner(desk: Desk) -> dict[str, Any]:
    del desk
    return {"public_key": Ed25519PrivateKey.generate().public_key().public_bytes_raw().hex()}


async def some_memories(desk: Desk) -> dict[str, Any]:
    return {"ids": [(await a_memory(desk))["id"]]}


async def a_client(desk: Desk) -> dict[str, Any]:
    await done(desk, "client.add", name="revoked")
    return {"name": "revoked"}


def signed(action: str) -> Maker:
    """Return what has an owner sign what is done with a proposal."""

    async def make(desk: Desk) -> dict[str, Any]:
        key = Ed25519PrivateKey.generate()
        await done(desk, "owner.set", public_key=key.public_key().public_bytes_raw().hex())
        proposed = await a_proposal(desk)
        (proposal,) = (await done(desk, "org.review"))["items"]
        state = await done(desk, "owner.state")
        signed_text = statement(
            state["store"],
            state["nonce"],
            action,
            proposal_content(Proposal.model_validate(proposal)),
        )
        return {
            **proposed,
            "signature": {"nonce": state["nonce"], "value": key.sign(signed_text).hex()},
        }

    return make


async def a_transcript(desk: Desk) -> dict[str, Any]:
    del desk
    line = {"type": "user", "message": {"role": "user", "content": "the heron nests late"}}
    return {"text": json.dumps(line), "session_id": "recorded"}


FIRST: dict[str, Maker] = {
    "archive.add": a_memory,
    "archive.restore": an_archived,
    "archive.restore_to_hot": an_archived,
    "client.revoke": a_client,
    "llm.unregister": an_assistant,
    "memory.delete": a_memory,
    "memory.forget": some_memories,
    "memory.get": a_memory,
    "memory.quarantine": a_memory,
    "memory.release": a_quarantined,
    "memory.update": a_memory,
    "memory.why": a_memory,
    "model.undo": a_change,
    "model.use": a_change,
    "org.approve": signed("org.approve"),
    "org.get": a_fact,
    "org.history": a_fact,
    "org.reject": signed("org.reject"),
    "org.retract": a_fact,
    "org.timeline": a_relation,
    "owner.set": an_owner,
    "session.end": a_session,
    "session.import": a_transcript,
    "session.messages": a_session,
    "session.move_project": a_project,
    "shared.retract": made_by("shared.publish", content="a", category="semantic"),
    "skill.show": a_skill,
    "sleep.undo": made_by("sleep.run", "run_id", "run_id"),
    "store.import": an_export,
    "store.load": a_dump,
    "trash.restore": a_deleted,
    "tune.activate": a_tuned_run,
    "tune.cancel": a_run_under_way,
    "tune.rollback": a_run_in_use,
}
"""What must be there before a method can do what it is for."""
ALONE = ("org.approve", "org.reject", "owner.set")
"""From then on an owner signs what is written: in a store of their own."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Desk]:
    """One store for all methods: each finds what it needs, whatever the others left."""
    async with a_desk(tmp_path_factory.mktemp("shared"), settings=SETTINGS) as desk:
        yield desk


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("method", sorted(methods().keys() - set(ALONE)))
async def test_every_method_answers_what_the_table_says(
    shared: Desk, method: str, tmp_path: Path
) -> None:
    await answers(shared, method, tmp_path)


@pytest.mark.parametrize("method", ALONE)
async def test_what_an_owner_signs_answers_what_the_table_says(
    desk: Desk, method: str, tmp_path: Path
) -> None:
    await answers(desk, method, tmp_path)


async def answers(desk: Desk, method: str, folder: Path) -> None:
    await a_memory(desk)
    params = dict(EXAMPLES.get(method, {}))
    if method in FIRST:
        params |= await FIRST[method](desk)
    if method == "skill.export":
        params["target"] = str(folder / "skills")
    answer = await ask(desk, method, **params)
    assert "error" not in answer, answer
    TypeAdapter(methods()[method].result).validate_json(json.dumps(answer["result"]))


BY_NAME = {"agent.list", "org.snapshot_at", "session.projects"}
"""Lists in the order of names: any name is a place there."""


def takes_a_cursor(method: str) -> bool:
    after = methods()[method].params.model_fields.get("after")
    return after is not None and after.annotation != int | None


async def test_what_is_no_cursor_is_refused_alike_by_every_list(desk: Desk) -> None:
    lists = {method for method in methods() if takes_a_cursor(method)}
    assert len(lists) > 10
    for method in sorted(lists - BY_NAME):
        params = dict(EXAMPLES.get(method, {}))
        if method in FIRST:
            params |= await FIRST[method](desk)
        for after in ("nowhere", "0", "zzzzzzzz-zzzz-zzzz-zzzz-zzzzzzzzzzzz"):
            error = (await ask(desk, method, **{**params, "after": after})).get("error")
            assert error is not None, f"{method}: an empty page looks like the end"
            assert error["message"] == "after: is not a place in this list", method
            assert (error["data"]["kind"], error["data"]["field"]) == ("invalid", "after")
            assert "the last page" in error["data"]["hint"]


async def test_a_damaged_lesson_is_no_skill_and_hides_no_other(desk: Desk) -> None:
    for error in ("no such target", "the disk is full"):
        await done(desk, "learn.failure", **FAILED | {"task_id": error, "error_message": error})
    first, second = (await done(desk, "skill.list"))["items"]
    damage = "UPDATE memory SET confidence = 0.123 WHERE memory_id = ?"
    await desk.db.write(OWNER, lambda conn: list(conn.execute(damage, (first["id"],))))
    assert (await done(desk, "skill.list"))["items"] == [second]


async def test_what_is_exported_can_be_imported_elsewhere_once(desk: Desk, tmp_path: Path) -> None:
    async with a_desk(tmp_path / "elsewhere") as there:
        await _exported(desk, there)


async def _exported(here: Desk, there: Desk) -> None:
    for text in ("one", "two"):
        await ask(here, "memory.store", content=text, category="semantic", agent_id="me")
    items = (await ask(here, "store.export", agent_id="me"))["result"]["items"]
    assert (await ask(here, "store.import", items=items))["result"] == {
        "stored": 0,
        "known": 2,
        "skipped": 0,
    }
    assert (await ask(there, "store.import", items=items))["result"] == {
        "stored": 2,
        "known": 0,
        "skipped": 0,
    }
    assert (await ask(there, "memory.count", agent_id="me"))["result"] == 2


async def test_a_page_is_cut_where_its_texts_would_not_fit_into_a_frame(desk: Desk) -> None:
    for _ in range(8):
        await ask(desk, "memory.store", content="x" * 300_000, category="semantic")
    seen, after = 0, None
    while True:
        page = (await ask(desk, "memory.list", **({"after": after} if after else {})))["result"]
        seen += len(page["items"])
        after = page["next"]
        if after is None:
            break
    assert seen == 8


async def test_the_caller_is_made_by_the_daemon_from_the_params(desk: Desk) -> None:
    params = {"content": "a", "category": "semantic", "user_id": "me", "session_id": "s"}
    await ask(desk, "memory.store", **params, idempotency_key="k1")
    await ask(desk, "memory.store", **params, idempotency_key="k2")
    await ask(desk, "memory.store", **{**params, "content": "b"}, idempotency_key="k1")
    one, two, other = desk.house.callers
    assert (one.agent_id, one.session_id, one.idempotency_key) == ("me", "s", "k1")
    assert one.method == "memory.store"
    assert one.request_hash == two.request_hash != other.request_hash


async def test_a_key_that_is_revoked_while_its_request_is_read_opens_nothing(desk: Desk) -> None:
    credentials = Credentials(BOSS)
    params = {"content": "x" * 300_000, "category": "semantic"}  # read in a thread
    answer = asyncio.ensure_future(
        desk.dispatch.answer(Request(7, "memory.store", params), ActiveRequest(credentials))
    )
    await asyncio.sleep(0)

    credentials.revoke()

    assert json.loads(await answer or b"")["error"]["data"]["kind"] == "denied"
    assert await desk.house.memories() == 0


async def test_the_reserved_agent_is_nobodys(desk: Desk) -> None:
    answer = await ask(desk, "memory.count", agent_id="__shared__")
    assert answer["error"]["data"]["kind"] == "denied"


async def test_an_answer_that_is_too_large_is_told_as_such(desk: Desk) -> None:
    for _ in range(9):
        await ask(desk, "memory.store", content="x" * 300_000, category="semantic")
    answer = await ask(desk, "memory.retrieve", limit=9)
    assert answer["error"]["data"]["kind"] == "too_large"


def test_the_document_describes_every_method_and_resolves_every_reference() -> None:
    made = document()
    assert [method["name"] for method in made["methods"]] == [*methods(), *records()]
    text = json.dumps(made)
    used = {part.split('"')[0] for part in text.split('"$ref": "#/components/schemas/')[1:]}
    assert used
    assert used <= set(made["components"]["schemas"])
    store = next(m for m in made["methods"] if m["name"] == "memory.store")
    assert {p["name"] for p in store["params"] if p["required"]} == {"category", "content"}


def test_the_counters_add_up_in_both_forms() -> None:
    metrics = Metrics()
    metrics.count("memory.recall", "ok", 3_000)
    metrics.count("memory.recall", "busy", BOUNDS_US[-1] + 1)
    counters = metrics.as_json({"connections": 1})
    assert counters["methods"]["memory.recall"]["requests"] == 2
    assert counters["methods"]["memory.recall"]["errors"] == {"busy": 1}
    text = metrics.as_prometheus({"connections": 1})
    assert 'memd_request_seconds_bucket{method="memory.recall",le="0.005"} 1' in text
    assert 'memd_request_seconds_bucket{method="memory.recall",le="+Inf"} 2' in text
