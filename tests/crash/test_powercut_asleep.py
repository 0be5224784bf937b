"""The power may go at any operation of a sleep: the old state is there or the new (P2, P3)."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import pytest
from support.clocks import HeldClock
from support.nights import ADA, Bed, Tables, a_bed, differing, settled
from support.powercut import Op, images, leave_as_it_is
from support.recorded_connection import a_recorded_bed, held
from support.sleep_atomicity import halves
from support.store import a_writer

from memd.base.clock import from_us
from memd.base.errors import MemdError
from memd.domain.enums import RunState
from memd.domain.memory import MemoryQuery
from memd.domain.sleep.sleep import RunReport
from memd.sleep.nap.naps import Naps
from memd.sleep.nap.source import NapRequest
from memd.sleep.night import night
from memd.sleep.night.night import STEPS
from memd.store.file.connect import Writing
from memd.store.memory import memories
from memd.store.memory.rows import MemoryRow
from memd.store.run import runs
from memd.store.run.runs import Change

SETTINGS = settled(
    group_threshold=3,
    compression_threshold=1,
    compression_sessions=1,
    max_memories_per_agent=5,
    retention={"rules": [{"category": "social", "retention_days": 110}]},
    archival={"age_threshold_days": 90},
)
UPDATED = 28  # the column of memory that says when it was touched last
Act = Callable[[Bed], Awaitable[Any]]


class Looked(NamedTuple):
    """A store: every table, and by what its memories say which are visible, hidden and gone."""

    tables: Tables
    outcome: list[tuple[Any, ...]]


@dataclass
class Traced:
    """What was done on the disk that remembers: where the cuts begin, what each COMMIT left."""

    trace: list[Op]
    start: int
    held: list[str]
    before: Looked
    after: Looked
    clock_us: int


@dataclass
class Verdict:
    """What the images came to."""

    seen: int = 0
    bad: list[str] = field(default_factory=list)
    left: dict[int, dict[str, bytes]] = field(default_factory=dict)
    """One image of each COMMIT that a cut left, by its number."""


@pytest.fixture(autouse=True)
def _short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a sleep have as many steps as it can, however quick the disk is."""
    monkeypatch.setattr(night, "ROWS_FIRST", 2)
    monkeypatch.setattr(night, "next_limit", lambda _limit, _took_ms: 2)


async def filled(bed: Bed) -> None:
    """Tell memories of sessions that a night condenses, compresses, throws away and caps.

    One group is condensed already, and the time of two of its memories will be up.
    """
    callers: dict[str, Any] = {"category": "social", "session_id": "s3"}
    await bed.tell("Ms Fjord came by.", "So did Mr Lund.", **callers)
    bed.clock.advance(days=20)
    await bed.tell(*(f"Then guest {n} came by." for n in range(3)), **callers)
    bed.clock.advance(days=2)
    await bed.house.queue.drain()
    await bed.night.run(ADA, steps=frozenset({"consolidation"}))
    for session in ("s0", "s1"):
        await bed.tell(*(f"In {session} lamp {n} went out." for n in range(4)), session_id=session)
    await bed.tell("The boat leaked.", "It was mended.", session_id="s2")
    await bed.house.queue.drain()
    bed.clock.advance(days=95)


async def looked(bed: Bed) -> Looked:
    return Looked(await bed.tables(), await bed.rows(_OUTCOME))


_OUTCOME = """
SELECT m.content, m.state, r.reason, t.reason, m.is_summary
  FROM memory AS m
       LEFT JOIN archive AS r ON r.memory_key = m.memory_key
       LEFT JOIN trash AS t ON t.memory_key = m.memory_key
 ORDER BY 1, 2, 3, 4
"""


async def traced(folder: Path, act: Act, *, first: Act | None = None) -> Traced:
    """Let *act* happen in a filled store, after *first*, and return what the disk saw."""
    (folder / "live").mkdir()
    async with a_recorded_bed(folder / "live", SETTINGS) as (vfs, db, bed):
        await filled(bed)
        if first is not None:
            await first(bed)
        start, before = len(vfs.trace), await looked(bed)
        await act(bed)
        after = await looked(bed)
        return Traced(list(vfs.trace), start, db.held, before, after, bed.clock.now_us())


def judged(folder: Path, run: Traced, *, to_the_end: bool = True) -> Verdict:
    """Cut the power at every operation, or until something is bad, and look at what is left."""
    image = folder / "image"
    image.mkdir()
    verdict = Verdict()
    for acked, files, fresh in images(run.trace, image, start=run.start, hows=("none", "torn")):
        if verdict.bad and not to_the_end:
            break
        verdict.seen += 1
        if not fresh:
            continue
        try:
            with a_writer(image / "memd.db") as conn:
                leave_as_it_is(conn)
                now, problems = held(conn), halves(conn)
        except (apsw.Error, MemdError) as error:
            verdict.bad.append(type(error).__name__)
            continue
        last = int(acked[-1]) if acked else 0
        verdict.bad += problems
        if now not in run.held[last : last + 2]:
            verdict.bad.append("torn: neither what was acknowledged nor what came next")
            continue
        verdict.left.setdefault(last + (now != run.held[last]), files)
    return verdict


async def reopened(folder: Path, files: dict[str, bytes], run: Traced, then: Act) -> None:
    """Open what a cut left as the next start does, and let *then* happen."""
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    clock = HeldClock(from_us(run.clock_us))
    async with a_bed(folder, clock, settings=SETTINGS) as bed:
        await then(bed)
        assert await bed.is_sound()


async def went_on(folder: Path, run: Traced, verdict: Verdict) -> list[tuple[str, Looked]]:
    """Return the state of the last run, and the store, after each left file was gone on with."""
    ends: list[tuple[str, Looked]] = []

    async def then(bed: Bed) -> None:
        await bed.night.resume_unfinished()
        state = await bed.rows("SELECT state FROM run ORDER BY run_key DESC LIMIT 1")
        ends.append((str(state[0][0]), await looked(bed)))

    for files in verdict.left.values():
        await reopened(folder / "next", files, run, then)
    return ends


# A night and a compression.


async def test_a_cut_in_a_night_leaves_whole_groups_and_it_goes_on(tmp_path: Path) -> None:
    """Retention, consolidation, compression, ageing and the cap, each at every operation."""
    done: list[RunReport] = []

    async def a_night(bed: Bed) -> None:
        done.append(await bed.night.run(ADA))

    run = await traced(tmp_path, a_night)
    assert {step.name for step in done[0].steps if step.rows} == set(STEPS)
    verdict = judged(tmp_path, run)
    assert verdict.bad == []
    assert verdict.seen > 500
    await assert_all_go_on(tmp_path, run, verdict)


async def test_a_cut_in_a_compression_leaves_whole_sessions(tmp_path: Path) -> None:
    run = await traced(tmp_path, lambda bed: bed.night.compress(ADA, force=True, sessions=3))
    verdict = judged(tmp_path, run)
    assert verdict.bad == []
    await assert_all_go_on(tmp_path, run, verdict)


async def assert_all_go_on(folder: Path, run: Traced, verdict: Verdict) -> None:
    """Every cut must have been before the run, or go on to where the uncut run came to."""
    assert len(verdict.left) > len(run.after.tables["session"])
    assert run.after.outcome != run.before.outcome
    ends = await went_on(folder, run, verdict)
    assert ends[0][1].outcome == run.before.outcome
    for _, end in ends[1:]:
        assert end.outcome == run.after.outcome


# Undoing.


@dataclass
class Undoing:
    """A night that was had, and what the tables were before it."""

    steps: frozenset[str] | None = None
    run_id: str = ""
    before: Tables = field(default_factory=dict)

    async def night(self, bed: Bed) -> None:
        self.before = await bed.tables()
        self.run_id = (await bed.night.run(ADA, steps=self.steps)).run_id
        await bed.house.queue.drain()
        bed.clock.advance(hours=1)

    async def undo(self, bed: Bed) -> None:
        undone = await bed.night.undo(ADA, self.run_id)
        assert undone.state is RunState.UNDONE


@pytest.mark.parametrize("steps", [None, frozenset({"retention"})])
async def test_an_undo_that_is_cut_goes_on_to_the_last_byte(
    tmp_path: Path, steps: frozenset[str] | None
) -> None:
    it = Undoing(steps)
    run = await traced(tmp_path, it.undo, first=it.night)
    verdict = judged(tmp_path, run)
    assert verdict.bad == []
    assert len(verdict.left) > 3
    ends = await went_on(tmp_path, run, verdict)
    assert {state for state, _ in ends} == {"done", "undone"}
    for state, end in ends:
        tables = run.before.tables if state == "done" else it.before
        assert differing(end.tables, tables) == []


# A nap, and a memory that is brought back.


async def test_a_cut_in_a_nap_leaves_all_of_it_or_nothing(tmp_path: Path) -> None:
    """And the same nap again brings what is missing, once."""
    run = await traced(tmp_path, a_nap)
    verdict = judged(tmp_path, run)
    assert verdict.bad == []
    assert len(verdict.left) == 2
    texts: list[list[Any]] = []

    async def again(bed: Bed) -> None:
        await a_nap(bed)
        texts.append([row[0] for row in await bed.rows(_OUTCOME)])

    for files in verdict.left.values():
        await reopened(tmp_path / "next", files, run, again)
    expected = [row[0] for row in run.after.outcome]
    assert len(expected) > len(run.before.outcome)
    assert texts == [expected, expected]


async def a_nap(bed: Bed) -> None:
    naps = Naps(bed.house, SETTINGS, bed.house.db.path.parent / "usage", environ={})
    messages = [
        {"role": "user", "content": f"Please paint fence {n} green by Friday."} for n in range(9)
    ]
    caller = replace(ADA, session_id="talk")
    await naps.nap.nap(caller, NapRequest(messages=messages))


async def test_a_cut_while_a_memory_is_brought_back_leaves_it_here_or_there(tmp_path: Path) -> None:
    it = Undoing()
    brought: list[str] = []

    async def bring_back(bed: Bed) -> None:
        hidden = await bed.house.archive.search(ADA, MemoryQuery(text="lamp", limit=1))
        brought.append(hidden[0].entry.id)
        await bed.house.archive.restore_to_hot(ADA, hidden[0].archival_id)

    run = await traced(tmp_path, bring_back, first=it.night)
    verdict = judged(tmp_path, run)
    assert {bad for bad in verdict.bad if not _BROUGHT_BACK.fullmatch(bad)} == set()
    assert len(verdict.left) == 2
    (first,) = (row for row in it.before["memory"] if row[1] == brought[0])
    (last,) = (row for row in run.after.tables["memory"] if row[1] == brought[0])
    assert [*first[:UPDATED], *first[UPDATED + 1 :]] == [*last[:UPDATED], *last[UPDATED + 1 :]]


# Which was wanted: it is a source of its list, as the one beside it, and of its session's summary.
_BROUGHT_BACK = re.compile(r"half: (2 sources|1 sources) of summary \d+ are not behind it")


# What the replay must find: each mutant does in two transactions what belongs into one.


class Mutant(NamedTuple):
    """Something planted, and what to do first, and then under the replay's eyes."""

    plant: Callable[[pytest.MonkeyPatch], None]
    first: Act | None
    act: Act


def summary_first(patch: pytest.MonkeyPatch) -> None:
    """A summary is stored, and what it stands for is hidden later."""
    insert = memories.insert_bare

    def in_two(conn: Writing, rows: Sequence[MemoryRow], now_us: int) -> list[int]:
        keys = insert(conn, rows, now_us)
        if any(row.is_summary for row in rows):
            next_transaction(conn)
        return keys

    patch.setattr(memories, "insert_bare", in_two)


def ledger_later(patch: pytest.MonkeyPatch) -> None:
    """A step is done, and recorded later."""
    step = runs.step

    def in_two(conn: Writing, *given: Any) -> None:
        next_transaction(conn)
        step(conn, *given)

    patch.setattr(runs, "step", in_two)


def struck_out_first(patch: pytest.MonkeyPatch) -> None:
    """An undo strikes changes out of the ledger, and takes them back later."""
    changes, undone = runs.list_last_changes, runs.delete_changes

    def in_two(conn: Writing, run_key: int, limit: int) -> list[Change]:
        rows = changes(conn, run_key, limit)
        undone(conn, run_key, rows)
        next_transaction(conn)
        return rows

    patch.setattr(runs, "list_last_changes", in_two)


def next_transaction(conn: Writing) -> None:
    conn.execute("COMMIT")
    conn.execute("BEGIN IMMEDIATE")


async def a_consolidation(bed: Bed) -> None:
    await bed.night.run(ADA, steps=frozenset({"consolidation"}))


_UNDOING = Undoing()
MUTANTS = [
    Mutant(summary_first, None, a_consolidation),
    Mutant(ledger_later, None, a_consolidation),
    Mutant(struck_out_first, _UNDOING.night, _UNDOING.undo),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.plant.__name__)
async def test_the_replay_would_have_seen_a_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mutant: Mutant
) -> None:
    mutant.plant(monkeypatch)
    run = await traced(tmp_path, mutant.act, first=mutant.first)
    monkeypatch.undo()
    verdict = judged(tmp_path, run, to_the_end=False)
    assert any(bad.startswith("half: ") for bad in verdict.bad)
