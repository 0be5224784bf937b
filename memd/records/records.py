"""Save, read, list, count and delete the records of one store, by their entities' declarations.

A save returns after COMMIT and is all or nothing. A client whose key is bound to an agent reads
and writes only that agent's records, in entities that have an ``agent_id``. Secrets are replaced
before anything is written.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from memd.base.clock import to_us
from memd.base.errors import (
    DeniedError,
    InvalidError,
    InvalidQueryError,
    VersionConflictError,
    cursor_error,
)
from memd.base.ids import Ids
from memd.base.limits import PAGE_ITEMS_MAX, REPLY_BYTES_MAX
from memd.domain.caller import Caller
from memd.domain.values import Value
from memd.guard.secrets import screen
from memd.records.columns import column_name, from_row, to_row, to_stored
from memd.records.entities import ENTITIES, Entity
from memd.records.models import CostTotal, StoredSetting
from memd.records.notes import OWN, OWN_IDS
from memd.store.access import changes
from memd.store.file.connect import Reading, Writing
from memd.store.file.database import Database
from memd.store.records import rows, shape
from memd.store.records.rows import Condition, Row

M = TypeVar("M", bound=Value)
Conditions = list[Condition]


class Range(NamedTuple):
    """A range of time, both ends inclusive (SPEC 19.2)."""

    since: datetime | None = None
    until: datetime | None = None


ALL_TIMES = Range()
_CALLER = Caller(client="memd", method="records.migrate")


class RowPage(NamedTuple):
    """Rows of *entity* in order, and whether more follow."""

    entity: Entity
    rows: Sequence[Row]
    has_more: bool

    @property
    def next(self) -> str | None:
        """The cursor after the last row, None at the end."""
        return _cursor(self.entity, self.rows[-1]) if self.has_more else None


class Records:
    """All entities of one open file."""

    def __init__(self, db: Database, ids: Ids) -> None:
        self._db = db
        self._ids = ids
        self._current: set[str] = set()
        """Entities whose tables are known to match their declarations."""

    async def _update_table(self, entity: Entity) -> None:
        if entity.name not in self._current:
            await update_table(self._db, entity)
            self._current.add(entity.name)

    # Writing.

    async def save(self, caller: Caller, entity: Entity, *records: Value) -> bool:
        """Save all of *records* or none; return whether the last one is new.

        Raises DuplicateRecordError for an existing record that is written once,
        ConstraintViolationError for a reference to a missing record.
        """
        new_rows = [self._to_row(caller, entity, record) for record in records]

        def work(conn: Writing) -> bool:
            added = True
            for row in new_rows:
                if entity.saving == "once":
                    rows.insert(conn, entity.table, row)
                else:
                    _require_own_row(conn, caller, entity, row)
                    added = rows.save(conn, entity.table, row)
                audit(conn, entity, row, self._ids.salt())
            return added

        await self._update_table(entity)
        return await self._db.write(caller, work, reply=bool)

    def _to_row(self, caller: Caller, entity: Entity, record: Value) -> dict[str, Any]:
        row = to_row(screen_record(record))
        if entity.owner is not None:
            _require_own(caller, row[entity.owner])
        if entity.key == ("id",):
            if row["id"] is None:
                row["id"] = self._ids.new()
            elif str(row["id"]).startswith(OWN_IDS) and caller.client != OWN:
                raise InvalidError(f"ids with {OWN_IDS} are memd's own", field="record.id")
        return row

    async def set(
        self, caller: Caller, setting: StoredSetting, *, expected: str | None = None
    ) -> bool:
        """Set a setting; with *expected* only if it has not changed since (compare-and-swap).

        *expected* is its ``updated_at`` in RFC 3339, or "" for a setting that must not exist.
        Return whether there was none. Raises VersionConflictError, without a change, if it differs.
        """
        entity = ENTITIES["settings"]
        row = self._to_row(caller, entity, setting)
        version = None if not expected else _parse_time_us(expected)

        def work(conn: Writing) -> bool:
            if expected is not None:
                existing = rows.get(conn, entity.table, [row["namespace"], row["key"]])
                current = None if existing is None else existing[-1]
                if current != version:
                    raise VersionConflictError(
                        "it was changed since it was read", field="expected", hint="read it again"
                    )
            added = rows.save(conn, entity.table, row)
            audit(conn, entity, row, self._ids.salt())
            return added

        await self._update_table(entity)
        return await self._db.write(caller, work, reply=bool)

    async def delete(
        self,
        caller: Caller,
        entity: Entity,
        where: Mapping[str, Any],
        *,
        before: datetime | None = None,
    ) -> int:
        """Delete the records that match *where*, and are strictly older than *before*, if given.

        Returns how many.
        """
        conditions = self._conditions(caller, entity, where)
        if before is not None:
            conditions.append(is_before(entity, to_us(before)))

        def work(conn: Writing) -> int:
            count = rows.delete(conn, entity.table, conditions)
            for _ in range(count):
                audit(conn, entity, {}, self._ids.salt())
            return count

        await self._update_table(entity)
        return await self._db.write(caller, work, reply=int)

    # Reading.

    async def get(self, caller: Caller, entity: Entity, key: Sequence[Any]) -> Any | None:
        """Return the record with *key*, None unless the caller may read one."""
        where = self._conditions(caller, entity, dict(zip(entity.key, key, strict=True)))
        await self._update_table(entity)
        page = await self._db.read(rows.list_page, entity.table, where, limit=1)
        return from_row(entity.model, page[0]) if page else None

    async def list(
        self,
        caller: Caller,
        entity: Entity,
        where: Mapping[str, Any],
        *also: Condition,
        times: Range = ALL_TIMES,
        limit: int | None = None,
        offset: int = 0,
    ) -> tuple[Any, ...]:
        """Return all records that match *where*, *times* and *also*, in the entity's order.

        Raises InvalidQueryError for a limit under 1 or an ``until`` before ``since``.
        """
        if limit is not None and limit < 1:
            raise InvalidQueryError("limit must be at least 1", field="limit")
        if offset < 0:
            raise InvalidQueryError("offset must not be negative", field="offset")
        await self._update_table(entity)
        page = await self._db.read(
            rows.list_page,
            entity.table,
            [*self._conditions(caller, entity, where, times), *also],
            limit=-1 if limit is None else limit,
            offset=offset,
        )
        return tuple(from_row(entity.model, row) for row in page)

    async def page(
        self,
        caller: Caller,
        entity: Entity,
        where: Mapping[str, Any],
        *,
        times: Range = ALL_TIMES,
        after: str | None = None,
        limit: int = 100,
    ) -> RowPage:
        """Return up to *limit* rows after the cursor *after*, whose record may be deleted by now.

        Returns fewer if their texts exceed the size of an answer.
        """
        await self._update_table(entity)
        conditions = self._conditions(caller, entity, where, times)
        place = None if after is None else _parse_cursor(entity, after)
        rows_max = min(limit, PAGE_ITEMS_MAX)

        def work(conn: Reading) -> RowPage:
            page: list[rows.Row] = []
            bytes_left = REPLY_BYTES_MAX
            # One row more than needed shows whether a further page follows.
            limit_rows = rows_max + 1
            for row in rows.iter_rows(
                conn, entity.table, conditions, after=place, limit=limit_rows
            ):
                if len(page) == rows_max or bytes_left < 0:
                    return RowPage(entity, page, has_more=True)
                page.append(row)
                bytes_left -= sum([len(value) for value in row if value.__class__ is str])
            return RowPage(entity, page, has_more=False)

        return await self._db.read(work)

    async def count(
        self,
        caller: Caller,
        entity: Entity,
        where: Mapping[str, Any],
        times: Range = ALL_TIMES,
    ) -> int:
        conditions = self._conditions(caller, entity, where, times)
        await self._update_table(entity)
        return await self._db.read(rows.count, entity.table, conditions)

    async def total(self, caller: Caller, where: Mapping[str, Any]) -> CostTotal:
        """Return the sum of cost records; raises InvalidQueryError for more than one currency."""
        entity = ENTITIES["cost_records"]
        conditions = self._conditions(caller, entity, where)
        await self._update_table(entity)

        def work(conn: Reading) -> CostTotal:
            currencies = rows.list_currencies(conn, entity.table, conditions)
            if len(currencies) > 1:
                raise InvalidQueryError(
                    f"costs in {', '.join(currencies)} have no sum",
                    field="currency",
                    hint="ask for each agent or task by itself",
                )
            amount = rows.total(conn, entity.table, "cost", conditions)
            return CostTotal(amount=amount, currency=currencies[0] if currencies else "USD")

        return await self._db.read(work)

    def _conditions(
        self,
        caller: Caller,
        entity: Entity,
        where: Mapping[str, Any],
        times: Range = ALL_TIMES,
    ) -> Conditions:
        filters = {name: value for name, value in where.items() if value is not None}
        if entity.owner is not None and (caller.bound or caller.closed):
            _require_own(caller, filters.setdefault(entity.owner, caller.agent_id))
        conditions = [
            Condition(column_name(entity.model, name), "=", to_stored(value))
            for name, value in filters.items()
        ]
        if times.since and times.until and times.until < times.since:
            raise InvalidQueryError("until is before since", field="until")
        for op, moment in ((">=", times.since), ("<=", times.until)):
            if moment is not None:
                assert entity.time is not None
                conditions.append(
                    Condition(column_name(entity.model, entity.time), op, to_us(moment))
                )
        return conditions


def is_before(entity: Entity, moment_us: int) -> Condition:
    """Return the condition that a record's time is before *moment_us*."""
    assert entity.time is not None
    return Condition(column_name(entity.model, entity.time), "<", moment_us)


async def update_table(db: Database, entity: Entity) -> None:
    """Update the entity's table to its declaration; raises MigrationError if impossible."""
    if not await db.read(shape.is_current, entity.table):
        await db.write(_CALLER, lambda conn: shape.migrate(conn, entity.table))


def audit(conn: Writing, entity: Entity, row: Mapping[str, Any], salt: bytes) -> None:
    """Audit the write of a row by a salted hash; *salt* is not stored, so it reveals no content."""
    if entity.audited:
        payload = json.dumps([entity.name, row], sort_keys=True).encode()
        changes.touch(conn, salt, hashlib.sha256(payload).digest())


def _require_own(caller: Caller, agent_id: Any) -> None:
    """Raise DeniedError for another agent's record; one without an agent needs an unbound key."""
    if not (caller.may_be(agent_id) if agent_id is not None else not caller.bound):
        raise DeniedError("the record is of an agent that needs another key", field="agent_id")


def _require_own_row(conn: Writing, caller: Caller, entity: Entity, row: Mapping[str, Any]) -> None:
    """Raise DeniedError if *row* would replace another agent's record."""
    existing = rows.get(conn, entity.table, [row[name] for name in entity.key])
    if entity.owner is not None and existing is not None:
        _require_own(caller, existing[list(row).index(entity.owner)])


def screen_record(record: M) -> M:
    """Return *record* with every secret in its texts replaced, except in hashes."""
    texts = {
        name: _screen(getattr(record, name))
        for name in type(record).model_fields
        if not name.endswith("_hash")
    }
    changed = {name: text for name, text in texts.items() if text != getattr(record, name)}
    return record.model_copy(update=changed) if changed else record


def _screen(value: Any) -> Any:
    if type(value) is str:
        return screen(value).text
    if isinstance(value, tuple | list):
        return type(value)(_screen(item) for item in value)
    if isinstance(value, dict):
        return {key: _screen(item) for key, item in value.items()}
    return value


def _parse_time_us(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidError("not a time in RFC 3339", field="expected") from None
    if moment.tzinfo is None:
        raise InvalidError("a time needs its zone", field="expected")
    return to_us(moment)


def _cursor(entity: Entity, row: Sequence[Any]) -> str:
    """Return the cursor after *row*; it stays valid when the row is deleted."""
    names = [column.name for column in entity.table.columns]
    at = [row[names.index(name)] for name in entity.table.order + entity.table.key]
    return base64.urlsafe_b64encode(json.dumps(at, ensure_ascii=False).encode()).decode()


def _parse_cursor(entity: Entity, after: str) -> list[Any]:
    """Return the sort key in the cursor *after*; raises InvalidError for an invalid one."""
    try:
        at = json.loads(base64.urlsafe_b64decode(after.encode()))
    except (ValueError, RecursionError):  # a binascii.Error is a ValueError
        at = None
    length = len(entity.table.order + entity.table.key)
    if (
        not isinstance(at, list)
        or len(at) != length
        or not all(isinstance(value, str | int) for value in at)
    ):
        raise cursor_error()
    return at
