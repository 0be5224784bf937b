"""Compute retention periods per category, and delete memories past them (SPEC 16.4, 7.14).

The period of a category is the first of these settings that is set: the agent's for the category,
the company's for the category, the agent's default, the company's default. Without any, memories
are kept for ever.

The age counts from ``created_at``; the expiry of a single memory is independent of it. Nights use
:func:`cutoffs` and move rows themselves. :class:`RetentionEnforcer` does the same over any backend.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from memd.base import log
from memd.base.clock import Clock, SystemClock, from_us
from memd.base.limits import PAGE_ITEMS_MAX
from memd.domain.backend import MemoryBackend
from memd.domain.enums import MemoryCategory
from memd.domain.memory import MemoryQuery
from memd.domain.settings.consolidation import RetentionConfig
from memd.domain.settings.settings import MemoryConfig

Days = Mapping[MemoryCategory, int]


def retention_days(
    config: RetentionConfig,
    overrides: Days | None = None,
    default_days: int | None = None,
) -> dict[MemoryCategory, int]:
    """Return the retention period of each category in days; categories kept for ever are missing.

    *overrides* and *default_days* are the agent's. Raises ValueError if one of them is less than
    a day.
    """
    agent_days = {MemoryCategory(category): days for category, days in (overrides or {}).items()}
    for name, days in (*agent_days.items(), ("the agent's default", default_days)):
        if days is not None and days < 1:
            raise ValueError(f"retention of {name} must be at least 1 day, not {days}")
    company_days = {rule.category: rule.retention_days for rule in config.rules}
    default = config.default_retention_days if default_days is None else default_days
    days_by_category = {
        category: agent_days.get(category, company_days.get(category, default))
        for category in MemoryCategory
    }
    return {category: days for category, days in days_by_category.items() if days is not None}


def cutoffs(
    config: RetentionConfig, agent: MemoryConfig | None, now: datetime
) -> dict[MemoryCategory, datetime]:
    """Return for each category the creation time before which memories have expired at *now*.

    A category that is kept for ever, or for longer than a datetime can express, is missing.
    """
    if agent is None:
        return _cutoff_times(retention_days(config), now)
    overrides = {rule.category: rule.retention_days for rule in agent.retention_overrides}
    return _cutoff_times(retention_days(config, overrides, agent.retention_days), now)


def _cutoff_times(days_by_category: Days, now: datetime) -> dict[MemoryCategory, datetime]:
    longest = (now - datetime.min.replace(tzinfo=now.tzinfo)).days
    return {c: now - timedelta(days=days) for c, days in days_by_category.items() if days < longest}


class RetentionEnforcer:
    """Deletes memories past their retention period from a backend."""

    def __init__(
        self, config: RetentionConfig, backend: MemoryBackend, *, clock: Clock | None = None
    ) -> None:
        self._config = config
        self._backend = backend
        self._clock = clock or SystemClock()

    async def cleanup_expired(
        self,
        agent_id: str,
        now: datetime | None = None,
        *,
        agent_category_overrides: Days | None = None,
        agent_default_retention_days: int | None = None,
    ) -> int:
        """Delete the agent's memories past their retention period and return their number.

        One call deletes at most PAGE_ITEMS_MAX of each category. The error of a category is logged,
        and the other categories are processed. Without any period the backend is not called.
        Raises ValueError for a period of less than a day.
        """
        days_by_category = retention_days(
            self._config, agent_category_overrides, agent_default_retention_days
        )
        moment = now or from_us(self._clock.now_us())
        deleted_count = 0
        for category, cutoff in _cutoff_times(days_by_category, moment).items():
            deleted_count += await self._clean_category(agent_id, category, cutoff)
        return deleted_count

    async def _clean_category(
        self, agent_id: str, category: MemoryCategory, cutoff: datetime
    ) -> int:
        query = MemoryQuery(categories=frozenset({category}), until=cutoff, limit=PAGE_ITEMS_MAX)
        deleted_count = 0
        try:
            for entry in await self._backend.retrieve(agent_id, query):
                deleted_count += await self._backend.delete(agent_id, entry.id)
        except (MemoryError, RecursionError):
            raise
        except Exception as error:  # noqa: BLE001  # whatever a backend raises concerns one category
            log.warning("retention failed", category=category.value, error=type(error).__name__)
        return deleted_count


async def cleanup_expired(
    agent_id: str,
    now: datetime | None = None,
    *,
    config: RetentionConfig,
    backend: MemoryBackend,
    agent_category_overrides: Days | None = None,
    agent_default_retention_days: int | None = None,
) -> int:
    """Run :meth:`RetentionEnforcer.cleanup_expired` once."""
    return await RetentionEnforcer(config, backend).cleanup_expired(
        agent_id,
        now,
        agent_category_overrides=agent_category_overrides,
        agent_default_retention_days=agent_default_retention_days,
    )
