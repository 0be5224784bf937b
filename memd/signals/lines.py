"""Leniently read the JSON lines of assistants' transcripts, whose formats are undocumented.

A line that is broken, incomplete or of an unknown kind is skipped. Lines that are no JSON object
are counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memd.signals.usage import UnreadableSignal

Record = Mapping[str, Any]
Message = dict[str, Any]

# JSON escapes of NUL and of surrogates, for example \u0000 and \ud83d.
_UNSTORABLE = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
_TOKENS_MAX = 2**63 - 1
_TIME_CHARS_MAX = 64

EXIT_CODE_FIELDS = ("exit_code", "exitCode")
ERROR_FIELDS = ("is_error", "isError")
"""Names that assistants use for the fields of a tool's result that tell whether it failed."""


def records(raw: bytes) -> tuple[list[dict[str, Any]], int]:
    r"""Return the objects in the lines of *raw*, in order, and the number of other lines.

    >>> records(b'{"a": 1}\n42\n{"b"')
    ([{'a': 1}], 2)
    """
    objects: list[dict[str, Any]] = []
    skipped = 0
    for line in _lines(raw):
        value = _value(line)
        if isinstance(value, dict):
            objects.append(value)
        else:
            skipped += 1
    return objects, skipped


def document(raw: bytes) -> Any:
    """Return the single JSON value in *raw*. Raises UnreadableSignal if *raw* is no JSON."""
    value = _value(raw)
    if value is None:
        raise UnreadableSignal("it is no transcript that memd knows")
    return value


def text_of(content: object) -> str:
    """Return the text in *content*: a string, or the text blocks of a list, joined by newlines."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        content = [content]
    if not isinstance(content, Sequence):
        return ""
    parts = [item if isinstance(item, str) else _text_in(item) for item in content]
    return "\n".join(part for part in parts if part)


def text(value: object) -> str | None:
    """Return *value* if it is a string that is not blank, else None."""
    return value if isinstance(value, str) and value.strip() else None


def count(value: object) -> int | None:
    """Return *value* if it can be a number of tokens, else None."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= _TOKENS_MAX else None


def mapping(value: object) -> Record:
    """Return *value* if it is a JSON object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def add_timestamp(message: Message, record: Record) -> Message:
    """Add the timestamp of *record* to *message*, unparsed, and return *message*."""
    timestamp = text(record.get("timestamp"))
    if timestamp is not None and len(timestamp) <= _TIME_CHARS_MAX:
        message["timestamp"] = timestamp
    return message


def failure_fields(record: Record) -> Message:
    """Return the fields of *record* that tell whether a tool failed.

    >>> failure_fields({"content": "", "is_error": True})
    {'is_error': True}
    """
    keys = (*ERROR_FIELDS, *EXIT_CODE_FIELDS)
    return {key: record[key] for key in keys if isinstance(record.get(key), int)}


def items(value: object) -> list[Record]:
    """Return the objects in *value* if it is a list, else an empty list."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _storable(value: Any) -> Any:
    """Return *value* without NUL and lone surrogates, which SQLite and UTF-8 cannot store."""
    if isinstance(value, str):
        return value.replace("\x00", "").encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_storable(item) for item in value]
    if isinstance(value, dict):
        return {_storable(key): _storable(item) for key, item in value.items()}
    return value


def _text_in(item: object) -> str:
    inner = mapping(item).get("text")
    return inner if isinstance(inner, str) else ""


def _lines(raw: bytes) -> Iterator[bytes]:
    """Yield the lines that are not blank, without copying all of *raw* as split would."""
    start = 0
    while start < len(raw):
        end = raw.find(b"\n", start)
        end = len(raw) if end < 0 else end
        line = raw[start:end].strip()
        if line:
            yield line
        start = end + 1


def _value(raw: bytes) -> Any:
    try:
        value = json.loads(raw.decode("utf-8", "replace"), parse_constant=lambda _: None)
        return _storable(value) if _UNSTORABLE.search(raw) else value
    except (ValueError, RecursionError):
        return None
