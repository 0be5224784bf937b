"""A file system that records every write, and the images that a power cut could leave (P2).

``RecordingVFS`` forwards to real files and records a trace. ``images`` replays it: for each
operation, the folder as a power cut at that moment would leave it. Synced writes are complete;
others are complete, missing or torn at a sector, by chance. A file that was created and never
synced may be missing. Deletions are always complete.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import pytest

from memd.store.check import check
from memd.store.file import connect
from memd.store.file.connect import Writing, prepare_writer
from memd.store.search import caches

SECTOR = 512
STORE = "memd.db"
PAGE_BYTES = 4_096
"""Of a store that is replayed: as many writes as with pages of 16 KiB, of fewer bytes each."""


class Op(NamedTuple):
    """One operation on one file: write, truncate, sync, delete, or a mark of the test's own."""

    kind: str
    name: str = ""
    offset: int = 0
    data: bytes = b""


class RecordingVFS(apsw.VFS):
    """The system's files, with a trace. Close every connection before ``unregister``."""

    def __init__(self, *, lies: bool = False) -> None:
        self.trace: list[Op] = []
        self._base = apsw.vfs_names()[0]
        self._lies = lies
        super().__init__("recording", self._base)

    def xOpen(self, name: Any, flags: list[int]) -> RecordingFile:  # noqa: N802  # SQLite's name
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        return RecordingFile(self._base, name, flags, self.trace, Path(str(path)).name, self._lies)

    def xDelete(self, name: str, syncdir: bool) -> None:  # noqa: N802  # SQLite's name
        super().xDelete(name, syncdir)
        self.trace.append(Op("delete", Path(name).name))

    def mark(self, what: str) -> None:
        """Note that something was acknowledged at this point."""
        self.trace.append(Op("mark", what))


class RecordingFile(apsw.VFSFile):
    """One file, which may lie about having reached the disk."""

    def __init__(
        self, base: str, name: Any, flags: list[int], trace: list[Op], short: str, lies: bool
    ) -> None:
        super().__init__(base, name, flags)
        self._trace, self._name, self._lies = trace, short, lies

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802  # SQLite's name
        super().xWrite(data, offset)
        self._trace.append(Op("write", self._name, offset, bytes(data)))

    def xTruncate(self, size: int) -> None:  # noqa: N802  # SQLite's name
        super().xTruncate(size)
        self._trace.append(Op("truncate", self._name, size))

    def xSync(self, flags: int) -> None:  # noqa: N802  # SQLite's name
        super().xSync(flags)
        if not self._lies:
            self._trace.append(Op("sync", self._name))


class Cut(NamedTuple):
    """What one power cut leaves."""

    acked: list[str]
    """What had been acknowledged by then."""
    files: dict[str, bytes]
    fresh: bool
    """Whether no cut before left the same with as much acknowledged: the same files, or files in
    which SQLite reads the same store, byte for byte. Others are not judged again."""


class Disk:
    """The files as they are on the platter, and what is still in the cache above it.

    *latest* are those with something in the cache, as they were if all of it were there.
    """

    def __init__(self) -> None:
        self.synced: dict[str, bytearray] = {}
        self.pending: dict[str, list[Op]] = {}
        self.latest: dict[str, bytearray] = {}
        self.marks: list[str] = []
        self._files: dict[str, bytes] = {}

    def apply(self, op: Op) -> None:
        match op.kind:
            case "mark":
                self.marks.append(op.name)
            case "delete":
                self.synced.pop(op.name, None)
                self.pending.pop(op.name, None)
                self.latest.pop(op.name, None)
                self._files.pop(op.name, None)
            case "sync":
                if op.name in self.pending:
                    self.synced[op.name] = self.latest.pop(op.name)
                    self.pending.pop(op.name)
                self._files[op.name] = bytes(self.synced.setdefault(op.name, bytearray()))
            case _:
                self.pending.setdefault(op.name, []).append(op)
                if op.name not in self.latest:
                    self.latest[op.name] = bytearray(self.synced.get(op.name, b""))
                _write(self.latest[op.name], op, len(op.data))

    def image(self, how: str, chance: random.Random) -> dict[str, bytes]:
        """Return the files after a cut: *how* is all, none, or torn (each write by chance)."""
        files = dict(self._files)
        if how == "none":
            return files
        if how == "all":
            return files | {name: bytes(content) for name, content in self.latest.items()}
        for name, waiting in self.pending.items():
            content = bytearray(self.synced.get(name, b""))
            for op in waiting:
                kept = len(op.data)
                if chance.random() < 0.5:
                    if op.kind == "truncate" or chance.random() < 0.5:
                        continue
                    kept = chance.randrange(0, kept + 1, SECTOR) if kept >= SECTOR else 0
                _write(content, op, kept)
            files[name] = bytes(content)
        return files


def _write(content: bytearray, op: Op, size: int) -> None:
    if op.kind == "truncate":
        del content[op.offset :]
        content.extend(bytes(op.offset - len(content)))
        return
    if size:
        content.extend(bytes(max(0, op.offset - len(content))))
        content[op.offset : op.offset + size] = op.data[:size]


def images(
    trace: list[Op],
    folder: Path,
    *,
    seed: int = 0,
    hows: tuple[str, ...] = ("all", "none", "torn"),
    start: int = 0,
) -> Iterator[Cut]:
    """Yield what each cut leaves; what is fresh of it is in *folder* by then.

    The first *start* operations are what came before: no cut is made there.
    """
    disk, chance, known = Disk(), random.Random(seed), set[tuple[object, ...]]()
    for number, op in enumerate(trace):
        disk.apply(op)
        if op.kind == "mark" or number < start:
            continue
        for how in hows:
            if how == "torn" and op.kind == "write" and len(op.data) < SECTOR:
                continue  # it cannot be torn: what may be left is among what the next leaves
            left = disk.image(how, chance)
            # Bytes keep their hash: of a file that stayed as it was it is worked out once.
            mark = (len(disk.marks), *sorted((name, hash(raw)) for name, raw in left.items()))
            fresh = mark not in known
            known.add(mark)
            if fresh:
                put(folder, left)
                store = (len(disk.marks), store_hash(folder))
                fresh = store not in known
                known.add(store)
                if fresh:
                    put(folder, left)  # as the cut left it: SQLite has rolled back a journal
            yield Cut(list(disk.marks), left, fresh)


def store_hash(folder: Path) -> object:
    """Return what SQLite reads in the store of *folder*, after its own recovery: a hash.

    Of one that it cannot read, or that is no store yet, something that is like no other.
    """
    if not (folder / STORE).exists():
        return object()
    try:
        with closing(apsw.Connection(str(folder / STORE))) as conn:
            leave_as_it_is(conn)
            return hash(conn.serialize("main"))
    except apsw.Error:
        return object()


@contextmanager
def small_pages() -> Iterator[None]:
    """Let a store that is made meanwhile have pages of ``PAGE_BYTES``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connect, "PAGE_BYTES", PAGE_BYTES)
        yield


def leave_as_it_is(conn: apsw.Connection) -> None:
    """Have the close of an image's connection write nothing back: the image is thrown away."""
    conn.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)


def put(folder: Path, files: Mapping[str, bytes]) -> None:
    """Let *folder* hold *files*, and nothing else.

    A file that is there is written over: to give its pages back and ask for others costs more.
    """
    for old in folder.iterdir():
        if old.name not in files:
            old.unlink()
    for name, content in files.items():
        path = folder / name
        with path.open("r+b" if path.exists() else "wb") as file:
            file.write(content)
            file.truncate()


def values_in(folder: Path, statements: Sequence[str]) -> tuple[Any, ...] | None:
    """Return the first value of each of *statements* over the store of *folder*; None: damage."""
    try:
        with closing(Writing(str(folder / "memd.db"))) as conn:
            prepare_writer(conn)
            caches.ensure(conn)
            if [*check.check_rows(conn), *check.check_caches(conn)]:
                return None
            return tuple(conn.execute(sql).get for sql in statements)
    except apsw.Error:
        return None


def outcomes(
    tmp_path: Path,
    work: Callable[[Writing], None],
    statements: Sequence[str],
    *,
    fill: Callable[[Writing], None] = lambda _: None,
    until_not: AbstractSet[object] = frozenset(),
) -> set[tuple[Any, ...] | None]:
    """Return what *statements* say of the images of every moment of *work*, after *fill*.

    With *until_not*, up to the first that is none of these: a fault was found.
    """
    (tmp_path / "live").mkdir()
    image = tmp_path / "image"
    image.mkdir()
    vfs = RecordingVFS()
    conn = Writing(str(tmp_path / "live" / "memd.db"), vfs="recording")
    try:
        conn.pragma("locking_mode", "exclusive")
        with small_pages():
            prepare_writer(conn)
        caches.ensure(conn)
        fill(conn)
        conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        start = len(vfs.trace)
        vfs.mark("ready")
        work(conn)
        trace = list(vfs.trace)
    finally:
        conn.close(True)
        vfs.unregister()
    assert len(trace) > start
    seen = set[tuple[Any, ...] | None]()
    for cut in images(trace, image, start=start):
        if cut.fresh:
            seen.add(values_in(image, statements))
        if until_not and seen - until_not:
            break
    return seen
