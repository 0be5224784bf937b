"""Store earlier versions of a memory: whole rows, kept until it is forgotten (SPEC D21)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import NamedTuple

from memd.domain.enums import MemoryCategory, Origin, Trust
from memd.domain.trust import Screened
from memd.store.check import integrity
from memd.store.file.connect import Reading, Writing
from memd.store.memory.rows import HASHED_NAMES, read_hashed, tags_of
from memd.store.org import extraction
from memd.store.search import caches, centroids, embedding_queue

_REVERTED_COLUMNS = (
    "content", "token_count", "category", "origin", "trust", "reference", "confidence",
    "occurred_at_us",
)  # fmt: skip


class NewVersion(NamedTuple):
    """The new values of a memory.

    *content* None keeps the text and the vector; *occurred_at_us* and *category* None keep theirs.
    """

    content: Screened | None
    token_count: int
    reference: str | None
    confidence: float
    tags: tuple[str, ...]
    expires_at_us: int | None
    origin: Origin
    trust: Trust
    occurred_at_us: int | None = None
    category: MemoryCategory | None = None


def replace(conn: Writing, key: int, new: NewVersion, now_us: int) -> None:
    """Save the row as a version, then rewrite it; updates neighbours' contexts and the caches."""
    _save_version(conn, key, now_us)
    neighbours = caches.neighbours(conn, [key])
    with caches.reindexing_words(conn, neighbours):
        with caches.reindexing(conn, [key]):
            if new.content is not None:
                extraction.requeue(conn, key)
                centroids.subtract(conn, [key])
                conn.execute("DELETE FROM embedding WHERE memory_key = :key", {"key": key})
            _rewrite(conn, key, new, now_us)
        caches.write_contexts(conn, neighbours)
    embedding_queue.rehash(conn, key)


def revert(conn: Writing, key: int) -> None:
    """Revert a memory to its last version and delete that version.

    Call it while the memory is out of the caches (``caches.reindexing``). The memory becomes
    pending: it needs a new vector. A preference that it states keeps its value. A damaged memory
    gets the hash of the version, so that it stays withheld unless the reverted columns had the
    damage.
    """
    is_intact = bool(integrity.memories(conn, [key]))
    [(number, snapshot, row_hash)] = conn.execute(
        """
        SELECT version, snapshot, row_hash
          FROM memory_version
         WHERE memory_key = :key
         ORDER BY version DESC
         LIMIT 1
        """,
        {"key": key},
    )
    *columns, tags = json.loads(snapshot)
    before = dict(zip(HASHED_NAMES, columns, strict=True))
    extraction.requeue(conn, key)
    centroids.subtract(conn, [key])
    conn.execute("DELETE FROM embedding WHERE memory_key = :key", {"key": key})
    conn.execute(
        """
        UPDATE memory
           SET content = :content, content_hash = :content_hash, token_count = :token_count,
               category = :category, origin = :origin, trust = :trust, reference = :reference,
               confidence = :confidence, occurred_at_us = :occurred_at_us, state = 'pending'
         WHERE memory_key = :key
        """,
        {
            **{name: before[name] for name in _REVERTED_COLUMNS},
            "content_hash": hashlib.sha256(before["content"].encode()).digest(),
            "key": key,
        },
    )
    _write_tags(conn, key, tags)
    conn.execute(
        "DELETE FROM memory_version WHERE memory_key = :key AND version = :version",
        {"key": key, "version": number},
    )
    if is_intact:
        embedding_queue.rehash(conn, key)
    else:
        conn.execute(
            "UPDATE memory SET row_hash = :row_hash WHERE memory_key = :key",
            {"row_hash": row_hash, "key": key},
        )


def make_episodic(conn: Writing, key: int, now_us: int) -> bool:
    """Save the row as a version, then change only its category.

    Returns False for a damaged memory and leaves it as it is: a new hash would hide the damage.
    """
    if not integrity.memories(conn, [key]):
        return False
    _save_version(conn, key, now_us)
    conn.execute(
        """
        UPDATE memory
           SET category = 'episodic', updated_at_us = max(:now_us, created_at_us)
         WHERE memory_key = :key
        """,
        {"key": key, "now_us": now_us},
    )
    embedding_queue.rehash(conn, key)
    return True


def _save_version(conn: Writing, key: int, now_us: int) -> None:
    snapshot = json.dumps(
        [*read_hashed(conn, key).columns, list(tags_of(conn, key))], ensure_ascii=False
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
               category = coalesce(:category, category),
               origin = :origin,
               trust = :trust,
               occurred_at_us = coalesce(:occurred_at_us, occurred_at_us),
               reference = :reference,
               confidence = :confidence,
               expires_at_us = :expires_at_us,
               state = iif(:content IS NULL, state, 'pending'),
               updated_at_us = max(:now_us, created_at_us)
         WHERE memory_key = :key
        """,
        params,
    )
    _write_tags(conn, key, new.tags)


def _write_tags(conn: Writing, key: int, tags: Sequence[str]) -> None:
    conn.execute("DELETE FROM memory_tag WHERE memory_key = :key", {"key": key})
    conn.executemany(
        "INSERT INTO memory_tag (tag, memory_key, ordinal) VALUES (?, ?, ?)",
        ((tag, key, place) for place, tag in enumerate(tags)),
    )


class EarlierTextRow(NamedTuple):
    """An earlier text of a memory, and when it was replaced."""

    text: str
    replaced_at_us: int


def list_texts(conn: Reading, key: int, limit: int) -> list[EarlierTextRow]:
    """Return up to *limit* earlier texts of a memory, the latest first.

    Versions with the same text as the next one are left out. ``snapshot ->> 11`` is the content:
    element 11 of HASHED_NAMES.
    """
    return conn.list_rows(
        EarlierTextRow,
        """
        SELECT text, replaced_at_us
          FROM (SELECT version, replaced_at_us, text,
                       lead(text, 1, content) OVER (ORDER BY version) AS next_text
                  FROM (SELECT v.version, v.replaced_at_us, v.snapshot ->> 11 AS text, m.content
                          FROM memory_version AS v
                               JOIN memory AS m ON m.memory_key = v.memory_key
                         WHERE v.memory_key = :key))
         WHERE text <> next_text
         ORDER BY version DESC
         LIMIT :limit
        """,
        {"key": key, "limit": limit},
    )
