"""Texts that were erased do not come back with an import of an earlier export (SPEC D21)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from support.clocks import HeldClock
from support.nights import nap_over
from support.store import ADA, BOB, EVERYTHING, a_house, bytes_of, stored

from memd.backends.rooms import Rooms
from memd.domain.ingest import IngestRequest, SessionQuery
from memd.domain.memory import MemoryFilter

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
