"""Find events by which a text gives a time: "before the release", "since we moved to Berlin".

Pure, in seven languages. The result is the event's words, and on which side of it the time lies;
its date may be in a memory (``recall/event_time.py``). Precision before completeness: an event is
named as known ("the", "our", "we ..."); "after a walk" and "after lunch" name none.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache
from typing import NamedTuple

WORDS_MAX = 8  # of an event
_SHORT = 3  # letters of probable function words, in languages without a list of them


class Side(StrEnum):
    """Where the time lies, relative to the event."""

    BEFORE = "before"
    AFTER = "after"
    SINCE = "since"
    DURING = "during"


class Event(NamedTuple):
    """An event's words, and where the time lies relative to it."""

    side: Side
    words: tuple[str, ...]


class _Language(NamedTuple):
    """Patterns of what precedes an event, marks it as known, and asks a question after it."""

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
"""Every lead contains one of these words."""
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
def _pattern(language: _Language) -> re.Pattern[str]:
    """Return the pattern of *language*, compiled on first use."""
    leads = "|".join(f"(?P<{side}>{getattr(language, side)})" for side in Side)
    return re.compile(
        rf"(?<![\w-])(?i:{leads})\s+(?:(?i:{language.known})\s+|(?i:{_ELIDED})|{_NAMED})"
        rf"(?P<words>[^.,;:?!\n()]+?){_END}|\s+(?i:{language.asks})\b)"
    )


def find_events(text: str) -> tuple[Event, ...]:
    """Return the events by which *text* gives a time.

    >>> [(one.side.value, one.words) for one in find_events("What broke after the last release?")]
    [('after', ('last', 'release'))]
    """
    if _FIRST.isdisjoint(_WORD.findall(text.casefold())):
        return ()  # the fast path for most texts
    events_read = []
    for language in _LANGUAGES:
        for match in _pattern(language).finditer(text):
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
    """Return *words* up to the last noun, since in "vor dem Umzug gekocht" the verb is not part."""
    last = max((at for at, word in enumerate(words, 1) if word[0].isupper()), default=0)
    return words[: last or None]


def asks_ahead(text: str) -> bool:
    """Return whether *text* asks about the future, or about what is always so.

    >>> asks_ahead("What should I do before the release?")
    True
    """
    return _AHEAD.search(text) is not None
