"""Patterns of tools that worked: what one is called, and which one is near a question (SPEC 5a.2).

Pure. The order of the tools is no part of a pattern's id: the same tools for
the same kind of task are one pattern, seen again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from memd.domain.learn import PlaybookEntry
from memd.text.function_words import FUNCTION_WORDS, words_of

ID_DIGITS = 16
PROMOTABLE_SUCCESSES = 3
FIXED = "shell"
"""The type of what a nap saw cured: a command failed, and passed."""
_FAILED = " failed: "


def pattern_id(task_type: str, tools: Sequence[str]) -> str:
    """Return the id of a pattern: SHA-256 over the type and the sorted names, its beginning.

    >>> pattern_id("shell", ["b", "a"]) == pattern_id("shell", ["a", "b"])
    True
    """
    key = f"{task_type}:{','.join(sorted(tools))}"
    return hashlib.sha256(key.encode()).hexdigest()[:ID_DIGITS]


def when(fix: str) -> str:
    """Return what a nap saw cured as what to do when it comes again.

    >>> when("npm test failed: no port 6380. Ran docker compose up -d. It passes now.")
    'When npm test fails: no port 6380. Ran docker compose up -d. It passes now.'
    """
    command, failed, rest = fix.partition(_FAILED)
    return f"When {command} fails: {rest}" if failed else fix


def as_text(entry: PlaybookEntry) -> str:
    """Return a pattern as one fragment of a prompt: of what naps saw the description says all.

    >>> from datetime import UTC, datetime
    >>> now = datetime(2026, 1, 1, tzinfo=UTC)
    >>> as_text(PlaybookEntry(pattern_id="p", task_type="shell+file", description="rsync deploy",
    ...     tool_sequence=("shell_exec", "file_write"), created_at=now, updated_at=now))
    'rsync deploy: shell_exec then file_write'
    """
    tools = " then ".join(entry.tool_sequence)
    return f"{entry.description}: {tools}" if tools else entry.description


def nearest(
    entries: Sequence[PlaybookEntry], words: frozenset[str], limit: int
) -> list[PlaybookEntry]:
    """Return the *limit* entries that hold most of *words*, then those that worked most often.

    What a nap saw cured is of one day, and none of them where it holds no telling word.
    """

    def place(entry: PlaybookEntry) -> tuple[int, int]:
        held = words & words_of(as_text(entry))
        return -len(held), -entry.success_count

    telling = words - FUNCTION_WORDS
    matching = [
        each for each in entries if each.memory_id is None or telling & words_of(as_text(each))
    ]
    return sorted(matching, key=place)[:limit]
