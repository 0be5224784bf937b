"""Whether a text names somebody or something, and whether it says a number (SPEC 1.6.5). Pure.

The detectors are coarse on purpose: a rule that took no first word's capital for a
name turned away six times as many of the texts that later answered a question (SPEC
D4). What they must not do is score a courtesy for its capital ("Thanks a lot!"), or
miss a name for its letters ("Zürich", "IBM", "Bo"). Chinese, Japanese and Korean have
no capitals: there a name is known by what follows it (a title, a kind of place), or
by the brackets of a work.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memd.text.function_words import FUNCTION_WORDS

_CHARS_MAX = 16_384  # of a text stored whole; a chunk has less

_NUMBER = re.compile(r"(?<![A-Za-z_\d])\d++[A-Za-z]{0,2}(?![A-Za-z_\d])")
"""Digits, with a unit or an ending of up to two letters (5pm, 10km, 3rd); not v2."""

_WORD = re.compile(r"[^\W\d_]+")
_KINDS = re.compile(r"[A-Z]{2,}s")  # APIs, PDFs: kinds of things

_CJK_NAME = re.compile(
    "[\u4e00-\u9fff\u3005]{1,6}"
    "(?:市|省|县|縣|都|区|區|府|町|駅|大学|大學|公司|株式会社|氏|様|さん|先生|女士|小姐)"
    "|株式会社"
    "|(?<![ァ-ヺー])[ァ-ヺー]++(?:・[ァ-ヺー]|さん|氏|様)"
    "|《[^》\n]{1,40}》"
    "|[가-힣]{2,6}(?:씨|님|대학교|주식회사|특별시|광역시)"
)

# Ordinary words that open a sentence, or stand in capitals for stress alone.
_ORDINARY = FUNCTION_WORDS | frozenset(
    """
    absolutely actually afternoon agreed ah aha ain alright although always amazing anyway
    apparently aren awesome aw aww back basically beautiful best bet big btw bye care check cheers
    come congrats congratulations cool couldn count dear definitely didn doesn don easy either else
    even evening ever every everybody everyone everything exactly excellent fair fantastic
    finally fine first fun funny fyi gets getting give glad go goes going gonna good goodbye gosh
    gotta great guess guys hadn haha hang happy hard hasn haven heard hello help hey hi hm hmm hope
    hopefully huh idea imagine impressive incredible indeed interesting isn keep kids kinda know
    last lately later let lets life like listen little lmk lol long look looking looks lot lots
    love lovely lucky luckily made make makes man many may maybe meanwhile might mine morning much
    must nah need neither never new next nice night nobody none nope nothing oh ok okay omg one
    oops ouch part people perfect perhaps please pm probably proud quite read ready really recently
    remember right run saw say see seems seriously shall shouldn sometimes since somebody someone
    something somewhere soon sorry sounds start still stay stop stuff super sure sweet take takes
    talk tell thank thanks thing things think thinking though time to today todo together tomorrow
    tonight totally true truly try trying two ugh um unfortunately update usually wait wanna
    want wanted wasn way week welcome well went weren whatever whenever wherever whether whoa
    whole won wonderful work working wouldn wow write wrong yay yeah year years yep yes yesterday
    yet yo yup
    """.split()  # noqa: SIM905  # a list of so many strings would fill a screen
)


_OPENING_CHARS_MIN = 3  # as documented: a capital and two small letters
_TELLING_CHARS_MIN = 4


def has_number(text: str) -> bool:
    """Return whether *text* says a number, of whatever length, or a date.

    >>> has_number("12345 servers"), has_number("1.5 GB"), has_number("version v2")
    (True, True, False)
    """
    return _NUMBER.search(text, 0, _CHARS_MAX) is not None


def has_name(text: str) -> bool:
    """Return whether *text* names a person, a place, a firm or a product, as far as it shows.

    >>> has_name("we moved to IBM"), has_name("Grüße aus Zürich"), has_name("Thanks a lot")
    (True, True, False)
    """
    text = text[:_CHARS_MAX]
    words = [word[0] for word in _WORD.finditer(text)]
    capitals = [word for word in words if _is_capital(word)]
    if any(not word.isupper() for word in capitals) or _tells(words):
        return True
    # Letters that are all capitals name something where they are the exception.
    rare = len(words) == 1 or sum(map(str.isupper, words)) * 2 < len(words)
    return (bool(capitals) and rare) or _CJK_NAME.search(text) is not None


def _tells(words: Sequence[str]) -> bool:
    """Return whether a text of *words* begins like a sentence and says more than courtesies.

    Half of the sentences that later answer a question name nothing: "The roof leaks." A
    capital at their head counts, where an ordinary word alone ("Thanks a lot!") does not.
    """
    opened = any(len(word) >= _OPENING_CHARS_MIN and word.istitle() for word in words)
    return opened and any(
        len(word) >= _TELLING_CHARS_MIN and word.casefold() not in _ORDINARY for word in words
    )


def _is_capital(word: str) -> bool:
    if not word[0].isupper() or len(word) == 1 or _KINDS.fullmatch(word):
        return False
    return word == "US" or word.casefold() not in _ORDINARY
