"""Messages as the documents write them, one a line: ``{"role": ..., "content": ...}``."""

from __future__ import annotations

from collections.abc import Sequence

from memd.signals.lines import Message, Record, timed
from memd.signals.usage import Usage

_KEPT = ("role", "content", "name", "tool_calls", "tool_call_id")


def knows(record: Record) -> bool:
    return isinstance(record.get("role"), str) and "content" in record


def messages(records: Sequence[Record]) -> list[Message]:
    return [
        timed({key: record[key] for key in _KEPT if key in record}, record)
        for record in records
        if knows(record)
    ]


def session(records: Sequence[Record]) -> str | None:
    del records
    return None


def usage(records: Sequence[Record]) -> Usage | None:
    del records
    return None
