"""Rows beside memories are checked, backed up, and left alone by an undo (P6, P8)."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.nights import ADA, TABLES, Bed, a_bed, differing
from support.operation_kinds import ADA as CALLER
from support.operation_kinds import Desk, acts
from support.recorded_connection import LEDGER_TABLES
from support.store import SOURCE_TABLES, a_writer, tampering

from memd.domain.enums import RunState
from memd.store.check import check

KINDS = {
    "org_operation", "org_fact", "org_rules", "org_proposal", "owner_key", "entity", "statement",
    "shared", "flagged", "learning", "playbook", "memory_file", "client",
}  # fmt: skip


async def a_file_of_every_kind(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    async with a_bed(folder) as bed:
        for act in acts(Desk(bed.house, folder)).values():
            bed.clock.advance(seconds=1)
            await act()
    return folder / "memd.db"


def contents(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return every row of every table that is no cache."""
    with a_writer(path) as conn:
        return {
            table: conn.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall()
            for table in (*SOURCE_TABLES, *LEDGER_TABLES)
        }


async def test_every_table_is_compared_by_the_tests_of_crashes(tmp_path: Path) -> None:
    async with a_bed(tmp_path) as bed:
        tables = await bed.rows(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%STRICT%'"
        )
    assert {name for (name,) in tables} <= {*SOURCE_TABLES, *LEDGER_TABLES}
    assert KINDS - {"client"} <= set(TABLES)


async def test_a_backup_holds_every_row_of_every_kind(tmp_path: Path) -> None:
    path = await a_file_of_every_kind(tmp_path / "live")
    async with a_bed(path.parent) as bed:
        copy = Path(await bed.house.upkeep.backup(CALLER, str(tmp_path / "copy.db")))
    before, after = contents(path), contents(copy)
    assert all(before[table] for table in KINDS)
    for table in {*before} - {"meta", "change"}:  # that a copy was made is noted in the original
        assert after[table] == before[table], table
    with a_writer(copy) as conn:
        assert [*check.check_rows(conn), *check.check_caches(conn)] == []


async def test_undoing_a_night_leaves_every_other_kind_byte_for_byte(
    bed: Bed, tmp_path: Path
) -> None:
    desk = Desk(bed.house, tmp_path)
    for act in acts(desk).values():
        bed.clock.advance(seconds=1)
        await act()
    await bed.tell(*(f"The mill{number} uses Wheel{number}." for number in range(8)))
    await desk.read()
    await bed.house.queue.drain()
    bed.clock.advance(days=2)
    before = await bed.tables()
    assert all(before[table] for table in KINDS - {"client"})
    run = await bed.night.run(ADA)
    assert run.steps
    assert (await bed.night.undo(ADA, run.run_id)).state is RunState.UNDONE
    assert differing(before, await bed.tables()) == []
    assert await bed.is_sound()


TAMPERED = {
    "UPDATE org_operation SET content = 'The shop sells spoons.' WHERE kind = 'PUBLISH'":
        "does not match its hash",
    "UPDATE org_operation SET at_us = at_us + 1 WHERE version = 2": "does not match its hash",
    "UPDATE org_fact SET content = 'The shop sells spoons.'": "it does not match its log",
    "DELETE FROM org_operation WHERE version = 2": "it does not match its log",
    "UPDATE statement SET span_to = 9999 WHERE operation_key IS NOT NULL":
        "words that its text does not have",
    "UPDATE statement SET subject_key = 9999": "of statement points to a missing entity",
    "UPDATE org_proposal SET operation_id = 'x'": "what that wrote is not in the log",
    "UPDATE memory_file SET agent_key = 9999": "of memory_file points to a missing agent",
    "UPDATE memory_file SET agent_key = (SELECT agent_key FROM agent WHERE agent_id = '__shared__')"
    " WHERE memory_key IS NOT NULL": "the text of another agent's file",
    "UPDATE memory_file SET memory_key = 9999 WHERE memory_key IS NOT NULL AND path LIKE '%done%'":
        "of memory_file points to a missing memory",
    "UPDATE shared SET memory_key = (SELECT max(memory_key) FROM memory) WHERE rowid ="
    " (SELECT max(rowid) FROM shared)": "has a publisher and is not shared",
    "DELETE FROM flagged": "nothing says why",
    "UPDATE learning SET agent_key = 9999": "of learning points to a missing agent",
}  # fmt: skip


@pytest.mark.parametrize(("tamper", "finding"), TAMPERED.items())
async def test_a_check_finds_what_was_changed_past_memd(
    tmp_path: Path, tamper: str, finding: str
) -> None:
    path = await a_file_of_every_kind(tmp_path / "live")
    with a_writer(path) as conn:
        assert list(check.check_rows(conn)) == []
    with tampering(path) as planted:
        planted.execute(tamper)
        assert planted.changes()
    with a_writer(path) as conn:
        problems = list(check.check_rows(conn))
    assert any(finding in each for each in problems), problems
    assert not any("spoons" in each or "/memories" in each for each in problems)
