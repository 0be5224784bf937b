"""The JSON-RPC 2.0 envelope: parsing and building requests, notifications and answers.

Used by client and daemon; standard library only. A malformed member of a batch is refused
by itself, the others are answered (JSON-RPC 2.0, section 6).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from memd.base.errors import InvalidError, InvalidRequestError, MemdError, TooLargeError
from memd.base.limits import BATCH_REQUESTS_MAX, NAME_CHARS_MAX
from memd.rpc import faults, framing

Id = str | int | None

CANCEL: Final = "$/cancelRequest"
MCP_CANCEL: Final = "notifications/cancelled"
PROGRESS: Final = "$/progress"


@dataclass(frozen=True, slots=True)
class Request:
    """One well-formed request. A *notification* is never answered."""

    id: Id
    method: str
    params: dict[str, Any]
    notification: bool = False


@dataclass(frozen=True, slots=True)
class InvalidMember:
    """An invalid member of a frame: the error, and the id to answer under."""

    id: Id
    error: MemdError
    notification: bool = False


@dataclass(frozen=True, slots=True)
class PeerAnswer:
    """A client's answer to a request that the daemon sent it."""

    id: Id
    result: Any = None
    failed: bool = False


Member = Request | InvalidMember | PeerAnswer


def read(frame: bytes) -> tuple[list[Member], bool]:
    """Return the requests of *frame* and whether it is a batch.

    Raises what :func:`framing.read` raises, InvalidRequestError for an empty batch, TooLargeError
    for one over ``BATCH_REQUESTS_MAX``.
    """
    message = framing.read(frame)
    if not isinstance(message, list):
        return [_member(message)], False
    if not message:
        raise InvalidRequestError("a batch must hold at least one request")
    if len(message) > BATCH_REQUESTS_MAX:
        raise TooLargeError(f"a batch may hold {BATCH_REQUESTS_MAX} requests at most")
    return [_refuse_answer(_member(item)) for item in message], True


def _refuse_answer(member: Member) -> Member:
    """Return *member*, or a refusal if it is an answer: the daemon sends no batches."""
    if not isinstance(member, PeerAnswer):
        return member
    return InvalidMember(
        member.id, InvalidRequestError("no request has this id"), notification=True
    )


def _member(item: Any) -> Member:
    if not isinstance(item, dict):
        return InvalidMember(None, InvalidRequestError("a request must be an object"))
    request_id = item.get("id")
    if not _is_id(request_id):
        return InvalidMember(None, InvalidRequestError("id must be a string or a whole number"))
    notification = "id" not in item
    if "method" not in item and ("result" in item or "error" in item) and not notification:
        return PeerAnswer(request_id, item.get("result"), failed="error" in item)
    try:
        return _request(item, request_id, notification=notification)
    except MemdError as error:
        # An invalid request is answered even without an id (JSON-RPC 2.0, section 5).
        silent = notification and not isinstance(error, InvalidRequestError)
        return InvalidMember(request_id, error, silent)


def _request(item: dict[str, Any], request_id: Id, *, notification: bool) -> Request:
    if item.get("jsonrpc") != "2.0":
        raise InvalidRequestError('jsonrpc must be "2.0"')
    method = item.get("method")
    if not isinstance(method, str):
        raise InvalidRequestError("method must be a string")
    params = item.get("params", {})
    if isinstance(params, list):
        raise InvalidError("params must be an object: parameters go by name", field="params")
    if not isinstance(params, dict):
        raise InvalidRequestError("params must be an object")
    framing.check_texts(params)
    return Request(request_id, method, params, notification)


def _is_id(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, str):
        return len(value) <= NAME_CHARS_MAX and value.isprintable()
    return value is None or isinstance(value, int)


def request(request_id: Id, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return a request message."""
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def notification(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return a notification message."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


def failure(request_id: Id, error: BaseException) -> dict[str, Any]:
    """Return the answer to a request that failed with *error*."""
    return {"jsonrpc": "2.0", "id": request_id, "error": faults.to_error(error)}


def outcome(answer: dict[str, Any]) -> Any:
    """Return the result of *answer*, or raise its error as the class of its kind."""
    if "error" in answer:
        raise faults.from_error(answer["error"])
    return answer.get("result")
