"""A fix that a nap saw is in the playbook, and is removed with its memory (0115)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.nights import ADA, Bed

from memd.domain.caller import Caller
from memd.domain.learn import PlaybookEntry, PlaybookQuery, SuccessReport
from memd.domain.memory import MemoryFilter
from memd.domain.settings.settings import Settings
from memd.domain.sleep.sleep import NapResult
from memd.learn.learn import Learn
from memd.sleep.nap.naps import Naps
from memd.sleep.nap.transaction import NapRequest
from memd.sleep.window.trigger import Reason

FAILED = "Exit code 1\nError: connect ECONNREFUSED 127.0.0.1:6380"
WHY = "The tests fail because Redis is missing on port 6380."


def a_learn(bed: Bed) -> Learn:
    return Learn(bed.house.db, bed.clock, bed.house.ids)


def ran(call: str, line: str, result: str) -> list[dict[str, Any]]:
    function = {"name": "Bash", "arguments": {"command": line}}
    return [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": call, "function": function}],
        },
        {"role": "tool", "tool_call_id": call, "content": result},
    ]


SESSION: list[dict[str, Any]] = [
    {"role": "user", "content": "run the tests"},
    *ran("a", "npm test", FAILED),
    {"role": "assistant", "content": WHY},
    *ran("b", "docker compose up -d redis", "Started"),
    *ran("c", "npm test", "12 passing"),
    {"role": "assistant", "content": "All of them pass."},
]


async def napped(bed: Bed, folder: Path) -> NapResult:
    bed.clock.advance(minutes=1)
    wanted = NapRequest(messages=SESSION, session_id="talk", reason=Reason.ENDED.value, last=True)
    made = await Naps(bed.house, Settings(), folder).nap.nap(ADA, wanted)
    await bed.house.queue.drain()
    return made


async def cures(bed: Bed, query: str | None = None, by: Caller = ADA) -> list[PlaybookEntry]:
    found = await a_learn(bed).playbook(by, PlaybookQuery(query=query))
    return [each for each in found if each.memory_id]


async def test_what_was_cured_is_a_pattern_that_is_found_by_its_words(
    bed: Bed, tmp_path: Path
) -> None:
    report = SuccessReport(description="rsync deploy", tools=("Bash",))
    reported = await a_learn(bed).record_success(ADA, report)
    await napped(bed, tmp_path)

    (cure,) = await cures(bed, "redis refuses the tests")
    assert cure.description.startswith("When npm test fails: ")
    assert "ECONNREFUSED 127.0.0.1:6380" in cure.description
    assert "Ran docker compose up -d redis." in cure.description
    assert await cures(bed, "paint the boat") == []
    assert await cures(bed, by=Caller(agent_id="bob", method="test")) == []
    everything = await a_learn(bed).playbook(ADA, PlaybookQuery())
    assert everything == (reported, cure)
    assert await a_learn(bed).reported_patterns(ADA, 9) == (reported,)
    assert await a_learn(bed).playbook(ADA, PlaybookQuery(promotable=True)) == ()


async def test_its_id_leads_to_the_turns_that_it_is_made_of(bed: Bed, tmp_path: Path) -> None:
    await napped(bed, tmp_path)
    (cure,) = await cures(bed)
    why = await bed.house.recall.why(ADA, cure.pattern_id, full=True)
    assert why is not None
    assert why.turns


async def test_undoing_the_nap_takes_it_along(bed: Bed, tmp_path: Path) -> None:
    made = await napped(bed, tmp_path)
    await bed.night.undo(ADA, made.run_id)
    assert await cures(bed) == []
    await napped(bed, tmp_path)
    assert await cures(bed) == [], "what was undone stays undone"


async def test_the_same_nap_again_adds_none_and_its_id_forgets_it(bed: Bed, tmp_path: Path) -> None:
    await napped(bed, tmp_path)
    await napped(bed, tmp_path)
    (cure,) = await cures(bed)
    await bed.house.archive.forget(ADA, ids=[cure.pattern_id])
    assert await cures(bed) == []


async def test_forgetting_the_session_takes_it_along(bed: Bed, tmp_path: Path) -> None:
    await napped(bed, tmp_path)
    await bed.house.archive.forget(ADA, condition=MemoryFilter(session_id="talk"))
    assert await cures(bed) == []
    assert await bed.is_sound()
