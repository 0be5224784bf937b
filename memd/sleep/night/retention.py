"""How long memories are kept, and throwing away what is kept no longer (SPEC 16.4, 7.14).

Four places can say how long a category is kept, and the first that does counts:
what the agent says of the category, what the company says of it, what the agent
says of everything, what the company says of everything. Where nobody says
anything it is for ever. A company's rule for a category therefore beats an
agent's general one.

The age is that of ``created_at``; an expiry of its own is another matter. The
night reads :func:`cutoffs` and moves rows by itself; :class:`RetentionEnforcer`
does the same over any backend, by what a backend has: retrieve and delete.
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


def days_kept(
    config: RetentionConfig,
    overrides: Days | None = None,
    default_days: int | None = None,
) -> dict[MemoryCategory, int]:
    """Return for how many days each category is kept; what is kept for ever is not in it.

    *overrides* and *default_days* are the agent's own. Raises ValueError when one
    of them is less than a day.
    """
    of_agent = {MemoryCategory(category): days for category, days in (overrides or {}).items()}
    for what, days in (*of_agent.items(), ("the agent's default", default_days)):
        if days is not None and days < 1:
            raise ValueError(f"retention of {what} must be at least 1 day, not {days}")
    of_company = {rule.category: rule.retention_days for rule in config.rules}
    general = config.default_retention_days if default_days is None else default_days
    kept = {
        category: of_agent.get(category, of_company.get(category, general))
        for category in MemoryCategory
    }
    return {category: days for category, days in kept.items() if days is not None}


def cutoffs(
    config: RetentionConfig, agent: MemoryConfig | None, now: datetime
) -> dict[MemoryCategory, datetime]:
    """Return from when on each category is kept at *now*: what is older may go.

    A category that is kept for ever, or for longer than there are dates, is not in it.
    """
    if agent is None:
        return _before(days_kept(config), now)
    overrides = {rule.category: rule.retention_days for rule in agent.retention_overrides}
    return _before(days_kept(config, overrides, agent.retention_days), now)


def _before(kept: Days, now: datetime) -> dict[MemoryCategory, datetime]:
    longest = (now - datetime.min.replace(tzinfo=now.tzinfo)).days
    return {c: now - timedelta(days=days) for c, days in kept.items() if days < longest}


class RetentionEnforcer:
    """Deletes from a backend what is kept no longer."""

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
        """Delete what the agent keeps no longer and return how many memories went.

        At most PAGE_ITEMS_MAX of a category go in one call. A category that fails is
        logged, and the others are still done. Without any rule the backend is not
        asked. Raises ValueError for a retention of less than a day.
        """
        kept = days_kept(self._config, agent_category_overrides, agent_default_retention_days)
        moment = now or from_us(self._clock.now_us())
        gone = 0
        for category, cutoff in _before(kept, moment).items():
            gone += await self._cleaned(agent_id, category, cutoff)
        return gone

    async def _cleaned(self, agent_id: str, category: MemoryCategory, cutoff: datetime) -> int:
        query = MemoryQuery(categories=frozenset({category}), until=cutoff, limit=PAGE_ITEMS_MAX)
        gone = 0
        try:
            for entry in await self._backend.retrieve(agent_id, query):
                gone += await self._backend.delete(agent_id, entry.id)
        except (MemoryError, RecursionError):
            raise
        except Exception as error:  # noqa: BLE001  # whatever a backend raises concerns one category
            log.warning("retention failed", category=category.value, error=type(error).__name__)
        return gone


async def cleanup_expired(
    agent_id: str,
    now: datetime | None = None,
    *,
    config: RetentionConfig,
    backend: MemoryBackend,
    agent_category_overrides: Days | None = None,
    agent_default_retention_days: int | None = None,
) -> int:
    """Do once what :meth:`RetentionEnforcer.cleanup_expired` does."""
    return await RetentionEnforcer(config, backend).cleanup_expired(
        agent_id,
        now,
        agent_category_overrides=agent_category_overrides,
        agent_default_retention_days=agent_default_retention_days,
    )
