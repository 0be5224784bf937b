"""Walks over statements: the edges around things, hop by hop, each under one bound.

One SQL statement a hop, over an array of the things it starts from. A recursive
query has no list of what it has been to, so that in a thick graph it makes the same
rows again and again before its LIMIT sees them; here every edge that is looked at is
counted, seen or not, and a thing is entered once (docs/decisions/0051).

What a walk sees is said once, by :func:`sight`: statements that hold, from texts
that the caller could read. Whatever is not in sight does not exist for it: neither
its edges nor the names of what they lead to.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from memd.base.limits import QUOTE_CHARS_MAX, WALK_EDGES_MAX
from memd.domain.caller import Caller
from memd.domain.memory import MemoryFilter
from memd.store.access import names
from memd.store.file.connect import Reading
from memd.store.file.keys import keys_array
from memd.store.memory.filters import Parameters, bind, bind_search, without_passing

# The statements below are put together from constants of the store only.
# ruff: noqa: S608

_NOBODY = -1  # the agent of a caller that has never written: no memory is its own


class Edge(NamedTuple):
    """One statement as a walk meets it, in the table's own terms."""

    statement_key: int
    subject_key: int
    relation: str
    object_key: int
    negated: int
    qualifier: str | None
    trust: int


class StatementRow(NamedTuple):
    """One statement with its evidence."""

    statement_key: int
    statement_id: str
    subject: str
    relation: str
    object: str
    negated: int
    qualifier: str | None
    valid_from_us: int | None
    valid_to_us: int | None
    known_from_us: int
    known_to_us: int | None
    fact_id: str | None
    version: int | None
    memory_id: str | None
    quote: str
    trust: int


@dataclass(frozen=True, slots=True)
class StatementFilter:
    """Which statements a walk sees: *nearly* is asked of the index, *where* of the row."""

    nearly: str
    where: str
    params: Parameters


@dataclass(slots=True)
class Walked:
    """Edges that a walk saw, what it reached with how many hops, how many it may still look at."""

    hops: dict[int, int]
    left: int
    edges: dict[int, Edge] = field(default_factory=dict)
    truncated: bool = False


_TRUST = "CASE WHEN s.memory_key IS NOT NULL THEN m.trust WHEN o.is_human THEN 2 ELSE 1 END"

_BEHIND = """
       LEFT JOIN memory AS m ON m.memory_key = s.memory_key
       LEFT JOIN org_operation AS o ON o.operation_key = s.operation_key
"""

# Of one direction. Inside, rows are counted; outside, each is asked whether it is in sight.
_HOP = """
SELECT s.statement_key, s.subject_key, s.relation, s.object_key, s.negated, s.qualifier,
       {trust} AS trust,
       {where} AS in_sight
  FROM (SELECT t.*
          FROM carray(:keys) AS k
               CROSS JOIN statement AS t ON t.{end} = k.value
         WHERE {nearly} AND {asked}
         LIMIT :edges) AS s
       {behind}
"""
SUBJECT, OBJECT = "subject_key", "object_key"
_ASKED = "t.relation IN (SELECT value FROM json_each(:relations))"


def sight(
    conn: Reading,
    caller: Caller,
    now_us: int,
    *,
    categories: Iterable[str] | None = None,
    valid_us: int | None = None,
    known_us: int | None = None,
) -> StatementFilter:
    """Return what *caller* sees: what holds now, or at *valid_us*, as it is known or was.

    *categories* are the facts that the caller may read, None for all. Of memories
    those count that a search of the caller's would find (SPEC 7.13), summaries left
    out: what stands behind one is read itself. A text that went since cannot be seen
    at an earlier time either, whereas a retracted fact can: its log is kept.
    """
    agent_key = names.find_agent(conn, caller.agent_id)
    own = bind(_NOBODY if agent_key is None else agent_key, MemoryFilter(), now_us, active=caller)
    memory = bind_search(without_passing(own), hidden=False).where
    fact, params = _facts(categories, known_us)
    params |= own.params | {"valid_us": now_us if valid_us is None else valid_us}
    holds = """
        (s.valid_from_us IS NULL OR s.valid_from_us <= :valid_us)
        AND (s.valid_to_us IS NULL OR s.valid_to_us > :valid_us)
    """
    known = "TRUE"
    if known_us is not None:
        known = """
        s.known_from_us <= :known_us AND (s.known_to_us IS NULL OR s.known_to_us > :known_us)
        """
    return StatementFilter(
        nearly="t.known_to_us IS NULL" if known_us is None else "TRUE",
        where=f"""
        ({holds} AND {known}
         AND CASE WHEN s.memory_key IS NOT NULL THEN ({memory}) ELSE ({fact}) END)
        """,
        params=params,
    )


def _facts(categories: Iterable[str] | None, known_us: int | None) -> tuple[str, Parameters]:
    params: Parameters = {}
    conditions = ["TRUE"]
    if categories is not None:
        conditions.append("o.category IN (SELECT value FROM json_each(:readable))")
        params["readable"] = json.dumps(sorted(categories))
    if known_us is None:  # what is known no longer was closed with it; a fact that went stays out
        conditions.append(
            """
            EXISTS (SELECT 1
                      FROM org_fact AS f
                     WHERE f.operation_key = s.operation_key AND f.retracted_at_us IS NULL)
            """
        )
    else:
        params["known_us"] = known_us
    return " AND ".join(conditions), params


def around(
    conn: Reading,
    seen: StatementFilter,
    keys: Sequence[int],
    *,
    relations: Sequence[str] | None = None,
    ends: Sequence[str] = (SUBJECT, OBJECT),
    edges_max: int = WALK_EDGES_MAX,
) -> tuple[list[Edge], int]:
    """Return the edges of *keys* that are in sight, and how many were looked at, *edges_max* most.

    With *relations* only those; *ends* say which of an edge's ends is among *keys*. An
    edge between two of *keys* is there once.
    """
    by_key: dict[int, Edge] = {}
    looked_at = 0
    for end in ends:
        if not keys or edges_max <= looked_at:
            break
        rows = conn.execute(
            _hop(seen, end, relations),
            seen.params
            | {
                "keys": keys_array(keys),
                "edges": edges_max - looked_at,
                "relations": json.dumps(relations),
            },
        ).fetchall()
        looked_at += len(rows)
        edges = [Edge._make(row[:-1]) for row in rows if row[-1]]
        by_key.update((edge.statement_key, edge) for edge in edges)
    return list(by_key.values()), looked_at


def _hop(seen: StatementFilter, end: str, relations: Sequence[str] | None) -> str:
    return _HOP.format(
        trust=_TRUST,
        where=seen.where,
        end=end,
        nearly=seen.nearly,
        asked="TRUE" if relations is None else _ASKED,
        behind=_BEHIND,
    )


def walk(
    conn: Reading,
    seen: StatementFilter,
    starts: Sequence[int],
    hops: int,
    *,
    relations: Sequence[str] | None = None,
    edges_max: int = WALK_EDGES_MAX,
) -> Walked:
    """Walk from *starts* in every direction; each thing is entered once, with the fewest hops."""
    walked = Walked(dict.fromkeys(starts, 0), edges_max)
    frontier = list(dict.fromkeys(starts))
    for _ in range(hops):
        if not frontier or walked.truncated:
            break
        frontier = _step(conn, seen, walked, frontier, relations)
    return walked


def between(
    conn: Reading,
    seen: StatementFilter,
    start: int,
    goal: int,
    hops: int,
    *,
    edges_max: int = WALK_EDGES_MAX,
) -> Walked:
    """Walk from both ends until they meet; every shortest way is among the edges.

    The side with less in front of it goes on, so that one thing which everything is
    linked to is looked at only where the way leads through it.
    """
    sides = [Walked({start: 0}, edges_max), Walked({goal: 0}, edges_max)]
    frontiers = [[start], [goal]]
    left = edges_max
    for _ in range(hops):
        if sides[0].hops.keys() & sides[1].hops.keys() or not all(frontiers):
            break
        near = min((0, 1), key=lambda n: (len(frontiers[n]), len(sides[n].edges)))
        side = sides[near]
        side.left = left
        frontiers[near] = _step(conn, seen, side, frontiers[near], None)
        left = side.left
        if side.truncated:
            break
    return Walked(
        sides[0].hops,
        left,
        sides[0].edges | sides[1].edges,
        truncated=any(side.truncated for side in sides),
    )


def _step(
    conn: Reading,
    seen: StatementFilter,
    walked: Walked,
    frontier: Sequence[int],
    relations: Sequence[str] | None,
) -> list[int]:
    """Add one hop to *walked*; returns the things that it reached first."""
    edges, looked_at = around(conn, seen, frontier, relations=relations, edges_max=walked.left)
    walked.left -= looked_at
    walked.truncated = walked.left <= 0
    depth = 1 + walked.hops[frontier[0]]
    reached: list[int] = []
    for edge in edges:
        walked.edges[edge.statement_key] = edge
        for key in (edge.subject_key, edge.object_key):
            if key not in walked.hops:
                walked.hops[key] = depth
                reached.append(key)
    return reached


def things(
    conn: Reading, seen: StatementFilter, folded: Sequence[str]
) -> dict[str, tuple[int, str]]:
    """Return key and name of those of *folded* about which something is in sight."""
    rows = conn.execute(
        """
        SELECT e.folded, e.entity_key, e.name
          FROM json_each(:folded) AS n
               CROSS JOIN entity AS e ON e.folded = n.value
        """,
        {"folded": json.dumps(folded)},
    ).fetchall()
    known = cast("list[tuple[str, int, str]]", rows)
    return {name: (key, shown) for name, key, shown in known if _met(conn, seen, key)}


def _met(conn: Reading, seen: StatementFilter, key: int) -> bool:
    """Return whether any edge of the thing is in sight: a name that nobody may know is none."""
    return any(
        conn.execute(
            f"SELECT 1 FROM ({_hop(seen, end, None)}) WHERE in_sight LIMIT 1",
            seen.params | {"keys": keys_array([key]), "edges": WALK_EDGES_MAX},
        ).get
        for end in (SUBJECT, OBJECT)
    )


def named(conn: Reading, keys: Iterable[int]) -> dict[int, str]:
    """Return the names of things."""
    keys = list(keys)
    if not keys:
        return {}
    rows = conn.execute(
        "SELECT entity_key, name FROM entity WHERE entity_key IN (SELECT value FROM carray(:keys))",
        {"keys": keys_array(keys)},
    )
    return dict(cast("list[tuple[int, str]]", rows.fetchall()))


def with_texts(conn: Reading, keys: Iterable[int]) -> dict[int, StatementRow]:
    """Return statements with the words of their texts that say them."""
    keys = list(dict.fromkeys(keys))
    if not keys:
        return {}
    rows = conn.execute(
        f"""
        SELECT s.statement_key, s.statement_id, a.name, s.relation, b.name, s.negated, s.qualifier,
               s.valid_from_us, s.valid_to_us, s.known_from_us, s.known_to_us,
               o.fact_id, o.version, m.memory_id,
               substr(coalesce(o.content, m.content), s.span_from + 1,
                      min(s.span_to - s.span_from, {QUOTE_CHARS_MAX})),
               {_TRUST}
          FROM carray(:keys) AS k
               CROSS JOIN statement AS s ON s.statement_key = k.value
               JOIN entity AS a ON a.entity_key = s.subject_key
               JOIN entity AS b ON b.entity_key = s.object_key
               {_BEHIND}
        """,
        {"keys": keys_array(keys)},
    )
    return {row[0]: StatementRow._make(row) for row in rows}
