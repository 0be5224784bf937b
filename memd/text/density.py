"""Classify texts by density: code and configuration are dense, conversation sparse (SPEC 16.7).

Sparse texts may be summarised, dense ones may not. The score weighs five signals as documented:
code, structure, identifiers, numbers and the shape of the lines. Three rules differ from the
specification (SPEC D10). Its classifier worked only because a case-insensitive pattern took every
word of five letters for an identifier.

- A name in camelCase must have its capitals.
- Signals that also occur in prose count little: a bullet, a bracket after a space, a semicolon
  within a line, ``Alice: long sentence``.
- The sum is mapped so that any one strong signal reaches 0.5, and nothing reaches 1. So threshold
  0 makes every text dense and threshold 1 none.

Each pattern reads a character a bounded number of times, whatever the text. It either has a bounded
width, or it begins at the start of a word or line and is possessive.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from memd.domain.memory import MemoryEntry
from memd.domain.sleep.consolidation import ContentDensity

DENSE_THRESHOLD = 0.5

_CODE_WEIGHT = 0.30
_STRUCTURE_WEIGHT = 0.25
_IDENTIFIER_WEIGHT = 0.20
_NUMBER_WEIGHT = 0.10
_LINES_WEIGHT = 0.15

_HALF = 0.19
"""The weighted sum that scores 0.5.

It is less than each of the weights of code, structure and identifiers: any one of them makes a
text dense. It is more than what numbers and short lines usually reach in a note.
"""
_LONG_LINE_CHARS = 80
"""Lines of this mean length do not count as short."""
_MANY_LINES = 10
"""Number of lines from which their shape counts fully."""
_BULLET_SHARE = 0.1
"""Weight of a bullet, as a share of a line of structure: shopping lists have bullets, too."""

_CODE = re.compile(
    r"""
      [{}\[\]]                                            # prose has few of these
    | \w\( | \)[;:{] | \)[ ]\{                            # a call, and its end
    | ;$ | => | -> | [!=<>]=(?![=\w]) | == | := | && | \|\| | ::
    | ^[ \t]*+(?:def|class|func|fn|function|interface|struct|enum|module|package|impl)
      [ ]\w++[ ]?[(<{:;]
    | ^[ \t]*+(?:import|using|include|require|use)[ ][\w.:/{'"<]++;?$
    | ^[ \t]*+from[ ][\w.]++[ ]import\b
    | ^[ \t]++return\b | ^return\b(?=[^\n]{0,200};$)
    | ^[ \t]*+(?:async[ ])?(?:if|elif|else|for|while|try|except|with|case|switch)\b
      (?=[^\n]{0,300}[:{]$)
    | ^[ \t]*+(?:(?:const|let|var|export|public|private|static)[ ])+[\w.]++
    | ^[ \t]*+@\w++
    | ^\#!|^\#include
    | \b(?:SELECT|INSERT[ ]INTO|UPDATE|DELETE[ ]FROM|CREATE[ ](?:TABLE|INDEX)|ALTER[ ]TABLE)[ ]\S
    | \b(?:NOT[ ]NULL|PRIMARY[ ]KEY|REFERENCES[ ]\w)
    | (?<!\S)--?[a-z][\w-]*+                              # --flag
    """,
    re.VERBOSE | re.MULTILINE,
)

_STRUCTURE = re.compile(
    r"""
      "[^"\n]{1,80}"[ \t]?:                               # a quoted key
    | ^[ \t]*+(?:-[ ])?(?:[a-z_][\w.-]*+|[A-Z][A-Z0-9_]++)[ \t]?(?::=|[:=])[ \t]*+
      (?!//)\S{1,200}(?:[ ]\S{1,40}){0,2}$                # key: a value of three words at most
    | ^[ \t]*+(?:-[ ])?[A-Z][\w.-]*+(?:=|[ \t]?:[ \t]*+(?=\S{0,40}[\d/@_]))
      (?!//)\S{1,200}$                                    # Key: v1, Host: db/1; not "Ann: yes"
    | ^[ \t]*+[a-z_][\w.-]*+:$                            # a key above the lines of its value
    | ^\[{1,2}[\w.:"-]{1,80}\]{1,2}$                      # a section
    | (?<![\w.&?-])[A-Za-z_][\w.-]*+=(?=[^\s=])             # key=value within a line
    | </?[A-Za-z][^<>\n]{0,200}>                          # a tag
    | ^[ \t]*+\|[^\n]++                                   # a row of a table
    | (?<!\S)[^\s,]++(?:,[^\s,]++){2,}+(?!\S)             # a row of values
    | ^\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d                    # a line of a log
    """,
    re.VERBOSE | re.MULTILINE,
)
_BULLET = re.compile(r"^[ \t]*+[-*•] ", re.MULTILINE)

_IDENTIFIER = re.compile(
    r"""
      \bhttps?://\S
    | \b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b
    | \b[0-9a-fA-F]{32,}+\b
    | \b[A-Za-z0-9]++(?:_[A-Za-z0-9]++){2,}+              # three_part_name
    | \b[a-z]++(?:[A-Z][a-z0-9]++){2,}+                   # camelCaseName
    | \b(?:[A-Z][a-z0-9]++){3,}+\b                        # CamelCaseName
    | (?<![^\s"'(=:])[~.]{0,2}+(?:/[\w.@+-]++){2,}+       # a path
    """,
    re.VERBOSE,
)

_NUMBER = re.compile(r"\b(?:v?\d++\.\d++\.\d++(?:\.\d++)?|\d{4}-\d\d-\d\d|\d{5,}+)\b")


class DensityClassifier:
    """Classifies texts as dense or sparse, by rule.

    A text is dense if its score is at least *dense_threshold*: 0 makes every text dense, 1 none.
    Raises ValueError for a threshold outside of 0 to 1.
    """

    def __init__(self, dense_threshold: float = DENSE_THRESHOLD) -> None:
        if not 0.0 <= dense_threshold <= 1.0:
            raise ValueError("dense_threshold must be from 0 to 1")
        self._threshold = dense_threshold

    def score(self, content: str) -> float:
        """Return the density of *content*, at least 0 and less than 1."""
        return score(content)

    def classify(self, content: str) -> ContentDensity:
        """Return DENSE where the score is at least the threshold."""
        dense = score(content) >= self._threshold
        return ContentDensity.DENSE if dense else ContentDensity.SPARSE

    def classify_batch(
        self, entries: Iterable[MemoryEntry]
    ) -> tuple[tuple[MemoryEntry, ContentDensity], ...]:
        """Return each of *entries* with its density, in the order given."""
        return tuple((entry, self.classify(entry.content)) for entry in entries)


def classify_batch(
    entries: Iterable[MemoryEntry], *, dense_threshold: float = DENSE_THRESHOLD
) -> tuple[tuple[MemoryEntry, ContentDensity], ...]:
    """Return each of *entries* with its density, in the order given (SPEC 16.7)."""
    return DensityClassifier(dense_threshold).classify_batch(entries)


def score(content: str) -> float:
    """Return how dense *content* is, at least 0 and less than 1; "" is 0.

    >>> score("Hello, how are you today?")
    0.0
    >>> score('{"host": "db1", "port": 5432}') > 0.5
    True
    """
    words = len(content.split())
    if not words:
        return 0.0
    lines = [line for line in content.split("\n") if line.strip()]
    structure = _count(_STRUCTURE, content) + _BULLET_SHARE * _count(_BULLET, content)
    total = (
        _CODE_WEIGHT * min(1.0, 5 * _count(_CODE, content) / words)
        + _STRUCTURE_WEIGHT * min(1.0, 2 * structure / len(lines), 3 * structure / words)
        + _IDENTIFIER_WEIGHT * min(1.0, 4 * _count(_IDENTIFIER, content) / words)
        + _NUMBER_WEIGHT * min(1.0, 10 * _count(_NUMBER, content) / words)
        + _LINES_WEIGHT * _shortness(lines)
    )
    return total / (total + _HALF)


def _shortness(lines: list[str]) -> float:
    """Return how much the lines are short and many, from 0 to 1; 0 for a single line."""
    if len(lines) < 2:  # noqa: PLR2004  # a single line has no shape
        return 0.0
    mean = sum(map(len, lines)) / len(lines)
    return max(0.0, 1.0 - mean / _LONG_LINE_CHARS) * min(1.0, len(lines) / _MANY_LINES)


def _count(pattern: re.Pattern[str], text: str) -> int:
    return sum(1 for _ in pattern.finditer(text))
