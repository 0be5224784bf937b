"""What memd put into a conversation, found there again and taken out. Pure.

A fence stands on lines of its own, plain or escaped; one that is cut off reaches to the
end, since a reader may have shortened it. Gemini CLI writes all that a hook adds between
two tags, into its user's own message.
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
# No line end in it: each line of a long run of empty ones would read all that follow.
_LABEL = re.compile(
    r"^[ \t]*(?:\[[^\]\n]{1,80}\][ \t]*)+(?:\(relevance: [^)\n]{0,80}\)[ \t]*)?", re.MULTILINE
)


def spoken(text: str) -> str:
    """Return *text* without what memd put there."""
    if "<hook_context>" in text:
        text = _ADDED.sub("", text)
    return _FENCE.sub("", text) if MEMORY_TAG in text else text


def fenced_texts(text: str) -> list[str]:
    r"""Return what stands in memd's fences in *text*, each without its label.

    >>> fenced_texts("<memory-entry>\n[semantic | score: 0.90] Push on Fridays.\n</memory-entry>")
    ['Push on Fridays.']
    """
    if MEMORY_TAG not in text:
        return []
    return [entry for match in _FENCE.finditer(text) if (entry := unlabelled(match[2]))]


def unlabelled(text: str) -> str:
    """Return *text* without the labels that memd's lines begin with."""
    return _LABEL.sub("", text).strip()
