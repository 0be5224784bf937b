"""Patterns of tools that worked: what one is called, and which one is near a question (SPEC 5a.2).

Pure. The order of the tools is no part of a pattern's id: the same tools for
the same kind of task are one pattern, seen again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from memd.encode.plain_words import words_of
from memd.model.learn import PlaybookEntry

ID_DIGITS = 16
PROMOTABLE_SUCCESSES = 3


def pattern_id(task_type: str, tools: Sequence[str]) -> str:
    """Return the id of a pattern: SHA-256 over the type and the sorted names, its beginning.

    >>> pattern_id("shell", ["b", "a"]) == pattern_id("shell", ["a", "b"])
    True
    """
    said = f"{task_type}:{','.join(sorted(tools))}"
    return hashlib.sha256(said.encode()).hexdigest()[:ID_DIGITS]


def as_text(entry: PlaybookEntry) -> str:
    """Return a pattern as one fragment of a prompt.

    >>> from datetime import UTC, datetime
    >>> now = datetime(2026, 1, 1, tzinfo=UTC)
    >>> as_text(PlaybookEntry(pattern_id="p", task_type="shell+file", description="rsync deploy",
    ...     tool_sequence=("shell_exec", "file_write"), created_at=now, updated_at=now))
    'rsync deploy: shell_exec then file_write'
    """
    return f"{entry.description}: {' then '.join(entry.tool_sequence)}"


def nearest(
    entries: Sequence[PlaybookEntry], words: frozenset[str], limit: int
) -> list[PlaybookEntry]:
    """Return the *limit* entries that hold most of *words*, then those that worked most often."""

    def place(entry: PlaybookEntry) -> tuple[int, int]:
        held = words & words_of(as_text(entry))
        return -len(held), -entry.success_count

    return sorted(entries, key=place)[:limit]
