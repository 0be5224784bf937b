"""What a night does, to which memories, and what stops it (SPEC 16.3, 16.4, D9, D21)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.nights import ADA, BOB, TURNS, Bed, a_bed, differing, settled

from memd.base.errors import InvalidError, InvalidStateError, ProviderRefusedError
from memd.domain.caller import Caller
from memd.domain.enums import MemoryCategory, Origin, RunState
from memd.domain.ingest import IngestRequest
from memd.domain.memory import MemoryMetadata, MemoryQuery
from memd.domain.settings.settings import MemoryConfig, Settings
from memd.sleep.night.consolidation import Consolidation
from memd.sleep.night.night import STEPS, Night
from memd.sleep.night.tasks import Cursor, NightScope, PlannedStep
from memd.sleep.sleep import KillSwitch
from memd.sleep.strategies.operations import CondensedGroup, GroupMember

CONSOLIDATION = frozenset({"consolidation"})


async def all_rows(bed: Bed) -> dict[str, Any]:
    """Return every row of every table of the file, whatever it is for."""
    tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%STRICT%'"
    return {
        str(name): await bed.rows(f"SELECT * FROM {name}") for (name,) in await bed.rows(tables)
    }


# Who, and what stops it.


@dataclass(frozen=True)
class Failing:
    """A step that fails for one agent."""

    agent_id: str
    error: Exception
    name: str = "retention"

    async def plan(self, scope: NightScope, cursor: Cursor, limit: int) -> PlannedStep | None:
        del cursor, limit
        if scope.agent_id == self.agent_id:
            raise self.error
        return None


def failing(night: Night, agent_id: str, error: Exception) -> Night:
    tasks = night.tasks
    return replace(night, tasks=lambda asked: [Failing(agent_id, error), *tasks(asked)])


@pytest.mark.parametrize(
    ("error", "kind"),
    [(ProviderRefusedError("no key"), "provider_refused"), (ZeroDivisionError(), "internal")],
)
async def test_one_agents_failure_is_not_anothers_and_the_run_says_what_it_was(
    bed: Bed, error: Exception, kind: str
) -> None:
    await bed.tell(*TURNS)
    await bed.tell(*(f"Bob: {turn}" for turn in TURNS), caller=BOB)
    bed.clock.advance(days=2)
    run = await failing(bed.night, "ada", error).run(ADA)
    assert run.state is RunState.FAILED
    assert run.detail["errors"] == [kind]
    states = await bed.states()
    assert {states[turn] for turn in TURNS} == {"active"}
    assert [states[f"Bob: {turn}"] for turn in TURNS] == ["compressed"] * 5 + ["active"]
    assert (await bed.night.undo(ADA, run.run_id)).state is RunState.UNDONE
    assert set((await bed.states()).values()) == {"active"}
    assert (await bed.night.run(ADA)).state is RunState.DONE  # nothing is left of the failure


async def test_with_the_kill_switch_off_nothing_is_touched(bed: Bed) -> None:
    await bed.tell(*TURNS)
    bed.clock.advance(days=2)
    before = await all_rows(bed)
    night = replace(bed.night, enabled=lambda: False)
    for run in (await night.run(ADA), await night.compress(ADA, force=True)):
        assert (run.steps, run.detail) == ((), {})
    await night.resume_unfinished()
    assert await all_rows(bed) == before


async def test_a_switch_that_goes_off_meanwhile_stops_the_night_at_its_next_step(bed: Bed) -> None:
    await bed.tell_sessions()
    says = iter([True, True, False])
    night = replace(bed.night, enabled=lambda: next(says, False))
    stopped = await night.run(ADA)
    assert stopped.state is RunState.RUNNING
    assert len(await bed.summaries()) == 1
    await bed.night.resume_unfinished()
    done = await bed.night.report(stopped.run_id, ADA)
    assert (done.state, [step.steps for step in done.steps]) == (RunState.DONE, [2])


async def test_a_night_that_is_going_on_stops_at_its_next_step_when_the_file_says_so(
    bed: Bed, tmp_path: Path
) -> None:
    config = tmp_path / "config.toml"
    await bed.tell_sessions()
    night = replace(bed.night, enabled=KillSwitch(Settings(), config, {}))

    def switch_off(done: int, total: int) -> None:
        del done, total
        config.write_text("[memory.consolidation]\nenabled = false\n", "utf-8")

    stopped = await night.run(ADA, progress=switch_off)

    assert (stopped.state, len(await bed.summaries())) == (RunState.RUNNING, 1)
    await night.resume_unfinished()  # what a tick does, a minute later
    assert (await night.run(ADA)).steps == ()
    assert len(await bed.summaries()) == 1
    config.unlink()
    await night.resume_unfinished()
    assert (await night.report(stopped.run_id, ADA)).state is RunState.DONE


async def test_a_night_that_was_stopped_can_be_undone_instead_of_going_on(bed: Bed) -> None:
    await bed.tell_sessions()
    before = await bed.tables()
    says = iter([True, True, False])
    stopped = await replace(bed.night, enabled=lambda: next(says, False)).run(ADA)
    undone = await bed.night.undo(ADA, stopped.run_id)
    assert undone.state is RunState.UNDONE
    assert differing(before, await bed.tables()) == []
    await bed.night.resume_unfinished()
    assert differing(before, await bed.tables()) == []


async def test_a_rehearsal_writes_nothing_and_tells_what_the_night_will_do(tmp_path: Path) -> None:
    settings = settled(max_memories_per_agent=8, retention={"default_retention_days": 30})
    async with a_bed(tmp_path, settings=settings) as bed:
        for session in ("a", "b", "c"):
            await bed.tell(*(f"{session}: {turn}" for turn in TURNS), session_id=session)
            bed.clock.advance(days=20)
        before = await all_rows(bed)
        rehearsed = await bed.night.run(ADA, dry_run=True, steps=CONSOLIDATION)
        assert rehearsed.dry_run
        every = await bed.night.run(ADA, dry_run=True)
        assert {step.name: step.rows for step in every.steps} == {
            "retention": 12, "consolidation": 15, "cap": 10,
        }  # fmt: skip
        assert await all_rows(bed) == before
        done = await bed.night.run(ADA, steps=CONSOLIDATION)
        assert [(step.name, step.rows) for step in done.steps] == [
            (step.name, step.rows) for step in rehearsed.steps
        ]


async def test_a_second_run_is_refused_while_one_is_going_on(bed: Bed) -> None:
    await bed.tell(*TURNS)
    bed.clock.advance(days=2)
    first = asyncio.create_task(bed.night.run(ADA))
    while bed.night.running is None:  # noqa: ASYNC110  # it is there at once
        await asyncio.sleep(0)
    since = f"a night since {bed.clock.now:%Y-%m-%d %H:%M} UTC"
    with pytest.raises(InvalidStateError, match=since):
        await bed.night.run(BOB)
    with pytest.raises(InvalidStateError):
        await bed.night.undo(ADA, bed.night.running.run_id)
    assert (await first).state is RunState.DONE


async def test_a_step_that_there_is_not_is_refused_and_those_that_are_are_named(bed: Bed) -> None:
    with pytest.raises(InvalidError) as refused:
        await bed.night.run(ADA, steps=frozenset({"dreaming", "cap"}))
    assert refused.value.field == "steps"
    assert "dreaming" in refused.value.message
    assert all(step in str(refused.value.hint) for step in STEPS)


# Retention.


async def test_what_its_category_keeps_no_longer_goes_into_the_trash(tmp_path: Path) -> None:
    rules = [{"category": "episodic", "retention_days": 30}]
    settings = settled(retention={"rules": rules, "default_retention_days": 90})
    async with a_bed(tmp_path, settings=settings) as bed:
        made = bed.clock.now + timedelta(minutes=1)
        (gone,) = await bed.tell("old talk", session_id=None)
        await bed.tell("old fact", session_id=None, category="semantic")
        bed.clock.now = made + timedelta(days=30)
        assert (await bed.night.run(ADA)).steps == ()  # strictly older
        bed.clock.advance(microseconds=1)
        run = await bed.night.run(ADA)
        assert [(step.name, step.rows) for step in run.steps] == [("retention", 1)]
        assert await bed.states() == {"old talk": "trashed", "old fact": "active"}
        (shown,), _ = await bed.house.trash.list(ADA, None, 10)
        assert (shown.id, shown.reason) == (gone, "retention")
        assert await bed.house.trash.restore(ADA, gone)
        assert (await bed.states())["old talk"] == "active"


async def test_an_agents_own_retention_is_its_own(bed: Bed) -> None:
    await bed.tell("Ada's")
    await bed.tell("Bob's", caller=BOB)
    await bed.house.agents.set(BOB, MemoryConfig(retention_days=5))
    bed.clock.advance(days=6)
    await bed.night.run(ADA)
    assert await bed.states() == {"Ada's": "active", "Bob's": "trashed"}


async def test_a_summary_goes_with_its_first_retired_source_and_the_others_come_back(
    bed: Bed,
) -> None:
    await bed.tell(TURNS[0])
    bed.clock.advance(days=20)
    await bed.tell(*TURNS[1:])
    bed.clock.advance(days=2)
    await bed.night.run(ADA)
    assert len(await bed.summaries()) == 1
    before = await bed.tables()
    late = bed.other_night(settled(retention={"default_retention_days": 10}))
    run = await late.run(ADA, steps=frozenset({"retention"}))
    assert await bed.summaries() == []
    states = await bed.states()
    assert states == {TURNS[0]: "trashed"} | dict.fromkeys(TURNS[1:], "active")
    assert await bed.is_sound()
    await bed.night.undo(ADA, run.run_id)
    assert differing(before, await bed.tables()) == []


async def test_what_is_hidden_is_retired_as_well(tmp_path: Path) -> None:
    settings = settled(retention={"default_retention_days": 10})
    async with a_bed(tmp_path, settings=settings) as bed:
        await bed.tell(*TURNS)
        bed.clock.advance(days=2)
        await bed.night.run(ADA)
        bed.clock.advance(days=10)
        await bed.night.run(ADA)
        assert set((await bed.states()).values()) == {"trashed"}
        assert await bed.summaries() == []
        assert await bed.is_sound()


# The cap.


async def seen(bed: Bed, caller: Caller = ADA) -> list[str]:
    entries = await bed.house.recall.retrieve(caller, MemoryQuery(limit=100))
    return sorted(entry.content for entry in entries)


async def tell(bed: Bed, *texts: str, tags: Sequence[str] = ()) -> None:
    await bed.tell(*texts, session_id=None, metadata=MemoryMetadata(tags=tuple(tags)))


async def test_the_oldest_are_put_away_when_there_are_too_many(tmp_path: Path) -> None:
    async with a_bed(tmp_path, settings=settled(max_memories_per_agent=3)) as bed:
        await tell(bed, "a", "b", "c", "d", "e")
        await bed.tell("Bob's", caller=BOB)
        run = await bed.night.run(ADA)
        assert [(step.name, step.rows) for step in run.steps] == [("cap", 2)]
        assert await seen(bed) == ["c", "d", "e"]
        assert await seen(bed, BOB) == ["Bob's"]
        rows = await bed.rows("SELECT reason, run FROM archive")
        assert rows == [("cap", run.run_id)] * 2


async def test_of_the_same_moment_the_first_ids_are_put_away_first(tmp_path: Path) -> None:
    async with a_bed(tmp_path, settings=settled(max_memories_per_agent=2)) as bed:
        for text in ("a", "b", "c", "d"):
            bed.clock.advance(minutes=-1)  # all at the same minute
            await tell(bed, text)
        ids = [str(row[0]) for row in await bed.rows("SELECT memory_id FROM memory ORDER BY 1")]
        await bed.night.run(ADA)
        away = await bed.rows("SELECT memory_id FROM archive JOIN memory USING (memory_key)")
        assert sorted(str(row[0]) for row in away) == ids[:2]


async def test_core_memories_and_preferences_are_never_put_away(tmp_path: Path) -> None:
    async with a_bed(tmp_path, settings=settled(max_memories_per_agent=1)) as bed:
        await tell(bed, "who I am", tags=("core",))
        liked = "I prefer PostgreSQL in 2026 at Acme because async APIs are reliable."
        await bed.house.ingest.ingest(ADA, IngestRequest(text=liked))
        preferred = await seen(bed)
        assert preferred == sorted([liked, "who I am"])
        await tell(bed, "a", "b", "c")
        rehearsed = await bed.night.run(ADA, dry_run=True)
        assert [(step.name, step.rows) for step in rehearsed.steps] == [("cap", 3)]
        run = await bed.night.run(ADA)
        assert [(step.name, step.rows) for step in run.steps] == [("cap", 3)]
        assert await seen(bed) == preferred
        assert [preference.value for preference in await bed.house.recall.preferences(ADA)] == [
            liked
        ]


# Consolidation and ageing.


@pytest.mark.parametrize("tag", ["core", "distillation", "detailed_experience"])
async def test_what_is_protected_is_not_consolidated(bed: Bed, tag: str) -> None:
    await bed.tell(*TURNS, metadata=MemoryMetadata(tags=(tag,)))
    bed.clock.advance(days=2)
    assert (await bed.night.run(ADA, steps=CONSOLIDATION)).steps == ()


@pytest.mark.parametrize(
    "fields",
    [{"level": "session"}, {"expires_at": "2100-01-01T00:00:00Z"}],
    ids=["ends with its session", "has an end of its own"],
)
async def test_what_has_a_fate_of_its_own_is_not_consolidated(
    bed: Bed, fields: dict[str, Any]
) -> None:
    await bed.tell(*TURNS, **fields)
    bed.clock.advance(days=2)
    assert (await bed.night.run(ADA, steps=CONSOLIDATION)).steps == ()


async def test_only_what_is_a_day_old_is_consolidated(bed: Bed) -> None:
    await bed.tell(*TURNS[:3])
    bed.clock.advance(hours=20)
    await bed.tell(*TURNS[3:])
    bed.clock.advance(hours=10)
    await bed.night.run(ADA)
    states = await bed.states()
    assert [states[turn] for turn in TURNS] == ["compressed"] * 2 + ["active"] * 4


class Helpless:
    """An operation for which every memory is too long to be shortened."""

    async def condense(
        self,
        category: MemoryCategory,
        members: Sequence[GroupMember],
        *,
        kept: GroupMember | None = None,
        context: Sequence[str] = (),
    ) -> CondensedGroup:
        del category, members, kept, context
        return CondensedGroup("nothing", (), ())


async def test_what_is_too_long_to_be_shortened_stays_and_ends_no_night(bed: Bed) -> None:
    await bed.tell(*(f"{number} {'word ' * 150}" for number in range(40)))
    bed.clock.advance(days=2)
    house = bed.house
    task = Consolidation(house.db, house.ids, house.work, house.counter, Helpless(), 3)
    run = await asyncio.wait_for(replace(bed.night, tasks=lambda _: [task]).run(ADA), 60)
    assert run.state is RunState.DONE
    assert [step.rows for step in run.steps] == [0]
    assert set((await bed.states()).values()) == {"active"}
    assert await bed.summaries() == []


async def test_a_summary_is_never_summarised_again(bed: Bed) -> None:
    for _ in range(4):
        await bed.tell(*(f"{turn} {'word ' * 20}{bed.clock.now}" for turn in TURNS))
        bed.clock.advance(days=2)
        await bed.night.run(ADA)
    sources = "SELECT count(*) FROM derived JOIN memory ON memory_key = from_key"
    assert await bed.rows(f"{sources} WHERE is_summary") == [(0,)]
    assert len(await bed.summaries()) >= 4


async def test_what_was_consolidated_moves_to_the_archive_when_it_is_old(tmp_path: Path) -> None:
    settings = settled(archival={"age_threshold_days": 10})
    async with a_bed(tmp_path, settings=settings) as bed:
        await bed.tell(*TURNS)
        bed.clock.advance(days=2)
        await bed.night.run(ADA)
        assert sorted((await bed.states()).values()) == ["active"] + ["compressed"] * 5
        bed.clock.advance(days=9)
        before = await bed.tables()
        run = await bed.night.run(ADA)
        assert [(step.name, step.rows) for step in run.steps] == [("ageing", 5)]
        assert sorted((await bed.states()).values()) == ["active"] + ["archived"] * 5
        assert await bed.is_sound()
        await bed.night.undo(ADA, run.run_id)
        assert differing(before, await bed.tables()) == []


async def test_a_list_has_what_turns_state_in_a_line_each_and_the_rest_stays_behind_it(
    bed: Bed,
) -> None:
    turns = ["The rent is 780.\n\nIs that a lot?", "thanks! Tom moves in on Monday.", "Ann left."]
    await bed.tell(*turns, origin=Origin.PERSON)
    bed.clock.advance(days=2)
    await bed.night.run(ADA, steps=frozenset({"consolidation"}))

    (summary,) = await bed.summaries()

    lines = "- The rent is 780.\n- Tom moves in on Monday."
    assert summary == f"Consolidated episodic memories:\n{lines}"
