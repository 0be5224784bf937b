"""A graph in which nothing is known, for tests of the socket in front of it."""

from __future__ import annotations

from memd.domain.caller import Caller
from memd.domain.org.graph import NOW, Added, GraphAnswers, GraphPaths, Moment, Neighbours


class FakeGraph:
    """Knows nothing, and says so."""

    async def neighbours(
        self, caller: Caller, name: str, limit: int = 50, *, at: Moment = NOW
    ) -> Neighbours:
        del caller, limit, at
        return Neighbours(name=name, items=())

    async def path(  # as the room has it
        self,
        caller: Caller,
        source: str,
        target: str,
        *,
        hops: int = 4,
        limit: int = 5,
        at: Moment = NOW,
    ) -> GraphPaths:
        del caller, source, target, hops, limit, at
        return GraphPaths(items=())

    async def query(
        self, caller: Caller, question: str, *, limit: int = 10, at: Moment = NOW
    ) -> GraphAnswers:
        del caller, question, limit, at
        return GraphAnswers(about=())

    async def add(self, caller: Caller, subject: str, relation: str, object_: str) -> Added:
        del caller, subject, relation, object_
        return Added(memory_id="m000000", statement_id="s000000")
