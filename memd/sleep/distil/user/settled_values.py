"""Recognise sentences that settle a value by naming it: "the font should be Inter". Pure.

They are as short as orders of the moment, so only two forms count: a list that is said to be whole
("colours: navy and sand, nothing else"), and the name for something that is given a name once, such
as a font or a domain. "The header should be smaller" settles nothing. Decision 0381.

A number that the agent stated is replaced by "actually make it 30" or "lieber 30".
"""

from __future__ import annotations

import re
from typing import NamedTuple

from memd.text.alternations import Phrases
from memd.text.languages import FUNCTION_WORDS
from memd.text.words import sentences

# "Colours: navy and sand, nothing else", but not the form of an answer or a message at hand.
_NOTHING_ELSE = Phrases(
    r"\W*(?:(?:ok(?:ay)?|and|so|also|then)\W+)*(?:the |our )?"
    r"(?!(?:output|answer|reply|reply with|result|commit|message|title|body|subject|todo|next|now"
    r"|step|scope|task|plan|fix|change|print|show|return)s?\b)"
    r"[\w-]+(?: [\w-]+)?: ?(?:[^:?]{2,60}(?:,| and | or | & )[^:?]{2,60}),"
    r" (?:and )?(?:nothing|no one|nobody) else\W*"
)
# "The font should be Inter": a named value of what one chooses a value for.
_SHALL_BE = Phrases(
    r"\W*(?i:(?:(?:ok(?:ay)?|and|so|also|then|oh)\W+)*(?:the |our )(?:[\w-]+ ){0,2}"
    r"(?:font|typeface|theme|palette|name|title|slogan|motto|tagline|domain|prefix|licen[cs]e"
    r"|currency|language|locale|time ?zone|branch|framework|database|default|brand)"
    r" (?:should|must|shall|has to|is to) be (?:called |set to )?)"
    r"(?!(?:True|False|None|Null|NULL)\b)[A-Z][\w.+#&/ -]{1,40}\W*",
    0,
)


def settles_value(plain: str) -> bool:
    """Return whether a sentence, in its spoken form, settles a value by naming it.

    >>> settles_value("the font should be Inter"), settles_value("the font should be bigger")
    (True, False)
    >>> settles_value("colours: navy and sand, nothing else")
    True
    """
    return any(pattern.fullmatch(plain) for pattern in (_NOTHING_ELSE, _SHALL_BE))


# Opens a change of mind, or a polite order.
_OPENS = (
    r"\W*(?P<firm>(?:(?:actual+y|no|nah|wait|hm+|sorry|on second thoughts?|rather|better|nein|ne"
    r"|ach|doch|lieber|besser)\b\W+)*)"
    r"(?:(?:ok(?:ay)?|so|but|and|then|please|pls|let'?s|dann|bitte|also)\b\W+)*"
)
_VALUE = r"(?P<new>\d+(?:[.,:]\d+)*)(?: ?(?P<unit>[^\W\d_]+|%))?(?!\w)"
_RESETS = tuple(
    re.compile(rf"{_OPENS}{order}", re.IGNORECASE)
    for order in (
        rf"(?:make|set) (?:it|that|this|them) (?:to |rather )?{_VALUE}",
        rf"(?:(?:use|take|do|go with) )?(?=\S+(?: \w+)? instead\b){_VALUE}",
        r"(?P<rather>(?:rather|better|doch lieber|lieber|besser|nimm (?:lieber|doch)"
        rf"|mach (?:da |das |es )?(?:lieber|doch)) ){_VALUE}",
    )
)
_REASON = re.compile(
    r"\d[^,;.]{0,20}(?:[,;.]\W*\w+ \w+|\b(?:because|since|as|cause|weil|da)\b)", re.I
)
_NO_UNIT = FUNCTION_WORDS | {"instead", "please", "pls", "now", "then", "max", "nehmen", "draus"}
# Less or more of something, not a value: "make it 5 lines shorter".
_COMPARES = re.compile(
    r"\d\s?\S*(?: \w+)? (?:short|long|fast|slow|wid|big|small|larg|high|low|great)\w*er\b"
    r"|\b(?:times|more|less|mehr|weniger)\b",
    re.IGNORECASE,
)
# A unit of time, size or tries, whose number is meant to last.
_LASTING = re.compile(
    r"(?:m?s|sec|sek|min|h|hour|stunde|day|tag|week|woche|month|monat|year|jahr|attempt|versuch)\w{0,4}"
    r"|retries|[kmgt]i?b|percent|prozent|%"
)
_LAYOUT = frozenset({"px", "em", "rem", "pt", "vh", "vw", "dpi", "x"})
_NUMBER = re.compile(
    r"(?<![\w.:/+#-])(?P<value>\d+(?:[.,:]\d+)*)(?:[ -]?(?P<unit>[^\W\d_]+|%))?(?![\w/])"
)
# Numbers that count what was done, or the parts of a text.
_COUNTS = re.compile(
    r"\b(?:tests?|pass(?:es|ed)?|fail\w*|lines?|files?|commits?|errors?|warnings?|steps?|options?"
    r"|phases?|points?|items?)\b",
    re.IGNORECASE,
)


class _Reset(NamedTuple):
    """The *new* number, its *unit* or "", and whether the sentence is *firm* about the change."""

    new: str
    unit: str
    firm: bool


def _reset(user: str) -> _Reset | None:
    """Return the number that the message *user* begins to set, None if there is none."""
    match = next((match for pattern in _RESETS if (match := pattern.match(user))), None)
    if match is None or _COMPARES.search(user):
        return None
    unit = (match["unit"] or "").casefold()
    unit = "" if unit in _NO_UNIT else unit
    is_rather = match.groupdict().get("rather") or "instead" in user.casefold()
    is_firm = match["firm"] or is_rather or _REASON.search(user) or _LASTING.fullmatch(unit)
    return _Reset(match["new"], unit, bool(is_firm) and unit not in _LAYOUT)


def changes_number(user: str) -> bool:
    """Return whether *user* changes a number, and says that or why they think otherwise.

    >>> changes_number("actually make it 30, the bank can be slow"), changes_number("make it 30")
    (True, False)
    """
    reset = _reset(user)
    return reset is not None and reset.firm


def find_changed_number(user: str, text: str) -> str:
    """Return the sentence of *text* with the number that *user* replaces, "" if there is none.

    Without a unit in *user*, it must be the only number.

    >>> find_changed_number("make it 30, then", "It is cached. Entries live 15 minutes.")
    'Entries live 15 minutes.'
    >>> find_changed_number("make it 30 lines", "Entries live 15 minutes.")
    ''
    """
    reset = _reset(user)
    if reset is None:
        return ""
    numbers = [
        (sentence, match["value"])
        for sentence in sentences(text)
        if not _COUNTS.search(sentence)
        for match in _NUMBER.finditer(sentence)
        if not reset.unit or _is_same_unit(reset.unit, (match["unit"] or "").casefold())
    ]
    is_one = len({value for _, value in numbers}) == 1 and numbers[0][1] != reset.new
    return numbers[0][0] if is_one else ""


def _is_same_unit(one: str, other: str) -> bool:
    """Return whether two units are the same, of which one may be abbreviated."""
    return bool(other) and (one.startswith(other[:3]) or other.startswith(one))
