"""Words with which somebody says that something is otherwise than it was. Pure.

Some correct what was said ("no longer", "correction:"), others tell of an event that changes
something ("moved", "sold", "now") and are said of much else. Whether a text ends what another one
says shows only where both are about the same thing: ``newer_first.py`` compares memories,
``inject/brief/outdated_rules.py`` rules.

Others give up a choice by its name ("drop rayon" after "rayon it is"). Recall and naps both ask
``gives_up_choice``.
"""

from __future__ import annotations

import re
from functools import lru_cache

from memd.domain.sleep.consolidation import CORRECTED_PART
from memd.text.alternations import Phrases, any_of, anywhere
from memd.text.languages import FUNCTION_WORDS
from memd.text.words import WORD, content_stems, sentences

_LEAD = (
    r"\W*(?:(?:and|also|so|but|oh|ok|okay|by the way|btw|user|note|fyi|no|nope|nein|non|sorry|oops"
    r"|wait)\b\W+)*"
)
_OPENINGS = """
    correction, erratum, updated?(?=:), actually, i was wrong, my mistake, scratch that,
    not any ?more, on second thoughts?, korrektur, berichtigung, doch nicht, richtigstellung,
    en fait, corrección, en realidad, correzione, correção, na verdade, correctie, eigenlijk
"""
_CORRECTING = """
    no longer, any ?more, used to be, (?:is|are|was|were) (?:now|wrong), turned out (?:to be|that),
    (?:moved|changed|switched|went back) (?:from|to), instead of, rather than, nicht mehr,
    (?:ist|sind|war|waren) falsch, (?:\\w+[tn]|sind|war) (?:jetzt|nun), désormais, statt,
    ne \\S+ plus, au lieu d\\w*, ya no, en vez de, non più, invece di, já não, em vez de,
    niet meer, in plaats van
"""
_CHANGING = """
    no more, these days, in the meantime, after all,
    (?:from|as of|since|starting) (?:today|this|then|now|last|next|\\w+day|january|february|march
        |april|may|june|july|august|september|october|november|december), back to,
    (?:went|goes?|put|is|are|was|be) (?:up|down|back|off|out|over), (?:took|takes) over, stood down,
    turn(?:s|ed) out, rid of, no need, no \\w+ needed, down to, up to, kein\\w* mehr,
    ab (?:heute|sofort), en fait, en realidad
"""
_OF_EITHER = frozenset(
    "now new changed move moves moved cut raised lowered reduced increased extended".split()  # noqa: SIM905
)
_OF_NUMBERS = _OF_EITHER.union(
    """
    change changes cuts raise raises lower lowers reduce reduces increase increases extend extends
    """.split()  # noqa: SIM905
)
"""Beside a number; "nobody may change the port" changes nothing."""
_WORDS = _OF_EITHER.union(
    """
    nowadays anymore instead again actually correction changing switch switched switches switching
    swap swapped replace replaced replaces replacing rename renamed renaming migrate migrated bump
    bumped gone left quit stop stops stopped cancel cancelled canceled cancels drop dropped sold
    died broke split retire retired retires wrong postpone postponed extension closed threw lost
    stolen became forget ended
    jetzt nun stattdessen statt wieder doch neu neue neuer neues neuen falsch umgezogen gewechselt
    gekündigt verkauft aufgehört verschoben korrektur maintenant désormais nouveau nouvelle nouvel
    changé déménagé vendu ahora nuevo nueva cambiado cambió vendí adesso ora nuovo nuova cambiato
    agora novo nova mudou mudei nu nieuw nieuwe verhuisd verkocht
    """.split()  # noqa: SIM905
)
_SIGNS = _WORDS.union(
    "longer more used turned back rather mehr plus lieu ya vez più invece já meer plaats".split()  # noqa: SIM905
)
"""One of these is in each phrase that corrects: to look for them costs a part of the pattern."""
CHANGE_STEMS = content_stems(" ".join(_SIGNS))
_OPENS = re.compile(rf"{_LEAD}(?:{any_of(_OPENINGS)})\b", re.IGNORECASE)
_LEADS = re.compile(rf"{_LEAD}(?:(?:{any_of(_OPENINGS)})\b\W*)?", re.IGNORECASE)
_CORRECTS = re.compile(rf"\b(?:{any_of(_CORRECTING)})\b|\bnow\W*$", re.IGNORECASE)
_CHANGES = anywhere(_CHANGING)
_NOW = anywhere("now, from now on, after all")

# A clause that gives up a name, with or without something else in its place: "crossbeam then, drop
# rayon". Such an order may also mean a part of the work, so it only counts against an earlier
# choice of that name.
_GIVEN_UP = r"(?:the |our |den |die |das )?([^\W_][\w.+#/-]*(?: [\w.+#/-]+)??)"
_CLAUSE_END = re.compile(r"[,;:.!]+(?:\s+|$)|\s+(?:[\u2013\u2014-]|and|und)\s+", re.IGNORECASE)
_CLAUSES = (
    rf"(?:drop|scrap|ditch|abandon|forget(?: about)?|get rid of) {_GIVEN_UP}",
    rf"(?:[\w ]{{1,40}} without|without|not) {_GIVEN_UP} after all",
    rf"no more {_GIVEN_UP}",
    rf"no {_GIVEN_UP} any ?more",
    rf"{_GIVEN_UP} is out",
    rf"(?:vergiss|vergesst|weg mit|streich(?:e|en wir)?|wir verzichten auf) {_GIVEN_UP}",
    rf"kein(?:en?)? {_GIVEN_UP} mehr",
    rf"(?:[\w ]{{1,40}} )?(?:doch|lieber) (?:ohne|kein(?:en?)?) {_GIVEN_UP}",
    rf"{_GIVEN_UP} (?:fliegt|kommt|muss|werfen wir|schmei(?:ß|ss)en wir)(?: wieder)? raus",
    rf"(?:wirf|schmei(?:ß|ss)) {_GIVEN_UP}(?: wieder)? raus",
    rf"lass(?:en wir)? {_GIVEN_UP} weg",
)
_GIVES_UP = re.compile(
    r"\W*(?:(?:meh|no|nah|hm+|ok(?:ay)?|so|then|but|also|ne|nein|ach|dann|lets|let's|we(?:'ll)?"
    r"|i'd|just|please|pls|bitte|actually|lieber|doch)\b\W+)*"
    rf"(?:{'|'.join(_CLAUSES)})"
    r"(?: (?:again|then|please|altogether|entirely|wieder|dann|bitte))?\W*",
    re.IGNORECASE,
)
_GIVE_UP_SIGNS = (
    *("drop", "scrap", "ditch", "abandon", "forget", "rid of", "after all", "no more", "any more"),
    *("anymore", "is out", "vergiss", "vergesst", "weg", "streich", "verzichten", "kein", "ohne"),
    "raus",
)
"""One of these is in each clause that gives up a name; they are cheap to look for."""
# The sentence gives up nothing yet, or only for a while.
_NOT_YET = Phrases(
    r"\b(?:if|unless|when|once|until|before|maybe|perhaps|later|for (?:now|a)|falls|wenn|sobald"
    r"|bevor|bis|vielleicht|später|vorerst|erstmal"
    r"|(?<!on )re-?(?:creat|start|load|build|import|install)\w*"
    r"|(?:create|start|load|build|import|install) (?:it|them))\b"
)
# Before a name that was not chosen: "SQLite instead of Redis".
_NOT_CHOSEN = re.compile(
    r"\b(?:not?|never|without|instead|rather|than|over|drop|scrap|ditch|forget|out|\w+n'?t|kein\w*"
    r"|nicht|nie|ohne|statt|vergiss)\b",
    re.IGNORECASE,
)
CHOICE_CHARS = 100  # of a message that only chooses
_CHOOSES = frozenset(
    """
    ok okay let lets go goes use using take pick choose then fine good yes want try
    nehmen nimm nehme wir dann halt eben gut machen mach wird mit
    """.split()  # noqa: SIM905
)


@lru_cache(maxsize=4_096)  # the candidates of an answer are read, and often are the same
def corrects(text: str) -> bool:
    r"""Return whether *text* says that something is not as it was said.

    A composed memory with a correction also does, whatever its words.

    >>> corrects("Correction: watchdog is 8 seconds, 4 was too short")
    True
    >>> corrects("no, 290\nCorrects: the fee is 260 euro")
    True
    >>> corrects("The watchdog timeout is 4 seconds"), corrects("we sold the old bike")
    (False, False)
    """
    if CORRECTED_PART in text or _OPENS.match(text) is not None:
        return True
    words = WORD.findall(text.casefold())
    return not _SIGNS.isdisjoint(words) and _CORRECTS.search(text) is not None


def announces_change(text: str) -> bool:
    """Return whether *text* tells of something that is otherwise now, or corrects something.

    >>> announces_change("we sold the old bike"), announces_change("the old bike is red")
    (True, False)
    """
    if not _WORDS.isdisjoint(WORD.findall(text.casefold())):
        return True
    return corrects(text) or _CHANGES.search(text) is not None


def changes_number(text: str) -> bool:
    """Return whether *text* may give a number that takes the place of another one.

    >>> changes_number("cut the limit to 15,000 words"), changes_number("we sold 3 of the bikes")
    (True, False)
    """
    return not _OF_NUMBERS.isdisjoint(WORD.findall(text.casefold()))


def holds_now(text: str) -> bool:
    """Return whether *text* tells what holds from now on.

    >>> holds_now("american spelling after all"), holds_now("the old bike is gone")
    (True, False)
    """
    return _NOW.search(text) is not None


def without_lead(text: str) -> str:
    """Return *text* without the words that only lead to what it says.

    >>> without_lead("No, correction: the watchdog is at 16 seconds")
    'the watchdog is at 16 seconds'
    """
    return text[_LEADS.match(text).end() :]  # type: ignore[union-attr]  # it matches any text


@lru_cache(maxsize=64)  # a message is compared with many earlier ones
def find_given_up(text: str) -> tuple[frozenset[str], ...]:
    """Return the words of each name that a clause of *text* gives up, whatever takes its place.

    >>> find_given_up("crossbeam then, drop rayon."), find_given_up("if it hangs, drop rayon")
    ((frozenset({'rayon'}),), ())
    """
    lower = text.lower()
    if not any(sign in lower for sign in _GIVE_UP_SIGNS):
        return ()
    names = (_name_words(name) for part in sentences(text) for name in _list_given_up(part))
    return tuple(filter(None, names))


def gives_up_choice(text: str, earlier: str) -> bool:
    """Return whether *text* gives up the name that *earlier*, a short choice, is about.

    The rest of *earlier* must say little, unless *text* says it, too.

    >>> gives_up_choice("crossbeam then, drop rayon", "no then. rayon it is")
    True
    >>> gives_up_choice("drop redis", "use postgres instead of redis")
    False
    """
    names = find_given_up(text)
    if not names or len(earlier) > CHOICE_CHARS:
        return False
    left = _name_words(earlier) - _name_words(text) - _CHOOSES
    return not left and any(_is_chosen(name, part) for name in names for part in sentences(earlier))


def _list_given_up(sentence: str) -> list[str]:
    matches = filter(None, map(_GIVES_UP.fullmatch, _CLAUSE_END.split(sentence)))
    names = [match[match.lastindex or 0] for match in matches]
    return names if names and "?" not in sentence and not _NOT_YET.search(sentence) else []


def _name_words(text: str) -> frozenset[str]:
    return frozenset(WORD.findall(text.casefold())) - FUNCTION_WORDS


def _is_chosen(name: frozenset[str], sentence: str) -> bool:
    """Return whether *sentence* has all words of *name*, and none before them that denies it."""
    folded = sentence.casefold()
    starts = [folded.find(word) for word in name] if name <= _name_words(sentence) else [-1]
    return min(starts) >= 0 and not _NOT_CHOSEN.search(sentence[: min(starts)])
