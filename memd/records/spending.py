"""Cost records of the language model: one for each completion, by purpose."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from memd.base.clock import Clock, from_us, to_us
from memd.base.ids import Ids
from memd.domain.caller import Caller
from memd.llm.provider import INTERACTIVE_PURPOSES, Purpose
from memd.records.entities import ENTITIES
from memd.records.models import CostRecord, Task, TaskStatus
from memd.records.notes import OWN, OWN_IDS
from memd.records.records import Range, Records

if TYPE_CHECKING:
    from memd.llm.llm import Cost

_CALLER = Caller(client=OWN, method="llm.complete")
_PREFIX = "memd-llm-"
_BACKGROUND = frozenset(purpose.value for purpose in Purpose if purpose not in INTERACTIVE_PURPOSES)


class Spending:
    """Writes the costs of completions, and reads those of the last day."""

    def __init__(self, records: Records, ids: Ids, clock: Clock, provider: str) -> None:
        self._records = records
        self._ids = ids
        self._clock = clock
        self._provider = provider
        self._tasks: set[str] = set()

    async def note(self, cost: Cost) -> None:
        """Store the cost of a completion; memd knows tokens but no prices, so its cost is 0."""
        purpose = cost.request.purpose.value
        record = CostRecord(
            id=OWN_IDS + self._ids.new(),
            agent_id=cost.request.agent_id,
            task_id=await self._task(purpose),
            provider=self._provider,
            model=cost.model or "unknown",
            input_tokens=cost.usage.input_tokens,
            output_tokens=cost.usage.output_tokens,
            cost=0.0,
            timestamp=from_us(cost.at_us),
            call_category=purpose,
        )
        await self._records.save(_CALLER, ENTITIES["cost_records"], record)

    async def past(self) -> list[tuple[int, int]]:
        """Return time and tokens of each background completion of the last 24 hours, in order."""
        since = from_us(self._clock.now_us()) - timedelta(days=1)
        records: list[CostRecord] = []
        for purpose in sorted(_BACKGROUND):
            where = {"task_id": f"{_PREFIX}{purpose}"}
            costs = ENTITIES["cost_records"]
            records += await self._records.list(_CALLER, costs, where, times=Range(since))
        spent = (
            (to_us(record.timestamp), record.input_tokens + record.output_tokens)
            for record in records
        )
        return sorted(spent)

    async def _task(self, purpose: str) -> str:
        """Return the id of the task that represents *purpose*, creating it if needed."""
        task_id = f"{_PREFIX}{purpose}"
        if task_id not in self._tasks:
            tasks = ENTITIES["tasks"]
            if await self._records.get(_CALLER, tasks, [task_id]) is None:
                task = Task(
                    id=task_id,
                    title=f"memd's language model: {purpose}",
                    type="language_model",
                    project="memd",
                    created_by="memd",
                    status=TaskStatus.IN_PROGRESS,
                )
                await self._records.save(_CALLER, tasks, task)
            self._tasks.add(task_id)
        return task_id
