"""Derive a task's type, approach, outcome and lesson from its tools and last reply (SPEC 5a). Pure.

The same tools for the same type of task are one pattern, whatever their order.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence

from memd.domain.enums import LearningOutcome
from memd.domain.learn import PlaybookEntry
from memd.text.words import ENGLISH_FUNCTION_WORDS, words_of

APPROACH_TOOLS = 5
"""How many tools an approach has at most."""
DIRECT = "direct_response"
"""The approach of a task that used no tool."""

# Whole words: "abandoned" is not done, and "terror" no error.
_SUCCESS = re.compile(
    r"(?<!\w)(?:successfully|completed|done|finished|worked)(?!\w)", re.IGNORECASE
)
_FAILURE = re.compile(
    r"(?<!\w)(?:failed|error|unable|couldn['\u2019]t|cannot)(?!\w)", re.IGNORECASE
)

# Words in the names of the assistants' tools, by kind of tool.
_KIND_WORDS = {
    "shell": {"shell", "bash", "zsh", "powershell", "exec", "execute", "terminal", "command"},
    "web": {"web", "fetch", "http", "https", "url", "browser", "browse"},
    "file": {"file", "files", "read", "write", "edit", "patch", "notebook", "glob", "grep"},
}
# The types of tasks with the kinds of tools they need; the first that fits is used.
_TYPES = (
    ("shell+web", {"shell", "web"}),
    ("shell+file", {"shell", "file"}),
    ("shell", {"shell"}),
    ("web", {"web"}),
    ("file", {"file"}),
)
CHAT = "chat"
# The words of a tool's name: "WebFetch2" has "Web", "Fetch" and "2".
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def outcome_of(final_response: str) -> LearningOutcome:
    """Return a task's outcome by whole words of its last reply; success words win.

    >>> outcome_of("The plan was abandoned.").value
    'partial'
    """
    if _SUCCESS.search(final_response):
        return LearningOutcome.SUCCESS
    if _FAILURE.search(final_response):
        return LearningOutcome.FAILURE
    return LearningOutcome.PARTIAL


def task_type_of(tools: Iterable[str]) -> str:
    """Return the type of a task by its tools, the first of SPEC 5a.1's order that fits.

    >>> task_type_of(["file_write", "shell_exec", "web_fetch"]), task_type_of(["Bash", "Read"])
    ('shell+web', 'shell+file')
    """
    words = {word.lower() for tool in tools for word in _PARTS.findall(tool)}
    used = {kind for kind, kind_words in _KIND_WORDS.items() if words & kind_words}
    return next((name for name, needed in _TYPES if needed <= used), CHAT)


def approach_of(tools: Sequence[str]) -> tuple[str, ...]:
    """Return the first tools that were used, or DIRECT."""
    return tuple(tools[:APPROACH_TOOLS]) or (DIRECT,)


def lesson_of(task_type: str, approach: Sequence[str], outcome: LearningOutcome) -> str:
    """Return one sentence: the approach and its outcome.

    >>> lesson_of("shell", ["shell_exec", "file_write"], LearningOutcome.SUCCESS)
    'shell: shell_exec then file_write worked'
    """
    return f"{task_type}: {' then '.join(approach)} {_OUTCOME_WORDS[outcome]}"


_OUTCOME_WORDS = {
    LearningOutcome.SUCCESS: "worked",
    LearningOutcome.FAILURE: "failed",
    LearningOutcome.PARTIAL: "was not finished",
}


ID_DIGITS = 16
PROMOTABLE_SUCCESSES = 3
"""The successes from which a pattern may become a skill."""
FIX_TYPE = "shell"
"""The task type of a fix that a nap saw: a command that failed and passed later."""
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

    content_words = words - ENGLISH_FUNCTION_WORDS
    matching = [
        entry
        for entry in entries
        if entry.memory_id is None or content_words & words_of(as_text(entry))
    ]
    return sorted(matching, key=sort_key)[:limit]
