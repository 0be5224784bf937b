"""Record what was deleted and when, so that an import of an earlier export does not bring it back.

What has a name or an id in its agent is recorded by its mark, an HMAC under a secret of the file:
without the file, no name can be guessed from it.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterable

from memd.store.file.connect import Writing

_META_KEY = "forgotten_secret"


def mark_of(conn: Writing, text: bytes) -> bytes:
    """Return the mark of *text*, which only this file can compute."""
    return hmac.digest(conn.ensure_secret(_META_KEY), text, "sha256")


def record(conn: Writing, kind: str, deleted: Iterable[tuple[int, str]], now_us: int) -> None:
    """Record that rows of the table *kind* were deleted, each by its agent's key and its name."""
    conn.executemany(
        """
        INSERT INTO deletion (agent_key, mark, deleted_at_us)
        VALUES (:agent_key, :mark, :now_us)
            ON CONFLICT (agent_key, mark) DO UPDATE
           SET deleted_at_us = max(deleted_at_us, excluded.deleted_at_us)
        """,
        [
            {"agent_key": agent_key, "mark": _mark_of_name(conn, kind, name), "now_us": now_us}
            for agent_key, name in deleted
        ],
    )


def is_deleted_since(conn: Writing, kind: str, agent_key: int, name: str, at_us: int) -> bool:
    """Return whether the row of *kind* with this *name* was deleted at *at_us* or later."""
    return conn.exists(
        """
        SELECT 1
          FROM deletion
         WHERE agent_key = :agent_key AND mark = :mark AND deleted_at_us >= :at_us
        """,
        {"agent_key": agent_key, "mark": _mark_of_name(conn, kind, name), "at_us": at_us},
    )


def _mark_of_name(conn: Writing, kind: str, name: str) -> bytes:
    text = json.dumps([kind, name], ensure_ascii=False)
    return mark_of(conn, text.encode("utf-8", "surrogatepass"))
