"""A daemon that dies at a chosen operation on its file (P1, P3).

``serve`` runs in a fork of the test process. It is ``memd serve`` with another file system, which
counts operations, an embedder made of hashes, and a clock that runs days ahead. A mutant is a
daemon with a deliberate fault, which the checks must detect.
"""

from __future__ import annotations

import asyncio
import mmap
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import apsw
from support.fakes import DIMENSION, HashEmbedder

from memd import daemon
from memd.base import log
from memd.base.clock import SystemClock
from memd.base.paths import Paths
from memd.domain.caller import Caller
from memd.domain.settings.settings import DaemonSettings, Settings
from memd.embedding.model_files import read_manifest
from memd.org import temporal
from memd.serve import rooms
from memd.store.access import files
from memd.store.file import connections, database
from memd.store.file.connect import Writing
from memd.store.memory import memories
from memd.store.memory.rows import MemoryRow
from memd.store.search import model_switch

PHASES = (
    "idle", "ingest", "bulk", "delete", "forget", "embed", "checkpoint", "night", "nap", "undo",
    "org", "files", "model begun", "model vectors", "model cache", "model over", "model tidied",
)  # fmt: skip
PAUSE_S = 0.01  # a change takes long enough to be asked within
OF_A_CHANGE = {
    "begin": "model begun", "store_vectors": "model vectors", "step": "model cache",
    "complete": "model over", "delete_unused_vectors": "model tidied",
}  # fmt: skip
"""What of ``model_switch`` a transaction did, and so which phase its writes are."""
METHODS = {
    "memory.ingest": "ingest", "memory.ingest_many": "bulk", "memory.delete": "delete",
    "memory.forget": "forget", "embed": "embed", "sleep.run": "night", "sleep.compress": "night",
    "memory.consolidate": "nap", "sleep.undo": "undo", "org.write": "org", "org.retract": "org",
    "inject.file": "files",
}  # fmt: skip


class Shared:
    """What the daemon's last breath leaves behind: its phase, in memory that outlives it.

    And how many operations on its file it has done, by which its age is told.
    """

    def __init__(self) -> None:
        self._page = mmap.mmap(-1, 4096)
        self._count = memoryview(self._page)[8:16].cast("q")

    def enter(self, phase: str) -> None:
        self._page[0] = PHASES.index(phase)

    @property
    def phase(self) -> str:
        return PHASES[self._page[0]]

    def born(self) -> None:
        self._count[0] = 0

    def older(self) -> None:
        self._count[0] += 1

    @property
    def operations(self) -> int:
        return self._count[0]


class Fuse:
    """Kills its process at the *number*-th operation on the file within *phase*."""

    def __init__(self, shared: Shared, phase: str, number: int) -> None:
        self._shared = shared
        self._phase = phase
        self._left = number

    def burn(self) -> None:
        self._shared.older()
        if self._shared.phase == self._phase:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


class FusedVFS(apsw.VFS):
    """The system's files, with a fuse before and after each write, sync and truncation."""

    def __init__(self, fuse: Fuse) -> None:
        self._base = apsw.vfs_names()[0]
        super().__init__("fused", self._base, makedefault=True)
        self._fuse = fuse

    def xOpen(self, name: Any, flags: list[int]) -> FusedFile:  # noqa: N802  # SQLite's name
        return FusedFile(self._base, name, flags, self._fuse)


class FusedFile(apsw.VFSFile):
    """One file."""

    def __init__(self, base: str, name: Any, flags: list[int], fuse: Fuse) -> None:
        super().__init__(base, name, flags)
        self._fuse = fuse

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802  # SQLite's name
        self._fuse.burn()
        super().xWrite(data, offset)
        self._fuse.burn()

    def xSync(self, flags: int) -> None:  # noqa: N802  # SQLite's name
        self._fuse.burn()
        super().xSync(flags)
        self._fuse.burn()

    def xTruncate(self, size: int) -> None:  # noqa: N802  # SQLite's name
        self._fuse.burn()
        super().xTruncate(size)


class Ahead(SystemClock):
    """The machine's clock, some days ahead: what was told in an earlier life is old in this."""

    def __init__(self, days: int) -> None:
        self._ahead_us = days * 86_400_000_000

    def now_us(self) -> int:
        return super().now_us() + self._ahead_us


class Embedder(HashEmbedder):
    """In place of the model's thread."""

    def __init__(self, folder: Path, **_more: object) -> None:
        known = read_manifest(folder)  # of models that are changed for each other
        super().__init__(
            folder.name if known else "hash",
            dimension=known.fingerprint.dimension if known else DIMENSION,
        )
        self._pause_s = PAUSE_S if known else 0.0

    async def embed(self, texts: Sequence[str], *, bulk: bool = False) -> list[bytes]:
        await asyncio.sleep(self._pause_s * bulk)
        return await super().embed(texts, bulk=bulk)

    def warm(self) -> None:
        return

    async def close(self) -> None:
        return


def serve(
    paths: Paths, fuse: Fuse, shared: Shared, ready: int, *, days: int, mutant: str | None
) -> NoReturn:
    """Be the daemon until killed; *ready* is where it says that it answers."""
    vfs = FusedVFS(fuse)
    _instrument(shared)
    if mutant is not None:
        MUTANTS[mutant]()
    log.configure(level="error")
    # Its days go by faster than the messages of sessions are kept.
    settings = Settings(daemon=DaemonSettings(mmap_vectors=False, session_days=0))
    running = daemon.run(settings, paths, clock=Ahead(days), ready=lambda: _say(ready))
    try:
        asyncio.run(running)
    except BaseException:  # noqa: BLE001  # the judge must see it, and the fork must not go on
        traceback.print_exc()
    finally:
        del vfs
        sys.stderr.flush()
        os._exit(1)


def _say(ready: int) -> None:
    os.write(ready, b"r")


def _instrument(shared: Shared) -> None:
    """Note the phase around every transaction."""
    checkpoint = connections.checkpoint
    run_write: Callable[..., Any] = connections.run_write

    def in_phase(conn: Writing, work: Any, caller: Caller, batch: str | None, now: int) -> Any:
        shared.enter(METHODS.get(caller.method, "idle"))
        try:
            return INSTEAD.get("run_write", run_write)(conn, work, caller, batch, now)
        finally:
            shared.enter("idle")

    def in_checkpoint(conn: Writing, mode: int, wait_ms: int) -> None:
        shared.enter("checkpoint")
        try:
            checkpoint(conn, mode, wait_ms)
        finally:
            shared.enter("idle")

    for name, phase in OF_A_CHANGE.items():
        setattr(model_switch, name, _of_a_change(getattr(model_switch, name), shared, phase))
    vars(connections).update(run_write=in_phase, checkpoint=in_checkpoint)
    vars(database).update(CHECKPOINT_PAGES=60)  # so that every cycle has several
    vars(rooms).update(EmbedderThread=Embedder)


def _of_a_change(work: Callable[..., Any], shared: Shared, phase: str) -> Callable[..., Any]:
    """Return *work* as it is; what is written after it, in its transaction, is of *phase*."""

    def done(*given: Any, **more: Any) -> Any:
        result = work(*given, **more)
        if result is not False:
            shared.enter(phase)
        return result

    return done


# The mutants.

INSTEAD: dict[str, Callable[..., Any]] = {}


def _ack_early() -> None:
    """The reply goes out, the COMMIT waits for the next write."""

    def answers_before_commit(
        conn: Writing, work: Callable[[], Any], caller: Caller, batch: str | None, now_us: int
    ) -> Any:
        del caller, batch, now_us
        conn.touched.clear()
        if conn.in_transaction:
            conn.execute("COMMIT")
        conn.execute("BEGIN IMMEDIATE")
        return work()

    INSTEAD["run_write"] = answers_before_commit


def _summary_first() -> None:
    """A summary is stored, and what it stands for is hidden in the next transaction."""
    insert = memories.insert_bare

    def in_two(conn: Writing, rows: Sequence[MemoryRow], now_us: int) -> list[int]:
        keys = insert(conn, rows, now_us)
        if any(row.is_summary for row in rows):
            conn.execute("COMMIT")
            conn.execute("BEGIN IMMEDIATE")
        return keys

    vars(memories).update(insert_bare=in_two)


def _in_two(where: Any, name: str) -> None:
    """What *name* does comes in a transaction of its own, after the rest."""
    part = getattr(where, name)

    def later(*given: Any, **more: Any) -> Any:
        conn = next(one for one in given if isinstance(one, Writing))
        conn.execute("COMMIT")
        conn.execute("BEGIN IMMEDIATE")
        return part(*given, **more)

    setattr(where, name, later)


def _used_at_once() -> None:
    """The coming model is noted as the one in use when the change begins."""
    begin = model_switch.begin

    def noted(conn: Writing, name: str, *more: Any) -> Any:
        note = {"name": name}
        conn.execute("INSERT OR REPLACE INTO meta VALUES ('model_in_use', :name)", note)
        return begin(conn, name, *more)

    vars(model_switch).update(begin=noted)


MUTANTS: dict[str, Callable[[], None]] = {
    "ack_early": _ack_early,
    "summary_first": _summary_first,
    "learnt_later": lambda: _in_two(temporal, "learn"),
    "path_later": lambda: _in_two(files, "put"),
    "used_at_once": _used_at_once,
}
