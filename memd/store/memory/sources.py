"""Store source texts, compressed, as they were before cleaning and chunking changed them.

A text that is erased leaves a mark, by which imports recognise it, until it is stored anew. Also
lists the memories imported in bulk from one source, for a later import to compare with.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memd.base.project import below_home
from memd.store.access.deletions import mark_of
from memd.store.file.connect import Reading, Writing, keys_array
from memd.store.session import message_index
from memd.store.session.projects import rehashing


def find(conn: Reading, agent_key: int | None, sha256: bytes) -> int | None:
    """Return the key of an agent's text by its hash, None when it is not stored."""
    return conn.get_int(
        "SELECT source_key FROM source WHERE agent_key = :agent_key AND sha256 = :sha256",
        {"agent_key": agent_key, "sha256": sha256},
    )


def put(
    conn: Writing, agent_key: int, session_key: int | None, sha256: bytes, zlib: bytes, now_us: int
) -> int:
    """Store a text and return its key; the same text of the same agent is stored once.

    A text that was forgotten is no longer forgotten then.
    """
    source_key = find(conn, agent_key, sha256)
    if source_key is not None:
        return source_key
    conn.execute(
        "DELETE FROM forgotten_text WHERE agent_key = :agent_key AND mark = :mark",
        {"agent_key": agent_key, "mark": mark_of(conn, sha256)},
    )
    conn.insert(
        "source",
        {
            "agent_key": agent_key,
            "session_key": session_key,
            "sha256": sha256,
            "zlib": zlib,
            "created_at_us": now_us,
        },
    )
    return conn.last_insert_rowid()


def drop_unused(conn: Writing, keys: Sequence[int]) -> None:
    """Delete those of *keys* that no memory and no session's message refers to."""
    conn.execute(
        """
        DELETE FROM source AS o
         WHERE o.source_key IN (SELECT value FROM carray(:keys))
           AND NOT EXISTS (SELECT 1 FROM memory AS m WHERE m.source_key = o.source_key)
           AND NOT EXISTS (SELECT 1 FROM session_message AS g WHERE g.source_key = o.source_key)
        """,
        {"keys": keys_array(keys)},
    )


def erase(conn: Writing, keys: Sequence[int]) -> None:
    """Delete texts, even if memories refer to them, and the session messages that have them.

    What is left of a text is its mark (:func:`is_forgotten`).
    """
    if not keys:
        return
    message_index.unindex(conn, keys)
    rows = conn.execute(
        """
        DELETE FROM source
         WHERE source_key IN (SELECT value FROM carray(:keys))
        RETURNING agent_key, sha256
        """,
        {"keys": keys_array(keys)},
    )
    erased: list[tuple[int, bytes]] = list(rows)
    conn.executemany(
        "INSERT OR IGNORE INTO forgotten_text (agent_key, mark) VALUES (:agent_key, :mark)",
        ({"agent_key": agent_key, "mark": mark_of(conn, sha256)} for agent_key, sha256 in erased),
    )


def is_forgotten(conn: Writing, agent_key: int, sha256: bytes) -> bool:
    """Return whether the agent's text with this hash was erased, and not stored since."""
    return conn.exists(
        "SELECT 1 FROM forgotten_text WHERE agent_key = :agent_key AND mark = :mark",
        {"agent_key": agent_key, "mark": mark_of(conn, sha256)},
    )


class SourceText(NamedTuple):
    """A text of a source; two are the same if they agree in these fields."""

    content_hash: bytes
    namespace: str
    occurred_at_us: int | None
    tags: tuple[str, ...]


class SourceRow(NamedTuple):
    """A memory of a source. *reason* is why it is in the archive, None when it is not.

    *imported* is its text as it was imported, which is *text* unless it was edited since.
    """

    memory_key: int
    memory_id: str
    state: str
    reason: str | None
    project_id: str | None
    text: SourceText
    imported: SourceText


def list_imported(
    conn: Reading, agent_key: int | None, source: str, now_us: int
) -> list[SourceRow]:
    """Return the memories imported from *source* or its parts (``notes.md#3``), visible ones first.

    Memories in the trash and expired ones are left out; quarantined ones are included. A memory
    that only names the source, such as an assistant's remark on a file, was not imported. The
    elements of ``snapshot`` are those of HASHED_NAMES.
    """
    rows = conn.execute(
        """
        SELECT m.memory_key, m.memory_id, m.state, r.reason, p.project_id,
               m.content_hash, m.namespace, m.occurred_at_us,
               (SELECT json_group_array(t.tag ORDER BY t.ordinal)
                  FROM memory_tag AS t WHERE t.memory_key = m.memory_key),
               v.snapshot ->> 11, v.snapshot ->> 21, v.snapshot ->> 24
          FROM (SELECT memory_key
                  FROM memory
                 WHERE agent_key = :agent_key AND reference = :source
                 UNION ALL
                SELECT memory_key
                  FROM memory
                 WHERE agent_key = :agent_key
                   AND reference >= :source || '#' AND reference < :source || '$'
                   AND substr(reference, length(:source) + 2) NOT GLOB '*[^0-9]*') AS k
               CROSS JOIN memory AS m ON m.memory_key = k.memory_key
               LEFT JOIN archive AS r ON r.memory_key = m.memory_key
               LEFT JOIN project AS p ON p.project_key = m.project_key
               LEFT JOIN memory_version AS v ON v.memory_key = m.memory_key AND v.version = 1
         WHERE m.batch IS NOT NULL AND NOT m.is_summary
           AND m.state NOT IN ('trashed', 'stale')
           AND (m.expires_at_us IS NULL OR m.expires_at_us > :now_us)
         ORDER BY m.state IN ('active', 'pending') DESC, m.memory_key
        """,
        {"agent_key": agent_key, "source": source, "now_us": now_us},
    )
    imported = []
    for *named, content_hash, namespace, at_us, tags, first, first_at_us, first_tags in rows:
        key, memory_id, state, reason, project_id = named
        text = SourceText(content_hash, namespace, at_us, tuple(json.loads(tags)))
        original = text
        if first is not None:
            first_hash = hashlib.sha256(first.encode()).digest()
            original = SourceText(first_hash, namespace, first_at_us, tuple(json.loads(first_tags)))
        imported.append(SourceRow(key, memory_id, state, reason, project_id, text, original))
    return imported


def find_moved(
    conn: Reading, agent_key: int | None, source: str, hashes: Iterable[bytes]
) -> str | None:
    """Return the source from which one of the texts with *hashes* was imported on another computer.

    That is the file at the same place below another home. None without one, and for a *source* that
    is not below the person's home.
    """
    below = below_home(source)
    for content_hash in hashes if below else ():
        for reference in conn.list_texts(
            """
            SELECT DISTINCT reference
              FROM memory
             WHERE agent_key = :agent_key AND content_hash = :content_hash
               AND batch IS NOT NULL AND NOT is_summary AND state NOT IN ('trashed', 'stale')
               AND substr(reference, -length(:end)) = :end
             ORDER BY reference
            """,
            {"agent_key": agent_key, "content_hash": content_hash, "end": f"/{below}"},
        ):
            if below_home(reference) is None:
                return reference
    return None


def rename(conn: Writing, agent_key: int, source: str, new_source: str) -> None:
    """Make all memories of *source*, in any state, those of *new_source*."""
    keys = conn.list_ints(
        "SELECT memory_key FROM memory WHERE agent_key = :agent_key AND reference = :source",
        {"agent_key": agent_key, "source": source},
    )
    with rehashing(conn, keys) as intact:
        conn.executemany(
            "UPDATE memory SET reference = :new_source WHERE memory_key = :key",
            ({"new_source": new_source, "key": key} for key in intact),
        )
