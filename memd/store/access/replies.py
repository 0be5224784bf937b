"""Make writes idempotent: a write that is sent twice is done once (SPEC D7).

The reply to a write with an idempotency key is stored in the transaction of the write. The same key
with the same request returns that reply again; with another request it is a conflict.

Replies contain ids, never a memory's text. Key and request are stored as HMACs under a secret of
the file: a client may build its keys from words, and from a plain hash a short text could be
guessed even after it was forgotten.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakValueDictionary

from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from memd.base import log
from memd.base.clock import DAY_US
from memd.base.errors import ConflictError, StorageError, UnavailableError
from memd.base.limits import REPLY_KEPT_DAYS
from memd.domain.caller import Caller
from memd.store.file.connect import Reading, Writing

if TYPE_CHECKING:
    from memd.store.file.database import Database

T = TypeVar("T")

_META_KEY = "reply_secret"
_RECORD_US = 3_600_000_000


def find(conn: Reading, caller: Caller) -> str | None:
    """Return the stored reply as JSON, None for none; ConflictError if the request differs."""
    if caller.idempotency_key is None or (secret := conn.get_meta(_META_KEY, bytes)) is None:
        return None
    row = conn.execute(
        """
        SELECT request_hash, reply
          FROM reply
         WHERE client = :client AND idempotency_key = :idempotency_key
        """,
        {"client": caller.client, "idempotency_key": _key(secret, caller.idempotency_key)},
    ).fetchone()
    if row is None:
        return None
    request_hash, reply = row
    assert isinstance(request_hash, bytes)
    if not hmac.compare_digest(request_hash, hmac.digest(secret, caller.request_hash, "sha256")):
        raise ConflictError(
            "this idempotency key was used for another request",
            field="idempotency_key",
            hint="make a new key for each request",
        )
    return str(reply)


def run_once(
    conn: Writing, caller: Caller, now_us: int, reply: type[T] | None, work: Callable[[Writing], T]
) -> T:
    """Return the stored reply, or run *work* and store its result as a reply.

    Without *reply* (the type of the result) or an idempotency key, only runs *work*.
    """
    if reply is None or caller.idempotency_key is None:
        return work(conn)
    adapter = TypeAdapter(reply)
    stored = find(conn, caller)
    if stored is not None:
        return adapter.validate_json(stored)
    result = work(conn)
    secret = conn.ensure_secret(_META_KEY)
    conn.insert(
        "reply",
        {
            "client": caller.client,
            "idempotency_key": _key(secret, caller.idempotency_key),
            "request_hash": hmac.digest(secret, caller.request_hash, "sha256"),
            "reply": adapter.dump_json(result).decode(),
            "created_at_us": now_us,
        },
    )
    return result


def _key(secret: bytes, idempotency_key: str) -> str:
    name = b"key " + idempotency_key.encode("utf-8", "surrogatepass")
    return hmac.digest(secret, name, "sha256").hex()


def scrub(conn: Writing, ids: Sequence[str]) -> None:
    """Remove the names of preferences from replies that contain *ids*.

    Such a name is made of a memory's words. The reply itself is kept, so that a retry does not
    store the forgotten memory again.
    """
    conn.executemany(
        """
        UPDATE reply
           SET reply = json_set(reply, '$.preferences', json('[]'))
         WHERE instr(reply, :memory_id) AND json_array_length(reply, '$.preferences') > 0
        """,
        ({"memory_id": memory_id} for memory_id in ids),
    )
    conn.executemany(
        """
        UPDATE reply
           SET reply = json_set(reply, '$.items',
                   (SELECT json_group_array(
                               iif(instr(item.value, :memory_id),
                                   json_set(item.value, '$.preferences', json('[]')),
                                   json(item.value)))
                      FROM json_each(reply, '$.items') AS item))
         WHERE instr(reply, :memory_id) AND json_type(reply, '$.items') = 'array'
        """,
        ({"memory_id": memory_id} for memory_id in ids),
    )


def lasting_us(conn: Reading) -> int | None:
    """Return the last recorded lasting time (:class:`TrustedTime`), None before the first."""
    return conn.get_meta("lasting_us", int)


def record_lasting(conn: Writing, now_us: int) -> None:
    """Record the lasting time, at most once an hour; the next start continues from it."""
    before_us = lasting_us(conn)
    if before_us is None or abs(now_us - before_us) >= _RECORD_US:
        conn.set_meta("lasting_us", now_us)


def purge(conn: Writing, now_us: int) -> int:
    """Delete replies older than REPLY_KEPT_DAYS; returns how many."""
    conn.execute(
        "DELETE FROM reply WHERE created_at_us < :before_us",
        {"before_us": now_us - REPLY_KEPT_DAYS * DAY_US},
    )
    return conn.changes()


Call = Callable[[Caller], Awaitable[Any]]


class Answers:
    """The room that makes methods with several transactions idempotent.

    A write of one transaction stores its reply in it. The reply of a method with several
    transactions is stored when all are done. A method that was killed runs again when the request
    is repeated: it continues where it stopped, or finds its work done.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._locks: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    async def run_once(self, caller: Caller, call: Call) -> Any:
        """Return the result of *call* as JSON, or the stored reply of an earlier call.

        A repeated request waits while the first one runs. Raises ConflictError for the same key
        with another request, and any error of *call*, in which case no reply is stored.
        """
        key = caller.idempotency_key
        if key is None:
            return await call(caller)
        lock = self._locks.setdefault((caller.client, key), asyncio.Lock())
        async with lock:
            stored = await self._db.read(find, caller)
            if stored is not None:
                return json.loads(stored)
            # Without the key, or each transaction of the call would store its reply under it.
            answer = to_jsonable_python(await call(replace(caller, idempotency_key=None)))
            try:
                await self._db.write(caller, lambda _: answer, reply=object)
            except (StorageError, UnavailableError) as error:  # the work itself is done
                log.warning("an answer was not kept", kind=error.kind)
            return answer
