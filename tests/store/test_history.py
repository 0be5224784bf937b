"""How the store grew by day, and which naps and nights there were."""

from __future__ import annotations

from datetime import timedelta

from support.clocks import HeldClock
from support.nights import ADA, BOB, Bed
from support.sample_records import a_record

from memd.domain.caller import Caller
from memd.records.entities import ENTITIES
from memd.records.records import Records


async def test_every_day_has_what_came_and_what_there_was(bed: Bed, clock: HeldClock) -> None:
    assert [day.total for day in (await bed.house.upkeep.history(3)).days] == [0, 0, 0]
    await bed.tell("one", "two")
    clock.advance(days=2)
    await bed.tell("three", caller=BOB)
    clock.advance(days=1)
    history = await bed.house.upkeep.history(5)
    assert [day.added for day in history.days] == [0, 2, 0, 1, 0]
    assert [day.total for day in history.days] == [0, 2, 2, 3, 3]
    assert history.days[-1].day == clock.now.date()
    assert history.days[0].day == clock.now.date() - timedelta(days=4)
    (today,) = (await bed.house.upkeep.history(1)).days
    assert (today.added, today.total) == (0, 3)
    assert history.works == ()


async def test_nights_are_told_with_how_long_they_took_and_others_work_is_not(
    bed: Bed, clock: HeldClock
) -> None:
    moment = clock.now.isoformat()
    record = a_record("task_metrics", completed_at=moment)
    records = Records(bed.house.db, bed.house.ids)
    await records.save(Caller(), ENTITIES["task_metrics"], record)
    await bed.night.run(ADA)
    await bed.house.notes.flush()
    (work,) = (await bed.house.upkeep.history(1)).works
    assert (work.work, work.is_success) == ("night", True)
    assert work.seconds >= 0.0
    clock.advance(days=2)
    assert (await bed.house.upkeep.history(1)).works == ()
