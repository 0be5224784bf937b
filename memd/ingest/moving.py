"""Moving a profile: everything of this one out, everything of another one in.

Only the owner's commands may call this: arriving records keep their origin, trust
and dates, which no client may set. Every text passes the secrets
screen again, and each record is loaded by itself: a bad one stops no other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pydantic

from memd.base.errors import CallerError, InvalidError
from memd.base.ids import Ids
from memd.base.limits import FRAME_BYTES_MAX
from memd.domain.caller import Caller
from memd.domain.moving import AnyRecord, EntityRecord, record_type
from memd.domain.sleep.upkeep import DumpPage, LoadResult, Problem
from memd.domain.trust import Screened, SecretsPolicy
from memd.guard.secrets import admit
from memd.store.file.connect import Reading, Writing
from memd.store.file.database import Database
from memd.store.moving import dump
from memd.store.moving.load import index_new, load_record
from memd.store.moving.target import ImportOutcome, ImportTarget, Learn


class EntityMoving(Protocol):
    """Moves operational records out and in; ``memd/records/moving.py`` implements it."""

    async def ready(self, db: Database) -> None: ...
    def begin(self, conn: Reading) -> str | None: ...
    def is_place(self, after: str) -> bool: ...
    def page(
        self, conn: Reading, after: str, limit: int, bytes_max: int
    ) -> tuple[list[dict[str, Any]], str | None]: ...
    def take(
        self, conn: Writing, item: EntityRecord, salt: Callable[[], bytes]
    ) -> ImportOutcome: ...


@dataclass(frozen=True)
class Moving:
    """Exports and loads records; its parts are handed in by the daemon.

    *learn* reads an operation's statements, *entities* moves operational records.
    """

    db: Database
    ids: Ids
    learn: Learn
    wake: Callable[[], None]
    """Signals that there are memories without a vector."""
    entities: EntityMoving
    secrets: SecretsPolicy = "redact"

    async def dump(self, after: str | None, limit: int) -> DumpPage:
        """Return a page of records, each after those it refers to.

        Raises InvalidError for an *after* that is no page's cursor.
        """
        if after is None:
            await self.entities.ready(self.db)
        items, last = await self.db.read(self._page, after, limit)
        return DumpPage(items=tuple(items), next=last)

    def _page(
        self, conn: Reading, after: str | None, limit: int
    ) -> tuple[list[dict[str, Any]], str | None]:
        if after is not None and self.entities.is_place(after):
            return self.entities.page(conn, after, limit, FRAME_BYTES_MAX // 2)
        items, last = dump.export_page(conn, after, limit, FRAME_BYTES_MAX // 2)
        return items, self.entities.begin(conn) if last is None else last

    async def load(self, caller: Caller, items: Sequence[dict[str, Any]]) -> LoadResult:
        """Store exported records in one transaction; existing ones stay unchanged.

        Returns the counts of stored, known and skipped records, and the problems by index.
        """
        records = [_read(item) for item in items]

        def work(conn: Writing) -> LoadResult:
            target = ImportTarget(conn, self._screen, self.ids.salt, self.learn)
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
            return self.entities.take(target.conn, record, target.salt)
        return load_record(target, record)

    def _screen(self, text: str) -> Screened:
        return admit(text, self.secrets).text


def _read(item: dict[str, Any]) -> AnyRecord | InvalidError:
    try:
        return record_type().validate_json(json.dumps(item), strict=True)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step)[:64] for step in first["loc"][1:])
        return InvalidError(f"{place}: {first['msg']}" if place else first["msg"])
