"""Ways between two things over edges that a walk has seen. Pure.

A way is a list of edges in walking order; each edge may be walked against its
direction. All shortest ways are found, parallel edges apart, and no thing lies on
one twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from memd.store.graph import Edge

Way = tuple[Edge, ...]


def shortest(
    edges: Iterable[Edge], start: int, goal: int, *, hops: int, limit: int
) -> tuple[Way, ...]:
    """Return up to *limit* shortest ways of at most *hops*, the most trusted first.

    Equally trusted ones come in the order of their statements. From a thing to
    itself there is none.
    """
    edges = list(edges)
    everything = _beside(edges)
    lengths = _distances(everything, goal, hops)
    distance = lengths.get(start, 0)
    found: list[Way] = []
    if start == goal or not distance:
        return ()
    least = min(edge.trust for edge in edges)
    for trust in sorted({edge.trust for edge in edges}, reverse=True):
        # Downhill from here every way ends at the goal: none is followed in vain.
        beside, before = everything, lengths
        if trust > least:
            beside = _beside(edge for edge in edges if edge.trust >= trust)
            before = _distances(beside, goal, hops)
        if before.get(start) != distance:
            continue
        for way in _descents(beside, before, start):
            if least_trust(way) == trust:
                found.append(way)
            if len(found) == limit:
                return tuple(found)
    return tuple(found)


def least_trust(way: Sequence[Edge]) -> int:
    """Return how far the least trusted edge is trusted."""
    return min((edge.trust for edge in way), default=0)


def things_on(way: Sequence[Edge], start: int) -> tuple[int, ...]:
    """Return the things on a way that begins at *start*, one more than it has edges."""
    found = [start]
    for edge in way:
        found.append(other_end(edge, found[-1]))
    return tuple(found)


def other_end(edge: Edge, key: int) -> int:
    """Return where *edge* leads from *key*."""
    return edge.object_key if edge.subject_key == key else edge.subject_key


def _beside(edges: Iterable[Edge]) -> dict[int, list[Edge]]:
    """Return the edges at each thing, the most trusted first."""
    beside: dict[int, list[Edge]] = {}
    for edge in sorted(edges, key=lambda edge: (-edge.trust, edge.statement_key)):
        for key in {edge.subject_key, edge.object_key}:
            beside.setdefault(key, []).append(edge)
    return beside


def _distances(beside: Mapping[int, Sequence[Edge]], goal: int, hops: int) -> dict[int, int]:
    """Return how far each thing is from *goal*, as far as *hops* reach."""
    found = {goal: 0}
    frontier = [goal]
    for distance in range(1, hops + 1):
        reached: list[int] = []
        for key in frontier:
            for edge in beside.get(key, ()):
                other = other_end(edge, key)
                if other not in found:
                    found[other] = distance
                    reached.append(other)
        frontier = reached
    return found


def _descents(
    beside: Mapping[int, Sequence[Edge]], before: Mapping[int, int], start: int
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
            for edge in beside.get(key, ())
            if before.get(other := other_end(edge, key)) == left - 1
        ]
        stack.extend(reversed(onward))
