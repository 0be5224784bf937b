"""Errors on the wire: the JSON-RPC code and the ``data`` object of each kind.

Many kinds share a code (docs/api.md); the kind names the class, so a client raises exactly
what the daemon raised. Standard library only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from memd.base import errors
from memd.base.errors import InternalError, MemdError

CODES: Final[Mapping[str, int]] = {
    "parse": -32700,
    "invalid_request": -32600,
    "too_large": -32600,
    "unknown_method": -32601,
    "invalid": -32602,
    "internal": -32603,
    "cancelled": -32800,
    "not_found": -32000,
    "memory_not_found": -32000,
    "denied": -32001,
    "conflict": -32002,
    "invalid_state": -32003,
    "already_running": -32003,
    "memory": -32003,
    "memory_store": -32003,
    "memory_retrieval": -32003,
    "ingestion": -32003,
    "busy": -32004,
    "timeout": -32004,
    "starting": -32004,
    "stopping": -32004,
    "not_running": -32004,
    "memory_connection": -32004,
    "embedding": -32004,
    "provider_busy": -32004,
    "read_only": -32005,
    "disk_full": -32005,
    "damaged": -32006,
    "newer_schema": -32006,
    "foreign_file": -32006,
    "unsafe_path": -32006,
    "model": -32006,
    "capability": -32007,
    "config": -32007,
    "fine_tune_dependency": -32007,
    "fine_tune_cancelled": -32800,
    "degraded": -32007,
    "provider": -32007,
    "provider_refused": -32007,
    "quota": -32008,
    "secret_refused": -32009,
    "quarantined": -32009,
    "persistence": -32003,
    "persistence_connection": -32004,
    "migration": -32006,
    "duplicate_record": -32002,
    "record_query": -32003,
    "constraint_violation": -32002,
    "version_conflict": -32002,
    "malformed_row": -32003,
    "org_memory": -32003,
    "org_write": -32003,
    "org_query": -32003,
    "org_connection": -32004,
    "org_denied": -32001,
    "org_human": -32001,
    "org_config": -32007,
}

_BUG = "internal error: a bug in memd"
_BUG_HINT = "the daemon's log has the trace under the incident id"


def to_error(error: BaseException) -> dict[str, Any]:
    """Return *error* as a JSON-RPC error object.

    Anything but a MemdError of a known kind is a bug; its message is not sent, because it
    might contain a memory's text.
    """
    if not isinstance(error, MemdError) or error.kind not in CODES:
        error = InternalError(_BUG, hint=_BUG_HINT)
    data = {
        "kind": error.kind,
        "retry": error.retry,
        "family": error.family,
        "field": error.field,
        "hint": error.hint,
        "incident": error.incident if isinstance(error, InternalError) else None,
    }
    return {
        "code": CODES[error.kind],
        "message": error.message,
        "data": {key: value for key, value in data.items() if value is not None},
    }


def bug(incident: str) -> InternalError:
    """Return the error for a bug whose trace the log has under *incident*."""
    return InternalError(f"{_BUG} ({incident})", hint=_BUG_HINT, incident=incident)


def from_error(error: object) -> MemdError:
    """Return the exception for *error*, a JSON-RPC error object.

    An unknown kind, as a newer daemon may send it, becomes the first class with its code;
    anything but an error object becomes an InternalError.
    """
    if not isinstance(error, dict):
        return InternalError("the daemon sent an error that is no error object")
    data = error.get("data")
    data = data if isinstance(data, dict) else {}
    cls = _class_of(data.get("kind"), error.get("code"))
    exception = cls(
        str(error.get("message", "")), field=_text(data.get("field")), hint=_text(data.get("hint"))
    )
    if isinstance(exception, InternalError):
        exception.incident = _text(data.get("incident"))
    return exception


def _class_of(kind: object, code: object) -> type[MemdError]:
    kinds = errors.kinds()
    if isinstance(kind, str) and kind in kinds:
        return kinds[kind]
    return next((kinds[name] for name, number in CODES.items() if number == code), InternalError)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
