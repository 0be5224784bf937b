"""What records refuse at the real socket, and what pages do while rows go (issue: bad input)."""

from __future__ import annotations

import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_type_hints

import apsw
import pytest
from pydantic import AwareDatetime
from support.daemon import Spawned, spawned
from support.sample_records import EXAMPLES, numbered, save

from memd.base.errors import InvalidError, MalformedRowError, VersionConflictError
from memd.base.limits import REPLY_BYTES_MAX
from memd.client import Client
from memd.records.entities import ENTITIES

EVERY = pytest.mark.parametrize("name", ENTITIES)
WITH_TIME = [name for name, entity in ENTITIES.items() if entity.time]
MOMENT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def bare(name: str, field: str) -> Any:
    """Return the type of a field, without None and without its bounds."""
    hint = get_type_hints(ENTITIES[name].model)[field]
    inner = [each for each in get_args(hint) if each is not NoneType]
    return inner[0] if inner and NoneType in get_args(hint) else hint


def fields_of(*kinds: Any) -> list[tuple[str, str]]:
    return [
        (name, field)
        for name, entity in ENTITIES.items()
        for field in entity.model.model_fields
        if bare(name, field) in kinds
    ]


@EVERY
def test_pages_go_on_behind_rows_that_are_gone(client: Client, name: str) -> None:
    entity, method = ENTITIES[name], f"records.{name}"
    made = [save(client, name, **numbered(name, number)) for number in range(6)]
    key = entity.key[-1]
    keys = [record[key] for record in (made[::-1] if entity.newest_first else made)]
    page = client.call(f"{method}.list", {"limit": 3})
    assert [item[key] for item in page["items"]] == keys[:3]
    if entity.deletes:
        for gone in (keys[2], keys[3]):  # the page's end and the next one's beginning
            client.call(f"{method}.delete", {**{k: made[0][k] for k in entity.key}, key: gone})
        left = [keys[4], keys[5]]
    else:
        client.call(f"{method}.purge", {"before": made[2][str(entity.time)]})  # the oldest two
        left = [keys[3]]
    rest = client.call(f"{method}.list", {"limit": 3, "after": page["next"]})
    assert ([item[key] for item in rest["items"]], rest["next"]) == (left, None)
    if not entity.deletes:
        client.call(f"{method}.purge", {"before": "2030-01-01T00:00:00Z"})
        none = client.call(f"{method}.list", {"after": page["next"]})
        assert none == {"items": [], "next": None}


@pytest.mark.parametrize(("name", "field"), fields_of(AwareDatetime, datetime))
def test_a_time_without_zone_is_refused_and_named(client: Client, name: str, field: str) -> None:
    for wrong in ("2026-03-01T12:00:00", "2026-03-01", "noon", 1_772_366_400):
        with pytest.raises(InvalidError) as caught:
            save(client, name, **{field: wrong})
        assert field in str(caught.value.field)


@pytest.mark.parametrize("name", WITH_TIME)
def test_a_question_s_time_needs_its_zone_too(client: Client, name: str) -> None:
    wrong = "2026-03-01T12:00:00"
    for verb in ("list", "count"):
        for field in ("since", "until"):
            with pytest.raises(InvalidError):
                client.call(f"records.{name}.{verb}", {field: wrong})
    with pytest.raises(InvalidError):
        client.call(f"records.{name}.purge", {"before": wrong})


@pytest.mark.parametrize(("name", "field"), fields_of(int, float))
def test_an_amount_that_overflows_is_refused_and_named(
    client: Client, name: str, field: str
) -> None:
    for wrong in (-1, 1e19, 1e300, "much"):
        with pytest.raises(InvalidError) as caught:
            save(client, name, **{field: wrong})
        assert field in str(caught.value.field)
    with pytest.raises(InvalidError, match="more than 64 bits"):  # before it is anybody's field
        save(client, name, **{field: 2**63})


def test_what_the_largest_costs_come_to_is_a_number(client: Client) -> None:
    for number in range(5):
        save(client, "cost_records", id=f"big{number}", agent_id="big", cost=1e12,
             input_tokens=2**63 - 1)  # fmt: skip
    answer = client.call("records.cost_records.aggregate", {"agent_id": "big"})
    assert answer == {"amount": 5e12, "currency": "USD"}
    (first, *_) = client.call("records.cost_records.list", {"agent_id": "big"})["items"]
    assert first["input_tokens"] == 2**63 - 1


def test_of_many_that_swap_at_once_one_wins(daemon: Spawned, client: Client) -> None:
    first = save(client, "settings", key="raced")
    outcomes: list[str] = []

    def swap(number: int) -> None:
        at = (MOMENT + timedelta(seconds=number + 1)).isoformat()
        record = {**first, "value": f"v{number}", "updated_at": at}
        with daemon.client() as other:
            try:
                other.call(
                    "records.settings.set", {"record": record, "expected": first["updated_at"]}
                )
                outcomes.append(record["value"])
            except VersionConflictError:
                outcomes.append("lost")

    threads = [threading.Thread(target=swap, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count("lost") == 5
    (won,) = set(outcomes) - {"lost"}
    key = {"namespace": "ui", "key": "raced"}
    assert client.call("records.settings.get", key)["record"]["value"] == won


def test_a_swap_needs_a_time_with_its_zone(client: Client) -> None:
    record = {**EXAMPLES["settings"], "key": "wrong"}
    for wrong in ("2026-03-01T12:00:00", "yesterday", "0"):
        with pytest.raises(InvalidError):
            client.call("records.settings.set", {"record": record, "expected": wrong})
    with pytest.raises(VersionConflictError):  # there is none that could be so
        client.call("records.settings.set", {"record": record, "expected": "2026-03-01T12:00:00Z"})


def test_a_page_of_long_records_is_cut_where_an_answer_ends(client: Client) -> None:
    long = "é\n" * 100_000
    for number in range(15):
        save(client, "messages", id=f"long{number:02}", channel="long", content=long)
    seen: list[str] = []
    after: dict[str, Any] = {}
    pages = 0
    while True:
        page = client.call("records.messages.list", {"channel": "long", "limit": 1_000, **after})
        assert all(item["content"] == long for item in page["items"])
        seen += [item["id"] for item in page["items"]]
        pages += 1
        if page["next"] is None:
            break
        after = {"after": page["next"]}
    assert seen == [f"long{number:02}" for number in range(14, -1, -1)]
    assert pages > 15 * 2 * len(long) // REPLY_BYTES_MAX


def test_a_row_that_is_none_is_told_by_its_kind(tmp_path: Path) -> None:
    with spawned(tmp_path) as daemon, daemon.client() as client:
        save(client, "messages", metadata={"k": ["v"]})
        file = daemon.paths.database
    with closing(apsw.Connection(str(file))) as conn:
        conn.execute("UPDATE record_messages SET metadata = '[1]'")
    with spawned(tmp_path) as daemon, daemon.client() as client:
        with pytest.raises(MalformedRowError):
            client.call("records.messages.list")
        with pytest.raises(MalformedRowError):
            client.call("records.messages.get", {"id": "m1"})
        assert client.call("records.messages.count") == {"count": 1}


def test_a_time_that_no_calendar_has_is_its_last(tmp_path: Path) -> None:
    """An older version stored such a time; the others of its table are listed all the same."""
    with spawned(tmp_path) as daemon, daemon.client() as client:
        save(client, "heartbeats")
        file = daemon.paths.database
    with closing(apsw.Connection(str(file))) as conn:
        conn.execute("UPDATE record_heartbeats SET last_heartbeat_at_us = 1 << 62")
    with spawned(tmp_path) as daemon, daemon.client() as client:
        (item,) = client.call("records.heartbeats.list")["items"]
        assert item["last_heartbeat_at"].startswith("9999-12-31")


def test_a_secret_in_an_old_row_does_not_leave(tmp_path: Path) -> None:
    secret = "AKIA" + "QZ7XJ4WKPM2LVN3T"
    with spawned(tmp_path) as daemon, daemon.client() as client:
        save(client, "messages", metadata={"k": ["v"]})
        file = daemon.paths.database
    with closing(apsw.Connection(str(file))) as conn:
        conn.execute("UPDATE record_messages SET content = ?", (f"use {secret}",))
        conn.execute("UPDATE record_messages SET metadata = ?", (f'{{"k":["{secret}"]}}',))
    with spawned(tmp_path) as daemon, daemon.client() as client:
        (item,) = client.call("records.messages.list")["items"]
        assert item["content"] == "use [secret:aws-key#1]"
        assert secret not in repr(item)
        assert secret not in repr(client.call("records.messages.get", {"id": "m1"}))
