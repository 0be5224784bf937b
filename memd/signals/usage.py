"""Parse usage files, which report how full an assistant's context window is (SPEC 6).

Four formats are accepted: memd's own (docs/usage.md), the specification's ``current_tokens`` and
``max_tokens``, the input of assistants' hooks, and Claude Code's status line. All become one
:class:`Usage`, in which None means "not reported". The caller then keeps the last known value: a
hook that reports no window does not overwrite the one that the status line reported.

Implausible values are refused. Error messages never quote the file.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

from memd.base.limits import NAME_CHARS_MAX, SIGNAL_PATH_CHARS_MAX, USAGE_BYTES_MAX

CONTRACT = 1
"""The version of memd's own format, the field ``v``."""
STATUS_LINE = "statusline"
CONSOLIDATED_SUFFIX = ".consolidated.json"
"""Suffix of the file in which memd writes a nap's result, next to the usage file."""
_CLAUDE = "claude-code"
_PERCENT_MAX = 1_000.0  # above 100, since an assistant may exceed the window that it reports
_WHOLE_MAX = 2**63 - 1  # the largest integer of SQLite

# Names of the same field in different assistants, memd's own first; the first with a value counts.
_USED = ("used_tokens", "current_tokens", "context_tokens", "context_length")
_WINDOW = ("window_tokens", "max_tokens", "context_window_size", "max_context_length")
_PERCENT = ("used_percent", "used_percentage", "context_usage_percent")
_SESSION = ("session_id", "conversation_id")
_EVENT = ("event", "hook_event_name", "event_type")
_CWD = ("cwd", "working_directory")
_AT = ("ts", "timestamp")

# The fields of a response that count tokens in the window; its output is not in it yet.
IN_THE_WINDOW = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")

_UUID_AT_THE_END = re.compile(r"(.+?)-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})", re.I)
# Control characters, which could form terminal sequences, and lone surrogates, which UTF-8 lacks.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_DASHED_SOURCES = ("claude-code", "gemini-cli", "letta-code")


class UnreadableSignal(ValueError):  # noqa: N818  # a reason to report, not an error of memd
    """A usage file or transcript cannot be read; the message never quotes it."""


class MissingSignal(UnreadableSignal):
    """The file does not exist."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The fields of one usage file; None means not reported."""

    source: str | None = None
    session_id: str | None = None
    used_tokens: int | None = None
    window_tokens: int | None = None
    compact_at_tokens: int | None = None
    """The number of tokens at which the assistant compacts, if below the window."""
    used_percent: float | None = None
    model: str | None = None
    cwd: str | None = None
    transcript_path: str | None = None
    event: str | None = None
    at: datetime | None = None


def parse(raw: bytes) -> Usage:
    """Return the parsed usage file *raw*.

    Raises UnreadableSignal if it is too large, is no JSON object, has a duplicate key, or has a
    value of a wrong type or out of range.

    >>> parse(b'{"current_tokens": 25000, "max_tokens": 30000}').window_tokens
    30000
    """
    if len(raw) > USAGE_BYTES_MAX:
        raise UnreadableSignal(f"it has more than {USAGE_BYTES_MAX} bytes")
    fields = _object(raw)
    if fields.get("v") not in (None, CONTRACT) or isinstance(fields.get("v"), bool):
        raise UnreadableSignal(f"v must be {CONTRACT}")
    if isinstance(fields.get("context_window"), Mapping):
        fields = _status_line(fields)
    if fields.get("hook_event_name") is not None:
        # In a hook's input, "source" is the reason of the call, not the assistant.
        fields = {**fields, "source": None}
    usage = Usage(
        source=_name(fields, "source"),
        session_id=_name(fields, *_SESSION),
        used_tokens=_whole(fields, *_USED),
        window_tokens=_whole(fields, *_WINDOW, least=1),
        compact_at_tokens=_whole(fields, "compact_at_tokens", least=1),
        used_percent=_percent(fields),
        model=_model(fields),
        cwd=_text(fields, *_CWD, chars_max=SIGNAL_PATH_CHARS_MAX),
        transcript_path=_text(fields, "transcript_path", chars_max=SIGNAL_PATH_CHARS_MAX),
        event=_name(fields, *_EVENT),
        at=_moment(fields),
    )
    if (usage.used_tokens or 0) * 100 > (usage.window_tokens or _WHOLE_MAX) * _PERCENT_MAX:
        raise UnreadableSignal(f"more than {_PERCENT_MAX:.0f} % of the window is used")
    return usage


def parse_name(path: Path) -> tuple[str, str]:
    """Return source and session of a file named ``<source>-<session_id>.json``.

    A name without a dash is both the source and the session.

    >>> parse_name(Path("codex-7.json")), parse_name(Path("context.json"))
    (('codex', '7'), ('context', 'context'))
    """
    stem = path.name.removesuffix(".json")
    if match := _UUID_AT_THE_END.fullmatch(stem):
        return match[1], match[2]
    for source in _DASHED_SOURCES:
        if stem.startswith(f"{source}-") and len(stem) > len(source) + 1:
            return source, stem[len(source) + 1 :]
    source, _, session = stem.partition("-")
    return (source, session) if source and session else (stem, stem)


def complete(usage: Usage, path: Path) -> Usage:
    """Return *usage* with source and session, taken from the file's name where missing."""
    source, session = parse_name(path)
    return replace(usage, source=usage.source or source, session_id=usage.session_id or session)


def _object(raw: bytes) -> Mapping[str, Any]:
    try:
        fields = json.loads(
            raw.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_refuse_constant
        )
    except UnreadableSignal:
        raise
    except UnicodeDecodeError:
        raise UnreadableSignal("it is not UTF-8") from None
    except RecursionError:
        raise UnreadableSignal("it is nested too deeply") from None
    except ValueError:  # broken, cut off, or a number of thousands of digits
        raise UnreadableSignal("it is not JSON, or not all of it") from None
    if not isinstance(fields, dict):
        raise UnreadableSignal("it is not a JSON object")
    return fields


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise UnreadableSignal("a key is given twice in one object")
    return fields


def _refuse_constant(name: str) -> NoReturn:
    raise UnreadableSignal(f"{name} is not JSON")


def _status_line(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of Claude Code's status line under memd's names.

    The tokens are those of ``current_usage``, as the totals of older versions cover the whole
    session. It is null until the first response; then the usage is unknown.
    """
    window = fields["context_window"]
    current_usage = window.get("current_usage")
    used = None
    if isinstance(current_usage, Mapping):
        used = sum(_whole(current_usage, name) or 0 for name in IN_THE_WINDOW)
    elif current_usage is not None:
        raise UnreadableSignal("current_usage must be an object or null")
    renamed = {
        "source": _CLAUDE,
        "event": STATUS_LINE,
        "used_tokens": used,
        "window_tokens": window.get("context_window_size"),
        "used_percent": window.get("used_percentage"),
    }
    return {**renamed, **{name: value for name, value in fields.items() if value is not None}}


def _first_value(fields: Mapping[str, Any], names: tuple[str, ...]) -> tuple[str, Any]:
    """Return the first of *names* that has a value, and the value; or the first name and None."""
    for name in names:
        if fields.get(name) is not None:
            return name, fields[name]
    return names[0], None


def _whole(fields: Mapping[str, Any], *names: str, least: int = 0) -> int | None:
    name, value = _first_value(fields, names)
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _WHOLE_MAX:
        raise UnreadableSignal(f"{name} must be a whole number of at least {least}")
    return value


def _percent(fields: Mapping[str, Any]) -> float | None:
    name, value = _first_value(fields, _PERCENT)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnreadableSignal(f"{name} must be a number")
    if not (0 <= value <= _PERCENT_MAX and math.isfinite(value)):
        raise UnreadableSignal(f"{name} must be between 0 and {_PERCENT_MAX:.0f}")
    return float(value)


def _text(fields: Mapping[str, Any], *names: str, chars_max: int = NAME_CHARS_MAX) -> str | None:
    name, value = _first_value(fields, names)
    if value is None or value == "":
        return None
    if not isinstance(value, str) or len(value) > chars_max or _UNPRINTABLE.search(value):
        raise UnreadableSignal(f"{name} must be text of at most {chars_max} printable characters")
    return value


def _name(fields: Mapping[str, Any], *names: str) -> str | None:
    text = _text(fields, *names)
    return (text.strip() or None) if text else None


def _model(fields: Mapping[str, Any]) -> str | None:
    model = fields.get("model")
    return _name(model, "id", "display_name") if isinstance(model, dict) else _name(fields, "model")


def _moment(fields: Mapping[str, Any]) -> datetime | None:
    name, value = _first_value(fields, _AT)
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        raise UnreadableSignal(f"{name} must be an ISO 8601 time") from None
