"""Consolidation assembled over one open file, for the daemon and for tests.

Read on in the order of events: a window fills (trigger, nap), a night comes
(scheduler, night, tasks), and a run is undone (night, store/run/undo).
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
from memd.sleep.night.completion import RunCompletion
from memd.sleep.night.night import Night
from memd.sleep.night.scheduler import NightScheduler
from memd.store.access import agents
from memd.store.file.database import Database

if TYPE_CHECKING:
    from memd.sleep.night.plan import NightPlan
    from memd.sleep.night.task import NightTask


@dataclass(frozen=True)
class Sleep:
    """What the daemon starts and the socket serves."""

    night: Night
    scheduler: NightScheduler


class NightProviders(NamedTuple):
    """The providers that summarise memories and sessions in nights; *model* is their name."""

    summaries: CompletionProvider | None = None
    sessions: CompletionProvider | None = None
    model: str | None = None
    request_counts: Callable[[], tuple[int, int]] = lambda: (0, 0)
    """How many requests to a model in nights were answered, and how many failed."""
    experiences: Callable[[Assembly], NightTask] | None = None
    """Builds the task that compresses experiences."""


def build_sleep(
    assembly: Assembly,
    settings: Settings,
    *,
    emit: Emit = unheard,
    enabled: Callable[[], bool] | None = None,
    providers: NightProviders | None = None,
) -> Sleep:
    """Build nights and their scheduler. *enabled* re-reads the kill switch, else it is fixed.

    The model of *providers* writes the summaries that the settings assign to one;
    raises ValueError when it has no name.
    """
    config = settings.memory.consolidation
    models = providers or NightProviders()
    record_days = {str(name): days for name, days in settings.records.retention_days.items()}
    plan = cache(lambda: _night_plan(assembly, settings, models))
    if models.summaries is not None or models.sessions is not None:
        plan()  # validate the model now; without one the modules are imported by the first night
    night = Night(
        db=assembly.db,
        clock=assembly.clock,
        ids=assembly.ids,
        tasks=lambda request: plan().tasks(request),
        emit=emit,
        on_finished=RunCompletion(assembly, record_days).complete,
        enabled=enabled or (lambda: config.enabled),
        undo_us=settings.daemon.undo_days * DAY_US,
        model_usage=_usage_since_last(models.request_counts),
    )
    scheduler = NightScheduler(
        night=night,
        clock=assembly.clock,
        interval=config.interval,
        enabled=night.enabled,
        since=lambda: _first_memory_at(assembly.db),
    )
    return Sleep(night=night, scheduler=scheduler)


def _night_plan(assembly: Assembly, settings: Settings, models: NightProviders) -> NightPlan:
    from memd.sleep.night.plan import NightPlan
    from memd.sleep.strategies.choice import build_operation

    config = settings.memory.consolidation
    return NightPlan(
        db=assembly.db,
        ids=assembly.ids,
        work=assembly.work,
        counter=assembly.counter,
        config=config,
        operation=build_operation(config, provider=models.summaries, model=models.model),
        agents=assembly.agents,
        undo_days=settings.daemon.undo_days,
        provider=models.sessions,
        model=models.model,
        experiences=None if models.experiences is None else models.experiences(assembly),
    )


def _usage_since_last(
    request_counts: Callable[[], tuple[int, int]],
) -> Callable[[], dict[str, Any]]:
    """Return a function that returns the requests to a language model since its last call."""
    before = [0, 0]

    def usage() -> dict[str, Any]:
        now = request_counts()
        done, failed = now[0] - before[0], now[1] - before[1]
        before[:] = now
        return {"language_model": {"answered": done, "failed": failed}} if done or failed else {}

    return usage


async def _first_memory_at(db: Database) -> datetime | None:
    """Return when the first memory was stored, which is when nights start to count."""
    found_us = await db.read(agents.first_us)
    return None if found_us is None else from_us(found_us)
