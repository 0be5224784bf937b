"""Store and read preferences: key-value pairs of one agent, first in every recall (SPEC D5).

``confirmed_at_us`` is when the owner said or confirmed a preference. Only another confirmed value
replaces a confirmed one, and only a confirmed one may be rendered outside of a fence.

Each change is in the audit under the row's salt. The salt is deleted with the row and with a
replaced value; from then on the audit proves nothing about the old value.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import NamedTuple

from memd.domain.enums import Origin
from memd.store.access import changes, deletions
from memd.store.check import integrity
from memd.store.file.connect import Reading, Writing, keys_array


class PreferenceRow(NamedTuple):
    """One preference. *memory_key* is the memory that states it, None when it was set by name.

    *project_id* is the only project that it applies to, None for all. *is_part* tells whether the
    memory has more text than the value.
    """

    preference_key: int
    name: str
    value: str
    confidence: float
    token_count: int
    memory_key: int | None
    memory_id: str | None
    created_at_us: int
    updated_at_us: int
    origin: str
    client: str | None
    confirmed_at_us: int | None
    project_id: str | None
    is_part: bool


class NewPreference(NamedTuple):
    """A preference to be set. *salt* is random: it keys the audit's hash of the row.

    *confirmed_at_us* is when the owner said or confirmed it, None when the owner did not.
    """

    name: str
    value: str
    confidence: float
    token_count: int
    memory_key: int | None
    salt: bytes
    origin: Origin = Origin.ASSISTANT
    client_key: int | None = None
    confirmed_at_us: int | None = None


class Wording(NamedTuple):
    """The value of a preference, and the number of its tokens."""

    value: str
    token_count: int


class StatingMemory(NamedTuple):
    """A memory whose text is the value of a preference; *has_set_it* if it set the preference."""

    memory_key: int
    has_set_it: bool


def put(
    conn: Writing, agent_key: int, new: NewPreference, now_us: int
) -> list[StatingMemory] | None:
    """Set a preference; replaces the value of the same name and keeps its creation time.

    Returns the memories that state the replaced value, if it was another one. Returns None and
    changes nothing when the current value is confirmed and *new* is not.
    """
    replaced = list_stating(conn, agent_key, new.name, new.value)
    conn.execute(
        """
        INSERT INTO preference (agent_key, name, value, confidence, token_count, memory_key,
                                salt, created_at_us, updated_at_us, origin, client_key,
                                confirmed_at_us)
        VALUES (:agent_key, :name, :value, :confidence, :token_count, :memory_key,
                :salt, :now_us, :now_us, :origin, :client_key, :confirmed_at_us)
            ON CONFLICT (agent_key, name) DO UPDATE
           SET value = excluded.value, confidence = excluded.confidence,
               token_count = excluded.token_count, memory_key = excluded.memory_key,
               salt = excluded.salt, updated_at_us = excluded.updated_at_us,
               origin = excluded.origin, client_key = excluded.client_key,
               confirmed_at_us = excluded.confirmed_at_us
         WHERE preference.confirmed_at_us IS NULL OR excluded.confirmed_at_us IS NOT NULL
        """,
        {**new._asdict(), "agent_key": agent_key, "now_us": now_us},
    )
    if not conn.changes():
        return None
    changes.touch(conn, new.salt, _audit_hash(agent_key, new.name, new.value))
    return replaced


def confirm(
    conn: Writing, agent_key: int | None, name: str, value: str | None, now_us: int
) -> bool:
    """Record that the owner confirms a preference; False if there is none or it changed.

    *value* is the value to confirm, None for whatever the preference has.
    """
    row = conn.execute(
        """
        UPDATE preference
           SET confirmed_at_us = coalesce(confirmed_at_us, :now_us)
         WHERE agent_key = :agent_key AND name = :name AND value = coalesce(:value, value)
        RETURNING salt, value
        """,
        {"agent_key": agent_key, "name": name, "value": value, "now_us": now_us},
    ).fetchone()
    if row is None:
        return False
    salt, current_value = row
    changes.touch(conn, salt, _audit_hash(agent_key, name, current_value, "confirmed"))
    return True


class PreferenceState(NamedTuple):
    """The value of a preference, when it was set, and when the owner confirmed it (else None)."""

    value: str
    updated_at_us: int
    confirmed_at_us: int | None


def find(conn: Reading, agent_key: int | None, name: str) -> PreferenceState | None:
    """Return the current state of a preference, None when there is none."""
    return conn.find_row(
        PreferenceState,
        """
        SELECT value, updated_at_us, confirmed_at_us
          FROM preference
         WHERE agent_key = :agent_key AND name = :name
        """,
        {"agent_key": agent_key, "name": name},
    )


def find_later(
    conn: Reading, agent_key: int, name: str, said_us: int, *, confirmed: bool
) -> str | None:
    """Return the value of a preference that was said or set after *said_us*, None for none.

    With *confirmed* only a value that the owner said or confirmed. A preference whose memory is not
    visible counts as none.
    """
    return conn.get_text(
        """
        SELECT p.value
          FROM preference AS p
               LEFT JOIN memory AS m ON m.memory_key = p.memory_key
         WHERE p.agent_key = :agent_key AND p.name = :name AND p.updated_at_us > :said_us
           AND (NOT :confirmed OR p.confirmed_at_us IS NOT NULL)
           AND (m.memory_key IS NULL OR m.state IN ('active', 'pending'))
        """,
        {"agent_key": agent_key, "name": name, "said_us": said_us, "confirmed": confirmed},
    )


def list_stating(
    conn: Reading, agent_key: int | None, name: str, new_value: str | None = None
) -> list[StatingMemory]:
    """Return the memories that state the current value of a preference, in any state.

    These are the memory that set it and other statements of the owner with the same text, except
    those that state another preference or have level project. Empty if the value is *new_value*.
    """
    current = find(conn, agent_key, name)
    if current is None or current.value == new_value:
        return []
    return conn.list_rows(
        StatingMemory,
        """
        SELECT p.memory_key, TRUE
          FROM preference AS p
         WHERE p.agent_key = :agent_key AND p.name = :name AND p.memory_key IS NOT NULL
         UNION ALL
        SELECT m.memory_key, FALSE
          FROM preference AS p
               CROSS JOIN memory AS m INDEXED BY memory_by_content
                  ON m.agent_key = p.agent_key AND m.content_hash = :content_hash
         WHERE p.agent_key = :agent_key AND p.name = :name AND m.memory_key IS NOT p.memory_key
           AND m.origin = 'person' AND m.speaker IS NULL AND m.level <> 'project'
           AND NOT EXISTS (SELECT 1
                             FROM preference AS o
                            WHERE o.memory_key = m.memory_key)
        """,
        {
            "agent_key": agent_key,
            "name": name,
            "content_hash": hashlib.sha256(current.value.encode()).digest(),
        },
    )


def list_values(
    conn: Reading, agent_key: int, before_us: int, *, confirmed: bool
) -> list[tuple[str, Wording]]:
    """Return name and wording of the agent's preferences that were set up to *before_us*.

    Left out are those of a single project and, unless *confirmed*, confirmed ones.
    """
    rows = conn.execute(
        """
        SELECT p.name, p.value, p.token_count
          FROM preference AS p
               LEFT JOIN memory AS m ON m.memory_key = p.memory_key
         WHERE p.agent_key = :agent_key AND p.updated_at_us <= :before_us
           AND (:confirmed OR p.confirmed_at_us IS NULL) AND m.level IS NOT 'project'
         ORDER BY p.preference_key
        """,
        {"agent_key": agent_key, "before_us": before_us, "confirmed": confirmed},
    )
    return [(str(name), Wording(value, token_count)) for name, value, token_count in rows]


def reword(
    conn: Writing, key: int, earlier_text: str, whole: Wording, part: Wording, now_us: int
) -> None:
    """Update the preference that a memory states after the memory's text changed.

    The new value is *whole* if the old value was all of *earlier_text*, else *part*.
    """
    conn.execute(
        """
        UPDATE preference
           SET value = iif(value = :earlier_text, :whole, :part),
               token_count = iif(value = :earlier_text, :whole_tokens, :part_tokens),
               updated_at_us = :now_us
         WHERE memory_key = :key
        """,
        {
            "key": key,
            "earlier_text": earlier_text,
            "whole": whole.value,
            "whole_tokens": whole.token_count,
            "part": part.value,
            "part_tokens": part.token_count,
            "now_us": now_us,
        },
    )


def set_origin(
    conn: Writing, key: int, origin: Origin, client_key: int, confirmed_at_us: int | None
) -> None:
    """Record who gave the preferences that a memory states their current wording, and when."""
    conn.execute(
        """
        UPDATE preference
           SET origin = :origin, client_key = :client_key, confirmed_at_us = :confirmed_at_us
         WHERE memory_key = :key
        """,
        {
            "key": key,
            "origin": origin,
            "client_key": client_key,
            "confirmed_at_us": confirmed_at_us,
        },
    )


_SEALED = integrity.PREFERENCE.select("p")


def list_preferences(conn: Reading, agent_key: int, now_us: int) -> list[PreferenceRow]:
    """Return the agent's preferences, newest first.

    Left out are damaged rows and those whose memory is not visible.
    """
    rows = conn.execute(
        f"""
        SELECT p.preference_key, p.name, p.value, p.confidence, p.token_count, p.memory_key,
               m.memory_id, p.created_at_us, p.updated_at_us, p.origin, c.client_id,
               p.confirmed_at_us, j.project_id, coalesce(m.content <> p.value, FALSE),
               {_SEALED}
          FROM preference AS p
               LEFT JOIN memory AS m ON m.memory_key = p.memory_key
               LEFT JOIN project AS j ON j.project_key = m.project_key AND m.level = 'project'
               LEFT JOIN client AS c ON c.client_key = p.client_key
         WHERE p.agent_key = :agent_key
           AND (m.memory_key IS NULL
                OR (m.state IN ('active', 'pending')
                    AND (m.expires_at_us IS NULL OR m.expires_at_us > :now_us)))
         ORDER BY p.updated_at_us DESC, p.name
        """,  # noqa: S608  # constants of the store
        {"agent_key": agent_key, "now_us": now_us},
    )
    return integrity.list_sealed(conn, PreferenceRow, rows, integrity.PREFERENCE)


def delete(conn: Writing, agent_key: int | None, name: str, now_us: int) -> bool:
    """Remove a preference; False when there was none. Imports leave it deleted."""
    row = conn.execute(
        """
        DELETE FROM preference
         WHERE agent_key = :agent_key AND name = :name
        RETURNING salt, value
        """,
        {"agent_key": agent_key, "name": name},
    ).fetchone()
    if row is None or agent_key is None:
        return False
    salt, value = row
    changes.touch(conn, salt, _audit_hash(agent_key, name, value))
    deletions.record(conn, "preference", [(agent_key, name)], now_us)
    return True


def erase_of(conn: Writing, keys: Sequence[int], now_us: int) -> None:
    """Remove the preferences that the memories state. Imports leave them deleted."""
    rows = conn.execute(
        """
        DELETE FROM preference
         WHERE memory_key IN (SELECT value FROM carray(:keys))
        RETURNING agent_key, name
        """,
        {"keys": keys_array(keys)},
    )
    deletions.record(conn, "preference", list(rows), now_us)


def _audit_hash(agent_key: int | None, name: str, value: str, *extra: str) -> bytes:
    text = json.dumps([agent_key, name, value, *extra], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
