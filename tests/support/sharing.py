"""A room of shared memories that remembers in a dict."""

from __future__ import annotations

from dataclasses import dataclass, field

from memd.domain.caller import Caller
from memd.domain.memory import MemoryStoreRequest


@dataclass
class FakeSharing:
    """Keeps who published what, by id."""

    published: dict[str, str] = field(default_factory=dict)

    async def publish(self, caller: Caller, request: MemoryStoreRequest) -> str:
        del request
        memory_id = f"s{len(self.published):06}"
        self.published[memory_id] = caller.agent_id
        return memory_id

    async def retract(self, caller: Caller, memory_id: str) -> bool:
        return self.published.pop(memory_id, None) == caller.agent_id
