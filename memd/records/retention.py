"""Delete old records by the settings of their entity, and memd's own old notes.

A night does so in small transactions. Deleted records are gone: they are no memories, and there
is no trash for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from memd.base.clock import DAY_US
from memd.domain.caller import Caller
from memd.records.entities import ENTITIES, Entity
from memd.records.notes import OWN_DAYS, OWN_IDS
from memd.records.records import audit, is_before
from memd.store.file.connect import Writing
from memd.store.file.database import Database
from memd.store.records import rows
from memd.store.records.rows import Condition

STEP_ROWS = 500
OWN_ENTITIES = ("lifecycle_events", "task_metrics", "cost_records")
"""The entities that hold memd's own notes."""
_CALLER = Caller(client="memd", method="records.purge")


async def drop_old(
    db: Database, days: Mapping[str, int], now_us: int, salt: Callable[[], bytes]
) -> dict[str, int]:
    """Delete records older than their entity's *days*; return the counts by entity.

    Records deleted by a setting are audited, under salts that are not stored.
    """
    dropped: dict[str, int] = {}
    for entity in ENTITIES.values():
        if entity.time is None:
            continue
        count = 0
        if entity.name in days:
            where = [is_before(entity, now_us - days[entity.name] * DAY_US)]
            count += await _drop(db, entity, where, salt)
        if entity.name in OWN_ENTITIES:
            # All ids with the prefix "memd:", by the index: ";" is the character after ":".
            has_own_id = [Condition("id", ">=", OWN_IDS), Condition("id", "<", OWN_IDS[:-1] + ";")]
            where = [*has_own_id, is_before(entity, now_us - OWN_DAYS * DAY_US)]
            count += await _drop(db, entity, where, None)
        if count:
            dropped[entity.name] = count
    return dropped


async def _drop(
    db: Database, entity: Entity, where: list[Condition], salt: Callable[[], bytes] | None
) -> int:
    if not await db.read(rows.list_page, entity.table, where, limit=1):
        return 0  # the usual case, without a write

    def step(conn: Writing) -> int:
        count = rows.delete(conn, entity.table, where, limit=STEP_ROWS)
        if salt is not None:
            for _ in range(count):
                audit(conn, entity, {}, salt())
        return count

    total = 0
    while count := await db.write(_CALLER, step):
        total += count
    return total
