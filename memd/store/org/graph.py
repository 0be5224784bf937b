"""Walk the graph of statements: the edges around things, hop by hop, up to a limit of edges.

A hop is one SQL statement over an array of things. A recursive query does not know which things it
has visited, so in a dense graph it produces the same rows many times before its LIMIT applies. Here
a thing is visited once, and every edge that is read counts, visible or not (docs/decisions/0051).

:func:`visible_to` defines the statements of a walk: valid ones, from texts that the caller may
read. A walk reveals no others, nor the names of things that only others mention.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from memd.base.limits import QUOTE_CHARS_MAX, WALK_EDGES_MAX
from memd.domain.caller import Caller
from memd.domain.memory import MemoryFilter
from memd.domain.org.graph import name_variants
from memd.store.access import names
from memd.store.file.connect import Reading, keys_array
from memd.store.memory.filters import Parameters, bind, bind_search, without_passing

# The statements below are built from constants of the store only.
# ruff: noqa: S608


class Edge(NamedTuple):
    """A statement as an edge of a walk."""

    statement_key: int
    subject_key: int
    relation: str
    object_key: int
    negated: int
    qualifier: str | None
    trust: int


class StatementRow(NamedTuple):
    """A statement with its evidence: a passage of a fact's or memory's text."""

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
    """The visible statements: *prefilter* is a condition on the index, *where* one on the row."""

    prefilter: str
    where: str
    params: Parameters


@dataclass(slots=True)
class Walk:
    """The edges of a walk, the number of hops to each thing, and the edges that it may still read.

    *truncated* tells that the walk ended because of that limit.
    """

    hops: dict[int, int]
    edges_left: int
    edges: dict[int, Edge] = field(default_factory=dict)
    truncated: bool = False


_TRUST = "CASE WHEN s.memory_key IS NOT NULL THEN m.trust WHEN o.is_human THEN 2 ELSE 1 END"

_EVIDENCE = """
       LEFT JOIN memory AS m ON m.memory_key = s.memory_key
       LEFT JOIN org_operation AS o ON o.operation_key = s.operation_key
"""

# One direction. The inner query limits the rows read, the outer one tells which are visible.
_HOP = """
SELECT s.statement_key, s.subject_key, s.relation, s.object_key, s.negated, s.qualifier,
       {trust} AS trust,
       {where} AS is_visible
  FROM (SELECT t.*
          FROM carray(:keys) AS k
               CROSS JOIN statement AS t ON t.{end} = k.value
         WHERE {prefilter} AND {of_relations}
         LIMIT :edges) AS s
       {evidence}
"""
SUBJECT, OBJECT = "subject_key", "object_key"
_OF_RELATIONS = "t.relation IN (SELECT value FROM json_each(:relations))"


def visible_to(
    conn: Reading,
    caller: Caller,
    now_us: int,
    *,
    categories: Iterable[str] | None = None,
    valid_us: int | None = None,
    known_us: int | None = None,
) -> StatementFilter:
    """Return the statements that *caller* sees, valid now or at *valid_us*, known now or then.

    *categories* are the categories of facts that the caller may read, None for all. Statements of
    memories are visible if a search of the caller would find the memory (SPEC 7.13). Summaries have
    no statements, but their sources do. An erased text is not visible at an earlier *known_us*
    either; a retracted fact is, since its log is kept.
    """
    agent_key = names.agent_key(conn, caller.agent_id)
    filters = bind(agent_key, MemoryFilter(), now_us, active=caller)
    memory = bind_search(without_passing(filters), hidden=False).where
    fact, params = _facts(categories, known_us)
    params |= filters.params | {"valid_us": now_us if valid_us is None else valid_us}
    is_valid = """
        (s.valid_from_us IS NULL OR s.valid_from_us <= :valid_us)
        AND (s.valid_to_us IS NULL OR s.valid_to_us > :valid_us)
    """
    is_known = "TRUE"
    if known_us is not None:
        is_known = """
        s.known_from_us <= :known_us AND (s.known_to_us IS NULL OR s.known_to_us > :known_us)
        """
    return StatementFilter(
        prefilter="t.known_to_us IS NULL" if known_us is None else "TRUE",
        where=f"""
        ({is_valid} AND {is_known}
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
    if known_us is None:  # the prefilter excludes closed statements, this one retracted facts
        conditions.append(
            """
            EXISTS (SELECT 1
                      FROM org_fact AS f
                     WHERE f.fact_id = o.fact_id AND f.retracted_at_us IS NULL)
            """
        )
    else:
        params["known_us"] = known_us
    return " AND ".join(conditions), params


def list_edges(
    conn: Reading,
    visible: StatementFilter,
    keys: Sequence[int],
    *,
    relations: Sequence[str] | None = None,
    ends: Sequence[str] = (SUBJECT, OBJECT),
    edges_max: int = WALK_EDGES_MAX,
) -> tuple[list[Edge], int]:
    """Return the visible edges of *keys*, and how many edges were read, at most *edges_max*.

    *relations* None means all. *ends* are the ends of an edge that may be among *keys*. An edge
    between two of *keys* is returned once.
    """
    by_key: dict[int, Edge] = {}
    edge_count = 0
    for end in ends:
        if not keys or edges_max <= edge_count:
            break
        rows = conn.execute(
            _hop(visible, end, relations),
            visible.params
            | {
                "keys": keys_array(keys),
                "edges": edges_max - edge_count,
                "relations": json.dumps(relations),
            },
        ).fetchall()
        edge_count += len(rows)
        edges = [Edge._make(row[:-1]) for row in rows if row[-1]]
        by_key.update((edge.statement_key, edge) for edge in edges)
    return list(by_key.values()), edge_count


def _hop(visible: StatementFilter, end: str, relations: Sequence[str] | None) -> str:
    return _HOP.format(
        trust=_TRUST,
        where=visible.where,
        end=end,
        prefilter=visible.prefilter,
        of_relations="TRUE" if relations is None else _OF_RELATIONS,
        evidence=_EVIDENCE,
    )


def walk(
    conn: Reading,
    visible: StatementFilter,
    starts: Sequence[int],
    hops: int,
) -> Walk:
    """Walk from *starts* in every direction; each thing is visited once, with the fewest hops."""
    walked = Walk(dict.fromkeys(starts, 0), WALK_EDGES_MAX)
    frontier = list(dict.fromkeys(starts))
    for _ in range(hops):
        if not frontier or walked.truncated:
            break
        frontier = _step(conn, visible, walked, frontier)
    return walked


def walk_between(
    conn: Reading,
    visible: StatementFilter,
    start: int,
    goal: int,
    hops: int,
) -> Walk:
    """Walk from both ends until they meet; the edges include every shortest path.

    The side with the smaller frontier takes the next hop, so that a hub with many edges is expanded
    only if the path leads through it. *hops* is the limit of both sides together.
    """
    sides = [Walk({start: 0}, WALK_EDGES_MAX), Walk({goal: 0}, WALK_EDGES_MAX)]
    frontiers = [[start], [goal]]
    edges_left = WALK_EDGES_MAX
    for _ in range(hops):
        if sides[0].hops.keys() & sides[1].hops.keys() or not all(frontiers):
            break
        smaller = min((0, 1), key=lambda n: (len(frontiers[n]), len(sides[n].edges)))
        side = sides[smaller]
        side.edges_left = edges_left
        frontiers[smaller] = _step(conn, visible, side, frontiers[smaller])
        edges_left = side.edges_left
        if side.truncated:
            break
    return Walk(
        sides[0].hops,
        edges_left,
        sides[0].edges | sides[1].edges,
        truncated=any(side.truncated for side in sides),
    )


def _step(
    conn: Reading,
    visible: StatementFilter,
    walked: Walk,
    frontier: Sequence[int],
) -> list[int]:
    """Add one hop to *walked*; returns the things that were not reached before."""
    edges, edge_count = list_edges(conn, visible, frontier, edges_max=walked.edges_left)
    walked.edges_left -= edge_count
    walked.truncated = walked.edges_left <= 0
    depth = 1 + walked.hops[frontier[0]]
    reached: list[int] = []
    for edge in edges:
        walked.edges[edge.statement_key] = edge
        for key in (edge.subject_key, edge.object_key):
            if key not in walked.hops:
                walked.hops[key] = depth
                reached.append(key)
    return reached


def find_things(
    conn: Reading, visible: StatementFilter, names: Iterable[str]
) -> dict[str, tuple[int, str]]:
    """Return key and name of the things called *names* that have a visible statement.

    A thing is also found without or with another word for its kind (:func:`name_variants`).
    """
    variants = [(variant, name) for name in names for variant in name_variants(name)]
    rows = conn.execute(
        """
        SELECT n.value ->> 1, e.entity_key, e.name
          FROM json_each(:variants) AS n
               CROSS JOIN entity AS e ON e.folded = n.value ->> 0
         ORDER BY n.key
        """,
        {"variants": json.dumps(variants)},
    )
    things: dict[str, tuple[int, str]] = {}
    for name, key, display_name in rows:
        if name not in things and _is_visible(conn, visible, key):
            things[name] = (key, display_name)
    return things


def _is_visible(conn: Reading, visible: StatementFilter, key: int) -> bool:
    """Return whether any edge of the thing is visible; otherwise its name must not be revealed."""
    return any(
        conn.exists(
            f"SELECT 1 FROM ({_hop(visible, end, None)}) WHERE is_visible LIMIT 1",
            visible.params | {"keys": keys_array([key]), "edges": WALK_EDGES_MAX},
        )
        for end in (SUBJECT, OBJECT)
    )


def names_of(conn: Reading, keys: Iterable[int]) -> dict[int, str]:
    keys = list(keys)
    if not keys:
        return {}
    rows = conn.execute(
        "SELECT entity_key, name FROM entity WHERE entity_key IN (SELECT value FROM carray(:keys))",
        {"keys": keys_array(keys)},
    )
    return dict(rows)


def read_statements(conn: Reading, keys: Iterable[int]) -> dict[int, StatementRow]:
    """Return the statements *keys* with the passages that they were extracted from, by key.

    A passage that cannot be read is empty.
    """
    keys = list(dict.fromkeys(keys))
    if not keys:
        return {}
    rows = conn.execute(
        f"""
        SELECT s.statement_key, s.statement_id, a.name, s.relation, b.name, s.negated, s.qualifier,
               s.valid_from_us, s.valid_to_us, s.known_from_us, s.known_to_us,
               o.fact_id, o.version, m.memory_id,
               CAST(substr(coalesce(o.content, m.content), s.span_from + 1,
                           min(s.span_to - s.span_from, {QUOTE_CHARS_MAX})) AS BLOB),
               {_TRUST}
          FROM carray(:keys) AS k
               CROSS JOIN statement AS s ON s.statement_key = k.value
               JOIN entity AS a ON a.entity_key = s.subject_key
               JOIN entity AS b ON b.entity_key = s.object_key
               {_EVIDENCE}
        """,
        {"keys": keys_array(keys)},
    )
    return {row[0]: StatementRow._make((*row[:-2], _decode(row[-2]), row[-1])) for row in rows}


def _decode(text: object) -> str:
    try:
        return text.decode() if isinstance(text, bytes) else ""
    except UnicodeDecodeError:
        return ""
