"""A session that is reported again, or that went on, is remembered once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support.clocks import HeldClock
from support.store import ADA, EVERYTHING, a_house

from memd.backends.assembly import Assembly
from memd.domain.memory import MemoryEntry
from memd.domain.settings.settings import Settings
from memd.domain.sleep.sleep import NapResult
from memd.signals.usage import Usage
from memd.sleep.nap.naps import Naps
from memd.sleep.nap.transaction import NapRequest

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
    house: Assembly, folder: Path, clock: HeldClock, messages: Sequence[dict[str, Any]]
) -> list[MemoryEntry]:
    """Report the session's end as an assistant does, and return what is there to be found."""
    path = folder / "session.jsonl"
    path.write_text("".join(f"{json.dumps(message)}\n" for message in messages), "utf-8")
    told = {"usage": {"transcript_roots": [str(folder)]}}
    naps = Naps(house, Settings.model_validate(told), folder)
    usage = Usage(
        source="tests",
        session_id="s",
        transcript_path=str(path),
        event="SessionEnd",
        at=clock.advance(hours=1),
    )
    await naps.report(ADA, usage)
    await naps.watcher.settle()
    await house.queue.drain()
    rows, _ = await house.recall.list(ADA, EVERYTHING, None, 100)
    return list(rows)


async def test_the_same_session_again_adds_nothing(tmp_path: Path) -> None:
    clock = HeldClock()
    async with a_house(tmp_path / "memd.db", clock=clock) as house:
        before = await ended(house, tmp_path, clock, BEGUN)
        assert any("whole file" in each.content for each in before)
        assert await ended(house, tmp_path, clock, BEGUN) == before


async def test_a_session_that_went_on_has_one_digest_of_all_of_it(tmp_path: Path) -> None:
    clock = HeldClock()
    async with a_house(tmp_path / "memd.db", clock=clock) as house:
        await ended(house, tmp_path, clock, BEGUN)
        longer = await ended(house, tmp_path, clock, [*BEGUN, *WENT_ON])
        there = await ended(house, tmp_path, clock, [*BEGUN, *WENT_ON])
        assert there == longer
        [digest] = [each for each in there if "digest" in each.metadata.tags]
        assert "regular expressions" in digest.content
        texts = [each.content for each in there]
        assert len(texts) == len(set(texts))
        assert any("whole file" in text for text in texts if text != digest.content)


async def test_a_client_that_hands_over_its_window_only_has_one_digest_of_all_of_it(
    tmp_path: Path,
) -> None:
    async with a_house(tmp_path / "memd.db", clock=HeldClock()) as house:
        nap = Naps(house, Settings(), tmp_path).nap

        async def napped(messages: Sequence[dict[str, Any]]) -> NapResult:
            return await nap.nap(ADA, NapRequest(messages, session_id="s", reason="full"))

        talk = [{"role": "assistant", "content": f"So it goes on in part {n}."} for n in range(4)]
        first = await napped([*BEGUN, *talk])
        window = [*first.messages, *WENT_ON]
        await napped(window)
        rows, _ = await house.recall.list(ADA, EVERYTHING, None, 100)
        [digest] = [each for each in rows if "digest" in each.metadata.tags]
        assert "must never read the whole file" in digest.content
        assert "regular expressions" in digest.content
        texts = [each.content for each in rows]
        assert sum(BEGUN[0]["content"] in text for text in texts if text != digest.content) == 1
        again = await napped(window)
        assert again.stored == 0
        there, _ = await house.recall.list(ADA, EVERYTHING, None, 100)
        assert there == rows
