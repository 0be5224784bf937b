"""Find which listed options a message refers to: "D4", "2", "the second one". Pure.

A *mark* is the number, letter or code that identifies one item of a list.
"""

from __future__ import annotations

import re

from memd.text.alternations import Phrases

MARKS_MAX = 8
"""How many marks of one message are used; a longer list is not a choice."""

STEPS = Phrases(
    r"\b(?:start\w*|begin\w*|continue|step|look\w*|show|read|check\w*|commit\w*|merge\w*|push\w*"
    r"|re-?run|re-?start\w*|roll(?:ing)? back|break|wait|cache|diffs?|logs?|answer|reply"
    r"|explanation|undo|revert|clear|first|now|lines?|words?|sentences?|paragraphs?|typos?|imports?|comments?|variables?"
    r"|anfangen|beginne\w*|weiter\w*|schau\w*|zeig\w*|prüf\w*|warte\w*|neu ?start\w*"
    r"|zuerst|schritt|antwort|erklärung|committen|lauf\w*)\b"
)
"""Words of a choice of the moment: what the agent does next, its answer, a spot in a text."""

_NUMBER = r"\d{1,3}(?:\.\d{1,3})*"  # "3", or of a section: "2.5"
# Codes of items: D4, UX2, Q-UX1, F12.
_NAMED = re.compile(r"(?<![\w/.-])(?:[A-Z]{1,4}-)?[A-Z]{1,4}-?\d{1,3}[a-z]?(?![\w-]|\.\w)")
# "option B", "finding 3", "go with b", "fix #4", "(a)"
_CHOSEN = Phrases(
    r"\b(?:option|point|item|issue|finding|step|phase|bug|choice|approach|suggestion|number|no\."
    r"|nr\.|nummer|variante?|möglichkeit|vorschlag|opción|opção|opzione|optie|número|numéro)"
    rf"(?:s?\s+#?\(?|s?[#(]|(?=\d))({_NUMBER}|[a-z])\b\)?"
    r"|\b(?:it'?s|go with|do|take|choose|pick|prefer|use)\s+\(?([a-d]|\d{1,2})\)?"
    r"(?=\s*(?:$|[,!;]|\.\s*$))"
    r"|\b(?:address|fix|tackle|handle|implement|skip|ignore|look at(?: this)?|consider this \w+)"
    rf":?\s+#?({_NUMBER})\b"
    r"|#(\d{1,3})\b|\(([a-z])\)"
)
# A mark at the start, with a comment: "1, but not persisted", "die 2 bitte", "b then", "ok a".
# Small letters only where no article can stand: "a bit later" refers to nothing.
_LEADS = Phrases(
    r"\W*(?:(?:[Oo]k(?:ay)?|[Yy]es|[Yy]eah|[Jj]a|[Gg]ut|[Hh]m+|[Ff]ine|oui|sí|[Tt]hen|[Dd]ann"
    r"|(?:[Ll]et'?s )?(?:go with|take)|[Nn]imm|[Ww]ir nehmen|lass uns|the|die|der|das|de|la|le|el"
    r"|il|o)\W+)*"
    r"#?(?P<mark>\d{1,2}|[A-E]|[a-d](?=[,)]|\W*$|\s(?:please|pls|bitte|nehmen|then|dann|it is|but"
    r"|aber|because|without|ohne)\b))\)?"
    r"(?=(?:\s*[,;!]|[.:]|\s[-\u2013\u2014]\s)(?!\s*(?:\d|[b-e]\b))|\W*$"
    r"|\s(?:then|dann|it is)(?=\s*(?:$|[,.;!]))"
    r"|\s(?:please|pls|bitte|nehmen|but|aber|mais|pero|mas|ma|maar|with|without|mit|ohne|and|und"
    r"|because|'?cause|cos|since|weil)\b(?!\s*\d))",
    0,
)
# A mark at the end, after a remark: "it is slow to compile but ok, a".
_ENDS = Phrases(
    r"(?:[,;.!\u2013\u2014-]|\b(?:but|so|and|aber|und))\s+(?:(?:na|then|dann)\s+)?"
    r"(?:ok(?:ay)?|fine|all ?right|gut|meinetwegen|then|dann)[\s,:]+"
    r"\(?(\d{1,2}|[a-d])\)?(?:\s+(?:then|dann|please|pls|bitte))?\W*$"
)
# Numbers in a message that only picks, except of "top 3".
_NUMBERS = re.compile(rf"(?<!top )(?<!\d[.:])\b{_NUMBER}\b(?![.:]\d)", re.IGNORECASE)
# Lines that answer a numbered list: "2. yes"
_NUMBERED = re.compile(r"^[ \t]*(\d{1,2})[.)]\s", re.MULTILINE)
# A whole message of marks and an action: "address 3, 8 and 11".
_PICKS = Phrases(
    r"\W*(?:(?:ok(?:ay)?|let'?s|please|address|fix|do|implement|tackle|handle|apply|skip|keep|drop"
    r"|ignore|and|also|all|top|items?|points?|numbers?|findings?|issues?|option|both|first|then|now"
    r"|just|yes|go|with|add|not|but|no|for|on|the|\d{1,3})\b[\s,:./&+!#()]*)+$"
)
_LETTER = re.compile(r"\W*([a-eA-E])\W*$")

_ORDINALS = (
    r"first|1st|erste[nrs]?|primer[oa]?|premi(?:er|ère)|prim[oa]|primeir[oa]|eerste",
    r"second|2nd|zweite[nrs]?|segund[oa]|deuxi[eè]me|second[oa]|tweede",
    r"third|3rd|dritte[nrs]?|tercer[oa]?|troisi[eè]me|terz[oa]|terceir[oa]|derde",
    r"fourth|4th|vierte[nrs]?|cuart[oa]|quatri[eè]me|quart[oa]|vierde",
    r"last|letzte[nrs]?|[uú]ltim[oa]|derni(?:er|ère)|laatste",
)
_LAST = -1
# "Ooh first one", "the second, please", "die letzte nehmen": with an article or a noun, because
# "first, run the tests" picks nothing, and not what says how the second one fails.
_ORDINAL_PICK = Phrases(
    r"\W*(?:(?:o+h|ah|ok(?:ay)?|yes|yeah|yep|ja|oui|sí|hm+|then|i'?d say"
    r"|i (?:like|love|prefer|think)"
    r"|(?:i'?(?:ll|d) |i will |let'?s )?(?:go (?:with|for)|take|pick|do)"
    r"|ich nehme|nimm|wir nehmen|je prends|on prend|prendo|tomo)\W+)*"
    r"(?P<article>(?:the|die|der|das|den|la|le|el|il|lo|de|het|o)\s+)?"
    rf"(?:{'|'.join(rf'(?P<n{place}>{names})' for place, names in enumerate(_ORDINALS))})"
    r"(?P<noun>\s+(?:one|option|idea|suggestion|version|draft|variante?|idee|idée|opción|opção"
    r"|opzione|optie|proposition|vorschlag))?"
    r"(?=\s*(?:$|[,.!;:)\u2013\u2014])|\s+(?:please|pls|bitte|por favor|per favore|alsjeblieft"
    r"|looks|sounds|is (?:great|good|nice|lovely|perfect|better|best|fine|it)|it is|then|thanks"
    r"|with|but|and|klingt|passt|nehmen|me gusta)\b)"
)


def find_ordinal(user: str) -> int | None:
    """Return the place, from 0 on and -1 for the last, of what *user* picks by its order.

    >>> find_ordinal("ooh first one. yes get that on the list"), find_ordinal("die letzte, bitte")
    (0, -1)
    >>> find_ordinal("First, run the tests"), find_ordinal("the second one is broken")
    (None, None)
    """
    pick = _ORDINAL_PICK.match(user)
    if pick is None or not (pick["article"] or pick["noun"]):
        return None
    place = next(at for at in range(len(_ORDINALS)) if pick[f"n{at}"])
    return _LAST if place == len(_ORDINALS) - 1 else place


def is_selection(user: str) -> bool:
    """Return whether the message *user* only picks items: "fix 4", "2", "address 3, 8 and 11".

    >>> is_selection("fix 4"), is_selection("fix 4 with a lock"), is_selection("yes")
    (True, False, False)
    """
    return _PICKS.match(user) is not None and any(map(str.isdigit, user))


def find_marks(user: str) -> list[str]:
    """Return the marks in the message *user*, without duplicates, at most MARKS_MAX."""
    marks = [match[0] for match in _NAMED.finditer(user)]
    marks += [next(filter(None, match.groups())) for match in _CHOSEN.finditer(user)]
    if "\n" not in user.strip() and (lead := _LEADS.match(user)):
        marks.append(lead["mark"])
    if ending := _ENDS.search(user):
        marks.append(ending[1])
    marks += _NUMBERED.findall(user)
    if _PICKS.match(user):
        marks += _NUMBERS.findall(user)
    if letter := _LETTER.match(user):
        marks.append(letter[1])
    return list(dict.fromkeys(marks))[:MARKS_MAX]
