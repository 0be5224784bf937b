"""The power may go at any operation: nothing acknowledged is lost, nothing half done (P2, P9)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import apsw
import pytest
from support.fakes import fingerprint, hash_tokens, hash_vector
from support.powercut import RecordingVFS, images, leave_as_it_is, small_pages
from support.rows import a_row, an_id_source
from support.store import ADA, SOURCE_TABLES

from memd.base.errors import MemdError
from memd.domain.encoding import Encoding
from memd.store.access import changes, names
from memd.store.check import check
from memd.store.file import migrate, scrub
from memd.store.file.connect import SCHEMA_VERSION, Writing, identify, prepare_writer
from memd.store.memory import memories, removal
from memd.store.search import caches, vectors

WORD = "Xylophanes"
BEFORE = SCHEMA_VERSION - 1
_SCRUBBED_ROWS = 60


@contextmanager
def recorded(path: Path, *, lies: bool = False) -> Iterator[tuple[RecordingVFS, Writing]]:
    """Open a writer on a disk that remembers; in exclusive mode, as its index needs no memory."""
    vfs = RecordingVFS(lies=lies)
    conn = Writing(str(path), vfs="recording")
    try:
        conn.pragma("locking_mode", "exclusive")
        with small_pages():
            prepare_writer(conn)
        caches.ensure(conn)
        yield vfs, conn
    finally:
        conn.close(True)
        vfs.unregister()


def insert(conn: Writing, number: int, ids: list[str], word: str = "lamps") -> None:
    """Commit one memory with its vector and its place in a session, as an arrival does."""
    conn.execute("BEGIN IMMEDIATE")
    conn.touched.clear()
    agent_key = names.ensure_agent(conn, "ada", 1)
    model_key = vectors.ensure_cache(conn, fingerprint(), 1)
    session_key = names.ensure_session(
        conn, "s", agent_key=agent_key, client_key=None, project_key=None, now_us=1
    )
    text = f"Crate {number} holds {word}."
    row = a_row(SOURCE, text, agent_key=agent_key, session_key=session_key, ordinal=number)
    keys = memories.insert_bare(conn, [row], number)
    vectors.store(conn, model_key, [(keys[0], Encoding(hash_vector(text), hash_tokens(text)))])
    memories.index_new(conn, keys)
    changes.record(conn, ADA, number, None)
    conn.execute("COMMIT")
    ids.append(row.memory_id)


SOURCE = an_id_source()


@contextmanager
def opened(folder: Path, empty: set[str] | None = None) -> Iterator[Writing | None]:
    """Open what the cut left, as the daemon would; None where there is no file yet.

    Hundreds of cuts leave an empty file, which the daemon makes its tables in: with *empty* one
    of each kind is made a store, and joins *empty*; None for the others.
    """
    path = folder / "memd.db"
    if not path.exists():
        yield None
        return
    conn = Writing(str(path))
    try:
        if empty is not None and identify(conn) is None:
            kind = f"{conn.pragma('page_count')} pages, {conn.pragma('journal_mode')}"
            if kind in empty:
                yield None
                return
            empty.add(kind)
        prepare_writer(conn)
        caches.ensure(conn)
        leave_as_it_is(conn)
        yield conn
    finally:
        conn.close()


def lost(folder: Path, acknowledged: list[str], empty: set[str] | None = None) -> list[str]:
    """Return what is wrong with an image: acknowledged memories that are missing, or damage."""
    try:
        with opened(folder, empty) as conn:
            if conn is None:
                return acknowledged
            problems = [*check.check_rows(conn), *check.check_caches(conn)]
            there = {row[0] for row in conn.execute("SELECT memory_id FROM memory")}
            return problems + [mark for mark in acknowledged if mark not in there]
    except (apsw.Error, MemdError) as error:
        return [type(error).__name__]


def ingest(conn: Writing, vfs: RecordingVFS) -> None:
    """Tell the first memory of an agent, two more, and one after a checkpoint."""
    for number in range(4):
        ids: list[str] = []
        insert(conn, number, ids)
        vfs.mark(ids[0])
        if number == 2:
            conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)


def losses(
    tmp_path: Path, *, synchronous: str, lies: bool = False, to_the_end: bool = True
) -> tuple[int, int]:
    """Return how many images of an ingest there are and how many of them lost something.

    Where one is enough they begin with the first acknowledgement: before it there is nothing
    to lose.
    """
    (tmp_path / "live").mkdir()
    (tmp_path / "image").mkdir()
    with recorded(tmp_path / "live" / "memd.db", lies=lies) as (vfs, conn):
        conn.pragma("synchronous", synchronous)
        ingest(conn, vfs)
        trace = list(vfs.trace)
    acknowledged = next(number for number, op in enumerate(trace) if op.kind == "mark")
    seen, bad, empty = 0, 0, set[str]()
    for cut in images(trace, tmp_path / "image", start=0 if to_the_end else acknowledged):
        if bad and not to_the_end:
            break
        seen += 1
        bad += cut.fresh and bool(lost(tmp_path / "image", cut.acked, empty))
    return seen, bad


def test_a_power_cut_at_any_moment_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """From the very first operation on an empty disk."""
    images_seen, bad = losses(tmp_path, synchronous="full")
    assert images_seen > 300
    assert bad == 0


@pytest.mark.parametrize(("synchronous", "lies"), [("normal", False), ("full", True)])
def test_the_replay_would_have_seen_a_loss(tmp_path: Path, synchronous: str, lies: bool) -> None:
    """The control: without the sync at each commit, or on a disk that lies, memories are lost."""
    _, bad = losses(tmp_path, synchronous=synchronous, lies=lies, to_the_end=False)
    assert bad > 0


def test_a_power_cut_while_forgetting_leaves_all_of_it_or_nothing(tmp_path: Path) -> None:
    live, image = tmp_path / "live", tmp_path / "image"
    live.mkdir()
    image.mkdir()
    ids: list[str] = []
    with recorded(live / "memd.db") as (vfs, conn):
        for number in range(4):
            insert(conn, number, ids, WORD if number == 1 else "lamps")
        start = len(vfs.trace)
        conn.execute("BEGIN IMMEDIATE")
        conn.touched.clear()
        removal.erase(conn, [2], 9)
        changes.record(conn, ADA, 9, None)
        conn.execute("COMMIT")
        vfs.mark("erased")
        conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        vfs.mark("gone from the file")
        trace = list(vfs.trace)
    for acked, files, fresh in images(trace, image, start=start - 10):
        if "gone from the file" in acked:
            assert WORD.encode() not in files["memd.db"]
        if not fresh:
            continue
        assert not lost(image, [])
        with opened(image) as conn_after:
            assert conn_after is not None
            there = {row[0] for row in conn_after.execute("SELECT memory_id FROM memory")}
        if acked:
            assert ids[1] not in there
        assert len(there) in ((3,) if acked else (3, 4))


def committed(conn: Writing, work: Callable[[], object]) -> None:
    conn.execute("BEGIN IMMEDIATE")
    conn.touched.clear()
    work()
    changes.record(conn, ADA, 9, None)
    conn.execute("COMMIT")


def texts(conn: Writing) -> list[apsw.SQLiteValue]:
    return [row[0] for row in conn.execute("SELECT content FROM memory ORDER BY memory_key")]


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_a_power_cut_while_unused_bytes_are_erased_loses_nothing(tmp_path: Path, seed: int) -> None:
    live, image = tmp_path / "live", tmp_path / "image"
    live.mkdir()
    image.mkdir()
    ids: list[str] = []
    with recorded(live / "memd.db") as (vfs, conn):
        for number in range(_SCRUBBED_ROWS):
            insert(conn, number, ids, f"{WORD} " * (number % 3 * 40) + "lamps")
        committed(conn, partial(removal.erase, conn, list(range(2, _SCRUBBED_ROWS, 3)), 9))
        committed(conn, partial(scrub.replace_dividers, conn))
        conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        kept = texts(conn)
        start = len(vfs.trace)
        assert scrub.scrub(conn, "recording", path=live / "memd.db", first=2) == 0
        vfs.mark("scrubbed")
        trace = list(vfs.trace)
    written = [op for op in trace[start:] if op.kind == "write"]
    assert len(written) > 5
    assert {op.name for op in written} == {"memd.db"}
    cuts = 0
    for cut in images(trace, image, seed=seed, start=start):
        cuts += 1
        if not cut.fresh:
            continue
        assert lost(image, []) == []
        with opened(image) as conn_after:
            assert conn_after is not None
            assert texts(conn_after) == kept
    assert cuts >= 3 * len(written)


def test_a_power_cut_while_migrating_leaves_the_old_version_or_the_new_one(tmp_path: Path) -> None:
    live, image = tmp_path / "live", tmp_path / "image"
    live.mkdir()
    image.mkdir()
    ids: list[str] = []
    with recorded(live / "memd.db") as (vfs, conn):
        insert(conn, 1, ids)
        conn.execute("DROP TABLE weights")
        conn.pragma("user_version", BEFORE)
        conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        start = len(vfs.trace)
        # Made before, by a VACUUM of its own.
        (live / f"memd-v{BEFORE}.backup.db").touch()
        migrate.migrate(conn, live / "memd.db", BEFORE, {BEFORE: _weights})
        vfs.mark("migrated")
        trace = list(vfs.trace)
    seen = set()
    for acked, _, fresh in images(trace, image, start=start):
        if not fresh:
            continue
        after = apsw.Connection(str(image / "memd.db"))
        version = after.pragma("user_version")
        tables = {name for (name,) in after.execute("SELECT name FROM sqlite_schema")}
        assert version == BEFORE + ("weights" in tables)
        assert version == SCHEMA_VERSION or not acked
        assert after.execute("SELECT memory_id FROM memory").fetchall() == [(ids[0],)]
        assert set(SOURCE_TABLES) - tables <= {"weights"}
        seen.add(version)
        after.close()
    assert seen == {BEFORE, SCHEMA_VERSION}


def _weights(conn: Writing) -> None:
    conn.execute(
        """
        CREATE TABLE weights (
            weights_key INTEGER PRIMARY KEY,
            name TEXT NOT NULL,
            body TEXT NOT NULL CHECK (json_valid(body)),
            active INTEGER NOT NULL DEFAULT 0 CHECK (active IN (0, 1)),
            created_at_us INTEGER NOT NULL
        ) STRICT
        """
    )
