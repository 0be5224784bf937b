"""The params of ``shared.*``."""

from __future__ import annotations

from memd.model.memory import MemoryQuery, MemoryStoreRequest
from memd.model.values import Name
from memd.rpc.params import Params, Writing


class Publish(MemoryStoreRequest, Writing):
    """One text, shared in the agent's name."""


class SearchShared(MemoryQuery, Params):
    """A search of what agents share; what *exclude_agent* published is left out."""

    exclude_agent: Name | None = None


class Retract(Writing):
    """The shared memory to take back, by its id."""

    id: Name
