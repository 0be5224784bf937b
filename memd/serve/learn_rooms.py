"""What the handlers need of the rooms of what is learnt and what is shared, as protocols."""

from __future__ import annotations

from typing import Protocol

from memd.model.caller import Caller
from memd.model.learn import Learning, PlaybookEntry, PlaybookQuery, SuccessReport, TaskReport
from memd.model.memory import MemoryStoreRequest
from memd.model.synthesis import SynthesisRequest, Synthesized


class Learn(Protocol):
    """What became of tasks, and patterns that worked."""

    async def outcome(self, caller: Caller, task: TaskReport) -> Learning: ...
    async def success(self, caller: Caller, report: SuccessReport) -> PlaybookEntry: ...
    async def latest(self, caller: Caller, limit: int = ...) -> tuple[Learning, ...]: ...
    async def playbook(
        self, caller: Caller, wanted: PlaybookQuery
    ) -> tuple[PlaybookEntry, ...]: ...


class Synthesis(Protocol):
    """One block of all sources."""

    async def block(self, caller: Caller, request: SynthesisRequest) -> Synthesized: ...


class Sharing(Protocol):
    """What agents share."""

    async def publish(self, caller: Caller, request: MemoryStoreRequest) -> str: ...
    async def retract(self, caller: Caller, memory_id: str) -> bool: ...
