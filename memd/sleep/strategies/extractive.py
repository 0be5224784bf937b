r"""Dense texts shortened without a word changed: facts, and three pieces of the text (SPEC 16.8).

A summary of code or configuration loses what it was kept for. So its names,
addresses and values are copied as they stand, and the text's start, middle and
end show where they come from.

Three things differ from the documents, in what counts as a fact: an address
such as 192.168.1.100 holds no version, a key without a value does not take the
next line for one, and a line of prose, a time or an address is no pair of key
and value. And one fact has at most 500 characters, so that no line without an
end makes the summary as long as the text. Every pattern is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memd.base.limits import FACT_CHARS_MAX

HEADER = "[Extractive preservation]"

_URL = re.compile(r"\bhttps?://[^\s<>\"'`]++")
_UUID = re.compile(
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE
)
_HEX = re.compile(r"\b[0-9a-f]{32,}+\b", re.IGNORECASE)

# A "v" and three or four parts, or three parts that are not the start of four: an
# address has four. What stands before must not be part of a longer number.
_VERSION = re.compile(
    r"(?<![\w.])(?:v\d++\.\d++\.\d++(?:\.\d++)?+|\d++\.\d++\.\d++(?!\.\d))", re.IGNORECASE
)

# A key begins with a letter, so no time of day is one; its value is on the same line, and
# "//" after the colon is an address.
_PAIR = re.compile(
    r"^[ \t]*+(?P<key>[A-Za-z_][\w.-]*+)[ \t]*+(?P<sign>[:=])(?!//)[ \t]*+(?P<value>\S[^\n]*+)$",
    re.MULTILINE,
)

# "Note: it rained" is prose whatever follows; so is a value that reads like a sentence.
_LABELS = frozenset((
    "answer", "caution", "edit", "example", "fyi", "hint", "idea", "important", "nb", "note", "ps",
    "question", "re", "remark", "reminder", "so", "summary", "tip", "todo", "update", "warning",
))  # fmt: skip
_SENTENCE_WORDS_MIN = 4
_VALUE_WORDS_MAX = 12


class ExtractivePreserver:
    """Keeps facts and anchors of dense texts.

    At most *max_facts* facts, and anchors of *anchor_length* characters. Raises
    ValueError when either is less than 1.
    """

    def __init__(self, max_facts: int = 20, anchor_length: int = 150) -> None:
        for name, number in (("max_facts", max_facts), ("anchor_length", anchor_length)):
            if number < 1:
                raise ValueError(f"{name} must be at least 1")
        self._max_facts = max_facts
        self._anchor_length = anchor_length

    def extract(self, content: str) -> str:
        """Return a block of *content*: its header, its facts if any, its anchors."""
        sentences = facts(content)[: self._max_facts]
        lines = [HEADER]
        if sentences:
            lines += ["Key facts:", *(f"- {fact}" for fact in sentences)]
        start, middle, end = anchors(content, self._anchor_length)
        lines.append(f"[START] {start}")
        if middle:
            lines.append(f"[MID] {middle}")
        if end:
            lines.append(f"[END] {end}")
        return "\n".join(lines)


def facts(content: str) -> tuple[str, ...]:
    """Return the facts of *content*, each once: addresses, identifiers, versions, pairs.

    >>> facts("port: 5432")
    ('port: 5432',)
    """
    return tuple(dict.fromkeys(map(_cut, _sentences(content))))


def anchors(content: str, length: int) -> tuple[str, str, str]:
    """Return the start, the middle and the end of *content*; a short text is its own start.

    Where one was cut there are three points. Those of a text that is less than
    three times *length* overlap.

    >>> anchors("abcdefghij", 4)
    ('abcd...', '...defg...', '...ghij')
    """
    if len(content) <= length:
        return content, "", ""
    first = (len(content) - length) // 2
    last = first + length
    middle = "..." * (first > 0) + content[first:last] + "..." * (last < len(content))
    return f"{content[:length]}...", middle, f"...{content[-length:]}"


def _sentences(content: str) -> Iterator[str]:
    for pattern in (_URL, _UUID, _HEX, _VERSION):
        yield from pattern.findall(content)
    for pair in _PAIR.finditer(content):
        if pair["sign"] == "=" or not _is_prose(pair["key"], pair["value"]):
            yield pair[0].strip()


def _is_prose(key: str, value: str) -> bool:
    """Return whether ``key: value`` is rather something that somebody wrote."""
    if key.lower() in _LABELS:
        return True
    words = len(value.split(maxsplit=_VALUE_WORDS_MAX + 1))
    if words < _SENTENCE_WORDS_MIN:
        return False
    return key.istitle() or value.rstrip().endswith((".", "!", "?")) or words > _VALUE_WORDS_MAX


def _cut(fact: str) -> str:
    return fact if len(fact) <= FACT_CHARS_MAX else f"{fact[:FACT_CHARS_MAX]}..."
