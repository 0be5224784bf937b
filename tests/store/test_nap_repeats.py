"""A fact in both a turn and a nap is stored once; undoing the nap restores the turn."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.distilling import Said, napped
from support.nights import ADA, Bed, a_bed

from memd.domain.enums import Origin
from memd.domain.ingest import IngestRequest
from memd.domain.memory import MemoryQuery
from memd.domain.settings.settings import Settings
from memd.sleep.nap.naps import Naps
from memd.sleep.nap.transaction import NapRequest
from memd.sleep.window.trigger import Reason

CAUSE = "The import failed because requirements.txt pins numpy 1.26."
CURE = "It passes with numpy 2.1 since the wheel is there."
COMPOSED = f"make import failed.\nOutcome: {CAUSE} {CURE}"


async def seen(bed: Bed) -> set[str]:
    found = await bed.house.recall.retrieve(ADA, MemoryQuery(limit=100))
    return {entry.content for entry in found}


async def told(bed: Bed, text: str, origin: Origin = Origin.ASSISTANT, talk: str = "talk") -> None:
    item = IngestRequest(text=text, session_id=talk, origin=origin)
    receipt = await bed.house.ingest.ingest(ADA, item)
    assert receipt.stored or receipt.pending


@pytest.mark.parametrize("turn", [CAUSE, f"Let me look. {CAUSE} {CURE}", f"**{CURE}**"])
async def test_a_turn_of_which_the_nap_says_all_is_superseded(tmp_path: Path, turn: str) -> None:
    async with a_bed(tmp_path) as bed:
        await told(bed, turn)
        await napped(bed, Said(COMPOSED, "a", origin=Origin.ASSISTANT))
        assert await seen(bed) == {COMPOSED}
        rows = await bed.rows(
            "SELECT r.reason FROM memory AS m JOIN archive AS r USING (memory_key)"
            " WHERE m.content = ?",
            turn,
        )
        assert rows == [("superseded",)]
        assert await bed.is_sound()


@pytest.mark.parametrize(
    ("turn", "origin"),
    [
        (f"{CAUSE} The old wheel stays in vendor/ until June.", Origin.ASSISTANT),
        ("The import failed because requirements.txt pins numpy 1.24.", Origin.ASSISTANT),
        ("The import no longer failed because requirements.txt pins numpy 1.26.", Origin.ASSISTANT),
        (CAUSE, Origin.PERSON),
    ],
)
async def test_what_says_more_or_is_a_person_s_stays(
    tmp_path: Path, turn: str, origin: Origin
) -> None:
    async with a_bed(tmp_path) as bed:
        await told(bed, turn, origin)
        await napped(bed, Said(COMPOSED, "a", origin=Origin.ASSISTANT))
        assert await seen(bed) == {COMPOSED, turn}


async def test_what_was_stored_on_purpose_stays(tmp_path: Path) -> None:
    async with a_bed(tmp_path) as bed:
        await bed.tell(CAUSE, session_id="talk", origin=Origin.ASSISTANT)
        await napped(bed, Said(COMPOSED, "a", origin=Origin.ASSISTANT))
        assert await seen(bed) == {COMPOSED, CAUSE}


async def test_another_session_s_turn_stays(tmp_path: Path) -> None:
    async with a_bed(tmp_path) as bed:
        await told(bed, CAUSE, talk="other")
        await napped(bed, Said(COMPOSED, "a", origin=Origin.ASSISTANT))
        assert await seen(bed) == {COMPOSED, CAUSE}


async def test_undoing_the_nap_brings_the_turn_back_as_it_was(tmp_path: Path) -> None:
    async with a_bed(tmp_path) as bed:
        await told(bed, CAUSE)
        before = await bed.rows("SELECT * FROM memory WHERE content = ?", CAUSE)
        nap = await napped(bed, Said(COMPOSED, "a", origin=Origin.ASSISTANT))
        await bed.night.undo(ADA, nap.run_id)
        assert await seen(bed) == {CAUSE}
        assert await bed.rows("SELECT * FROM memory WHERE content = ?", CAUSE) == before


async def test_the_same_nap_again_puts_nothing_away_again(tmp_path: Path) -> None:
    async with a_bed(tmp_path) as bed:
        await told(bed, CAUSE)
        made = Said(COMPOSED, "a", origin=Origin.ASSISTANT)
        await napped(bed, made)
        again = await napped(bed, made)
        assert (again.stored, again.merged) == (0, 1)
        assert await seen(bed) == {COMPOSED}


async def test_a_session_that_was_streamed_is_told_once_by_its_nap(tmp_path: Path) -> None:
    async with a_bed(tmp_path) as bed:
        await told(bed, "why does make import fail?\nValueError: numpy is missing", Origin.PERSON)
        await told(bed, f"Let me look. {CAUSE}")
        nap = Naps(bed.house, Settings(), tmp_path).nap
        made = await nap.nap(ADA, NapRequest(session_id="talk", reason=Reason.ENDED.value))
        assert made.stored
        holding = [text for text in await seen(bed) if CAUSE in text]
        assert len(holding) == 1
        assert "Let me look" not in holding[0]
        await bed.night.undo(ADA, made.run_id)
        assert f"Let me look. {CAUSE}" in await seen(bed)
        assert await bed.is_sound()
