"""The running sum of each agent's vectors, from which novelty is computed (SPEC D4)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from memd.store.file.connect import Reading, Writing, keys_array

VOICE_REST_MIN = 1e-6  # below it a text is nothing but its speaker's name


def total(
    conn: Reading, agent_key: int, model_key: int, without: Sequence[int] = ()
) -> bytes | None:
    """Return the sum of the agent's vectors, None when there are none.

    The vectors of the memories *without* are subtracted, where they are in the sum.
    """
    row = conn.execute(
        """
        SELECT vectors, total
          FROM centroid
         WHERE agent_key = :agent_key AND model_key = :model_key
        """,
        {"agent_key": agent_key, "model_key": model_key},
    ).fetchone()
    vectors, remaining = row or (0, b"")
    for _, _, vector in _list_vectors(conn, without, model_key):
        vectors -= 1
        remaining = conn.execute("SELECT vec_sub(?, ?)", (remaining, vector)).get
    return remaining if vectors > 0 else None


def similarity(
    conn: Reading, total: bytes | None, vector: bytes, voice: bytes | None = None
) -> float | None:
    """Return the cosine of *vector* to the mean of a *total*, None without a total.

    The direction of the mean is that of the sum. A zero sum is similar to nothing. *voice* is the
    vector of the speaker's name alone: what a text has in common with it says who speaks, not that
    the text is old news, so that component is removed first.
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
        return 0.0  # SQLite turns NaN into NULL: the sum is zero
    to_mean: float = 1.0 - distances[0]
    if voice is None:
        return to_mean
    voice_to_mean, shared = 1.0 - distances[1], 1.0 - distances[2]
    orthogonal = 1.0 - shared * shared
    return (
        (to_mean - shared * voice_to_mean) / math.sqrt(orthogonal)
        if orthogonal > VOICE_REST_MIN
        else to_mean
    )


def add(conn: Writing, agent_key: int, model_key: int, vector: bytes) -> None:
    conn.execute(
        """
        INSERT INTO centroid (agent_key, model_key, vectors, total)
        VALUES (:agent_key, :model_key, 1, :vector)
            ON CONFLICT (agent_key, model_key)
            DO UPDATE SET vectors = vectors + 1, total = vec_add(total, :vector)
        """,
        {"agent_key": agent_key, "model_key": model_key, "vector": vector},
    )


def subtract(conn: Writing, keys: Sequence[int], model_key: int | None = None) -> None:
    """Subtract the memories' vectors from their agents' sums, before they are erased or replaced.

    With *model_key* only those of that model.
    """
    conn.executemany(
        """
        UPDATE centroid
           SET vectors = max(0, vectors - 1), total = vec_sub(total, :vector)
         WHERE agent_key = :agent_key AND model_key = :model_key
        """,
        (
            {"agent_key": agent_key, "model_key": model_key, "vector": vector}
            for agent_key, model_key, vector in _list_vectors(conn, keys, model_key)
        ),
    )


def rebuild(conn: Writing, keys: Sequence[int]) -> None:
    """Rebuild the sums of the agents of *keys* from the stored vectors."""
    if not keys:
        return
    agents = conn.list_ints(
        "SELECT DISTINCT agent_key FROM memory WHERE memory_key IN (SELECT value FROM carray(?))",
        (keys_array(keys),),
    )
    for agent_key in agents:
        conn.execute("DELETE FROM centroid WHERE agent_key = ?", (agent_key,))
        own = conn.list_ints("SELECT memory_key FROM memory WHERE agent_key = ?", (agent_key,))
        add_memories(conn, own)


def add_memories(conn: Writing, keys: Sequence[int], model_key: int | None = None) -> None:
    """Add the memories' vectors to the sums: those that :func:`subtract` would subtract.

    With *model_key* only those of that model, else those of every model.
    """
    for agent_key, vector_model, vector in _list_vectors(conn, keys, model_key):
        add(conn, agent_key, vector_model, vector)


def _list_vectors(
    conn: Reading, keys: Sequence[int], model_key: int | None
) -> list[tuple[int, int, bytes]]:
    """Return agent, model and vector of those of *keys* that count in a sum, hidden or not.

    A memory that was below the threshold when it came does not count, nor do summaries and turns in
    passing: they say nothing new.
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
    return list(rows)
