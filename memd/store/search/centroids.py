"""The running sum of each agent's vectors, behind novelty (SPEC D4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

from memd.store.file.connect import Reading, Writing
from memd.store.file.keys import keys_array

VOICE_REST_MIN = 1e-6  # below it a text says nothing but its speaker's name


def total(
    conn: Reading, agent_key: int, model_key: int, without: Sequence[int] = ()
) -> bytes | None:
    """Return the sum of the agent's vectors; None when there are none.

    *without*: memories whose vectors are left out, where they are in the sum.
    """
    row = conn.execute(
        """
        SELECT vectors, total
          FROM centroid
         WHERE agent_key = :agent_key AND model_key = :model_key
        """,
        {"agent_key": agent_key, "model_key": model_key},
    ).fetchone()
    vectors, rest = cast("tuple[int, bytes]", row or (0, b""))
    for _, _, vector in _belonging(conn, without, model_key):
        vectors -= 1
        rest = cast("bytes", conn.execute("SELECT vec_sub(?, ?)", (rest, vector)).get)
    return rest if vectors > 0 else None


def similarity(
    conn: Reading, total: bytes | None, vector: bytes, voice: bytes | None = None
) -> float | None:
    """Return the cosine of *vector* to the mean behind *total*; None when nothing is known.

    The direction of the mean is that of the sum. A zero sum resembles nothing.
    *voice* is the vector of the speaker's name alone: what a text has in common
    with it says who speaks, not that the text is old news, and is taken out first.
    """
    if total is None:
        return None
    distances = conn.execute(
        """
        SELECT vec_distance_cosine(:total, :vector),
               iif(:voice IS NULL, NULL, vec_distance_cosine(:total, :voice)),
               iif(:voice IS NULL, NULL, vec_distance_cosine(:vector, :voice))
        """,
        {"total": total, "vector": vector, "voice": voice},
    ).fetchone()
    assert distances is not None
    if any(distance is None for distance in distances[: 1 if voice is None else 3]):
        return 0.0  # SQLite has no NaN: NULL means that the sum is zero
    near = 1.0 - cast("float", distances[0])
    if voice is None:
        return near
    voice_near, shared = 1.0 - cast("float", distances[1]), 1.0 - cast("float", distances[2])
    rest = 1.0 - shared * shared
    return (near - shared * voice_near) / math.sqrt(rest) if rest > VOICE_REST_MIN else near


def add(conn: Writing, agent_key: int, model_key: int, vector: bytes) -> None:
    """Add *vector* to the agent's running sum."""
    conn.execute(
        """
        INSERT INTO centroid (agent_key, model_key, vectors, total)
        VALUES (:agent_key, :model_key, 1, :vector)
            ON CONFLICT (agent_key, model_key)
            DO UPDATE SET vectors = vectors + 1, total = vec_add(total, :vector)
        """,
        {"agent_key": agent_key, "model_key": model_key, "vector": vector},
    )


def take(conn: Writing, keys: Sequence[int], model_key: int | None = None) -> None:
    """Subtract the memories' vectors from their agents' sums; before they are erased or replaced.

    *model_key*: of that model alone.
    """
    conn.executemany(
        """
        UPDATE centroid
           SET vectors = max(0, vectors - 1), total = vec_sub(total, :vector)
         WHERE agent_key = :agent_key AND model_key = :model_key
        """,
        (
            {"agent_key": agent_key, "model_key": model_key, "vector": vector}
            for agent_key, model_key, vector in _belonging(conn, keys, model_key)
        ),
    )


def renew(conn: Writing, keys: Sequence[int], model_key: int) -> None:
    """Add the memories' new vectors of a model: just those that :func:`take` will subtract."""
    for agent_key, of_model, vector in _belonging(conn, keys, model_key):
        add(conn, agent_key, of_model, vector)


def recount(conn: Writing, keys: Sequence[int]) -> None:
    """Make the sums of the agents of *keys* anew from the vectors that there are."""
    if not keys:
        return
    agents = conn.execute(
        "SELECT DISTINCT agent_key FROM memory WHERE memory_key IN (SELECT value FROM carray(?))",
        (keys_array(keys),),
    ).fetchall()
    for (agent_key,) in agents:
        conn.execute("DELETE FROM centroid WHERE agent_key = ?", (agent_key,))
        own = conn.execute("SELECT memory_key FROM memory WHERE agent_key = ?", (agent_key,))
        join(conn, [cast("int", key) for (key,) in own.fetchall()])


def join(conn: Writing, keys: Sequence[int]) -> None:
    """Add the memories' vectors of every model: of what belongs to a sum from now on."""
    for agent_key, model_key, vector in _belonging(conn, keys, None):
        add(conn, agent_key, model_key, vector)


def _belonging(
    conn: Reading, keys: Sequence[int], model_key: int | None
) -> list[tuple[int, int, bytes]]:
    """Return agent, model and vector of those of *keys* that belong to a sum, hidden or not.

    What was turned away when it came does not, nor do a summary and a turn in passing: they
    say nothing new.
    """
    if not keys:
        return []
    rows = conn.execute(
        """
        SELECT m.agent_key, e.model_key, e.vector
          FROM embedding AS e
               JOIN memory AS m ON m.memory_key = e.memory_key
         WHERE e.memory_key IN (SELECT value FROM carray(:keys)) AND e.kind = 'own'
           AND NOT m.is_summary
           AND NOT EXISTS (SELECT 1 FROM passing AS q WHERE q.memory_key = e.memory_key)
           AND e.model_key = coalesce(:model_key, e.model_key)
           AND NOT EXISTS (SELECT 1 FROM archive AS r
                            WHERE r.memory_key = e.memory_key AND r.reason = 'low_importance')
        """,
        {"keys": keys_array(keys), "model_key": model_key},
    )
    return cast("list[tuple[int, int, bytes]]", rows.fetchall())


def admit(conn: Writing, key: int) -> None:
    """Add the vectors of a memory that was turned away and is now brought back."""
    rows = conn.execute(
        """
        SELECT m.agent_key, e.model_key, e.vector
          FROM archive AS r
               JOIN memory AS m ON m.memory_key = r.memory_key
               JOIN embedding AS e ON e.memory_key = r.memory_key AND e.kind = 'own'
         WHERE r.memory_key = :key AND r.reason = 'low_importance' AND NOT m.is_summary
        """,
        {"key": key},
    ).fetchall()
    for agent_key, model_key, vector in cast("list[tuple[int, int, bytes]]", rows):
        add(conn, agent_key, model_key, vector)
