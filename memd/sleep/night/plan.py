"""Which tasks a night has, from the settings and from what was asked."""

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
from memd.sleep.strategies.ask import Model, connected
from memd.sleep.strategies.choice import operation_of
from memd.sleep.strategies.compression import SessionText, by_rule, fitting, summarised
from memd.sleep.strategies.operations import ConsolidationOp
from memd.store.file.database import Database
from memd.store.memory import by_tag


@dataclass(frozen=True)
class Plan:
    """The tasks' needs, handed in by the daemon."""

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
    """Which of the provider's models writes summaries; needed with a provider."""
    experiences: NightTask | None = None
    """Who compresses experiences, beside the consolidation; only a language model can."""

    def __post_init__(self) -> None:
        self._asked()  # so that a provider without a model is refused at once

    def tasks(self, asked: Mapping[str, Any]) -> list[NightTask]:
        """Return the tasks of a run, in their order; ``steps`` of *asked* are their names.

        With ``dry_run`` no language model is asked: what it would say is nobody's to see.
        """
        config, db, rehearsed = self.config, self.db, bool(asked.get("dry_run"))
        every: tuple[NightTask, ...] = (
            Retention(db, self._cutoffs, self.undo_days * DAY_US),
            Consolidation(
                db,
                self.ids,
                self.work,
                self.counter,
                operation_of(config) if rehearsed else self.operation,
                self._threshold,
                None if rehearsed else self._context_of,
            ),
            *(() if rehearsed or self.experiences is None else (self.experiences,)),
            Compression(
                db,
                self.ids,
                self.counter,
                self._by_rule if rehearsed else self._shorten,
                config.compression_threshold,
                asked.get("sessions") or config.compression_sessions,
                bool(asked.get("force")),
            ),
            Ageing(db, config.archival.age_threshold_days * DAY_US),
            Cap(db, config.max_memories_per_agent),
        )
        names = {*asked["steps"]} | (
            {"experiences"} if "consolidation" in asked["steps"] else set()
        )
        return [task for task in every if task.name in names]

    @property
    def _threshold(self) -> int:
        """Return how many memories make a group: a language model has a threshold of its own."""
        config = self.config
        by_model = config.strategy is ConsolidationStrategyType.LLM
        return config.llm.group_threshold if by_model else config.group_threshold

    @property
    def _context_of(self) -> Context | None:
        config = self.config
        by_model = config.strategy is ConsolidationStrategyType.LLM
        return self._context if by_model and config.llm.include_distillation_context else None

    async def _context(self, agent_key: int) -> Sequence[str]:
        most = self.config.llm.max_trajectory_context_entries
        return await self.db.read(by_tag.newest_texts, agent_key, DISTILLATION_TAG, most)

    async def _shorten(self, texts: Sequence[SessionText]) -> tuple[str, Sequence[int]]:
        model = self._asked()
        if model is None:
            return await self._by_rule(texts)
        bounds = self.config.llm
        read = fitting(
            texts,
            each_max=bounds.max_entry_input_chars,
            chars_max=bounds.max_total_user_content_chars,
        )
        answer = await summarised(model, list(read.values()))
        return await self._by_rule(texts) if answer is None else (answer, list(read))

    async def _by_rule(self, texts: Sequence[SessionText]) -> tuple[str, Sequence[int]]:
        return await self.work.run(by_rule, texts), range(len(texts))

    def _asked(self) -> Model | None:
        bounds = self.config.llm
        return connected(
            self.provider,
            self.model,
            temperature=bounds.temperature,
            max_tokens=bounds.max_summary_tokens,
        )

    async def _cutoffs(self, agent_id: str, now_us: int) -> Mapping[MemoryCategory, int]:
        caller = Caller(client=CLIENT, agent_id=agent_id, method="sleep.run")
        own = await self.agents.get(caller)
        limits = cutoffs(self.config.retention, own, from_us(now_us))
        return {category: to_us(moment) for category, moment in limits.items()}
