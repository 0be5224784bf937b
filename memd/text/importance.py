"""Step four of ingest: how much a text matters when it arrives (SPEC 1.6, D4).

importance = 0.6 novelty + 0.4 salience. Novelty is the distance from what is
known already, salience counts four plain signals in the words, names and numbers
among them (``entities``). A stream's text below the threshold is archived, never
thrown away.
"""

from __future__ import annotations

import math
import re

from memd.domain.encoding import TokenCounter
from memd.text.entities import has_name, has_number
from memd.text.preference import SIGNAL

IMPORTANCE_MIN = 0.3
_TOLERANCE = 1e-9  # 0.6 * 0.5 must pass, whatever the last bit says

_NOVELTY_WEIGHT = 0.6
_SALIENCE_WEIGHT = 0.4

_ENTITY_WEIGHT = 0.3
_NUMBER_WEIGHT = 0.2
_PREFERENCE_WEIGHT = 0.4
_TECHNICAL_WEIGHT = 0.1

_CODE_SHAPE = re.compile(
    r"""
      `[^`\n]+`                                       # quoted as code
    | \b[a-z]\w*_\w+                                  # snake_case
    | \b[A-Z]{2,}_[A-Z0-9_]*[A-Z0-9]                  # CONSTANT_CASE
    | \b[A-Za-z]*[a-z][A-Z]\w*                        # camelCase, PostgreSQL
    | \b[A-Za-z]{1,8}\d+(?:\.\d+)*\b                  # v2, sha256, utf8, python3.11
    | \b[A-Za-z_]\w+(?:\.[A-Za-z_]\w+)+(?:\(\))?      # dotted.path, file.py
    | (?<![\w/.~-])[\w.~-]*/[\w.-]+/                    # a path of two slashes
    | (?<!\S)--?[a-z][\w-]+                           # --flag
    | \b\w+\(\)                                       # call()
    | [{};]\s*$ | => | -> | :: | [!=]=                # what only code is written with
    """,
    re.VERBOSE | re.MULTILINE,
)
_WORD = re.compile(r"[A-Za-z]+")
_RARE_PIECES_PER_WORD = 1.5  # 0.2 % of chat, most sentences about software
_RARE_WORDS_MIN = 2


def novelty(similarity: float | None) -> float:
    """Return how new a text is, from its cosine *similarity* to the centroid of what is known.

    None means that nothing is known yet, or that no vector is there to compare:
    then everything is new (SPEC 1.6.2). Not a number is a ValueError.
    """
    return 1.0 if similarity is None else _share(1.0 - similarity)


def salience(text: str, counter: TokenCounter | None = None) -> float:
    """Return the sum of the signals in *text*, at most 1; 0 for a blank text (SPEC 1.6.5).

    >>> salience("i prefer tea"), salience("The meeting went well.")
    (0.4, 0.3)
    """
    total = 0.0
    if has_name(text):
        total += _ENTITY_WEIGHT
    if has_number(text):
        total += _NUMBER_WEIGHT
    if SIGNAL.search(text):
        total += _PREFERENCE_WEIGHT
    if technical(text, counter):
        total += _TECHNICAL_WEIGHT
    return min(1.0, round(total, 9))


def technical(text: str, counter: TokenCounter | None = None) -> bool:
    """Return whether *text* has a term of some trade: a code shape, or rare words.

    Rare is what the vocabulary has no whole words for: on average a word of the
    text is 1.5 pieces or more (SPEC D4). Without a counter only shapes tell.
    """
    if _CODE_SHAPE.search(text):
        return True
    if counter is None:
        return False
    words = _WORD.findall(text)
    if len(words) < _RARE_WORDS_MIN:
        return False
    return counter.count(" ".join(words)) >= _RARE_PIECES_PER_WORD * len(words)


def importance(novelty: float, salience: float) -> float:
    """Return the importance of a text, from 0 to 1 (SPEC 1.6.1)."""
    return _share(_NOVELTY_WEIGHT * novelty + _SALIENCE_WEIGHT * salience)


def is_kept(importance: float) -> bool:
    """Return whether a text of this importance is kept; exactly the threshold is (SPEC 1.6.8)."""
    return importance >= IMPORTANCE_MIN - _TOLERANCE


def _share(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError("a similarity or a score must be a finite number")
    return min(1.0, max(0.0, value))
