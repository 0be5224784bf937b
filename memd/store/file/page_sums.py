"""Page checksums: a checksum at the end of every page, which detects any flipped bit.

SQLite's checksum VFS, which comes with apsw, adds it when the writer writes a page
(docs/decisions/0121). Reads do not verify it: one damaged page of a cache would make every recall
fail, and rows have their own hashes (rows.py). A check reads the pages from the disk through
SQLite, in portions.

A page written by another program is detected as well: it has no checksum, or an old one.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, cast

import apsw
import apsw.sqlite_extra

from memd.store.file.connect import PAGE_SUM_BYTES, Reading, Writing, has_page_sums

_VFS = "cksmvfs"
_HEADER_BYTES = 100
_PAGE_BYTES_MIN = 512
_LOCK_BYTE = 0x40000000  # SQLite locks this byte and never writes the page that contains it
_TRIES, _RETRY_S = 3, 0.05


class Layout(NamedTuple):
    """Page size and count of the file, and whether its pages have checksums."""

    page_bytes: int
    pages: int
    has_sums: bool


_SYSTEM = apsw.vfs_names()[0]


def vfs() -> str | None:
    """Return the VFS through which the writer opens the file.

    None where apsw was built without it, or where the process has installed another default VFS,
    which the checksum VFS would bypass.
    """
    return _load() if apsw.vfs_names()[0] == _SYSTEM else None


@functools.cache
def _load() -> str | None:
    if not apsw.sqlite_extra.has("cksumvfs"):
        return None
    default = apsw.vfs_names()[0]
    with closing(apsw.Connection(":memory:")) as conn:
        apsw.sqlite_extra.load(conn, "cksumvfs")
    apsw.set_default_vfs(default)  # loading made it the default, but with it readers cannot mmap
    return _VFS


def add_sums(conn: Writing) -> bool:
    """Add checksums to a file without them by rewriting it; returns whether they were added.

    Temporarily needs the space of a second file. After a crash the file has all checksums or none.
    """
    if not has_page_sums(conn) or conn.reserve_bytes() == PAGE_SUM_BYTES:
        return False
    try:
        conn.reserve_bytes(reserve=PAGE_SUM_BYTES)
        conn.execute("VACUUM")
        conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except apsw.Error:  # full disk or damaged file: usable without; a later start tries again
        return False
    return conn.reserve_bytes() == PAGE_SUM_BYTES


def layout(path: Path) -> Layout:
    with _open(path) as file:
        header = file.xRead(_HEADER_BYTES, 0) if file.xFileSize() >= _HEADER_BYTES else b""
        size = int.from_bytes(header[16:18], "big")
        page_bytes = 65_536 if size == 1 else size
        if page_bytes < _PAGE_BYTES_MIN or page_bytes & (page_bytes - 1):
            return Layout(0, 0, has_sums=False)
        pages = file.xFileSize() // page_bytes
        return Layout(page_bytes, pages, has_sums=header[20] == PAGE_SUM_BYTES)


def find_damaged(
    conn: Reading, path: Path, first: int = 1, count: int | None = None
) -> Iterator[int]:
    """Yield the numbers of damaged pages from *first* on; none for a file without checksums.

    *conn* only provides the checksum function. A page that does not match is read again, since it
    may just be being written.
    """
    file_layout = layout(path)
    if not file_layout.has_sums or vfs() is None:
        return
    end = file_layout.pages if count is None else min(file_layout.pages, first - 1 + count)
    with _open(path) as file:
        for page in range(first, end + 1):
            if page != _LOCK_BYTE // file_layout.page_bytes + 1 and not _is_intact(
                conn, file, file_layout, page
            ):
                yield page


def complete(path: Path) -> None:
    """Write the checksum of every page of a new copy, which nobody else uses yet.

    The checksum VFS reads from page 1 whether a file has checksums. SQLite writes some pages of a
    copy that is larger than its cache before page 1: those have no checksum.
    """
    name, file_layout = vfs(), layout(path)
    if name is None or not file_layout.has_sums:
        return
    flags = [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE, 0]
    size = file_layout.page_bytes
    with closing(_SummedFile(name, str(path), flags)) as summed, _open(path) as file:
        summed.xRead(size, 0)
        for page in range(file_layout.pages):
            if page != _LOCK_BYTE // size:
                summed.xWrite(file.xRead(size, page * size), page * size)
        summed.xSync(apsw.SQLITE_SYNC_NORMAL)


class _SummedFile(apsw.VFSFile):
    """A file to which pages are written with their checksums."""

    def close(self) -> None:
        self.xClose()


def table_of_page(conn: Reading, page: int) -> str:
    """Return the name of the table or index that *page* belongs to, "free" or "unknown"."""
    with suppress(apsw.Error):
        name = conn.execute("SELECT name FROM dbstat WHERE pageno = ?", (page,)).get
        return str(name) if name else "free"
    return "unknown"


def _is_intact(conn: Reading, file: apsw.VFSFile, file_layout: Layout, page: int) -> bool:
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_RETRY_S)
        raw = file.xRead(file_layout.page_bytes, (page - 1) * file_layout.page_bytes)
        if cast("int | None", conn.execute("SELECT verify_checksum(?)", (raw,)).get):
            return True
    return False


@contextmanager
def _open(path: Path) -> Iterator[apsw.VFSFile]:
    """Open the file to read its bytes, through SQLite: a plain close would drop SQLite's locks."""
    flags = [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0]
    file = apsw.VFSFile("", str(path), flags)
    try:
        yield file
    finally:
        file.xClose()
