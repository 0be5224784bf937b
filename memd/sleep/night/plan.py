"""Build the tasks of a night from the settings and the request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memd.backends.rooms import Rooms
from memd.base.clock import DAY_US, from_us, to_us
from memd.domain.caller import Caller
from memd.domain.enums import MemoryCategory
from memd.domain.settings.settings import Settings
from memd.domain.sleep.consolidation import DISTILLATION_TAG, ConsolidationStrategyType
from memd.sleep.night.compression import Compression
from memd.sleep.night.consolidation import Consolidation
from memd.sleep.night.retention import cutoffs
from memd.sleep.night.tasks import CLIENT, Ageing, Cap, NightTask, Retention
from memd.sleep.strategies.ask import build_model
from memd.sleep.strategies.batches import LINE_CHARS
from memd.sleep.strategies.operations import build_operation
from memd.store.memory import groups

if TYPE_CHECKING:
    from memd.sleep.sleep import NightProviders


class NightPlan:
    """Builds the tasks of nights. Raises ValueError for *models* without a name."""

    def __init__(self, rooms: Rooms, settings: Settings, models: NightProviders) -> None:
        config = settings.memory.consolidation
        self._rooms = rooms
        self._config = config
        self._undo_us = settings.daemon.undo_days * DAY_US
        self._operation = build_operation(config, provider=models.summaries, model=models.model)
        self._compressor = build_model(
            models.sessions,
            models.model,
            temperature=config.llm.temperature,
            max_tokens=config.llm.max_summary_tokens,
        )
        self._experiences = models.experiences and models.experiences(rooms)

    def tasks(self, request: Mapping[str, Any]) -> list[NightTask]:
        """Return the tasks that *request* names in ``steps``, in order of execution.

        With ``dry_run`` no language model is called.
        """
        config, is_dry_run = self._config, bool(request.get("dry_run"))
        db, ids, counter = self._rooms.db, self._rooms.ids, self._rooms.counter
        by_model = config.strategy is ConsolidationStrategyType.LLM
        has_context = by_model and config.llm.include_distillation_context and not is_dry_run
        tasks: tuple[NightTask, ...] = (
            Retention(db, self._read_cutoffs, self._undo_us),
            Consolidation(
                db,
                ids,
                self._rooms.work,
                counter,
                build_operation(config) if is_dry_run else self._operation,
                config.llm.group_threshold if by_model else config.group_threshold,
                self._read_context if has_context else None,
                LINE_CHARS if config.strategy is ConsolidationStrategyType.SIMPLE else None,
            ),
            *(() if is_dry_run or self._experiences is None else (self._experiences,)),
            Compression(
                db,
                ids,
                counter,
                self._rooms.work,
                None if is_dry_run else self._compressor,
                config.llm,
                config.compression_threshold,
                request.get("sessions") or config.compression_sessions,
                bool(request.get("force")),
            ),
            Ageing(db, config.archival.age_threshold_days * DAY_US),
            Cap(db, config.max_memories_per_agent),
        )
        names = {*request["steps"]}
        if "consolidation" in names:
            names.add("experiences")
        return [task for task in tasks if task.name in names]

    async def _read_context(self, agent_key: int) -> Sequence[str]:
        count_max = self._config.llm.max_trajectory_context_entries
        return await self._rooms.db.read(
            groups.newest_texts, agent_key, DISTILLATION_TAG, count_max
        )

    async def _read_cutoffs(self, agent_id: str, now_us: int) -> Mapping[MemoryCategory, int]:
        caller = Caller(client=CLIENT, agent_id=agent_id, method="sleep.run")
        config_of_agent = await self._rooms.agents.get(caller)
        limits = cutoffs(self._config.retention, config_of_agent, from_us(now_us))
        return {category: to_us(moment) for category, moment in limits.items()}
