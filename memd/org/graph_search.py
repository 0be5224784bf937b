"""Search the graph for paths: along the relations of a question, or between two things. Pure.

The readings of a question are tried from the likeliest on. The first that leads anywhere gives the
answers, each with its path. If none does, nearby things are ranked by the overlap of their evidence
with the question.

A path is a tuple of edges in walking order; an edge may be walked against its direction. No thing
is on a path twice. Parallel edges give different paths. An edge *is* ("the CTO is Ann") may be
walked before any relation without being asked for. Edges of untrusted texts are walked last, and
the trust of a path is that of its least trusted edge.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

from memd.domain.enums import Trust
from memd.domain.org.graph import fold_name
from memd.org.graph_question import Hop, QuestionReading, stem
from memd.store.org.graph import Edge

EdgePath = tuple[Edge, ...]


def shortest_paths(
    edges: Iterable[Edge], start: int, goal: int, *, hops: int, limit: int
) -> tuple[EdgePath, ...]:
    """Return up to *limit* of the shortest paths, at most *hops* long, the most trusted first.

    Equally trusted paths are ordered by their statements. A thing has no path to itself.
    """
    edges = list(edges)
    all_edges = edges_by_thing(edges)
    lengths = _distances(all_edges, goal, start, hops)
    distance = lengths.get(start, 0)
    paths: list[EdgePath] = []
    if start == goal or not distance:
        return ()
    trusts = sorted({edge.trust for edge in edges}, reverse=True)
    for trust in trusts:
        # Only steps that reduce the distance to the goal are walked, so every walk arrives there.
        # Distances are computed anew without the less trusted edges, for the same reason.
        adjacent, distances = all_edges, lengths
        if trust > trusts[-1]:
            adjacent = edges_by_thing(edge for edge in edges if edge.trust >= trust)
            distances = _distances(adjacent, goal, start, hops)
        if distances.get(start) != distance:
            continue
        for path in _iter_descents(adjacent, distances, start):
            if least_trust(path) == trust:
                paths.append(path)
            if len(paths) == limit:
                return tuple(paths)
    return tuple(paths)


def least_trust(path: Sequence[Edge]) -> int:
    """Return the trust of the least trusted edge, which is the trust of the path."""
    return min([edge.trust for edge in path], default=0)


def things_along(path: Sequence[Edge], start: int) -> tuple[int, ...]:
    """Return the things on a path from *start*, one more than it has edges."""
    things = [start]
    for edge in path:
        things.append(other_end(edge, things[-1]))
    return tuple(things)


def other_end(edge: Edge, key: int) -> int:
    """Return the end of *edge* that is not *key*."""
    return edge.object_key if edge.subject_key == key else edge.subject_key


def sort_by_trust(edges: Iterable[Edge]) -> list[Edge]:
    """Return *edges* in walking order: by trust, the oldest first among equals."""
    ordered = sorted(edges, key=attrgetter("statement_key"))
    ordered.sort(key=attrgetter("trust"), reverse=True)
    return ordered


def edges_by_thing(edges: Iterable[Edge]) -> dict[int, list[Edge]]:
    """Return the edges of each thing, the most trusted first."""
    edges_by: dict[int, list[Edge]] = defaultdict(list)
    for edge in sort_by_trust(edges):
        edges_by[edge.subject_key].append(edge)
        if edge.object_key != edge.subject_key:
            edges_by[edge.object_key].append(edge)
    return edges_by


def _distances(
    adjacent: Mapping[int, Sequence[Edge]], goal: int, start: int, hops: int
) -> dict[int, int]:
    """Return the distances of things to *goal*, up to *hops* or to the distance of *start*."""
    distances = {goal: 0}
    frontier = [goal]
    for distance in range(1, hops + 1):
        if start in distances:
            break
        reached: list[int] = []
        for key in frontier:
            for edge in adjacent.get(key, ()):
                other = other_end(edge, key)
                if other not in distances:
                    distances[other] = distance
                    reached.append(other)
        frontier = reached
    return distances


def _iter_descents(
    adjacent: Mapping[int, Sequence[Edge]], distances: Mapping[int, int], start: int
) -> Iterator[EdgePath]:
    """Yield every path from *start* on which each edge reduces the distance to the goal."""
    stack: list[tuple[int, EdgePath]] = [(start, ())]
    while stack:
        key, path = stack.pop()
        remaining = distances[key]
        if remaining == 0:
            yield path
            continue
        onward = [
            (other, (*path, edge))
            for edge in adjacent.get(key, ())
            if distances.get(other := other_end(edge, key)) == remaining - 1
        ]
        stack.extend(reversed(onward))


PATHS_TO_ONE_MAX = 3
"""Paths to one thing that are extended, which bounds the cost of a walk."""
NEAR_MAX = 200
"""Nearby things that are considered when no reading leads anywhere."""
SAME = "is"
"""The relation between two names of one thing."""

# Relations that answer a question if no statement has the relation itself.
IMPLIED: Mapping[str, tuple[str, ...]] = {
    "uses": ("standardises_on", "prefers"),
    "standardises_on": ("uses",),
    "requires": ("depends_on",),
    "depends_on": ("requires",),
    "member_of": ("part_of",),
    "part_of": ("member_of",),
    "is_a": ("is",),
}


class ReachedThing(NamedTuple):
    """The thing *key*, and a path to it from the thing *start*."""

    key: int
    start: int
    path: EdgePath

    @property
    def trust(self) -> int:
        """The trust of the least trusted edge."""
        return least_trust(self.path)

    @property
    def rank(self) -> tuple[int, int]:
        """The sort key: shorter paths first, then more trusted ones."""
        return len(self.path), -self.trust


EdgeLookup = Callable[[Sequence[int], Hop], Mapping[int, Sequence[Edge]]]
"""Returns the edges that a hop follows from each of several things, the most trusted first."""


def follow_readings(
    look_up: EdgeLookup, readings: Sequence[QuestionReading], keys: Mapping[str, int]
) -> tuple[QuestionReading | None, tuple[ReachedThing, ...]]:
    """Return the likeliest reading that leads anywhere, and the things reached, most trusted first.

    Readings of equal cost contribute their things together. Implied relations are only followed if
    no reading leads anywhere without them. *keys* are the keys of things by folded name.
    """
    for implied in (False, True):
        answers: list[ReachedThing] = []
        best: QuestionReading | None = None
        for reading in readings:
            if best is not None and reading.cost > best.cost:
                break
            things = _follow(look_up, keys[reading.mention.name], reading.hops, implied=implied)
            if things:
                best = best or reading
                answers.extend(things)
        if best is not None:
            return best, _deduplicate(answers)
    return None, ()


def _follow(
    look_up: EdgeLookup, start: int, hops: Sequence[Hop], *, implied: bool
) -> list[ReachedThing]:
    """Return the things reached from *start* along *hops*, or *implied* relations instead."""
    paths = [_PartialPath(start, (), int(Trust.OWNER))]
    for hop in hops:
        alternatives = [hop]
        if implied:
            alternatives += [
                hop._replace(relation=other) for other in IMPLIED.get(hop.relation, ())
            ]
        paths = _extend(look_up, start, _extend_by_names(look_up, start, paths), alternatives)
        if not paths:
            break
    return [ReachedThing(path.key, start, path.path) for path in paths]


class _PartialPath(NamedTuple):
    """A path so far, to the thing *key*, and its trust."""

    key: int
    path: EdgePath
    trust: int


def _extend(
    look_up: EdgeLookup, start: int, paths: Sequence[_PartialPath], alternatives: Sequence[Hop]
) -> list[_PartialPath]:
    """Return *paths*, each extended by an edge of any of the hops in *alternatives*.

    Only the first PATHS_TO_ONE_MAX paths to each thing are kept; trusted paths are extended first.
    """
    extended: dict[int, list[_PartialPath]] = defaultdict(list)
    keys = list(dict.fromkeys(path.key for path in paths))
    by_trust = sorted(paths, key=attrgetter("trust"), reverse=True)
    for hop in alternatives:
        edges = look_up(keys, hop)
        for key, path, trust in by_trust:
            visited: set[int] | None = None  # computed only for an edge that matches
            for edge in edges.get(key, ()):
                other = other_end(edge, key)
                to_other = extended[other]
                if len(to_other) >= PATHS_TO_ONE_MAX or not _matches(edge, hop):
                    continue
                visited = visited or _things_of(start, path)
                if other not in visited:
                    to_other.append(_PartialPath(other, (*path, edge), min(trust, edge.trust)))
    return list(chain.from_iterable(extended.values()))


def _extend_by_names(
    look_up: EdgeLookup, start: int, paths: Sequence[_PartialPath]
) -> list[_PartialPath]:
    """Return *paths*, and those extended by an edge *is* to another name of the reached thing."""
    same = [Hop(SAME, forward=True), Hop(SAME, forward=False)]
    open_ended = [path for path in paths if not path.path or path.path[-1].relation != SAME]
    return [*paths, *_extend(look_up, start, open_ended, same)]


def _matches(edge: Edge, hop: Hop) -> bool:
    """Return whether *hop* may walk *edge*, which has its relation."""
    if bool(edge.negated) is not hop.negated:
        return False
    return hop.word is None or hop.word in map(stem, fold_name(edge.qualifier or "").split())


def _things_of(start: int, path: EdgePath) -> set[int]:
    return {start, *(key for edge in path for key in (edge.subject_key, edge.object_key))}


def _deduplicate(things: Iterable[ReachedThing]) -> tuple[ReachedThing, ...]:
    """Return each thing once, with its most trusted, then shortest path."""
    best: dict[int, ReachedThing] = {}
    for thing in sorted(things, key=lambda thing: (-thing.trust, len(thing.path))):
        best.setdefault(thing.key, thing)
    return tuple(best.values())


def find_nearby(
    edges: Iterable[Edge], starts: Collection[int], hops: int
) -> tuple[ReachedThing, ...]:
    """Return the things within *hops* of *starts*, each with its shortest, most trusted path.

    At most NEAR_MAX, the nearest first.
    """
    adjacent = edges_by_thing(edges)
    things: dict[int, ReachedThing] = {start: ReachedThing(start, start, ()) for start in starts}
    frontier = list(things.values())
    for _ in range(hops):
        reached: dict[int, ReachedThing] = {}
        for thing in frontier:
            for edge in adjacent.get(thing.key, ()):
                new = ReachedThing(other_end(edge, thing.key), thing.start, (*thing.path, edge))
                other = things.get(new.key) or reached.get(new.key)
                if other is None or other.rank > new.rank:
                    reached[new.key] = new
        things |= reached
        frontier = list(reached.values())
        if len(things) > NEAR_MAX:
            break
    return tuple(thing for thing in things.values() if thing.path)[:NEAR_MAX]
