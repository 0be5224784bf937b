"""Ids and texts of patterns of tools that worked, and their order for a question (SPEC 5a.2).

Pure. A pattern's id does not depend on the order of its tools: the same tools for the same type
of task are one pattern.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from memd.domain.learn import PlaybookEntry
from memd.text.function_words import FUNCTION_WORDS, words_of

ID_DIGITS = 16
PROMOTABLE_SUCCESSES = 3
FIX_TYPE = "shell"
"""The task type of a fix that a nap saw: a command failed, and passed."""
_FAILED = " failed: "


def pattern_id(task_type: str, tools: Sequence[str]) -> str:
    """Return the id of a pattern: the first digits of a SHA-256 over type and sorted tools.

    >>> pattern_id("shell", ["b", "a"]) == pattern_id("shell", ["a", "b"])
    True
    """
    key = f"{task_type}:{','.join(sorted(tools))}"
    return hashlib.sha256(key.encode()).hexdigest()[:ID_DIGITS]


def as_instruction(fix: str) -> str:
    """Return the text of a fix as an instruction for the next time.

    >>> as_instruction("npm test failed: no port 6380. Ran docker compose up -d. It passes now.")
    'When npm test fails: no port 6380. Ran docker compose up -d. It passes now.'
    """
    command, failed, outcome = fix.partition(_FAILED)
    return f"When {command} fails: {outcome}" if failed else fix


def as_text(entry: PlaybookEntry) -> str:
    """Return a pattern as one fragment of a prompt; a fix has its description only.

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
    """Return the *limit* entries with most of *words*, then the most successful.

    A fix, which worked only once, must share a content word.
    """

    def sort_key(entry: PlaybookEntry) -> tuple[int, int]:
        shared = words & words_of(as_text(entry))
        return -len(shared), -entry.success_count

    content_words = words - FUNCTION_WORDS
    matching = [
        entry
        for entry in entries
        if entry.memory_id is None or content_words & words_of(as_text(entry))
    ]
    return sorted(matching, key=sort_key)[:limit]
