"""Memories of no session are consolidated too: by place, and in order of time (SPEC 16.5, D9)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.nights import ADA, Bed, a_bed, settled

from memd.domain.memory import MemoryMetadata, MemoryQuery
from memd.domain.recall import RecallRequest
from memd.sleep.strategies.batches import SUMMARY_TOKENS
from memd.store.file.connect import Writing

NOTES = (
    "Ulla keeps bees behind the old mill.",
    "The ferry to Gotland leaves at nine.",
    "The spare key hangs under the blue lantern.",
    "The rent is due on the third.",
    "Bertil prefers rye bread with caraway.",
)


async def note(bed: Bed, *texts: str, **fields: Any) -> list[str]:
    return await bed.tell(*texts, session_id=None, **fields)


async def slept(bed: Bed, days: float = 2) -> int:
    """Sleep *days* later; return how many memories were put behind summaries."""
    bed.clock.advance(days=days)
    run = await bed.night.run(ADA)
    await bed.house.queue.drain()
    return sum(step.rows for step in run.steps if step.name == "consolidation")


async def texts(bed: Bed, **fields: Any) -> list[str]:
    query = MemoryQuery.model_validate({"limit": 1000} | fields)
    return [entry.content for entry in await bed.house.recall.retrieve(ADA, query)]


def lines(summaries: Sequence[str]) -> list[list[str]]:
    return [re.findall("^- (.*)$", summary, re.M) for summary in summaries]


async def test_notes_without_a_session_are_condensed_and_still_found(bed: Bed) -> None:
    ids = await note(bed, *NOTES)
    before = await bed.tables()
    assert await slept(bed) == 4
    (summary,) = await bed.summaries()
    assert lines([summary]) == [list(NOTES[:4])]
    assert set(await texts(bed)) == {summary, NOTES[4]}
    question = RecallRequest(query="who keeps bees", search_mode="words")
    assert (await bed.house.recall.recall(ADA, question)).memories[0].content == summary
    whole = question.model_copy(update={"include_compressed": True})
    assert (await bed.house.recall.recall(ADA, whole)).memories[0].id == ids[0]
    assert await bed.is_sound()
    ((run,),) = await bed.rows("SELECT run_id FROM run")
    await bed.night.undo(ADA, str(run))
    assert await bed.tables() == before


@pytest.mark.parametrize("session_id", [None, "s1"])
async def test_a_text_that_a_summary_would_cut_stays_as_it_is(
    bed: Bed, session_id: str | None
) -> None:
    rules = [f"House rule {n}. {'Be kind to the bees. ' * 9}The code is {n}{n}." for n in range(4)]
    await bed.tell(*rules, *NOTES, session_id=session_id)
    assert await slept(bed) == 4
    (summary,) = await bed.summaries()
    assert lines([summary]) == [list(NOTES[:4])]
    assert set(await texts(bed)) == {summary, NOTES[4], *rules}
    assert await slept(bed) == 0


async def test_a_summary_holds_one_category_and_one_namespace(bed: Bed) -> None:
    for number in range(3):
        for category in ("episodic", "semantic"):
            for namespace in ("default", "work"):
                where = f"{category} {namespace}"
                await note(bed, f"{where} {number}", category=category, namespace=namespace)
    assert await slept(bed) == 8
    made = await bed.rows(
        "SELECT content, category, namespace FROM memory WHERE is_summary ORDER BY memory_key"
    )
    assert len(made) == 4
    for content, category, namespace in made:
        where = f"{category} {namespace}"
        assert lines([str(content)]) == [[f"{where} 0", f"{where} 1"]]


async def test_what_is_a_month_apart_is_not_in_one_list_and_too_little_stays(bed: Bed) -> None:
    for month in range(3):
        await note(bed, *(f"month {month} note {number}" for number in range(3)))
        bed.clock.advance(days=40)
    for year in range(3):
        await note(bed, f"year {year}")
        bed.clock.advance(days=365)
    await bed.tell("A first word.", session_id="long")
    bed.clock.advance(days=40)
    await bed.tell(*NOTES, session_id="long")
    await slept(bed)
    assert lines(await bed.summaries()) == [
        list(NOTES[:4]),
        *([f"month {month} note 0", f"month {month} note 1"] for month in range(3)),
    ]
    assert await slept(bed, days=200) == 0


async def test_what_is_of_several_files_is_in_a_list_for_each(bed: Bed) -> None:
    for number in range(3):
        for file in ("runbook.md", "stew.md"):
            place = MemoryMetadata(source=f"/notes/{file}#{number}")
            await note(bed, f"{file} line {number}", metadata=place)
    await note(bed, "people.md line 0", metadata=MemoryMetadata(source="/notes/people.md"))
    await slept(bed)
    assert lines(await bed.summaries()) == [
        [f"{file} line {number}" for number in range(2)] for file in ("runbook.md", "stew.md")
    ]


async def test_the_time_is_when_it_was_so_where_that_is_known(bed: Bed) -> None:
    then = bed.clock.now - timedelta(days=1000)
    for number in range(6):  # an old diary, brought in backwards
        at = then - timedelta(days=60 * (number // 3) + number)
        await note(bed, f"page {number}", occurred_at=at)
    await slept(bed)
    assert lines(await bed.summaries()) == [["page 4", "page 3"], ["page 1", "page 0"]]


async def test_a_summary_is_no_longer_than_a_window_of_the_model_however_many_there_are(
    tmp_path: Path,
) -> None:
    async with a_bed(tmp_path, settings=settled(max_memories_per_agent=100_000)) as bed:
        many = [f"Note {number} about {'the garden ' * (number % 16)}" for number in range(600)]
        await note(bed, *many)
        tried = await bed.night.run(ADA, dry_run=True)
        hidden = await slept(bed)
        assert tried.steps == ()  # a day has not gone by
        states = list((await bed.states()).values())
        assert hidden == states.count("compressed") > 450
        for summary in await bed.summaries():
            assert bed.house.counter.count(summary) <= SUMMARY_TOKENS + 20
        assert await slept(bed) <= 4  # what was left at the end of a page
        assert await slept(bed) == 0


async def test_a_rehearsal_counts_what_the_night_does(bed: Bed) -> None:
    await note(bed, *(f"Note {number}." for number in range(40)))
    await bed.tell(*NOTES)
    for number in range(4):
        await bed.tell(f"Alone {number}.", session_id=f"one{number}")
    bed.clock.advance(days=2)
    tried = await bed.night.run(ADA, dry_run=True)
    assert sum(step.rows for step in tried.steps) == await slept(bed)


async def test_sessions_too_small_for_a_list_stay_as_they_are(bed: Bed) -> None:
    for number, text in enumerate(NOTES):
        await bed.tell(text, session_id=f"one{number}")
    assert await slept(bed, days=200) == 0
    assert set(await texts(bed)) == {*NOTES}


async def test_a_list_of_several_sessions_that_a_night_once_made_is_found_by_each(bed: Bed) -> None:
    ids = await note(bed, *NOTES)
    await slept(bed)
    (summary,) = await bed.summaries()
    await bed.tell("Another word.", session_id="one")

    def work(conn: Writing) -> None:
        conn.execute(
            "UPDATE memory SET session_key = (SELECT max(session_key) FROM session)"
            " WHERE memory_id = ?",
            (ids[0],),
        )

    await bed.house.db.write(ADA, work)
    assert set(await texts(bed, session_id="one")) == {summary, "Another word."}
    assert (await texts(bed, text=NOTES[0], session_id="one"))[0] == summary


async def test_what_a_session_has_left_beside_its_list_stays_there(bed: Bed) -> None:
    for session in range(4):
        await bed.tell(*(f"{session}: {text}" for text in NOTES), session_id=f"s{session}")
        await bed.tell(f"{session} is known.", session_id=f"s{session}", category="semantic")
    await slept(bed)
    states = await bed.states()
    assert {states[f"{session} is known."] for session in range(4)} == {"active"}


@pytest.mark.parametrize("few", [1, 2])
async def test_fewer_than_the_threshold_stay_as_they_are(bed: Bed, few: int) -> None:
    await note(bed, *NOTES[:few])
    assert await slept(bed, days=200) == 0
    assert set((await bed.states()).values()) == {"active"}


async def test_what_is_younger_than_a_day_or_protected_stays(bed: Bed) -> None:
    await note(bed, *NOTES, metadata=MemoryMetadata(tags=("core",)))
    await bed.house.preferences.set(ADA, "tea", "green")
    bed.clock.advance(days=3)
    await note(bed, *(f"young {text}" for text in NOTES))
    assert await slept(bed, days=0.9) == 0
    assert await slept(bed, days=0.2) == 4
    states = await bed.states()
    assert {states[text] for text in NOTES} == {"active"}
