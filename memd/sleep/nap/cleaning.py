"""Messages without secrets and without characters or values that cannot be stored. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import isfinite
from typing import Any

from memd.guard.secrets import screen

Message = dict[str, Any]

_DEPTH_MAX = 64  # nesting of a message; no program's format is deeper
_SHORT_CHARS = 16  # no secret is so short


def clean(message: Message) -> Message:
    """Return *message* with secrets replaced and values that JSON or SQLite cannot hold removed.

    >>> clean({"role": "user", "content": "ghp_0123456789abcdefghijABCDEFGHIJ012345"})
    {'role': 'user', 'content': '[secret:github-token#1]'}
    """
    cleaned = _clean_value(message, _DEPTH_MAX)
    assert isinstance(cleaned, dict)
    return cleaned


def _clean_value(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return (
            _clean_short(value)
            if len(value) <= _SHORT_CHARS
            else screen(_replace_unstorable(value)).text
        )
    if depth and isinstance(value, Mapping):
        return {_clean_value(str(k), 0): _clean_value(v, depth - 1) for k, v in value.items()}
    if depth and isinstance(value, list | tuple):
        return [_clean_value(item, depth - 1) for item in value]
    if isinstance(value, float) and not isfinite(value):
        return None  # JSON has neither infinity nor NaN
    return value if isinstance(value, int | float) else None


@lru_cache(maxsize=1_024)
def _clean_short(text: str) -> str:
    """Clean a short text, cached: keys, roles and types repeat in every message."""
    return screen(_replace_unstorable(text)).text


def _replace_unstorable(text: str) -> str:
    """Replace what neither SQLite nor UTF-8 can hold: NUL and lone surrogates."""
    if "\x00" in text:
        text = text.replace("\x00", "\ufffd")
    try:
        if not text.isascii():
            text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text
