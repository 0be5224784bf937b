"""Records of a whole profile, out and in, for ``store.dump`` and ``store.load`` (docs/move.md).

A record is a line of its entity, its fields as the socket has them. What it refers to comes
before it. What memd noted of its own work stays: it speaks of this computer's naps and nights.
What is here already under its key stays as it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final, Literal

import pydantic

from memd.base.errors import InvalidError
from memd.domain.moving import EntityRecord
from memd.records.columns import from_row, to_row
from memd.records.entities import ENTITIES, Entity
from memd.records.notes import OWN_IDS
from memd.records.records import audit, followed, screened
from memd.records.retention import NOTED
from memd.store.file.connect import Reading, Writing
from memd.store.file.database import Database
from memd.store.records import rows, shape

KIND: Final = "record"
_START: Final = json.dumps([KIND])
_PAGE_ROWS = 250


async def ready(db: Database) -> None:
    """Bring the tables to their declarations; raises MigrationError for one that cannot be."""
    for entity in ENTITIES.values():
        await followed(db, entity)


def begin(conn: Reading) -> str | None:
    """Return where the first page begins, None where there are no records."""
    return _START if next(_from(conn, None, []), None) else None


def is_place(after: str) -> bool:
    """Return whether *after* is a place among records."""
    return after.startswith(_START[:-1])


def page(
    conn: Reading, after: str, limit: int, bytes_max: int
) -> tuple[list[dict[str, Any]], str | None]:
    """Return up to *limit* records behind *after* and where the next page begins, None at the end.

    Raises InvalidError for an *after* that is no place.
    """
    name, key = _place(after)
    items: list[dict[str, Any]] = []
    size, last = 0, after
    for place, item in _from(conn, name, key):
        weight = len(json.dumps(item))
        if items and (len(items) == limit or size + weight > bytes_max):
            return items, last
        items.append(item)
        size, last = size + weight, place
    return items, None


def _from(conn: Reading, name: str | None, key: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each record with its place, from behind *key* of entity *name* on."""
    for entity in ENTITIES.values():
        if name is not None and entity.name != name:
            continue
        for row in _rows(conn, entity, key):
            record = from_row(entity.model, row).model_dump(mode="json", exclude_none=True)
            place = json.dumps([KIND, entity.name, *(record[field] for field in entity.key)])
            yield place, {"kind": KIND, "entity": entity.name, "record": record}
        name, key = None, []


def _rows(conn: Reading, entity: Entity, key: list[str]) -> Iterator[rows.Row]:
    """Yield the entity's rows behind *key*, by their key; memd's own notes are left out."""
    names = [column.name for column in entity.table.columns]
    places = [names.index(name) for name in entity.table.key]
    while batch := rows.list_by_key(conn, entity.table, key, _PAGE_ROWS):
        for row in batch:
            if entity.name not in NOTED or not str(row[places[0]]).startswith(OWN_IDS):
                yield row
        key = [batch[-1][place] for place in places]


def _place(after: str) -> tuple[str | None, list[str]]:
    try:
        _, *rest = json.loads(after)
        if not rest:
            return None, []
        name, *key = rest
        if len(key) == len(ENTITIES[name].key) and all(isinstance(each, str) for each in key):
            return name, key
    except (ValueError, TypeError, KeyError):
        pass
    raise InvalidError("after ends no page", field="after")


def take(
    conn: Writing, item: EntityRecord, salt: Callable[[], bytes]
) -> Literal["stored", "known"]:
    """Store one record, or nothing where one has its key; raises a CallerError."""
    entity = ENTITIES.get(item.entity)
    if entity is None:
        raise InvalidError(f"no entity {item.entity[:64]!r}", field="entity")
    try:
        record = entity.model.model_validate_json(json.dumps(item.record), strict=True)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step)[:64] for step in first["loc"])
        raise InvalidError(f"{entity.name}: {place}: {first['msg']}") from None
    row = to_row(screened(record))
    if any(row[name] is None for name in entity.table.key):
        raise InvalidError(f"{entity.name}: it has no key")
    shape.migrate(conn, entity.table)
    if rows.get(conn, entity.table, [row[name] for name in entity.table.key]) is not None:
        return "known"
    with conn:  # a savepoint
        rows.insert(conn, entity.table, row)
        audit(conn, entity, row, salt())
    return "stored"
