"""Recognise names of things: proper and code names, quotations, teams and roles.

Precision comes first: a wrong name makes a wrong statement, while a text without one is still
found by its words. Pronouns ("it", "they", "this one") are not names, nor are common words that
are capitalised at the start of a sentence.
"""

from __future__ import annotations

import re

from memd.extract.time_words import MONTHS, WEEKDAYS
from memd.text.words import is_title

TEAM = "the team"
"""The name for "we", "our team" and the subject of a command."""

CHARS_MAX = 80
_WORDS_MAX = 6
_LOOSE_WORDS_MAX = 4

_WE = frozenset(("we", "us", "our team", "the team", "everyone", "everybody", "the company"))
_WRAPPED = re.compile(
    r"(?:\[\[(?P<wiki>[^\[\]|\n]{1,80})(?:\|[^\[\]\n]{0,80})?\]\]|`(?P<code>[^`\n]{1,80})`"
    r"|\"(?P<plain>[^\"\n]{1,80})\"|\u201c(?P<curly>[^\u201c\u201d\n]{1,80})\u201d|\*\*(?P<bold>[^*\n]{1,80})\*\*)"
)
_ROLE = re.compile(
    r"(?:(?:the|our|every|each|all|any)\s+)(?P<words>[\w+#.&/-]+(?:\s+[\w+#.&/-]+){0,4})",
    re.IGNORECASE,
)
_GROUP = re.compile(r"(?:[\w-]+\s){1,3}(?:team|department|group|squad|guild)s?", re.IGNORECASE)
_CAPITAL = re.compile(r"[A-Z][\w.+#/&'\u2019-]*")
# A name of one word, after which a list or the clause may go on, but not the name of a place.
_AFTER_IN = re.compile(
    r"[A-Z][\w.+#/&'\u2019-]*(?=\s*(?:$|[,;:()])|\s+(?:and|&|\+|not|for|but|because|since|until)\b)"
)
_CODE = re.compile(
    r"[a-z]+[A-Z]\w*|@[\w-]+|\w+(?:[_./-]\w+)+|[a-z]+\d[\w.]*|\.[A-Za-z]\w*|[a-z]\+\+|v?\d+(?:\.\d+)+"
)
_NUMBER = re.compile(r"\d[\d.]*[%+]{0,2}")
_PLAIN = re.compile(r"[\w+#.%&/@'\u2019-]+")
_BETWEEN = frozenset(("of", "the", "for", "and", "&", "de", "von", "van", "la"))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Pronouns and question words, which are part of no name.
_PRONOUNS = _words(
    """
    i me my mine you your yours he him his she her hers it its they them their theirs this that
    these those one ones something anything nothing everything someone anyone nobody somebody
    here there who whom whose what which where when why how both neither either none same other
    others another such each
    """
)
# Common words, which may be capitalised at the start of a sentence; no name begins with one.
_COMMON = _words(
    """
    a an and as at but by for from if in into no not of on or so the then to too up with yes yeah
    yep nope ok okay well hey hi hello thanks thank please sorry sure maybe perhaps actually anyway
    also again still just now today tomorrow yesterday tonight later soon next last first second
    finally recently currently usually often always never once people person guys folks man life
    time day days week weeks month year work things thing stuff way idea question answer problem
    reason point part lot lots bit kind sort rest while because since until after before during
    great good nice cool awesome wow oh ah hmm lol haha let lets let's there's that's it's i'm i've
    i'd i'll we're we've we'll you're they're he's she's what's who's don't can't won't doing
    having being going getting making using trying looking all any some most many much more few
    every only even very really quite pretty almost about like than though although however
    """
)
# Words that are in no name without an article: "the new service" is one, "much better" is not.
_EMPTY = _words(
    """
    a an and as at be been being but by did do does else for from get gets got had has have having
    if in into is are was were will would could should may might must can not of off on onto or
    out over so than that the then to too up upon very with without ever more less much many lot
    lots bit few some any enough way thing things stuff good great nice bad best better worse worst
    fun happy sad sorry glad okay fine right wrong true false sure ready able going done back away
    today tomorrow yesterday tonight now soon later well just really always never only also again
    time times day days week weeks month months year years while because since until after before
    instead
    """
)


def unwrap(text: str) -> str | None:
    """Return *text* without its quotes, backticks or brackets; None if it has none."""
    match = _WRAPPED.fullmatch(text.strip())
    if match is None:
        return None
    inner = next(group for group in match.groups() if group is not None).strip()
    return inner or None


def name(text: str, speaker: str | None = None) -> str | None:
    """Return the name in *text*, None unless it is certain; *speaker* is the name for "I".

    >>> name("the data team"), name("we"), name("Litestar"), name("it"), name("a lot")
    ('the data team', 'the team', 'Litestar', None, None)
    """
    text = text.strip(" ,:;()").removesuffix(".")
    if not text or len(text) > CHARS_MAX:
        return None
    lower = " ".join(text.casefold().split())
    if lower in _WE:
        return TEAM
    if lower in {"i", "me"}:
        return speaker
    inner = unwrap(text)
    if inner is not None:
        return inner
    return _role(text) or (
        text if _GROUP.fullmatch(text) and _is_plausible(text) else _proper(text)
    )


def loose_name(text: str) -> str | None:
    """Return the name in *text*, which may be a common noun, as only a thing fits its position.

    >>> [loose_name(text) for text in ("2 approvals", "postgres", "them", "a bit more")]
    ['2 approvals', 'postgres', None, None]
    """
    label = name(text)
    if label is not None:
        return None if label == TEAM else label
    text = re.sub(r"^(?:an?|its|their|his|her)\s+", "", text.strip(" ,:;()").removesuffix("."))
    words = text.split()
    if not 1 <= len(words) <= _LOOSE_WORDS_MAX or len(text) > CHARS_MAX:
        return None
    fit = all(_PLAIN.fullmatch(word) for word in words)
    return " ".join(words) if fit and _is_plausible(text) and not _NUMBER.fullmatch(text) else None


def _role(text: str) -> str | None:
    match = _ROLE.fullmatch(text)
    if match is None or not _is_plausible(match["words"]):
        return None
    article, role = text.split(maxsplit=1)
    role = " ".join(role.split())
    return f"the {role}" if article.casefold() in {"the", "our"} else f"{article.lower()} {role}"


def _is_plausible(text: str) -> bool:
    words = text.casefold().split()
    if any(word in _PRONOUNS or word in _EMPTY for word in words):
        return False
    return any(any(letter.isalnum() for letter in word) for word in words)


def _proper(text: str) -> str | None:
    words = text.split()
    if not 1 <= len(words) <= _WORDS_MAX or not all(map(_is_part, words, [*words[1:], ""])):
        return None
    if words[0].casefold() in _COMMON or any(word.casefold() in _PRONOUNS for word in words):
        return None
    if words[-1].casefold() in _BETWEEN or words[0].casefold() in _BETWEEN:
        return None
    is_name = any(_CAPITAL.fullmatch(word) or _CODE.fullmatch(word) for word in words)
    return " ".join(words) if is_name else None


def is_in_name(before: str, after: str) -> bool:
    """Return whether an "in" between *before* and *after* may be a part of a name.

    >>> is_in_name("Fatture", "Cloud, not Danea"), is_in_name("Flask", "the API")
    (True, False)
    """
    words, match = before.split()[-1:], _AFTER_IN.match(after)
    return bool(words and match and _CAPITAL.fullmatch(words[0]) and not _is_time(match.group()))


def _is_time(word: str) -> bool:
    return word.casefold() in MONTHS or word.casefold() in WEEKDAYS


def _is_part(word: str, following: str) -> bool:
    """Return whether *word* may be a part of a name, such as "geom." or "in" before a name."""
    if word == "in":
        return _AFTER_IN.fullmatch(following) is not None and not _is_time(following)
    if word in _BETWEEN or _NUMBER.fullmatch(word) or (following and is_title(word)):
        return True
    return bool(_CAPITAL.fullmatch(word) or _CODE.fullmatch(word))
