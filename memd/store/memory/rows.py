"""Define a memory's row as it is written and as it is read, and its hash.

``MemoryRow`` is written; ``StoredMemory`` is read, with tags and the ids of agent, session and
project. The row hash covers every immutable column and the tags, so that a flipped bit in any of
them is detected (PROMISES P6). It does not cover state, updated_at_us and expires_at_us.
"""

from __future__ import annotations

import hashlib
import json
from typing import NamedTuple

from memd.base.clock import from_us
from memd.domain.enums import MemoryCategory, MemoryLevel, MemoryState, Origin, Passing, Trust
from memd.domain.memory import MemoryEntry, MemoryMetadata
from memd.domain.trust import Screened
from memd.store.file.connect import Reading


class MemoryRow(NamedTuple):
    """A memory as it is written: the columns of table ``memory`` and the tags."""

    memory_id: str
    agent_key: int
    client_key: int | None
    session_key: int | None
    project_key: int | None
    source_key: int | None
    namespace: str
    category: MemoryCategory
    level: MemoryLevel
    origin: Origin
    trust: Trust
    speaker: str | None
    content: Screened
    caption: Screened | None
    reference: str | None
    ordinal: int | None
    part: int
    batch: str | None
    token_count: int
    importance: float | None
    confidence: float
    created_at_us: int
    occurred_at_us: int | None
    salt: bytes
    state: MemoryState
    expires_at_us: int | None
    tags: tuple[str, ...] = ()
    is_summary: bool = False
    as_is: bool = False
    """Stored without the importance gate (``memory.store``)."""
    passing: Passing | None = None
    """The kind of a turn in passing, None for a memory that states something."""

    @property
    def content_hash(self) -> bytes:
        """SHA-256 of the content, which identifies equal texts."""
        return hashlib.sha256(self.content.encode()).digest()

    @property
    def row_hash(self) -> bytes:
        """SHA-256 over the immutable columns and the tags."""
        return hash_row(self.hashed_columns, self.tags)

    @property
    def hashed_columns(self) -> tuple[object, ...]:
        """The immutable columns, in the order of HASHED, as SQLite returns them."""
        columns = [getattr(self, name) for name in HASHED_NAMES]
        return tuple(int(value) if isinstance(value, int) else value for value in columns)


def hash_row(columns: tuple[object, ...], tags: tuple[str, ...]) -> bytes:
    """Return the row hash of immutable *columns* (in HASHED order) and *tags*."""
    text = json.dumps([*columns, list(tags)], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


HASHED_COLUMNS = """
       memory_id, agent_key, client_key, session_key, project_key, namespace, category, level,
       origin, trust, speaker, content, caption, reference, ordinal, part, batch, token_count,
       importance, confidence, created_at_us, occurred_at_us, is_summary, as_is"""
HASHED = f"SELECT {HASHED_COLUMNS}, salt FROM memory WHERE memory_key = :key"  # noqa: S608
HASHED_NAMES = tuple(HASHED_COLUMNS.replace(",", "").split())
"""The names of the columns that :func:`hash_row` covers, in its order."""


class HashedRow(NamedTuple):
    """The columns of a stored row that its hash covers, and the row's salt."""

    columns: tuple[object, ...]
    salt: bytes


def read_hashed(conn: Reading, key: int) -> HashedRow:
    """Return the columns of an existing row that :func:`hash_row` covers, in its order."""
    row = conn.execute(HASHED, {"key": key}).fetchone()
    assert row is not None
    return HashedRow(row[:-1], row[-1])


def tags_of(conn: Reading, key: int) -> tuple[str, ...]:
    """Return a memory's tags in the order in which they were set."""
    rows = conn.execute(
        "SELECT tag FROM memory_tag WHERE memory_key = :key ORDER BY ordinal", {"key": key}
    )
    return tuple(tag for (tag,) in rows)


class StoredMemory(NamedTuple):
    """A memory as it is read, in the order of ``memories.COLUMNS``. *tags* is a JSON array."""

    memory_key: int
    memory_id: str
    agent_id: str
    session_id: str | None
    project_id: str | None
    namespace: str
    category: str
    level: str
    origin: str
    trust: int
    speaker: str | None
    content: str
    caption: str | None
    reference: str | None
    ordinal: int | None
    part: int
    token_count: int
    importance: float | None
    confidence: float
    created_at_us: int
    occurred_at_us: int | None
    state: str
    updated_at_us: int | None
    expires_at_us: int | None
    session_key: int | None
    is_summary: int
    tags: str
    passing: str | None = None
    """The kind of a turn in passing, None for a memory that states something."""

    @property
    def tag_names(self) -> tuple[str, ...]:
        """The tags in their order."""
        return tuple(json.loads(self.tags)) if self.tags != "[]" else ()

    @property
    def effective_level(self) -> MemoryLevel:
        """The level, which is session for a working memory that ends (SPEC 7.13)."""
        ends = self.session_key is not None or self.expires_at_us is not None
        if self.category == MemoryCategory.WORKING and ends:
            return MemoryLevel.SESSION
        return MemoryLevel(self.level)

    def is_expired(self, now_us: int) -> bool:
        """Return whether the memory's expiry has passed."""
        return self.expires_at_us is not None and self.expires_at_us <= now_us

    def entry(self, *, relevance: float | None = None) -> MemoryEntry:
        """Return the row as a public ``MemoryEntry`` (SPEC 7.4)."""
        return MemoryEntry(
            id=self.memory_id,
            agent_id=self.agent_id,
            namespace=self.namespace,
            category=MemoryCategory(self.category),
            content=self.content,
            metadata=MemoryMetadata(
                source=self.reference, confidence=self.confidence, tags=self.tag_names
            ),
            created_at=from_us(self.created_at_us),
            updated_at=from_us(self.updated_at_us),
            expires_at=from_us(self.expires_at_us),
            relevance_score=relevance,
            session_id=self.session_id,
            project_id=self.project_id,
            speaker=self.speaker,
            occurred_at=from_us(self.occurred_at_us),
            importance=self.importance,
            token_count=self.token_count,
            level=self.effective_level,
            state=MemoryState(self.state),
            origin=Origin(self.origin),
            trust=Trust(self.trust),
            passing=None if self.passing is None else Passing(self.passing),
        )
