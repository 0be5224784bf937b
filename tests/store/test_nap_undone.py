"""What undoes or follows a nap: undoing it, nights, and a digest that is a session's summary."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.nights import ADA, Bed, nap_over, settled
from support.scripted_naps import Said, digest, napped

from memd.base.errors import ConflictError, InvalidStateError
from memd.domain.caller import OPERATOR
from memd.domain.enums import Origin, RunState
from memd.domain.ingest import IngestRequest
from memd.domain.memory import MemoryFilter, MemoryQuery, MemoryUpdate
from memd.domain.sleep.consolidation import ConsolidationStrategyType
from memd.domain.sleep.sleep import NapResult
from memd.sleep.distil.exchanges import NapKind

TALK: list[dict[str, Any]] = [
    {"role": "assistant", "content": f"And so we go on, at some length, with number {n} of many."}
    for n in range(9)
]
FACTS = (
    "Use tabs in the Makefile.",
    "The port of the staging server is 8443.",
    "Bertil reviews what touches the parser.",
)


async def napped_over(bed: Bed, *texts: str) -> NapResult:
    bed.clock.advance(minutes=1)
    messages = [{"role": "user", "content": text} for text in texts]
    made = await nap_over(bed.house, [*messages, *TALK], "talk")
    await bed.house.queue.drain()
    return made


async def test_undoing_a_nap_takes_what_it_learnt_and_leaves_what_it_kept(bed: Bed) -> None:
    (mine,) = await bed.tell("I was here before.", session_id="talk")
    nap = await napped_over(bed, *FACTS)
    assert nap.stored == 3
    kept = [await bed.rows(f"SELECT * FROM {table}") for table in ("source", "session_message")]
    undone = await bed.night.undo(ADA, nap.run_id)
    assert (undone.kind, undone.state) == ("nap", RunState.UNDONE)
    assert await bed.contents() == {"I was here before."}
    assert kept == [
        await bed.rows(f"SELECT * FROM {table}") for table in ("source", "session_message")
    ]
    items, _ = await bed.house.trash.list(ADA, None, 10)
    assert {item.content for item in items} == set(FACTS)
    assert mine not in {item.id for item in items}
    assert await bed.is_sound()
    with pytest.raises(InvalidStateError, match="undone"):
        await bed.night.undo(ADA, nap.run_id)
    await bed.house.trash.restore(ADA, items[0].id)
    assert len(await bed.contents()) == 2


async def test_a_report_of_a_nap_names_its_session_until_that_is_forgotten(bed: Bed) -> None:
    caller = replace(ADA, project_id="/home/ada/acme", client="claude")
    message = {"role": "user", "content": FACTS[0]}
    nap = await nap_over(bed.house, [message, *TALK], "talk", caller=caller)
    for report in ((await bed.night.reports(None, 5))[0], await bed.night.report(nap.run_id, ADA)):
        named = (report.session_id, report.project_id, report.client)
        assert named == ("talk", "/home/ada/acme", "claude")
    await bed.house.trash.forget(
        replace(ADA, client=OPERATOR), condition=MemoryFilter(session_id="talk")
    )
    report = await bed.night.report(nap.run_id, ADA)
    assert (report.session_id, report.project_id, report.client) == (None, None, None)


async def test_an_undone_nap_is_not_learnt_again_by_the_next(bed: Bed) -> None:
    first = await napped_over(bed, *FACTS)
    await bed.night.undo(ADA, first.run_id)
    second = await napped_over(bed, *FACTS, "Never push on Fridays.")
    assert second.stored == 1
    await bed.night.undo(ADA, second.run_id)
    assert await bed.contents() == set()


async def test_a_nap_that_a_night_has_worked_on_waits_for_the_nights_undoing(bed: Bed) -> None:
    nap = await napped_over(bed, *FACTS)
    bed.clock.advance(days=2)
    night = await bed.night.run(ADA)
    before = await bed.tables()
    with pytest.raises(ConflictError) as refused:
        await bed.night.undo(ADA, nap.run_id)
    assert night.run_id in str(refused.value.hint)
    assert await bed.tables() == before
    await bed.night.undo(ADA, night.run_id)
    await bed.night.undo(ADA, nap.run_id)
    assert await bed.contents() == set()


async def test_what_somebody_rewrote_stays_when_its_nap_is_undone(bed: Bed) -> None:
    nap = await napped_over(bed, *FACTS)
    first, second, _ = await bed.house.recall.retrieve(ADA, MemoryQuery(limit=3))
    await bed.house.ingest.update(ADA, first.id, MemoryUpdate(content="Use spaces."))
    await bed.house.trash.delete(ADA, second.id)
    undone = await bed.night.undo(ADA, nap.run_id)
    assert undone.state is RunState.UNDONE
    assert await bed.contents() == {"Use spaces."}
    assert await bed.is_sound()


async def test_a_preference_that_somebody_rewrote_stays_when_its_nap_is_undone(bed: Bed) -> None:
    nap = await napped_over(bed, "My favorite color is blue.")
    (entry,) = await bed.house.recall.retrieve(ADA, MemoryQuery(limit=3))
    text = "My favorite color is green."
    await bed.house.ingest.update(ADA, entry.id, MemoryUpdate(content=text))
    preferences = await bed.house.recall.preferences(ADA)
    await bed.night.undo(ADA, nap.run_id)
    assert await bed.contents() == {text}
    assert await bed.house.recall.preferences(ADA) == preferences != ()


async def test_a_nap_whose_turn_was_rewritten_is_not_undone_and_says_what_to_do(bed: Bed) -> None:
    rule = "please never use em dashes in my text"
    turn = IngestRequest(text=rule, session_id="talk", origin=Origin.PERSON)
    (item,) = (await bed.house.ingest.ingest(ADA, turn)).stored
    nap = await napped(bed, Said(rule, "a"))
    await bed.house.ingest.update(ADA, item.id, MemoryUpdate(content="Use em dashes."))
    with pytest.raises(ConflictError, match="not be exact") as refused:
        await bed.night.undo(ADA, nap.run_id)
    for command in ("memd archive restore ID", "memd delete ID"):
        assert command in str(refused.value.hint)


async def test_a_nap_that_replaced_a_preference_is_not_undone(bed: Bed) -> None:
    await napped_over(bed, "My favorite color is blue.")
    nap = await napped_over(bed, "My favorite color is red.")
    before = await bed.tables()
    with pytest.raises(ConflictError, match="favorite_color"):
        await bed.night.undo(ADA, nap.run_id)
    assert await bed.tables() == before


async def test_a_preference_that_a_nap_learnt_is_told_no_more(bed: Bed) -> None:
    nap = await napped_over(bed, "My favorite color is blue.")
    assert len(await bed.house.recall.preferences(ADA)) == 1
    await bed.night.undo(ADA, nap.run_id)
    assert await bed.house.recall.preferences(ADA) == ()


async def test_what_somebody_took_away_meanwhile_stays_away(bed: Bed) -> None:
    nap = await napped_over(bed, *FACTS)
    first, second, _ = await bed.house.recall.retrieve(ADA, MemoryQuery(limit=3))
    await bed.house.trash.delete(ADA, first.id)
    await bed.house.trash.forget(ADA, ids=[second.id])
    await bed.night.undo(ADA, nap.run_id)
    assert await bed.contents() == set()
    assert await bed.is_sound()


async def test_an_undoing_that_was_killed_goes_on(bed: Bed) -> None:
    nap = await napped_over(bed, *FACTS)
    await bed.rows("SELECT 1")

    def begun(conn: Any) -> None:
        conn.execute("UPDATE run SET state = 'undoing' WHERE run_id = ?", (nap.run_id,))

    await bed.house.db.write(ADA, begun)
    await bed.night.resume_unfinished()
    assert await bed.contents() == set()
    assert (await bed.night.report(nap.run_id, ADA)).state is RunState.UNDONE


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
    await bed.house.trash.delete(ADA, str(memory_id))
    bed.clock.advance(hours=12)
    await bed.night.compress(ADA, force=True)
    assert len(await bed.summaries()) == 1


async def test_what_a_nap_that_was_asked_for_told_is_merged_as_before(bed: Bed) -> None:
    await bed.tell(*TURNS, session_id="talk", metadata={"tags": ["nap"]})
    bed.clock.advance(days=2)
    await bed.night.run(ADA)
    assert await bed.summaries() != []
