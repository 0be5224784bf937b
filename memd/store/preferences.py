"""Preferences: key-values of one agent, put first in every recall (SPEC D5).

Each change of one stands in the audit under the row's salt, which goes with the
row or with the value that is replaced: from then on the audit proves nothing of
what it was.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import NamedTuple, cast

from memd.store import changes
from memd.store.connect import Reading, Writing
from memd.store.keys import keys_array


class PreferenceRow(NamedTuple):
    """One preference. *memory_key* is the memory it came from, None when it was set by name."""

    preference_key: int
    name: str
    value: str
    confidence: float
    token_count: int
    memory_key: int | None
    memory_id: str | None
    created_at_us: int
    updated_at_us: int


class NewPreference(NamedTuple):
    """A preference to be set. *salt* is random: it keys the audit's hash of it."""

    name: str
    value: str
    confidence: float
    token_count: int
    memory_key: int | None
    salt: bytes


def put(conn: Writing, agent_key: int, new: NewPreference, now_us: int) -> None:
    """Set a preference; the value of the same name is replaced, its age kept."""
    conn.execute(
        """
        INSERT INTO preference (agent_key, name, value, confidence, token_count, memory_key,
                                salt, created_at_us, updated_at_us)
        VALUES (:agent_key, :name, :value, :confidence, :token_count, :memory_key,
                :salt, :now_us, :now_us)
            ON CONFLICT (agent_key, name) DO UPDATE
           SET value = excluded.value, confidence = excluded.confidence,
               token_count = excluded.token_count, memory_key = excluded.memory_key,
               salt = excluded.salt, updated_at_us = excluded.updated_at_us
        """,
        {**new._asdict(), "agent_key": agent_key, "now_us": now_us},
    )
    changes.touch(conn, new.salt, _hash_of(agent_key, new.name, new.value))


def listed(conn: Reading, agent_key: int, now_us: int) -> list[PreferenceRow]:
    """Return the agent's preferences, newest first, but those whose memory is not visible."""
    rows = conn.execute(
        """
        SELECT p.preference_key, p.name, p.value, p.confidence, p.token_count, p.memory_key,
               m.memory_id, p.created_at_us, p.updated_at_us
          FROM preference AS p
               LEFT JOIN memory AS m ON m.memory_key = p.memory_key
         WHERE p.agent_key = :agent_key
           AND (m.memory_key IS NULL
                OR (m.state IN ('active', 'pending')
                    AND (m.expires_at_us IS NULL OR m.expires_at_us > :now_us)))
         ORDER BY p.updated_at_us DESC, p.name
        """,
        {"agent_key": agent_key, "now_us": now_us},
    )
    return [PreferenceRow._make(row) for row in rows]


def delete(conn: Writing, agent_key: int, name: str) -> bool:
    """Remove a preference; False when there was none. Its memory, if any, stays."""
    named = {"agent_key": agent_key, "name": name}
    found = conn.execute(
        "SELECT salt, value FROM preference WHERE agent_key = :agent_key AND name = :name", named
    ).fetchone()
    if found is None:
        return False
    salt, value = cast("tuple[bytes, str]", found)
    changes.touch(conn, salt, _hash_of(agent_key, name, value))
    conn.execute("DELETE FROM preference WHERE agent_key = :agent_key AND name = :name", named)
    return True


def erase_of(conn: Writing, keys: Sequence[int]) -> None:
    """Remove the preferences that came from the memories."""
    if keys:
        conn.execute(
            "DELETE FROM preference WHERE memory_key IN (SELECT value FROM carray(:keys))",
            {"keys": keys_array(keys)},
        )


def _hash_of(agent_key: int, name: str, value: str) -> bytes:
    text = json.dumps([agent_key, name, value], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
