"""A session compressed after a night: its summary covers all of it (SPEC 3.3, D9)."""

from __future__ import annotations

from pathlib import Path

from support.nights import ADA, Bed, a_bed, settled

from memd.domain.enums import MemoryCategory
from memd.domain.memory import MemoryEntry, MemoryQuery
from memd.domain.recall import RecallRequest

TALK = (
    "Ulla keeps bees behind the old mill.",
    "The ferry to Gotland leaves at nine.",
    "The spare key hangs under the blue lantern.",
)


async def tell_sessions(bed: Bed, count: int, texts: tuple[str, ...] = TALK) -> None:
    for number in range(count):
        lines = [f"{text[:-1]} in year {number}." for text in texts]
        await bed.tell(*lines, session_id=f"s{number:02}")
        bed.clock.advance(hours=1)


async def sources(bed: Bed, tag: str) -> dict[str, set[str]]:
    """Return the texts that each visible summary with *tag* was made from, by its text."""
    rows = await bed.rows(
        "SELECT s.content, m.content FROM memory AS s"
        " JOIN memory_tag AS t ON t.memory_key = s.memory_key AND t.tag = ?"
        " JOIN derived AS d ON d.to_key = s.memory_key"
        " JOIN memory AS m ON m.memory_key = d.from_key"
        " WHERE s.is_summary AND s.state IN ('active', 'pending')",
        tag,
    )
    params: dict[str, set[str]] = {}
    for summary, source in rows:
        params.setdefault(str(summary), set()).add(str(source))
    return params


async def shown_for(bed: Bed, query: str) -> str:
    answer = await bed.house.recall.recall(
        ADA, RecallRequest(query=query, search_mode="words", token_budget=8000)
    )
    return answer.memories[0].content


async def visible(bed: Bed) -> tuple[MemoryEntry, ...]:
    return await bed.house.recall.retrieve(ADA, MemoryQuery(limit=100))


async def test_the_summary_of_a_session_is_of_all_its_memories_and_no_copy_of_one(bed: Bed) -> None:
    await tell_sessions(bed, 12)
    contents = set(await bed.states())
    bed.clock.advance(days=2)
    await bed.night.run(ADA)
    assert contents.isdisjoint(await bed.summaries())
    compressed = await sources(bed, "compressed")
    assert len(compressed) == 5
    for number, (text, covered) in enumerate(sorted(compressed.items())):
        assert covered == {f"{each[:-1]} in year {number}." for each in TALK}
        assert text == " ".join(f"{each[:-1]} in year {number}." for each in TALK)
    assert await bed.is_sound()


async def test_a_session_of_one_memory_needs_no_summary_and_does_not_count(tmp_path: Path) -> None:
    async with a_bed(tmp_path, settings=settled(compression_threshold=2)) as bed:
        for number in range(5):
            await bed.tell(f"Remark {number}.", session_id=f"one{number}")
        await tell_sessions(bed, 2, TALK[:2])
        bed.clock.advance(hours=20)  # nothing is a day old: no consolidation
        assert (await bed.night.run(ADA)).steps == ()  # two sessions are not more than two
        await bed.night.compress(ADA, force=True, sessions=9)
        assert len(await bed.summaries()) == 2
        states = await bed.states()
        assert {states[f"Remark {number}."] for number in range(5)} == {"active"}


async def test_each_memory_is_shown_by_the_summary_that_holds_its_words(bed: Bed) -> None:
    many = [f"Crate {number} holds apples and {'pears ' * 20}." for number in range(40)]
    await bed.tell(*many)
    bed.clock.advance(days=2)
    await bed.night.run(ADA, steps=frozenset({"consolidation"}))
    states = await bed.states()
    left = [text for text in many if states[text] == "active"]
    assert 1 < len(left) < len(many)
    await bed.night.compress(ADA, force=True)
    (whole,) = await sources(bed, "compressed")
    for text in many:
        crate = text[: text.index(" holds")]
        shown = await shown_for(bed, text)
        assert f"{crate} holds" in shown
        assert (shown == whole) == (text in left)


async def test_deleting_a_memory_takes_its_list_and_the_sessions_summary_and_no_other_list(
    bed: Bed,
) -> None:
    many = [f"Crate {number} holds apples and {'pears ' * 20}." for number in range(40)]
    ids = await bed.tell(*many)
    bed.clock.advance(days=2)
    await bed.night.run(ADA, steps=frozenset({"consolidation"}))
    lists = await sources(bed, "consolidated")
    left = {text for text, state in (await bed.states()).items() if state == "active"}
    await bed.night.compress(ADA, force=True)

    await bed.house.trash.delete(ADA, ids[0])

    gone = next(text for text, covered in lists.items() if many[0] in covered)
    assert set(await bed.summaries()) == set(lists) - {gone}
    states = await bed.states()
    back = left | lists[gone]
    assert {text for text in many if states[text] == "active"} == back - {many[0]}
    assert states[many[0]] == "trashed"
    assert await bed.is_sound()


async def test_what_is_told_later_is_compressed_when_it_is_more_than_one(bed: Bed) -> None:
    await bed.tell(*TALK)
    bed.clock.advance(hours=7)
    await bed.night.compress(ADA, force=True)
    await bed.tell("It rained.")
    bed.clock.advance(hours=7)
    assert (await bed.night.compress(ADA, force=True)).steps == ()
    await bed.tell("Then it snowed.")
    bed.clock.advance(hours=7)
    await bed.night.compress(ADA, force=True)
    assert await bed.summaries() == [" ".join(TALK), "It rained. Then it snowed."]
    assert {entry.category for entry in await visible(bed)} == {MemoryCategory.SEMANTIC}


async def test_undoing_the_night_brings_all_of_it_back(bed: Bed) -> None:
    await tell_sessions(bed, 12)
    bed.clock.advance(days=2)
    before = await bed.tables()
    run = await bed.night.run(ADA)
    await bed.night.undo(ADA, run.run_id)
    assert await bed.tables() == before
