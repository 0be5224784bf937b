"""Lessons and patterns in the file (SPEC 5a): stored, counted, screened, audited, forgotten."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from pathlib import Path

import pytest
from support.clocks import HeldClock
from support.store import ADA, BOB, bytes_of, locked

from memd.backends.rooms import Rooms
from memd.base.errors import BusyError, MemoryStoreError, NotFoundError, SecretRefusedError
from memd.domain.caller import Caller
from memd.domain.enums import LearningOutcome, MemoryLevel
from memd.domain.learn import PlaybookQuery, SuccessReport, TaskReport
from memd.domain.memory import MemoryFilter
from memd.learn.learn import Learn
from memd.learn.playbook import pattern_id
from memd.learn.skills import Skills
from memd.store.file.connect import Reading

WORD = "Xylophanes"
TRACES = (b"xylophan", b"Xylophan")
SECRET = "ghp_" + "n7Kq2ZxW9rTb4LmVs8YcJd3Hf6PgQaEuXo1i"
DEPLOY = SuccessReport(description="rsync deploy", tools=("shell_exec", "file_write"))


@pytest.fixture
def learn(house: Rooms, clock: HeldClock) -> Learn:
    return Learn(house.db, clock, house.ids)


def a_task(reply: str = "Done.", *tools: str, lesson: str | None = None) -> TaskReport:
    return TaskReport(final_response=reply, tools=tools, lesson=lesson)


async def test_5a_1_a_task_leaves_type_way_outcome_lesson_and_time(
    learn: Learn, clock: HeldClock
) -> None:
    kept = await learn.record_outcome(ADA, a_task("It failed.", "shell_exec", "web_fetch"))
    assert (kept.task_type, kept.approach) == ("shell+web", ("shell_exec", "web_fetch"))
    assert kept.outcome is LearningOutcome.FAILURE
    assert kept.lesson == "shell+web: shell_exec then web_fetch failed"
    assert kept.timestamp == clock.now
    assert await learn.latest(ADA) == (kept,)


async def test_5a_1_lessons_come_newest_first_and_to_their_agent_alone(
    learn: Learn, clock: HeldClock
) -> None:
    for lesson in ("one", "two", "three"):
        await learn.record_outcome(ADA, a_task(lesson=lesson))
        clock.advance(seconds=1)
    assert [each.lesson for each in await learn.latest(ADA)] == ["three", "two", "one"]
    assert [each.lesson for each in await learn.latest(ADA, 1)] == ["three"]
    assert await learn.latest(BOB) == ()


async def test_5a_2_recording_again_counts_and_the_newest_words_stand(
    learn: Learn, clock: HeldClock
) -> None:
    first = await learn.record_success(ADA, DEPLOY)
    clock.advance(hours=1)
    again = SuccessReport(
        description="deploy", tools=("file_write", "shell_exec"), prompt_template="do it"
    )
    second = await learn.record_success(ADA, again)

    assert first.pattern_id == second.pattern_id == pattern_id("shell+file", DEPLOY.tools)
    assert (first.success_count, second.success_count) == (1, 2)
    assert (second.description, second.prompt_template) == ("deploy", "do it")
    assert second.tool_sequence == DEPLOY.tools
    assert second.created_at == first.created_at < second.updated_at
    assert not second.promoted


async def test_5a_2_relevant_are_those_of_the_type_most_successes_first(learn: Learn) -> None:
    for name, times in (("a", 1), ("b", 4), ("c", 2), ("d", 3)):
        for _ in range(times):
            await learn.record_success(
                ADA, SuccessReport(description=name, tools=(name,), task_type="shell")
            )
    await learn.record_success(ADA, SuccessReport(description="x", tools=("x",), task_type="web"))

    patterns = await learn.playbook(ADA, PlaybookQuery(task_type="shell"))

    assert [(each.description, each.success_count) for each in patterns] == [
        ("b", 4),
        ("d", 3),
        ("c", 2),
    ]
    near = await learn.playbook(ADA, PlaybookQuery(query="do x please", limit=1))
    assert [each.description for each in near] == ["x"]
    assert await learn.playbook(BOB, PlaybookQuery()) == ()


async def test_5a_2_three_successes_may_be_promoted_once(learn: Learn) -> None:
    ready = PlaybookQuery(promotable=True)
    for _ in range(2):
        await learn.record_success(ADA, DEPLOY)
    assert await learn.playbook(ADA, ready) == ()
    kept = await learn.record_success(ADA, DEPLOY)
    assert await learn.playbook(ADA, ready) == (kept,)
    assert await learn.playbook(ADA, PlaybookQuery(promotable=True, task_type="web")) == ()

    await learn.mark_promoted(ADA, kept.pattern_id)

    assert await learn.playbook(ADA, ready) == ()
    (entry,) = await learn.playbook(ADA, PlaybookQuery())
    assert entry.promoted
    for caller, unknown in ((ADA, "?"), (BOB, kept.pattern_id)):
        with pytest.raises(KeyError):
            await learn.mark_promoted(caller, unknown)


async def test_an_agent_that_keeps_nothing_learns_nothing(house: Rooms) -> None:
    learn = Learn(house.db, house.clock, house.ids, MemoryLevel.NONE)
    with pytest.raises(MemoryStoreError):
        await learn.record_outcome(ADA, a_task())
    with pytest.raises(MemoryStoreError):
        await learn.record_success(ADA, DEPLOY)
    with pytest.raises(MemoryStoreError):
        await learn.record_outcome(Caller(agent_id="__shared__"), a_task())


async def test_no_file_holds_a_secret_of_a_lesson_or_a_pattern(
    house: Rooms, learn: Learn, tmp_path: Path
) -> None:
    """P16."""
    await learn.record_outcome(
        ADA, a_task(f"done {SECRET}", f"tool {SECRET}", lesson=f"use {SECRET}")
    )
    report = SuccessReport(
        description=f"use {SECRET}", tools=(f"tool {SECRET}",), prompt_template=SECRET
    )
    await learn.record_success(ADA, report)
    assert SECRET.encode() not in bytes_of(tmp_path)
    refusing = Learn(house.db, house.clock, house.ids, secrets="refuse")
    with pytest.raises(SecretRefusedError):
        await refusing.record_outcome(ADA, a_task(lesson=f"use {SECRET}"))
    with pytest.raises(SecretRefusedError):
        await refusing.record_success(ADA, report)
    assert SECRET.encode() not in bytes_of(tmp_path)


async def test_reporting_again_with_the_same_key_counts_once_and_keeps_no_text(
    house: Rooms, learn: Learn
) -> None:
    """SPEC D7: a kept reply never holds a text."""
    caller = Caller(agent_id="ada", method="test", idempotency_key="k", request_hash=b"h")
    other = Caller(agent_id="ada", method="test", idempotency_key="l", request_hash=b"h")
    first = await learn.record_outcome(caller, a_task(lesson=WORD))
    assert await learn.record_outcome(caller, a_task(lesson=WORD)) == first
    await learn.record_success(other, DEPLOY)
    assert (await learn.record_success(other, DEPLOY)).success_count == 1
    assert len(await learn.latest(ADA)) == 1

    def replies(conn: Reading) -> str:
        return str(conn.execute("SELECT group_concat(reply) FROM reply").get)

    assert WORD not in await house.db.read(replies)
    await house.trash.forget(ADA, ids=[first.id])
    with pytest.raises(NotFoundError):
        await learn.record_outcome(caller, a_task(lesson=WORD))


async def test_forgetting_reaches_lessons_and_patterns_by_id_and_by_time(
    house: Rooms, learn: Learn, clock: HeldClock, tmp_path: Path
) -> None:
    """P8, D21: the proof names them, and no byte of them is left."""
    early = await learn.record_outcome(ADA, a_task(lesson="early"))
    clock.advance(days=1)
    lesson = await learn.record_outcome(ADA, a_task(lesson=f"{WORD} dance"))
    pattern = await learn.record_success(ADA, SuccessReport(description=WORD, tools=("a",)))
    theirs = await learn.record_outcome(BOB, a_task(lesson="theirs"))
    ids = [lesson.id, pattern.pattern_id, theirs.id]

    would = await house.trash.forget(ADA, ids=ids, dry_run=True)
    forgotten = await house.trash.forget(ADA, ids=ids)

    assert (would.count, would.ids, would.proof) == (2, tuple(ids[:2]), "")
    assert (forgotten.count, forgotten.ids) == (2, tuple(ids[:2]))
    assert forgotten.proof != hashlib.sha256().hexdigest()
    assert await learn.latest(ADA) == (early,)
    assert await learn.latest(BOB) == (theirs,)
    assert await learn.playbook(ADA, PlaybookQuery()) == ()
    assert not any(trace in bytes_of(tmp_path) for trace in TRACES)

    of_time = MemoryFilter(until=clock.now - timedelta(hours=1))
    more = of_time.model_copy(update={"tags": ("bees",)})
    assert (await house.trash.forget(ADA, condition=more)).count == 0
    assert (await house.trash.forget(ADA, condition=of_time)).ids == (early.id,)
    assert (await house.upkeep.check(ADA)).ok


async def test_every_lesson_and_pattern_stands_in_the_audit(house: Rooms, learn: Learn) -> None:
    lesson = await learn.record_outcome(ADA, a_task())
    pattern = await learn.record_success(ADA, DEPLOY)
    await learn.mark_promoted(ADA, pattern.pattern_id)
    await house.trash.forget(ADA, ids=[lesson.id, pattern.pattern_id])

    def links(conn: Reading) -> list[int]:
        return [int(str(rows)) for (rows,) in conn.execute("SELECT rows FROM change")]

    assert await house.db.read(links) == [1, 1, 1, 2]


@pytest.mark.usefixtures("impatient")
async def test_a_file_that_is_held_is_busy_and_what_was_learnt_is_still_told(
    house: Rooms, learn: Learn
) -> None:
    await learn.record_outcome(ADA, a_task())
    pattern = await learn.record_success(ADA, DEPLOY)
    with locked(house.db.path):
        for write in (
            lambda: learn.record_outcome(ADA, a_task()),
            lambda: learn.record_success(ADA, DEPLOY),
            lambda: learn.mark_promoted(ADA, pattern.pattern_id),
        ):
            with pytest.raises(BusyError):
                await write()
        assert len(await learn.latest(ADA)) == 1
        assert len(await learn.playbook(ADA, PlaybookQuery())) == 1
    await learn.record_outcome(ADA, a_task())


async def test_forgetting_one_pattern_or_lesson_leaves_every_other(
    house: Rooms, learn: Learn
) -> None:
    """Of one agent, and the same pattern of another."""
    mine = await learn.record_success(ADA, DEPLOY)
    other = await learn.record_success(ADA, SuccessReport(description="grep logs", tools=("grep",)))
    theirs = await learn.record_success(BOB, DEPLOY)
    assert mine.pattern_id == theirs.pattern_id
    doomed, stays = [await learn.record_outcome(ADA, a_task("Done.", name)) for name in ("a", "b")]
    await learn.record_outcome(BOB, a_task("Done.", "c"))
    ids = (mine.pattern_id, doomed.id)

    result = await house.trash.forget(ADA, ids=ids)

    assert result.count == 2
    left = await learn.playbook(ADA, PlaybookQuery())
    assert [each.pattern_id for each in left] == [other.pattern_id]
    assert await learn.latest(ADA) == (stays,)
    assert await learn.playbook(BOB, PlaybookQuery()) == (theirs,)
    assert len(await learn.latest(BOB)) == 1


async def test_promoting_one_pattern_promotes_no_other(learn: Learn) -> None:
    mine = await learn.record_success(ADA, DEPLOY)
    await learn.record_success(ADA, SuccessReport(description="grep logs", tools=("grep",)))
    await learn.record_success(BOB, DEPLOY)

    await learn.mark_promoted(ADA, mine.pattern_id)

    patterns = await learn.playbook(ADA, PlaybookQuery())
    assert {each.pattern_id for each in patterns if each.promoted} == {mine.pattern_id}
    assert len(patterns) == 2
    assert not (await learn.playbook(BOB, PlaybookQuery()))[0].promoted


async def test_a_lesson_is_stored_though_its_skill_cannot_be_looked_up(
    house: Rooms, tmp_path: Path
) -> None:
    class Cut(Skills):
        """Whose store is closed once the folder is written."""

        async def update(self) -> bool:
            await self.db.close()
            return True

    skills = Cut(house.db, house.clock, "store", root=tmp_path)
    try:
        assert await skills.update_skill(ADA, "any") is None
    finally:
        skills.work.close()
