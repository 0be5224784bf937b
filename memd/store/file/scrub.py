"""Overwrite residue of erased texts: unused bytes inside the file's pages (P8, SPEC D21).

``secure_delete`` overwrites deleted cells and freed pages. It does not overwrite the copies that
SQLite leaves when it moves cells between the pages of a tree. They are in the gap between a page's
pointers and its cells, which no statement reads, but which anybody who reads the file's bytes can
see. This module finds those bytes page by page and overwrites them in place.

Writing pages without SQLite is safe because only unused bytes change, under these conditions, which
:func:`scrub` and ``Database.empty_log`` ensure:

- The log is empty, so the file has the newest pages.
- The write lock is held, so no page is added.
- No reader of the daemon runs, which could see half of a page that is being written.
- The writer drops its cached pages afterwards, or it would write the old bytes again.
- The file is opened through the writer's VFS: a plain ``open`` and ``close`` would drop the locks
  of this process.

A page that a power cut leaves half written has all its cells; only its checksum is wrong, which a
check reports.

The same is done for FTS5 words whose last posting was deleted. With ``secure-delete`` FTS5 removes
a word from its page when no row has it any more. But the index of a segment's pages has the first
word of each page, or the prefix that distinguishes it from the word before, and keeps it. Such a
divider is replaced by the next word that is still in use, which leads every search to the same
page.
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
"""The length of the header of a tree's page, by the first byte of the page: its type."""

_ROOT, _FREE, _TREE = 1, 2, 5
"""Kinds of pages in the pointer map. The others are overflow pages (3, 4), which end in zeros."""
_BLOCK_HEADER = 4
_LOCK_BYTE = 1 << 30
_FIRST = 2  # page 1 has only the names of the schema and is never freed
_CALLER = Caller(client="memd", method="forget")
_RESIDUE = "residue"
PAGES_AT_ONCE = 2_048
"""Pages that are examined while no other write can begin: about 60 ms."""


class _Pages:
    """The pages of the file on the disk, read and written without SQLite's cache."""

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
        """Return a page, b"" if its checksum is wrong: writing it would hide the damage."""
        try:
            return self.file.xRead(self.bytes, (number - 1) * self.bytes)
        except apsw.Error:
            return b""

    def write_blanked(self, number: int, page: bytes, unused: list[tuple[int, int]]) -> None:
        """Write *page* with its *unused* ranges zeroed; the VFS adds the checksum."""
        blanked = bytearray(page)
        for start, end in unused:
            blanked[start:end] = bytes(end - start)
        self.file.xWrite(bytes(blanked), (number - 1) * self.bytes)

    def kind(self, number: int) -> int:
        """Return the page's kind in the pointer map, 0 for a page that must not be changed."""
        map_number, offset = self._map_entry(number)
        if not self._has_map or map_number == number or number == _LOCK_BYTE // self.bytes + 1:
            return 0
        if map_number not in self._maps:
            self._maps[map_number] = self.read(map_number)
        map_page = self._maps[map_number]
        return map_page[offset] if offset < len(map_page) else 0

    def _map_entry(self, number: int) -> tuple[int, int]:
        """Return the pointer map page that has the entry of a page, and the entry's offset in it.

        Page 2 is the first map page. Each has an entry of 5 bytes for each page that follows it.
        """
        span = self.usable // 5 + 1
        map_number = (number - 2) // span * span + 2
        if map_number == _LOCK_BYTE // self.bytes + 1:
            map_number += 1
        return map_number, 5 * (number - map_number - 1)

    def trunks(self) -> dict[int, int]:
        """Return the number of leaves of each trunk page of the free list, by page number."""
        trunk_pages: dict[int, int] = {}
        number = self._first_trunk
        while number and number not in trunk_pages and number <= self.count:
            page = self.read(number)
            trunk_pages[number] = int.from_bytes(page[4:8], "big")
            number = int.from_bytes(page[:4], "big")
        return trunk_pages


def note_residue(conn: Writing) -> None:
    """Record, in the transaction that erases, that residue must be removed.

    A kill may interrupt the removal, or a reader that needs the log may delay it.
    """
    conn.set_meta(_RESIDUE, _count_notes(conn) + 1)


def _count_notes(conn: Reading) -> int:
    return conn.get_meta(_RESIDUE, int) or 0


def has_residue(conn: Reading) -> bool:
    """Return whether residue of erased texts may be left."""
    return _count_notes(conn) > 0


async def erase_residue(db: Database) -> None:
    """Remove all residue of erased texts from the file, its log and memd's other files."""
    count = await db.read(_count_notes)
    db.files.erasure_count += 1
    for erase in db.files.erasers:
        erase()
    await db.write(_CALLER, replace_dividers)
    page = _FIRST
    while page:
        page = await db.empty_log(partial(scrub, path=db.path, first=page))
    await db.write(_CALLER, partial(_clear, count=count))


def _clear(conn: Writing, count: int) -> None:
    """Clear the record of residue, unless another erasure was recorded since *count* was read.

    Sets it to 0 instead of deleting the row, which would again leave residue in a page.
    """
    if _count_notes(conn) == count:
        conn.set_meta(_RESIDUE, 0)


def scrub(conn: Writing, vfs: str | None, *, path: Path, first: int) -> int:
    """Zero the unused bytes of PAGES_AT_ONCE pages from *first* on.

    Returns the page to continue with, 0 at the end. Must be called outside any transaction, in the
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
            _zero_unused(pages, range(first, last + 1))
        finally:
            pages.file.xClose()
    finally:
        conn.execute("ROLLBACK")
        conn.release_memory()  # the writer's cached pages still have the old bytes
    return last + 1 if last < pages.count else 0


def _zero_unused(pages: _Pages, numbers: range) -> None:
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
            pages.write_blanked(number, page, dirty)
            cleaned = True
    if cleaned:
        pages.file.xSync(apsw.SQLITE_SYNC_FULL)


def _gaps(page: bytes, usable: int) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of the gap between pointers and cells, and of free blocks among cells.

    The four bytes of a free block's header, the next block and its size, are left out.
    """
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


# Table names come from the schema; nothing else is ever put into the SQL.
# ruff: noqa: S608
_MAIN = b"0"  # FTS5's prefix of the words in its main index
_AFTER_ALL = b"0\xff"  # follows every word: UTF-8 has no byte 0xff


def replace_dividers(conn: Writing) -> None:
    """Replace the dividers of all FTS5 indexes whose word no row has any more."""
    stale = [(table, *row) for table in _fts_tables(conn) for row in _stale_dividers(conn, table)]
    if stale:
        _replace(conn, stale)


def _fts_tables(conn: Reading) -> list[str]:
    return conn.list_texts(
        """
        SELECT name
          FROM sqlite_schema
         WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE % USING fts5(%'
        """
    )


def _stale_dividers(conn: Writing, table: str) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield segment, divider and new divider for each divider that no word in use starts with."""
    conn.execute(f"CREATE VIRTUAL TABLE temp.words_left USING fts5vocab(main, {table}, instance)")
    try:
        rows = conn.execute(f"SELECT segid, term FROM {table}_idx WHERE term <> x''").fetchall()
        dividers = cast("list[tuple[int, bytes]]", rows)
        for segment, divider in dividers:
            word = divider.removeprefix(_MAIN)
            following = _next_word(conn, word)
            if following is None or not following.startswith(word):
                yield segment, divider, _AFTER_ALL if following is None else _MAIN + following
    finally:
        conn.execute("DROP TABLE temp.words_left")


def _next_word(conn: Reading, word: bytes) -> bytes | None:
    """Return the first word in use that is not before *word*, None if all are.

    *word* may end within a UTF-8 character.
    """
    rows = conn.execute(
        "SELECT term FROM temp.words_left WHERE term >= :word",
        {"word": word.decode("utf-8", "ignore")},
    )
    return next((term for (value,) in rows if (term := str(value).encode()) >= word), None)


def _replace(conn: Writing, stale: list[tuple[str, int, bytes, bytes]]) -> None:
    conn.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)  # it forbids writing FTS5's internal tables
    try:
        for table, segment, before, after in stale:
            conn.execute(
                f"UPDATE OR REPLACE {table}_idx SET term = :after"
                " WHERE segid = :segment AND term = :before",
                {"after": after, "before": before, "segment": segment},
            )
    finally:
        conn.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
