"""Operational records at the real socket and on the command line, for each entity."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.commands import Memd
from support.daemon import Spawned
from support.sample_records import EXAMPLES, save

from memd.base.errors import (
    ConstraintViolationError,
    DeniedError,
    DuplicateRecordError,
    InvalidError,
    InvalidQueryError,
    UnknownMethodError,
    VersionConflictError,
)
from memd.client import Client
from memd.records.entities import ENTITIES
from memd.serve.routes.routes import methods, records

EVERY = pytest.mark.parametrize("name", ENTITIES)


@pytest.fixture(scope="module")
def reader(daemon: Spawned) -> Iterator[Client]:
    with daemon.client() as owner:
        added = owner.call("client.add", {"name": "reader", "scopes": ["read"]})
    with Client(daemon.paths.socket, key=Path(added["key_file"])) as client:
        yield client


def key_of(name: str) -> dict[str, Any]:
    return {field: EXAMPLES[name][field] for field in ENTITIES[name].key}


@EVERY
def test_an_entity_is_saved_found_listed_counted_and_deleted(client: Client, name: str) -> None:
    entity = ENTITIES[name]
    key = {entity.key[-1]: f"one-{name}"}
    save(client, name, **key)
    answer = client.call(f"records.{name}.get", {**key_of(name), **key})["record"]
    assert {**answer, **EXAMPLES[name], **key} == answer
    assert answer in client.call(f"records.{name}.list")["items"]
    assert client.call(f"records.{name}.count")["count"] >= 1
    assert client.call(f"records.{name}.get", {**key_of(name), entity.key[0]: "no"}) == {
        "record": None
    }
    if entity.deletes:
        assert client.call(f"records.{name}.delete", {**key_of(name), **key}) == {"count": 1}
        assert client.call(f"records.{name}.delete", {**key_of(name), **key}) == {"count": 0}
    else:
        with pytest.raises(UnknownMethodError):
            client.call(f"records.{name}.delete", key)


@EVERY
def test_each_method_needs_its_scope(reader: Client, name: str) -> None:
    entity = ENTITIES[name]
    calls: dict[str, dict[str, Any]] = {
        "save": {"record": EXAMPLES[name]},
        "delete": key_of(name),
        "purge": {"before": "2020-01-01T00:00:00Z"},
    }
    for verb in {"save", "delete", "purge"} & set(entity.verbs):
        with pytest.raises(DeniedError):
            reader.call(f"records.{name}.{verb}", calls[verb])
    if entity.reading == "read":
        assert "items" in reader.call(f"records.{name}.list")
    else:
        with pytest.raises(DeniedError):
            reader.call(f"records.{name}.list")


def test_a_bad_call_is_told_by_its_kind(client: Client) -> None:
    save(client, "messages")
    with pytest.raises(DuplicateRecordError):
        save(client, "messages")
    save(client, "cost_records", id="c9")
    with pytest.raises(ConstraintViolationError):
        client.call("records.tasks.delete", {"id": "t1"})
    with pytest.raises(UnknownMethodError):
        client.call("records.invoices.list")
    with pytest.raises(InvalidError):
        client.call("records.tasks.list", {"after": "no"})
    with pytest.raises(InvalidError):
        client.call("records.messages.list", {"since": "2026-03-01T12:00:00"})
    with pytest.raises(InvalidError):
        save(client, "messages", id="late", timestamp="2026-03-01T12:00:00")
    with pytest.raises(InvalidError):
        save(client, "cost_records", id="much", cost=1e300)
    with pytest.raises(InvalidError, match="memd's own"):
        save(client, "messages", id="memd:x")
    times = {"since": "2026-03-02T00:00:00Z", "until": "2026-03-01T00:00:00Z"}
    with pytest.raises(InvalidQueryError):
        client.call("records.messages.list", times)


def test_a_lost_compare_and_swap_is_a_version_conflict(client: Client) -> None:
    first = {**EXAMPLES["settings"], "key": "swapped"}
    later = {**first, "value": "light", "updated_at": "2026-03-02T12:00:00Z"}
    added = [
        client.call("records.settings.set", {"record": {**first, "key": "other"}}),
        client.call("records.settings.set", {"record": first, "expected": ""}),
        client.call("records.settings.set", {"record": later, "expected": first["updated_at"]}),
        client.call("records.settings.set", {"record": later, "expected": None}),
    ]
    assert [answer["added"] for answer in added] == [True, True, False, False]
    with pytest.raises(VersionConflictError):
        client.call("records.settings.set", {"record": first, "expected": first["updated_at"]})
    answer = client.call("records.settings.get", {"namespace": "ui", "key": "swapped"})
    assert answer["record"]["value"] == "light"


def test_the_methods_are_described_but_not_loaded_by_a_start(client: Client) -> None:
    described = {method["name"] for method in client.call("rpc.discover")["methods"]}
    assert described == methods().keys() | records().keys()
    assert len(records()) == sum(len(entity.verbs) for entity in ENTITIES.values()) + 2


def test_the_command_line_lists_shows_and_exports(memd: Memd, client: Client) -> None:
    for number in range(3):
        save(client, "projects", id=f"p{number}", name=f"Bees {number}")
    listed = memd("records", "projects", "list").out
    assert "p1" in listed
    assert "Bees 2" in listed
    shown = memd("records", "projects", "show", "p1", "--json").json
    assert shown["record"]["name"] == "Bees 1"
    lines = memd("records", "projects", "export").out.splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["p0", "p1", "p2"]
    active = memd("records", "projects", "list", "--where", "status=active", "--json")
    assert active.json["items"] == []
    code, _, err = memd("records", "projects", "show", "p9")
    assert (code, "no record of projects has the key p9" in err) == (1, True)
    code, _, err = memd("records", "invoices", "list")
    assert code == 2
    assert "cost_records" in err


def test_a_filter_that_is_called_as_an_option_is_a_mistake(memd: Memd) -> None:
    assert memd("records", "tasks", "list", "--where", "limit=many").code == 2
