"""Replace the store by a backup, which is checked first; the old store is kept.

A file that is copied over the store by hand is damaged if the old write-ahead log still exists:
SQLite replays it over the new pages. Here the old log is checkpointed, the old store kept under
another name, and only then replaced, by one rename.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import apsw

from memd.base.errors import DamagedError, ForeignFileError, MemdError
from memd.store.check import check
from memd.store.file import page_sums
from memd.store.file.backup import PARTIAL, SUFFIX, fsync
from memd.store.file.connect import SCHEMA_VERSION, Reading, identify, prepare
from memd.store.file.faults import translate

_PROBLEMS_LISTED = 3


class RestoreResult(NamedTuple):
    """The outcome of a restore.

    *forgotten* are the ids of restored memories that the replaced store had erased; *clients* are
    those with a valid key, by name, and the agent of each.
    """

    path: str
    memories: int
    replaced: str | None
    forgotten: tuple[str, ...]
    clients: dict[str, str | None]


def restore(copy: Path, database: Path, anchors: Path, stamp: str) -> RestoreResult:
    """Replace *database* by *copy*; call only while holding its lock.

    Raises ForeignFileError, NewerSchemaError or DamagedError, and then nothing has changed. The old
    store is kept as ``NAME-STAMP-replaced.backup.db``, with its audit anchors. After a crash the
    old store or the copy exists, complete.
    """
    staged = database.with_name(f".{database.stem}-restored{PARTIAL}")
    try:
        copy_store(copy, staged)
        memories = _validate(staged)
        forgotten = _forgotten_since(staged, database)
        clients = _clients_with_keys(staged)
        old_store = keep_old(database, anchors, stamp, "replaced") if database.exists() else None
        replace_store(staged, database)
    except apsw.Error as error:
        raise translate(error) from error
    finally:
        for leftover in (staged, _with_ending(staged, "-wal"), _with_ending(staged, "-shm")):
            leftover.unlink(missing_ok=True)
    replaced = None if old_store is None else str(old_store)
    return RestoreResult(str(database), memories, replaced, forgotten, clients)


def replace_store(staged: Path, database: Path) -> None:
    """Rename a complete file to the store's path, after removing the old store's log."""
    for ending in ("-wal", "-shm"):
        _with_ending(database, ending).unlink(missing_ok=True)
    staged.rename(database)
    fsync(database.parent)


def _with_ending(path: Path, ending: str) -> Path:
    return path.with_name(f"{path.name}{ending}")


def copy_store(copy: Path, staged: Path) -> None:
    """Copy the file, and its log if it is a copy of a live store instead of a backup."""
    for ending in ("", "-wal"):
        source, target = _with_ending(copy, ending), _with_ending(staged, ending)
        target.unlink(missing_ok=True)
        if not source.exists():
            continue
        handle = os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        with source.open("rb") as reading, os.fdopen(handle, "wb") as writing:
            shutil.copyfileobj(reading, writing, 1_048_576)
            writing.flush()
            os.fsync(writing.fileno())


def _validate(staged: Path) -> int:
    """Check the copy and return how many memories it has; DamagedError if a check fails."""
    with open_offline(staged) as conn:
        version = identify(conn)
        if version is None:
            raise ForeignFileError("the file is empty; nothing was restored")
        conn.pragma("journal_mode", "delete")
        if version == SCHEMA_VERSION:
            prepare(conn)
            problems = list(islice(check.check_rows(conn), _PROBLEMS_LISTED))
        else:
            verdict = conn.pragma("quick_check")
            problems = [] if verdict == "ok" else [str(verdict)]
        if problems:
            raise DamagedError(
                f"the backup does not check; nothing was restored: {'; '.join(problems)}"
            )
        return conn.get_count("SELECT count(*) FROM memory")


def _forgotten_since(staged: Path, database: Path) -> tuple[str, ...]:
    """Return the ids of the copy's memories that the store to be replaced has erased."""
    if not database.exists():
        return ()
    try:
        with open_offline(database) as conn:
            erased = set(conn.list_texts("SELECT memory_id FROM forgotten"))
    except (MemdError, apsw.Error):  # damaged, or not a store: nothing to compare with
        return ()
    with open_offline(staged) as conn:
        ids = conn.list_texts("SELECT memory_id FROM memory ORDER BY memory_key")
        return tuple(memory_id for memory_id in ids if memory_id in erased)


def _clients_with_keys(staged: Path) -> dict[str, str | None]:
    with open_offline(staged) as conn:
        return dict(
            conn.execute(
                """
                SELECT c.client_id, a.agent_id
                  FROM client AS c
                       LEFT JOIN agent AS a ON a.agent_key = c.agent_key
                 WHERE c.key_hash IS NOT NULL AND c.revoked_at_us IS NULL
                 ORDER BY c.client_id
                """
            )
        )


def keep_old(database: Path, anchors: Path, stamp: str, why: str) -> Path:
    """Keep the old store under a name with *why*, with its log and its audit anchors.

    The log of a store that is not damaged (*why* "replaced") is checkpointed first.
    """
    if why == "replaced":
        with suppress(MemdError, apsw.Error), open_offline(database) as conn:
            conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    target = database.with_name(f"{database.stem}-{stamp}-{why}{SUFFIX}")
    log = _with_ending(database, "-wal")
    if log.exists() and log.stat().st_size:  # the store is damaged: salvaging needs the log
        log.rename(_with_ending(target, "-wal"))
    try:
        target.hardlink_to(database)
    except OSError:  # a file system without links
        database.rename(target)
    if anchors.exists():
        anchors.rename(target.with_name(f"{target.name}.audit"))
    return target


@contextmanager
def open_offline(path: Path) -> Iterator[Reading]:
    """Open a file that no daemon uses."""
    try:
        flags = apsw.SQLITE_OPEN_READWRITE
        with closing(Reading(str(path), flags=flags, vfs=page_sums.vfs())) as conn:
            conn.execute("PRAGMA checksum_verification = OFF")  # a check lists the damaged pages
            yield conn
    except apsw.NotADBError:
        raise ForeignFileError(f"{path.name} is not a database; nothing was restored") from None
    except apsw.CorruptError:
        raise DamagedError("the backup is damaged; nothing was restored") from None
