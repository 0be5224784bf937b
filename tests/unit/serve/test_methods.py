"""The table of methods, and the validation of their params."""

from __future__ import annotations

from typing import Any

import pytest

from memd.base.errors import InvalidError
from memd.rpc.calling import KEYED
from memd.serve.routes.memory import ForgetParams, IngestManyParams, RecallParams, StoreParams
from memd.serve.routes.routes import IdParams, KeyParams, Params, methods, validate
from memd.serve.routes.system import MetricsParams

TOLD = "the gate code is 4711"


def test_every_write_takes_a_key_and_nothing_else_does() -> None:
    takes = {method.name for method in methods().values() if issubclass(method.params, KeyParams)}
    assert takes == {method.name for method in methods().values() if method.writes}


def test_the_client_sends_twice_what_repeats_its_answer() -> None:
    again = {m.name for m in methods().values() if m.writes and m.repeats != "anew"}
    assert again == KEYED


@pytest.mark.parametrize(
    ("model", "given", "field"),
    [
        (RecallParams, {"query": "x", "top_k": "7"}, "top_k"),
        (RecallParams, {"query": "x", "top_k": True}, "top_k"),
        (RecallParams, {"query": "x", "top_k": 0}, "top_k"),
        (RecallParams, {"query": "x", "top_k": -1}, "top_k"),
        (RecallParams, {"query": "x", "top_k": 10**9}, "top_k"),
        (RecallParams, {"query": "x", "why": 1}, "why"),
        (RecallParams, {"query": TOLD, "k": 5}, "k"),
        (RecallParams, {"query": "  "}, "query"),
        (RecallParams, {}, "query"),
        (RecallParams, {"query": "x", "since": "2026-01-01T00:00:00"}, "since"),
        (RecallParams, {"query": "x", "since": 1}, "since"),
        (RecallParams, {"query": "x", "categories": ["semantic", TOLD]}, "categories.1"),
        (StoreParams, {"content": TOLD, "category": "gossip"}, "category"),
        (IngestManyParams, {"items": [{"text": TOLD}, {"text": 1}]}, "items.1.text"),
        (ForgetParams, {}, None),
        (IdParams, {"id": "x" * 257}, "id"),
        (IdParams, {"id": "a\x00b"}, "id"),
        (MetricsParams, {"format": TOLD}, "format"),
    ],
)
def test_a_wrong_param_is_named_and_its_value_is_not(
    model: type[Params], given: dict[str, Any], field: str | None
) -> None:
    with pytest.raises(InvalidError) as caught:
        validate(model, given)
    assert caught.value.field == field
    assert "pydantic" not in caught.value.message
    assert TOLD not in caught.value.message


def test_times_enums_and_sets_are_read_from_what_json_has() -> None:
    found = validate(
        RecallParams,
        {
            "query": "x",
            "since": "2026-01-01T00:00:00+02:00",
            "memory_types": ["semantic"],
            "namespaces": ["a", "a"],
            "tags": ["t"],
            "min_relevance": 1,
            "user_id": "me",
        },
    )
    assert found.since is not None
    assert found.namespaces == frozenset({"a"})
    assert found.agent_id == "me"


def test_many_mistakes_are_counted_not_listed() -> None:
    with pytest.raises(InvalidError, match="and 7 more"):
        validate(IdParams, {"id": "a", **{f"x{i}": 1 for i in range(10)}})


def test_the_length_of_a_text_is_told_in_characters() -> None:
    too_long: dict[str, Any] = {"command": "view", "path": "/memories/" + "x" * 1_024}
    with pytest.raises(InvalidError, match="path: should have at most 1024 characters, not 1034"):
        validate(methods()["inject.file"].params, too_long)
    empty: dict[str, Any] = {"command": "str_replace", "path": "/memories/a", "old_str": ""}
    with pytest.raises(InvalidError, match="old_str: should have at least 1 character, not 0"):
        validate(methods()["inject.file"].params, empty)
    many: dict[str, Any] = {"command": "view", "path": "/memories/a", "view_range": [1, 2, 3]}
    with pytest.raises(InvalidError, match="at most 2 items"):
        validate(methods()["inject.file"].params, many)
