"""The room, put together over one open file: for the daemon, and for a test.

Read on in the order in which things happen: a window fills (trigger, nap), a
night comes (rhythm, night, tasks), and one can be undone (night, store/run/undo).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

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
    from memd.sleep.night.task import NightTask


@dataclass(frozen=True)
class Sleep:
    """What of the room the daemon starts and the socket shows."""

    night: Night
    rhythm: Rhythm


class NightProviders(NamedTuple):
    """Who writes the summaries of memories, and those of sessions; *model* is their name."""

    summaries: CompletionProvider | None = None
    sessions: CompletionProvider | None = None
    model: str | None = None
    asked: Callable[[], tuple[int, int]] = lambda: (0, 0)
    """How often a model was asked in nights, and how often in vain."""
    experiences: Callable[[Assembly], NightTask] | None = None
    """Makes who compresses experiences."""


def sleeping(
    house: Assembly,
    settings: Settings,
    *,
    emit: Emit = unheard,
    enabled: Callable[[], bool] | None = None,
    providers: NightProviders | None = None,
) -> Sleep:
    """Build the room over *house*. *enabled* re-reads the kill switch; without it, the settings.

    With *providers* their model writes the summaries that the settings leave to one;
    raises ValueError when none is named.
    """
    config = settings.memory.consolidation
    by = providers or NightProviders()
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
            operation=operation_of(config, provider=by.summaries, model=by.model),
            agents=house.agents,
            undo_days=settings.daemon.undo_days,
            provider=by.sessions,
            model=by.model,
            experiences=None if by.experiences is None else by.experiences(house),
        )

    if by.summaries is not None or by.sessions is not None:
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
        of_model=_since_last(by.asked),
    )
    rhythm = Rhythm(
        nights=night,
        clock=house.clock,
        interval=config.interval,
        enabled=night.enabled,
        since=lambda: _since(house.db),
    )
    return Sleep(night=night, rhythm=rhythm)


def _since_last(asked: Callable[[], tuple[int, int]]) -> Callable[[], dict[str, Any]]:
    """Return what tells what a language model was asked since it was last told, if anything."""
    before = [0, 0]

    def usage() -> dict[str, Any]:
        now = asked()
        done, failed = now[0] - before[0], now[1] - before[1]
        before[:] = now
        return {"language_model": {"answered": done, "failed": failed}} if done or failed else {}

    return usage


async def _since(db: Database) -> datetime | None:
    """Return when the store was made, as far as nights go: when its first memory came."""
    found_us = await db.read(agents.first_us)
    return None if found_us is None else from_us(found_us)
