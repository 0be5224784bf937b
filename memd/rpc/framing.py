"""Frames: one line of strict UTF-8 JSON each, in both directions.

A value returned by :func:`read` has no nesting deeper than ``FRAME_DEPTH_MAX``, no
duplicate keys, only finite numbers and 64-bit integers, and was valid UTF-8. The depth is
checked on the bytes before parsing, because the JSON parser recurses. Standard library
only, so that a client starts fast.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from memd.base.errors import InvalidError, ParseError, TooLargeError
from memd.base.limits import FRAME_BYTES_MAX, FRAME_DEPTH_MAX

_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1
_INT_DIGITS_MAX = 20  # the sign and 19 digits of 2**63

# The closing quote is optional, so that an unfinished string is consumed too and
# the search never starts again inside it: linear time on any bytes.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


class Splitter:
    """Splits a stream of bytes into frames.

    Blank lines are skipped, a carriage return before the line end is dropped. *waiting* is
    whether part of a frame has arrived. *overflow* is set when a frame, complete or not, is
    over the limit; nothing after it may be read.
    """

    def __init__(self, bytes_max: int = FRAME_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._pending = bytearray()
        self._searched = 0
        self.overflow: TooLargeError | None = None

    @property
    def waiting(self) -> bool:
        return bool(self._pending)

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the frames that *chunk* completes, in order, up to one over the limit."""
        if self.overflow is not None:
            return []
        self._pending += chunk
        frames: list[bytes] = []
        start = 0
        while (end := self._pending.find(b"\n", max(start, self._searched))) >= 0:
            if end - start > self._bytes_max:
                self._refuse()
                return frames
            frame = bytes(self._pending[start:end]).strip(b" \t\r")
            if frame:
                frames.append(frame)
            start = end + 1
        del self._pending[:start]
        self._searched = len(self._pending)
        if self._searched > self._bytes_max:
            self._refuse()
        return frames

    def _refuse(self) -> None:
        self._pending.clear()
        self.overflow = TooLargeError(
            f"a frame may have {self._bytes_max} bytes at most",
            hint="send a long history in pieces: memory.ingest_many, or the newest messages",
        )


def read(frame: bytes) -> Any:
    """Return the JSON value of *frame*.

    Raises ParseError for what is not the JSON that memd reads, InvalidError for a
    number out of range, TooLargeError for a frame over the limit.

    >>> read(b'{"a": [1, 2.5, null]}')
    {'a': [1, 2.5, None]}
    """
    if len(frame) > FRAME_BYTES_MAX:
        raise TooLargeError(f"a frame may have {FRAME_BYTES_MAX} bytes at most")
    if frame.count(b"[") + frame.count(b"{") > FRAME_DEPTH_MAX:
        _check_depth(frame)
    return parse(frame)


def parse(frame: bytes) -> Any:
    """Return the JSON value of *frame*, whatever its size and depth.

    For the daemon's replies, which may be larger than a request.
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

    JSON has escapes for both; SQLite and UTF-8 can store neither.
    """
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            if "\x00" in item:
                raise InvalidError("a string holds a NUL character", hint="leave it out")
            try:
                item.encode()
            except UnicodeEncodeError:
                raise InvalidError(
                    "a string holds a lone surrogate", hint="send both halves of the pair"
                ) from None
        elif isinstance(item, dict):
            waiting.extend(item.keys())
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)


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
    # Length first: converting very many digits takes quadratic time.
    if len(digits) > _INT_DIGITS_MAX:
        raise ParseError("a whole number has too many digits")
    value = int(digits)
    if not _INT_MIN <= value <= _INT_MAX:
        raise InvalidError("a whole number needs more than 64 bits")
    return value
