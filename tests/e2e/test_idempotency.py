"""SPEC D7 at the real socket: a write that is sent twice happens once."""

from __future__ import annotations

from typing import Any

import pytest
from support.desk import Desk

from memd.base.errors import ConflictError

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
