"""Every entity and rule of SPEC 19, on a real file; most tests run for each entity."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable
from copy import copy
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest
from pydantic import ValidationError
from pydantic_core import to_json as to_bytes
from support.sample_records import AT, EXAMPLES, SHA, a_record, numbered, referred, some_records

from memd.backends.transfer import Moving
from memd.base.clock import SystemClock
from memd.base.errors import (
    ConstraintViolationError,
    DeniedError,
    DuplicateRecordError,
    InvalidError,
    InvalidQueryError,
    MalformedRowError,
)
from memd.domain.caller import Caller
from memd.guard.redaction import redact_all
from memd.records.columns import from_row, to_json, to_row
from memd.records.config import PersistenceConfig, create_backend
from memd.records.entities import ENTITIES
from memd.records.records import Range, Records, RowPage
from memd.records.repositories import Repository
from memd.serve.routes.records import as_json
from memd.store.records.table import RecordColumn

ME = Caller()
EVERY = pytest.mark.parametrize("name", ENTITIES)
WITH_TIME = [name for name, entity in ENTITIES.items() if entity.time]
MOMENT = datetime(2026, 3, 1, 12, tzinfo=UTC)
BACKEND = create_backend(PersistenceConfig())
REPOSITORIES = {name for name, value in vars(BACKEND).items() if isinstance(value, Repository)}


async def saved(records: Records, name: str, /, **changes: Any) -> Any:
    entity = ENTITIES[name]
    for other in referred(entity):
        await records.save(ME, ENTITIES[other], a_record(other))
    record = a_record(name, **changes)
    await records.save(ME, entity, record)
    return record


def repository(records: Records, name: str) -> Any:
    own = copy(getattr(BACKEND, name))
    own._records = lambda: records
    return own


def key_of(name: str, record: Any) -> list[str]:
    return [getattr(record, field) for field in ENTITIES[name].key]


def items(page: RowPage) -> tuple[Any, ...]:
    return tuple(from_row(page.entity.model, row) for row in page.rows)


@EVERY
async def test_a_record_comes_back_as_it_was_saved(records: Records, name: str) -> None:
    record = await saved(records, name)
    assert await records.get(ME, ENTITIES[name], key_of(name, record)) == record
    assert await repository(records, name).get(*key_of(name, record)) == record
    assert from_row(type(record), list(to_row(record).values())) == record


@EVERY
async def test_a_miss_is_none_and_an_untouched_entity_is_empty(records: Records, name: str) -> None:
    entity = ENTITIES[name]
    assert await records.get(ME, entity, ["no"] * len(entity.key)) is None
    assert await records.list(ME, entity, {}) == ()
    assert await records.count(ME, entity, {}) == 0
    assert await records.delete(ME, entity, dict.fromkeys(entity.key, "no")) == 0


@EVERY
async def test_saving_again_replaces_or_is_refused(records: Records, name: str) -> None:
    record = await saved(records, name)
    entity = ENTITIES[name]
    if entity.saving == "once":
        with pytest.raises(DuplicateRecordError):
            await records.save(ME, entity, record)
    else:
        assert not await records.save(ME, entity, record)
    assert await records.count(ME, entity, {}) == 1


@EVERY
async def test_each_filter_finds_and_leaves_out(records: Records, name: str) -> None:
    record = await saved(records, name)
    entity = ENTITIES[name]
    everything = {field: getattr(record, field) for field in entity.filters}
    assert await records.list(ME, entity, everything) == (record,)
    for field in entity.filters:
        nothing = {**everything, field: "another"}
        assert await records.list(ME, entity, nothing) == ()
        assert await records.count(ME, entity, nothing) == 0


@EVERY
async def test_pages_follow_one_another_even_over_deleted_rows(records: Records, name: str) -> None:
    entity = ENTITIES[name]
    made = [await saved(records, name, **numbered(name, number)) for number in range(7)]
    in_order = made[::-1] if entity.newest_first else made
    assert await records.list(ME, entity, {}) == tuple(in_order)
    assert await records.list(ME, entity, {}, offset=2) == tuple(in_order[2:])
    first = await records.page(ME, entity, {}, limit=3)
    assert items(first) == tuple(in_order[:3])
    where = dict(zip(entity.key, key_of(name, in_order[2]), strict=True))
    await records.delete(ME, entity, where)  # the one the next page begins behind
    second = await records.page(ME, entity, {}, after=first.next, limit=3)
    assert items(second) == tuple(in_order[3:6])
    last = await records.page(ME, entity, {}, after=second.next, limit=3)
    assert (items(last), last.next) == (tuple(in_order[6:]), None)


@EVERY
async def test_what_is_no_cursor_is_refused(records: Records, name: str) -> None:
    await saved(records, name)
    for after in ("", "no", "W10=", "WzFd", "W251bGwsbnVsbCxudWxsXQ==", "é"):
        if after == "WzFd" and len(ENTITIES[name].order + ENTITIES[name].key) == 1:
            continue  # it is a place
        with pytest.raises(InvalidError, match="not a place"):
            await records.page(ME, ENTITIES[name], {}, after=after)


NESTED = "[" * 100_000  # too deep for Python's parser of JSON


async def test_json_that_is_nested_too_deeply_is_refused(records: Records) -> None:
    cursor = base64.urlsafe_b64encode(NESTED.encode()).decode()
    with pytest.raises(InvalidError, match="not a place"):
        await records.page(ME, ENTITIES["messages"], {}, after=cursor)
    with pytest.raises(ValidationError, match="must be JSON"):
        a_record("checkpoints", context_json=NESTED)
    with pytest.raises(InvalidError, match="not a place"):
        await Moving(records._db, SystemClock(), records._ids, lambda: None).dump(NESTED, 10)


@EVERY
async def test_a_time_without_zone_or_an_unknown_field_is_refused(name: str) -> None:
    for field, value in EXAMPLES[name].items():
        if value == AT:
            with pytest.raises(ValidationError):
                a_record(name, **{field: "2026-03-01T12:00:00"})
    with pytest.raises(ValidationError):
        a_record(name, unknown="x")
    record = a_record(name)
    with pytest.raises(ValidationError):
        setattr(record, next(iter(type(record).model_fields)), "x")


@EVERY
async def test_a_row_that_another_program_changed_is_told_as_malformed(
    tmp_path: Path, name: str
) -> None:
    model = ENTITIES[name].model
    row: list[Any] = list(to_row(a_record(name)).values())
    with pytest.raises(MalformedRowError):
        from_row(model, [7, *row[1:]])
    for place, column in enumerate(ENTITIES[name].table.columns):
        if _is_json(column):  # all else the table itself refuses
            changed = [*row[:place], '"x"', *row[place + 1 :]]
            with pytest.raises(MalformedRowError):
                from_row(model, changed)
            with pytest.raises(MalformedRowError):
                to_json(model, changed)


@EVERY
async def test_a_row_with_a_time_that_there_is_not_is_still_read(name: str) -> None:
    model = ENTITIES[name].model
    row: list[Any] = list(to_row(a_record(name)).values())
    columns = [column.name for column in ENTITIES[name].table.columns]
    for place in [place for place, column in enumerate(columns) if column.endswith("_us")]:
        for beyond, year in ((-(2**62), 1), (2**62, 9999)):
            changed = [*row[:place], beyond, *row[place + 1 :]]
            field = columns[place].removesuffix("_us")
            assert getattr(from_row(model, changed), field).year == year
            assert to_json(model, changed)[field].startswith(f"{year:04}")


def _is_json(column: RecordColumn) -> bool:
    return "json_valid" in (column.check or "")


@EVERY
async def test_a_page_for_the_wire_says_what_the_records_say(records: Records, name: str) -> None:
    entity = ENTITIES[name]
    for moment in ("12:00:00", "12:00:00.000001", "12:00:00.120000"):
        times = {field: f"2026-03-01T{moment}Z" for field, at in EXAMPLES[name].items()
                 if at == AT}  # fmt: skip
        key = {entity.key[-1]: moment} if entity.key[-1] not in times else {}
        await saved(records, name, **times, **key)
    page = await records.page(ME, entity, {}, limit=2)
    items = [from_row(entity.model, row).model_dump(mode="json") for row in page.rows]
    assert json.loads(as_json(page)) == {"items": items, "next": page.next}
    assert (len(items), page.next is None) == (2, False)


@EVERY
async def test_a_page_for_the_wire_is_half_the_calls_of_one_made_of_models(
    tmp_path: Path, name: str
) -> None:
    """Calls of Python functions are counted, which no machine and no load changes."""
    async with some_records(tmp_path) as records:
        for number in range(20):
            await saved(records, name, **numbered(name, number))
        page = await records.page(ME, ENTITIES[name], {})

    def by_models() -> bytes:
        return to_bytes(redact_all([each.model_dump(mode="json") for each in items(page)]))

    assert calls_of(lambda: as_json(page)) < 0.6 * calls_of(by_models)


def calls_of(work: Callable[[], object]) -> int:
    work()  # what is remembered of a model or a text is remembered now
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    work()
    sys.setprofile(None)
    return calls


@EVERY
async def test_only_the_tables_that_are_used_are_in_the_file(tmp_path: Path, name: str) -> None:
    async with some_records(tmp_path) as records:
        await saved(records, name)
    conn = apsw.Connection(str(tmp_path / "memd.db"))
    there = {str(row[0]) for row in conn.execute("SELECT tbl_name FROM sqlite_schema")}
    conn.close()
    tables = {f"record_{each}" for each in [name, *referred(ENTITIES[name])]}
    assert {each for each in there if each.startswith("record_")} == tables
    async with some_records(tmp_path) as records:  # and the next start takes the file
        assert await records.count(ME, ENTITIES[name], {}) == 1


@pytest.mark.parametrize("name", WITH_TIME)
async def test_both_ends_of_a_time_are_inclusive_and_purge_is_strictly_older(
    records: Records, name: str
) -> None:
    entity = ENTITIES[name]
    record = await saved(records, name)
    moment = getattr(record, str(entity.time))
    second = timedelta(seconds=1)
    assert await records.list(ME, entity, {}, times=Range(moment, moment)) == (record,)
    assert await records.list(ME, entity, {}, times=Range(until=moment - second)) == ()
    assert await records.list(ME, entity, {}, times=Range(since=moment + second)) == ()
    assert not InvalidQueryError.retry
    with pytest.raises(InvalidQueryError, match="until is before since"):
        await records.list(ME, entity, {}, times=Range(moment, moment - second))
    assert await records.delete(ME, entity, {}, before=moment) == 0
    assert await records.delete(ME, entity, {}, before=moment + second) == 1


OWNED = [name for name, entity in ENTITIES.items() if entity.owner]


@pytest.mark.parametrize("name", OWNED)
async def test_a_key_of_one_agent_reaches_no_record_of_another(records: Records, name: str) -> None:
    bob = Caller(client="bob", agent_id="bob", bound=True, method="records")
    entity = ENTITIES[name]
    record = await saved(records, name)
    assert await records.list(bob, entity, {}) == ()
    where = dict(zip(entity.key, key_of(name, record), strict=True))
    if entity.owner in entity.key:
        with pytest.raises(DeniedError):
            await records.get(bob, entity, key_of(name, record))
    else:
        assert await records.get(bob, entity, key_of(name, record)) is None
        assert await records.delete(bob, entity, where) == 0
        with pytest.raises((DeniedError, DuplicateRecordError)):
            await records.save(bob, entity, a_record(name, agent_id="bob"))
    with pytest.raises(DeniedError):
        await records.save(bob, entity, record)
    assert await records.count(ME, entity, {}) == 1


async def test_no_file_holds_a_byte_of_a_secret(tmp_path: Path) -> None:
    secret = "AKIA" + "QZ7XJ4WKPM2LVN3T"
    async with some_records(tmp_path) as records:
        await saved(records, "messages", content=f"use {secret} now", metadata={"k": [secret]})
        await saved(records, "audit_entries")
        (entry,) = await repository(records, "audit_entries").query()
        assert entry.arguments_hash == SHA
    assert all(secret.encode() not in path.read_bytes() for path in tmp_path.iterdir())


async def test_what_is_saved_together_is_saved_whole_or_not_at_all(records: Records) -> None:
    await saved(records, "messages")
    many = [a_record("messages", id=each) for each in ("m0", "m1", "m2")]
    with pytest.raises(DuplicateRecordError):
        await records.save(ME, ENTITIES["messages"], *many)
    assert await records.count(ME, ENTITIES["messages"], {}) == 1


async def test_costs_are_summed_in_one_currency(records: Records) -> None:
    costs = repository(records, "cost_records")
    assert await costs.aggregate() == 0.0
    await saved(records, "cost_records", cost=0.25)
    await saved(records, "cost_records", id="c2", cost=0.5, agent_id="bob")
    await records.save(ME, ENTITIES["cost_records"], a_record("cost_records", id=None))
    assert await costs.aggregate() == 1.0
    assert await costs.aggregate(agent_id="bob") == 0.5
    assert await costs.aggregate(agent_id="bob", task_id="no") == 0.0
    assert [each.cost for each in await costs.query(agent_id="bob")] == [0.5]
    await saved(records, "cost_records", id="c3", agent_id="eve", currency="EUR")
    with pytest.raises(InvalidQueryError, match="EUR, USD"):
        await costs.aggregate()
    assert await costs.aggregate(agent_id="eve") == 0.25


@pytest.mark.parametrize(
    "change",
    [
        {"cost": 1e13}, {"cost": -1}, {"cost": 1e400}, {"input_tokens": 2**63},
        {"output_tokens": -1}, {"currency": "usd"}, {"currency": "DOLLARS"}, {"cost": None},
    ],
)  # fmt: skip
async def test_an_amount_that_could_overflow_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        a_record("cost_records", **change)


async def test_a_task_with_costs_stays_and_costs_need_their_task(records: Records) -> None:
    entity = ENTITIES["cost_records"]
    with pytest.raises(ConstraintViolationError, match="task_id: there is no such") as caught:
        await records.save(ME, entity, a_record("cost_records"))
    assert (caught.value.field, caught.value.hint) == (
        "record.task_id",
        "save that record first: records.tasks.save",
    )
    await saved(records, "cost_records")
    with pytest.raises(ConstraintViolationError):
        await repository(records, "tasks").delete("t1")
    assert await repository(records, "tasks").get("t1") is not None


async def test_tasks_are_listed_by_all_that_is_given(records: Records) -> None:
    tasks = repository(records, "tasks")
    for number in range(4):
        status = "assigned" if number % 2 else "created"
        await tasks.save(a_record("tasks", id=f"t{number}", status=status, assigned_to="ada"))
    status = a_record("tasks", status="assigned").status
    assert [t.id for t in await tasks.list_tasks(status=status)] == ["t1", "t3"]
    assert [t.id for t in await tasks.list_tasks(status=status, limit=1, offset=1)] == ["t3"]
    assert await tasks.list_tasks(status=status, assigned_to="ada", project="no") == ()
    assert await tasks.delete("t1")
    assert not await tasks.delete("t1")
    assert {s.value for s in type(status) if s.is_terminal} == {
        "completed", "cancelled", "rejected",
    }  # fmt: skip


async def test_messages_are_newest_first_and_a_limit_is_at_least_one(records: Records) -> None:
    messages = repository(records, "messages")
    for number in range(3):
        await saved(records, "messages", **numbered("messages", number))
    await saved(records, "messages", id="x", channel="other")
    assert [m.id for m in await messages.get_history("general", limit=2)] == ["n02", "n01"]
    with pytest.raises(InvalidQueryError):
        await messages.get_history("general", limit=0)


async def test_a_setting_is_swapped_only_where_it_is_as_last_read(records: Records) -> None:
    settings = repository(records, "settings")
    later = MOMENT + timedelta(seconds=1)
    put = settings.set
    assert await put("ui", "theme", "dark", MOMENT, expected_updated_at="")
    assert not await put("ui", "theme", "light", later, expected_updated_at="")
    assert not await put("ui", "size", "1", later, expected_updated_at=AT)
    assert await put("ui", "theme", "light", later, expected_updated_at=AT)
    assert not await put("ui", "theme", "lost", later, expected_updated_at=AT)
    assert (await settings.get("ui", "theme")).value == "light"
    for wrong in ("yesterday", "2026-03-01T12:00:00"):
        with pytest.raises(InvalidError):
            await put("ui", "theme", "x", later, expected_updated_at=wrong)


async def test_settings_are_saved_together_and_deleted_by_namespace(records: Records) -> None:
    settings = repository(records, "settings")
    await settings.set_many([a_record("settings", key=key) for key in "cba"])
    await settings.set_many([a_record("settings", namespace="net")])
    assert [s.key for s in await settings.get_namespace("ui")] == ["a", "b", "c"]
    assert [s.namespace for s in await settings.get_all()] == ["net", "ui", "ui", "ui"]
    assert await settings.delete_namespace("ui") == 3
    assert len(await settings.get_all()) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"status": "idle"}, {"status": "paused", "execution_id": None},
        {"started_at": None}, {"turn_count": -1}, {"status": "idle", "execution_id": None},
    ],
)  # fmt: skip
async def test_an_agent_is_idle_or_at_work_never_both(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        a_record("agent_states", **change)


async def test_active_agents_are_those_that_are_not_idle(records: Records) -> None:
    states = repository(records, "agent_states")
    await states.save(a_record("agent_states"))
    later = (MOMENT + timedelta(seconds=1)).isoformat()
    await states.save(a_record("agent_states", agent_id="bob", last_activity_at=later))
    idle = type(a_record("agent_states"))(agent_id="eve", last_activity_at=MOMENT)
    await states.save(idle)
    assert [state.agent_id for state in await states.get_active()] == ["bob", "ada"]


async def test_a_checkpoint_of_the_highest_turn_is_the_latest(records: Records) -> None:
    points = repository(records, "checkpoints")
    for number in (3, 10, 9):
        await points.save(a_record("checkpoints", id=f"x{number}", turn_number=number))
    assert (await points.get_latest(execution_id="e1")).turn_number == 10
    assert await points.get_latest(execution_id="e1", task_id="no") is None
    with pytest.raises(ValueError, match="needed"):
        await points.get_latest()
    assert await points.delete_by_execution("e1") == 3


async def test_a_stale_heartbeat_is_strictly_before_the_threshold(records: Records) -> None:
    beats = repository(records, "heartbeats")
    await beats.save(a_record("heartbeats"))
    assert await beats.get_stale(MOMENT) == ()
    assert len(await beats.get_stale(MOMENT + timedelta(microseconds=1))) == 1


async def test_a_parked_context_is_found_in_four_ways_and_is_json(tmp_path: Path) -> None:
    async with some_records(tmp_path) as records:
        parked = repository(records, "parked_contexts")
        record = await saved(records, "parked_contexts")
        assert await parked.get_by_approval("a1") == record
        assert await parked.get_by_approval("no") is None
        assert await parked.get_by_agent("ada") == (record,)
        assert await parked.get_by_execution("e1") == (record,)
        assert await parked.get_by_task("t1") == (record,)
    with pytest.raises(ValidationError):
        a_record("parked_contexts", context_json="{turn: 3}")


async def test_an_artifact_says_whether_it_is_new(records: Records) -> None:
    artifacts = repository(records, "artifacts")
    assert await artifacts.save(a_record("artifacts"))
    assert not await artifacts.save(a_record("artifacts", size_bytes=7))
    (artifact,) = await artifacts.list_artifacts(task_id="t1", artifact_type="code")
    assert artifact.size_bytes == 7


async def test_audit_entries_are_at_most_a_hundred_unless_asked(records: Records) -> None:
    entity = ENTITIES["audit_entries"]
    made = [a_record("audit_entries", id=f"a{number}") for number in range(101)]
    await records.save(ME, entity, *made)
    audit = repository(records, "audit_entries")
    assert len(await audit.query()) == 100
    assert len(await audit.query(verdict="allow", risk_level="low", limit=200)) == 101
    with pytest.raises(InvalidQueryError):
        await audit.query(limit=0)
    assert await audit.purge_before(MOMENT) == 0


def test_every_entity_has_an_example_and_a_repository() -> None:
    assert EXAMPLES.keys() == ENTITIES.keys() == REPOSITORIES
    assert json.dumps(EXAMPLES)
