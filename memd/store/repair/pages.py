"""Read a damaged SQLite file page by page, without SQLite (format: sqlite.org/fileformat2.html).

Trees are walked from their roots. Leaves of a table below a lost page are found as well, because
their content identifies them. Only cells that a page points to are read, so deleted rows in freed
bytes are not recovered. Incomplete rows are left out; salvage.py verifies the hashes of the others.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from mmap import mmap
from typing import NamedTuple

Value = int | float | str | bytes | None

_MAGIC = b"SQLite format 3\0"
_PAGE_BYTES = frozenset({1, *(1 << n for n in range(9, 16))})  # as in the header: 1 means 65,536
_HEADER_BYTES = 100
_TABLE_LEAF, _TABLE_INTERIOR, _INDEX_LEAF, _INDEX_INTERIOR = 0x0D, 0x05, 0x0A, 0x02
_INTERIOR = frozenset({_TABLE_INTERIOR, _INDEX_INTERIOR})
_TREE = _INTERIOR | {_TABLE_LEAF, _INDEX_LEAF}
_INT_BYTES = (0, 1, 2, 3, 4, 6, 8)
_FLOAT_TYPE, _ZERO_TYPE, _ONE_TYPE, _BLOB_TYPE = 7, 8, 9, 12
_VARINT_BYTES_MAX = 9
_LONG_MAX = 1 << 63


class Cell(NamedTuple):
    """A row of a table: its rowid (0 in an index's tree) and its columns."""

    rowid: int
    columns: tuple[Value, ...]


class FilePages:
    """The pages of a file.

    *page_bytes* and *reserved* (bytes at the end of each page) are used when its header is lost.
    """

    def __init__(self, raw: bytes | mmap, page_bytes: int, reserved: int) -> None:
        self._raw = raw
        size = int.from_bytes(raw[16:18], "big")
        has_header = raw[:16] == _MAGIC and size in _PAGE_BYTES
        self.version = int.from_bytes(raw[60:64], "big") if has_header else None
        self.page_bytes = (65_536 if size == 1 else size) if has_header else page_bytes
        self.usable = self.page_bytes - (raw[20] if has_header else reserved)
        self.count = -(-len(raw) // self.page_bytes)  # the last one may be cut off
        self.visited: set[int] = set()

    def free(self) -> frozenset[int]:
        """Return the pages in the file's free list, as far as it can be read."""
        pages: set[int] = set()
        trunk = int.from_bytes(self._raw[32:36], "big")
        while 1 <= trunk <= self.count and trunk not in pages:
            pages.add(trunk)
            page = self._page(trunk)
            leaves = min(int.from_bytes(page[4:8], "big"), self.usable // 4 - 2)
            pages.update(struct.unpack_from(f">{leaves}I", page, 8))
            trunk = int.from_bytes(page[:4], "big")
        return frozenset(pages)

    def tree(self, root: int) -> Iterator[Cell]:
        """Yield the rows of the tree at *root* on pages that are readable and not visited yet."""
        for number, head in self._visit(root):
            if head.kind != _TABLE_INTERIOR:
                yield from self._cells(number, head)

    def mark(self, root: int) -> None:
        """Mark the pages of the tree at *root* as visited without reading its rows."""
        for _page in self._visit(root):
            pass

    def _visit(self, root: int) -> Iterator[tuple[int, _Head]]:
        stack = [root]
        while stack:
            number = stack.pop()
            head = self._head(number) if 1 <= number <= self.count else None
            if head is None or number in self.visited:
                continue
            self.visited.add(number)
            if head.kind in _INTERIOR:
                stack += self._children(number, head)
            yield number, head

    def orphans(self) -> Iterator[list[Cell]]:
        """Yield the rows of each leaf of a table that no tree led to."""
        free = self.free()
        for number in range(2, self.count + 1):
            if number not in self.visited and number not in free:
                head = self._head(number)
                if head is not None and head.kind == _TABLE_LEAF:
                    yield list(self._cells(number, head))

    # Reading one page.

    def _page(self, number: int) -> bytes:
        start = (number - 1) * self.page_bytes
        return self._raw[start : start + self.usable].ljust(self.usable, b"\0")

    def _head(self, number: int) -> _Head | None:
        page = self._page(number)
        at = _HEADER_BYTES if number == 1 else 0
        if page[at] not in _TREE:
            return None
        cells = int.from_bytes(page[at + 3 : at + 5], "big")
        first = at + (12 if page[at] in _INTERIOR else 8)
        if first + 2 * cells > self.usable:
            return None
        return _Head(page[at], at, struct.unpack_from(f">{cells}H", page, first))

    def _children(self, number: int, head: _Head) -> list[int]:
        page = self._page(number)
        places = (head.at + 8, *head.cells)  # the last child is in the header
        return [int.from_bytes(page[at : at + 4], "big") for at in places]

    def _cells(self, number: int, head: _Head) -> Iterator[Cell]:
        page = self._page(number)
        for at in head.cells:
            try:
                cell = self._cell(page, head.kind, at)
            except (ValueError, IndexError, struct.error):
                continue  # includes UnicodeDecodeError, a damaged text
            yield cell

    def _cell(self, page: bytes, kind: int, at: int) -> Cell:
        if kind == _INDEX_INTERIOR:
            at += 4
        size, at = _varint(page, at)
        rowid = 0
        if kind == _TABLE_LEAF:
            rowid, at = _varint(page, at)
        return Cell(rowid, _record(self._payload(page, kind, at, size)))

    def _payload(self, page: bytes, kind: int, at: int, size: int) -> bytes:
        """Return the payload of a cell: its local part and, if it is larger, its overflow pages.

        The constants are those of the format ("Cell payload overflow pages").
        """
        usable = self.usable
        most = usable - 35 if kind == _TABLE_LEAF else (usable - 12) * 64 // 255 - 23
        if size > len(self._raw):
            raise ValueError(size)
        if size <= most:
            return _require_size(page[at : at + size], size)
        least = (usable - 12) * 32 // 255 - 23
        local = least + (size - least) % (usable - 4)
        local = local if local <= most else least
        parts = [_require_size(page[at : at + local], local)]
        remaining = size - local
        overflow = int.from_bytes(page[at + local : at + local + 4], "big")
        while remaining > 0:
            if not 1 <= overflow <= self.count:
                raise ValueError(overflow)
            page = self._page(overflow)
            part = page[4 : 4 + min(remaining, usable - 4)]
            parts.append(part)
            remaining -= len(part)
            overflow = int.from_bytes(page[:4], "big")
        return _require_size(b"".join(parts), size)


class _Head(NamedTuple):
    """The header of a tree's page: the page's kind, the header's offset, the offsets of cells."""

    kind: int
    at: int
    cells: tuple[int, ...]


def _require_size(part: bytes, size: int) -> bytes:
    if len(part) != size:
        raise ValueError(size)
    return part


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    """Return the variable-length integer at *at*, and the offset after it."""
    value = 0
    for place in range(_VARINT_BYTES_MAX):
        byte = raw[at + place]
        if place == _VARINT_BYTES_MAX - 1:
            value = value << 8 | byte
        else:
            value = value << 7 | byte & 0x7F
            if byte < 0x80:  # noqa: PLR2004  # the format's own bit
                return value, at + place + 1
    return (value - (1 << 64) if value >= _LONG_MAX else value), at + _VARINT_BYTES_MAX


def _record(raw: bytes) -> tuple[Value, ...]:
    """Return the columns of a record: a header of column types, then the values."""
    end, at = _varint(raw, 0)
    body = end
    columns: list[Value] = []
    while at < end:
        kind, at = _varint(raw, at)
        value, body = _value(raw, kind, body)
        columns.append(value)
    if body != len(raw):
        raise ValueError(body)
    return tuple(columns)


def _value(raw: bytes, kind: int, at: int) -> tuple[Value, int]:
    """Return the value of type *kind* at *at*, and the offset after it."""
    if kind < len(_INT_BYTES):
        size = _INT_BYTES[kind]
        part = _require_size(raw[at : at + size], size)
        return (int.from_bytes(part, "big", signed=True) if size else None), at + size
    if kind == _FLOAT_TYPE:
        return struct.unpack_from(">d", raw, at)[0], at + 8
    if kind in (_ZERO_TYPE, _ONE_TYPE):
        return kind - _ZERO_TYPE, at
    if kind < _BLOB_TYPE:
        raise ValueError(kind)
    size = (kind - _BLOB_TYPE) // 2
    part = _require_size(raw[at : at + size], size)
    return (part.decode() if kind % 2 else part), at + size
