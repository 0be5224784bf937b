"""SPEC 7.14: the configuration of one agent, field by field."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from support.store import ADA, BOB, a_house, tell

from memd.backends.rooms import Rooms
from memd.base.errors import InvalidError
from memd.domain.enums import MemoryCategory, MemoryLevel
from memd.domain.settings.consolidation import RetentionRule
from memd.domain.settings.settings import MemoryConfig, Settings
from memd.store.access import agents, names
from memd.store.file.connect import Reading, Writing

RULES = (RetentionRule(category=MemoryCategory.EPISODIC, retention_days=30),)


async def test_a_retention_alone_leaves_the_level_as_it_was(house: Rooms) -> None:
    config = await house.agents.set(ADA, MemoryConfig(retention_overrides=RULES))

    assert config == await house.agents.get(ADA)
    assert config.type is MemoryLevel.PERSISTENT
    assert config.retention_overrides == RULES


async def test_what_an_agent_stores_after_a_retention_was_set_outlives_its_session(
    house: Rooms,
) -> None:
    await house.agents.set(ADA, MemoryConfig(retention_days=30))
    (memory_id,) = await tell(house, "Ann keeps bees.", session_id="s")

    await house.sessions.end(ADA, "s")

    assert await house.recall.get(ADA, memory_id) is not None


async def test_an_agent_without_a_level_of_its_own_follows_the_daemon(tmp_path: Path) -> None:
    async with a_house(tmp_path / "memd.db") as house:
        await house.agents.set(ADA, MemoryConfig(retention_days=3))
    tree = {"memory": {"level": "project"}}
    async with a_house(tmp_path / "memd.db", settings=Settings.model_validate(tree)) as house:
        config = await house.agents.get(ADA)

    assert (config.type, config.retention_days) == (MemoryLevel.PROJECT, 3)


async def test_each_field_is_set_by_itself_and_null_takes_it_back(house: Rooms) -> None:
    await house.agents.set(ADA, MemoryConfig(type=MemoryLevel.SESSION, retention_days=9))
    await house.agents.set(ADA, MemoryConfig(retention_overrides=RULES))
    await house.agents.set(ADA, MemoryConfig(retention_days=None))

    config = await house.agents.get(ADA)

    assert config == MemoryConfig(type=MemoryLevel.SESSION, retention_overrides=RULES)


async def test_two_settings_at_once_both_hold(house: Rooms) -> None:
    await asyncio.gather(
        house.agents.set(ADA, MemoryConfig(type=MemoryLevel.PROJECT)),
        house.agents.set(ADA, MemoryConfig(retention_days=9)),
        house.agents.set(ADA, MemoryConfig(retention_overrides=RULES)),
    )

    assert await house.agents.get(ADA) == MemoryConfig(
        type=MemoryLevel.PROJECT, retention_days=9, retention_overrides=RULES
    )


async def test_an_agent_that_keeps_nothing_takes_no_retention(house: Rooms) -> None:
    await house.agents.set(ADA, MemoryConfig(type=MemoryLevel.NONE))

    with pytest.raises(InvalidError, match="no retention"):
        await house.agents.set(ADA, MemoryConfig(retention_days=9))

    assert await house.agents.get(ADA) == MemoryConfig(type=MemoryLevel.NONE)
    await house.agents.set(BOB, MemoryConfig(retention_days=9))
    with pytest.raises(InvalidError, match="no retention"):
        await house.agents.set(BOB, MemoryConfig(type=MemoryLevel.NONE))


async def test_pages_of_agents_end_and_have_each_agent_once(house: Rooms) -> None:
    def make(conn: Writing) -> None:
        for number in range(5):
            names.ensure_agent(conn, f"agent {number}", house.clock.now_us())

    await house.db.write(ADA, make)

    def pages(conn: Reading) -> list[str]:
        met: list[str] = []
        after = None
        while page := agents.list_agents(conn, after, 2):
            met.extend(row.agent_id for row in page)
            after = page[-1].agent_id
            assert len(met) <= 5
        return met

    assert await house.db.read(pages) == [f"agent {number}" for number in range(5)]
