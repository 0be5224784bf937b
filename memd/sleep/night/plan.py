"""The tasks of a night, by the settings and the request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memd.base.clock import DAY_US, from_us, to_us
from memd.base.ids import Ids
from memd.base.work import Work
from memd.domain.backend import CompletionProvider
from memd.domain.caller import Caller
from memd.domain.encoding import TokenCounter
from memd.domain.enums import MemoryCategory
from memd.domain.settings.consolidation import ConsolidationConfig
from memd.domain.sleep.consolidation import DISTILLATION_TAG, ConsolidationStrategyType
from memd.ingest.agents import Agents
from memd.sleep.night.retention import cutoffs
from memd.sleep.night.task import NightTask
from memd.sleep.night.tasks import (
    CLIENT,
    Ageing,
    Cap,
    Compression,
    Consolidation,
    Context,
    Retention,
)
from memd.sleep.strategies.ask import Model, build_model
from memd.sleep.strategies.choice import build_operation
from memd.sleep.strategies.compression import (
    SessionText,
    select_fitting,
    summarise,
    summarise_by_rule,
)
from memd.sleep.strategies.operations import ConsolidationOp
from memd.store.file.database import Database
from memd.store.memory import by_tag


@dataclass(frozen=True)
class NightPlan:
    """Builds the tasks of nights; its parts are handed in by the daemon."""

    db: Database
    ids: Ids
    work: Work
    counter: TokenCounter
    config: ConsolidationConfig
    operation: ConsolidationOp
    agents: Agents
    undo_days: int
    provider: CompletionProvider | None = None
    model: str | None = None
    """The provider's model that writes summaries; needed with a provider."""
    experiences: NightTask | None = None
    """The task that compresses experiences, after consolidation; it needs a language model."""

    def __post_init__(self) -> None:
        self._model()  # refuse a provider without a model at once

    def tasks(self, request: Mapping[str, Any]) -> list[NightTask]:
        """Return the tasks of a run in their order; ``steps`` of *request* are their names.

        With ``dry_run`` no language model is called, as nobody would read its answers.
        """
        config, db, is_dry_run = self.config, self.db, bool(request.get("dry_run"))
        tasks: tuple[NightTask, ...] = (
            Retention(db, self._read_cutoffs, self.undo_days * DAY_US),
            Consolidation(
                db,
                self.ids,
                self.work,
                self.counter,
                build_operation(config) if is_dry_run else self.operation,
                self._group_threshold,
                None if is_dry_run else self._load_context,
            ),
            *(() if is_dry_run or self.experiences is None else (self.experiences,)),
            Compression(
                db,
                self.ids,
                self.counter,
                self._summarise_by_rule if is_dry_run else self._summarise,
                config.compression_threshold,
                request.get("sessions") or config.compression_sessions,
                bool(request.get("force")),
            ),
            Ageing(db, config.archival.age_threshold_days * DAY_US),
            Cap(db, config.max_memories_per_agent),
        )
        names = {*request["steps"]} | (
            {"experiences"} if "consolidation" in request["steps"] else set()
        )
        return [task for task in tasks if task.name in names]

    @property
    def _group_threshold(self) -> int:
        """The size of the smallest group; the strategy with a language model has its own."""
        config = self.config
        by_model = config.strategy is ConsolidationStrategyType.LLM
        return config.llm.group_threshold if by_model else config.group_threshold

    @property
    def _load_context(self) -> Context | None:
        config = self.config
        by_model = config.strategy is ConsolidationStrategyType.LLM
        return self._read_context if by_model and config.llm.include_distillation_context else None

    async def _read_context(self, agent_key: int) -> Sequence[str]:
        count_max = self.config.llm.max_trajectory_context_entries
        return await self.db.read(by_tag.newest_texts, agent_key, DISTILLATION_TAG, count_max)

    async def _summarise(self, texts: Sequence[SessionText]) -> tuple[str, Sequence[int]]:
        model = self._model()
        if model is None:
            return await self._summarise_by_rule(texts)
        bounds = self.config.llm
        texts_by_place = select_fitting(
            texts,
            each_max=bounds.max_entry_input_chars,
            chars_max=bounds.max_total_user_content_chars,
        )
        answer = await summarise(model, list(texts_by_place.values()))
        if answer is None:
            return await self._summarise_by_rule(texts)
        return answer, list(texts_by_place)

    async def _summarise_by_rule(self, texts: Sequence[SessionText]) -> tuple[str, Sequence[int]]:
        return await self.work.run(summarise_by_rule, texts), range(len(texts))

    def _model(self) -> Model | None:
        bounds = self.config.llm
        return build_model(
            self.provider,
            self.model,
            temperature=bounds.temperature,
            max_tokens=bounds.max_summary_tokens,
        )

    async def _read_cutoffs(self, agent_id: str, now_us: int) -> Mapping[MemoryCategory, int]:
        caller = Caller(client=CLIENT, agent_id=agent_id, method="sleep.run")
        config_of_agent = await self.agents.get(caller)
        limits = cutoffs(self.config.retention, config_of_agent, from_us(now_us))
        return {category: to_us(moment) for category, moment in limits.items()}
