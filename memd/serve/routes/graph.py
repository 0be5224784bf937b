"""``graph.*``: statements about entities, and the paths between them.

Hops and limits are bounded here, so every walk terminates.
"""

from __future__ import annotations

from pydantic import Field

from memd.base.limits import PAGE_ITEMS_MAX, WALK_HOPS_MAX, WALK_PATHS_MAX
from memd.domain.org.graph import GraphAnswers, GraphPaths, Moment, Neighbours, StoredTriple
from memd.domain.values import Name, Query, Time
from memd.serve.routes.routes import AgentParams, Context, Router, WriteParams

router = Router()


class MomentParams(AgentParams):
    """Statements valid now or at *as_of*, as known now or at *known_at*."""

    as_of: Time | None = None
    known_at: Time | None = None

    @property
    def moment(self) -> Moment:
        """Return both times."""
        return Moment(self.as_of, self.known_at)


class AddTripleParams(WriteParams):
    """Two entities and their relation; stored as a memory, which is the evidence."""

    subject: Name
    relation: Name
    object: Name


class NeighboursParams(MomentParams):
    """The entity *name*, and how many statements about it."""

    name: Name
    limit: int = Field(default=50, ge=1, le=PAGE_ITEMS_MAX)


class PathParams(MomentParams):
    """Two entities: at most *limit* paths of at most *hops* between them."""

    source: Name
    target: Name
    hops: int = Field(default=4, ge=1, le=WALK_HOPS_MAX)
    limit: int = Field(default=5, ge=1, le=WALK_PATHS_MAX)


class GraphQueryParams(MomentParams):
    """A question in plain words."""

    question: Query
    limit: int = Field(default=10, ge=1, le=WALK_PATHS_MAX)


@router.method("graph.add", "Add a relation; stored as a memory.", scope="write")
async def add(context: Context, params: AddTripleParams) -> StoredTriple:
    return await context.rooms.graph.add(
        context.caller, params.subject, params.relation, params.object
    )


@router.method("graph.neighbours", "List the relations of an entity.")
async def neighbours(context: Context, params: NeighboursParams) -> Neighbours:
    return await context.rooms.graph.neighbours(
        context.caller, params.name, params.limit, at=params.moment
    )


@router.method("graph.path", "Find the shortest paths between two entities.")
async def path(context: Context, params: PathParams) -> GraphPaths:
    return await context.rooms.graph.path(
        context.caller,
        params.source,
        params.target,
        hops=params.hops,
        limit=params.limit,
        at=params.moment,
    )


@router.method("graph.query", "Answer a question along the relations of its entities.")
async def query(context: Context, params: GraphQueryParams) -> GraphAnswers:
    return await context.rooms.graph.query(
        context.caller, params.question, limit=params.limit, at=params.moment
    )
