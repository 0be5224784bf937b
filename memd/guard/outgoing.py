"""What leaves memd is screened once more (PROMISES 5): old rows may hold what today's rules find.

A store that was told to ``keep`` secrets holds them, and so may one that older
rules have filled; neither gives them out. Texts are seen again and again, so the
last ones are remembered, of long ones that they were screened (secrets.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, TypeVar

from memd.base.errors import SecretRefusedError
from memd.domain.memory import MemoryEntry, distinct
from memd.domain.trust import Screened, SecretsPolicy
from memd.guard.secrets import screen

T = TypeVar("T")

_HARMLESS = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d)"
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)
"""Times and ids, of which no two are the same: no rule finds a secret in one, at 70 us each."""

SECRET_CHARS_MIN = 8  # "://u:p@h" is the shortest
REMEMBERED_CHARS_MAX = 2_000

TEXTS = frozenset(
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
"""Params that a room screens itself, because its receipt says so or because it may keep them."""

AS_THEY_ARE = frozenset(
    ("client_key", "signature", "public_key", "anchors", "cwd", "transcript_path", "target")
)
"""Params that must arrive letter by letter: what proves who calls, and places of the disk."""


def outgoing(text: str) -> Screened:
    """Return *text* as it may leave: with placeholders where a secret stands.

    >>> outgoing("ghp_0123456789abcdefghijABCDEFGHIJ012345")
    '[secret:github-token#1]'
    """
    if len(text) < SECRET_CHARS_MIN:
        return Screened(text)
    return _remembered(text) if len(text) <= REMEMBERED_CHARS_MAX else screen(text).text


@lru_cache(maxsize=4096)
def _remembered(text: str) -> Screened:
    return Screened(text) if _HARMLESS.fullmatch(text) else screen(text).text


def look_at(texts: Iterable[str]) -> None:
    """Screen the long ones of *texts*, where nobody waits: they are known from then on."""
    for text in texts:
        if len(text) > REMEMBERED_CHARS_MAX:
            screen(text)


def outgoing_entry(entry: MemoryEntry) -> MemoryEntry:
    """Return *entry* as it may leave; the very same where there is nothing to replace."""
    metadata = entry.metadata
    left: dict[str, Any] = {"content": outgoing(entry.content)}
    if entry.speaker is not None:
        left["speaker"] = outgoing(entry.speaker)
    if metadata.source is not None or metadata.tags:
        source = None if metadata.source is None else outgoing(metadata.source)
        fields = {"source": source, "tags": distinct(tuple(map(outgoing, metadata.tags)))}
        left["metadata"] = metadata.model_copy(update=fields)
    changed = {name: value for name, value in left.items() if value != getattr(entry, name)}
    return entry.model_copy(update=changed) if changed else entry


def outgoing_all(answer: T) -> T:
    """Return *answer*, made of what JSON has, with every text and every key as it may leave."""
    return _walked(answer)  # type: ignore[no-any-return]  # what comes back has the same shape


def _walked(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) < SECRET_CHARS_MIN else outgoing(value)
    if isinstance(value, dict):
        return {
            outgoing(key) if len(key) >= SECRET_CHARS_MIN else key: each
            if each.__class__ in _NO_TEXTS
            else _walked(each)
            for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [_walked(each) for each in value]
    return value


_NO_TEXTS = frozenset((int, float, bool, type(None)))


def incoming(params: dict[str, Any]) -> dict[str, Any]:
    """Return *params* with the names in them screened: ids, tags, sources, sessions, queries.

    The same name is the same placeholder in a write and in a question, so what was
    stored under it is found again. What a room screens by itself stays as it is.
    """
    return {key: each if key in TEXTS else _named(key, each) for key, each in params.items()}


def _named(key: str, value: Any) -> Any:
    if key in AS_THEY_ARE:
        return value
    if isinstance(value, str):
        # A name that was cut could be another's; validation tells what is too long.
        return value if len(value) < SECRET_CHARS_MIN else outgoing(value)
    if isinstance(value, dict):
        return incoming(value)
    if isinstance(value, list | tuple):
        return [_named(key, each) for each in value]
    return value


def check_refused(params: dict[str, Any], policy: SecretsPolicy) -> None:
    """Raise SecretRefusedError, naming the field, for a secret anywhere in *params*.

    Only where the policy is to refuse.
    """
    if policy == "refuse":
        _check("", params)


def _check(place: str, value: Any) -> None:
    if isinstance(value, str):
        kinds = screen(value).kinds
        if kinds:
            raise SecretRefusedError(
                f"the text holds a secret ({', '.join(kinds)})",
                field=place or None,
                hint="take it out, or set daemon.secrets to redact",
            )
    elif isinstance(value, dict):
        for key, each in value.items():
            if key not in AS_THEY_ARE:
                _check(f"{place}.{outgoing(key)}" if place else outgoing(key), each)
    elif isinstance(value, list | tuple):
        for number, each in enumerate(value):
            _check(f"{place}.{number}", each)
