"""How long records are kept: what the settings say of an entity, and memd's own notes.

A night drops what is too old, in small transactions. What is dropped is gone: records are
no memories, and no trash keeps them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from memd.base.clock import DAY_US
from memd.domain.caller import Caller
from memd.records.columns import column_name
from memd.records.entities import ENTITIES, Entity
from memd.records.notes import OWN_DAYS, OWN_IDS
from memd.records.records import audit
from memd.store.file.connect import Writing
from memd.store.file.database import Database
from memd.store.records import rows
from memd.store.records.rows import Condition

STEP_ROWS = 500
NOTED = ("lifecycle_events", "task_metrics", "cost_records")
"""Where memd's own notes are."""
_CALLER = Caller(client="memd", method="records.purge")


async def drop_old(
    db: Database, days: Mapping[str, int], now_us: int, salt: Callable[[], bytes]
) -> dict[str, int]:
    """Delete what is older than its entity's *days* and return how many records went, of which.

    What a setting drops is counted for the audit, under salts that nobody keeps.
    """
    dropped: dict[str, int] = {}
    for entity in ENTITIES.values():
        if entity.time is None:
            continue
        count = 0
        if entity.name in days:
            where = [_before(entity, now_us - days[entity.name] * DAY_US)]
            count += await _dropped(db, entity, where, salt)
        if entity.name in NOTED:
            own = [Condition("id", ">=", OWN_IDS), Condition("id", "<", OWN_IDS[:-1] + ";")]
            where = [*own, _before(entity, now_us - OWN_DAYS * DAY_US)]
            count += await _dropped(db, entity, where, None)
        if count:
            dropped[entity.name] = count
    return dropped


def _before(entity: Entity, moment_us: int) -> Condition:
    assert entity.time is not None
    return Condition(column_name(entity.model, entity.time), "<", moment_us)


async def _dropped(
    db: Database, entity: Entity, where: list[Condition], salt: Callable[[], bytes] | None
) -> int:
    if not await db.read(rows.list_page, entity.table, where, limit=1):
        return 0  # most nights: nothing is written then

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
