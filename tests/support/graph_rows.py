"""Insert rows of the graph directly: entities, statements and the texts that state them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from support.store import a_writer

from memd.store.access import names
from memd.store.file.connect import Writing

AT_US = 1_000_000


class Drawn(NamedTuple):
    """One edge of a drawing: things by name."""

    subject: str
    object: str
    relation: str = "uses"
    negated: bool = False


def draw(
    path: Path,
    edges: Iterable[Drawn],
    *,
    agent: str = "ada",
    origin: str = "person",
    state: str = "active",
) -> list[int]:
    """Put *edges* into the file at *path*, each said by a memory of *agent*; their keys."""
    with a_writer(path) as conn:
        conn.execute("BEGIN")
        keys = [_put(conn, edge, agent, origin, state) for edge in edges]
        conn.execute("COMMIT")
    return keys


def _put(conn: Writing, edge: Drawn, agent: str, origin: str, state: str) -> int:
    content = f"{edge.subject} | {edge.relation} | {edge.object}"
    memory_key = _memory(conn, content, names.ensure_agent(conn, agent, AT_US), origin, state)
    conn.execute(
        """
        INSERT INTO statement (statement_id, subject_key, relation, object_key, negated,
                               known_from_us, memory_key, span_from, span_to)
        VALUES (:id, :subject, :relation, :object, :negated, :at, :memory, 0, :end)
        """,
        {
            "id": f"s{memory_key}",
            "subject": thing(conn, edge.subject),
            "relation": edge.relation,
            "object": thing(conn, edge.object),
            "negated": edge.negated,
            "at": AT_US,
            "memory": memory_key,
            "end": len(content),
        },
    )
    return conn.last_insert_rowid()


def thing(conn: Writing, name: str) -> int:
    """Return the key of the thing called *name*; makes it."""
    conn.execute(
        "INSERT OR IGNORE INTO entity (name, folded) VALUES (?, ?)", (name, name.casefold())
    )
    key = conn.execute("SELECT entity_key FROM entity WHERE folded = ?", (name.casefold(),)).get
    assert isinstance(key, int)
    return key


def _memory(conn: Writing, content: str, agent_key: int, origin: str, state: str) -> int:
    conn.execute(
        """
        INSERT INTO memory (memory_id, agent_key, namespace, category, level, origin, trust,
                            content, token_count, confidence, content_hash, created_at_us, row_hash,
                            salt, state)
        VALUES ('m' || (SELECT count(*) FROM memory), :agent, 'default', 'semantic', 'persistent',
                :origin, :trust, :content, 1, 1.0, :hash, :at, :hash, x'00', :state)
        """,
        {
            "agent": agent_key,
            "origin": origin,
            "trust": {"person": 2, "tool": 0, "web": 0}.get(origin, 1),
            "content": content,
            "hash": hashlib.sha256(content.encode()).digest(),
            "at": AT_US,
            "state": state,
        },
    )
    return conn.last_insert_rowid()


def cleared(path: Path) -> None:
    """Take every statement and thing out of the file, so that another graph can be drawn."""
    with a_writer(path) as conn:
        for table in ("statement", "entity", "memory"):
            conn.execute(f"DELETE FROM {table}")


def brute_force(
    edges: Sequence[tuple[int, int, int]], start: int, goal: int, hops: int
) -> set[tuple[int, ...]]:
    """Return every shortest way from *start* to *goal* over (edge, one end, other end), as edges.

    Each edge may be walked both ways. Ways longer than *hops* are none.
    """
    ways: dict[int, set[tuple[int, ...]]] = {start: {()}}
    been = {start}
    for _ in range(hops):
        if goal in ways:
            break
        further: dict[int, set[tuple[int, ...]]] = {}
        for key, one, other in edges:
            for a, b in ((one, other), (other, one)):
                if a in ways and b not in been:
                    further.setdefault(b, set()).update((*way, key) for way in ways[a])
        been |= further.keys()
        ways = further
    return ways.get(goal, set())
