"""The ledger of runs, and the rows that a night works on: functions of the store alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.rows import a_row, an_id_source, inserted
from support.store import a_writer

from memd.domain.enums import (
    ArchiveReason,
    MemoryCategory,
    MemoryLevel,
    MemoryState,
    Origin,
    RunKind,
    RunState,
    TrashReason,
    Trust,
)
from memd.domain.trust import Screened
from memd.store.access import names
from memd.store.check import integrity
from memd.store.file.connect import Writing
from memd.store.memory import (
    archive_rows,
    groups,
    memories,
    preferences,
    removal,
    transitions,
    versions,
)
from memd.store.memory.preferences import NewPreference
from memd.store.memory.transitions import RunStep
from memd.store.memory.versions import NewVersion
from memd.store.run import runs, undo
from memd.store.search import caches

IDS = an_id_source()
NOW = 1_800_000_000_000_000
T = 1_700_000_000_000_000
KEPT = (RunState.DONE, {"detail": {"summaries": 0}})


@pytest.fixture
def conn(tmp_path: Path) -> Iterator[Writing]:
    """Yield a store with two agents, in one open transaction."""
    with a_writer(tmp_path / "memd.db") as conn:
        conn.execute("BEGIN")
        for agent_id in ("ada", "bob"):
            names.ensure_agent(conn, agent_id, 1)
        yield conn


def filed(conn: Writing, *contents: str, **fields: Any) -> list[int]:
    return inserted(conn, [a_row(IDS, text, **fields) for text in contents], NOW)


def in_session(conn: Writing, name: str = "s", at_us: int = T) -> int:
    key = names.ensure_session(
        conn, name, agent_key=1, client_key=None, project_key=None, now_us=at_us
    )
    assert key is not None
    return key


def begun(conn: Writing, run_id: str = "r", kind: RunKind = RunKind.NIGHT) -> RunStep:
    return RunStep(runs.start(conn, run_id, kind, 1, {"steps": []}, NOW), run_id, NOW, IDS.new)


def keys_of(rows: list[groups.MemberRow]) -> list[int]:
    return [row.memory_key for row in rows]


# The ledger.


def test_a_run_is_found_as_it_was_begun_and_as_it_ended(conn: Writing) -> None:
    step = begun(conn)
    row = runs.find(conn, "r")
    assert row is not None
    assert (row.kind, row.agent_id, row.state, row.asked) == (
        "night",
        "ada",
        "running",
        {"steps": []},
    )
    assert (row.cursor, row.report, row.finished_at_us) == ({}, {}, None)
    runs.step(conn, step.run_key, "cap", 3, {"at": 7}, NOW)
    row = runs.find(conn, "r")
    assert row is not None
    assert row.cursor == {"at": 7}
    runs.finish(conn, step.run_key, *KEPT, NOW + 5)
    row = runs.find(conn, "r")
    assert row is not None
    assert (row.state, row.cursor, row.report, row.finished_at_us) == (
        "done", {}, KEPT[1], NOW + 5,
    )  # fmt: skip
    assert runs.find(conn, "other") is None


def test_steps_are_summed_by_name_in_the_order_in_which_they_began(conn: Writing) -> None:
    key = begun(conn).run_key
    for name, rows in (("cap", 3), ("ageing", 1), ("cap", 4)):
        runs.step(conn, key, name, rows, {}, NOW)
    assert runs.sum_steps(conn, key) == [("cap", 7, 2), ("ageing", 1, 1)]
    assert runs.sum_steps(conn, key + 1) == []


def test_runs_are_listed_newest_first_by_kind_and_from_one_on(conn: Writing) -> None:
    for number, kind in enumerate((RunKind.NIGHT, RunKind.NAP, RunKind.NIGHT, RunKind.COMPRESS)):
        begun(conn, f"r{number}", kind)
    assert [row.run_id for row in runs.list_page(conn, None, 9)] == ["r3", "r2", "r1", "r0"]
    assert [row.run_id for row in runs.list_page(conn, "r3", 2)] == ["r2", "r1"]
    assert [row.run_id for row in runs.list_page(conn, None, 9, (RunKind.NIGHT,))] == ["r2", "r0"]


def test_what_was_cut_off_is_unfinished_oldest_first(conn: Writing) -> None:
    keys = [begun(conn, f"r{number}").run_key for number in range(5)]
    for key, state in zip(keys, list(RunState), strict=True):
        runs.set_state(conn, key, state)
    unfinished = [row.state for row in runs.list_unfinished(conn)]
    assert unfinished == [RunState.RUNNING, RunState.UNDOING]


def test_the_pause_holds_until_it_ends(conn: Writing) -> None:
    assert not runs.is_paused(conn)
    for paused in (True, True, False):
        runs.set_paused(conn, paused=paused)
        assert runs.is_paused(conn) is paused


def test_a_change_keeps_no_text(conn: Writing) -> None:
    keys = filed(conn, "Xylophanes keeps bees")
    step = begun(conn)
    transitions.hide(conn, step, keys, ArchiveReason.CAP, MemoryState.ARCHIVED)
    runs.step(conn, step.run_key, "cap", 1, {}, NOW)
    rows = conn.execute("SELECT * FROM run_change").fetchall()
    assert len(rows) == 1
    assert "Xylophanes" not in repr(rows)


def test_the_last_later_run_that_touched_a_memory_is_named(conn: Writing) -> None:
    one, other = filed(conn, "a", "b")
    for number, keys in enumerate(([one, other], [one], [one])):
        step = begun(conn, f"r{number}")
        runs.record(conn, step.run_key, keys, runs.MOVED, {})
        runs.step(conn, step.run_key, "cap", len(keys), {}, NOW)
    assert runs.find_later_run(conn, 1, one) == "r2"
    assert runs.find_later_run(conn, 1, other) is None
    assert runs.find_later_run(conn, 3, one) is None
    assert runs.images(conn, []) == {}


# What is due.


def test_members_are_a_sessions_old_memories_that_are_nobodys_in_particular(conn: Writing) -> None:
    session = in_session(conn)
    at = {"session_key": session, "created_at_us": T}
    good = filed(conn, "one", "two", **at)
    good += filed(conn, "of a project", level=MemoryLevel.PROJECT, **at)
    filed(conn, "young", session_key=session, created_at_us=T + 1)
    filed(conn, "of none", created_at_us=T)
    filed(conn, "goes", expires_at_us=NOW, **at)
    filed(conn, "ends", level=MemoryLevel.SESSION, **at)
    filed(conn, "waits", state=MemoryState.PENDING, **at)
    (summary,) = filed(conn, "summary", is_summary=True, **at)
    filed(conn, "hidden", state=MemoryState.ARCHIVED, **at)
    for tag in json.loads(groups.PROTECTED):
        filed(conn, tag, tags=("red", tag), **at)
    (source, liked) = filed(conn, "in a summary", "liked", **at)
    conn.execute("INSERT INTO derived (from_key, to_key) VALUES (?, ?)", (source, summary))
    good += filed(conn, "a fact was taken from it", **at)
    conn.execute("INSERT INTO derived (from_key, to_key) VALUES (?, ?)", (good[-1], good[0]))
    preferences.put(conn, 1, NewPreference("tea", "green", 1.0, 1, liked, IDS.salt()), NOW)
    assert keys_of(groups.list_members(conn, session, T)) == good
    assert groups.list_members(conn, session, T - 1) == []


def test_members_come_in_the_order_of_the_session(conn: Writing) -> None:
    session = in_session(conn)
    later, first, second = (
        filed(conn, text, session_key=session, ordinal=ordinal, part=part)[0]
        for text, ordinal, part in (("c", 2, 0), ("a", 1, 0), ("b", 1, 1))
    )
    assert keys_of(groups.list_members(conn, session, NOW)) == [first, second, later]


def test_retired_is_what_was_made_before_its_categorys_cutoff(conn: Writing) -> None:
    old, edge, other = filed(conn, "old", created_at_us=T - 1) + filed(
        conn, "edge", "other", created_at_us=T
    )
    hidden = filed(conn, "hidden", created_at_us=T - 1, state=MemoryState.ARCHIVED)
    filed(conn, "binned", created_at_us=T - 1, state=MemoryState.TRASHED)
    filed(conn, "bob's", created_at_us=T - 1, agent_key=2)
    filed(conn, "a summary", created_at_us=T - 1, is_summary=True)
    filed(conn, "a fact", created_at_us=T - 1, category=MemoryCategory.SOCIAL)
    cutoffs = {MemoryCategory.SEMANTIC: T}
    assert groups.list_past_retention(conn, 1, cutoffs, 0, 10) == [old, *hidden]
    assert groups.list_past_retention(conn, 1, cutoffs, old, 10) == hidden
    assert groups.list_past_retention(conn, 1, cutoffs, 0, 1) == [old]
    assert groups.list_past_retention(conn, 1, {}, 0, 10) == []
    assert edge < other


def test_the_oldest_come_by_time_and_then_by_id_without_what_is_core(conn: Writing) -> None:
    new, *same = filed(conn, "new", created_at_us=T) + filed(conn, "x", "y", created_at_us=T - 1)
    filed(conn, "core", created_at_us=T - 9, tags=("core",))
    filed(conn, "bob's", created_at_us=T - 9, agent_key=2)
    filed(conn, "hidden", created_at_us=T - 9, state=MemoryState.COMPRESSED)
    assert groups.list_oldest(conn, 1, 10) == [*same, new]
    assert groups.list_oldest(conn, 1, 1) == same[:1]
    assert groups.count_visible(conn, 1) == 4


def test_ageing_takes_what_is_compressed_and_older_than_that(conn: Writing) -> None:
    keys = filed(conn, "a", "b", created_at_us=T) + filed(conn, "c", created_at_us=T + 5)
    removal.archive(
        conn, keys, ArchiveReason.CONSOLIDATED, NOW, new_id=IDS.new, state=MemoryState.COMPRESSED
    )
    away = filed(conn, "d", created_at_us=T)
    removal.archive(conn, away, ArchiveReason.CAP, NOW, new_id=IDS.new)
    assert groups.list_due_for_archive(conn, 1, T + 1, 0, 10) == keys[:2]
    assert groups.list_due_for_archive(conn, 1, T + 1, keys[0], 10) == keys[1:2]
    assert groups.list_due_for_archive(conn, 2, T + 1, 0, 10) == []


def test_sessions_and_agents_come_in_pages(conn: Writing) -> None:
    keys = [in_session(conn, name) for name in "abc"]
    assert groups.list_sessions(conn, 1, 0, 2) == keys[:2]
    assert groups.list_sessions(conn, 1, keys[2], 2) == keys[2:]
    assert groups.list_sessions(conn, 2, 0, 2) == []
    assert groups.list_agents(conn, 0) == [(1, "ada"), (2, "bob")]
    assert groups.list_agents(conn, 1) == [(2, "bob")]


# What is done.


def test_what_was_touched_since_it_was_planned_is_not_as_it_was(conn: Writing) -> None:
    keys = filed(conn, "a", "b")
    planned = [transitions.PlannedRow(row[0], row[2]) for row in memories.row_hashes(conn, keys)]
    assert transitions.is_unchanged(conn, planned)
    assert not transitions.is_unchanged(
        conn, [transitions.PlannedRow(keys[0], b"another hash"), planned[1]]
    )
    removal.archive(conn, keys[:1], ArchiveReason.CAP, NOW, new_id=IDS.new)
    assert not transitions.is_unchanged(conn, planned)
    assert transitions.is_unchanged(conn, planned[1:])
    assert not transitions.is_unchanged(
        conn, [*planned[1:], transitions.PlannedRow(999, b"never was")]
    )


def test_what_was_touched_since_it_was_planned_is_left_alone(conn: Writing) -> None:
    visible, binned, erased, hidden, restored = keys = filed(conn, *"abcde")
    behind = partial(removal.archive, new_id=IDS.new, state=MemoryState.COMPRESSED)
    behind(conn, [hidden, restored], ArchiveReason.CONSOLIDATED, NOW)
    removal.trash(conn, [binned], TrashReason.DELETED, NOW, 1)
    removal.erase(conn, [erased], NOW)
    removal.restore(conn, restored, NOW)
    step = begun(conn)
    assert transitions.archive_compressed(conn, step, [restored, binned, erased]) == 0
    assert transitions.archive_compressed(conn, step, keys) == 1
    assert (
        transitions.hide(conn, step, [binned, erased], ArchiveReason.CAP, MemoryState.ARCHIVED) == 0
    )
    assert transitions.hide(conn, step, keys, ArchiveReason.CAP, MemoryState.ARCHIVED) == 2
    assert transitions.trash_expired(conn, step, [binned, erased], 1) == 0
    states = conn.execute("SELECT memory_key, state FROM memory ORDER BY 1").fetchall()
    assert states == [
        (visible, "archived"), (binned, "trashed"), (hidden, "archived"), (restored, "archived"),
    ]  # fmt: skip
    assert archive_rows.count_archived(conn, 1, NOW) == 3
    noted = conn.execute("SELECT memory_key FROM run_change ORDER BY 1").fetchall()
    assert noted == [(visible,), (hidden,), (restored,)]


@pytest.mark.parametrize(("column", "is_whole"), [("content", True), ("speaker", False)])
def test_damage_that_an_undo_does_not_revert_is_not_hidden_by_it(
    conn: Writing, column: str, *, is_whole: bool
) -> None:
    (key,) = filed(conn, "Ann keeps bees.", speaker="Bo")
    later = NewVersion(
        Screened("Ann keeps ten hives."), 4, None, 1.0, (), None, Origin.PERSON, Trust.OWNER
    )
    versions.replace(conn, key, later, NOW)
    conn.execute(f"UPDATE memory SET {column} = 'damaged'")

    with caches.reindexing(conn, [key]):
        versions.revert(conn, key)

    assert bool(integrity.memories(conn, [key])) == is_whole


def test_an_undo_in_steps_of_a_run_that_touched_one_memory_twice_ends_where_it_began(
    conn: Writing,
) -> None:
    keys = filed(conn, "a", "b", "c")
    before = conn.execute("SELECT * FROM memory ORDER BY 1").fetchall()
    step = begun(conn)
    transitions.hide(conn, step, keys, ArchiveReason.CONSOLIDATED, MemoryState.COMPRESSED)
    runs.step(conn, step.run_key, "consolidation", 3, {}, NOW)
    transitions.archive_compressed(conn, step, keys[1:])
    runs.step(conn, step.run_key, "ageing", 2, {}, NOW)
    assert archive_rows.count_archived(conn, 1, NOW) == 3
    assert runs.count_made(conn, step.run_key) == 0
    run = runs.find(conn, step.run_id)
    assert run is not None
    undo.check(conn, run)
    counts = []
    while count := undo.undo_step(conn, run, NOW, 0, 1):
        counts.append(count)
    assert counts == [2, 3]
    assert conn.execute("SELECT * FROM memory ORDER BY 1").fetchall() == before
    assert archive_rows.count_archived(conn, 1, NOW) == 0
