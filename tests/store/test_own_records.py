"""memd's own records of naps, nights and sessions, and how long records are kept (SPEC 19)."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any, get_args

import pytest
from support.clocks import HeldClock
from support.nights import ADA, Bed
from support.sample_records import a_record

from memd.base.errors import BusyError, VersionConflictError
from memd.base.limits import NOTES_WAITING_MAX
from memd.domain.caller import Caller
from memd.domain.enums import RunState
from memd.domain.settings.settings import KeptRecords, Settings
from memd.domain.values import RESERVED_AGENT
from memd.records.entities import ENTITIES
from memd.records.notes import OWN_DAYS
from memd.records.records import Records
from memd.sleep.nap.naps import Naps
from memd.sleep.nap.source import NapRequest
from memd.store.access.audit import Audit
from memd.store.access.changes import AuditFilter

CAT = "The owner's cat is called Ferdinand."
MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": f"decided: remember this. {CAT}"},
    *({"role": "assistant", "content": f"Turn {n} about Ferdinand."} for n in range(5)),
]
ME = Caller()


def records_of(bed: Bed) -> Records:
    return Records(bed.house.db, bed.house.ids)


async def noted(bed: Bed, entity: str = "lifecycle_events") -> list[Any]:
    """Write what waits and return all records of *entity*, the oldest first."""
    await bed.house.notes.flush()
    return list(await records_of(bed).list(ME, ENTITIES[entity], {}))[::-1]


async def refused(*_given: Any, **_more: Any) -> None:
    """What the disk says for once."""
    raise BusyError("planted")


async def test_a_nap_that_the_store_refuses_is_an_event_and_an_empty_one_is_none(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    naps = Naps(bed.house, Settings(), Path("nowhere"), environ={})
    with pytest.raises(ValueError, match="no such session"):
        await naps.nap.nap(ADA, NapRequest(session_id="never"))
    nap, request = naps.nap, NapRequest(messages=MESSAGES, session_id="s")
    with monkeypatch.context() as planted:
        planted.setattr(bed.house.db, "write", refused)
        with pytest.raises(BusyError):
            await nap.nap(ADA, request)
    (event,) = await noted(bed)
    assert (event.event_type, event.metadata["kind"]) == ("nap_failed", "busy")
    (metric,) = await noted(bed, "task_metrics")
    assert not metric.is_success


async def test_a_night_is_noted_once_and_of_nobody(bed: Bed) -> None:
    await bed.tell("one", "two")
    report = await bed.night.run(ADA)
    assert report.state is RunState.DONE
    (event,) = await noted(bed)
    assert (event.event_type, event.agent_id) == ("night_completed", RESERVED_AGENT)
    assert event.metadata["run_id"] == report.run_id
    assert [each.task_type for each in await noted(bed, "task_metrics")] == ["night"]
    await bed.night.run(ADA, dry_run=True)
    assert len(await noted(bed)) == 1


async def test_a_session_begins_goes_on_and_ends(bed: Bed) -> None:
    keyed = Caller(agent_id="ada", method="session.start", idempotency_key="k")
    for _ in range(2):  # the second is the reply that was kept
        await bed.house.sessions.start(keyed, "s")
    await bed.house.sessions.start(ADA, "s")
    await bed.house.sessions.end(ADA, "s")
    events = await noted(bed)
    assert [event.event_type for event in events] == [
        "session_started", "session_resumed", "session_ended",
    ]  # fmt: skip
    assert {event.metadata["session_id"] for event in events} == {"s"}
    assert await noted(bed, "task_metrics") == []


async def test_a_note_that_the_disk_refuses_fails_nobody(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = bed.house.notes
    await bed.house.sessions.start(ADA, "s")
    with monkeypatch.context() as planted:
        planted.setattr(bed.house.db, "write", refused)
        await notes.flush()
    assert notes.dropped == 1
    assert await noted(bed) == []
    for _ in range(NOTES_WAITING_MAX + 3):
        bed.house.sessions._note(ADA, "s", "session_resumed")  # what is told
    assert notes.dropped == 4
    assert len(await noted(bed)) == NOTES_WAITING_MAX


async def test_a_night_drops_old_records_by_the_setting_and_old_notes_by_themselves(
    bed: Bed, clock: HeldClock
) -> None:
    records = records_of(bed)
    await bed.house.sessions.start(ADA, "s")
    await noted(bed)
    old = (clock.now - timedelta(days=400)).isoformat()
    fresh = (clock.now + timedelta(days=OWN_DAYS)).isoformat()
    for number, moment in enumerate((old, fresh)):
        for name in ("messages", "lifecycle_events"):
            entity, key = ENTITIES[name], f"{name}{number}"
            await records.save(ME, entity, a_record(name, id=key, timestamp=moment))
    clock.advance(days=OWN_DAYS, hours=1)
    settings = Settings.model_validate({"records": {"retention_days": {"messages": 30}}})
    await bed.other_night(settings).run(ADA, steps=frozenset({"cap"}))
    assert len(await records.list(ME, ENTITIES["messages"], {})) == 2  # no whole night
    await bed.other_night(settings).run(ADA)
    assert [m.id for m in await records.list(ME, ENTITIES["messages"], {})] == ["messages1"]
    # Others' events stay for ever, whatever their age; memd's own go.
    events = [each for each in await noted(bed) if each.event_type != "night_completed"]
    assert [event.id for event in events] == ["lifecycle_events0", "lifecycle_events1"]
    asked = AuditFilter(method="records.purge")  # of others' records, not of its own notes
    links, _ = await Audit(bed.house.db, bed.clock).show(asked, None, 100)
    assert [(link.client, link.rows) for link in links] == [("memd", 1)]
    assert (await Audit(bed.house.db, bed.clock).verify()).ok


async def test_a_quiet_night_drops_nothing_and_makes_no_table_of_its_own(bed: Bed) -> None:
    await bed.night.run(ADA)
    tables = "SELECT count(*) FROM sqlite_schema WHERE name GLOB 'record_*'"
    assert await bed.rows(tables) == [(0,)]


def test_what_the_setting_names_are_the_entities_with_a_time() -> None:
    assert set(get_args(KeptRecords)) == {n for n, entity in ENTITIES.items() if entity.time}


async def test_writes_are_links_of_the_audit_but_for_what_is_said_all_the_time(bed: Bed) -> None:
    records = records_of(bed)
    ann = Caller(client="ann", method="records.write")
    await records.save(ann, ENTITIES["tasks"], a_record("tasks"), a_record("tasks", id="t2"))
    await records.save(ann, ENTITIES["heartbeats"], a_record("heartbeats"))
    await records.delete(ann, ENTITIES["tasks"], {"id": "t2"})
    await records.set(ann, a_record("settings"), expected="")
    with pytest.raises(VersionConflictError):  # nothing is written
        await records.set(ann, a_record("settings"), expected="")
    links, _ = await Audit(bed.house.db, bed.clock).show(AuditFilter(client="ann"), None, 100)
    assert [link.rows for link in links[::-1]] == [2, 1, 1]
    report = await Audit(bed.house.db, bed.clock).verify()
    assert report.ok
