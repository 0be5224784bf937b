"""What earlier sessions of a project left open, as their digests say it. Pure.

The last digest tells what its own session left open. A point of an earlier one is told until a
later session speaks of it: what was done about it stands in that session's memories. What was to
be committed or pushed is not told: it passes with its session.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from memd.store.session.briefs import BriefRow

OPEN_POINTS_MAX = 3
_SESSIONS_MAX = 5  # whose open points are looked at
_TAKEN_SHARE = 0.6  # of a point's words in a later memory: it was taken up
_STEM_CHARS = 6
_WORDS_MIN = 2  # of a point, without short ones: less cannot be found again
_FIELD = re.compile(r"^Open: (.+)$", re.MULTILINE)
_PASSES = re.compile(
    r"^\W*(?:commit|push)(?::| (?:the|your|these|all|to|and)\b)|\buncommitted\b|\bgh pr\b"
    r"|\bready to (?:commit|push|deploy)\b|\bdon't block\b"
    r"|(?<!\bnot )\b(?:updated|removed|added|fixed|created|completed?)\W*$",
    re.IGNORECASE,
)
_LABEL = re.compile(r"next steps?\b[:\s]*", re.IGNORECASE)
_HEAD = re.compile(r"\s[-\u2013\u2014]\s|:\s|\s\(|[.,]\s")
_NAME = re.compile(r"\w(?:[\w./-]*\w)?")
_WORD = re.compile(r"[^\W\d_][\w-]{3,}")


class OpenPoints(NamedTuple):
    """What a session left open, and the digest that says so."""

    digest: BriefRow
    texts: tuple[str, ...]


def find_open_points(digests: Sequence[BriefRow], rows: Sequence[BriefRow]) -> list[OpenPoints]:
    """Return what the *digests* of earlier sessions leave open, the latest first, each once.

    *rows* are the memories of the project's sessions, of which later ones may take a point up.
    At most OPEN_POINTS_MAX points.
    """
    latest = sorted(digests, key=lambda row: row.at_us, reverse=True)[:_SESSIONS_MAX]
    points: list[OpenPoints] = []
    known: list[frozenset[str]] = []
    for digest in latest:
        contents = [row.content for row in rows if _is_later(row, digest)]
        later = [_stems(content) for content in contents]
        lines = [_names(line) for content in contents for line in content.splitlines()]
        texts: list[str] = []
        for text in open_texts(digest.content):
            stems = _stems(_LABEL.sub("", text))
            is_known = any(_covers(other, stems) for other in (*later, *known))
            is_known = is_known or _begins_in(text, lines)
            if len(stems) >= _WORDS_MIN and not is_known and len(known) < OPEN_POINTS_MAX:
                known.append(stems)
                texts.append(text)
        if texts:
            points.append(OpenPoints(digest, tuple(texts)))
    return points


def open_texts(digest: str) -> list[str]:
    r"""Return the open points of a digest's text, without those that pass with their session.

    >>> open_texts("Asked first: a page\nOpen: the user stopped the agent; test the import")
    ['test the import']
    """
    field = _FIELD.search(digest)
    texts = field[1].split("; ") if field else []
    return [
        text for text in texts if text != "the user stopped the agent" and not _PASSES.search(text)
    ]


def _is_later(row: BriefRow, digest: BriefRow) -> bool:
    return row.at_us > digest.at_us and row.session_key != digest.session_key


def _covers(later: frozenset[str], point: frozenset[str]) -> bool:
    return len(later & point) >= _TAKEN_SHARE * len(point)


def _begins_in(text: str, lines: Sequence[frozenset[str]]) -> bool:
    """Return whether a line has all names with which *text* begins, one of them with a number.

    "/implement S5 - the form" is taken up by "S016 /implement S5", which has few of its words.
    """
    names = _names(_HEAD.split(text, maxsplit=1)[0])
    is_numbered = any(not name.isalpha() and any(map(str.isdigit, name)) for name in names)
    return len(names) > 1 and is_numbered and any(names <= line for line in lines)


def _names(text: str) -> frozenset[str]:
    return frozenset(map(str.casefold, _NAME.findall(text)))


def _stems(text: str) -> frozenset[str]:
    return frozenset(word[:_STEM_CHARS].casefold() for word in _WORD.findall(text))
