"""Words of Chinese, Japanese and Korean for the full-text indexes: pairs of signs. Pure.

These languages put no space between words, or hang particles on them, so SQLite's tokenizer takes a
whole clause for one word. Here each run of one script becomes its overlapping pairs, which is the
usual index of such texts: a name is found in any clause, and a query for several signs is a phrase
of pairs. A sign alone in its script, as many a Japanese noun, is a word (decision 0380).
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from typing import NamedTuple

_HANGUL = "\uac00-\ud7af"
_KANA = "\u3040-\u30ff\uff66-\uff9f"
_IDEOGRAPHS = "\u3005\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
SIGNS = f"{_KANA}{_IDEOGRAPHS}{_HANGUL}"
"""A class of characters: ideographs, kana and hangul, each of which is a token, about."""
_PAIR = 2
_LETTER = re.compile(r"\w")


class _Patterns(NamedTuple):
    """Patterns of signs: it takes 5 ms to compile one, more than a start should wait for."""

    sign: re.Pattern[str]
    run: re.Pattern[str]
    pairs: re.Pattern[str]
    hangul: re.Pattern[str]


@cache
def _patterns() -> _Patterns:
    katakana = "\u30a0-\u30ff\uff66-\uff9f"
    return _Patterns(
        sign=re.compile(f"[{SIGNS}]"),
        run=re.compile(f"[{_IDEOGRAPHS}]+|[\u3040-\u309f]+|[{katakana}]+|[{_HANGUL}]+"),
        pairs=re.compile(f"[{SIGNS}]{{1,2}}(?: [{SIGNS}]{{1,2}})+"),
        hangul=re.compile(f"[{_HANGUL}]"),
    )


def has_sign_at(text: str, place: int) -> bool:
    """Return whether the character at *place*, if there is one, is a sign.

    >>> has_sign_at("a猫", 1), has_sign_at("a猫", 2)
    (True, False)
    """
    return not text.isascii() and _patterns().sign.match(text, place) is not None


def split_signs(text: str) -> str:
    """Return *text* with its runs of signs as their pairs, parted by spaces; twice does no more.

    >>> split_signs("猫の名前: 東京都5区, mike")
    '猫 の 名前: 東京 京都 5 区, mike'
    """
    if text.isascii() or _patterns().sign.search(text) is None:
        return text
    return _patterns().run.sub(_split, text)


def join_signs(text: str) -> str:
    """Return a part of an indexed text with its pairs joined again, for a person to read.

    >>> join_signs("猫 の 名前: 東京 京都 5 区, mike"), join_signs("회의 의는 매주 화요 요일")
    ('猫の名前: 東京都 5 区, mike', '회의는 매주 화요일')
    """
    return text if text.isascii() else _patterns().pairs.sub(_join, text)


def _split(run: re.Match[str]) -> str:
    signs, text = run.group(), run.string
    before = " " if run.start() and _LETTER.match(text, run.start() - 1) else ""
    after = " " if _LETTER.match(text, run.end()) and not has_sign_at(text, run.end()) else ""
    pairs = [first + second for first, second in pairwise(signs)] or [signs]
    return f"{before}{' '.join(pairs)}{after}"


def _join(pairs: re.Match[str]) -> str:
    joined = before = ""
    for pair in pairs.group().split(" "):
        if len(before) == _PAIR and before[-1] == pair[0]:
            joined += pair[1:]
        else:
            joined += f" {pair}" if before and _patterns().hangul.match(pair) else pair
        before = pair
    return joined
