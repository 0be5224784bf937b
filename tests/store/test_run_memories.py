"""A run lists the memories that it hid and made (SPEC 16.12)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.nights import ADA, BOB, Bed, a_bed, settled

from memd.domain.memory import MemoryMetadata
from memd.domain.sleep.consolidation import ArchivalMode, ConsolidationResult
from memd.domain.sleep.sleep import RunReport
from memd.domain.values import EventName
from memd.sleep.night import reports
from memd.sleep.sleep import build_sleep

LINES = tuple(f"Lamp {number} hangs in the hall." for number in range(6))


async def ids(bed: Bed, where: str) -> set[str]:
    rows = await bed.rows(f"SELECT memory_id FROM memory WHERE {where}")
    return {str(memory_id) for (memory_id,) in rows}


def result(run: RunReport | Mapping[str, Any]) -> ConsolidationResult:
    """Return what the documents' result says of *run*; it is checked on the way."""
    fields = run if isinstance(run, Mapping) else run.model_dump()
    names = set(ConsolidationResult.model_fields) - {"archived_count"}
    return ConsolidationResult(
        **{name: fields[name] for name in names}, archived_count=len(fields["archival_index"])
    )


async def test_a_night_names_what_it_removed_and_what_stands_for_it(bed: Bed) -> None:
    ids_told = await bed.tell(*LINES)
    bed.clock.advance(days=2)
    night = await bed.night.run(ADA)
    report = result(night)
    assert set(report.removed_ids) == set(ids_told[:-1])
    assert set(report.summary_ids) == await ids(bed, "is_summary")
    archive = dict(
        await bed.rows("SELECT memory_id, archival_id FROM archive JOIN memory USING (memory_key)")
    )
    assert {each.original_id: each.archival_id for each in report.archival_index} == archive
    assert (night.left_out, night.memories_after) == (0, None)
    assert result(await bed.night.report(night.run_id, ADA)) == report
    (listed,) = await bed.night.reports(None, 10)
    assert listed.removed_ids == listed.summary_ids == ()


async def test_what_only_aged_was_not_removed_and_what_was_thrown_away_is_in_no_archive(
    tmp_path: Path,
) -> None:
    settings = settled(
        archival={"age_threshold_days": 1},
        retention={"rules": [{"category": "social", "retention_days": 1}]},
    )
    async with a_bed(tmp_path, settings=settings) as bed:
        ids_told = await bed.tell(*LINES)
        (met,) = await bed.tell("We met Ann.", category="social")
        bed.clock.advance(days=2)
        night = await bed.night.run(ADA)
        assert "ageing" in [step.name for step in night.steps]
        report = result(night)
        assert set(report.removed_ids) == {*ids_told[:-1], met}
        assert {each.original_id for each in report.archival_index} == set(ids_told[:-1])


async def test_how_a_memory_was_shortened_is_told(tmp_path: Path) -> None:
    async with a_bed(tmp_path, settings=settled(strategy="dual_mode")) as bed:
        ids_told = await bed.tell(*LINES)
        bed.clock.advance(days=2)
        report = result(await bed.night.run(ADA))
        modes = {each.original_id: each.mode for each in report.mode_assignments}
        assert modes == dict.fromkeys(ids_told[:-1], ArchivalMode.ABSTRACTIVE)
        assert {each.mode for each in report.archival_index} == {ArchivalMode.ABSTRACTIVE}


async def test_what_is_too_much_for_one_report_comes_by_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "RUN_MEMORIES_MAX", 4)
    async with a_bed(tmp_path) as bed:
        await bed.tell(*LINES)
        await bed.tell(*LINES, category="semantic")
        bed.clock.advance(days=2)
        night = await bed.night.run(ADA)
        pages, page = [night], night
        while page.memories_after is not None:
            assert page.left_out > 0
            page = await bed.night.report(night.run_id, ADA, page.memories_after)
            pages.append(page)
        assert len(pages) == 3
        removed = [each for page in pages for each in page.removed_ids]
        made = [each for page in pages for each in page.summary_ids]
        assert sorted(removed) == sorted(await ids(bed, "state = 'compressed'"))
        assert sorted(made) == sorted(await ids(bed, "is_summary"))
        assert night.left_out == len(removed) + len(made) - 4


async def test_each_agent_hears_of_its_own_memories_and_who_has_a_key_sees_no_others(
    tmp_path: Path,
) -> None:
    heard: dict[str, Mapping[str, Any]] = {}

    def emit(agent_id: str, name: EventName, body: Mapping[str, Any]) -> None:
        assert name is EventName.CONSOLIDATED
        heard[agent_id] = body

    async with a_bed(tmp_path) as bed:
        hers = await bed.tell(*LINES)
        his = await bed.tell(*LINES, caller=BOB)
        bed.clock.advance(days=2)
        owner = replace(ADA, bound=True)
        night = build_sleep(bed.house, settled(), emit=emit).night
        run = await night.run(ADA)
        assert set(run.removed_ids) == {*hers[:-1], *his[:-1]}
        assert set(result(heard["ada"]).removed_ids) == set(hers[:-1])
        assert set(result(heard["bob"]).removed_ids) == set(his[:-1])
        assert (heard["ada"]["run_id"], heard["ada"]["kind"]) == (run.run_id, "night")
        seen = await night.report(run.run_id, owner)
        assert set(seen.removed_ids) == set(hers[:-1])
        assert len(seen.summary_ids) == 1


async def test_what_was_undone_or_forgotten_is_told_no_more(bed: Bed) -> None:
    ids_told = await bed.tell(*LINES, metadata=MemoryMetadata(tags=("red",)))
    bed.clock.advance(days=2)
    first = await bed.night.run(ADA)
    undone = await bed.night.undo(ADA, first.run_id)
    assert undone.removed_ids == undone.summary_ids == ()
    second = await bed.night.run(ADA)
    await bed.house.trash.forget(ADA, ids=[ids_told[0]])
    later = await bed.night.report(second.run_id, ADA)
    assert ids_told[0] not in later.removed_ids
    assert later.summary_ids == ()
