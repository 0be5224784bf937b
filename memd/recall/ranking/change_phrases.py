"""Words with which somebody says that something is otherwise than it was. Pure.

Some correct what was said ("no longer", "correction:"), others tell of an event that changes
something ("moved", "sold", "now") and are said of much else. Whether a text ends what another one
says shows only where both are about the same thing: ``newer_first.py`` compares memories,
``inject/brief/outdated_rules.py`` rules.
"""

from __future__ import annotations

import re

from memd.text.alternations import any_of, anywhere
from memd.text.words import WORD, content_stems

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


def corrects(text: str) -> bool:
    """Return whether *text* says that something is not as it was said.

    >>> corrects("Correction: watchdog is 8 seconds, 4 was too short")
    True
    >>> corrects("The watchdog timeout is 4 seconds"), corrects("we sold the old bike")
    (False, False)
    """
    if _OPENS.match(text) is not None:
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
