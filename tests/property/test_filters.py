"""A filtered search finds exactly what a brute-force filter keeps, whatever the plan (SPEC D6)."""

from __future__ import annotations

import asyncio
import random
import struct
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.clocks import HeldClock
from support.entries import NOW
from support.fakes import DIMENSION, HashEmbedder, fingerprint, numbers
from support.gate import drawn
from support.rows import a_row, an_id_source
from support.store import ADA, a_house

from memd.backends.rooms import Rooms
from memd.base.clock import to_us
from memd.base.limits import KNN_ROWS_MAX
from memd.domain.caller import Caller
from memd.domain.encoding import Encoding
from memd.domain.enums import HIDDEN, MemoryCategory, MemoryLevel, MemoryState, Passing
from memd.domain.memory import MemoryQuery
from memd.recall import candidates
from memd.recall.ranking.features import Statistics
from memd.recall.scope import RecallFilter, SearchScope, SearchTarget, agent_scope, narrow_keys
from memd.store.access import names
from memd.store.file.connect import Reading, Writing
from memd.store.memory import memories
from memd.store.memory.rows import MemoryRow
from memd.store.search import fulltext, vectors

ROWS = 12_000
"""More than a filter lists row by row, than words look up, and than one shard of vectors holds."""
NOW_US = to_us(NOW)
RARE = "one-in-a-thousand"
NAMESPACES = tuple(f"n{number}" for number in range(8))
TAGS = ("red", "green", "blue", RARE)
SESSIONS = tuple(f"s{number}" for number in range(12))
PROJECTS = ("p0", "p1")
WORDS = tuple(f"word{number}" for number in range(300))
DAYS = 400


class Known(NamedTuple):
    """One row as brute force sees it."""

    key: int
    row: MemoryRow
    session: str | None
    project: str | None
    vector: tuple[float, ...]
    is_passing: bool


class World(NamedTuple):
    """The store, and everything in it as a list."""

    runner: asyncio.Runner
    house: Rooms
    rows: list[Known]

    def run(self, coroutine: Any) -> Any:
        return self.runner.run(coroutine)


def made(chance: random.Random) -> list[tuple[MemoryRow, str | None, str | None]]:
    ids = an_id_source()
    rows = []
    for number in range(ROWS):
        session = chance.choice([None, *SESSIONS])
        project = chance.choice([None, *PROJECTS])
        tags = [tag for tag in TAGS[:3] if chance.random() < 0.3]
        if number % 1000 == 7:
            tags.append(RARE)
        state = chance.choices(
            [MemoryState.ACTIVE, MemoryState.ARCHIVED, MemoryState.COMPRESSED, MemoryState.TRASHED],
            [90, 4, 4, 2],
        )[0]
        happened = chance.choice([None, NOW - timedelta(days=chance.random() * DAYS)])
        expires = chance.choice([None, None, None, NOW, NOW + timedelta(days=1)])
        row = a_row(
            ids,
            " ".join(chance.choices(WORDS, [1 / (n + 1) for n in range(len(WORDS))], k=8)),
            namespace=chance.choice(NAMESPACES),
            category=chance.choice(list(MemoryCategory)),
            level=chance.choice(list(MemoryLevel)[:3]),
            ordinal=None if session is None else number,
            created_at_us=to_us(NOW - timedelta(days=chance.random() * DAYS)),
            occurred_at_us=None if happened is None else to_us(happened),
            state=state,
            expires_at_us=None if expires is None else to_us(expires),
            tags=tuple(tags),
        )
        rows.append((row, session, project))
    return rows


def filed(conn: Writing, rows: list[tuple[MemoryRow, str | None, str | None]]) -> list[Known]:
    """Write everything, past the rooms but through the store's own functions."""
    chance = random.Random(2)
    agent_key, model_key = (
        names.ensure_agent(conn, "ada", 1),
        vectors.ensure_cache(conn, fingerprint(), 1),
    )
    projects = {name: names.ensure_project(conn, name, 1) for name in PROJECTS}
    sessions = {
        name: names.ensure_session(
            conn, name, agent_key=agent_key, client_key=None, project_key=None, now_us=1
        )
        for name in SESSIONS
    }
    keyed = [
        row._replace(
            agent_key=agent_key,
            session_key=sessions[session] if session else None,
            project_key=projects[project] if project else None,
        )
        for row, session, project in rows
    ]
    keys = memories.insert_bare(conn, keyed, 1)
    packed = []
    for _ in keys:
        raw = [chance.gauss(0, 1) for _ in range(DIMENSION)]
        length = sum(number * number for number in raw) ** 0.5
        packed.append(struct.pack(f"<{DIMENSION}f", *(number / length for number in raw)))
    vectors.store(conn, model_key, list(zip(keys, map(Encoding, packed), strict=True)))
    turns = frozenset(key for key in keys if key % 5 == 0)
    for key in turns:
        conn.execute(
            "INSERT INTO passing (memory_key, kind) VALUES (?, ?)", (key, Passing.QUESTION)
        )
    fulltext.index(conn, keys)
    vectors.index(conn, keys)
    return [
        Known(key, row, session, project, tuple(numbers(vector)), key in turns)
        for key, row, (_, session, project), vector in zip(keys, keyed, rows, packed, strict=True)
    ]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    path: Path = tmp_path_factory.mktemp("world") / "memd.db"
    with asyncio.Runner() as runner:
        house_of = a_house(path, HeldClock(), HashEmbedder())
        house = runner.run(house_of.__aenter__())
        rows = made(random.Random(1))
        known = runner.run(house.db.write(ADA, lambda conn: filed(conn, rows)))
        yield World(runner, house, known)
        runner.run(house_of.__aexit__(None, None, None))


def keeps(query: MemoryQuery, caller: Caller, known: Known) -> bool:
    """Return whether the documented filter keeps a row; the oracle, one condition a line."""
    row = known.row
    hidden = row.state in HIDDEN
    return (
        (row.state is MemoryState.ACTIVE or (hidden and query.include_compressed))
        and (row.expires_at_us is None or row.expires_at_us > NOW_US)
        and (not known.is_passing or query.include_passing or query.text is None)
        and (not query.namespaces or row.namespace in query.namespaces)
        and (not query.categories or row.category in query.categories)
        and (not query.levels or level_of(known) in query.levels)
        and (query.since is None or row.created_at_us >= to_us(query.since))
        and (query.until is None or row.created_at_us < to_us(query.until))
        and (query.occurred_since is None or event_us(row) >= to_us(query.occurred_since))
        and (query.occurred_until is None or event_us(row) < to_us(query.occurred_until))
        and set(query.tags) <= set(row.tags)
        and query.session_id in (None, known.session)
        and query.project_id in (None, known.project)
        and (not ends_with_a_session(known) or caller.session_id in (None, known.session))
        and (row.level != "project" or caller.project_id in (None, known.project))
    )


def event_us(row: MemoryRow) -> int:
    return row.created_at_us if row.occurred_at_us is None else row.occurred_at_us


def level_of(known: Known) -> str:
    """Return the level that holds: a working memory is its session's, if it ends."""
    ends = known.session is not None or known.row.expires_at_us is not None
    return "session" if known.row.category == "working" and ends else known.row.level


def ends_with_a_session(known: Known) -> bool:
    """Return whether other sessions do not see it; a working memory of none is anybody's."""
    working = known.row.category == "working" and known.session is not None
    return known.row.level == "session" or working


def some(values: Any) -> st.SearchStrategy[Any]:
    return st.none() | st.frozensets(st.sampled_from(values), max_size=3)


MOMENTS = st.none() | st.floats(0, DAYS).map(lambda days: NOW - timedelta(days=days))
FILTERS = st.fixed_dictionaries(
    {
        "namespaces": some(NAMESPACES),
        "categories": some(list(MemoryCategory)),
        "levels": some(list(MemoryLevel)),
        "tags": st.lists(st.sampled_from(TAGS), max_size=2, unique=True).map(tuple),
        "since": MOMENTS,
        "occurred_since": MOMENTS,
        "session_id": st.none() | st.sampled_from([*SESSIONS, "never heard of"]),
        "project_id": st.none() | st.sampled_from([*PROJECTS, "never heard of"]),
        "include_compressed": st.booleans(),
        "include_passing": st.booleans(),
    }
)
CALLERS = st.builds(
    lambda session, project: replace(ADA, session_id=session, project_id=project),
    st.sampled_from([None, None, "s1"]),
    st.sampled_from([None, None, "p1"]),
)
BROAD = {"namespaces": frozenset(NAMESPACES[:3])}
"""A filter that keeps more rows than are listed, a fifth of all."""
SOME = drawn(gate=12, long=40)


def expected(world: World, query: MemoryQuery, caller: Caller) -> list[Known]:
    return [known for known in world.rows if keeps(query, caller, known)]


@SOME
@given(conditions=FILTERS, caller=CALLERS, span=st.none() | st.floats(0.1, DAYS))
def test_a_listing_is_what_brute_force_keeps_newest_first(
    world: World, conditions: dict[str, Any], caller: Caller, span: float | None
) -> None:
    if conditions["since"] is not None and span is not None:
        conditions = {**conditions, "until": conditions["since"] + timedelta(days=span)}
    query = MemoryQuery(**conditions, limit=1000)
    best = sorted(
        expected(world, query, caller),
        key=lambda known: (-known.row.created_at_us, known.row.memory_id),
    )
    entries = world.run(world.house.recall.retrieve(caller, query))
    assert [entry.id for entry in entries] == [known.row.memory_id for known in best[:1000]]


@SOME
@given(
    conditions=FILTERS,
    caller=CALLERS,
    text=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3),
)
def test_a_search_returns_rows_of_the_filter_only_and_all_of_them_where_they_are_few(
    world: World, conditions: dict[str, Any], caller: Caller, text: list[str]
) -> None:
    query = MemoryQuery(**conditions, text=" ".join(text), limit=200)
    may = {known.row.memory_id for known in expected(world, query, caller)}
    ids = [entry.id for entry in world.run(world.house.recall.retrieve(caller, query))]
    assert set(ids) <= may
    assert len(ids) == len(set(ids)) == min(200, len(may))


def scope_of(conditions: dict[str, Any], caller: Caller) -> SearchScope:
    query = MemoryQuery(**conditions)
    where = RecallFilter(query, NOW_US, query.include_compressed, query.include_passing)
    return agent_scope(1, where, caller)


def target_of(conn: Reading, scope: SearchScope) -> SearchTarget:
    return SearchTarget(
        scope, narrow_keys(conn, scope) if scope.search_filter.is_selective else None
    )


@SOME
@given(
    conditions=FILTERS,
    caller=CALLERS,
    seed=st.integers(0, 10**6),
    rows=st.sampled_from([1, 20, 100]),
)
@example(conditions={}, caller=ADA, seed=9_000, rows=100)  # near to rows of both shards
@example(conditions=BROAD, caller=ADA, seed=9_000, rows=100)  # too few among the first
@example(conditions=BROAD, caller=ADA, seed=9_000, rows=1_000)  # more than are fetched at once
def test_the_nearest_of_a_filter_are_the_nearest_of_brute_force(
    world: World, conditions: dict[str, Any], caller: Caller, seed: int, rows: int
) -> None:
    asked = world.rows[seed % ROWS].vector
    packed = struct.pack(f"<{DIMENSION}f", *asked)
    scope = scope_of(conditions, caller)

    async def near() -> list[int]:
        db = world.house.db
        target = await db.read(target_of, scope)
        exact = await candidates.dense_search(db, target, packed, rows, KNN_ROWS_MAX + 1)
        assert exact.fetched is None
        first = await candidates.dense_search(db, target, packed, rows)
        fit = await db.read(candidates.matching_dense, [target], [first], rows)
        assert fit is None or fit == [exact.keys]
        return exact.keys

    keys = world.run(near())
    nearness = {
        known.key: sum(a * b for a, b in zip(asked, known.vector, strict=True))
        for known in expected(world, MemoryQuery(**conditions, text="any"), caller)
    }
    assert set(keys) <= set(nearness)
    best = sorted(nearness.values(), reverse=True)[:rows]
    assert [nearness[key] for key in keys] == pytest.approx(best, abs=1e-5)


@SOME
@given(
    conditions=FILTERS,
    caller=CALLERS,
    terms=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3),
)
def test_the_best_by_words_of_a_filter_are_the_best_of_brute_force(
    world: World, conditions: dict[str, Any], caller: Caller, terms: list[str]
) -> None:
    scope = scope_of(conditions, caller)

    def both(conn: Reading) -> tuple[list[int], dict[int, float]]:
        written = {stem: word for word in terms for stem in fulltext.stemmer(conn)(word)}
        statistics = Statistics(*fulltext.statistics(conn, scope.owners, list(written)))
        looked_up = [written[stem] for stem in candidates.rare_terms(list(written), statistics)]
        match = fulltext.match_query(looked_up, scope.owners)
        table = f"fts_{fulltext.generation(conn)}"
        every = dict(
            conn.execute(f"SELECT rowid, -rank FROM {table} WHERE {table} MATCH ?", (match,))
        )
        return candidates.sparse_keys(conn, target_of(conn, scope), looked_up, 100), every

    keys, score = world.run(world.house.db.read(both))
    may = {known.key for known in expected(world, MemoryQuery(**conditions, text="any"), caller)}
    best = sorted((score[key] for key in score if key in may), reverse=True)[:100]
    assert set(keys) <= may
    assert [score[key] for key in keys] == pytest.approx(best)


def test_a_filter_that_keeps_one_in_a_thousand_finds_every_one(world: World) -> None:
    query = MemoryQuery(tags=(RARE,), text="word0", limit=100, include_compressed=True)
    may = {known.row.memory_id for known in expected(world, query, ADA)}
    assert 5 < len(may) <= ROWS // 1000
    entries = world.run(world.house.recall.retrieve(ADA, query))
    assert {entry.id for entry in entries} == may


def test_the_session_at_hand_hides_the_rows_of_others_without_hiding_its_own(world: World) -> None:
    """No filter is given, but two thirds of what is near belongs to other sessions."""
    caller = replace(ADA, session_id="s1", project_id="p1")
    query = MemoryQuery(text="word0 word1", limit=1000)
    may = {known.row.memory_id for known in expected(world, query, caller)}
    entries = world.run(world.house.recall.retrieve(caller, query))
    assert len(entries) == 1000
    assert {entry.id for entry in entries} <= may
