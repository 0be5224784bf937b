"""Move a profile: dump everything of this one, or load everything of another one.

Only the owner's commands may call this, since loaded records keep their origin, trust and dates,
which no client may set. Every text is screened for secrets again. Each record is loaded
separately, so an invalid one does not stop the others.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pydantic

from memd.base.clock import Clock
from memd.base.errors import CallerError, InvalidError, cursor_error
from memd.base.ids import Ids
from memd.base.limits import FRAME_BYTES_MAX
from memd.domain.caller import Caller
from memd.domain.sleep.upkeep import DumpPage, LoadResult, Problem
from memd.domain.transfer import AnyRecord, EntityRecord, record_type
from memd.domain.trust import Screened, SecretsPolicy
from memd.guard.secrets import admit
from memd.org import temporal
from memd.records import transfer as entities
from memd.store.check import integrity
from memd.store.file.connect import Reading, Writing
from memd.store.file.database import Database
from memd.store.transfer import dump
from memd.store.transfer.load import index_new, load_record
from memd.store.transfer.target import ImportOutcome, ImportTarget


@dataclass(frozen=True)
class Moving:
    """Exports and loads records of memories, facts and entities."""

    db: Database
    clock: Clock
    ids: Ids
    wake: Callable[[], None]
    """Signals that there are memories without a vector."""
    secrets: SecretsPolicy = "redact"

    async def dump(self, after: str | None, limit: int) -> DumpPage:
        """Return a page of records, each after those it refers to.

        It ends before it exceeds half a frame as JSON, unless it is a single record. Damaged texts
        and memories, and rows that cannot be read, are left out and named. Raises
        InvalidError for an *after* that is no page's cursor.
        """
        if after is None:
            await entities.ready(self.db)

        def work(conn: Reading) -> DumpPage:
            items: list[dict[str, Any]] = []
            unreadable: list[str] = []
            bytes_left, last, passed = FRAME_BYTES_MAX // 2, after, 0
            for position, record in _iter_records(conn, after):
                if position is None:
                    unreadable.append(f"one of kind {record['kind']}")
                    continue
                bytes_left -= len(json.dumps(record))
                if items and (len(items) == limit or bytes_left < 0):
                    # The next page begins after the last item, and names those that follow it.
                    return _page(conn, items, unreadable[:passed], last)
                items.append(record)
                last, passed = position, len(unreadable)
            return _page(conn, items, unreadable, None)

        return await self.db.read(work)

    async def load(self, caller: Caller, items: Sequence[dict[str, Any]]) -> LoadResult:
        """Store exported records in one transaction; existing ones stay unchanged.

        Returns the counts of stored, known and skipped records, and the problems by index.
        """
        records = [_read(item) for item in items]

        def work(conn: Writing) -> LoadResult:
            now_us = self.clock.now_us()
            target = ImportTarget(conn, self._screen, self.ids.salt, temporal.learn, now_us)
            counts, problems = {"stored": 0, "known": 0, "skipped": 0}, []
            for index, record in enumerate(records):
                try:
                    counts[self._load_record(target, record)] += 1
                except CallerError as error:
                    problems.append(Problem(index=index, message=error.message, hint=error.hint))
            index_new(target)
            return LoadResult(**counts, problems=tuple(problems))

        done = await self.db.write(caller, work)
        self.wake()
        return done

    def _load_record(self, target: ImportTarget, record: AnyRecord | InvalidError) -> ImportOutcome:
        """Load one record completely or not at all; raises a CallerError."""
        if isinstance(record, InvalidError):
            raise record
        if isinstance(record, EntityRecord):
            return entities.take(target.conn, record, target.salt)
        return load_record(target, record)

    def _screen(self, text: str) -> Screened:
        return admit(text, self.secrets).text


def _page(
    conn: Reading, records: Sequence[dict[str, Any]], unreadable: Sequence[str], next_: str | None
) -> DumpPage:
    """Return *records* as a page; damaged texts and memories only by name, as *unreadable* ones."""
    memory_ids = {record["id"] for record in records if record["kind"] == "memory"}
    lost_ids = memory_ids - integrity.intact_ids(conn, list(memory_ids))
    items, damaged = [], [*unreadable]
    for record in records:
        if record["kind"] == "text" and "text" not in record:
            damaged.append(f"text {record['sha256']}")
        elif record["kind"] == "memory" and record["id"] in lost_ids:
            damaged.append(f"memory {record['id']}")
        else:
            items.append(record)
    return DumpPage(items=tuple(items), next=next_, damaged=tuple(damaged))


def _iter_records(conn: Reading, after: str | None) -> Iterator[tuple[str | None, dict[str, Any]]]:
    """Yield each record after the position *after*, with its own; those of entities come last."""
    kind, keys = (None, []) if after is None else _parse_position(after)
    if kind != entities.KIND:
        yield from dump.iter_records(conn, kind, keys)
        keys = []
    yield from entities.iter_records(conn, keys)


def _parse_position(after: str) -> tuple[str, list[Any]]:
    with suppress(ValueError, TypeError, RecursionError):
        kind, *keys = json.loads(after)
        is_position = entities.is_position if kind == entities.KIND else dump.is_position
        if is_position(kind, keys):
            return kind, keys
    raise cursor_error()


def _read(item: dict[str, Any]) -> AnyRecord | InvalidError:
    try:
        return record_type().validate_json(json.dumps(item), strict=True)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step)[:64] for step in first["loc"][1:])
        return InvalidError(f"{place}: {first['msg']}" if place else first["msg"])
