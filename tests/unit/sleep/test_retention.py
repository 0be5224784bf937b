"""SPEC 16.4: how long memories are kept, and how what is kept no longer goes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest
from support.clocks import HeldClock
from support.entries import a_request

from memd.backends.inmemory import InMemoryBackend
from memd.base.clock import from_us
from memd.base.errors import MemoryRetrievalError
from memd.domain.enums import MemoryCategory
from memd.domain.memory import MemoryEntry, MemoryQuery
from memd.domain.settings.consolidation import RetentionConfig, RetentionRule
from memd.domain.settings.settings import MemoryConfig
from memd.sleep.night.retention import RetentionEnforcer, cleanup_expired, cutoffs, retention_days

EPISODIC, SEMANTIC, SOCIAL = (
    MemoryCategory.EPISODIC,
    MemoryCategory.SEMANTIC,
    MemoryCategory.SOCIAL,
)
NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def a_config(default: int | None = None, **days: int) -> RetentionConfig:
    rules = tuple(
        RetentionRule(category=MemoryCategory(category), retention_days=kept)
        for category, kept in days.items()
    )
    return RetentionConfig(rules=rules, default_retention_days=default)


class Kept(InMemoryBackend):
    """A backend that notes what it is asked, and may fail for one category or refuse to delete."""

    def __init__(self, clock: HeldClock) -> None:
        super().__init__(clock=clock)
        self.clock = clock
        self.asked: list[MemoryQuery] = []
        self.broken: MemoryCategory | None = None
        self.keeps = False

    async def retrieve(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        self.asked.append(query)
        if query.categories and self.broken in query.categories:
            raise MemoryRetrievalError("broken")
        return await super().retrieve(agent_id, query)

    async def delete(self, agent_id: str, memory_id: str) -> bool:
        return False if self.keeps else await super().delete(agent_id, memory_id)

    async def aged(self, category: MemoryCategory, age: timedelta) -> str:
        """Store a memory as it was *age* before noon."""
        self.clock.now = NOON - age
        memory_id = await self.store("ada", a_request(category=category))
        self.clock.now = NOON
        return memory_id


@pytest.fixture
async def backend() -> Kept:
    backend = Kept(HeldClock())
    await backend.connect()
    return backend


@pytest.mark.parametrize("days", [0, -1])
@pytest.mark.parametrize("whose", ["override", "default"])
def test_less_than_a_day_is_refused(whose: str, days: int) -> None:
    overrides: Mapping[MemoryCategory, int] | None = {SOCIAL: days} if whose == "override" else None
    with pytest.raises(ValueError, match="at least 1 day"):
        retention_days(a_config(), overrides, days if whose == "default" else None)


def test_what_nobody_speaks_of_is_kept_for_ever() -> None:
    assert retention_days(a_config()) == {}
    assert retention_days(a_config(episodic=3)) == {EPISODIC: 3}


def test_an_agents_settings_become_points_in_time() -> None:
    agent = MemoryConfig(
        retention_days=90, retention_overrides=(RetentionRule(category=SOCIAL, retention_days=7),)
    )

    cutoff_times = cutoffs(a_config(episodic=30), agent, NOON)

    assert cutoff_times[SOCIAL] == NOON - 7 * DAY
    assert cutoff_times[EPISODIC] == NOON - 30 * DAY
    assert cutoff_times[SEMANTIC] == NOON - 90 * DAY
    assert cutoffs(a_config(episodic=30), None, NOON) == {EPISODIC: NOON - 30 * DAY}


def test_longer_than_there_are_dates_is_for_ever() -> None:
    assert cutoffs(a_config(default=10_000_000), None, NOON) == {}


async def test_only_what_is_strictly_older_goes(backend: Kept) -> None:
    older = await backend.aged(EPISODIC, 30 * DAY + timedelta(microseconds=1))
    just = await backend.aged(EPISODIC, 30 * DAY)
    other = await backend.aged(SEMANTIC, 400 * DAY)

    deleted_count = await RetentionEnforcer(a_config(episodic=30), backend).cleanup_expired(
        "ada", NOON
    )

    assert deleted_count == 1
    assert await backend.get("ada", older) is None
    assert await backend.get("ada", just) is not None
    assert await backend.get("ada", other) is not None


async def test_without_a_time_it_is_the_clocks(backend: Kept) -> None:
    await backend.aged(EPISODIC, 31 * DAY)
    enforcer = RetentionEnforcer(a_config(episodic=30), backend, clock=backend.clock)

    assert from_us(backend.clock.now_us()) == NOON
    assert await enforcer.cleanup_expired("ada") == 1


async def test_without_a_rule_the_backend_is_not_asked(backend: Kept) -> None:
    await backend.aged(EPISODIC, 4_000 * DAY)

    assert await RetentionEnforcer(RetentionConfig(), backend).cleanup_expired("ada", NOON) == 0
    assert backend.asked == []


async def test_a_category_that_fails_keeps_no_other_from_being_done(backend: Kept) -> None:
    await backend.aged(EPISODIC, 9 * DAY)
    await backend.aged(SOCIAL, 9 * DAY)
    backend.broken = EPISODIC

    assert await RetentionEnforcer(a_config(default=8), backend).cleanup_expired("ada", NOON) == 1
    assert await backend.count("ada") == 1


async def test_what_was_not_deleted_is_not_counted(backend: Kept) -> None:
    await backend.aged(EPISODIC, 9 * DAY)
    backend.keeps = True

    assert await RetentionEnforcer(a_config(default=8), backend).cleanup_expired("ada", NOON) == 0


async def test_at_most_a_thousand_of_a_category_go_in_one_run(backend: Kept) -> None:
    await backend.aged(EPISODIC, 9 * DAY)
    await RetentionEnforcer(a_config(episodic=8), backend).cleanup_expired("ada", NOON)

    (query,) = backend.asked
    assert query.limit == 1_000
    assert query.until == NOON - 8 * DAY


async def test_the_function_does_what_the_enforcer_does(backend: Kept) -> None:
    await backend.aged(EPISODIC, 9 * DAY)

    deleted_count = await cleanup_expired(
        "ada",
        NOON,
        config=RetentionConfig(),
        backend=backend,
        agent_category_overrides={EPISODIC: 8},
    )

    assert deleted_count == 1
