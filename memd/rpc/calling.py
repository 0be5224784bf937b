"""A call as a client sends it, and what comes back; what both clients share.

``KEYED`` repeats which methods may be sent twice under one idempotency key, so that a client
loads no models to find out; a test holds it against the table of methods.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Final

from memd.base.errors import (
    InvalidError,
    MemoryConnectionError,
    NotRunningError,
    ParseError,
    TooLargeError,
)
from memd.base.limits import FRAME_BYTES_MAX
from memd.rpc import envelope, framing
from memd.text.preference import filed_as

Progress = Callable[[int, int], None]
"""Told how many steps are done, and of how many."""

TOKEN: Final = "progress_token"  # noqa: S105  # the name of a parameter

KEYED: Final = frozenset(
    {
        "agent.set",
        "archive.add",
        "archive.restore_to_hot",
        "archive.restore_turned_away",
        "client.add",
        "client.revoke",
        "graph.add",
        "inject.call",
        "inject.file",
        "learn.outcome",
        "learn.success",
        "memory.delete",
        "memory.forget",
        "memory.ingest",
        "memory.ingest_many",
        "memory.quarantine",
        "memory.release",
        "memory.replace_source",
        "memory.store",
        "memory.update",
        "org.approve",
        "org.propose",
        "org.reject",
        "org.retract",
        "org.write",
        "owner.set",
        "preference.confirm",
        "preference.delete",
        "preference.set",
        "session.end",
        "session.start",
        "shared.publish",
        "shared.retract",
        "sleep.compress",
        "sleep.consolidate",
        "sleep.run",
        "sleep.undo",
        "store.backup",
        "store.import",
        "store.load",
        "store.rebuild",
        "trash.restore",
        "wiki.export",
    }
)


def prepared(
    method: str, params: Mapping[str, Any] | None, *, wants_progress: bool
) -> dict[str, Any]:
    """Return *params* with a key of its own for a write, so that it can be sent twice."""
    said = dict(params or {})
    if method in KEYED and said.get("idempotency_key") is None:
        said["idempotency_key"] = os.urandom(16).hex()
    if wants_progress:
        said[TOKEN] = 0
    return said


def frame(request_id: int, method: str, said: dict[str, Any]) -> bytes:
    """Return the request as bytes; raises InvalidError or TooLargeError before it is sent."""
    try:
        made = framing.write(envelope.request(request_id, method, said))
    except (UnicodeEncodeError, ValueError) as error:
        raise InvalidError(f"the params of {method} cannot be sent as JSON") from error
    if len(made) > FRAME_BYTES_MAX:
        raise TooLargeError(
            f"a request may have {FRAME_BYTES_MAX} bytes at most",
            hint="send a long history in pieces, with memory.ingest_many",
        )
    return made


class LostError(MemoryConnectionError):
    """The connection broke before the answer came; whether it happened, nobody knows."""


def not_running(path: str) -> NotRunningError:
    """Return the error of a socket on which nobody listens."""
    return NotRunningError(f"no daemon listens on {path}", hint="start it: memd serve")


def hello(key: str | None) -> bytes:
    """Return the first frame of a client, under the id 0; with a *key* it presents it."""
    return frame(0, "system.hello", {} if key is None else {"client_key": key})


def cancel(request_id: int) -> bytes:
    """Return the frame that tells the daemon to stop working on a request."""
    return framing.write(envelope.notification(envelope.CANCEL, {"id": request_id}))


def answer(frame: bytes) -> dict[str, Any]:
    """Return what the daemon sent; raises ParseError when that is no memd's."""
    heard = framing.parse(frame)
    if not isinstance(heard, dict):
        raise ParseError("what answers on the socket is no memd")
    return heard


def tell(progress: Progress | None, told: dict[str, Any]) -> None:
    """Pass a ``$/progress`` notification on to who wanted it."""
    value = told.get("params", {}).get("value", {})
    if progress is not None:
        progress(value.get("done", 0), value.get("total", 0))


def to_store(content: str, category: str | None, more: dict[str, Any]) -> dict[str, Any]:
    """Return the params of ``memory.store``; without a *category* it is filed by what it says."""
    filed = category or filed_as(content, more.get("speaker"))
    return {"content": content, "category": filed, **more}
