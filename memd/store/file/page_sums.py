"""A checksum at the end of every page, so that a flipped bit anywhere in the file is found.

SQLite's own checksum VFS, which comes with apsw, puts it there as the writer writes a
page (docs/decisions/0121). Nobody verifies it while reading: one damaged page of a cache
would end every recall, and what is returned has a hash of its own (rows.py). A check
reads the pages as they lie on the disk, through SQLite, in portions.

A page that another program wrote is found as well: it has no checksum, or an old one.
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
_LOCK_BYTE = 0x40000000  # SQLite never writes the page that it lies in
_LOOKS, _BREATH_S = 3, 0.05


class Layout(NamedTuple):
    """How the file is cut."""

    page_bytes: int
    pages: int
    has_sums: bool


_SYSTEM = apsw.vfs_names()[0]


def vfs() -> str | None:
    """Return the VFS through which the writer opens the file.

    None where apsw came without it, or where the process has put a VFS of its own below
    everything: the checksums' would lie beside that one, and past it.
    """
    return _loaded() if apsw.vfs_names()[0] == _SYSTEM else None


@functools.cache
def _loaded() -> str | None:
    if not apsw.sqlite_extra.has("cksumvfs"):
        return None
    default = apsw.vfs_names()[0]
    with closing(apsw.Connection(":memory:")) as conn:
        apsw.sqlite_extra.load(conn, "cksumvfs")
    apsw.set_default_vfs(default)  # loading it makes it everybody's, and readers map the file
    return _VFS


def keeps(conn: apsw.Connection) -> bool:
    """Return whether *conn* puts checksums into what it writes."""
    return has_page_sums(conn) and conn.reserve_bytes() == PAGE_SUM_BYTES


def add(conn: Writing) -> bool:
    """Give each page of a file without checksums one, by writing it anew; False when it cannot be.

    Needs the room of a second file for a moment. After a crash it has them all or none.
    """
    if keeps(conn) or not has_page_sums(conn):
        return False
    try:
        conn.reserve_bytes(reserve=PAGE_SUM_BYTES)
        conn.execute("VACUUM")
        conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except apsw.Error:  # full or damaged: it is good without, and a later start tries again
        return False
    return keeps(conn)


def layout(path: Path) -> Layout:
    """Return how the file at *path* is cut, as its header says."""
    with _opened(path) as file:
        header = file.xRead(_HEADER_BYTES, 0) if file.xFileSize() >= _HEADER_BYTES else b""
        size = int.from_bytes(header[16:18], "big")
        page_bytes = 65_536 if size == 1 else size
        if page_bytes < _PAGE_BYTES_MIN or page_bytes & (page_bytes - 1):
            return Layout(0, 0, has_sums=False)
        pages = file.xFileSize() // page_bytes
        return Layout(page_bytes, pages, has_sums=header[20] == PAGE_SUM_BYTES)


def damaged(conn: Reading, path: Path, first: int = 1, count: int | None = None) -> Iterator[int]:
    """Yield the pages, from *first* on, that are not as they were written; none without checksums.

    *conn* only lends its function. A page that is just being written is looked at again.
    """
    cut = layout(path)
    if not cut.has_sums or vfs() is None:
        return
    end = cut.pages if count is None else min(cut.pages, first - 1 + count)
    with _opened(path) as file:
        for page in range(first, end + 1):
            if page != _LOCK_BYTE // cut.page_bytes + 1 and not _sound(conn, file, cut, page):
                yield page


def holder(conn: Reading, page: int) -> str:
    """Return the table or index that *page* belongs to, as far as that can be read."""
    with suppress(apsw.Error):
        name = conn.execute("SELECT name FROM dbstat WHERE pageno = ?", (page,)).get
        return str(name) if name else "free"
    return "unknown"


def _sound(conn: Reading, file: apsw.VFSFile, cut: Layout, page: int) -> bool:
    for look in range(_LOOKS):
        if look:
            time.sleep(_BREATH_S)
        raw = file.xRead(cut.page_bytes, (page - 1) * cut.page_bytes)
        if cast("int | None", conn.execute("SELECT verify_checksum(?)", (raw,)).get):
            return True
    return False


@contextmanager
def _opened(path: Path) -> Iterator[apsw.VFSFile]:
    """Open the file as it lies on the disk, through SQLite: closing it must not drop its locks."""
    flags = [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0]
    file = apsw.VFSFile("", str(path), flags)
    try:
        yield file
    finally:
        file.xClose()
