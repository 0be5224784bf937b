"""Find the code blocks in the Markdown of a note, whose lines are no headings or lists. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
"""The first or last line of a code block, such as three backquotes and a language."""


def code_lines(lines: Sequence[str]) -> frozenset[int]:
    """Return the numbers of the lines of code blocks. An unclosed fence is ordinary text."""
    code: set[int] = set()
    open_fence: tuple[int, str] | None = None
    for number, line in enumerate(lines):
        fence = _FENCE.fullmatch(line)
        if fence is None:
            continue
        marks, language = fence[1], fence[2].strip()
        if open_fence is None:
            if not (marks[0] == "`" and "`" in language):  # that would be inline code
                open_fence = number, marks
        elif marks[0] == open_fence[1][0] and len(marks) >= len(open_fence[1]) and not language:
            code.update(range(open_fence[0], number + 1))
            open_fence = None
    return frozenset(code)
