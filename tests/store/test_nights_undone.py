"""What happened between a night and its undoing stays, and the rest is as before the night."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.nights import ADA, TURNS, Bed, a_bed, differing, settled

from memd.base.errors import ConflictError
from memd.domain.enums import MemoryCategory, Origin
from memd.domain.ingest import IngestRequest


async def imported(bed: Bed, session_id: str | None) -> None:
    """Tell the turns of a session, as an import of an export does."""
    for turn in TURNS:
        bed.clock.advance(minutes=1)
        request = IngestRequest(
            text=turn,
            session_id=session_id,
            category=MemoryCategory.EPISODIC,
            origin=Origin.PERSON,
        )
        await bed.house.ingest.ingest(ADA, request)
    await bed.house.queue.drain()


async def test_a_night_is_undone_also_after_the_same_session_was_imported_again(bed: Bed) -> None:
    await imported(bed, "s")
    before = await bed.states()
    bed.clock.advance(days=2)
    run = await bed.night.run(ADA)
    assert await bed.states() != before
    await imported(bed, "s")
    told_us = await bed.rows("SELECT updated_at_us FROM memory WHERE NOT is_summary")
    await bed.night.undo(ADA, run.run_id)
    assert await bed.states() == before
    assert await bed.summaries() == []
    assert await bed.rows("SELECT updated_at_us FROM memory") == told_us, "it was told again"
    assert await bed.is_sound()


async def test_a_night_of_which_an_import_brought_something_back_is_not_undone(
    tmp_path: Path,
) -> None:
    async with a_bed(tmp_path, settings=settled(max_memories_per_agent=2)) as bed:
        await imported(bed, None)
        bed.clock.advance(days=2)
        run = await bed.night.run(ADA, steps=frozenset({"cap"}))
        await imported(bed, None)
        assert set((await bed.states()).values()) == {"active"}
        before = await bed.tables()
        with pytest.raises(ConflictError, match="restored") as refused:
            await bed.night.undo(ADA, run.run_id)
        assert "memd archive restore ID" in str(refused.value.hint)
        assert differing(before, await bed.tables()) == []
