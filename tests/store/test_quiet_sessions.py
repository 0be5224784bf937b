"""A session whose end is not reported gets a nap when it has been quiet for an hour."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.clocks import HeldClock
from support.store import ADA, a_house

from memd.domain.settings.settings import Settings
from memd.signals.usage import Usage
from memd.sleep.nap.naps import Naps
from memd.sleep.window.other_sessions import QuietSessions

RULE = "From now on always run the linter before each commit of the heron service."


@dataclass
class Stage:
    clock: HeldClock
    naps: Naps
    quiet: QuietSessions
    home: Path

    async def say(self, path: str | None = None) -> None:
        usage = Usage(source="codex", session_id="s", event="Stop", transcript_path=path)
        await self.naps.watcher.report(ADA, usage)

    def transcript(self) -> str:
        path = self.home / ".codex" / "sessions" / "s.jsonl"
        path.parent.mkdir(parents=True)
        content = [{"type": "input_text", "text": RULE}]
        params = {"type": "message", "role": "user", "content": content}
        lines = [
            {"type": "session_meta", "payload": {"id": "s"}},
            {"type": "response_item", "payload": params},
        ]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return str(path)


@pytest.fixture
async def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    monkeypatch.setenv("HOME", str(tmp_path))
    clock = HeldClock()
    async with a_house(tmp_path / "memd.db", clock) as house:
        naps = Naps(house, Settings(), tmp_path / "usage", environ={})
        yield Stage(clock, naps, QuietSessions(house.db, clock, naps.nap), tmp_path)


async def contents(stage: Stage) -> list[str]:
    rows = await stage.quiet.db.read(
        lambda conn: conn.execute("SELECT content FROM memory ORDER BY memory_key").fetchall()
    )
    return [str(content) for (content,) in rows]


async def test_nothing_happens_before_an_hour_is_over(stage: Stage) -> None:
    await stage.say(stage.transcript())
    stage.clock.advance(minutes=59)
    assert await stage.quiet.nap_over_quiet() == 0
    assert await contents(stage) == []


async def test_it_is_napped_over_once_by_its_transcript_and_again_when_it_went_on(
    stage: Stage,
) -> None:
    await stage.say(stage.transcript())
    stage.clock.advance(hours=1)
    assert await stage.quiet.nap_over_quiet() == 1
    made = await contents(stage)
    assert any(RULE in text for text in made)
    assert await stage.quiet.nap_over_quiet() == 0
    stage.clock.advance(minutes=1)
    await stage.say()
    stage.clock.advance(hours=2)
    assert await stage.quiet.nap_over_quiet() == 1
    assert await contents(stage) == made


async def test_one_without_a_transcript_or_a_word_is_looked_at_once(stage: Stage) -> None:
    await stage.say(str(stage.home / "elsewhere.jsonl"))
    stage.clock.advance(hours=1)
    assert [await stage.quiet.nap_over_quiet(), await stage.quiet.nap_over_quiet()] == [1, 0]
    assert await contents(stage) == []
