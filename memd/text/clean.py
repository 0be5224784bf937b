"""Step one of ingest: the form in which a text is compared, cut and stored (SPEC 1.2).

Four small repairs and nothing else: what looks the same becomes the same
(NFC), line ends become newlines, the ends are stripped, and three or more
newlines become two. White space inside a line, markup and code stay as they
are. The work is linear in the text, also for a text made to be slow.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

_MANY_NEWLINES = re.compile(r"\n{3,}")

# Ordering a run of combining marks costs the square of its length: one run of
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
    text = _nfc(text).replace("\r\n", "\n").replace("\r", "\n").strip()
    return _MANY_NEWLINES.sub("\n\n", text)


def folded(text: str) -> str:
    r"""Return *text* for the detectors of later steps: single spaces, no empty lines.

    Their patterns may then be written without repeated white space, which a text
    of nothing else could make slow.

    >>> folded("  a \t b\n \n\nc")
    'a b\nc'
    """
    lines = (" ".join(line.split()) for line in text.splitlines() if line)
    return "\n".join(filter(None, lines))


def _nfc(text: str) -> str:
    if len(text) <= _MARKS_MAX or text.isascii():
        return unicodedata.normalize("NFC", text)
    classes = bytes(map(unicodedata.combining, text))
    cuts = [0]
    for run in _LONG_RUN.finditer(classes):
        cuts.extend(range(run.start() + _MARKS_MAX, run.end(), _MARKS_MAX))
    cuts.append(len(text))
    return "".join(unicodedata.normalize("NFC", text[a:b]) for a, b in pairwise(cuts))
