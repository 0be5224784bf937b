"""Why a memory is there: the run that made it, its messages, its sources (issue 12)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from support.clocks import HeldClock
from support.nights import nap_over
from support.store import ADA, BOB, a_house, stored, tampering, tell

from memd.backends.rooms import Rooms
from memd.domain.memory import MemoryFilter
from memd.domain.recall import Provenance
from memd.recall.listing import SOURCES_MAX, TURN_CHARS_MAX
from memd.store.file.connect import Writing
from memd.store.session import sessions, turns

LONG = "The kiln was fired with wood. " * 40
FACT = "decided: the kiln is fired with wood"


async def a_nap(house: Rooms) -> str:
    messages = [{"role": "assistant", "content": LONG}, {"role": "user", "content": FACT}]
    await nap_over(house, messages, caller=replace(ADA, project_id="pottery"), last=True)
    items, _ = await house.recall.list(ADA, MemoryFilter(), None, 10)
    (fact,) = [item.id for item in items if item.content == FACT]

    def work(conn: Writing) -> None:
        keys = [key for (key,) in conn.execute("SELECT source_key FROM source ORDER BY 1")]
        turns.set_turns(conn, fact, keys)

    await house.db.write(ADA, work)
    return fact


async def why(house: Rooms, memory_id: str, *, full: bool = False) -> Provenance:
    lineage = await house.recall.why(ADA, memory_id, full=full)
    assert lineage is not None
    return lineage


async def test_a_long_message_is_shortened_unless_it_is_asked_for_whole(house: Rooms) -> None:
    memory_id = await a_nap(house)
    short, whole = (await why(house, memory_id)).turns[0], (await why(house, memory_id, full=True))
    assert short.text is not None
    assert (len(short.text), short.whole) == (TURN_CHARS_MAX, False)
    assert (whole.turns[0].text, whole.turns[0].whole) == (LONG, True)


async def test_what_was_made_of_memories_tells_them_in_their_order(house: Rooms) -> None:
    made = await stored(house, "All about sheds.")
    ids = await stored(house, *(f"Shed {n} has a door." for n in range(SOURCES_MAX + 2)))

    def work(conn: Writing) -> None:
        for memory_id in reversed(ids):
            key = conn.execute("SELECT memory_key FROM memory WHERE memory_id = ?", (memory_id,))
            sessions.record_derived(conn, int(str(key.get)), made)

    await house.db.write(ADA, work)
    lineage = await why(house, made[0])
    assert [source.id for source in lineage.sources] == ids[:SOURCES_MAX]
    assert lineage.sources_left == 2


async def test_nobody_is_told_of_a_memory_that_he_may_not_read(house: Rooms) -> None:
    (memory_id,) = await tell(house, "The shed is red.")
    assert await house.recall.why(BOB, memory_id, full=False) is None
    assert await house.recall.why(ADA, "no-such-id", full=False) is None
    await house.trash.delete(ADA, memory_id)
    assert await house.recall.why(ADA, memory_id, full=False) is None


async def test_a_memory_that_was_thrown_away_and_came_back_knows_its_messages(house: Rooms) -> None:
    memory_id = await a_nap(house)
    before = await why(house, memory_id)
    await house.trash.delete(ADA, memory_id)
    await house.trash.restore(ADA, memory_id)
    assert (await why(house, memory_id)).turns == before.turns


async def test_a_check_names_a_memory_that_was_made_of_another_agents_message(path: Path) -> None:
    async with a_house(path, HeldClock()) as house:
        memory_id = await a_nap(house)
        await tell(house, "The shed is red.", caller=BOB)
    with tampering(path) as conn:
        conn.execute("UPDATE source SET agent_key = (SELECT max(agent_key) FROM agent)")
    async with a_house(path, HeldClock()) as house:
        report = await house.upkeep.check(ADA)
        problem = f"memory {memory_id}: it was made of a message of another agent"
        assert problem in report.problems
