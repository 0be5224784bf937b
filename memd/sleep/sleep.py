"""Build the scheduler of nights over one open file, for the daemon and for tests.

Read on in the order of events: a window fills (``window/trigger.py``, ``nap/nap.py``), a night
begins (``night/scheduler.py``, ``night/night.py``, ``night/tasks.py``), a run is undone
(``night/night.py``, ``store/run/undo.py``).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memd.backends.rooms import Rooms
from memd.base import log
from memd.base.clock import DAY_US, from_us
from memd.base.errors import MemdError
from memd.base.settings import SUFFIXES, find, load
from memd.domain.backend import CompletionProvider
from memd.domain.enums import RunKind, RunState
from memd.domain.occurrence import Occurrence
from memd.domain.settings.settings import Settings
from memd.domain.values import RESERVED_AGENT, Emit, unheard
from memd.sleep.night.night import Night
from memd.sleep.night.scheduler import NightScheduler
from memd.store.access import agents
from memd.store.file.database import Database
from memd.store.run.runs import RunRow

if TYPE_CHECKING:
    from memd.sleep.night.plan import NightPlan
    from memd.sleep.night.tasks import NightTask


class NightProviders(NamedTuple):
    """The providers that summarise memories and sessions in nights; *model* is their name."""

    summaries: CompletionProvider | None = None
    sessions: CompletionProvider | None = None
    model: str | None = None
    request_counts: Callable[[], tuple[int, int]] = lambda: (0, 0)
    """Returns how many requests to a model were answered and failed in nights so far."""
    experiences: Callable[[Rooms], NightTask] | None = None
    """Builds the task that compresses experiences."""


def build_sleep(
    rooms: Rooms,
    settings: Settings,
    *,
    emit: Emit = unheard,
    enabled: Callable[[], bool] | None = None,
    providers: NightProviders | None = None,
) -> NightScheduler:
    """Return the scheduler with its nights.

    *enabled* reads the kill switch anew at each call; without it, the setting at the start counts.
    The model of *providers* writes the summaries that the settings assign to a model. Raises
    ValueError if it has no name.
    """
    config = settings.memory.consolidation
    models = providers or NightProviders()

    @cache
    def plan() -> NightPlan:
        from memd.sleep.night.plan import NightPlan

        return NightPlan(rooms, settings, models)

    if models.summaries is not None or models.sessions is not None:
        plan()  # validates the model; without one, the first night imports the modules
    night = Night(
        db=rooms.db,
        clock=rooms.clock,
        ids=rooms.ids,
        tasks=lambda request: plan().tasks(request),
        emit=emit,
        on_finished=RunCompletion(rooms, settings).complete,
        enabled=enabled or (lambda: config.enabled),
        undo_us=settings.daemon.undo_days * DAY_US,
        model_usage=_usage_since_last(models.request_counts),
    )
    return NightScheduler(
        night=night,
        clock=rooms.clock,
        interval=config.interval,
        enabled=night.enabled,
        since=lambda: _first_memory_at(rooms.db),
    )


def _usage_since_last(
    request_counts: Callable[[], tuple[int, int]],
) -> Callable[[], dict[str, Any]]:
    """Return a function that returns the requests to a language model since its last call."""
    last_counts = (0, 0)

    def usage() -> dict[str, Any]:
        nonlocal last_counts
        counts = request_counts()
        answered, failed = counts[0] - last_counts[0], counts[1] - last_counts[1]
        last_counts = counts
        if not (answered or failed):
            return {}
        return {"language_model": {"answered": answered, "failed": failed}}

    return usage


async def _first_memory_at(db: Database) -> datetime | None:
    """Return when the first memory was stored; the first night is due one interval later."""
    return from_us(await db.read(agents.first_us))


class RunCompletion(NamedTuple):
    """Drops old records after a whole night, and notes each finished run as an occurrence."""

    rooms: Rooms
    settings: Settings

    async def complete(self, row: RunRow) -> None:
        """Complete the finished run *row*.

        Records that cannot be dropped now are dropped next time; the run does not fail.
        """
        self.rooms.queue.wake()
        details: dict[str, Any] = {"run_id": row.run_id, **row.report.get("detail", {})}
        if _is_whole_night(row):
            details["records_dropped"] = await self._drop_old_records()
        end_us = row.finished_at_us or row.started_at_us
        is_success = row.state != RunState.FAILED
        self.rooms.notes.add(
            Occurrence(
                row.run_id,
                row.agent_id or row.asked.get("agent_id") or RESERVED_AGENT,
                f"{row.kind}_{'completed' if is_success else 'failed'}",
                end_us,
                details,
                work=row.kind,
                seconds=(end_us - row.started_at_us) / 1e6,
                is_success=is_success,
            )
        )

    async def _drop_old_records(self) -> dict[str, int]:
        from memd.records.retention import drop_old

        db, salt = self.rooms.db, self.rooms.ids.salt
        days = {str(name): days for name, days in self.settings.records.retention_days.items()}
        try:
            return await drop_old(db, days, db.lasting.now_us(), salt)
        except MemdError as error:
            log.warning("old records were not dropped", kind=error.kind)
            return {}


def _is_whole_night(row: RunRow) -> bool:
    request = row.asked
    return (
        row.kind == RunKind.NIGHT
        and request.get("agent_id") is None
        and "retention" in request.get("steps", ())
    )


class KillSwitch:
    """The kill switch in the settings, read again when the file has changed (SPEC 16.2).

    A call returns ``memory.consolidation.enabled``; if the file cannot be read, its value at the
    start. A night calls it before every step, so the file is parsed only after a change.
    """

    def __init__(self, settings: Settings, config_file: Path, environ: Mapping[str, str]) -> None:
        self._at_start = settings.memory.consolidation.enabled
        self._files = [config_file.with_suffix(suffix) for suffix in SUFFIXES]
        self._config_file = config_file
        self._environ = environ
        self._stamps = [_file_stamp(file) for file in self._files]
        self._enabled = self._at_start

    def __call__(self) -> bool:
        stamps = [_file_stamp(file) for file in self._files]
        if stamps != self._stamps:
            self._stamps, self._enabled = stamps, self._read()
        return self._enabled

    def _read(self) -> bool:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the daemon logged them at its start
            try:
                settings = load(Settings, find(self._config_file), self._environ)
            except (MemdError, OSError):
                return self._at_start
        return settings.memory.consolidation.enabled


def _file_stamp(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
