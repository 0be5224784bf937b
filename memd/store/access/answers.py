"""Answers of methods that take more than one transaction (SPEC D7).

A write of one transaction keeps its reply in it (replies.py). What takes many is kept
when all of it is done. One that was killed in the middle is done again when it is sent
again: each such method goes on where it stopped, or finds its work done.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any
from weakref import WeakValueDictionary

from pydantic_core import to_jsonable_python

from memd.base import log
from memd.base.errors import StorageError
from memd.domain.caller import Caller
from memd.store.access import replies
from memd.store.file.database import Database

Call = Callable[[Caller], Awaitable[Any]]


class Answers:
    """The room that repeats the answer of long work for the same idempotency key."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._at_work: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    async def once(self, caller: Caller, call: Call) -> Any:
        """Return what *call* returns, as JSON has it; the same key again gets the same answer.

        A repetition that comes while the first is at work waits for it. Raises
        ConflictError for the same key with another request, and what *call* raises: then
        nothing is kept.
        """
        key = caller.idempotency_key
        if key is None:
            return await call(caller)
        at_work = self._at_work.setdefault((caller.client, key), asyncio.Lock())
        async with at_work:
            kept = await self._db.read(replies.find, caller)
            if kept is not None:
                return json.loads(kept)
            # Without the key: each transaction within would take it for its own.
            answer = to_jsonable_python(await call(replace(caller, idempotency_key=None)))
            try:
                await self._db.write(caller, lambda _: answer, reply=object)
            except StorageError as error:  # what was asked for is done all the same
                log.warning("an answer was not kept", kind=error.kind)
            return answer
