"""Split texts into sentences and words, and list the English function words. Pure.

:class:`BM25Tokenizer` is the specification's tokenizer for programs with their own sparse vectors.
It needs no vocabulary: a term's index is its hash. memd itself uses SQLite's full-text index.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache
from typing import NamedTuple

from memd.view.view import SECRET

# Where a sentence may end: at a mark and white space ("e.g." and the like excepted), at a mark with
# a closing quote or bracket before a word that is not in small letters, after a Chinese or Japanese
# mark, or at a line end.
_END = re.compile(
    r"(?<=[.!?])(?<!\.\.)(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!^\d\.)(?<!\betc\.)(?:\s+(?=\S)|[\"'\u201d\u2019)\]]+\s+(?=[^\sa-z]))"
    r"|(?<=[\u3002\uff01\uff1f])|\n+",
    re.MULTILINE,
)
SENTENCE_GAP = re.compile(r"(?<=[.!?])\s+")
"""White space after a mark that may end a sentence."""

ENGLISH_FUNCTION_WORDS = frozenset(
    """
    a about after again all also am an and any are as at be because been before being between both
    but by can could did do does doing done down during each few for from further get got had has
    have having he her here hers herself him himself his how i if in into is it its itself just ll
    let me more most my myself no nor not now of off on once only or other our ours ourselves out
    over own re s same she should so some such t than that the their theirs them themselves then
    there these they this those through to too under until up us ve very was we were what when
    where which while who whom whose why will with would you your yours yourself yourselves d m
    """.split()  # noqa: SIM905  # a list of 150 strings would fill two screens
)

WORD = re.compile(r"[^\W_]+")
"""A run of letters and digits."""
_PUNCTUATION = "!.,?;:\"'()"
_MASK = 0xFFFFFFFF
_STEM_CHARS = 6


def sentences(text: str) -> list[str]:
    """Return the sentences of *text* in order.

    >>> sentences("No. Use tabs, e.g. here.")
    ['No.', 'Use tabs, e.g. here.']
    >>> sentences("Die Abgabe ist am 15. Januar. Bis dahin z. B. nichts.")
    ['Die Abgabe ist am 15. Januar.', 'Bis dahin z. B. nichts.']
    """
    parts, start = [], 0
    for end in _END.finditer(text):
        first, last = end.span()
        before = text[max(start, first - _BEFORE_CHARS) : first]
        after = text[last : last + _AFTER_CHARS]
        if "\n" in end.group() or not is_inside(before, after):
            parts.append(text[start:first])
            start = last
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


_BEFORE_CHARS, _AFTER_CHARS = 16, 12
"""Characters around a full stop that decide whether it ends a sentence."""


class _Stops(NamedTuple):
    """Patterns of texts whose final full stop ends no sentence, by what follows it.

    ``always``: anything; ``by_digit``: a digit ("Nr. 5"); ``title``: a name ("Dr. Kim") or another
    title; ``title_or_word``: a name that does not begin as an English sentence ("St. Mary");
    ``by_lower``: a small letter ("usw. und"); ``by_letter``: a short abbreviation ("z. B.");
    ``ordinal`` and ``led_ordinal``: a noun ("3. Mai", "am 2. Tag").
    """

    always: re.Pattern[str]
    by_digit: re.Pattern[str]
    title: re.Pattern[str]
    title_or_word: re.Pattern[str]
    by_lower: re.Pattern[str]
    by_letter: re.Pattern[str]
    ordinal: re.Pattern[str]
    led_ordinal: re.Pattern[str]


_TITLES = (
    r"[DdSs]r|[Dd]rs|[Dd]ra|Sra|Srta|Sres|Mr|Mrs|Ms|MM?|Mme|Mlle|[Pp]rof(?:\.ssa|a)?|Hrn?|Frl"
    r"|[Ss]ig(?:g|\.r?a|\.na)?|[Dd]ott(?:\.ssa)?|[Dd]hr|[Mm]evr|[Ii]ng|[Aa]vv|[Gg]eom|[Ll]ic|[Aa]rq"
    r"|[Ee]ng|Dipl|Spett(?:\.le)?"
)
"""Titles before a name, in the languages of ``languages.py``."""


@cache
def _stops() -> _Stops:
    """Return the patterns, compiled on first use."""
    return _Stops(
        always=re.compile(
            r"\b(?:[zZ]\. ?B|[dD]\. ?h|[uU]\. ?a|[vV]\. ?a|[uU]\. ?U|[zZ]\. ?T|[oO]\. ?ä"
            r"|[iI]\. ?e|[eE]\. ?g|[iI]\. ?d\. ?R|[pP]\. ?e[xjs]|[pP]er es|[bB]zw|[vV]gl"
            r"|[eE]vtl|[gG]gf|[iI]nkl|[eE]xkl"
            r"|[zZ]zgl|[sS]og|ca|[aA]pprox|[cC]f|[bB]ijv|[dD]\.w\.z|[oO]\.a)\.$"
        ),
        by_digit=re.compile(
            r"\b(?:Nr|nr|núm|pág|pag|Kap|Abs|Abb|Str|Fig|fig|S|p|pp|(?<!\d )(?:max|min)|Jan|Feb|Mär"
            r"|Apr|Jun|Jul|Aug|Sept?|Okt|Oct|Nov|Dez|Dec)\.$"
        ),
        title=re.compile(rf"\b(?:{_TITLES})\.$"),
        title_or_word=re.compile(r"\b(?:St|[Rr]ag|[Aa]rch|Fr|[Ii]r|Rev|[Ff]am|[Cc]av|Mag|Mons)\.$"),
        by_lower=re.compile(rf"\b(?:usw|ecc|enz|Nr|nr|{_TITLES}|(?<!\d )(?:max|min))\.$"),
        by_letter=re.compile(r"\b[zduvopie]\.$"),
        ordinal=re.compile(r"(?<![\w.])\d{1,3}\.$"),
        led_ordinal=re.compile(
            r"\b(?:[AaIi]m|[Dd](?:er|em|en|es|as|ie)|vom|[Zz]um|[Bb]is|[Aa]b|[Ss]eit|und|mit)"
            r" \d{1,3}\.$"
        ),
    )


@cache
def _ordinal_nouns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns of the nouns after a German ordinal: German ones, and ambiguous ones.

    A noun of the second pattern may begin a sentence: "Version 2. Tag the release", or be another
    word if it is in small letters: "nimm die 2. mal sehen". It follows an ordinal only after a
    German article or preposition: "am 2. Tag".
    """
    months = "januar|jänner|februar|märz|maerz|mai|juni|juli|oktober|dezember"
    nouns = (
        "Mal|Woche|Monat|Jahr|Quartal|Halbjahr|Platz|Versuch|Etage|Klasse|Runde|Auflage|Schritt"
        "|Kapitel|Absatz|Geburtstag|Jahrhundert|Spieltag|Stufe|Zeile|Spalte|Seite|Hälfte"
    )
    both = "April|August|September|November|Tag|Stock|Advent|Semester|Person|Version|Phase"
    ends = r"(?:e?s|en|e|n)?\b"
    counted = r"(?:und|oder|bis)\b.?(?:der |dem |den |zum )?\d"
    german = re.compile(rf"(?:(?i:{months})|{nouns}){ends}|{counted}")
    return german, re.compile(rf"(?:{both}|{nouns}){ends}", re.IGNORECASE)


_NAME = re.compile(r"[^\W\d_a-z][\w.'\u2019-]")
_SHORT_WORD = re.compile(r"[^\W\d_]{1,2}\.")


def is_inside(before: str, after: str) -> bool:
    """Return whether the full stop at the end of *before* is inside a sentence: "Dr.", "am 3."."""
    before, after = before[-_BEFORE_CHARS:], after[:_AFTER_CHARS]
    if not before.endswith("."):
        return False
    stops = _stops()
    if before[-2:-1].isdecimal():
        german, ambiguous = _ordinal_nouns()
        if german.match(after):
            return stops.ordinal.search(before) is not None
        return ambiguous.match(after) is not None and stops.led_ordinal.search(before) is not None
    return bool(
        stops.always.search(before)
        or (after[:1].isdecimal() and stops.by_digit.search(before))
        or (after[:1].islower() and stops.by_lower.search(before))
        or (_NAME.match(after) and stops.title.search(before))
        or (_is_surely_name(after) and stops.title_or_word.search(before))
        or (_SHORT_WORD.match(after) and stops.by_letter.search(before))
    )


def is_title(word: str) -> bool:
    """Return whether *word* is an abbreviated title before a name.

    >>> is_title("geom."), is_title("Dr."), is_title("vs.")
    (True, True, False)
    """
    stops = _stops()
    return any(titles.fullmatch(word) for titles in (stops.title, stops.title_or_word))


def _is_surely_name(text: str) -> bool:
    """Return whether *text* begins with a name, not with a word such as "The"."""
    word = WORD.match(text)
    is_common = word is not None and word.group().casefold() in ENGLISH_FUNCTION_WORDS
    return _NAME.match(text) is not None and not is_common


def content_words(text: str) -> list[str]:
    """Return the content words of *text*, case-folded, each once.

    For a text of function words alone, return all its words.

    >>> content_words("How do we deploy to production?")
    ['deploy', 'production']
    """
    words = dict.fromkeys(map(str.casefold, WORD.findall(text)))
    return [word for word in words if word not in ENGLISH_FUNCTION_WORDS] or list(words)


def content_stems(text: str) -> frozenset[str]:
    """Return rough stems of the content words: without a final "s", cut to six characters.

    >>> sorted(content_stems("The retries are configured per deployment"))
    ['config', 'deploy', 'per', 'retrie']
    """
    return frozenset([word.removesuffix("s")[:_STEM_CHARS] for word in content_words(text)])


def tells_only_secret(text: str) -> bool:
    """Return whether *text*, without its secrets, says hardly more than that it has one.

    >>> tells_only_secret("my aws key is [secret:aws-key#1]"), tells_only_secret("my aws key")
    (True, False)
    >>> tells_only_secret("Deploy from kelp-2 with the key [secret:aws-key#1], over the bastion")
    False
    """
    rest, count = SECRET.subn(" ", text)
    return count > 0 and len(content_stems(rest) - _SECRET_STEMS) < _SECRET_STEMS_MIN


_SECRET_STEMS = content_stems("key password passwort secret token credentials login value")
_SECRET_STEMS_MIN = 3


def words_of(text: str) -> frozenset[str]:
    """Return the distinct words, in lower case, without punctuation at their ends (SPEC 5.6).

    >>> sorted(words_of('Use Python 3.11, "please"!'))
    ['3.11', 'please', 'python', 'use']
    """
    return frozenset(filter(None, (word.strip(_PUNCTUATION) for word in text.lower().split())))


class BM25Tokenizer:
    """Splits texts into terms (SPEC 7.10.5): NFKC, casefold, without English function words."""

    def tokenize(self, text: str) -> list[str]:
        """Return the terms of *text*, in order; none for a text of function words alone.

        >>> BM25Tokenizer().tokenize("The retry_limit of HTTP is 3")
        ['retry', 'limit', 'http', '3']
        """
        words = WORD.findall(unicodedata.normalize("NFKC", text).casefold())
        return [word for word in words if word not in ENGLISH_FUNCTION_WORDS]

    def encode(self, text: str) -> dict[int, int]:
        """Return each term's frequency by its index, the term's 32-bit MurmurHash3."""
        counts = Counter(self.tokenize(text))
        frequencies: Counter[int] = Counter()
        for term, times in counts.items():
            frequencies[murmurhash3(term.encode())] += times
        return dict(frequencies)


def murmurhash3(key: bytes, seed: int = 0) -> int:
    """Return the 32-bit MurmurHash3 of *key*, unsigned.

    >>> hex(murmurhash3(b"test")), hex(murmurhash3(b"Hello, world!", 1234))
    ('0xba6bd213', '0xfaf6cdb3')
    """
    state = seed
    whole = len(key) & ~3
    for at in range(0, whole, 4):
        state ^= _mix(int.from_bytes(key[at : at + 4], "little"))
        state = (_rotate(state, 13) * 5 + 0xE6546B64) & _MASK
    state ^= _mix(int.from_bytes(key[whole:], "little"))
    state ^= len(key)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        state = ((state ^ state >> shift) * factor) & _MASK
    return state ^ state >> 16


def _mix(block: int) -> int:
    return _rotate(block * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK


def _rotate(number: int, bits: int) -> int:
    return (number << bits | number >> (32 - bits)) & _MASK
