"""The table of methods, the validation of their params, and how large a page of facts is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memd.base.errors import InvalidError
from memd.rpc.calls import KEYED
from memd.serve.routes import routes
from memd.serve.routes.memory import ForgetParams, IngestManyParams, RecallParams, StoreParams
from memd.serve.routes.org import ProposeFactParams
from memd.serve.routes.routes import (
    IdParams,
    KeyParams,
    Params,
    find_nearest,
    methods,
    records,
)
from memd.serve.routes.system import MetricsParams
from memd.serve.validation import validate

TOLD = "the gate code is 4711"


def test_all_that_is_missing_is_named_in_one_go() -> None:
    model = records()["records.cost_records.save"].params
    given = {"record": {"id": "c1", "agent_id": "ada", "cost": "x"}}
    with pytest.raises(InvalidError) as caught:
        validate(model, given)
    names = ("task_id", "provider", "model", "input_tokens", "output_tokens", "timestamp")
    expected = ", ".join(f"record.{name}" for name in names)
    assert caught.value.message.startswith(f"required: {expected}; record.cost: must be ")
    assert caught.value.field == "record.task_id"
    with pytest.raises(InvalidError, match=r"record: is required"):
        validate(model, {})


def test_an_unknown_param_is_told_with_the_one_that_is_meant() -> None:
    with pytest.raises(InvalidError) as caught:
        validate(RecallParams, {"query": "x", "sesion_id": TOLD})
    assert "is unknown; did you mean session_id? there are " in caught.value.message
    with pytest.raises(InvalidError) as caught:
        validate(RecallParams, {"query": "x", "z" * 100_000: TOLD})
    assert "did you mean" not in caught.value.message


@pytest.mark.parametrize(
    ("model", "given", "message"),
    [
        (
            StoreParams,
            {"content": "x", "category": "semantic", "metadata": {"room": TOLD}},
            "metadata.room: is unknown; there are confidence, source, tags",
        ),
        (
            StoreParams,
            {"content": "x", "category": "semantic", "metadata": {"tag": [TOLD]}},
            "metadata.tag: is unknown; did you mean tags? there are confidence, source, tags",
        ),
        (ForgetParams, {"filter": {"tagz": [TOLD]}}, "filter.tagz: is unknown; did you mean tags?"),
        (IngestManyParams, {"items": [{"text": "x", "tagz": []}]}, "items.0.tagz: is unknown; did"),
    ],
)
def test_an_unknown_field_of_a_param_is_told_with_what_there_is(
    model: type[Params], given: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidError) as caught:
        validate(model, given)
    assert caught.value.message.startswith(message)


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("memory.serach", "memory.recall"),
        ("memory.recal", "memory.recall"),
        ("memory.hsitory", "memory.why"),
        ("memory.delete_all", "memory.forget"),
        ("memory.remove_all", "memory.forget"),
        ("memory.get_alll", "memory.list"),
        ("memory.reset", "memory.forget"),
        ("memory.find_one", None),
        ("memory.xyz", None),
    ],
)
def test_a_misspelt_verb_of_another_program_is_answered_with_memd_s(
    name: str, nearest: str | None
) -> None:
    assert find_nearest(name) == nearest


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


@pytest.mark.parametrize(
    ("method", "given", "message"),
    [
        ("memory.ingest_many", {"items": [{"text": " "}]}, "items.0.text: must not be blank"),
        ("memory.ingest_many", {"items": []}, "items: must have at least 1 item, not 0"),
        (
            "memory.count",
            {"agent_id": "a", "user_id": "a"},
            "user_id: is another name of agent_id: give only one of them",
        ),
        ("events.subscribe", {"names": []}, "names: must have at least 1 item, not 0"),
        (
            "sleep.run",
            {"progress_token": ""},
            "progress_token: must not be blank; progress_token: must be a valid integer",
        ),
    ],
)
def test_what_is_wrong_is_told_in_words_of_json(
    method: str, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidError) as caught:
        validate(methods()[method].params, given)
    assert caught.value.message == message


def test_times_enums_and_sets_are_read_from_what_json_has() -> None:
    params = validate(
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
    assert params.since is not None
    assert params.namespaces == frozenset({"a"})
    assert params.agent_id == "me"


def test_many_mistakes_are_counted_not_listed() -> None:
    with pytest.raises(InvalidError, match="and 7 more"):
        validate(IdParams, {"id": "a", **{f"x{i}": 1 for i in range(10)}})


def test_the_length_of_a_text_is_told_in_characters() -> None:
    too_long: dict[str, Any] = {"command": "view", "path": "/memories/" + "x" * 1_024}
    with pytest.raises(InvalidError, match="path: must have at most 1024 characters, not 1034"):
        validate(methods()["inject.file"].params, too_long)
    empty: dict[str, Any] = {"command": "str_replace", "path": "/memories/a", "old_str": ""}
    with pytest.raises(InvalidError, match="old_str: must have at least 1 character, not 0"):
        validate(methods()["inject.file"].params, empty)
    many: dict[str, Any] = {"command": "view", "path": "/memories/a", "view_range": [1, 2, 3]}
    with pytest.raises(InvalidError, match="at most 2 items"):
        validate(methods()["inject.file"].params, many)


NOON = datetime(2026, 3, 17, 12, tzinfo=UTC)


def test_a_fact_holds_for_a_time_and_never_for_none() -> None:
    params = {"category": "adr", "content": "We use SQLite.", "valid_from": NOON}
    ProposeFactParams.model_validate({**params, "valid_to": NOON + timedelta(microseconds=1)})
    for end in (NOON, NOON - timedelta(days=1)):
        with pytest.raises(ValueError, match="valid_from must be before valid_to"):
            ProposeFactParams.model_validate({**params, "valid_to": end})


@pytest.mark.parametrize(
    ("bytes_max", "fit"), [(1, 1), (11, 1), (12, 2), (17, 2), (18, 3), (100, 4)]
)
def test_as_many_as_fit_into_a_frame_and_always_the_first(
    monkeypatch: pytest.MonkeyPatch, bytes_max: int, fit: int
) -> None:
    monkeypatch.setattr(routes, "FRAME_BYTES_MAX", bytes_max)
    items = ["abc", "def", "ghi", "jkl"]  # six bytes each, with quotes and what parts them
    fitted = list(routes.fitting_items(items))  # type: ignore[type-var]  # texts stand for values
    assert fitted == items[:fit]
