"""Detection and removal of memd's own text in a conversation. Pure.

A fence is on lines of its own, plain or escaped; an unclosed one reaches to the end, since
the text may have been shortened. Gemini CLI writes the output of hooks between two tags into
its user's message.
"""

from __future__ import annotations

import re

from memd.view.view import ENTRY_TAG, MEMORY_TAG

_OPENS, _CLOSES = r"(?:<|&lt;)", r"(?:>|&gt;)"
_FENCE = re.compile(
    rf"^[ \t]*{_OPENS}({ENTRY_TAG}|{MEMORY_TAG}){_CLOSES}[ \t]*$"
    rf"(.*?)(?:^[ \t]*{_OPENS}/\1{_CLOSES}[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_ADDED = re.compile(r"<hook_context>(.*?)(?:</hook_context>|\Z)", re.DOTALL)
# Without line ends: on a long run of empty lines each would scan all that follow.
_LABEL = re.compile(
    r"^[ \t]*(?:\[[^\]\n]{1,80}\][ \t]*)+(?:\(relevance: [^)\n]{0,80}\)[ \t]*)?", re.MULTILINE
)


def strip_injected(text: str) -> str:
    """Return *text* without what memd injected."""
    if "<hook_context>" in text:
        text = _ADDED.sub("", text)
    return _FENCE.sub("", text) if MEMORY_TAG in text else text


def find_fenced(text: str) -> list[str]:
    r"""Return the contents of memd's fences in *text*, without labels.

    >>> find_fenced("<memory-entry>\n[semantic | score: 0.90] Push on Fridays.\n</memory-entry>")
    ['Push on Fridays.']
    """
    if MEMORY_TAG not in text:
        return []
    return [entry for match in _FENCE.finditer(text) if (entry := strip_labels(match[2]))]


def strip_labels(text: str) -> str:
    """Return *text* without the labels of memd's lines."""
    return _LABEL.sub("", text).strip()
