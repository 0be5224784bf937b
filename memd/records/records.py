"""The records of one store: saved, read, listed, counted, deleted, each entity by its declaration.

A save returns after COMMIT; what it refuses leaves nothing. A client whose key is an agent's
reads and writes that agent's records only, in entities whose records say whose they are.
Secrets are replaced before anything is written.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from memd.base.clock import to_us
from memd.base.errors import DeniedError, InvalidError, NotFoundError
from memd.base.ids import Ids
from memd.base.limits import PAGE_ITEMS_MAX, REPLY_BYTES_MAX
from memd.base.record_errors import QueryError, VersionConflictError
from memd.domain.caller import Caller
from memd.domain.values import Value
from memd.guard.secrets import screen
from memd.records.columns import column_name, from_row, to_row, to_stored
from memd.records.company import StoredSetting
from memd.records.entities import ENTITIES, Entity
from memd.store.access import changes
from memd.store.file.connect import Reading, Writing
from memd.store.file.database import Database
from memd.store.records import rows, shape
from memd.store.records.rows import Condition, Row

M = TypeVar("M", bound=Value)


Conditions = list[Condition]


class Range(NamedTuple):
    """A stretch of time, both ends inclusive (SPEC 19.2)."""

    since: datetime | None = None
    until: datetime | None = None


ALL_TIMES = Range()
_MIGRATES = Caller(client="memd", method="records.migrate")


def entity_of(name: str) -> Entity:
    """Return an entity by its name; raises NotFoundError, naming those that there are."""
    if (entity := ENTITIES.get(name)) is None:
        raise NotFoundError(f"no entity {name[:64]!r}", hint=f"there are {', '.join(ENTITIES)}")
    return entity


class RowPage(NamedTuple):
    """Rows of *entity* in order, and whether more follow."""

    entity: Entity
    rows: Sequence[Row]
    more: bool

    @property
    def next(self) -> str | None:
        """Return the place behind the last row, None at the end."""
        return _cursor(self.entity, self.rows[-1]) if self.more else None


class Records:
    """All entities of one open file."""

    def __init__(self, db: Database, ids: Ids) -> None:
        self._db = db
        self._ids = ids
        self._current: set[str] = set()
        """Entities whose tables are known to be as declared."""

    async def _follow(self, entity: Entity) -> None:
        if entity.name not in self._current:
            await followed(self._db, entity)
            self._current.add(entity.name)

    # Writing.

    async def save(self, caller: Caller, entity: Entity, *records: Value) -> bool:
        """Save all of *records* or none; True when the last was not there before.

        Raises DuplicateRecordError for what is written once, ConstraintViolationError
        for what refers to a record that there is none of.
        """
        ready = [self._ready(caller, entity, record) for record in records]

        def work(conn: Writing) -> bool:
            added = True
            for row in ready:
                if entity.saving == "once":
                    rows.insert(conn, entity.table, row)
                else:
                    _require_no_others(conn, caller, entity, row)
                    added = rows.save(conn, entity.table, row)
                audit(conn, entity, row, self._ids.salt())
            return added

        await self._follow(entity)
        return await self._db.write(caller, work, reply=bool)

    def _ready(self, caller: Caller, entity: Entity, record: Value) -> dict[str, Any]:
        row = to_row(screened(record))
        if entity.owner is not None:
            _require_own(caller, row[entity.owner])
        if entity.key == ("id",) and row["id"] is None:
            row["id"] = self._ids.new()
        return row

    async def set(
        self, caller: Caller, setting: StoredSetting, *, expected: str | None = None
    ) -> bool:
        """Set a setting; with *expected* only where it is as last read.

        *expected* is its ``updated_at`` in RFC 3339, or "" where there must be none.
        False, and nothing is changed, when another was faster.
        """
        entity = ENTITIES["settings"]
        row = self._ready(caller, entity, setting)
        version = None if not expected else _moment_us(expected)

        def work(conn: Writing) -> bool:
            if expected is not None:
                there = rows.get(conn, entity.table, [row["namespace"], row["key"]])
                current = None if there is None else there[-1]
                if current != version:
                    return False
            rows.save(conn, entity.table, row)
            audit(conn, entity, row, self._ids.salt())
            return True

        await self._follow(entity)
        return await self._db.write(caller, work, reply=bool)

    async def delete(self, caller: Caller, entity: Entity, where: Mapping[str, Any]) -> int:
        """Delete what *where* names and return how many they were."""
        return await self._deleted(caller, entity, self._conditions(caller, entity, where))

    async def purge(self, caller: Caller, entity: Entity, before: datetime) -> int:
        """Delete what is strictly older than *before* and return how many they were."""
        assert entity.time is not None
        time = column_name(entity.model, entity.time)
        where = [*self._conditions(caller, entity, {}), Condition(time, "<", to_us(before))]
        return await self._deleted(caller, entity, where)

    async def _deleted(self, caller: Caller, entity: Entity, where: Conditions) -> int:
        def work(conn: Writing) -> int:
            count = rows.delete(conn, entity.table, where)
            for _ in range(count):
                audit(conn, entity, {}, self._ids.salt())
            return count

        await self._follow(entity)
        return await self._db.write(caller, work, reply=int)

    # Reading.

    async def get(self, caller: Caller, entity: Entity, key: Sequence[Any]) -> Any | None:
        """Return the record with *key*, None when there is none that the caller may read."""
        where = self._conditions(caller, entity, dict(zip(entity.key, key, strict=True)))
        await self._follow(entity)
        page = await self._db.read(rows.list_page, entity.table, where, limit=1)
        return from_row(entity.model, page[0]) if page else None

    async def list(
        self,
        caller: Caller,
        entity: Entity,
        where: Mapping[str, Any],
        *,
        times: Range = ALL_TIMES,
        limit: int | None = None,
        offset: int = 0,
    ) -> tuple[Any, ...]:
        """Return all that *where* and *times* hold for, in the entity's order.

        Raises QueryError for a limit under 1 or times that run backwards.
        """
        if limit is not None and limit < 1:
            raise QueryError("limit must be at least 1", field="limit")
        if offset < 0:
            raise QueryError("offset must not be negative", field="offset")
        await self._follow(entity)
        page = await self._db.read(
            rows.list_page,
            entity.table,
            self._conditions(caller, entity, where, times),
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
        """Return up to *limit* rows behind *after*, whose own record may be gone by now.

        Fewer where they hold more text than an answer may.
        """
        await self._follow(entity)
        conditions = self._conditions(caller, entity, where, times)
        behind = None if after is None else _place(entity, after)
        most = min(limit, PAGE_ITEMS_MAX)

        def work(conn: Reading) -> RowPage:
            page: list[rows.Row] = []
            left = REPLY_BYTES_MAX
            for row in rows.iter_rows(conn, entity.table, conditions, after=behind, limit=most + 1):
                if len(page) == most or left < 0:
                    return RowPage(entity, page, more=True)
                page.append(row)
                left -= sum([len(value) for value in row if value.__class__ is str])
            return RowPage(entity, page, more=False)

        return await self._db.read(work)

    async def count(
        self,
        caller: Caller,
        entity: Entity,
        where: Mapping[str, Any],
        times: Range = ALL_TIMES,
    ) -> int:
        """Return how many there are."""
        conditions = self._conditions(caller, entity, where, times)
        await self._follow(entity)
        return await self._db.read(rows.count, entity.table, conditions)

    async def find(
        self, caller: Caller, entity: Entity, conditions: Sequence[Condition]
    ) -> tuple[Any, ...]:
        """Return all that *conditions* hold for: for what no filter of the declaration says."""
        where = [*self._conditions(caller, entity, {}), *conditions]
        await self._follow(entity)
        page = await self._db.read(rows.list_page, entity.table, where)
        return tuple(from_row(entity.model, row) for row in page)

    async def total(self, caller: Caller, where: Mapping[str, Any]) -> rows.CurrencyTotal:
        """Return what cost records come to; raises QueryError for more than one currency."""
        entity = ENTITIES["cost_records"]
        conditions = self._conditions(caller, entity, where)
        await self._follow(entity)

        def work(conn: Reading) -> rows.CurrencyTotal:
            currencies = rows.list_currencies(conn, entity.table, conditions)
            if len(currencies) > 1:
                raise QueryError(
                    f"costs in {', '.join(currencies)} have no sum",
                    field="currency",
                    hint="ask for each agent or task by itself",
                )
            amount = rows.total(conn, entity.table, "cost", conditions)
            return rows.CurrencyTotal(currencies[0] if currencies else "USD", amount)

        return await self._db.read(work)

    async def counts(self) -> dict[str, int]:
        """Return how many records there are of each entity that has any."""
        tables = {entity.table.name: name for name, entity in ENTITIES.items()}
        schemas = [entity.table for entity in ENTITIES.values()]
        counts = await self._db.read(lambda conn: list(rows.count_tables(conn, schemas)))
        return {tables[name]: number for name, number in counts}

    def _conditions(
        self,
        caller: Caller,
        entity: Entity,
        where: Mapping[str, Any],
        times: Range = ALL_TIMES,
    ) -> Conditions:
        given = {name: value for name, value in where.items() if value is not None}
        if entity.owner is not None and (caller.bound or caller.closed):
            _require_own(caller, given.setdefault(entity.owner, caller.agent_id))
        conditions = [
            Condition(column_name(entity.model, name), "=", to_stored(value))
            for name, value in given.items()
        ]
        if times.since and times.until and times.until < times.since:
            raise QueryError("until is before since", field="until")
        for op, moment in ((">=", times.since), ("<=", times.until)):
            if moment is not None:
                assert entity.time is not None
                conditions.append(
                    Condition(column_name(entity.model, entity.time), op, to_us(moment))
                )
        return conditions


async def followed(db: Database, entity: Entity) -> None:
    """Bring the entity's table to its declaration; raises MigrationError when that cannot be."""
    if not await db.read(shape.is_current, entity.table):
        await db.write(_MIGRATES, lambda conn: shape.migrate(conn, entity.table))


def audit(conn: Writing, entity: Entity, row: Mapping[str, Any], salt: bytes) -> None:
    """Count a row for the audit, under a *salt* that nobody keeps: it proves no content."""
    if entity.audited:
        payload = json.dumps([entity.name, row], sort_keys=True).encode()
        changes.touch(conn, salt, hashlib.sha256(payload).digest())


def require_swapped(swapped: bool) -> None:  # noqa: FBT001  # what a compare-and-swap returned
    """Raise VersionConflictError for a compare-and-swap that was lost."""
    if not swapped:
        raise VersionConflictError(
            "another wrote it since it was read", field="expected", hint="read it again"
        )


def _require_own(caller: Caller, agent_id: Any) -> None:
    if not (caller.may_be(agent_id) if agent_id is not None else not caller.bound):
        raise DeniedError("the record is of an agent that needs another key", field="agent_id")


def _require_no_others(
    conn: Writing, caller: Caller, entity: Entity, row: Mapping[str, Any]
) -> None:
    """Raise DeniedError where *row* would take the place of another agent's."""
    there = rows.get(conn, entity.table, [row[name] for name in entity.key])
    if entity.owner is not None and there is not None:
        _require_own(caller, there[list(row).index(entity.owner)])


def screened(record: M) -> M:
    """Return *record* with every secret in its texts replaced; hashes are none."""
    texts = {
        name: _clean(getattr(record, name))
        for name in type(record).model_fields
        if not name.endswith("_hash")
    }
    changed = {name: text for name, text in texts.items() if text != getattr(record, name)}
    return record.model_copy(update=changed) if changed else record


def _clean(value: Any) -> Any:
    if type(value) is str:
        return screen(value).text
    if isinstance(value, tuple | list):
        return type(value)(_clean(each) for each in value)
    if isinstance(value, dict):
        return {key: _clean(each) for key, each in value.items()}
    return value


def _moment_us(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidError("not a time in RFC 3339", field="expected") from None
    if moment.tzinfo is None:
        raise InvalidError("a time needs its zone", field="expected")
    return to_us(moment)


def _cursor(entity: Entity, row: Sequence[Any]) -> str:
    """Return the place behind *row*, which may be deleted before anybody asks for it."""
    names = [column.name for column in entity.table.columns]
    at = [row[names.index(name)] for name in entity.table.order + entity.table.key]
    return base64.urlsafe_b64encode(json.dumps(at, ensure_ascii=False).encode()).decode()


def _place(entity: Entity, after: str) -> list[Any]:
    """Return the place that *after* says; raises InvalidError for what no page gave."""
    try:
        at = json.loads(base64.urlsafe_b64decode(after.encode()))
    except (ValueError, binascii.Error):
        at = None
    length = len(entity.table.order + entity.table.key)
    if not isinstance(at, list) or len(at) != length:
        raise InvalidError("not a page's next", field="after")
    if not all(isinstance(each, str | int) for each in at):
        raise InvalidError("not a page's next", field="after")
    return at
