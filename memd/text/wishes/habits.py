"""Recognise that a later sentence ends a habit, or a wish for somebody's sake. Pure.

Three forms: another thing is chosen ("I like the window seat now, not the aisle"), it no longer
matters ("I don't mind where I sit on planes any more"), and the one who disliked a thing likes it
now ("emil mag kokos jetzt doch"). All texts are in lower case, with single spaces.
"""

from __future__ import annotations

import re

from memd.text.words import content_stems

_NOW = r"(?:now|again|these days|after all|jetzt|inzwischen|mittlerweile|wieder|doch|nun)"
_THING = r"[\w'-]+(?: [\w'-]+){0,3}"
_ANOTHER = re.compile(
    r"(?:well |ok |actually )?(?:i(?:'ve|'d| have)? (?:\w+ )?"
    r"(?:have|like|prefer|want|take|sit|use|drink|eat|love|need|choose)"
    r"|ich (?:mag|will|möchte|nehme?|sitze?|trinke?|esse?|nutze?))\b"
    rf"[^,.;:!?]{{2,60}}? {_NOW}[^,.;:!?]{{0,20}},? (?:and |but |und )?"
    r"(?:not|no longer|nicht(?: mehr)?)"
    rf" (?:in |on |at |by |am |im |an |auf )?(?:the |a |dem |der |den )?(?P<thing>{_THING}?)"
    r"(?: any ?more| mehr)?[.!]*"
)
_NO_MATTER = re.compile(
    r"(?:i )?(?:don't|do not|dont|no longer) (?:mind|care)(?: about)?"
    r" (?:where|what|which|how|if|whether|when|who) (?:i|you|we) (?P<rest>[^,.;:!?]{3,60}?)"
    r"(?: any ?more| any longer| now)[.!]*"
    rf"|(?:mir ist|(?:es |das )?ist mir) {_NOW} (?:egal|gleich|wurst),?"
    r" (?:wo|was|wie|ob|welche\w*|wann) (?:ich|du|wir) (?P<de>[^,.;:!?]{3,60})[.!]*"
)
_NO_MATTER_STEMS_MIN = 2
# A habit, up to the place or thing that follows a preposition: "i always sit on ".
_HABIT = re.compile(
    r"(?:please |bitte )?(?:i (?:always|usually|prefer to|like to|want to)|ich \w+)"
    r"(?: [\w'-]+){0,3}? (?P<rest>(?:in|on|at|by|am|im|an|auf) .+)"
    r"|i always\b.+|ich \w+ .*\bimmer\b.+"
)
_PREPOSITION = re.compile(r"(?:^|\s)(?:in|on|at|by|for|with|to|am|im|an|auf|bei|mit|für)\s")
_ARTICLE = re.compile(r"^(?:the|a|an|my|dem|der|den|das|die) ")
_NO_NAME = (
    r"(?!(?:i|he|she|it|we|you|they|who|ich|er|sie|es|wir|ihr|man|that|this|das|die|und|and)\b)"
)
_DISLIKES = re.compile(
    rf"{_NO_NAME}(?P<who>(?:(?:my|our|mein|meine|unser|unsere) )?\w+)"
    r" (?:hates|dislikes|can't stand|does(?:n't| not) (?:like|eat)|is allergic to|hasst"
    rf"|(?:mag|isst|trinkt|verträgt) keine?n?) (?P<thing>{_THING})"
)
_LIKES_NOW = re.compile(
    rf"{_NO_NAME}(?P<who>(?:(?:my|our|mein|meine|unser|unsere) )?\w+)"
    rf" (?:likes|loves|eats|drinks|mag|liebt|isst|trinkt|verträgt) (?P<thing>{_THING}?)"
    rf" {_NOW}(?: {_NOW})?(?: gerne?)?[.!]*"
    rf"|{_NO_NAME}(?P<who_de>(?:(?:mein|meine|unser|unsere) )?\w+)"
    rf" (?:mag|liebt|isst|trinkt|verträgt) {_NOW}(?: {_NOW})? (?P<thing_de>(?!kein)[\w-]+)[.!]*"
)
_CLAUSE = re.compile(r"[,.;:]\s+|\s+(?:because|since|weil|denn|and|und)\s+")


def left_thing(plain: str) -> str:
    """Return the thing for which *plain* chooses another now, "" without one.

    >>> left_thing("i drink coffee now, not tea"), left_thing("i drink coffee, not tea")
    ('tea', '')
    """
    another = _ANOTHER.fullmatch(plain)
    return another["thing"] if another else ""


def may_end_habit(plain: str) -> bool:
    """Return whether *plain* may end a habit.

    >>> may_end_habit("i like the window seat now, not the aisle")
    True
    >>> may_end_habit("we have window seats now"), may_end_habit("emil mag kokos nicht mehr")
    (False, False)
    """
    return any(pattern.fullmatch(plain) for pattern in (_ANOTHER, _NO_MATTER, _LIKES_NOW))


def ends_habit(plain: str, value: str) -> bool:
    """Return whether *plain* ends what *value* states.

    >>> value = "i always sit on the aisle on planes"
    >>> ends_habit("i like the window seat now, not the aisle", value)
    True
    >>> ends_habit("i don't mind where i sit on planes any more", value)
    True
    >>> value = "bitte keine vorschläge mit kokos, emil hasst kokos"
    >>> ends_habit("emil mag kokos jetzt doch", value), ends_habit("tom mag kokos jetzt", value)
    (True, False)
    """
    if thing := left_thing(plain):
        return _is_place_of(thing, value)
    if matter := _NO_MATTER.fullmatch(plain):
        stems = content_stems(matter["rest"] or matter["de"])
        is_habit = _HABIT.fullmatch(value) is not None and not _CLAUSE.search(value)
        return is_habit and len(stems) >= _NO_MATTER_STEMS_MIN and stems <= content_stems(value)
    likes = _LIKES_NOW.fullmatch(plain)
    return likes is not None and _is_for_sake_of(
        likes["who"] or likes["who_de"], likes["thing"] or likes["thing_de"], value
    )


def _is_place_of(thing: str, value: str) -> bool:
    """Return whether *thing* is what follows the first preposition of the habit *value*."""
    habit = _HABIT.fullmatch(value)
    if habit is None or habit["rest"] is None or _CLAUSE.search(value):
        return False
    _, first, *_ = _PREPOSITION.split(f" {habit['rest']}")
    return _ARTICLE.sub("", first.strip()).rstrip(".! ") == thing


def _is_for_sake_of(who: str, thing: str, value: str) -> bool:
    """Return whether *value* wishes no *thing*, as *who* dislikes it, and nothing else."""
    clauses = [clause.rstrip(".! ") for clause in _CLAUSE.split(value) if clause]
    reasons = [match for clause in clauses if (match := _DISLIKES.fullmatch(clause))]
    is_one = len(reasons) == 1 and (reasons[0]["who"], reasons[0]["thing"]) == (who, thing)
    others = [clause for clause in clauses if not _DISLIKES.fullmatch(clause)]
    return is_one and all(re.search(rf"\b{re.escape(thing)}\b", clause) for clause in others)
