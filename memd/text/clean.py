"""Step one of ingest: normalise a text for comparing, chunking and storing (SPEC 1.2).

Four repairs and nothing else: equal-looking characters become equal
(NFC), line ends become newlines, the ends are stripped, and three or more
newlines become two. White space within a line, markup and code stay
unchanged. The work is linear in the text, also for a hostile one.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

_MANY_NEWLINES = re.compile(r"\n{3,}")

# Ordering a run of combining marks is quadratic in its length: a run of
# 80,000 takes five seconds. No script stacks more than a few dozen, so longer
# runs are ordered piece by piece.
_MARKS_MAX = 1_024
_LONG_RUN = re.compile(rb"[^\0]{%d,}" % (_MARKS_MAX + 1))


def clean(text: str) -> str:
    r"""Return *text* normalised (SPEC 1.2); cleaning twice changes nothing more.

    (Save in a run of over 1,024 combining marks, whose order may still move.)

    >>> clean("  Cafe\u0301\r\n\r\n\r\nLine two  ")
    'Café\n\nLine two'
    """
    text = _to_nfc(text).replace("\r\n", "\n").replace("\r", "\n").strip()
    return _MANY_NEWLINES.sub("\n\n", text)


def fold_lines(text: str) -> str:
    r"""Return *text* with single spaces and without empty lines, for pattern matching.

    Patterns then need no repeated white space, which a hostile text could make
    slow.

    >>> fold_lines("  a \t b\n \n\nc")
    'a b\nc'
    """
    lines = (" ".join(line.split()) for line in text.splitlines() if line)
    return "\n".join(filter(None, lines))


def _to_nfc(text: str) -> str:
    if len(text) <= _MARKS_MAX or text.isascii():
        return unicodedata.normalize("NFC", text)
    classes = bytes(map(unicodedata.combining, text))
    cuts = [0]
    for run in _LONG_RUN.finditer(classes):
        cuts.extend(range(run.start() + _MARKS_MAX, run.end(), _MARKS_MAX))
    cuts.append(len(text))
    return "".join(unicodedata.normalize("NFC", text[a:b]) for a, b in pairwise(cuts))
