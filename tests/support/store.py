"""Rooms over a real file, and functions to inspect the file."""

from __future__ import annotations

import functools
import hashlib
import re
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import apsw
from support.clocks import HeldClock
from support.fakes import HashEmbedder

from memd.backends.rooms import Rooms, open_rooms
from memd.base.clock import Clock
from memd.base.limits import PAGE_ITEMS_MAX
from memd.domain.caller import OPERATOR, Caller
from memd.domain.encoding import Embedder
from memd.domain.ingest import IngestRequest, Receipt
from memd.domain.memory import MemoryFilter, MemoryStoreRequest
from memd.domain.settings.settings import Settings
from memd.domain.values import Emit, unheard
from memd.store.file import page_sums
from memd.store.file.connect import Writing, prepare_writer
from memd.store.file.migrate import migrate
from memd.store.memory.rows import HASHED_COLUMNS, hash_row
from memd.store.search import caches

ADA = Caller(agent_id="ada", method="test")
BOB = Caller(agent_id="bob", method="test")
OWNER = Caller(agent_id="ada", method="test", client=OPERATOR)
"""Ada herself, by her own commands."""
EVERYTHING = MemoryFilter(since=datetime(1990, 1, 1, tzinfo=UTC))

# What a check compares the caches with: everything that is not a cache or an administration of one.
SOURCE_TABLES = (
    "agent", "archive", "centroid", "change", "client", "deletion", "derived", "embedding",
    "embedding_model", "entity", "flagged", "forgotten", "forgotten_text", "injection", "learning",
    "memory", "memory_context", "memory_file", "memory_tag", "memory_turn", "memory_use",
    "memory_version", "nap_slot", "org_fact", "org_operation", "org_proposal", "org_rules",
    "owner_key", "passing", "playbook", "preference", "project", "reply", "session",
    "session_window", "shared", "source", "speaker", "statement", "trash", "weights",
)  # fmt: skip


@asynccontextmanager
async def a_house(
    path: Path,
    clock: Clock | None = None,
    embedder: Embedder | None = None,
    settings: Settings | None = None,
    emit: Emit = unheard,
) -> AsyncIterator[Rooms]:
    """Open the rooms over the file at *path*, which need not exist; no task runs beside them.

    Tokens are counted by the rule of four characters. *emit* is told of events. A new file is a
    copy of an empty store: to make its tables is a third of what opening takes.
    """
    copy_empty_store(path)
    async with AsyncExitStack() as stack:
        yield await open_rooms(
            settings or Settings(),
            path,
            clock or HeldClock(),
            stack,
            embedder=embedder or HashEmbedder(),
            model_dir=path.parent / "no model",
            emit=emit,
        )


def copy_empty_store(path: Path) -> None:
    """Put an empty store at *path* unless there is a file."""
    if not path.exists():
        path.write_bytes(empty_store())
        path.chmod(0o600)


class StoredFile(NamedTuple):
    """The bytes of a closed store, and the ids or texts of what it holds."""

    raw: bytes
    ids: list[str]
    texts: dict[str, str]

    @classmethod
    def of(
        cls, path: Path, ids: Sequence[str] = (), texts: Mapping[str, str] | None = None
    ) -> StoredFile:
        """Read the file at *path*."""
        return cls(path.read_bytes(), list(ids), dict(texts or {}))

    def copy_to(self, path: Path) -> None:
        """Write the file to *path*."""
        path.write_bytes(self.raw)
        path.chmod(0o600)


@functools.cache
def empty_store() -> bytes:
    """Return the file of a store that nothing was written into, as memd makes it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "memd.db")
        with closing(Writing(str(path), vfs=page_sums.vfs())) as conn:
            migrate(conn, path, prepare_writer(conn))
            page_sums.add_sums(conn)
            caches.ensure(conn)
        return path.read_bytes()


async def tell(house: Rooms, *texts: str, caller: Caller = ADA, **fields: Any) -> list[str]:
    """Ingest *texts* one after the other and return the ids of what became of them."""
    ids: list[str] = []
    for text in texts:
        receipt = await house.ingest.ingest(
            caller, IngestRequest.model_validate({"text": text, **fields})
        )
        ids.extend(ids_of(receipt))
    return ids


def ids_of(receipt: Receipt) -> list[str]:
    """Return every id that a receipt names, in order."""
    groups = (receipt.stored, receipt.pending, receipt.merged, receipt.turned_away)
    return [item.id for group in groups for item in group]


@contextmanager
def a_writer(path: Path) -> Iterator[Writing]:
    """Open a plain writing connection, as the daemon's own is set up."""
    conn = Writing(str(path), vfs=page_sums.vfs())
    try:
        prepare_writer(conn)
        caches.ensure(conn)
        yield conn
    finally:
        conn.close()


@contextmanager
def tampering(path: Path) -> Iterator[Writing]:
    """Open the file past memd, to plant a fault in it."""
    with a_writer(path) as conn:
        conn.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        conn.pragma("foreign_keys", False)
        yield conn


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of the file for writing, as another program would."""
    with closing(apsw.Connection(str(path))) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def plain_sql(sql: str) -> str:
    """Return *sql* without comments and layout: a column that was added stands a little apart."""
    bare = " ".join(re.sub(r"--[^\n]*", "", sql).replace('"', "").split())
    return re.sub(r" ?([(),]) ?", r"\1", bare)


def rehash(conn: apsw.Connection, memory_id: str) -> None:
    """Give a memory that a test has changed by hand the hash of what it is now."""
    row = conn.execute(
        f"SELECT memory_key, {HASHED_COLUMNS} FROM memory WHERE memory_id = ?", (memory_id,)
    ).fetchone()
    assert row is not None
    key, *columns = row
    tags = conn.execute(
        "SELECT tag FROM memory_tag WHERE memory_key = ? ORDER BY ordinal", (key,)
    ).fetchall()
    digest = hash_row(tuple(columns), tuple(str(tag) for (tag,) in tags))
    conn.execute("UPDATE memory SET row_hash = ? WHERE memory_key = ?", (digest, key))


def source_hash(conn: apsw.Connection) -> str:
    """Return a hash over every row of every source table, in order."""
    return hash_tables(conn, SOURCE_TABLES)


def hash_tables(conn: apsw.Connection, tables: Sequence[str]) -> str:
    """Return a hash over every row of *tables*, in order."""
    digest = hashlib.sha256()
    for table in tables:
        digest.update(table.encode())
        for row in conn.execute(f"SELECT * FROM {table} ORDER BY 1, 2"):
            digest.update(repr(row).encode())
    return digest.hexdigest()


def bytes_of(folder: Path) -> bytes:
    """Return the bytes of every file in *folder*, one after the other."""
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


async def stored(house: Rooms, *texts: str, caller: Caller = ADA, **fields: Any) -> list[str]:
    """Store *texts* as they are, each as one semantic memory, and return their ids."""
    return [
        await house.ingest.store(
            caller,
            MemoryStoreRequest.model_validate({"content": text, "category": "semantic", **fields}),
        )
        for text in texts
    ]


async def visible(house: Rooms, caller: Caller = ADA) -> set[str]:
    """Return the ids of every memory that a listing shows."""
    entries, _ = await house.recall.list(caller, MemoryFilter(), None, PAGE_ITEMS_MAX)
    return {entry.id for entry in entries}
