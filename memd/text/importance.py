"""Compute the importance of a text on arrival: step four of ingest (SPEC 1.6, D4).

importance = 0.6 novelty + 0.4 salience. Novelty is the distance from what is known already.
Salience is the sum of four signals: a name, a number, a preference, a technical term. A text of a
stream below the threshold is archived, never deleted.

The detectors of names and numbers (SPEC 1.6.5) are coarse on purpose. A rule that ignored the
capital of every first word archived six times as many of the texts that later answered a question
(SPEC D4). Yet the capital of a courtesy ("Thanks a lot!") must not count, and names with unusual
letters ("Zürich", "IBM", "Bo") must. Chinese, Japanese and Korean have no capitals: there a name
is recognised by a title or kind of place after it, or by the brackets of a title. German writes
every noun with a capital: there only a word without an article counts as a name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from memd.domain.encoding import TokenCounter
from memd.text.languages import is_german
from memd.text.preference import SIGNAL
from memd.text.words import ENGLISH_FUNCTION_WORDS

IMPORTANCE_MIN = 0.3
"""The importance from which a text of a stream is kept (SPEC 1.6.8)."""
_TOLERANCE = 1e-9  # so that 0.6 * 0.5 passes despite rounding

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
    | [{};]\s*$ | => | -> | :: | [!=]=                # punctuation that only code has
    """,
    re.VERBOSE | re.MULTILINE,
)
_CODE_SIGN = re.compile(r"[`_/({};=]|[a-z][A-Z]|[A-Za-z]\d|\w\.\w|(?<!\S)-|::|->")
"""Matches in every text with a code shape, and rejects prose in a quarter of the time."""
_WORD = re.compile(r"[A-Za-z]+")
_RARE_PIECES_PER_WORD = 1.5
"""Word pieces per word from which words are rare.

0.2 % of chat messages reach it, and most sentences about software.
"""
_RARE_WORDS_MIN = 2


def novelty(similarity: float | None) -> float:
    """Return how new a text is, from its cosine *similarity* to the centroid of known texts.

    None means that nothing is known yet, or that the text has no vector: then it is new
    (SPEC 1.6.2). Raises ValueError for NaN.
    """
    return 1.0 if similarity is None else _clamp(1.0 - similarity)


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
    if is_technical(text, counter):
        total += _TECHNICAL_WEIGHT
    return min(1.0, round(total, 9))


def is_technical(text: str, counter: TokenCounter | None = None) -> bool:
    """Return whether *text* has a technical term: a code shape, or rare words.

    Words are rare if the vocabulary of *counter* splits them into 1.5 pieces or more on average
    (SPEC D4). Without a counter only shapes count.
    """
    if _CODE_SIGN.search(text) and _CODE_SHAPE.search(text):
        return True
    if counter is None:
        return False
    words = _WORD.findall(text)
    if len(words) < _RARE_WORDS_MIN:
        return False
    return counter.count(" ".join(words)) >= _RARE_PIECES_PER_WORD * len(words)


def importance(novelty: float, salience: float) -> float:
    """Return the importance of a text, from 0 to 1 (SPEC 1.6.1)."""
    return _clamp(_NOVELTY_WEIGHT * novelty + _SALIENCE_WEIGHT * salience)


def is_kept(importance: float) -> bool:
    """Return whether *importance* is at least the threshold (SPEC 1.6.8)."""
    return importance >= IMPORTANCE_MIN - _TOLERANCE


def _clamp(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError("a similarity or a score must be a finite number")
    return min(1.0, max(0.0, value))


_CHARS_MAX = 16_384
"""Characters of a text that are read for names and numbers; a chunk has fewer."""

_NUMBER = re.compile(r"(?<![A-Za-z_\d])\d++[A-Za-z]{0,2}(?![A-Za-z_\d])")
"""Digits, with a unit or an ending of up to two letters (5pm, 10km, 3rd); not v2."""

_LETTERS = re.compile(r"[^\W\d_]+")
_PLURALS = re.compile(r"[A-Z]{2,}s")  # APIs, PDFs: kinds of things, no names

# A name with its title or kind of place (东京都), a word in katakana, or a work (《...》).
_CJK_NAME = re.compile(
    "[\u4e00-\u9fff\u3005]{1,6}"
    "(?:市|省|县|縣|都|区|區|府|町|駅|大学|大學|公司|株式会社|氏|様|さん|先生|女士|小姐)"
    "|株式会社"
    "|(?<![ァ-ヺー])[ァ-ヺー]++(?:・[ァ-ヺー]|さん|氏|様)"
    "|《[^》\n]{1,40}》"
    "|[가-힣]{2,6}(?:씨|님|대학교|주식회사|특별시|광역시)"
)

# Ordinary words that open a sentence, or are capitalised for emphasis alone.
_ORDINARY = ENGLISH_FUNCTION_WORDS | frozenset(
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
    """.split()  # noqa: SIM905  # a list of these strings would fill a screen
)

# A German courtesy consists of words of these two lists, at least one of them from the first.
_COURTESY_GERMAN = frozenset(
    """
    abende alles besten bis bitte bitteschön danke dankeschön dann dein deine deinen dir du ebenso
    einen entschuldigung erfolg euch euer feierabend ferien für gern gerne gleich glück
    glückwunsch grüße gruß gute guten guter gutes hallo herzlich herzlichen hilfe idee ihnen ich
    ist kein keine klar liebe machen mittag morgen nachher nacht nein nichts noch ordnung schön
    schöne schönen schönes sehr spaß später stimmt tschüss uns ursache verstanden viel viele
    vielen wiedersehen willkommen wir woche wochenende zusammen
    """.split()  # noqa: SIM905
)
_COURTESY_ALSO = _ORDINARY | frozenset(
    """
    abend auch bald dank das den der die es fertig gut in ihr ja mir mit prima problem sie sonntag
    super tag tage toll und war zu
    """.split()  # noqa: SIM905
)
_ARTICLES_GERMAN = frozenset(
    """
    der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner mein
    meine meinen meinem meiner dein deine deinen deinem deiner sein seine seinen seinem seiner ihr
    ihre ihren ihrem ihrer unser unsere unseren unserem unserer euer eure euren eurem eurer dieser
    diese dieses diesen diesem jeder jede jedes jeden jedem alle allen aller viele vielen wenige
    mehr etwas welche welcher welches welchen im am zum zur beim vom ins ans aufs zwei drei vier
    fünf zehn
    """.split()  # noqa: SIM905
)
_SENTENCE_END = re.compile(r"[.!?:\n]")
_ADJECTIVE = re.compile(r"[^\W\d_]{3,}e[nmrs]?")

_OPENING_CHARS_MIN = 3  # as documented: a capital and two small letters
_CONTENT_CHARS_MIN = 4
"""Letters of a content word: shorter words say little alone."""


def has_number(text: str) -> bool:
    """Return whether *text* contains a number or a date.

    >>> has_number("12345 servers"), has_number("1.5 GB"), has_number("version v2")
    (True, True, False)
    """
    return _NUMBER.search(text, 0, _CHARS_MAX) is not None


def has_name(text: str) -> bool:
    """Return whether *text* seems to name a person, a place, a firm or a product.

    A statement that begins with a capital counts as well: see :func:`_has_content`.

    >>> has_name("we moved to IBM"), has_name("Grüße aus Zürich"), has_name("Thanks a lot")
    (True, True, False)
    """
    text = text[:_CHARS_MAX]
    words = [word[0] for word in _LETTERS.finditer(text)]
    capitals = [word for word in words if _is_capital(word)]
    if capitals and _is_german_courtesy(words):
        return False
    if capitals and is_german(text):
        capitals = _names_in_german(text)
        has_opening = words[0][0].isupper()
    else:
        has_opening = any(len(word) >= _OPENING_CHARS_MIN and word.istitle() for word in words)
    is_statement = has_opening and _has_content(words)
    if is_statement or any(not word.isupper() for word in capitals):
        return True
    # Words in capitals are names ("IBM") unless the whole text is in capitals.
    is_mixed = len(words) == 1 or sum(map(str.isupper, words)) * 2 < len(words)
    return (bool(capitals) and is_mixed) or _CJK_NAME.search(text) is not None


def _names_in_german(text: str) -> list[str]:
    """Return the capitalised words that are no common nouns.

    A common noun follows an article, perhaps with an adjective ("die alte Heizung"). The first
    word of a sentence never counts, unless it has more than one capital ("GitHub").
    """
    names: list[str] = []
    before = ("", "")  # the two previous words
    end = 0
    for match in _LETTERS.finditer(text):
        word = match[0]
        if not end or _SENTENCE_END.search(text, end, match.start()):
            before = ("", "der")  # treats the first word of a sentence as a common noun
        is_common = word.istitle() and (
            before[1] in _ARTICLES_GERMAN
            or (before[0] in _ARTICLES_GERMAN and _ADJECTIVE.fullmatch(before[1]) is not None)
        )
        if _is_capital(word) and not is_common:
            names.append(word)
        before = (before[1], word.lower() if not end or word.islower() else word)
        end = match.end()
    return names


def _is_german_courtesy(words: Sequence[str]) -> bool:
    """Return whether *words* are only a German courtesy, such as "Bis morgen!"."""
    folded = {word.casefold() for word in words}
    other_words = folded - _COURTESY_GERMAN
    return len(other_words) < len(folded) and other_words <= _COURTESY_ALSO


def _has_content(words: Sequence[str]) -> bool:
    """Return whether *words* are more than a courtesy.

    Half of the sentences that later answer a question contain no name ("The roof leaks."), so
    the capital at their beginning counts instead. In "Thanks a lot!", which has only ordinary
    words, it does not.
    """
    return any(
        len(word) >= _CONTENT_CHARS_MIN and word.casefold() not in _ORDINARY for word in words
    )


def _is_capital(word: str) -> bool:
    """Return whether *word* has the capital of a name, not that of an ordinary word ("Today")."""
    if not word[0].isupper() or len(word) == 1 or _PLURALS.fullmatch(word):
        return False
    return word == "US" or word.casefold() not in _ORDINARY
