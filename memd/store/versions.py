"""Earlier versions of a memory: whole rows, kept until the memory is forgotten (SPEC D21)."""

from __future__ import annotations

import hashlib
import json
from typing import NamedTuple

from memd.model.enums import MemoryCategory, Origin, Trust
from memd.model.screened import Screened
from memd.store import caches, centroids, contexts, pending, unread
from memd.store.connect import Writing
from memd.store.rows import hashed, tags_of


class NewVersion(NamedTuple):
    """What a memory becomes. *content* None leaves the text, and the vector, as they are."""

    content: Screened | None
    token_count: int
    reference: str | None
    confidence: float
    tags: tuple[str, ...]
    expires_at_us: int | None
    origin: Origin
    trust: Trust


def replace(conn: Writing, key: int, new: NewVersion, now_us: int) -> None:
    """Keep the row as it is as a version, then rewrite it; neighbours and caches follow."""
    _keep(conn, key, now_us)
    beside = contexts.neighbours(conn, [key])
    with caches.rewording(conn, beside):
        with caches.moving(conn, [key]):
            if new.content is not None:
                unread.read_again(conn, key)
                centroids.take(conn, [key])
                conn.execute("DELETE FROM embedding WHERE memory_key = :key", {"key": key})
            _rewrite(conn, key, new, now_us)
        contexts.write(conn, beside)
    pending.rehash(conn, key)


def file_anew(conn: Writing, key: int, category: MemoryCategory, now_us: int) -> None:
    """Keep the row as it is as a version, then give it another category; nothing else changes."""
    _keep(conn, key, now_us)
    conn.execute(
        """
        UPDATE memory
           SET category = :category, updated_at_us = max(:now_us, created_at_us)
         WHERE memory_key = :key
        """,
        {"key": key, "category": category, "now_us": now_us},
    )
    pending.rehash(conn, key)


def _keep(conn: Writing, key: int, now_us: int) -> None:
    snapshot = json.dumps(
        [*hashed(conn, key).columns, list(tags_of(conn, key))], ensure_ascii=False
    )
    conn.execute(
        """
        INSERT INTO memory_version (memory_key, version, snapshot, row_hash, replaced_at_us)
        SELECT :key,
               1 + (SELECT count(*) FROM memory_version WHERE memory_key = :key),
               :snapshot, row_hash, :now_us
          FROM memory
         WHERE memory_key = :key
        """,
        {"key": key, "snapshot": snapshot, "now_us": now_us},
    )


def _rewrite(conn: Writing, key: int, new: NewVersion, now_us: int) -> None:
    params = {
        **new._asdict(),
        "key": key,
        "now_us": now_us,
        "content_hash": None
        if new.content is None
        else hashlib.sha256(new.content.encode()).digest(),
    }
    del params["tags"]
    conn.execute(
        """
        UPDATE memory
           SET content = coalesce(:content, content),
               content_hash = coalesce(:content_hash, content_hash),
               token_count = :token_count,
               origin = :origin,
               trust = :trust,
               reference = :reference,
               confidence = :confidence,
               expires_at_us = :expires_at_us,
               state = iif(:content IS NULL, state, 'pending'),
               updated_at_us = max(:now_us, created_at_us)
         WHERE memory_key = :key
        """,
        params,
    )
    conn.execute("DELETE FROM memory_tag WHERE memory_key = :key", {"key": key})
    conn.executemany(
        "INSERT INTO memory_tag (tag, memory_key, ordinal) VALUES (?, ?, ?)",
        ((tag, key, place) for place, tag in enumerate(new.tags)),
    )
    # A preference that came from this memory says what the memory says now.
    conn.execute(
        """
        UPDATE preference
           SET value = coalesce(:content, value),
               token_count = :token_count,
               updated_at_us = :now_us
         WHERE memory_key = :key
        """,
        {"content": new.content, "token_count": new.token_count, "now_us": now_us, "key": key},
    )


def count(conn: Writing, key: int) -> int:
    """Return how many earlier versions a memory has."""
    found = conn.execute(
        "SELECT count(*) FROM memory_version WHERE memory_key = :key", {"key": key}
    ).get
    assert isinstance(found, int)
    return found
