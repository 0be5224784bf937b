"""Derive a task's type, approach, outcome and lesson from its tools and last reply (SPEC 5a.1).

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from memd.domain.enums import LearningOutcome

APPROACH_TOOLS = 5
DIRECT = "direct_response"
"""The approach of a task that used no tool."""

# Whole words: "abandoned" is not done, and "terror" no error.
_SUCCESS = re.compile(
    r"(?<!\w)(?:successfully|completed|done|finished|worked)(?!\w)", re.IGNORECASE
)
_FAILURE = re.compile(
    r"(?<!\w)(?:failed|error|unable|couldn['\u2019]t|cannot)(?!\w)", re.IGNORECASE
)

# Words in the names of tools, of the assistants that memd knows.
_WORDS = {
    "shell": {"shell", "bash", "zsh", "powershell", "exec", "execute", "terminal", "command"},
    "web": {"web", "fetch", "http", "https", "url", "browser", "browse"},
    "file": {"file", "files", "read", "write", "edit", "patch", "notebook", "glob", "grep"},
}
_TYPES = (
    ("shell+web", {"shell", "web"}),
    ("shell+file", {"shell", "file"}),
    ("shell", {"shell"}),
    ("web", {"web"}),
    ("file", {"file"}),
)
CHAT = "chat"
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
    used = {kind for kind, kind_words in _WORDS.items() if words & kind_words}
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
