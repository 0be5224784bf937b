"""Which events a text dates itself by: "before the release", "since we moved to Berlin".

Pure, in seven languages. It says what words name as an event and on which side of it a time
lies; when that was is in a memory, or nowhere (``recall/event_time.py``). Careful before complete:
an event is what is named as known ("the", "our", "we ..."); "after a walk" and "after
lunch" name none.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache
from typing import NamedTuple

WORDS_MAX = 8  # of an event
_SHORT = 3  # letters: what is no longer says little in a language without a list of such words


class Side(StrEnum):
    """Where the time that is meant lies, seen from the event."""

    BEFORE = "before"
    AFTER = "after"
    SINCE = "since"
    DURING = "during"


class Event(NamedTuple):
    """What tells an event from others, and where the time lies that is dated by it."""

    side: Side
    words: tuple[str, ...]


class _Language(NamedTuple):
    """What leads to an event, what says that it is known, and what asks, after it."""

    before: str
    after: str
    since: str
    during: str
    known: str
    asks: str


_ENGLISH = _Language(
    "before|until|till|prior to",
    "after",
    "since",
    "during",
    "the|that|this|our|my|your|his|her|their|we|i|you|they|he|she|it",
    "what|which|who|whose|where|when|why|how|did",
)
_GERMAN = _Language(
    "vor|bevor|bis zu",
    "nach|nachdem",
    "seit|seitdem",
    "während",
    "dem|der|den|des|die|das|unser(?:e[mnrs]?)?|mein(?:e[mnrs]?)?|wir|ich",
    "was|welche\\w*|wer|wann|wo|wie|warum",
)
_LANGUAGES = (
    _ENGLISH,
    _GERMAN,
    _Language(
        "avant(?: que)?",
        "après(?: que)?",
        "depuis(?: que)?",
        "pendant|durant",
        "le|la|les|notre|nos|mon|ma|nous|on",
        "que|quand|où|qui|quel\\w*|comment|pourquoi",
    ),
    _Language(
        "antes",
        "después",
        "desde",
        "durante",
        "el|la|los|las|del|de la|de los|de las|de nuestr[oa]|de mi|nuestr[oa]|mi|que",
        "qué|quién|dónde|cuándo|cómo",
    ),
    _Language(
        "prima",
        "dopo",
        "da quando",
        "durante",
        "il|lo|la|le|del|dello|della|nostr[oa]|siamo|abbiamo",
        "che|cosa|chi|dove|quando|come",
    ),
    _Language(
        "antes",
        "depois",
        "desde",
        "durante",
        "o|a|os|as|do|da|dos|das|d?[oa] noss[oa]|que",
        "quem|onde|quando|como",
    ),
    _Language(
        "voor|voordat",
        "na|nadat",
        "sinds",
        "tijdens",
        "de|het|onze|ons|mijn|we|wij|ik",
        "wat|welke?|waar|wanneer|wie|hoe",
    ),
)
_FIRST = frozenset(
    re.findall(r"[^\W_]+", " ".join(lead for language in _LANGUAGES for lead in language[:4]))
)
"""Words of which every lead holds one."""
_ELIDED = r"(?:dell?|l)['\u2019]"
_NAMED = r"(?=[A-Z\xc0-\xde][\w-]+['\u2019]s\s)"
_END = r"(?=[.,;:?!\n()]|$"
_WORD = re.compile(r"[^\W_]+")
_AHEAD = re.compile(
    r"""\b(?:do\ (?:i|we|you|they)|does|will|shall|should|can|could|would|might|must|may|need|wants?
    |plans?|going\ to|soll\w*|werde\w*|wird|muss|müssen|kann|können)\b""",
    re.IGNORECASE | re.VERBOSE,
)


@cache
def _spoken(language: _Language) -> re.Pattern[str]:
    """Return the pattern of *language*; compiled when the first question comes."""
    leads = "|".join(f"(?P<{side}>{getattr(language, side)})" for side in Side)
    return re.compile(
        rf"(?<![\w-])(?i:{leads})\s+(?:(?i:{language.known})\s+|(?i:{_ELIDED})|{_NAMED})"
        rf"(?P<words>[^.,;:?!\n()]+?){_END}|\s+(?i:{language.asks})\b)"
    )


def events(text: str) -> tuple[Event, ...]:
    """Return the events that *text* names as the limit of a time.

    >>> [(one.side.value, one.words) for one in events("What broke after the last release?")]
    [('after', ('last', 'release'))]
    """
    if _FIRST.isdisjoint(_WORD.findall(text.casefold())):
        return ()  # most texts name none, and this is soon known
    events_read = []
    for language in _LANGUAGES:
        for match in _spoken(language).finditer(text):
            words = _WORD.findall(match["words"])
            if language is _GERMAN:
                words = _with_noun(words)
            if language is not _ENGLISH:
                words = [word for word in words if len(word) > _SHORT or not word.islower()]
            if 0 < len(words) <= WORDS_MAX:
                side = next(side for side in Side if match[side])
                events_read.append(Event(side, tuple(words)))
    return tuple(dict.fromkeys(events_read))


def _with_noun(words: list[str]) -> list[str]:
    """Return *words* up to the last noun: "vor dem Umzug gekocht", the verb is the question's."""
    last = max((at for at, word in enumerate(words, 1) if word[0].isupper()), default=0)
    return words[: last or None]


def asks_ahead(text: str) -> bool:
    """Return whether *text* asks for what is to come, or for what is always so.

    >>> asks_ahead("What should I do before the release?")
    True
    """
    return _AHEAD.search(text) is not None
