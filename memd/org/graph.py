"""The graph: what texts say about things, walked from thing to thing (SPEC D13, graph_rag).

Nothing is answered without evidence: every step of every way shows the words that
say it, and where they stand. What the caller could not read does not exist here,
not even as a name. Every walk looks at WALK_EDGES_MAX edges at most and says when
that was not all.
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
    Added,
    GraphAnswer,
    GraphAnswers,
    GraphPaths,
    Moment,
    Neighbours,
    folded,
)
from memd.org import answers, asking, shown
from memd.org.answers import ReachedThing, most_trusted_first, shortest
from memd.org.asking import Hop
from memd.org.reading import ReadRules, sight
from memd.store.file.connect import Reading
from memd.store.file.database import Database
from memd.store.org import graph
from memd.store.org.graph import Edge, StatementFilter

NEAR_HOPS = 3

Add = Callable[[Caller, str], Awaitable[Added]]
"""Stores the text of a triple as a memory of the caller's, and learns from it."""


@dataclass(frozen=True)
class Graph:
    """The room's needs, handed in by the daemon."""

    db: Database
    clock: Clock
    add_text: Add
    read_access: ReadRules = field(default_factory=dict)
    """How senior an agent must be to read a category of facts (``org_memory.read_access``)."""

    async def neighbours(
        self,
        caller: Caller,
        name: str,
        limit: int = 50,
        *,
        at: Moment = NOW,
    ) -> Neighbours:
        """Return what is said about a thing, most trusted and newest first.

        Raises OrgMemoryQueryError for a thing that nothing is known of.
        """

        def work(conn: Reading) -> Neighbours:
            seen = self._sight(conn, caller, at)
            key, known = _thing(conn, seen, name, "name")
            edges, looked_at = graph.around(conn, seen, [key])
            edges.sort(key=lambda edge: (-edge.trust, -edge.statement_key))
            cut = looked_at == WALK_EDGES_MAX or len(edges) > limit
            return Neighbours(
                name=known, items=shown.as_statements(conn, edges[:limit]), truncated=cut
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
        """Return the shortest ways from one thing to another, *hops* long at most.

        The most trusted come first. Raises OrgMemoryQueryError for a thing that
        nothing is known of.
        """

        def work(conn: Reading) -> GraphPaths:
            seen = self._sight(conn, caller, at)
            start, _ = _thing(conn, seen, source, "source")
            goal, _ = _thing(conn, seen, target, "target")
            walked = graph.between(conn, seen, start, goal, hops)
            ways = shortest(walked.edges.values(), start, goal, hops=hops, limit=limit)
            things = [ReachedThing(goal, start, way) for way in ways]
            return GraphPaths(
                items=tuple(shown.paths(conn, things).values()), truncated=walked.truncated
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
        """Return what the things in a question lead to along the relations it asks for.

        A question that names no thing, or leads nowhere, has no answers that follow it;
        what is near its things is given instead, and says so (``follows``).
        """

        def work(conn: Reading) -> GraphAnswers:
            seen = self._sight(conn, caller, at)
            return _answered(conn, seen, question, limit)

        return await self.db.read(work)

    async def add(self, caller: Caller, subject: str, relation: str, object_: str) -> Added:
        """Store a triple as a memory of the caller's: the memory's text is its evidence.

        Raises OrgMemoryQueryError for names that would not be read back as they are.
        """
        return await self.add_text(caller, shown.triple(subject, relation, object_))

    async def lines(self, caller: Caller, question: str, limit: int = 5) -> tuple[str, ...]:
        """Return what the graph has for a question as lines for a prompt, best first.

        Each is a way with the words that say it. Only what follows the question; what is
        merely near is left to search.
        """
        result = await self.query(caller, question, limit=limit)
        return tuple(shown.line(item.path) for item in result.items if item.follows)

    async def facts(self, caller: Caller, context: str, limit: int) -> tuple[str, ...]:
        """Return the facts on the ways from the things in *context*, nearest first, by id.

        What ``org.query`` adds to its words under the backend graph_rag.
        """

        def work(conn: Reading) -> tuple[str, ...]:
            seen = self._sight(conn, caller, NOW)
            entries = _answered(conn, seen, context, limit=answers.NEAR_MAX)
            ids = (
                step.evidence.fact_id
                for item in sorted(entries.items, key=lambda item: len(item.path.steps))
                for step in item.path.steps
            )
            return tuple(dict.fromkeys(one for one in ids if one is not None))[:limit]

        return await self.db.read(work)

    def _sight(self, conn: Reading, caller: Caller, at: Moment) -> StatementFilter:
        now_us = self.clock.now_us()
        known_us = None if at.known is None else to_us(at.known)
        may = sight(conn, self.read_access, caller).at(now_us if known_us is None else known_us)
        return graph.sight(
            conn,
            caller,
            now_us,
            categories=None if may >= frozenset(OrgFactCategory) else may,
            valid_us=None if at.valid is None else to_us(at.valid),
            known_us=known_us,
        )


def _thing(conn: Reading, seen: StatementFilter, name: str, field_name: str) -> tuple[int, str]:
    things = graph.things(conn, seen, [folded(name)])
    if not things:
        raise OrgMemoryQueryError(
            "nothing is known of a thing of this name",
            field=field_name,
            hint="ask about it in words: memd search",
        )
    return next(iter(things.values()))


@dataclass
class _Edges:
    """The edges that readings follow, each looked up once, all of them under one bound."""

    conn: Reading
    seen: StatementFilter
    left: int = WALK_EDGES_MAX
    known: dict[tuple[int, str, bool], list[Edge]] = field(default_factory=dict)

    def along(self, keys: Sequence[int], hop: Hop) -> Mapping[int, Sequence[Edge]]:
        """Return the edges that *hop* follows from each of *keys*, the most trusted first."""
        new = [key for key in keys if (key, hop.relation, hop.forward) not in self.known]
        for key in new:
            self.known[key, hop.relation, hop.forward] = []
        end = graph.SUBJECT if hop.forward else graph.OBJECT
        rows, looked_at = graph.around(
            self.conn, self.seen, new, relations=[hop.relation], ends=[end], edges_max=self.left
        )
        self.left -= looked_at
        for edge in most_trusted_first(rows):
            from_key = edge.subject_key if hop.forward else edge.object_key
            self.known[from_key, hop.relation, hop.forward].append(edge)
        return {key: self.known[key, hop.relation, hop.forward] for key in keys}


def _answered(conn: Reading, seen: StatementFilter, question: str, limit: int) -> GraphAnswers:
    words = asking.words(question)
    places = asking.candidates(words)
    known = graph.things(conn, seen, list(places))
    named = asking.mentions(words, places, known)
    asked = asking.cues(words, named)
    edges = _Edges(conn, seen)
    keys = {one.name: known[one.name][0] for one in named}
    reading, things = answers.following(edges.along, asking.readings(words, named, asked), keys)
    truncated = edges.left <= 0
    if reading is not None:
        relations = tuple(hop.relation for hop in reading.hops)
        scored = [(_score(one), one) for one in things[:limit]]
    else:
        relations = tuple(dict.fromkeys(cue.readings[0][0] for cue in asked if not cue.weak))
        walked = graph.walk(conn, seen, list(keys.values()), NEAR_HOPS)
        truncated = truncated or walked.truncated
        around = answers.near(walked.edges.values(), list(keys.values()), NEAR_HOPS)
        scored = shown.by_words(conn, around, words, named, relations)[:limit]
    paths = shown.paths(conn, [one for _, one in scored])
    items = tuple(
        GraphAnswer(
            name=paths[one].things[-1], path=paths[one], follows=reading is not None, score=score
        )
        for score, one in scored
        if one in paths
    )
    return GraphAnswers(
        about=tuple(known[one.name][1] for one in named),
        relations=relations,
        items=items,
        truncated=truncated,
    )


def _score(one: ReachedThing) -> float:
    """Return 1 for what the owner says, less for what is trusted less."""
    return (1.0, 0.9, 0.5)[2 - one.trust]
