"""Dump and load the records of a profile, for ``store.dump`` and ``store.load`` (docs/move.md).

Each record is a line with its entity and its fields as on the socket; referenced records come
first. memd's own notes are not dumped, as they are about this computer's naps and nights. A
record whose key exists already is not overwritten.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal

import pydantic

from memd.base.errors import InvalidError
from memd.domain.transfer import EntityRecord
from memd.records.columns import from_row, to_row
from memd.records.entities import ENTITIES, Entity
from memd.records.notes import OWN_IDS
from memd.records.records import audit, screen_record, update_table
from memd.records.retention import OWN_ENTITIES
from memd.store.file.connect import Reading, Writing
from memd.store.file.database import Database
from memd.store.records import rows, shape

KIND: Final = "record"
_PAGE_ROWS = 250


async def ready(db: Database) -> None:
    """Update the existing tables to their declarations; raises MigrationError if impossible."""
    for entity in ENTITIES.values():
        await update_table(db, entity)


def is_position(_kind: str, keys: Sequence[object]) -> bool:
    """Return whether *keys* are a position among records: an entity's name, and a record's key."""
    entity = ENTITIES.get(str(keys[0])) if keys else None
    is_text = all(isinstance(part, str) for part in keys)
    return entity is not None and is_text and len(keys) == 1 + len(entity.key)


def iter_records(conn: Reading, after: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each record with its position, from after the position *after* on; () is the start."""
    name, key = (after[0], list(after[1:])) if after else (None, [])
    for entity in ENTITIES.values():
        if name is not None and entity.name != name:
            continue
        for row in _iter_rows(conn, entity, key):
            record = from_row(entity.model, row).model_dump(mode="json", exclude_none=True)
            position = json.dumps([KIND, entity.name, *(record[field] for field in entity.key)])
            yield position, {"kind": KIND, "entity": entity.name, "record": record}
        name, key = None, []


def _iter_rows(conn: Reading, entity: Entity, key: list[str]) -> Iterator[rows.Row]:
    """Yield the entity's rows after *key*, by key, without memd's own notes."""
    names = [column.name for column in entity.table.columns]
    places = [names.index(name) for name in entity.table.key]
    while batch := rows.list_by_key(conn, entity.table, key, _PAGE_ROWS):
        for row in batch:
            if entity.name not in OWN_ENTITIES or not str(row[places[0]]).startswith(OWN_IDS):
                yield row
        key = [batch[-1][place] for place in places]


def take(
    conn: Writing, item: EntityRecord, salt: Callable[[], bytes]
) -> Literal["stored", "known"]:
    """Store one record unless its key exists; raises a CallerError for an invalid one."""
    entity = ENTITIES.get(item.entity)
    if entity is None:
        raise InvalidError(f"no entity {item.entity[:64]!r}", field="entity")
    try:
        record = entity.model.model_validate_json(json.dumps(item.record), strict=True)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step)[:64] for step in first["loc"])
        raise InvalidError(f"{entity.name}: {place}: {first['msg']}") from None
    row = to_row(screen_record(record))
    if any(row[name] is None for name in entity.table.key):
        raise InvalidError(f"{entity.name}: it has no key")
    shape.migrate(conn, entity.table)
    if rows.get(conn, entity.table, [row[name] for name in entity.table.key]) is not None:
        return "known"
    with conn:  # a savepoint
        rows.insert(conn, entity.table, row)
        audit(conn, entity, row, salt())
    return "stored"
