"""Errors on the wire: the JSON-RPC code and the ``data`` object of each kind.

Several kinds share a code (docs/api.md). The kind identifies the class, so that a client raises
exactly what the daemon raised. Standard library only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from memd.base import errors
from memd.base.errors import InternalError, MemdError

_KINDS: Final = {
    -32700: "parse",
    -32600: "invalid_request too_large",
    -32601: "unknown_method",
    -32602: "invalid invalid_query",
    -32603: "internal",
    -32800: "cancelled fine_tune_cancelled",
    -32000: "not_found memory_not_found",
    -32001: "denied org_denied org_human",
    -32002: "conflict duplicate_record constraint_violation version_conflict",
    -32003: "invalid_state already_running memory memory_store memory_retrieval ingestion"
    " persistence record_query malformed_row org_memory org_write org_query",
    -32004: "busy timeout starting stopping not_running memory_connection embedding provider_busy"
    " persistence_connection org_connection",
    -32005: "read_only disk_full",
    -32006: "damaged newer_schema foreign_file unsafe_path model migration",
    -32007: "capability config fine_tune_dependency degraded provider provider_refused org_config",
    -32008: "quota",
    -32009: "secret_refused quarantined",
}
CODES: Final[Mapping[str, int]] = {
    kind: code for code, kinds in _KINDS.items() for kind in kinds.split()
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

    An unknown kind, which a newer daemon may send, becomes the first class with the same code.
    Anything but an error object becomes an InternalError.
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
