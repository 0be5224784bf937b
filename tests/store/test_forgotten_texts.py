"""What was erased or deleted does not come back with an import of an earlier export (SPEC D21)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from support.clocks import HeldClock
from support.nights import nap_over
from support.store import ADA, BOB, EVERYTHING, a_house, bytes_of, stored

from memd.backends.rooms import Rooms
from memd.domain.enums import LearningOutcome
from memd.domain.ingest import IngestRequest, SessionQuery
from memd.domain.learn import SuccessReport, TaskReport
from memd.domain.memory import MemoryFilter
from memd.learn.learn import Learn

TALK = [
    {"role": "user", "content": "Where do the kilns stand?"},
    {"role": "assistant", "content": "Both kilns stand in the obsidian barn."},
    {"role": "user", "content": "We decided to use cone 6 glazes for all of the plates."},
]
LETTER = "The lighthouse of Skagen is painted white.  \n\n" * 60


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Rooms]:
    async with a_house(tmp_path / "memd.db", HeldClock()) as opened:
        yield opened


async def export(house: Rooms) -> list[dict[str, Any]]:
    page = await house.moving.dump(None, 1_000)
    assert page.next is None
    return list(page.items)


async def messages(house: Rooms, session_id: str = "s") -> list[str | None]:
    page, _ = await house.sessions.messages(ADA, session_id, None, 100)
    return [message.text for message in page]


async def test_a_session_that_was_forgotten_does_not_come_back(
    house: Rooms, tmp_path: Path
) -> None:
    await nap_over(house, TALK)
    items = await export(house)
    assert (await house.trash.forget(ADA, condition=EVERYTHING)).messages == len(TALK)
    done = await house.moving.load(ADA, items)
    assert done.problems == ()
    assert done.skipped >= 2 * len(TALK)  # each text, and each message
    assert await messages(house) == []
    assert await house.sessions.search(ADA, SessionQuery(query="kilns obsidian barn")) == ()
    assert b"obsidian" not in bytes_of(tmp_path)
    assert (await house.upkeep.check(ADA)).ok


async def test_the_other_messages_of_a_session_stay_as_they_are(house: Rooms) -> None:
    await nap_over(house, TALK)
    (secret,) = await stored(house, "Both kilns stand in the obsidian barn.", session_id="s")
    items = await export(house)
    await house.trash.forget(ADA, ids=[secret])
    left = await messages(house)
    assert TALK[1]["content"] not in left
    assert (await house.moving.load(ADA, items)).problems == ()
    assert await messages(house) == left


async def test_the_original_of_a_memory_that_was_forgotten_does_not_come_back(
    house: Rooms, tmp_path: Path
) -> None:
    await house.ingest.ingest(ADA, IngestRequest(text=LETTER))
    items = await export(house)
    assert [item for item in items if item["kind"] == "text"]
    await house.trash.forget(ADA, condition=EVERYTHING)
    assert (await house.moving.load(ADA, items)).problems == ()
    assert b"Skagen" not in bytes_of(tmp_path)
    assert not [item for item in await export(house) if item["kind"] == "text"]


async def test_what_is_said_anew_is_stored_and_moves_again(house: Rooms) -> None:
    await nap_over(house, TALK)
    await house.trash.forget(ADA, condition=EVERYTHING)
    await nap_over(house, TALK, "later")
    assert await messages(house, "later") == [message["content"] for message in TALK]
    items = await export(house)
    await house.trash.forget(ADA, condition=MemoryFilter(session_id="nowhere"))
    assert (await house.moving.load(ADA, items)).skipped == 0


async def test_what_one_agent_forgot_another_may_bring(house: Rooms) -> None:
    await nap_over(house, TALK, caller=BOB)
    items = await export(house)
    await nap_over(house, TALK)
    await house.trash.forget(ADA, condition=EVERYTHING)
    done = await house.moving.load(ADA, items)
    assert (done.stored, done.skipped) == (0, 0)


async def test_an_import_into_another_store_brings_everything(house: Rooms, tmp_path: Path) -> None:
    await nap_over(house, TALK)
    items = await export(house)
    await house.trash.forget(ADA, condition=EVERYTHING)
    place = tmp_path / "other" / "memd.db"
    place.parent.mkdir()
    async with a_house(place, HeldClock()) as other:
        assert (await other.moving.load(ADA, items)).skipped == 0
        assert await messages(other) == [message["content"] for message in TALK]


# Preferences, lessons and patterns.

TASK = TaskReport(outcome=LearningOutcome.SUCCESS, lesson="Damp clay cracks.", tools=("kiln",))
DEPLOY = SuccessReport(description="fire the kiln", tools=("shell_exec", "file_write"))


@pytest.fixture
def clock(house: Rooms) -> HeldClock:
    assert isinstance(house.trash.clock, HeldClock)
    return house.trash.clock


async def preferences(house: Rooms) -> dict[str, str]:
    return {row.name: row.value for row in await house.recall.preferences(ADA)}


def of_kind(items: list[dict[str, Any]], *kinds: str) -> list[dict[str, Any]]:
    return [item for item in items if item["kind"] in kinds]


async def test_a_preference_that_was_deleted_does_not_come_back(
    house: Rooms, clock: HeldClock
) -> None:
    await house.preferences.set(ADA, "shell", "fish")
    for text in ("I prefer trains.", "I hate coriander.", "I prefer Helix over Vim."):
        await house.ingest.ingest(ADA, IngestRequest(text=text))
    items = await export(house)
    names = {value: name for name, value in (await preferences(house)).items()}
    assert len(names) == 4
    clock.advance(seconds=1)
    await house.preferences.delete(ADA, "shell")
    await house.preferences.delete(ADA, names["I prefer trains."])
    await house.ingest.ingest(ADA, IngestRequest(text="I like coriander now."))
    helix = of_kind(items, "memory")[-1]
    assert helix["content"] == "I prefer Helix over Vim."
    await house.trash.forget(ADA, ids=[helix["id"]])
    left = await preferences(house)
    done = await house.moving.load(ADA, items)
    assert (done.problems, done.stored) == ((), 0)
    assert await preferences(house) == left == {}
    assert not of_kind(await export(house), "preference")


async def test_a_preference_that_was_set_elsewhere_later_does_come(
    house: Rooms, clock: HeldClock, tmp_path: Path
) -> None:
    await house.preferences.set(ADA, "shell", "fish")
    clock.advance(seconds=1)
    await house.preferences.delete(ADA, "shell")
    place = tmp_path / "other" / "memd.db"
    place.parent.mkdir()
    later = HeldClock()
    later.advance(seconds=2)
    async with a_house(place, later) as other:
        await other.preferences.set(ADA, "shell", "zsh")
        items = await export(other)
    await house.moving.load(ADA, items)
    assert await preferences(house) == {"shell": "zsh"}


async def test_lessons_and_patterns_that_were_forgotten_do_not_come_back(
    house: Rooms, clock: HeldClock
) -> None:
    learn = Learn(house.db, clock, house.ids)
    lesson = await learn.record_outcome(ADA, TASK)
    pattern = await learn.record_success(ADA, DEPLOY)
    items = of_kind(await export(house), "learning", "pattern")
    assert len(items) == 2
    clock.advance(seconds=1)
    assert (await house.trash.forget(ADA, ids=[lesson.id, pattern.pattern_id])).count == 2
    assert (await house.moving.load(ADA, items)).skipped == 2
    assert not of_kind(await export(house), "learning", "pattern")
    clock.advance(seconds=1)
    await learn.record_success(ADA, DEPLOY)
    again = of_kind(await export(house), "pattern")
    clock.advance(seconds=1)
    await house.trash.forget(ADA, ids=[pattern.pattern_id])
    assert (await house.moving.load(ADA, [*items, *again])).skipped == 3
