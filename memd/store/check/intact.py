"""Rows as they were written: whatever is told to anybody is compared with its hash first.

A row that does not match, or whose text is no text any more, is withheld: it is left out
where there are others, and refused with DamagedError where it was asked for by name. It
is noted on the way, by kind and id and never by its text, for ``system.status``, for
``event.damaged`` and for whoever runs ``memd check``.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from memd.base.errors import DamagedError
from memd.store.file.connect import Reading, hash_columns
from memd.store.file.keys import keys_array
from memd.store.memory.rows import HASHED_COLUMNS, hash_row
from memd.store.org import proofs

if TYPE_CHECKING:
    import apsw

KEPT_MAX = 100
HINT = "run: memd check, then: memd repair"

Columns: TypeAlias = "tuple[apsw.SQLiteValue, ...]"


class Damage:
    """What was found damaged since the last whole check; filled by any thread, told by the loop."""

    def __init__(self) -> None:
        self._found: dict[str, None] = {}
        self._fresh: deque[str] = deque(maxlen=KEPT_MAX)

    def note(self, what: str) -> None:
        """Note *what* once; beyond KEPT_MAX only the first are told."""
        if what not in self._found and len(self._found) < KEPT_MAX:
            self._found[what] = None
            self._fresh.append(what)

    def problems(self) -> tuple[str, ...]:
        """Return everything noted, in order."""
        return tuple(self._found)

    def fresh(self) -> tuple[str, ...]:
        """Return what was noted since the last call."""
        reasons: list[str] = []
        while self._fresh:
            reasons.append(self._fresh.popleft())
        return tuple(reasons)

    def settle(self, problems: Iterable[str]) -> None:
        """Replace what was noted by the *problems* that a whole check has found."""
        self._found.clear()
        for problem in problems:
            self.note(problem)


def note(conn: Reading, what: str) -> None:
    """Note *what* for whoever looks after the file; nobody may on a connection of a command."""
    if conn.damage is not None:
        conn.damage(what)


def readable(conn: Reading, rows: Iterator[Columns], kind: str) -> Iterator[Columns]:
    """Yield those of *rows* whose texts are texts."""
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except UnicodeDecodeError:
            note(conn, f"{kind}: the text of one is damaged")
            continue
        yield row


def unsealed(
    conn: Reading, rows: Iterator[Columns], kind: str, width: int, named: int
) -> Iterator[Columns]:
    """Yield *rows* without their seals: those that are as their last column says.

    What comes before it, after the first *width* columns, is what was sealed; the one at
    *named* names the row.
    """
    for row in readable(conn, rows, kind):
        *covered, seal = row[width:]
        if hash_columns(*covered) == seal:
            yield row[:width]
        else:
            note(conn, f"{kind} {covered[named]}: the row does not match its hash")


def memories(conn: Reading, keys: Sequence[int]) -> list[int]:
    """Return those of *keys* whose memory is there and as it was written, in their order."""
    if not keys:
        return []
    sound = {
        cast("int", key)
        for key, *columns, tags, row_hash in readable(conn, _hashed(conn, keys), "memory")
        if _matches(conn, columns, cast("str", tags), row_hash)
    }
    return [key for key in keys if key in sound]


def named(conn: Reading, ids: Sequence[str]) -> frozenset[str]:
    """Return those of the memories' *ids* whose row is as it was written."""
    rows = conn.execute(
        """
        SELECT memory_key, memory_id
          FROM memory
         WHERE memory_id IN (SELECT value FROM json_each(:ids))
        """,
        {"ids": json.dumps(list(ids))},
    ).fetchall()
    keys = {cast("int", key): cast("str", memory_id) for key, memory_id in rows}
    return frozenset(keys[key] for key in memories(conn, list(keys)))


def refused(what: str) -> DamagedError:
    """Return the error for *what* was asked for by name and is damaged."""
    return DamagedError(f"{what} is damaged and withheld", hint=HINT)


def _hashed(conn: Reading, keys: Sequence[int]) -> apsw.Cursor:
    return conn.execute(
        f"""
        SELECT m.memory_key, {HASHED_COLUMNS},
               (SELECT json_group_array(t.tag ORDER BY t.ordinal)
                  FROM memory_tag AS t WHERE t.memory_key = m.memory_key),
               m.row_hash
          FROM memory AS m
         WHERE m.memory_key IN (SELECT value FROM carray(:keys))
        """,  # a constant of the store
        {"keys": keys_array(keys)},
    )


def _matches(conn: Reading, columns: list[apsw.SQLiteValue], tags: str, row_hash: object) -> bool:
    named = tuple(json.loads(tags)) if tags != "[]" else ()
    if hash_row(tuple(columns), named) == row_hash:
        return True
    note(conn, f"memory {columns[0]}: the row does not match its hash")
    return False


OPERATION_COLUMNS = """
       o.operation_id, o.fact_id, o.version, o.kind, o.category, o.content, o.tags, o.is_human,
       o.author_id, o.seniority, o.autonomy_level, o.client, o.signature, o.at_us,
       o.valid_from_us, o.valid_to_us, o.row_hash"""
_FACT_ID, _SIGNATURE = 1, 12
# The statements below are put together from constants of the store only.
# ruff: noqa: S608


def facts(conn: Reading, keys: Collection[int]) -> frozenset[int]:
    """Return those of *keys* whose fact stands as the log says, and whose log is as written."""
    rows = conn.execute(
        f"""
        SELECT f.fact_key, f.fact_id, f.content IS o.content AND f.tags IS o.tags
                                      AND f.category IS o.category AND f.fact_id IS o.fact_id,
               {OPERATION_COLUMNS}
          FROM org_fact AS f
               JOIN org_operation AS o ON o.operation_key = f.operation_key
         WHERE f.fact_key IN (SELECT value FROM json_each(:keys))
        """,
        {"keys": json.dumps(list(keys))},
    )
    sound: set[int] = set()
    for key, fact_id, alike in _signed(conn, rows, 3):
        if alike:
            sound.add(cast("int", key))
        else:
            note(conn, f"fact {fact_id}: it is not what its log gives")
    return frozenset(sound)


def operations(conn: Reading, keys: Collection[int]) -> frozenset[int]:
    """Return those of *keys* whose operation is as it was written."""
    rows = conn.execute(
        f"""
        SELECT o.operation_key, {OPERATION_COLUMNS}
          FROM org_operation AS o
         WHERE o.operation_key IN (SELECT value FROM json_each(:keys))
        """,
        {"keys": json.dumps(list(keys))},
    )
    return frozenset(cast("int", key) for (key,) in _signed(conn, rows, 1))


def logs(conn: Reading, fact_ids: Collection[str]) -> frozenset[str]:
    """Return those of *fact_ids* of which every operation is as it was written."""
    rows = conn.execute(
        f"""
        SELECT o.fact_id, {OPERATION_COLUMNS}
          FROM json_each(:fact_ids) AS k
               CROSS JOIN org_operation AS o ON o.fact_id = k.value
        """,
        {"fact_ids": json.dumps(list(fact_ids))},
    )
    sound = Counter(fact_id for (fact_id,) in _signed(conn, rows, 1))
    there = conn.execute(
        """
        SELECT o.fact_id, count(*)
          FROM json_each(:fact_ids) AS k
               CROSS JOIN org_operation AS o ON o.fact_id = k.value
         GROUP BY o.fact_id
        """,
        {"fact_ids": json.dumps(list(fact_ids))},
    )
    return frozenset(cast("str", one) for one, count in there if sound[one] == count)


def _signed(conn: Reading, rows: Iterator[Columns], width: int) -> Iterator[Columns]:
    """Yield the first *width* columns of the operations that are as written and, if signed, signed.

    What follows is OPERATION_COLUMNS.
    """
    keys: tuple[bytes, ...] | None = None
    for row in readable(conn, rows, "fact"):
        *covered, seal = row[width:]
        if hash_columns(*covered) != seal:
            note(conn, f"fact {covered[_FACT_ID]}: the row does not match its hash")
            continue
        if covered[_SIGNATURE] is not None:
            keys = proofs.owner_keys(conn) if keys is None else keys
            if not proofs.is_valid(keys, covered[_SIGNATURE], signed_of(covered)):
                note(conn, unproved(covered))
                continue
        yield row[:width]


def signed_of(covered: Sequence[apsw.SQLiteValue]) -> proofs.SignedColumns:
    """Return what the signature of an operation with these columns must be over."""
    fact_id, _, kind, category, content, tags = covered[_FACT_ID : _FACT_ID + 6]
    return proofs.SignedColumns(
        cast("str", fact_id),
        cast("str", kind),
        cast("str", category),
        cast("str | None", content),
        cast("str", tags),
        cast("int | None", covered[-2]),
        cast("int | None", covered[-1]),
    )


def unproved(covered: Sequence[apsw.SQLiteValue]) -> str:
    """Return what is said of an operation with these columns that its owner did not sign."""
    return f"fact {covered[_FACT_ID]}: the owner's signature is over something else"
