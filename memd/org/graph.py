"""Answer questions about the graph of statements about things (SPEC D13, graph_rag).

A thing is a node, a statement an edge. Each step of an answer quotes its evidence. Statements that
the caller may not read are invisible, and so are the names of things in them. A walk examines
at most WALK_EDGES_MAX edges, and its answer says if it was truncated.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from memd.base.clock import Clock, to_us
from memd.base.errors import OrgMemoryQueryError
from memd.base.limits import WALK_EDGES_MAX
from memd.domain.caller import Caller
from memd.domain.enums import OrgFactCategory
from memd.domain.org.graph import (
    NOW,
    GraphAnswer,
    GraphAnswers,
    GraphPaths,
    Moment,
    Neighbours,
    StoredTriple,
    fold_name,
)
from memd.org import graph_question, graph_search, graph_view
from memd.org.fact_reader import ReadRules, category_access
from memd.org.graph_question import Hop
from memd.org.graph_search import ReachedThing, shortest_paths, sort_by_trust
from memd.store.file.connect import Reading
from memd.store.file.database import Database
from memd.store.org import graph
from memd.store.org.graph import Edge, StatementFilter

NEAR_HOPS = 3
"""Length of the paths to nearby things, for a question without a reading that leads anywhere."""
LINES_MAX = 5
"""Lines of a prompt."""

Add = Callable[[Caller, str], Awaitable[StoredTriple]]
"""Stores the text of a triple as a memory of the caller, and extracts its statement."""


@dataclass(frozen=True)
class Graph:
    """Answers questions about the graph."""

    db: Database
    clock: Clock
    add_text: Add
    read_access: ReadRules = field(default_factory=dict)
    """The seniority needed to read a category of facts (``org_memory.read_access``)."""

    async def neighbours(
        self,
        caller: Caller,
        name: str,
        limit: int = 50,
        *,
        at: Moment = NOW,
    ) -> Neighbours:
        """Return the statements about a thing, most trusted and newest first.

        Raises OrgMemoryQueryError for an unknown thing.
        """

        def work(conn: Reading) -> Neighbours:
            filters = self._visible(conn, caller, at)
            key, known_name = _find_thing(conn, filters, name, "name")
            edges, examined = graph.list_edges(conn, filters, [key])
            edges.sort(key=lambda edge: (-edge.trust, -edge.statement_key))
            return Neighbours(
                name=known_name,
                items=graph_view.to_statements(conn, edges[:limit]),
                truncated=examined == WALK_EDGES_MAX or len(edges) > limit,
            )

        return await self.db.read(work)

    async def path(
        self,
        caller: Caller,
        source: str,
        target: str,
        *,
        hops: int = 4,
        limit: int = 5,
        at: Moment = NOW,
    ) -> GraphPaths:
        """Return the shortest paths between two things, of at most *hops* statements.

        The most trusted come first. Raises OrgMemoryQueryError for an unknown thing.
        """

        def work(conn: Reading) -> GraphPaths:
            filters = self._visible(conn, caller, at)
            start, _ = _find_thing(conn, filters, source, "source")
            goal, _ = _find_thing(conn, filters, target, "target")
            walk = graph.walk_between(conn, filters, start, goal, hops)
            paths = shortest_paths(walk.edges.values(), start, goal, hops=hops, limit=limit)
            things = [ReachedThing(goal, start, path) for path in paths]
            return GraphPaths(
                items=tuple(graph_view.to_paths(conn, things).values()), truncated=walk.truncated
            )

        return await self.db.read(work)

    async def query(
        self,
        caller: Caller,
        question: str,
        *,
        limit: int = 10,
        at: Moment = NOW,
    ) -> GraphAnswers:
        """Return the things that answer a question.

        They are reached from the things that the question names, along the relations that it asks
        for. If these lead nowhere, nearby things are returned, with ``follows`` False.
        """

        def work(conn: Reading) -> GraphAnswers:
            filters = self._visible(conn, caller, at)
            return _answer(conn, filters, question, limit)

        return await self.db.read(work)

    async def add(self, caller: Caller, subject: str, relation: str, object_: str) -> StoredTriple:
        """Store a triple as the text of a memory, which is the evidence of its statement.

        Raises OrgMemoryQueryError for names that would not be parsed back unchanged.
        """
        return await self.add_text(caller, graph_view.render_triple(subject, relation, object_))

    async def render_lines(self, caller: Caller, question: str) -> tuple[str, ...]:
        """Return the answers to a question as lines for a prompt, best first.

        Each line is a path with its evidence. Things that are only nearby are left out.
        """
        answers = await self.query(caller, question, limit=LINES_MAX)
        return tuple(graph_view.render_path(item.path) for item in answers.items if item.follows)

    async def find_fact_ids(self, caller: Caller, context: str, limit: int) -> tuple[str, ...]:
        """Return the ids of facts on paths from the things in *context*, nearest first.

        The backend graph_rag adds them to the results of ``org.query``.
        """

        def work(conn: Reading) -> tuple[str, ...]:
            filters = self._visible(conn, caller, NOW)
            answers = _answer(conn, filters, context, limit=graph_search.NEAR_MAX)
            ids = (
                step.evidence.fact_id
                for item in sorted(answers.items, key=lambda item: len(item.path.steps))
                for step in item.path.steps
            )
            return tuple(dict.fromkeys(fact_id for fact_id in ids if fact_id is not None))[:limit]

        return await self.db.read(work)

    def _visible(self, conn: Reading, caller: Caller, at: Moment) -> StatementFilter:
        """Return the filter of the statements that *caller* may read, as of the times *at*."""
        now_us = self.clock.now_us()
        known_us = to_us(at.known)
        readable = category_access(conn, self.read_access, caller).at(
            now_us if known_us is None else known_us
        )
        return graph.visible_to(
            conn,
            caller,
            now_us,
            categories=None if readable >= frozenset(OrgFactCategory) else readable,
            valid_us=to_us(at.valid),
            known_us=known_us,
        )


def _find_thing(
    conn: Reading, filters: StatementFilter, name: str, field_name: str
) -> tuple[int, str]:
    """Return the key and the name of the thing *name*; raises OrgMemoryQueryError."""
    things = graph.find_things(conn, filters, [fold_name(name)])
    if not things:
        raise OrgMemoryQueryError(
            "nothing is known of a thing with this name",
            field=field_name,
            hint="ask about it in words: memd search",
        )
    return next(iter(things.values()))


@dataclass
class _EdgeCache:
    """Looks up the edges that a question's readings follow, each only once.

    All lookups together examine at most WALK_EDGES_MAX edges.
    """

    conn: Reading
    filters: StatementFilter
    edges_left: int = WALK_EDGES_MAX
    edges: dict[tuple[int, str, bool], list[Edge]] = field(default_factory=dict)

    def along(self, keys: Sequence[int], hop: Hop) -> Mapping[int, Sequence[Edge]]:
        """Return the edges that *hop* follows from each thing in *keys*, most trusted first."""
        new = [key for key in keys if (key, hop.relation, hop.forward) not in self.edges]
        for key in new:
            self.edges[key, hop.relation, hop.forward] = []
        end = graph.SUBJECT if hop.forward else graph.OBJECT
        rows, examined = graph.list_edges(
            self.conn,
            self.filters,
            new,
            relations=[hop.relation],
            ends=[end],
            edges_max=self.edges_left,
        )
        self.edges_left -= examined
        for edge in sort_by_trust(rows):
            from_key = edge.subject_key if hop.forward else edge.object_key
            self.edges[from_key, hop.relation, hop.forward].append(edge)
        return {key: self.edges[key, hop.relation, hop.forward] for key in keys}


def _answer(conn: Reading, filters: StatementFilter, question: str, limit: int) -> GraphAnswers:
    """Return at most *limit* answers: along the best reading, or else nearby things by words."""
    words = graph_question.split_words(question)
    places = graph_question.name_candidates(words)
    things_by_name = graph.find_things(conn, filters, list(places))
    mentions = graph_question.find_mentions(words, places, things_by_name)
    cues = graph_question.find_cues(words, mentions)
    edges = _EdgeCache(conn, filters)
    keys = {mention.name: things_by_name[mention.name][0] for mention in mentions}
    reading, things = graph_search.follow_readings(
        edges.along, graph_question.find_readings(words, mentions, cues), keys
    )
    truncated = edges.edges_left <= 0
    if reading is not None:
        relations = tuple(hop.relation for hop in reading.hops)
        scored = [(_score(thing), thing) for thing in things[:limit]]
    else:
        relations = tuple(dict.fromkeys(cue.readings[0][0] for cue in cues if not cue.weak))
        walk = graph.walk(conn, filters, list(keys.values()), NEAR_HOPS)
        truncated = truncated or walk.truncated
        nearby = graph_search.find_nearby(walk.edges.values(), list(keys.values()), NEAR_HOPS)
        scored = graph_view.rank_by_words(conn, nearby, words, mentions, relations)[:limit]
    paths = graph_view.to_paths(conn, [thing for _, thing in scored])
    items = tuple(
        GraphAnswer(
            name=paths[thing].things[-1],
            path=paths[thing],
            follows=reading is not None,
            score=score,
        )
        for score, thing in scored
        if thing in paths
    )
    return GraphAnswers(
        about=tuple(things_by_name[mention.name][1] for mention in mentions),
        relations=relations,
        items=items,
        truncated=truncated,
    )


def _score(thing: ReachedThing) -> float:
    """Return the score of a thing by the trust of its path: 1 for the owner's statements."""
    return (1.0, 0.9, 0.5)[2 - thing.trust]
