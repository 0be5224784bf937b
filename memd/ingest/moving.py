"""The room of a move: everything of this profile out, everything of another one in.

Only the owner's own commands may come here: what arrives keeps its origin, its trust
and its dates, as nothing that a client says could. Every text passes the secrets
screen again, and each record is taken by itself: a bad one stops no other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pydantic

from memd.base.errors import CallerError, InvalidError
from memd.base.ids import Ids
from memd.base.limits import FRAME_BYTES_MAX
from memd.domain.caller import Caller
from memd.domain.moving import Record, record_type
from memd.domain.sleep.upkeep import DumpPage, Loaded, Problem
from memd.domain.trust import Screened, SecretsPolicy
from memd.guard.secrets import admitted
from memd.store.file.connect import Writing
from memd.store.file.database import Database
from memd.store.moving import dump
from memd.store.moving.desk import Desk
from memd.store.moving.load import Learn, settle, take


@dataclass(frozen=True)
class Moving:
    """The room's needs, handed in by the daemon. *learn* reads an operation's statements."""

    db: Database
    ids: Ids
    learn: Learn
    wake: Callable[[], None]
    """Says that there are memories without a vector."""
    secrets: SecretsPolicy = "redact"

    async def dump(self, after: str | None, limit: int) -> DumpPage:
        """Return a page of records, each after what it refers to.

        Raises InvalidError for an *after* that ends no page.
        """
        items, last = await self.db.read(dump.page, after, limit, FRAME_BYTES_MAX // 2)
        return DumpPage(items=tuple(items), next=last)

    async def load(self, caller: Caller, items: Sequence[dict[str, Any]]) -> Loaded:
        """Store records of an export in one transaction; what is here already stays as it is.

        Returns how many were stored, known and skipped, and what is wrong with which.
        """
        records = [_read(item) for item in items]

        def work(conn: Writing) -> Loaded:
            desk = Desk(conn, self._screened, self.ids.salt)
            counts, problems = {"stored": 0, "known": 0, "skipped": 0}, []
            for index, record in enumerate(records):
                try:
                    counts[_taken(desk, record, self.learn)] += 1
                except CallerError as error:
                    problems.append(Problem(index=index, message=error.message, hint=error.hint))
            settle(desk)
            return Loaded(**counts, problems=tuple(problems))

        done = await self.db.write(caller, work)
        self.wake()
        return done

    def _screened(self, text: str) -> Screened:
        return admitted(text, self.secrets).text


def _read(item: dict[str, Any]) -> Record | InvalidError:
    try:
        return record_type().validate_json(json.dumps(item), strict=True)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step)[:64] for step in first["loc"][1:])
        return InvalidError(f"{place}: {first['msg']}" if place else first["msg"])


def _taken(desk: Desk, record: Record | InvalidError, learn: Learn) -> str:
    """Take one record, or nothing of it; raises a CallerError."""
    if isinstance(record, InvalidError):
        raise record
    return take(desk, record, learn)
