"""Nights leave distilled memories unchanged, and a session's digest is its summary."""

from __future__ import annotations

import pytest
from support.distilling import Said, digest, napped
from support.nights import ADA, Bed, settled

from memd.domain.sleep.consolidation import ConsolidationStrategyType
from memd.sleep.distil.exchanges import NapKind

DIGEST = digest("Asked for a staging server; it runs. Open: the certificate.")
MADE = (
    *(Said(f"Never push on day {n} of a month.", f"c{n}", NapKind.CONSTRAINT) for n in range(5)),
    *(
        Said(f"Port {n} is the staging server's.", f"env:{n}", NapKind.ENVIRONMENT)
        for n in range(5)
    ),
    *(Said(f"Error {n} went away with a restart.", f"f{n}", NapKind.FIX) for n in range(5)),
    DIGEST,
)
TURNS = [f"On day {n} it rained in the mountains." for n in range(8)]


async def visible(bed: Bed) -> set[str]:
    rows = await bed.rows("SELECT content FROM memory WHERE state = 'active' AND NOT is_summary")
    return {str(content) for (content,) in rows}


@pytest.mark.parametrize("strategy", list(ConsolidationStrategyType))
async def test_a_night_leaves_what_naps_distilled_whole(
    bed: Bed, strategy: ConsolidationStrategyType
) -> None:
    for session in ("one", "two", "three"):
        await napped(bed, *MADE, session_id=session)
    bed.clock.advance(days=400)
    night = bed.other_night(settled(strategy=strategy.value, compression_threshold=1))
    await night.run(ADA)
    await night.compress(ADA, force=True)
    assert await bed.summaries() == []
    rows = await bed.rows("SELECT DISTINCT state FROM memory")
    assert rows == [("active",)]
    assert await visible(bed) == {each.text for each in MADE}


async def test_a_session_with_a_digest_gets_no_second_summary(bed: Bed) -> None:
    for session in ("talk", "other"):
        await bed.tell(*TURNS, session_id=session)
    await napped(bed, DIGEST, session_id="talk")
    bed.clock.advance(hours=12)
    await bed.night.compress(ADA, force=True, sessions=2)
    ((session,),) = await bed.rows(
        "SELECT s.session_id FROM memory AS m JOIN session AS s USING (session_key)"
        " WHERE m.is_summary"
    )
    assert session == "other"
    assert {DIGEST.text, *TURNS} <= await visible(bed)


async def test_without_its_digest_a_session_is_summed_up_like_any_other(bed: Bed) -> None:
    await bed.tell(*TURNS, session_id="talk")
    await napped(bed, DIGEST, session_id="talk")
    ((memory_id,),) = await bed.rows("SELECT memory_id FROM memory WHERE content = ?", DIGEST.text)
    await bed.house.archive.delete(ADA, str(memory_id))
    bed.clock.advance(hours=12)
    await bed.night.compress(ADA, force=True)
    assert len(await bed.summaries()) == 1


async def test_what_a_nap_that_was_asked_for_told_is_merged_as_before(bed: Bed) -> None:
    await bed.tell(*TURNS, session_id="talk", metadata={"tags": ["nap"]})
    bed.clock.advance(days=2)
    await bed.night.run(ADA)
    assert await bed.summaries() != []
