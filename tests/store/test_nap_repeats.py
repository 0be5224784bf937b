"""What naps tell is stored once: beside turns, sessions reported again, and only what is new."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support.clocks import HeldClock
from support.fakes import ColdEmbedder
from support.nights import Bed
from support.scripted_naps import Said, napped
from support.store import ADA, EVERYTHING, a_house

from memd.backends.rooms import Rooms
from memd.base.clock import to_us
from memd.domain.enums import Origin, SearchMode
from memd.domain.ingest import IngestRequest
from memd.domain.memory import MemoryEntry, MemoryUpdate
from memd.domain.recall import RecallRequest
from memd.domain.settings.settings import Settings
from memd.domain.sleep.sleep import NapResult
from memd.signals.usage import Usage
from memd.sleep.distil.environment.commands import COMMANDS_SLOT
from memd.sleep.distil.exchanges import NapKind
from memd.sleep.nap.naps import Naps
from memd.sleep.nap.source import NapRequest
from memd.sleep.window.trigger import Reason

CAUSE = "The import failed because requirements.txt pins numpy 1.26."
CURE = "It passes with numpy 2.1 since the wheel is there."
COMPOSED = f"make import failed.\nOutcome: {CAUSE} {CURE}"


SHOP_TESTS = Said("To run the tests here: pytest", f"{COMMANDS_SLOT}test", NapKind.ENVIRONMENT)
SHOP_PORT = Said("The shop listens on port 8443.", "env:port", NapKind.ENVIRONMENT)


async def tell(bed: Bed, text: str, origin: Origin = Origin.ASSISTANT, talk: str = "talk") -> None:
    item = IngestRequest(text=text, session_id=talk, origin=origin)
    receipt = await bed.house.ingest.ingest(ADA, item)
    assert receipt.stored or receipt.pending


def is_digest(text: str) -> bool:
    return text.startswith("Asked first: ")


@pytest.mark.parametrize("turn", [CAUSE, f"Let me look. {CAUSE} {CURE}", f"**{CURE}**"])
async def test_a_turn_of_which_the_nap_says_all_is_superseded(bed: Bed, turn: str) -> None:
    await tell(bed, turn)
    await napped(bed, Said(COMPOSED, "a", origin=Origin.ASSISTANT))
    assert await bed.contents() == {COMPOSED}
    rows = await bed.rows(
        "SELECT r.reason FROM memory AS m JOIN archive AS r USING (memory_key) WHERE m.content = ?",
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
async def test_what_says_more_or_is_a_person_s_stays(bed: Bed, turn: str, origin: Origin) -> None:
    await tell(bed, turn, origin)
    await napped(bed, Said(COMPOSED, "a", origin=Origin.ASSISTANT))
    assert await bed.contents() == {COMPOSED, turn}


@pytest.mark.parametrize(
    ("reply", "is_forbidden"),
    [
        ("hold on, company doesnt allow tunnels. we have a relay", True),
        ("We can't use a tunnel, security would find it.", True),
        ("sorry, tunnels are not allowed here", True),
        ("Tunnel dürfen wir nicht benutzen, wir haben ein Relay", True),
        ("einen Tunnel erlaubt die Firma nicht", True),
        ("ein Tunnel ist bei uns verboten", True),
        ("we can't use the tunnel yet, the token is missing", False),
        ("the tunnel says: origin not allowed", False),
        ("is a tunnel allowed here?", False),
        ("nice, the tunnel works. we are not allowed to deploy on Fridays", False),
        ("the company doesn't allow beer in the kitchen", False),
    ],
)
async def test_what_the_user_forbids_next_is_superseded(
    bed: Bed, reply: str, is_forbidden: bool
) -> None:
    advice = "Use a tunnel: `cloudflared tunnel --url http://localhost:8000`."
    turns = [("How do hooks reach me?", Origin.PERSON), (advice, Origin.ASSISTANT)]
    for text, origin in [*turns, (reply, Origin.PERSON), ("I see.", Origin.ASSISTANT)]:
        await tell(bed, text, origin)
    nap = await napped(bed, Said(COMPOSED, "a", origin=Origin.ASSISTANT))
    assert (advice in await bed.contents()) == (not is_forbidden)
    assert reply in await bed.contents()
    await bed.night.undo(ADA, nap.run_id)
    assert advice in await bed.contents()


async def test_what_was_stored_on_purpose_stays(bed: Bed) -> None:
    await bed.tell(CAUSE, session_id="talk", origin=Origin.ASSISTANT)
    await napped(bed, Said(COMPOSED, "a", origin=Origin.ASSISTANT))
    assert await bed.contents() == {COMPOSED, CAUSE}


async def test_another_session_s_turn_stays(bed: Bed) -> None:
    await tell(bed, CAUSE, talk="other")
    await napped(bed, Said(COMPOSED, "a", origin=Origin.ASSISTANT))
    assert await bed.contents() == {COMPOSED, CAUSE}


async def test_undoing_the_nap_brings_the_turn_back_as_it_was(bed: Bed) -> None:
    await tell(bed, CAUSE)
    before = await bed.rows("SELECT * FROM memory WHERE content = ?", CAUSE)
    nap = await napped(bed, Said(COMPOSED, "a", origin=Origin.ASSISTANT))
    await bed.night.undo(ADA, nap.run_id)
    assert await bed.contents() == {CAUSE}
    assert await bed.rows("SELECT * FROM memory WHERE content = ?", CAUSE) == before


async def test_a_turn_that_a_nap_keeps_has_the_category_of_its_kind_until_that_is_undone(
    bed: Bed,
) -> None:
    rule = "please never use em dashes in my text"
    await tell(bed, rule, Origin.PERSON)
    sql = "SELECT category FROM memory WHERE content = ?"
    before = await bed.rows(sql, rule)
    nap = await napped(bed, Said(rule, "a", NapKind.PREFERENCE))
    assert await bed.rows(sql, rule) == [("procedural",)] != before
    await bed.night.undo(ADA, nap.run_id)
    assert await bed.rows(sql, rule) == before
    assert await bed.is_sound()


async def test_the_same_nap_again_puts_nothing_away_again(bed: Bed) -> None:
    await tell(bed, CAUSE)
    made = Said(COMPOSED, "a", origin=Origin.ASSISTANT)
    await napped(bed, made)
    again = await napped(bed, made)
    assert (again.stored, again.merged) == (0, 1)
    assert await bed.contents() == {COMPOSED}


async def test_a_session_that_was_streamed_is_told_once_by_its_nap(
    bed: Bed, tmp_path: Path
) -> None:
    await tell(bed, "why does make import fail?\nValueError: numpy is missing", Origin.PERSON)
    await tell(bed, f"Let me look. {CAUSE}")
    nap = Naps(bed.house, Settings(), tmp_path).nap
    made = await nap.nap(ADA, NapRequest(session_id="talk", reason=Reason.ENDED.value))
    assert made.stored
    holding = [text for text in await bed.contents() if CAUSE in text and not is_digest(text)]
    assert len(holding) == 1
    assert "Let me look" not in holding[0]
    await bed.night.undo(ADA, made.run_id)
    assert f"Let me look. {CAUSE}" in await bed.contents()
    assert await bed.is_sound()


async def test_a_preference_that_answers_a_question_is_one_memory_of_the_user(
    bed: Bed, tmp_path: Path
) -> None:
    asked, answer = "What bothers you most about our code?", "I hate trailing whitespace"
    messages = [{"role": "assistant", "content": asked}, {"role": "user", "content": answer}]
    await tell(bed, asked)
    await tell(bed, answer, Origin.PERSON)
    nap = Naps(bed.house, Settings(), tmp_path).nap

    await nap.nap(ADA, NapRequest(messages, session_id="talk", reason=Reason.ENDED.value))

    rows, _ = await bed.house.recall.list(ADA, EVERYTHING, None, 100)
    [entry] = [row for row in rows if answer in row.content and not is_digest(row.content)]
    assert (entry.content, entry.origin) == (answer, Origin.PERSON)
    assert NapKind.PREFERENCE in entry.metadata.tags


async def test_a_session_that_was_streamed_has_one_digest_which_goes_with_its_turns(
    bed: Bed, tmp_path: Path
) -> None:
    nap = Naps(bed.house, Settings(), tmp_path).nap
    request = NapRequest(session_id="talk", reason=Reason.ENDED.value)
    asked = "why does make import fail?\nValueError: numpy is missing"
    await tell(bed, asked, Origin.PERSON)
    await tell(bed, f"Let me look. {CAUSE}")
    await nap.nap(ADA, request)
    await tell(bed, "Then add the numpy wheel to vendor/.", Origin.PERSON)
    await tell(bed, f"{CURE} Still open: the checksum of the wheel in vendor/SUMS.")
    await nap.nap(ADA, request)

    [digest] = filter(is_digest, await bed.contents())
    assert "Asked last: Then add the numpy wheel" in digest
    assert "Open: the checksum of the wheel" in digest
    assert (await nap.nap(ADA, request)).stored == 0
    bed.clock.advance(hours=12)
    await bed.night.compress(ADA, force=True)
    assert await bed.summaries() == []

    turn = "SELECT memory_id FROM memory WHERE content LIKE 'Then add the%'"
    [(memory_id,)] = await bed.rows(turn)
    await bed.house.trash.forget(ADA, ids=[str(memory_id)])
    assert not list(filter(is_digest, await bed.contents()))
    assert await bed.is_sound()


async def test_what_a_nap_made_of_stored_turns_can_be_edited(bed: Bed, tmp_path: Path) -> None:
    await tell(bed, "why does make import fail?\nValueError: numpy is missing", Origin.PERSON)
    await tell(bed, f"Let me look. {CAUSE}")
    nap = Naps(bed.house, Settings(), tmp_path).nap
    await nap.nap(ADA, NapRequest(session_id="talk", reason=Reason.ENDED.value))
    [(memory_id,)] = await bed.rows("SELECT memory_id FROM memory WHERE content LIKE 'ValueE%'")
    await bed.house.ingest.update(ADA, str(memory_id), MemoryUpdate(content="It is numpy 2."))
    assert "It is numpy 2." in await bed.contents()
    assert await bed.is_sound()


async def test_a_session_that_a_night_summed_up_has_no_digest_beside_that(
    bed: Bed, tmp_path: Path
) -> None:
    await tell(bed, "why does make import fail?\nValueError: numpy is missing", Origin.PERSON)
    await tell(bed, CAUSE, Origin.PERSON)
    bed.clock.advance(hours=12)
    await bed.night.compress(ADA, force=True)
    assert len(await bed.summaries()) == 1
    nap = Naps(bed.house, Settings(), tmp_path).nap
    await nap.nap(ADA, NapRequest(session_id="talk", reason=Reason.ENDED.value))
    assert not list(filter(is_digest, await bed.contents()))


BEGUN: list[dict[str, Any]] = [
    {"role": "user", "content": "The lexer must never read the whole file at once."},
    {"role": "assistant", "content": "I look at src/lexer.py."},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": "c1", "function": {"name": "Bash", "arguments": "pytest tests/test_lexer.py"}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "3 passed in 0.2s"},
    {"role": "assistant", "content": "The lexer reads in blocks of 4,096 bytes; all tests pass."},
]
WENT_ON: list[dict[str, Any]] = [
    {"role": "user", "content": "We always keep the parser free of regular expressions."},
    {"role": "assistant", "content": "The parser in src/parser.py matches words by a table now."},
]


async def ended(
    house: Rooms, folder: Path, clock: HeldClock, messages: Sequence[dict[str, Any]]
) -> list[MemoryEntry]:
    """Report the session's end as an assistant does, and return what is there to be found."""
    path = folder / "session.jsonl"
    path.write_text("".join(f"{json.dumps(message)}\n" for message in messages), "utf-8")
    settings = {"usage": {"transcript_roots": [str(folder)]}}
    naps = Naps(house, Settings.model_validate(settings), folder)
    usage = Usage(
        source="tests",
        session_id="s",
        transcript_path=str(path),
        event="SessionEnd",
        at=clock.advance(hours=1),
    )
    await naps.watcher.report(ADA, usage)
    await naps.watcher.settle()
    await house.queue.drain()
    rows, _ = await house.recall.list(ADA, EVERYTHING, None, 100)
    return list(rows)


async def test_the_same_session_again_adds_nothing(
    house: Rooms, clock: HeldClock, tmp_path: Path
) -> None:
    before = await ended(house, tmp_path, clock, BEGUN)
    assert any("whole file" in each.content for each in before)
    assert await ended(house, tmp_path, clock, BEGUN) == before


async def test_a_session_that_went_on_has_one_digest_of_all_of_it(
    house: Rooms, clock: HeldClock, tmp_path: Path
) -> None:
    await ended(house, tmp_path, clock, BEGUN)
    longer = await ended(house, tmp_path, clock, [*BEGUN, *WENT_ON])
    there = await ended(house, tmp_path, clock, [*BEGUN, *WENT_ON])
    assert there == longer
    [digest] = [each for each in there if "digest" in each.metadata.tags]
    assert "The lexer must" in digest.content
    assert "matches words by a table now" in digest.content
    texts = [each.content for each in there]
    assert len(texts) == len(set(texts))
    assert any("whole file" in text for text in texts if text != digest.content)


async def test_a_client_that_hands_over_its_window_only_has_one_digest_of_all_of_it(
    house: Rooms, tmp_path: Path
) -> None:
    nap = Naps(house, Settings(), tmp_path).nap

    async def napped(messages: Sequence[dict[str, Any]]) -> NapResult:
        return await nap.nap(ADA, NapRequest(messages, session_id="s", reason="full"))

    talk = [{"role": "assistant", "content": f"So it goes on in part {n}."} for n in range(4)]
    first = await napped([*BEGUN, *talk])
    window = [*first.messages, *WENT_ON]
    await napped(window)
    rows, _ = await house.recall.list(ADA, EVERYTHING, None, 100)
    [digest] = [row for row in rows if "digest" in row.metadata.tags]
    assert "pytest tests/test_lexer.py" in digest.content
    assert "src/parser.py" in digest.content
    texts = [row.content for row in rows]
    assert sum(BEGUN[0]["content"] in text for text in texts if text != digest.content) == 1
    again = await napped(window)
    assert again.stored == 0
    there, _ = await house.recall.list(ADA, EVERYTHING, None, 100)
    assert there == rows


TALK: list[dict[str, Any]] = [
    {"role": "assistant", "content": f"And so we go on, at some length, with number {n} of many."}
    for n in range(9)
]
FACT = {"role": "user", "content": "use tabs"}


async def nap_over(house: Rooms, folder: Path, *messages: dict[str, Any]) -> tuple[int, int]:
    nap = Naps(house, Settings(), folder).nap
    made = await nap.nap(ADA, NapRequest(messages=[*messages, *TALK], session_id="s"))
    return made.stored, made.merged


async def test_a_nap_that_learns_nothing_loads_no_model(tmp_path: Path) -> None:
    embedder = ColdEmbedder()
    async with a_house(tmp_path / "memd.db", embedder=embedder) as house:
        working = asyncio.create_task(house.queue.run())
        await house.queue.settle()

        assert await nap_over(house, tmp_path) == (0, 0)
        await house.queue.settle()
        assert embedder.texts == []

        assert await nap_over(house, tmp_path, FACT) == (1, 0)
        await house.queue.settle()
        assert embedder.loaded
        embedder.texts.clear()

        assert await nap_over(house, tmp_path, FACT) == (0, 1)
        await house.queue.settle()
        assert embedder.texts == []
        working.cancel()


@pytest.mark.parametrize(
    ("timestamp", "stored"),
    [
        ("2026-03-16T08:00:00+01:00", datetime(2026, 3, 16, 7, tzinfo=UTC)),
        ("2026-03-18T11:00:00Z", datetime(2026, 3, 18, 11, tzinfo=UTC)),  # its clock is ahead
        ("2026-03-18T13:00:00Z", None),
        ("2031-01-01T00:00:00Z", None),
        ("2026-03-16T08:00:00", None),
        ("yesterday", None),
    ],
)
async def test_a_fact_has_the_time_at_which_it_was_said_if_that_can_be(
    house: Rooms, tmp_path: Path, timestamp: str, stored: datetime | None
) -> None:
    await nap_over(house, tmp_path, {**FACT, "timestamp": timestamp})
    at_us = await house.db.read(lambda conn: conn.execute("SELECT occurred_at_us FROM memory").get)
    assert at_us == (None if stored is None else to_us(stored))


@pytest.mark.parametrize(
    ("project_id", "is_told"), [("shop", True), ("hives", False), (None, True)]
)
async def test_the_commands_of_a_project_are_no_other_project_s(
    bed: Bed, project_id: str | None, is_told: bool
) -> None:
    await napped(bed, SHOP_TESTS, SHOP_PORT, project_id="shop")
    query = RecallRequest(
        query="run the tests, shop port", project_id=project_id, search_mode=SearchMode.WORDS
    )
    answer = await bed.house.recall.recall(ADA, query)
    texts = {memory.content for memory in answer.memories}
    assert SHOP_PORT.text in texts
    assert (SHOP_TESTS.text in texts) is is_told


async def test_what_a_nap_made_is_no_neighbour_of_the_turns(bed: Bed) -> None:
    first, last, next_day = "We deploy on Mondays.", "See you, then.", "Good morning, it is down."
    hosts = Said("The shop has two hosts.", "hosts")
    for turn in (first, last):
        await tell(bed, turn, Origin.PERSON)
    await napped(bed, SHOP_PORT, hosts)
    await tell(bed, next_day, Origin.PERSON)
    rows = await bed.rows(
        """
        SELECT m.content, c.context
          FROM memory AS m JOIN memory_context AS c USING (memory_key)
         ORDER BY m.memory_key
        """
    )
    assert rows == [
        (first, last),
        (last, f"{first}\n{next_day}"),
        (SHOP_PORT.text, hosts.text),
        (hosts.text, SHOP_PORT.text),
        (next_day, last),
    ]
    assert await bed.is_sound()
