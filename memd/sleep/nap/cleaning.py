"""A message as memd may hold it: without secrets, and without what no file can carry. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import isfinite
from typing import Any

from memd.guard.secrets import screen

Message = dict[str, Any]

_DEPTH_MAX = 64  # of what a message nests; deeper is nobody's format
_SHORT_CHARS = 16  # no secret is so short


def clean(message: Message) -> Message:
    """Return *message* without secrets, and without what no file can carry.

    >>> clean({"role": "user", "content": "ghp_0123456789abcdefghijABCDEFGHIJ012345"})
    {'role': 'user', 'content': '[secret:github-token#1]'}
    """
    cleaned = _cleaned(message, _DEPTH_MAX)
    assert isinstance(cleaned, dict)
    return cleaned


def _cleaned(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return _short(value) if len(value) <= _SHORT_CHARS else screen(_storable(value)).text
    if depth and isinstance(value, Mapping):
        return {_cleaned(str(k), 0): _cleaned(v, depth - 1) for k, v in value.items()}
    if depth and isinstance(value, list | tuple):
        return [_cleaned(item, depth - 1) for item in value]
    if isinstance(value, float) and not isfinite(value):
        return None  # JSON has no word for it
    return value if isinstance(value, int | float) else None


@lru_cache(maxsize=1_024)
def _short(text: str) -> str:
    """Return what :func:`_cleaned` makes of a short text; a list repeats keys, roles and types."""
    return screen(_storable(text)).text


def _storable(text: str) -> str:
    """Replace what neither SQLite nor UTF-8 can carry: NUL and lone surrogates."""
    if "\x00" in text:
        text = text.replace("\x00", "\ufffd")
    try:
        if not text.isascii():
            text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text
