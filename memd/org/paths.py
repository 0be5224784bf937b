"""Ways between two things over edges that a walk has seen. Pure.

A way is a list of edges in walking order; each edge may be walked against its
direction. All shortest ways are found, parallel edges apart, and no thing lies on
one twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter

from memd.store.org.graph import Edge

Way = tuple[Edge, ...]


def shortest(
    edges: Iterable[Edge], start: int, goal: int, *, hops: int, limit: int
) -> tuple[Way, ...]:
    """Return up to *limit* shortest ways of at most *hops*, the most trusted first.

    Equally trusted ones come in the order of their statements. From a thing to
    itself there is none.
    """
    edges = list(edges)
    everything = beside(edges)
    lengths = _distances(everything, goal, start, hops)
    distance = lengths.get(start, 0)
    found: list[Way] = []
    if start == goal or not distance:
        return ()
    trusts = sorted({edge.trust for edge in edges}, reverse=True)
    for trust in trusts:
        # Downhill from here every way ends at the goal: none is followed in vain.
        around, before = everything, lengths
        if trust > trusts[-1]:
            around = beside(edge for edge in edges if edge.trust >= trust)
            before = _distances(around, goal, start, hops)
        if before.get(start) != distance:
            continue
        for way in _descents(around, before, start):
            if least_trust(way) == trust:
                found.append(way)
            if len(found) == limit:
                return tuple(found)
    return tuple(found)


def least_trust(way: Sequence[Edge]) -> int:
    """Return how far the least trusted edge is trusted."""
    return min([edge.trust for edge in way], default=0)


def things_on(way: Sequence[Edge], start: int) -> tuple[int, ...]:
    """Return the things on a way that begins at *start*, one more than it has edges."""
    found = [start]
    for edge in way:
        found.append(other_end(edge, found[-1]))
    return tuple(found)


def other_end(edge: Edge, key: int) -> int:
    """Return where *edge* leads from *key*."""
    return edge.object_key if edge.subject_key == key else edge.subject_key


def most_trusted_first(edges: Iterable[Edge]) -> list[Edge]:
    """Return *edges* in the order in which they are walked; of equally trusted the oldest first."""
    found = sorted(edges, key=attrgetter("statement_key"))
    found.sort(key=attrgetter("trust"), reverse=True)
    return found


def beside(edges: Iterable[Edge]) -> dict[int, list[Edge]]:
    """Return the edges at each thing, the most trusted first."""
    found: dict[int, list[Edge]] = defaultdict(list)
    for edge in most_trusted_first(edges):
        found[edge.subject_key].append(edge)
        if edge.object_key != edge.subject_key:
            found[edge.object_key].append(edge)
    return found


def _distances(
    around: Mapping[int, Sequence[Edge]], goal: int, start: int, hops: int
) -> dict[int, int]:
    """Return how far things are from *goal*: all that are no further than *start*.

    What lies more than *hops* away is not among them.
    """
    found = {goal: 0}
    frontier = [goal]
    for distance in range(1, hops + 1):
        if start in found:
            break
        reached: list[int] = []
        for key in frontier:
            for edge in around.get(key, ()):
                other = other_end(edge, key)
                if other not in found:
                    found[other] = distance
                    reached.append(other)
        frontier = reached
    return found


def _descents(
    around: Mapping[int, Sequence[Edge]], before: Mapping[int, int], start: int
) -> Iterator[Way]:
    """Yield every way on which each edge comes nearer to the goal."""
    stack: list[tuple[int, Way]] = [(start, ())]
    while stack:
        key, way = stack.pop()
        left = before[key]
        if left == 0:
            yield way
            continue
        onward = [
            (other, (*way, edge))
            for edge in around.get(key, ())
            if before.get(other := other_end(edge, key)) == left - 1
        ]
        stack.extend(reversed(onward))
