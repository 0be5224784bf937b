"""Compare rows with their hashes before they are returned, and withhold damaged ones.

A row that does not match its hash, or whose text is not valid UTF-8, is left out of lists; reading
it by its id raises DamagedError. It is reported by kind and id, never by its text, to
``system.status``, ``event.damaged`` and ``memd check``.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from memd.base.errors import DamagedError
from memd.store.file.connect import Reading, RowT, hash_columns, keys_array
from memd.store.memory.rows import HASHED_COLUMNS, hash_row
from memd.store.org import proofs

if TYPE_CHECKING:
    import apsw

# The statements below are built from constants of the store only.
# ruff: noqa: S608
PROBLEMS_MAX = 100
"""Problems that :class:`Damage` keeps."""
HINT = "run: memd check, then: memd repair"

Columns: TypeAlias = "tuple[apsw.SQLiteValue, ...]"


class SealedTable(NamedTuple):
    """A table whose rows have a hash over *columns*, as the triggers of schema.sql compute it."""

    name: str
    kind: str
    """The word for a row in a finding."""
    id_column: str
    """The column that identifies a row in a finding."""
    columns: tuple[str, ...]

    def select(self, alias: str) -> str:
        """Return the SQL of the hashed columns and the hash, for the end of a query's columns."""
        return ", ".join(f"{alias}.{column}" for column in (*self.columns, "row_hash"))


CLIENT = SealedTable(
    "client", "client", "client_id",
    ("client_id", "agent_key", "key_hash", "seniority", "autonomy_level", "scopes",
     "revoked_at_us"),
)  # fmt: skip
PREFERENCE = SealedTable(
    "preference", "preference", "name", ("agent_key", "name", "value", "origin", "confirmed_at_us")
)
LEARNING = SealedTable(
    "learning", "learning", "learning_id",
    ("learning_id", "agent_key", "task_type", "approach", "outcome", "lesson", "at_us"),
)  # fmt: skip
PATTERN = SealedTable(
    "playbook", "pattern", "pattern_id",
    ("agent_key", "pattern_id", "task_type", "description", "tool_sequence", "prompt_template"),
)  # fmt: skip
SEALED_TABLES = (CLIENT, PREFERENCE, LEARNING, PATTERN)
OPERATION = SealedTable(
    "org_operation", "fact", "fact_id",
    ("operation_id", "fact_id", "version", "kind", "category", "content", "tags", "is_human",
     "author_id", "seniority", "autonomy_level", "client", "signature", "at_us", "valid_from_us",
     "valid_to_us"),
)  # fmt: skip


class Damage:
    """The damage detected since the last whole check; any thread adds, the event loop reads."""

    def __init__(self) -> None:
        self._problems: dict[str, None] = {}
        self._fresh: deque[str] = deque(maxlen=PROBLEMS_MAX)

    def add(self, what: str) -> None:
        """Record *what* unless it is recorded already, or PROBLEMS_MAX others are."""
        if what not in self._problems and len(self._problems) < PROBLEMS_MAX:
            self._problems[what] = None
            self._fresh.append(what)

    def problems(self) -> tuple[str, ...]:
        """Return everything recorded, in order."""
        return tuple(self._problems)

    def take_new(self) -> tuple[str, ...]:
        """Return what was recorded since the last call."""
        reasons: list[str] = []
        while self._fresh:
            reasons.append(self._fresh.popleft())
        return tuple(reasons)

    def replace(self, problems: Iterable[str]) -> None:
        """Replace everything recorded by the *problems* of a whole check."""
        self._problems.clear()
        for problem in problems:
            self.add(problem)


def report(conn: Reading, what: str) -> None:
    """Report damage to the listener of the connection; outside the daemon there is none."""
    if conn.damage is not None:
        conn.damage(what)


def skip_undecodable(conn: Reading, rows: Iterator[Columns], kind: str) -> Iterator[Columns]:
    """Yield those of *rows* whose texts are valid UTF-8; report the others."""
    while True:
        try:
            yield from rows
        except UnicodeDecodeError:
            _report_undecodable(conn, kind)
        else:
            return


def iter_decoded(conn: Reading, rows: Iterator[Columns], kind: str) -> Iterator[Columns | None]:
    """Yield *rows*, None for each whose texts are not valid UTF-8, which is reported."""
    while True:
        try:
            yield from rows
        except UnicodeDecodeError:
            _report_undecodable(conn, kind)
            yield None
        else:
            return


def _report_undecodable(conn: Reading, kind: str) -> None:
    report(conn, f"{kind}: the text of one is damaged")


def list_sealed(
    conn: Reading, kind: type[RowT], rows: Iterator[Columns], table: SealedTable
) -> list[RowT]:
    """Return those of *rows* that match their hash, as *kind*; report the others.

    A row has the columns of *kind*, followed by those of ``table.select``.
    """
    width = len(kind._fields)
    id_column = width + table.columns.index(table.id_column)
    intact_rows: list[RowT] = []
    for row in skip_undecodable(conn, rows, table.kind):
        if hash_columns(*row[width:-1]) == row[-1]:
            intact_rows.append(kind._make(row[:width]))
        else:
            report(conn, f"{table.kind} {row[id_column]}: the row does not match its hash")
    return intact_rows


def list_rows(
    conn: Reading,
    kind: type[RowT],
    rows: Iterator[Columns],
    find_intact: Callable[[Reading, Sequence[Any]], Collection[Any]],
) -> list[RowT]:
    """Return *rows* as *kind*, without those of damaged memories or facts.

    *find_intact* (:func:`intact_ids`, :func:`facts`, ...) takes the values of the first column and
    returns those of intact memories or facts.
    """
    what = "memory" if find_intact in {intact_ids, memories} else "fact"
    decoded = [kind._make(row) for row in skip_undecodable(conn, rows, what)]
    intact_keys = find_intact(conn, [row[0] for row in decoded])
    return [row for row in decoded if row[0] in intact_keys]


def memories(conn: Reading, keys: Sequence[int]) -> list[int]:
    """Return those of *keys* whose memory exists and matches its hash, in their order."""
    if not keys:
        return []
    rows = conn.execute(
        f"""
        SELECT m.memory_key, {HASHED_COLUMNS},
               (SELECT json_group_array(t.tag ORDER BY t.ordinal)
                  FROM memory_tag AS t WHERE t.memory_key = m.memory_key),
               m.row_hash
          FROM memory AS m
         WHERE m.memory_key IN (SELECT value FROM carray(:keys))
        """,
        {"keys": keys_array(keys)},
    )
    intact_keys: set[int] = set()
    for key, *columns, tags, row_hash in skip_undecodable(conn, rows, "memory"):
        tag_names = () if tags == "[]" else tuple(json.loads(cast("str", tags)))
        if hash_row(tuple(columns), tag_names) == row_hash:
            intact_keys.add(cast("int", key))
        else:
            report(conn, f"memory {columns[0]}: the row does not match its hash")
    return [key for key in keys if key in intact_keys]


def unpack(packed: bytes, sha256: bytes) -> str | None:
    """Return the text of a source from its compressed form, None if it does not match its hash."""
    try:
        raw = zlib.decompress(packed)
    except zlib.error:
        return None
    return raw.decode() if hashlib.sha256(raw).digest() == sha256 else None


def read_source(conn: Reading, source_key: int, packed: bytes, sha256: bytes) -> str | None:
    """Return the text of a source, None if it is damaged, which is reported."""
    text = unpack(packed, sha256)
    if text is None:
        report(conn, f"source {source_key}: the text does not match its hash")
    return text


def intact_ids(conn: Reading, ids: Sequence[str]) -> frozenset[str]:
    """Return those of the memories' *ids* whose row matches its hash."""
    rows = conn.execute(
        """
        SELECT memory_key, memory_id
          FROM memory
         WHERE memory_id IN (SELECT value FROM json_each(:ids))
        """,
        {"ids": json.dumps(list(ids))},
    )
    keys: dict[int, str] = dict(rows)
    return frozenset(keys[key] for key in memories(conn, list(keys)))


def make_error(what: str) -> DamagedError:
    """Return the error for *what*, which was requested by its id and is damaged."""
    return DamagedError(f"{what} is damaged and withheld", hint=HINT)


_FACT_ID, _SIGNATURE = OPERATION.columns.index("fact_id"), OPERATION.columns.index("signature")


def facts(conn: Reading, keys: Collection[int]) -> frozenset[int]:
    """Return those of *keys* whose fact equals its last operation, which matches its hash."""
    rows = conn.execute(
        f"""
        SELECT f.fact_key, f.fact_id, f.content IS o.content AND f.tags IS o.tags
                                      AND f.category IS o.category AND f.fact_id IS o.fact_id,
               {OPERATION.select("o")}
          FROM org_fact AS f
               JOIN org_operation AS o ON o.operation_key = f.operation_key
         WHERE f.fact_key IN (SELECT value FROM json_each(:keys))
        """,
        {"keys": json.dumps(list(keys))},
    )
    intact_keys: set[int] = set()
    for key, fact_id, is_equal in _verify_signed(conn, rows, 3):
        if is_equal:
            intact_keys.add(cast("int", key))
        else:
            report(conn, f"fact {fact_id}: it does not match its log")
    return frozenset(intact_keys)


def operations(conn: Reading, keys: Collection[int]) -> frozenset[int]:
    """Return those of *keys* whose operation matches its hash."""
    rows = conn.execute(
        f"""
        SELECT o.operation_key, {OPERATION.select("o")}
          FROM org_operation AS o
         WHERE o.operation_key IN (SELECT value FROM json_each(:keys))
        """,
        {"keys": json.dumps(list(keys))},
    )
    return frozenset(cast("int", key) for (key,) in _verify_signed(conn, rows, 1))


def logs(conn: Reading, fact_ids: Collection[str]) -> frozenset[str]:
    """Return those of *fact_ids* whose operations all match their hashes."""
    rows = conn.execute(
        f"""
        SELECT o.fact_id, {OPERATION.select("o")}
          FROM json_each(:fact_ids) AS k
               CROSS JOIN org_operation AS o ON o.fact_id = k.value
        """,
        {"fact_ids": json.dumps(list(fact_ids))},
    )
    matching = Counter(fact_id for (fact_id,) in _verify_signed(conn, rows, 1))
    totals = conn.execute(
        """
        SELECT o.fact_id, count(*)
          FROM json_each(:fact_ids) AS k
               CROSS JOIN org_operation AS o ON o.fact_id = k.value
         GROUP BY o.fact_id
        """,
        {"fact_ids": json.dumps(list(fact_ids))},
    )
    return frozenset(fact_id for fact_id, count in totals if matching[fact_id] == count)


def _verify_signed(conn: Reading, rows: Iterator[Columns], width: int) -> Iterator[Columns]:
    """Yield the first *width* columns of rows whose operation matches its hash and signature.

    The other columns are those of ``OPERATION.select``.
    """
    keys: tuple[bytes, ...] | None = None
    for row in skip_undecodable(conn, rows, "fact"):
        *covered, seal = row[width:]
        if hash_columns(*covered) != seal:
            report(conn, f"fact {covered[_FACT_ID]}: the row does not match its hash")
            continue
        if covered[_SIGNATURE] is not None:
            keys = proofs.owner_keys(conn) if keys is None else keys
            if not is_signed(keys, covered):
                report(conn, signature_finding(covered))
                continue
        yield row[:width]


def is_signed(owner_keys: Sequence[bytes], operation: Sequence[apsw.SQLiteValue]) -> bool:
    """Return whether an operation has no signature, or one of the owner over its columns."""
    columns = dict(zip(OPERATION.columns, operation, strict=True))
    row = proofs.SignedColumns(**{name: cast("Any", columns[name]) for name in _SIGNED})
    return proofs.is_valid(owner_keys, columns["signature"], row)


_SIGNED = proofs.SignedColumns._fields


def signature_finding(covered: Sequence[apsw.SQLiteValue]) -> str:
    """Return the finding for an operation whose signature is not valid."""
    return f"fact {covered[_FACT_ID]}: the owner's signature is over something else"
