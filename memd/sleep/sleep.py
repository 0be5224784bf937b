"""The room, put together over one open file: for the daemon, and for a test.

Read on in the order in which things happen: a window fills (trigger, nap), a
night comes (rhythm, night, tasks), and one can be undone (night, store/run/undo).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING

from memd.backends.assembly import Assembly
from memd.base.clock import DAY_US, from_us
from memd.domain.backend import CompletionProvider
from memd.domain.settings.settings import Settings
from memd.domain.values import Emit, unheard
from memd.sleep.night.afterwards import Afterwards
from memd.sleep.night.night import Night
from memd.sleep.night.rhythm import Rhythm
from memd.store.access import agents
from memd.store.file.database import Database

if TYPE_CHECKING:
    from memd.sleep.night.plan import Plan


@dataclass(frozen=True)
class Sleep:
    """What of the room the daemon starts and the socket shows."""

    night: Night
    rhythm: Rhythm


def sleeping(
    house: Assembly,
    settings: Settings,
    *,
    emit: Emit = unheard,
    enabled: Callable[[], bool] | None = None,
    provider: CompletionProvider | None = None,
    model: str | None = None,
) -> Sleep:
    """Build the room over *house*. *enabled* re-reads the kill switch; without it, the settings.

    With a *provider* its *model* writes the summaries that the settings leave to one;
    raises ValueError when none is named.
    """
    config = settings.memory.consolidation
    kept = {str(name): days for name, days in settings.records.retention_days.items()}

    @cache
    def plan() -> Plan:
        from memd.sleep.night.plan import Plan
        from memd.sleep.strategies.choice import operation_of

        return Plan(
            db=house.db,
            ids=house.ids,
            work=house.work,
            counter=house.counter,
            config=config,
            operation=operation_of(config, provider=provider, model=model),
            agents=house.agents,
            undo_days=settings.daemon.undo_days,
            provider=provider,
            model=model,
        )

    if provider is not None:
        plan()  # without one it waits for the first night: a start reads no summaries' rules
    night = Night(
        db=house.db,
        clock=house.clock,
        ids=house.ids,
        tasks=lambda asked: plan().tasks(asked),
        emit=emit,
        done=Afterwards(house, kept).finished,
        enabled=enabled or (lambda: config.enabled),
        undo_us=settings.daemon.undo_days * DAY_US,
    )
    rhythm = Rhythm(
        nights=night,
        clock=house.clock,
        interval=config.interval,
        enabled=night.enabled,
        since=lambda: _since(house.db),
    )
    return Sleep(night=night, rhythm=rhythm)


async def _since(db: Database) -> datetime | None:
    """Return when the store was made, as far as nights go: when its first memory came."""
    found_us = await db.read(agents.first_us)
    return None if found_us is None else from_us(found_us)
