"""SPEC D7 at the real socket: a write that is sent twice happens once."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest
from support.daemon import Spawned
from support.desk import Desk

from memd.base.errors import ConflictError
from memd.rpc import calls

WRITES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("memory.ingest", {"text": "one"}, {"text": "two"}),
    ("memory.ingest_many", {"items": [{"text": "one"}]}, {"items": [{"text": "two"}]}),
    (
        "memory.store",
        {"content": "one", "category": "semantic"},
        {"content": "two", "category": "semantic"},
    ),
    ("preference.set", {"name": "a", "value": "one"}, {"name": "a", "value": "two"}),
    ("agent.set", {"type": "session"}, {"type": "project"}),
]


@pytest.mark.parametrize(("method", "params", "other"), WRITES, ids=[w[0] for w in WRITES])
def test_the_same_key_has_the_same_answer(
    desk: Desk, method: str, params: dict[str, Any], other: dict[str, Any]
) -> None:
    del other
    key = f"{method} {desk.agent_id}"
    first = desk.call(method, **params, idempotency_key=key)
    before = desk.count(), desk.preferences()

    assert desk.call(method, **params, idempotency_key=key) == first

    assert (desk.count(), desk.preferences()) == before


@pytest.mark.parametrize(("method", "params", "other"), WRITES, ids=[w[0] for w in WRITES])
def test_the_same_key_with_another_request_is_a_conflict(
    desk: Desk, method: str, params: dict[str, Any], other: dict[str, Any]
) -> None:
    key = f"{method} {desk.agent_id}"
    desk.call(method, **params, idempotency_key=key)
    before = desk.count(), desk.preferences()

    error = desk.refused(method, **other, idempotency_key=key)

    assert isinstance(error, ConflictError)
    assert error.field == "idempotency_key"
    assert (desk.count(), desk.preferences()) == before


def test_a_late_repetition_does_not_bring_an_old_value_back(desk: Desk) -> None:
    desk.call("preference.set", name="tone", value="formal", idempotency_key="k1")
    desk.call("preference.set", name="tone", value="casual", idempotency_key="k2")

    desk.call("preference.set", name="tone", value="formal", idempotency_key="k1")

    assert desk.preferences() == {"tone": "casual"}


def test_a_key_of_one_method_is_no_key_of_another(desk: Desk) -> None:
    desk.call("memory.ingest", text="one", idempotency_key="shared")

    error = desk.refused(
        "memory.store", content="one", category="semantic", idempotency_key="shared"
    )

    assert isinstance(error, ConflictError)


def test_the_client_makes_a_key_for_each_call(desk: Desk) -> None:
    ids = {desk.store("The same words.") for _ in range(3)}

    assert len(ids) == 3


def test_a_repetition_of_a_delete_answers_as_the_first(desk: Desk) -> None:
    memory_id = desk.store("Away with it.")

    assert desk.call("memory.delete", id=memory_id, idempotency_key="d") is True
    assert desk.call("memory.delete", id=memory_id, idempotency_key="d") is True
    assert desk.call("memory.delete", id=memory_id) is False


PIER = {"role": "user", "content": "The pier light is green since May, not red."}
WINDOW = [PIER, {"role": "assistant", "content": "Noted."}] * 4
FULL = {"source": "own", "session_id": "s", "used_tokens": 29_000, "window_tokens": 30_000}
LINE = '{"role": "user", "content": "We moved the buoy to the north side in 2021."}\n'
SEVERAL: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("usage.report", {**FULL, "messages": WINDOW}, {**FULL, "messages": WINDOW[:-1]}),
    ("session.import", {"text": LINE, "session_id": "a"}, {"text": LINE, "session_id": "b"}),
    ("session.end", {"session_id": "open"}, {"session_id": "other"}),
    ("learn.prune", {"dry_run": True}, {"dry_run": False}),
]
"""Writes of several transactions, or of none."""


@pytest.mark.parametrize(("method", "params", "other"), SEVERAL, ids=[w[0] for w in SEVERAL])
def test_a_write_of_several_transactions_has_one_answer_too(
    desk: Desk, method: str, params: dict[str, Any], other: dict[str, Any]
) -> None:
    for session_id in ("open", "other"):
        desk.call("session.start", session_id=session_id)
    key = f"{method} {desk.agent_id}"
    first = desk.call(method, **params, idempotency_key=key)

    assert desk.call(method, **params, idempotency_key=key) == first
    assert isinstance(desk.refused(method, **other, idempotency_key=key), ConflictError)


def test_the_shorter_list_of_a_report_whose_answer_was_lost_is_sent_again(
    daemon: Spawned, desk: Desk
) -> None:
    params = {"agent_id": desk.agent_id, **FULL, "messages": WINDOW, "idempotency_key": "lost"}
    with daemon.client() as lost:
        lost.call("system.status")
        assert lost._sock is not None
        lost._sock.sendall(calls.frame(7, "usage.report", params))
    (summary, *rest) = desk.client.call("usage.report", params)["consolidated"]["messages"]
    assert PIER["content"] in summary["content"]
    assert rest == WINDOW[-4:]
    with sqlite3.connect(daemon.paths.database) as conn:
        stored = [reply for (reply,) in conn.execute("SELECT reply FROM reply") if "fill" in reply]
    assert stored
    assert not [reply for reply in stored if "pier" in reply]


def test_a_lost_part_of_a_transcript_is_sent_again_on_a_new_connection(desk: Desk) -> None:
    part = {"text": LINE, "session_id": "parts"}
    for _ in range(2):
        desk.call("session.import", **part, more=True, idempotency_key="first part")
        desk.client.close()  # what has arrived is dropped with the connection
    desk.call("session.import", **part, more=True, idempotency_key="first part")
    last = {**part, "offset": len(LINE), "idempotency_key": "last part"}
    first = desk.call("session.import", **last)
    desk.client.close()
    assert desk.call("session.import", **last) == first
    assert first["messages"] == 2
