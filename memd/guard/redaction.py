"""Redact secrets in texts that leave memd, and in the params of requests (PROMISES 5).

No answer contains a secret. The store may hold one, under the policy ``keep`` or because older
rules missed it. The same texts leave repeatedly, so the results for short texts are cached; of
long texts without secrets a digest is remembered (secrets.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from memd.domain.memory import MemoryEntry, distinct
from memd.domain.trust import Screened, SecretsPolicy
from memd.guard.secrets import refuse_kinds, screen

_HARMLESS = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d)"
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)
"""Times and ids, which contain no secret; each is different, so caching them is useless."""

SECRET_CHARS_MIN = 8
"""The characters of the shortest text with a secret, "://u:p@h"."""
CACHED_CHARS_MAX = 2_000
"""The longest text whose result is cached."""

SCREENED_BY_ROOMS = frozenset(
    (
        "text",
        "content",
        "value",
        "caption",
        "messages",
        "arguments",
        "file_text",
        "old_str",
        "new_str",
        "insert_text",
        "lesson",
        "final_response",
        "description",
        "prompt_template",
        "system_prompt",
    )
)
"""Params that a room screens itself, as its receipt reports secrets or its policy keeps them."""

VERBATIM = frozenset(
    ("client_key", "signature", "public_key", "anchors", "cwd", "transcript_path", "target")
)
"""Params that must arrive unchanged: proofs of identity, and paths."""


def redact(text: str) -> Screened:
    """Return *text* with placeholders in place of secrets.

    >>> redact("ghp_0123456789abcdefghijABCDEFGHIJ012345")
    '[secret:github-token#1]'
    """
    if len(text) < SECRET_CHARS_MIN:
        return Screened(text)
    return _redact_short(text) if len(text) <= CACHED_CHARS_MAX else screen(text).text


@lru_cache(maxsize=4096)
def _redact_short(text: str) -> Screened:
    return Screened(text) if _HARMLESS.fullmatch(text) else screen(text).text


def screen_ahead(texts: Iterable[str]) -> None:
    """Screen the long ones of *texts* in advance, so that :func:`redact` finds them screened."""
    for text in texts:
        if len(text) > CACHED_CHARS_MAX:
            screen(text)


def redact_entry(entry: MemoryEntry) -> MemoryEntry:
    """Return *entry* redacted; the same object if there is nothing to replace."""
    metadata = entry.metadata
    redacted: dict[str, Any] = {"content": redact(entry.content)}
    if entry.speaker is not None:
        redacted["speaker"] = redact(entry.speaker)
    if metadata.source is not None or metadata.tags:
        source = None if metadata.source is None else redact(metadata.source)
        fields = {"source": source, "tags": distinct(tuple(map(redact, metadata.tags)))}
        redacted["metadata"] = metadata.model_copy(update=fields)
    changed = {name: value for name, value in redacted.items() if value != getattr(entry, name)}
    return entry.model_copy(update=changed) if changed else entry


def redact_all(value: Any) -> Any:
    """Return a JSON value with all texts and keys redacted."""
    if isinstance(value, str):
        return value if len(value) < SECRET_CHARS_MIN else redact(value)
    if isinstance(value, dict):
        return {
            redact(key) if len(key) >= SECRET_CHARS_MIN else key: item
            if item.__class__ in _NO_TEXTS
            else redact_all(item)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [redact_all(item) for item in value]
    return value


_NO_TEXTS = frozenset((int, float, bool, type(None)))


def redact_params(params: dict[str, Any]) -> dict[str, Any]:
    """Return *params* with ids, tags, sources, sessions and queries redacted.

    The same text gets the same placeholder in a write and in a read, so a memory stored under a
    redacted name is found by it. Params in SCREENED_BY_ROOMS stay as they are.
    """
    return {
        key: item if key in SCREENED_BY_ROOMS else _redact_param(key, item)
        for key, item in params.items()
    }


def _redact_param(key: str, value: Any) -> Any:
    if key in VERBATIM:
        return value
    if isinstance(value, str):
        # Not shortened to a name's length, as a shortened name may exist; validation refuses it.
        return value if len(value) < SECRET_CHARS_MIN else redact(value)
    if isinstance(value, dict):
        return redact_params(value)
    if isinstance(value, list | tuple):
        return [_redact_param(key, item) for item in value]
    return value


def refuse_secrets(params: dict[str, Any], policy: SecretsPolicy) -> None:
    """Raise SecretRefusedError, naming the field, for a secret in *params* if *policy* refuses."""
    if policy == "refuse":
        _check("", params)


def _check(place: str, value: Any) -> None:
    """Raise SecretRefusedError for a secret in *value*; *place* is its path: "items.0.text"."""
    if isinstance(value, str):
        refuse_kinds(screen(value).kinds, "refuse", place or None)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in VERBATIM:
                _check(f"{place}.{redact(key)}" if place else redact(key), item)
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            _check(f"{place}.{number}", item)
