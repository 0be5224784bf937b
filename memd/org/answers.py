"""What a question's things lead to, over edges that a walk has seen. Pure.

Readings are tried from the likeliest on; the first that leads anywhere gives the
answers, each with its way. Where none does, what is near the question's things is
ranked by how much of the question its evidence says, and said to be only near.

What a thing *is* ("the CTO is Ann") is walked for nothing between two relations, and
stands in the way like every other edge. Edges of untrusted texts are walked last
and lower the trust of the whole way, which is shown.

A way is a list of edges in walking order; each edge may be walked against its
direction. All shortest ways are found, parallel edges apart, and no thing lies on
one twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

from memd.domain.enums import Trust
from memd.domain.org.graph import folded
from memd.org.asking import Hop, QuestionReading, stem
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
    ways: list[Way] = []
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
                ways.append(way)
            if len(ways) == limit:
                return tuple(ways)
    return tuple(ways)


def least_trust(way: Sequence[Edge]) -> int:
    """Return how far the least trusted edge is trusted."""
    return min([edge.trust for edge in way], default=0)


def things_on(way: Sequence[Edge], start: int) -> tuple[int, ...]:
    """Return the things on a way that begins at *start*, one more than it has edges."""
    things = [start]
    for edge in way:
        things.append(other_end(edge, things[-1]))
    return tuple(things)


def other_end(edge: Edge, key: int) -> int:
    """Return where *edge* leads from *key*."""
    return edge.object_key if edge.subject_key == key else edge.subject_key


def most_trusted_first(edges: Iterable[Edge]) -> list[Edge]:
    """Return *edges* in the order in which they are walked; of equally trusted the oldest first."""
    ordered = sorted(edges, key=attrgetter("statement_key"))
    ordered.sort(key=attrgetter("trust"), reverse=True)
    return ordered


def beside(edges: Iterable[Edge]) -> dict[int, list[Edge]]:
    """Return the edges at each thing, the most trusted first."""
    edges_by: dict[int, list[Edge]] = defaultdict(list)
    for edge in most_trusted_first(edges):
        edges_by[edge.subject_key].append(edge)
        if edge.object_key != edge.subject_key:
            edges_by[edge.object_key].append(edge)
    return edges_by


def _distances(
    around: Mapping[int, Sequence[Edge]], goal: int, start: int, hops: int
) -> dict[int, int]:
    """Return how far things are from *goal*: all that are no further than *start*.

    What lies more than *hops* away is not among them.
    """
    distances = {goal: 0}
    frontier = [goal]
    for distance in range(1, hops + 1):
        if start in distances:
            break
        reached: list[int] = []
        for key in frontier:
            for edge in around.get(key, ()):
                other = other_end(edge, key)
                if other not in distances:
                    distances[other] = distance
                    reached.append(other)
        frontier = reached
    return distances


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


WAYS_TO_ONE_MAX = 3  # followed on from one thing, however many lead to it
NEAR_MAX = 200  # things looked at when no reading leads anywhere
SAME = "is"

# What also answers a relation, when nothing is said in its own words.
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
    """One thing and a way to it from *start*."""

    key: int
    start: int
    way: Way

    @property
    def trust(self) -> int:
        """How far the least trusted edge is trusted."""
        return least_trust(self.way)

    @property
    def rank(self) -> tuple[int, int]:
        """Short ways before long ones, and of those the more trusted."""
        return len(self.way), -self.trust


Along = Callable[[Sequence[int], Hop], Mapping[int, Sequence[Edge]]]
"""Gives for each of several things the edges that a hop follows, the most trusted first."""


def following(
    along: Along, readings: Sequence[QuestionReading], keys: Mapping[str, int]
) -> tuple[QuestionReading | None, tuple[ReachedThing, ...]]:
    """Return the likeliest reading that leads anywhere and what it leads to, most trusted first.

    Readings that cost the same count as one. *keys* are the things by folded name.
    """
    for implied in (False, True):
        best: list[ReachedThing] = []
        chosen: QuestionReading | None = None
        for reading in readings:
            if chosen is not None and reading.cost > chosen.cost:
                break
            things = _follow(along, keys[reading.mention.name], reading.hops, implied=implied)
            if things:
                chosen = chosen or reading
                best.extend(things)
        if chosen is not None:
            return chosen, _each_once(best)
    return None, ()


def _follow(along: Along, start: int, hops: Sequence[Hop], *, implied: bool) -> list[ReachedThing]:
    ways = [_Going(start, (), int(Trust.OWNER))]
    for hop in hops:
        meant = [hop]
        if implied:
            meant += [hop._replace(relation=other) for other in IMPLIED.get(hop.relation, ())]
        ways = _one_hop(along, start, _with_names(along, start, ways), meant)
        if not ways:
            break
    return [ReachedThing(one.key, start, one.way) for one in ways]


class _Going(NamedTuple):
    """A way that is gone on with from the thing *key*, and how far its least edge is trusted."""

    key: int
    way: Way
    trust: int


def _one_hop(
    along: Along, start: int, ways: Sequence[_Going], meant: Sequence[Hop]
) -> list[_Going]:
    """Return *ways* gone on by any of the hops in *meant*; no thing lies on one twice.

    More trusted ways come first and are the ones that are kept, so that it costs no more
    where many lead to the same.
    """
    further: dict[int, list[_Going]] = defaultdict(list)
    keys = list(dict.fromkeys(one.key for one in ways))
    trusted = sorted(ways, key=attrgetter("trust"), reverse=True)
    for hop in meant:
        edges = along(keys, hop)
        for key, way, trust in trusted:
            been: set[int] | None = None
            for edge in edges.get(key, ()):
                other = other_end(edge, key)
                there = further[other]
                if len(there) >= WAYS_TO_ONE_MAX or not _says(edge, hop):
                    continue
                been = been or _been(start, way)
                if other not in been:
                    there.append(_Going(other, (*way, edge), min(trust, edge.trust)))
    return list(chain.from_iterable(further.values()))


def _with_names(along: Along, start: int, ways: Sequence[_Going]) -> list[_Going]:
    """Return *ways* and those that go on to another name of the thing reached."""
    same = [Hop(SAME, forward=True), Hop(SAME, forward=False)]
    open_ended = [one for one in ways if not one.way or one.way[-1].relation != SAME]
    return [*ways, *_one_hop(along, start, open_ended, same)]


def _says(edge: Edge, hop: Hop) -> bool:
    if bool(edge.negated) is not hop.negated:
        return False
    return hop.word is None or hop.word in map(stem, folded(edge.qualifier or "").split())


def _been(start: int, way: Way) -> set[int]:
    return {start, *(key for edge in way for key in (edge.subject_key, edge.object_key))}


def _each_once(things: Iterable[ReachedThing]) -> tuple[ReachedThing, ...]:
    """Return each thing with its most trusted, then shortest way."""
    best: dict[int, ReachedThing] = {}
    for one in sorted(things, key=lambda one: (-one.trust, len(one.way))):
        best.setdefault(one.key, one)
    return tuple(best.values())


def near(edges: Iterable[Edge], starts: Collection[int], hops: int) -> tuple[ReachedThing, ...]:
    """Return what lies around *starts*: each thing with its shortest, then most trusted way."""
    around = beside(edges)
    things: dict[int, ReachedThing] = {start: ReachedThing(start, start, ()) for start in starts}
    frontier = list(things.values())
    for _ in range(hops):
        reached: dict[int, ReachedThing] = {}
        for one in frontier:
            for edge in around.get(one.key, ()):
                further = ReachedThing(other_end(edge, one.key), one.start, (*one.way, edge))
                known = things.get(further.key) or reached.get(further.key)
                if known is None or known.rank > further.rank:
                    reached[further.key] = further
        things |= reached
        frontier = list(reached.values())
        if len(things) > NEAR_MAX:
            break
    return tuple(one for one in things.values() if one.way)[:NEAR_MAX]


def ranked(
    things: Iterable[ReachedThing],
    asked: Collection[str],
    names: Collection[str],
    words_of: Callable[[ReachedThing], Collection[str]],
) -> list[tuple[float, ReachedThing]]:
    """Return what is near with a score from 0 to 1, best first.

    *asked* are the question's words, *names* the relations it asks for, *words_of* tells
    the words of a way's evidence.
    """
    scored: list[tuple[float, ReachedThing]] = []
    for one in things:
        overlap = len(set(asked) & set(words_of(one))) / len(asked) if asked else 0.0
        fits = 1.0 if one.way[-1].relation in names else 0.0
        score = 0.4 * overlap + 0.25 * fits + 0.25 / len(one.way) + 0.1 * one.trust / 2
        scored.append((round(score, 6), one))
    scored.sort(key=lambda pair: (-pair[0], len(pair[1].way), pair[1].key))
    return scored
