"""What lies unused inside the file's pages is made zero (P8, SPEC D21).

``secure_delete`` overwrites a cell that is deleted and a page that is freed. It does not
reach the copies that SQLite leaves behind when it balances cells over the pages of a
tree: they lie in the gap between a page's pointers and its cells, where no statement
sees them and every reader of the file's bytes does. Here those bytes are found page by
page and overwritten in place.

This may be done below SQLite because nothing but unused bytes change, under these
conditions, which :func:`scrub` and ``Database.empty_log`` make sure of: the log is empty, so
the file's pages are the newest; the write lock is held, so nobody adds a page; no reader of
the daemon is at work, which could see half of a page that is being written; the writer forgets
its cached pages afterwards, or it would write the old bytes again. A page torn by a power cut
has all its cells, and a checksum that a check reports. The file is opened through the writer's
VFS: a plain ``open`` and ``close`` would drop this process's locks on it.

The same is done to what FTS5 keeps of a word whose last posting was deleted. With
``secure-delete`` FTS5 takes a word off its page when nothing has it any more. But where a
segment's page began with that word, the index of the segment's pages still names it, or as
much of it as tells it from the word before. Such a divider is replaced by the next word
that something still has: every search goes the same way by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import cast

import apsw

from memd.base.errors import BusyError
from memd.domain.caller import Caller
from memd.store.file.connect import Reading, Writing
from memd.store.file.database import Database

_MAGIC = b"SQLite format 3\0"
_TREES = {2: 12, 5: 12, 10: 8, 13: 8}
"""The first byte of a page of a tree, and how long its header is."""

_ROOT, _FREE, _TREE = 1, 2, 5  # of the pointer map; 3 and 4 are overflow pages, zero behind
_BLOCK_HEADER = 4
_LOCK_BYTE = 1 << 30
_FIRST = 2  # the first holds the schema's names, and is never let go of
_CALLER = Caller(client="memd", method="forget")
PAGES_AT_ONCE = 2_048
"""Pages that are looked through while no other write can begin: some 60 ms."""


class _Pages:
    """The pages of the file, as they lie on the disk."""

    def __init__(self, path: Path, vfs: str | None) -> None:
        flags = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE
        self.file = apsw.VFSFile(vfs or "", str(path), [flags, 0])
        header = self.file.xRead(100, 0)
        self.is_database = header.startswith(_MAGIC)
        stored = int.from_bytes(header[16:18], "big")
        self.bytes = 65_536 if stored == 1 else stored
        self.usable = self.bytes - header[20]
        self.count = self.file.xFileSize() // self.bytes if self.is_database else 0
        self._first_trunk = int.from_bytes(header[32:36], "big")
        self._has_map = any(header[52:56])
        self._maps: dict[int, bytes] = {}

    def read(self, number: int) -> bytes:
        """Return a page; nothing of one whose checksum is wrong: a new sum would hide that."""
        try:
            return self.file.xRead(self.bytes, (number - 1) * self.bytes)
        except apsw.Error:
            return b""

    def blank(self, number: int, page: bytes, unused: list[tuple[int, int]]) -> None:
        """Write *page* again without what lies *unused*; the VFS gives it its checksum."""
        left = bytearray(page)
        for start, end in unused:
            left[start:end] = bytes(end - start)
        self.file.xWrite(bytes(left), (number - 1) * self.bytes)

    def kind(self, number: int) -> int:
        """Return the pointer map's kind of a page; 0 for what is none of ours to touch."""
        a_map, at = self._place(number)
        if not self._has_map or a_map == number or number == _LOCK_BYTE // self.bytes + 1:
            return 0
        if a_map not in self._maps:
            self._maps[a_map] = self.read(a_map)
        return self._maps[a_map][at] if at < len(self._maps[a_map]) else 0

    def _place(self, number: int) -> tuple[int, int]:
        span = self.usable // 5 + 1
        a_map = (number - 2) // span * span + 2
        if a_map == _LOCK_BYTE // self.bytes + 1:
            a_map += 1
        return a_map, 5 * (number - a_map - 1)

    def trunks(self) -> dict[int, int]:
        """Return the trunks of the list of free pages, and how many leaves each names."""
        trunk_pages: dict[int, int] = {}
        number = self._first_trunk
        while number and number not in trunk_pages and number <= self.count:
            page = self.read(number)
            trunk_pages[number] = int.from_bytes(page[4:8], "big")
            number = int.from_bytes(page[:4], "big")
        return trunk_pages


async def leave_no_trace(db: Database) -> None:
    """Make what was erased unfindable in the bytes of the file, its log and what lies beside it.

    Some pages at a time, so that other writes come in between. Raises BusyError when a
    reader still needs the log, DiskFullError, ReadOnlyError; to be asked again then.
    """
    db.place.erasures += 1
    for erase in db.place.beside:
        erase()
    await db.write(_CALLER, renew)
    page = _FIRST
    while page:
        page = await db.empty_log(partial(scrub, path=db.path, first=page))


def scrub(conn: Writing, vfs: str | None, *, path: Path, first: int) -> int:
    """Make the unused bytes of PAGES_AT_ONCE pages from *first* on zero.

    Returns the page to go on with, 0 at the end. Runs outside any transaction, in the
    writer's thread. Raises BusyError when the log is not empty or another program writes.
    """
    conn.execute("BEGIN IMMEDIATE")
    try:
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            raise BusyError("the log could not be emptied")
        pages = _Pages(path, vfs)
        try:
            last = min(first + PAGES_AT_ONCE - 1, pages.count)
            _clean(pages, range(first, last + 1))
        finally:
            pages.file.xClose()
    finally:
        conn.execute("ROLLBACK")
        conn.release_memory()  # the writer's pages have the old bytes still
    return last + 1 if last < pages.count else 0


def _clean(pages: _Pages, numbers: range) -> None:
    trunks = pages.trunks()
    cleaned = False
    for number in numbers:
        kind = pages.kind(number)
        if kind not in (_ROOT, _FREE, _TREE):
            continue
        page = pages.read(number)
        if kind == _FREE:
            unused = [(8 + 4 * trunks[number] if number in trunks else 0, pages.usable)]
        else:
            unused = list(_gaps(page, pages.usable))
        dirty = [(start, end) for start, end in unused if page.count(0, start, end) != end - start]
        if dirty:
            pages.blank(number, page, dirty)
            cleaned = True
    if cleaned:
        pages.file.xSync(apsw.SQLITE_SYNC_FULL)


def _gaps(page: bytes, usable: int) -> Iterator[tuple[int, int]]:
    """Yield the gap between pointers and cells, and the free blocks among the cells."""
    length = _TREES.get(page[0]) if page else None
    if length is None:
        return
    block, cells, content = (int.from_bytes(page[at : at + 2], "big") for at in (1, 3, 5))
    start, end = length + 2 * cells, content or 65_536
    if start <= end <= usable:
        yield start, end
    while end <= block < usable - _BLOCK_HEADER:
        following, size = (
            int.from_bytes(page[block + at : block + at + 2], "big") for at in (0, 2)
        )
        if size < _BLOCK_HEADER or block + size > usable:
            return
        yield block + _BLOCK_HEADER, block + size
        if following <= block:
            return
        block = following


# Table names are those of the schema; nothing else is ever put into the SQL.
# ruff: noqa: S608
_MAIN = b"0"  # how FTS5 marks the words of its main index
_BEHIND_ALL = b"0\xff"


def renew(conn: Writing) -> None:
    """Replace the dividers that name a word which no row has."""
    stale = [(table, *row) for table in _tables(conn) for row in _stale(conn, table)]
    if stale:
        _replace(conn, stale)


def _tables(conn: Reading) -> list[str]:
    rows = conn.execute(
        """
        SELECT name
          FROM sqlite_schema
         WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE % USING fts5(%'
        """
    )
    return [str(name) for (name,) in rows]


def _stale(conn: Writing, table: str) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield segment, divider and the divider to be, of those that name what is gone."""
    conn.execute(f"CREATE VIRTUAL TABLE temp.words_left USING fts5vocab(main, {table}, instance)")
    try:
        rows = conn.execute(f"SELECT segid, term FROM {table}_idx WHERE term <> x''").fetchall()
        dividers = cast("list[tuple[int, bytes]]", rows)
        for segment, divider in dividers:
            word = divider.removeprefix(_MAIN)
            following = _following(conn, word)
            if following is None or not following.startswith(word):
                yield segment, divider, _BEHIND_ALL if following is None else _MAIN + following
    finally:
        conn.execute("DROP TABLE temp.words_left")


def _following(conn: Reading, word: bytes) -> bytes | None:
    """Return the first word left that is not before *word*, which may be cut in a character."""
    rows = conn.execute(
        "SELECT term FROM temp.words_left WHERE term >= :word",
        {"word": word.decode("utf-8", "ignore")},
    )
    return next((term for (value,) in rows if (term := str(value).encode()) >= word), None)


def _replace(conn: Writing, stale: list[tuple[str, int, bytes, bytes]]) -> None:
    conn.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)  # which keeps everybody off FTS5's own tables
    try:
        for table, segment, before, after in stale:
            conn.execute(
                f"UPDATE OR REPLACE {table}_idx SET term = :after"
                " WHERE segid = :segment AND term = :before",
                {"after": after, "before": before, "segment": segment},
            )
    finally:
        conn.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
