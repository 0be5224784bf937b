"""``graph.*``: what is said about things, and the ways between them."""

from __future__ import annotations

from collections.abc import Mapping

from memd.model.caller import Caller
from memd.model.graph import Added, GraphAnswers, GraphPaths, Neighbours
from memd.rpc import params_graph as p
from memd.serve.dispatch import Handler
from memd.serve.org_rooms import Graph
from memd.serve.rooms import Rooms


def handlers(rooms: Rooms) -> Mapping[str, Handler]:
    """Return the handlers of the graph."""
    graphing = Graphing(rooms.graph)
    return {
        "graph.add": graphing.add,
        "graph.neighbours": graphing.neighbours,
        "graph.path": graphing.path,
        "graph.query": graphing.query,
    }


class Graphing:
    """A view of the graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    async def add(self, caller: Caller, params: p.AddTriple) -> Added:
        return await self._graph.add(caller, params.subject, params.relation, params.object)

    async def neighbours(self, caller: Caller, params: p.Around) -> Neighbours:
        return await self._graph.neighbours(caller, params.name, params.limit, at=params.moment)

    async def path(self, caller: Caller, params: p.Between) -> GraphPaths:
        return await self._graph.path(
            caller,
            params.source,
            params.target,
            hops=params.hops,
            limit=params.limit,
            at=params.moment,
        )

    async def query(self, caller: Caller, params: p.Ask) -> GraphAnswers:
        return await self._graph.query(
            caller, params.question, limit=params.limit, at=params.moment
        )
