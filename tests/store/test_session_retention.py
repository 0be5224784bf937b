"""The owner decides how long the messages of sessions are kept (docs/decisions/0093)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from support.clocks import HeldClock
from support.nights import nap_over
from support.store import ADA, a_house, bytes_of

from memd.backends.rooms import Rooms
from memd.domain.ingest import IngestRequest, SessionQuery
from memd.domain.memory import MemoryFilter
from memd.domain.recall import Provenance
from memd.domain.settings.settings import DaemonSettings, Settings
from memd.ingest.sessions import DROP_STEP_MESSAGES
from memd.store.file.connect import Reading, Writing
from memd.store.session import turns

FACT = "decided: the vault code is marigold"


@asynccontextmanager
async def aged_house(path: Path, days: int) -> AsyncIterator[tuple[Rooms, HeldClock]]:
    clock = HeldClock()
    settings = Settings(daemon=DaemonSettings(session_days=days))
    async with a_house(path, clock, settings=settings) as house:
        yield house, clock


def message(text: str) -> dict[str, Any]:
    """Return a message that says *text*; only a decision becomes a memory."""
    return {"role": "user" if text.startswith("decided") else "assistant", "content": text}


async def nap(house: Rooms, session_id: str, *texts: str) -> int:
    return (await nap_over(house, [*map(message, texts)], session_id, last=True)).stored


async def messages_of(house: Rooms, session_id: str) -> list[str]:
    items, _ = await house.sessions.messages(ADA, session_id, None, 100)
    return [item.text for item in items]


async def sessions_with(house: Rooms, word: str) -> list[str]:
    hits = await house.sessions.search(ADA, SessionQuery(query=word))
    return [hit.session_id for hit in hits]


async def facts(house: Rooms) -> dict[str, str]:
    items, _ = await house.recall.list(ADA, MemoryFilter(), None, 100)
    return {item.content: item.id for item in items}


async def why(house: Rooms, memory_id: str) -> Provenance:
    lineage = await house.recall.why(ADA, memory_id, full=False)
    assert lineage is not None
    return lineage


async def cite(house: Rooms, memory_id: str) -> None:
    """Note that a memory was made of everything that was said, as the daemon's own naps do."""

    def work(conn: Writing) -> None:
        keys = [key for (key,) in conn.execute("SELECT source_key FROM source ORDER BY 1")]
        turns.set_turns(conn, memory_id, keys)

    await house.db.write(ADA, work)


async def test_the_text_of_an_old_session_goes_and_its_memories_stay(tmp_path: Path) -> None:
    async with aged_house(tmp_path / "memd.db", 30) as (house, clock):
        await nap(house, "old", FACT, "Periwinkles bloomed.")
        memory_id = (await facts(house))[FACT]
        for each in (await facts(house)).values():
            await cite(house, each)
        assert await sessions_with(house, "periwinkles") == ["old"]
        clock.advance(days=29)
        assert await house.sessions.drop_old() == 0
        clock.advance(days=2)
        await nap(house, "young", "Mind the gap.")

        assert await house.sessions.drop_old() == 2

        assert await messages_of(house, "old") == []
        assert await messages_of(house, "young") == ["Mind the gap."]
        assert await sessions_with(house, "periwinkles") == []
        assert FACT in await facts(house)
        assert [turn.text for turn in (await why(house, memory_id)).turns] == [None, None]
        await house.upkeep.tidy()
        assert b"periwinkl" not in bytes_of(tmp_path).lower()
        assert (await house.upkeep.check(ADA)).ok


async def test_a_session_that_goes_on_keeps_its_first_words(tmp_path: Path) -> None:
    async with aged_house(tmp_path / "memd.db", 30) as (house, clock):
        await nap(house, "s", "Mind the gap.")
        clock.advance(days=29)
        await nap(house, "s", "Mind the gap.", "And the doors.")
        clock.advance(days=29)
        assert await house.sessions.drop_old() == 0
        assert len(await messages_of(house, "s")) == 2


async def test_for_ever_is_said_by_nought(tmp_path: Path) -> None:
    async with aged_house(tmp_path / "memd.db", 0) as (house, clock):
        await nap(house, "s", "Mind the gap.")
        clock.advance(days=10_000)
        assert await house.sessions.drop_old() == 0
        assert await sessions_with(house, "gap") == ["s"]


async def test_a_text_stays_while_a_younger_session_has_said_it_too(tmp_path: Path) -> None:
    async with aged_house(tmp_path / "memd.db", 30) as (house, clock):
        await nap(house, "old", "Mind the gap.", "Mind the gap.")
        clock.advance(days=31)
        await nap(house, "young", "Mind the gap.")
        assert await house.sessions.drop_old() == 2
        assert await sessions_with(house, "gap") == ["young"]
        assert (await house.upkeep.check(ADA)).ok


async def test_the_original_of_a_memory_that_was_told_is_never_lost_by_age(tmp_path: Path) -> None:
    text = "The pergola was painted. " * 80 + "\r\n\r\n\r\n" + "The pergola is green. " * 80
    async with aged_house(tmp_path / "memd.db", 30) as (house, clock):
        await house.ingest.ingest(ADA, IngestRequest(text=text))
        await nap(house, "old", text)
        clock.advance(days=31)
        assert await house.sessions.drop_old() == 1
        assert await sessions_with(house, "pergola") == []

        def kept(conn: Reading) -> object:
            return conn.execute("SELECT count(*) FROM source").get

        assert await house.db.read(kept) == 1
        assert (await house.upkeep.check(ADA)).ok


async def test_a_long_session_goes_in_steps_and_what_a_kill_left_goes_next_time(
    tmp_path: Path,
) -> None:
    many = [f"The lamp of room {number} is lit." for number in range(3 * DROP_STEP_MESSAGES + 1)]
    async with aged_house(tmp_path / "memd.db", 30) as (house, clock):
        await nap(house, "s", *many)
        clock.advance(days=31)
        from memd.store.session import session_messages

        before_us = clock.now_us() - 30 * 86_400_000_000
        step = DROP_STEP_MESSAGES
        done = await house.db.write(
            ADA, lambda conn: session_messages.delete_old(conn, before_us, step)
        )
        assert done == step
        assert await messages_of(house, "s") == many[step:]
        assert await house.sessions.drop_old() == len(many) - step
        assert await messages_of(house, "s") == []
        assert (await house.upkeep.check(ADA)).ok


async def test_what_was_napped_over_before_its_text_went_is_not_learnt_anew(path: Path) -> None:
    async with aged_house(path, 30) as (house, clock):
        await nap(house, "s", FACT, "ok")
        clock.advance(days=31)
        await house.sessions.drop_old()
        clock.advance(days=1)
        before = await facts(house)
        await nap(house, "s", FACT, "ok", "decided: the door is green")
        after = await facts(house)
        assert after.keys() - before.keys() == {"decided: the door is green"}
