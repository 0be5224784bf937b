"""Map the paths of the file view to memories.

A file exists while its memory is visible. If the memory is in the trash, the archive or quarantine,
its path is invisible, and a new file may use it.
"""

from __future__ import annotations

from typing import NamedTuple

from memd.domain.files import FileSize
from memd.store.check import integrity
from memd.store.file.connect import Reading, Writing

_VISIBLE = """
       (f.memory_key IS NULL
           OR m.state IN ('active', 'pending')
              AND (m.expires_at_us IS NULL OR m.expires_at_us > :now_us))
"""

# All SQL below is built from constants of this module.
# ruff: noqa: S608


class FileRow(NamedTuple):
    """A file with its text. A blank file (only white space) has no memory."""

    path: str
    memory_key: int | None
    memory_id: str | None
    text: str


def find(conn: Reading, agent_key: int, path: str, now_us: int) -> FileRow | None:
    """Return the file at *path*, None when none is visible there.

    Raises DamagedError when its memory does not match its hash.
    """
    rows = conn.execute(
        f"""
        SELECT f.path, f.memory_key, m.memory_id, coalesce(m.content, f.blank)
          FROM memory_file AS f
               LEFT JOIN memory AS m ON m.memory_key = f.memory_key
         WHERE f.agent_key = :agent_key AND f.path = :path AND {_VISIBLE}
        """,
        {"agent_key": agent_key, "path": path, "now_us": now_us},
    )
    try:
        row = rows.fetchone()
    except UnicodeDecodeError:
        raise integrity.make_error("the file") from None
    if row is None:
        return None
    file = FileRow._make(row)
    if file.memory_key is not None and not integrity.memories(conn, [file.memory_key]):
        raise integrity.make_error("the file")
    return file


def list_below(
    conn: Reading, agent_key: int, folder: str, now_us: int, limit: int
) -> list[FileSize]:
    return conn.list_rows(
        FileSize,
        f"""
        SELECT f.path, octet_length(coalesce(m.content, f.blank))
          FROM memory_file AS f
               LEFT JOIN memory AS m ON m.memory_key = f.memory_key
         WHERE f.agent_key = :agent_key
           AND f.path > :folder || '/' AND f.path < :folder || '0' -- '0' is the character after '/'
           AND {_VISIBLE}
         ORDER BY f.path
         LIMIT :limit
        """,
        {"agent_key": agent_key, "folder": folder, "now_us": now_us, "limit": limit},
    )


def keys_at(conn: Reading, agent_key: int, path: str, now_us: int) -> list[int | None]:
    """Return the key of the memory of the file at *path*, or of each file below that folder.

    The key of a blank file is None; the list is empty when no file is visible.
    """
    rows = conn.execute(
        f"""
        SELECT f.memory_key
          FROM memory_file AS f
               LEFT JOIN memory AS m ON m.memory_key = f.memory_key
         WHERE f.agent_key = :agent_key
           AND (f.path = :path OR (f.path > :path || '/' AND f.path < :path || '0'))
           AND {_VISIBLE}
        """,
        {"agent_key": agent_key, "path": path, "now_us": now_us},
    )
    return [key for (key,) in rows]


def put(
    conn: Writing, agent_key: int, path: str, *, memory_key: int | None, blank: str | None
) -> None:
    """Bind *path* to a memory, or to the white space *blank*; replaces an earlier binding."""
    row = {"agent_key": agent_key, "path": path, "memory_key": memory_key, "blank": blank}
    conn.put("memory_file", row, "agent_key", "path")


def drop_blank(conn: Writing, agent_key: int, path: str) -> None:
    """Delete the blank files at *path* and below it."""
    conn.execute(
        """
        DELETE FROM memory_file
         WHERE agent_key = :agent_key AND memory_key IS NULL
           AND (path = :path OR (path > :path || '/' AND path < :path || '0'))
        """,
        {"agent_key": agent_key, "path": path},
    )


def move(conn: Writing, agent_key: int, old: str, new: str) -> None:
    """Move the file *old*, or each file below that folder, to *new*, where no file is visible."""
    conn.execute(  # an invisible memory may still have one of the new paths
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
