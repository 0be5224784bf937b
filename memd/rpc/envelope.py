"""The JSON-RPC 2.0 envelope: requests, notifications and answers, in frames of one line each.

A frame is strict UTF-8 JSON: no duplicate keys, only finite numbers and 64-bit integers, and in
requests no nesting deeper than ``FRAME_DEPTH_MAX``. The depth is checked on the bytes before
parsing, because the JSON parser recurses. A frame that is refused is answered under its id if that
stands before the params. An invalid member of a batch gets an error of its
own; the other members are answered (JSON-RPC 2.0, section 6).

Used by client and daemon; standard library only, so that a client starts fast.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from memd.base.errors import InvalidError, InvalidRequestError, MemdError, ParseError, TooLargeError
from memd.base.limits import BATCH_REQUESTS_MAX, FRAME_BYTES_MAX, FRAME_DEPTH_MAX, NAME_CHARS_MAX
from memd.rpc import faults

Id = str | int | None

CANCEL: Final = "$/cancelRequest"
MCP_CANCEL: Final = "notifications/cancelled"
PROGRESS: Final = "$/progress"

_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1
_INT_DIGITS_MAX = 20  # the sign and 19 digits of 2**63

# A JSON string with its escapes. The closing quote is optional: an unfinished string is then
# consumed as well, and the search never starts again inside it, so it takes linear time.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
# The id of a request that begins as clients write it; strings without escapes.
_HEAD_ID = re.compile(
    rb'\s*\{(?:\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,)*'
    rb'\s*"id"\s*:\s*("[^"\\]*"|-?[0-9]{1,18})\s*[,}]'
)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


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

    Raises what :func:`parse_request` raises, InvalidRequestError for an empty batch, TooLargeError
    for one over ``BATCH_REQUESTS_MAX``.
    """
    message = parse_request(frame)
    if not isinstance(message, list):
        return [_member(message)], False
    if not message:
        raise InvalidRequestError("a batch must hold at least one request")
    if len(message) > BATCH_REQUESTS_MAX:
        raise TooLargeError(f"a batch may hold {BATCH_REQUESTS_MAX} requests at most")
    return [_refuse_answer(_member(item)) for item in message], True


def find_id(frame: bytes) -> Id:
    """Return the id of a request that :func:`read` refuses, None if it cannot be read.

    It is read if nothing but ``jsonrpc`` and ``method`` stand before it.

    >>> find_id(b'{"jsonrpc": "2.0", "id": 7, "method": "usage.report", "params": {"a": [[[')
    7
    """
    head = _HEAD_ID.match(frame)
    if head is None:
        return None
    try:
        request_id = json.loads(head[1])
    except ValueError:  # a control character, or no UTF-8
        return None
    return request_id if _is_id(request_id) else None


def _refuse_answer(member: Member) -> Member:
    """Return *member*, or an invalid one if it is an answer: the daemon sends no batches."""
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
    check_texts(params)
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


# Frames.


class Splitter:
    """Splits a stream of bytes into frames.

    Blank lines are skipped, and so are spaces, tabs and carriage returns around a frame.
    *pending* is the beginning of a frame whose end has not arrived. *overflow* is set when a
    frame, complete or not, is over the limit; the rest of the stream is then unusable.
    """

    def __init__(self, bytes_max: int = FRAME_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self.pending = bytearray()
        self._searched = 0
        self.overflow: TooLargeError | None = None

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the frames that *chunk* completes, in order, none after one over the limit."""
        if self.overflow is not None:
            return []
        self.pending += chunk
        frames: list[bytes] = []
        start = 0
        while (end := self.pending.find(b"\n", max(start, self._searched))) >= 0:
            if end - start > self._bytes_max:
                self._refuse()
                return frames
            frame = bytes(self.pending[start:end]).strip(b" \t\r")
            if frame:
                frames.append(frame)
            start = end + 1
        del self.pending[:start]
        self._searched = len(self.pending)
        if self._searched > self._bytes_max:
            self._refuse()
        return frames

    def _refuse(self) -> None:
        self.pending.clear()
        self.overflow = TooLargeError(
            f"a frame may have {self._bytes_max} bytes at most",
            hint="send a long history in pieces: memory.ingest_many, or the newest messages",
        )


def parse_request(frame: bytes) -> Any:
    """Return the JSON value of a client's *frame*.

    Raises ParseError if it is not strict JSON or nested too deeply, InvalidError for a number
    out of range, TooLargeError for a frame over the limit.

    >>> parse_request(b'{"a": [1, 2.5, null]}')
    {'a': [1, 2.5, None]}
    """
    if len(frame) > FRAME_BYTES_MAX:
        raise TooLargeError(f"a frame may have {FRAME_BYTES_MAX} bytes at most")
    if frame.count(b"[") + frame.count(b"{") > FRAME_DEPTH_MAX:
        _check_depth(frame)
    return parse(frame)


def parse(frame: bytes) -> Any:
    """Return the JSON value of *frame*, without the limits on size and depth.

    For the daemon's answers, which may be larger than a request. Raises ParseError, and
    InvalidError for a number out of range.
    """
    try:
        text = frame.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ParseError(f"the frame is not UTF-8 at byte {error.start}") from None
    try:
        return json.loads(
            text,
            object_pairs_hook=_unique_keys,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_int64,
        )
    except json.JSONDecodeError as error:
        raise ParseError(
            f"the frame is not JSON at character {error.pos}",
            hint="send one JSON object per line, without HTTP or line breaks within it",
        ) from None
    except RecursionError:
        raise ParseError("the frame is nested too deeply") from None


def write(value: Any) -> bytes:
    """Return *value* as a frame. Raises ValueError for NaN and for lone surrogates."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode() + b"\n"


def check_texts(value: Any) -> None:
    """Raise InvalidError if any string in *value* has a NUL or a lone surrogate.

    JSON has escapes for both; SQLite and UTF-8 can store neither. The error names the first such
    string by its place in *value*.
    """
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            if not _is_storable(item):
                raise _text_error(value)
        elif isinstance(item, dict):
            pending.extend(item.keys())
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)


def _is_storable(text: str) -> bool:
    try:
        return "\x00" not in text and text.encode() is not None
    except UnicodeEncodeError:
        return False


def _text_error(value: Any) -> InvalidError:
    """Return the error for the first string in *value* that cannot be stored."""
    place, text = next(_walk_bad_texts(value, ()))
    field = ".".join(name[:64] if name.isprintable() else "?" for name in place) or None
    what = f"{field}:" if field else "a string"
    if "\x00" in text:
        return InvalidError(f"{what} holds a NUL character", field=field, hint="leave it out")
    return InvalidError(
        f"{what} holds a lone surrogate: half of a character, or a byte that was not UTF-8",
        field=field,
        hint="send both halves of the pair, and bytes decoded with their own encoding",
    )


def _walk_bad_texts(value: Any, place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield each string that cannot be stored, with its place; that of a key is its object's."""
    if isinstance(value, str) and not _is_storable(value):
        yield place, value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _walk_bad_texts(name, place)
            yield from _walk_bad_texts(item, (*place, str(name)))
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from _walk_bad_texts(item, (*place, str(number)))


def _check_depth(frame: bytes) -> None:
    depth = 0
    for bracket in _STRING.sub(b"", frame).translate(None, _NO_BRACKETS):
        if bracket in b"[{":
            depth += 1
            if depth > FRAME_DEPTH_MAX:
                raise ParseError(f"a frame may be nested {FRAME_DEPTH_MAX} levels deep at most")
        else:
            depth -= 1


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ParseError("a key is given twice in one object")
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise ParseError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise InvalidError("a number is too large")
    return value


def _int64(digits: str) -> int:
    # The length first: converting many digits takes quadratic time.
    if len(digits) > _INT_DIGITS_MAX:
        raise ParseError("a whole number has too many digits")
    value = int(digits)
    if not _INT_MIN <= value <= _INT_MAX:
        raise InvalidError("a whole number needs more than 64 bits")
    return value
