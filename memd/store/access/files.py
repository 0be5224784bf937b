"""The files of the file view: which path stands for which memory.

A file is there as long as its memory is visible: what lies in the trash, in the
archive or in quarantine leaves a path that nobody sees and that a new file may take.
"""

from __future__ import annotations

from typing import NamedTuple

from memd.store.check import intact
from memd.store.file.connect import Reading, Writing

_SEEN = """
       (f.memory_key IS NULL
           OR m.state IN ('active', 'pending')
              AND (m.expires_at_us IS NULL OR m.expires_at_us > :now_us))
"""

# Put together from constants of this module only.
# ruff: noqa: S608


class FileRow(NamedTuple):
    """One file with its text; *memory_id* is None for a blank one."""

    path: str
    memory_key: int | None
    memory_id: str | None
    text: str


class SizeRow(NamedTuple):
    """One file in a listing."""

    path: str
    bytes: int


def find(conn: Reading, agent_key: int, path: str, now_us: int) -> FileRow | None:
    """Return the file at *path*, None when none is seen there.

    Raises DamagedError where its text is not as it was written.
    """
    rows = conn.execute(
        f"""
        SELECT f.path, f.memory_key, m.memory_id, coalesce(m.content, f.blank)
          FROM memory_file AS f
               LEFT JOIN memory AS m ON m.memory_key = f.memory_key
         WHERE f.agent_key = :agent_key AND f.path = :path AND {_SEEN}
        """,
        {"agent_key": agent_key, "path": path, "now_us": now_us},
    )
    try:
        row = rows.fetchone()
    except UnicodeDecodeError:
        raise intact.refused("the file") from None
    if row is None:
        return None
    file = FileRow._make(row)
    if file.memory_key is not None and not intact.memories(conn, [file.memory_key]):
        raise intact.refused("the file")
    return file


def below(
    conn: Reading, agent_key: int, folder: str, now_us: int, limit: int = -1
) -> list[SizeRow]:
    """Return the files in *folder* and all folders in it, by path."""
    rows = conn.execute(
        f"""
        SELECT f.path, octet_length(coalesce(m.content, f.blank))
          FROM memory_file AS f
               LEFT JOIN memory AS m ON m.memory_key = f.memory_key
         WHERE f.agent_key = :agent_key
           AND f.path > :folder || '/' AND f.path < :folder || '0' -- what comes after the slash
           AND {_SEEN}
         ORDER BY f.path
         LIMIT :limit
        """,
        {"agent_key": agent_key, "folder": folder, "now_us": now_us, "limit": limit},
    )
    return [SizeRow._make(row) for row in rows]


def keys_at(conn: Reading, agent_key: int, path: str, now_us: int) -> list[int | None]:
    """Return the memory of the file seen at *path*, or of each in the folder of that name.

    None stands for a blank file; nothing at all is there for an empty answer.
    """
    rows = conn.execute(
        f"""
        SELECT f.memory_key
          FROM memory_file AS f
               LEFT JOIN memory AS m ON m.memory_key = f.memory_key
         WHERE f.agent_key = :agent_key
           AND (f.path = :path OR (f.path > :path || '/' AND f.path < :path || '0'))
           AND {_SEEN}
        """,
        {"agent_key": agent_key, "path": path, "now_us": now_us},
    )
    return [key for (key,) in rows]


def put(
    conn: Writing, agent_key: int, path: str, *, memory_key: int | None, blank: str | None
) -> None:
    """Let *path* stand for a memory, or for white space; whatever it stood for stays as it is."""
    conn.execute(
        """
        INSERT INTO memory_file (agent_key, path, memory_key, blank)
        VALUES (:agent_key, :path, :memory_key, :blank)
            ON CONFLICT (agent_key, path)
            DO UPDATE SET memory_key = excluded.memory_key, blank = excluded.blank
        """,
        {"agent_key": agent_key, "path": path, "memory_key": memory_key, "blank": blank},
    )


def drop_blank(conn: Writing, agent_key: int, path: str) -> None:
    """Remove the blank files at *path* and below it; they have no memory to hide."""
    conn.execute(
        """
        DELETE FROM memory_file
         WHERE agent_key = :agent_key AND memory_key IS NULL
           AND (path = :path OR (path > :path || '/' AND path < :path || '0'))
        """,
        {"agent_key": agent_key, "path": path},
    )


def move(conn: Writing, agent_key: int, old: str, new: str) -> None:
    """Give the file, or each file of the folder, at *old* its place at *new*."""
    conn.execute(  # nothing is seen there: what stands there lies in the trash
        """
        DELETE FROM memory_file
         WHERE agent_key = :agent_key
           AND (path = :path OR (path > :path || '/' AND path < :path || '0'))
        """,
        {"agent_key": agent_key, "path": new},
    )
    conn.execute(
        """
        UPDATE memory_file
           SET path = :new || substr(path, length(:old) + 1)
         WHERE agent_key = :agent_key
           AND (path = :old OR (path > :old || '/' AND path < :old || '0'))
        """,
        {"agent_key": agent_key, "old": old, "new": new},
    )
