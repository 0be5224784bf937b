"""The table of methods and what answers them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import TypeAdapter
from support.access import the_operator
from support.rooms import FakeHouse

from memd.rpc.envelope import Request
from memd.serve.dispatch import ActiveRequest, Dispatch
from memd.serve.events import Link, Listener
from memd.serve.metrics import BOUNDS_US, Metrics
from memd.serve.routes.routes import methods, records
from memd.serve.status import document


def a_dispatch(house: FakeHouse, stopped: list[bool] | None = None) -> Dispatch:
    return house.dispatch(stop=lambda: None if stopped is None else stopped.append(True))


class APeer:
    """A connection that takes every event."""

    listener: Listener | None = None
    link: Link | None = None

    def may_hear(self, agent_id: str) -> bool:
        return bool(agent_id)

    def offer(self, frame: bytes) -> bool:
        return bool(frame)


async def ask(dispatch: Dispatch, method: str, **params: Any) -> dict[str, Any]:
    frame = await dispatch.answer(
        Request(7, method, params), ActiveRequest(the_operator(), peer=APeer())
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
    "memory.get": {"id": "m000000"},
    "llm.register": {"name": "a"},
    "memory.why": {"id": "m000000"},
    "memory.update": {"id": "m000000", "content": "b"},
    "memory.delete": {"id": "m000000"},
    "memory.forget": {"ids": ["m000000"]},
    "memory.release": {"id": "m000000"},
    "memory.quarantine": {"id": "m000000"},
    "memory.synthesize": {"query": "a"},
    "learn.failure": {"task_id": "t", "task_title": "a"},
    "skill.show": {"id": "l000000"},
    "learn.outcome": {"final_response": "done"},
    "tune.activate": {"run_id": "a"},
    "learn.success": {"description": "a", "tools": ["b"]},
    "preference.set": {"name": "a", "value": "b"},
    "preference.get": {"name": "a"},
    "preference.confirm": {"name": "a"},
    "preference.delete": {"name": "a"},
    "store.load": {"items": [{}]},
    "store.note_copy": {"target": "/copy.db"},
    "trash.restore": {"id": "m000000"},
    "archive.add": {"id": "m000000"},
    "archive.restore": {"id": "m000000"},
    "archive.restore_to_hot": {"id": "m000000"},
    "org.write": {"content": "a", "category": "adr"},
    "org.retract": {"fact_id": "f000000"},
    "org.get": {"fact_id": "f000000"},
    "org.history": {"fact_id": "f000000"},
    "org.snapshot_at": {"at": "2026-01-01T00:00:00Z"},
    "org.as_of": {"valid": "2026-01-01T00:00:00Z"},
    "org.timeline": {"name": "Flask"},
    "shared.publish": {"content": "a", "category": "semantic"},
    "shared.retract": {"id": "s000000"},
    "graph.add": {"subject": "a", "relation": "uses", "object": "b"},
    "graph.neighbours": {"name": "a"},
    "graph.path": {"source": "a", "target": "b"},
    "graph.query": {"question": "a?"},
    "session.end": {"session_id": "s0"},
    "session.messages": {"session_id": "s0"},
    "session.search": {"query": "a word"},
    "session.import": {"text": "a"},
    "usage.report": {"source": "codex", "session_id": "s0", "used_tokens": 7},
    "sleep.consolidate": {"messages": [{"role": "user", "content": "a"}]},
    "sleep.should_consolidate": {"current_tokens": 25_000},
    "sleep.estimate_tokens": {"messages": [{"role": "user", "content": "a"}]},
    "sleep.undo": {"run_id": "run-0000"},
    "inject.prepare": {"query": "a"},
    "inject.call": {"name": "search_memory"},
    "inject.file": {"command": "view", "path": "/memories"},
    "org.propose": {"category": "adr", "content": "a"},
    "org.approve": {"id": "p0"},
    "org.reject": {"id": "p0"},
    "owner.set": {"public_key": "00" * 32},
    "client.add": {"name": "a"},
    "client.revoke": {"name": "a"},
    "agent.set": {"level": "persistent", "retention_days": 3},
}


@pytest.mark.parametrize("method", sorted(methods()))
async def test_every_method_answers_what_the_table_says(method: str) -> None:
    house = FakeHouse()
    dispatch = a_dispatch(house)
    await ask(dispatch, "memory.store", content="a", category="semantic")
    await ask(dispatch, "sleep.run")
    await ask(dispatch, "session.start", session_id="s0")
    await ask(dispatch, "client.add", name="a")
    params = dict(EXAMPLES.get(method, {}))
    if method == "store.import":
        listed = await ask(dispatch, "store.export")
        params = {"items": listed["result"]["items"]}
    answer = await ask(dispatch, method, **params)
    assert "error" not in answer, answer
    TypeAdapter(methods()[method].result).validate_json(json.dumps(answer["result"]))


async def test_what_is_exported_can_be_imported_elsewhere_once() -> None:
    here, there = a_dispatch(FakeHouse()), a_dispatch(FakeHouse())
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


async def test_a_page_is_cut_where_its_texts_would_not_fit_into_a_frame() -> None:
    dispatch = a_dispatch(FakeHouse())
    for _ in range(8):
        await ask(dispatch, "memory.store", content="x" * 300_000, category="semantic")
    seen, after = 0, None
    while True:
        page = (await ask(dispatch, "memory.list", **({"after": after} if after else {})))["result"]
        seen += len(page["items"])
        after = page["next"]
        if after is None:
            break
    assert seen == 8


async def test_the_caller_is_made_by_the_daemon_from_the_params() -> None:
    house = FakeHouse()
    dispatch = a_dispatch(house)
    said = {"content": "a", "category": "semantic", "user_id": "me", "session_id": "s"}
    await ask(dispatch, "memory.store", **said, idempotency_key="k1")
    await ask(dispatch, "memory.store", **said, idempotency_key="k2")
    await ask(dispatch, "memory.store", **{**said, "content": "b"}, idempotency_key="k1")
    one, two, other = house.callers
    assert (one.agent_id, one.session_id, one.idempotency_key) == ("me", "s", "k1")
    assert one.method == "memory.store"
    assert one.request_hash == two.request_hash != other.request_hash


async def test_the_reserved_agent_is_nobodys() -> None:
    answer = await ask(a_dispatch(FakeHouse()), "memory.count", agent_id="__shared__")
    assert answer["error"]["data"]["kind"] == "denied"


async def test_an_answer_that_is_too_large_is_told_as_such() -> None:
    dispatch = a_dispatch(FakeHouse())
    for _ in range(9):
        await ask(dispatch, "memory.store", content="x" * 300_000, category="semantic")
    answer = await ask(dispatch, "memory.retrieve", limit=9)
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
    told = metrics.as_json({"connections": 1})
    assert told["methods"]["memory.recall"]["requests"] == 2
    assert told["methods"]["memory.recall"]["errors"] == {"busy": 1}
    text = metrics.as_prometheus({"connections": 1})
    assert 'memd_request_seconds_bucket{method="memory.recall",le="0.005"} 1' in text
    assert 'memd_request_seconds_bucket{method="memory.recall",le="+Inf"} 2' in text
