"""A backup put in the place of the store: checked first, and nothing of what was there is lost.

A file copied over the store by hand is damaged when the old write-ahead log is
still there: SQLite plays it over the new pages. Here the old store is closed
cleanly, kept under another name, and only then replaced, by one rename.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple, cast

import apsw

from memd.base.errors import DamagedError, ForeignFileError, MemdError
from memd.store.check import check
from memd.store.file import page_sums
from memd.store.file.backup import PARTIAL, SUFFIX
from memd.store.file.connect import SCHEMA_VERSION, Reading, identify, prepare
from memd.store.file.faults import translated

_PROBLEMS_TOLD = 3


class Restored(NamedTuple):
    """What a restore did. *forgotten* are ids that the replaced store had erased on purpose."""

    path: str
    memories: int
    replaced: str | None
    forgotten: tuple[str, ...]


def restore(copy: Path, database: Path, anchors: Path, stamp: str) -> Restored:
    """Put *copy* in the place of *database*; call only while holding its lock.

    Raises ForeignFileError, NewerSchemaError or DamagedError, and then nothing has
    changed. What was there is kept as ``NAME-STAMP-replaced.backup.db``, with the notes
    of its audit. After a crash either file stands there, whole.
    """
    staged = database.with_name(f".{database.stem}-restored{PARTIAL}")
    try:
        copied(copy, staged)
        memories = _checked(staged)
        forgotten = _forgotten_since(staged, database)
        kept = keep(database, anchors, stamp, "replaced") if database.exists() else None
        put(staged, database)
    except apsw.Error as error:
        raise translated(error) from error
    finally:
        for left in (staged, _beside(staged, "-wal"), _beside(staged, "-shm")):
            left.unlink(missing_ok=True)
    return Restored(str(database), memories, None if kept is None else str(kept), forgotten)


def put(staged: Path, database: Path) -> None:
    """Put a whole file in the place of the store, of whose log nothing may stay."""
    for rest in ("-wal", "-shm"):
        _beside(database, rest).unlink(missing_ok=True)
    staged.rename(database)
    sync(database.parent)


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(f"{path.name}{ending}")


def copied(copy: Path, staged: Path) -> None:
    """Copy the file, and the log beside it, if somebody copied a store and not a backup."""
    for ending in ("", "-wal"):
        source, target = _beside(copy, ending), _beside(staged, ending)
        target.unlink(missing_ok=True)
        if not source.exists():
            continue
        handle = os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        with source.open("rb") as reading, os.fdopen(handle, "wb") as writing:
            shutil.copyfileobj(reading, writing, 1_048_576)
            writing.flush()
            os.fsync(writing.fileno())


def _checked(staged: Path) -> int:
    """Return how many memories are in the copy, after everything in it was checked."""
    with opened(staged) as conn:
        version = identify(conn)
        if version is None:
            raise ForeignFileError("the file is empty; nothing was restored")
        conn.pragma("journal_mode", "delete")
        if version == SCHEMA_VERSION:
            prepare(conn)
            problems = list(islice(check.rows(conn), _PROBLEMS_TOLD))
        else:
            verdict = conn.pragma("quick_check")
            problems = [] if verdict == "ok" else [str(verdict)]
        if problems:
            raise DamagedError(
                f"the backup does not check; nothing was restored: {'; '.join(problems)}"
            )
        return cast("int", conn.execute("SELECT count(*) FROM memory").get)


def _forgotten_since(staged: Path, database: Path) -> tuple[str, ...]:
    """Return which memories of the copy the store that it replaces has erased on purpose."""
    if not database.exists():
        return ()
    try:
        with opened(database) as conn:
            erased = {
                cast("str", one) for (one,) in conn.execute("SELECT memory_id FROM forgotten")
            }
    except (MemdError, apsw.Error):  # damaged, or no store at all: it is kept as it is
        return ()
    with opened(staged) as conn:
        there = conn.execute("SELECT memory_id FROM memory ORDER BY memory_key")
        return tuple(cast("str", one) for (one,) in there if one in erased)


def keep(database: Path, anchors: Path, stamp: str, why: str) -> Path:
    """Keep the store under another name, which says *why*, with its log and its audit's notes.

    The log of a store that was sound is moved into it first.
    """
    if why == "replaced":
        with suppress(MemdError, apsw.Error), opened(database) as conn:
            conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    kept = database.with_name(f"{database.stem}-{stamp}-{why}{SUFFIX}")
    log = _beside(database, "-wal")
    if log.exists() and log.stat().st_size:  # of a damaged store: whoever salvages it needs it
        log.rename(_beside(kept, "-wal"))
    try:
        kept.hardlink_to(database)
    except OSError:  # a file system without links
        database.rename(kept)
    if anchors.exists():
        anchors.rename(kept.with_name(f"{kept.name}.audit"))
    return kept


@contextmanager
def opened(path: Path) -> Iterator[Reading]:
    """Open a file that no daemon uses."""
    try:
        flags = apsw.SQLITE_OPEN_READWRITE
        with closing(Reading(str(path), flags=flags, vfs=page_sums.vfs())) as conn:
            conn.execute("PRAGMA checksum_verification = OFF")  # the check says which page it is
            yield conn
    except apsw.NotADBError:
        raise ForeignFileError(f"{path.name} is not a database; nothing was restored") from None
    except apsw.CorruptError:
        raise DamagedError("the backup is damaged; nothing was restored") from None


def sync(path: Path) -> None:
    """Wait until a file, or what a folder holds, is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
