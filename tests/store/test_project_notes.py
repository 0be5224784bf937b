"""Which notes concern a project, in its briefs and prompts (``store/session/project_notes.py``)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.clocks import HeldClock
from support.store import ADA, stored, tell
from support.words_embedder import WordsEmbedder, a_house

from memd.backends.rooms import Rooms
from memd.domain.enums import MemoryLevel
from memd.domain.inject import BriefRequest
from memd.domain.recall import RecallRequest
from memd.inject.brief.brief import Briefs
from memd.inject.session_windows import SessionWindows
from memd.store.access import names
from memd.store.file.connect import Reading
from memd.store.session.project_notes import filter_related

PROJECT = "/home/ada/hives"
HOST = "The staging host moved to egret today."
DENTIST = "The dentist is on Tuesday at ten."
NUTS = "Ann is allergic to nuts."
KEY = "SELECT memory_key FROM memory WHERE memory_id = ?"
NAMED = "Paint all Hives green before May."


@dataclass
class Home:
    house: Rooms
    clock: HeldClock

    async def brief(self, project_id: str | None = PROJECT) -> str:
        windows = SessionWindows(self.house.db, self.clock)
        level = MemoryLevel.PERSISTENT
        briefs = Briefs(
            self.house.db, self.clock, self.house.recall, self.house.org, windows, level
        )
        made = await briefs.brief(ADA, BriefRequest(project_id=project_id))
        return "\n".join(message.content for message in made.messages)

    async def related(self, ids: list[str], project_id: str = PROJECT) -> list[bool]:
        def work(conn: Reading) -> list[bool]:
            keys = [conn.get_int(KEY, (each,)) or 0 for each in ids]
            agent_key = names.agent_key(conn, ADA.agent_id)
            near = filter_related(conn, agent_key, project_id, keys)
            return [key in near for key in keys]

        return await self.house.db.read(work)


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    clock = HeldClock()
    async with a_house(tmp_path, clock=clock) as house:
        await stored(house, "The staging host is heron, port 8443.", project_id=PROJECT)
        await stored(house, "Lamps hang from oak beams.", project_id="/home/ada/lamps")
        yield Home(house, clock)


async def test_a_brief_has_the_notes_that_concern_its_project_or_everybody(home: Home) -> None:
    await stored(home.house, HOST, DENTIST, NUTS, NAMED)

    own, other, new, none = [
        await home.brief(place) for place in (PROJECT, "/home/ada/lamps", "/home/ada/x", None)
    ]
    assert all(each in own for each in (HOST, NUTS, NAMED))
    assert DENTIST not in own
    for brief in (other, new):
        assert NUTS in brief
        assert not any(each in brief for each in (HOST, DENTIST, NAMED))
    assert all(each in none for each in (HOST, DENTIST, NUTS, NAMED))


async def test_a_note_of_a_file_in_the_project_concerns_it(home: Home) -> None:
    there, beside = f"{PROJECT}/CLAUDE.md", f"{PROJECT}-old/CLAUDE.md"
    notes = [
        *await tell(home.house, "We use ruff.", source=there),
        *await tell(home.house, "We use black.", source=beside),
    ]
    assert await home.related(notes) == [True, False]


async def test_without_a_model_every_note_may_concern_the_project(tmp_path: Path) -> None:
    embedder = WordsEmbedder()
    embedder.installed = False
    async with a_house(tmp_path, embedder=embedder) as house:
        home = Home(house, HeldClock())
        assert await home.related(await stored(house, DENTIST)) == [True]


async def test_in_a_project_s_prompt_a_note_about_something_else_has_to_be_sure(
    home: Home,
) -> None:
    await stored(home.house, HOST, DENTIST, NUTS, "The dentist drinks tea.", "Tea is at ten.")

    async def prompt(query: str, project_id: str | None = PROJECT, **more: Any) -> list[str]:
        request = RecallRequest(query=query, project_id=project_id, **more)
        return [each.content for each in (await home.house.recall.recall(ADA, request)).memories]

    doubtful = "how many rows come on Tuesday?"
    assert await prompt(doubtful) == []
    assert await prompt(doubtful, None) == [DENTIST]
    assert await prompt(doubtful, preferences="matching") == [DENTIST]
    assert await prompt("is the dentist on Tuesday at ten?") == [DENTIST]
    assert HOST in await prompt("where is staging?")
    assert await prompt("is Ann there?") == [NUTS]
