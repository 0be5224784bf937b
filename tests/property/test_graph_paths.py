"""Walks over the file against brute force, on graphs with cycles, loops and parallel edges."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.gate import drawn
from support.graph_rows import Drawn, brute_force, cleared, draw
from support.store import ADA, a_writer

from memd.org.graph_search import shortest_paths, things_along
from memd.store.file.connect import Reading
from memd.store.org import graph

THINGS = st.integers(0, 7).map(lambda n: f"t{n}")
PICTURES = st.lists(st.builds(Drawn, subject=THINGS, object=THINGS), max_size=24)
NOW_US = 2_000_000


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("graph") / "memd.db"


@drawn(gate=30, long=150)
@given(picture=PICTURES, hops=st.integers(1, 6))
def test_the_shortest_ways_are_those_of_brute_force(
    path: Path, picture: list[Drawn], hops: int
) -> None:
    cleared(path)
    keys = draw(path, picture)
    ends = [(k, int(e.subject[1:]), int(e.object[1:])) for k, e in zip(keys, picture, strict=True)]
    with a_writer(path) as conn:
        seen = graph.visible_to(conn, ADA, NOW_US)
        known = graph.find_things(conn, seen, [f"t{n}" for n in range(8)])
        for start, (start_key, _) in known.items():
            for goal, (goal_key, _) in known.items():
                walked = graph.walk_between(conn, seen, start_key, goal_key, hops)
                edges = walked.edges.values()
                ways = shortest_paths(edges, start_key, goal_key, hops=hops, limit=10_000)
                expected = brute_force(ends, int(start[1:]), int(goal[1:]), hops)
                if start == goal:
                    expected = set()
                assert {tuple(edge.statement_key for edge in way) for way in ways} == expected
                for way in ways:
                    on = things_along(way, start_key)
                    assert on[-1] == goal_key
                    assert len(set(on)) == len(on)


@drawn(gate=25, long=80)
@given(picture=PICTURES, starts=st.sets(st.integers(0, 7), min_size=1), hops=st.integers(0, 4))
def test_a_walk_from_several_things_reaches_each_with_the_fewest_hops(
    path: Path, picture: list[Drawn], starts: set[int], hops: int
) -> None:
    cleared(path)
    keys = draw(path, picture)
    ends = [(k, int(e.subject[1:]), int(e.object[1:])) for k, e in zip(keys, picture, strict=True)]
    with a_writer(path) as conn:
        seen = graph.visible_to(conn, ADA, NOW_US)
        known = {int(n[1:]): key for n, (key, _) in _things(conn, seen).items()}
        begun = [known[n] for n in sorted(starts) if n in known]
        walked = graph.walk(conn, seen, begun, hops)
    for n, key in known.items():
        lengths = [
            0 if start == n else min(map(len, brute_force(ends, start, n, hops)), default=None)
            for start in starts & known.keys()
        ]
        reached = [length for length in lengths if length is not None]
        assert walked.hops.get(key) == min(reached, default=None)


def _things(conn: Reading, seen: graph.StatementFilter) -> dict[str, tuple[int, str]]:
    return graph.find_things(conn, seen, [f"t{n}" for n in range(8)])
