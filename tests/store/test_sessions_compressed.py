"""Which sessions are compressed, in which order, and what is left alone (SPEC 3, 22.14)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.nights import ADA, BOB, Bed, a_bed, settled

from memd.base.errors import InvalidError
from memd.domain.enums import MemoryCategory, RunKind
from memd.domain.memory import MemoryFilter, MemoryMetadata, MemoryQuery
from memd.domain.settings.settings import Settings


def only(threshold: int, sessions: int | None = None) -> Settings:
    return settled(
        group_threshold=1000, compression_threshold=threshold, compression_sessions=sessions
    )


async def tell_sessions(bed: Bed, count: int, **fields: Any) -> None:
    for number in range(count):
        await bed.tell(
            f"First of {number}.", f"Second of {number}.", session_id=f"s{number}", **fields
        )
        bed.clock.advance(hours=1)


async def compressed(bed: Bed) -> list[str]:
    rows = await bed.rows("SELECT session_id FROM session WHERE compressed ORDER BY 1")
    return [str(session) for (session,) in rows]


@pytest.mark.parametrize(
    ("threshold", "there", "n", "done"),
    [
        (2, 3, 1, 1),
        (10, 10, None, 0),  # more than the threshold, not as many
        (10, 11, None, 5),
        (3, 4, None, 1),  # 3 // 2
        (1, 2, None, 1),  # one at least
        (1, 3, 9, 3),  # never more than there are
        (4, 4, 2, 0),
    ],
)
async def test_the_oldest_sessions_are_compressed_when_there_are_more_than_the_threshold(
    tmp_path: Path, threshold: int, there: int, n: int | None, done: int
) -> None:
    async with a_bed(tmp_path, settings=only(threshold, n)) as bed:
        await tell_sessions(bed, there)
        bed.clock.advance(hours=7)
        await bed.night.run(ADA)
        assert await compressed(bed) == sorted(f"s{number}" for number in range(done))


async def test_only_what_is_episodic_counts_and_is_compressed(tmp_path: Path) -> None:
    async with a_bed(tmp_path, settings=only(1)) as bed:
        await tell_sessions(bed, 3, category="semantic")
        await bed.tell("Said.", "Known.", session_id="s9")
        await bed.tell("Fixed.", session_id="s9", category="procedural")
        bed.clock.advance(hours=7)
        assert (await bed.night.run(ADA)).steps == ()
        await bed.night.compress(ADA, force=True)
        states = await bed.states()
        assert [text for text in states if states[text] == "compressed"] == ["Said.", "Known."]


async def test_a_session_that_was_active_within_six_hours_is_not_compressed_nor_counted(
    tmp_path: Path,
) -> None:
    async with a_bed(tmp_path, settings=only(1, 5)) as bed:
        await bed.tell("Old.", "Older.", session_id="s0")
        bed.clock.advance(hours=1)
        await bed.tell("New.", "Newer.", session_id="s1")
        bed.clock.advance(hours=5, minutes=30)
        assert (await bed.night.run(ADA)).steps == ()  # s1 does not count: one is not more than one
        await bed.night.compress(ADA, force=True)
        assert await compressed(bed) == ["s0"]


async def test_sessions_go_by_their_earliest_memory(tmp_path: Path) -> None:
    async with a_bed(tmp_path, settings=only(1, 1)) as bed:
        await bed.tell("First.", session_id="zz")
        await bed.tell("Second.", "Third.", session_id="aa")
        await bed.tell("Again.", session_id="zz")
        bed.clock.advance(hours=7)
        await bed.night.run(ADA)
        assert await compressed(bed) == ["zz"]


async def test_a_summary_is_semantic_of_its_session_and_as_important_as_its_sources(
    tmp_path: Path,
) -> None:
    async with a_bed(tmp_path, settings=only(1)) as bed:
        ids = await bed.tell("We met Ann.", "Bob sails.", "It rained.", "Then home.")
        bed.clock.advance(hours=7)
        run = await bed.night.compress(ADA)
        assert run.steps == ()  # one session is not more than the threshold
        run = await bed.night.compress(ADA, force=True)
        assert (run.kind, run.agent_id, run.detail["summaries"]) == (RunKind.COMPRESS, "ada", 1)
        (shown,) = await bed.house.recall.retrieve(ADA, MemoryQuery(limit=10))
        assert shown.content == "We met Ann. Bob sails. It rained."
        assert (shown.category, shown.session_id) == (MemoryCategory.SEMANTIC, "s")
        assert shown.metadata.tags == ("compressed",)
        assert shown.created_at == bed.clock.now
        rows = await bed.rows("SELECT avg(importance) FROM memory GROUP BY is_summary")
        assert rows[0] == pytest.approx(rows[1])
        sources = await bed.rows(
            "SELECT memory_id, updated_at_us FROM derived"
            " JOIN memory ON memory_key = from_key ORDER BY memory_key"
        )
        assert [memory_id for memory_id, _ in sources] == ids
        assert {at_us for _, at_us in sources} == {bed.clock.now_us()}


async def test_a_session_in_several_places_has_a_summary_in_each(tmp_path: Path) -> None:
    async with a_bed(tmp_path, settings=only(1)) as bed:
        await bed.tell("For all.", "For all too.")
        await bed.tell("For work.", "And work.", namespace="work")
        await bed.tell("For p1.", "And p1.", project_id="p1", level="project")
        bed.clock.advance(hours=7)
        await bed.night.compress(ADA, force=True)
        assert await bed.summaries() == [
            "For all. For all too.",
            "For p1. And p1.",
            "For work. And work.",
        ]
        for condition, text in (
            (MemoryFilter(namespaces=frozenset({"work"})), "For work. And work."),
            (MemoryFilter(project_id="p1"), "For p1. And p1."),
        ):
            (summary,), _ = await bed.house.recall.list(ADA, condition, None, 10)
            assert summary.content == text


async def test_what_is_protected_stays(tmp_path: Path) -> None:
    async with a_bed(tmp_path, settings=only(1)) as bed:
        await bed.tell("Told.", "Told too.")
        await bed.tell("Core.", metadata=MemoryMetadata(tags=("core",)))
        await bed.tell("Ends.", level="session")
        await bed.tell("Goes.", expires_at=bed.clock.now.replace(year=2100))
        bed.clock.advance(hours=7)
        await bed.night.compress(ADA, force=True)
        states = await bed.states()
        assert states == dict.fromkeys(["Told.", "Told too."], "compressed") | dict.fromkeys(
            ["Core.", "Ends.", "Goes."], "active"
        )


async def test_compressing_is_of_the_callers_own_sessions(tmp_path: Path) -> None:
    async with a_bed(tmp_path, settings=only(1)) as bed:
        await bed.tell("Ada's.", "Hers.")
        await bed.tell("Bob's.", "His.", caller=BOB)
        bed.clock.advance(hours=7)
        await bed.night.compress(BOB, force=True)
        assert await bed.states() == {
            "Ada's.": "active",
            "Hers.": "active",
            "Bob's.": "compressed",
            "His.": "compressed",
        }


@pytest.mark.parametrize("sessions", [0, -1])
async def test_no_session_at_all_is_refused(bed: Bed, sessions: int) -> None:
    with pytest.raises(InvalidError):
        await bed.night.compress(ADA, sessions=sessions)


async def test_an_agent_that_nobody_knows_has_nothing_to_compress(bed: Bed) -> None:
    assert (await bed.night.compress(ADA, force=True)).steps == ()
