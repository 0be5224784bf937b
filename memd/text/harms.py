"""What harms somebody if it is forgotten: whoever cooks, books or packs for them must know it.

Allergies, intolerances, illnesses that are treated for good, pregnancy. A joke about an allergy
counts, too. Pure.
"""

from __future__ import annotations

import re

from memd.text.alternations import Phrases

HARM_BEGINNINGS = (
    *("allerg", "alerg", "anaphyla", "epipen", "epi-pen", "coeliac", "celiac", "zöliakie"),
    *("diabet", "epilep", "intoler", "laktoseintoler", "unverträglich", "laktoseunverträglich"),
    *("glutenunverträglich", "pregnan", "schwanger", "enceinte", "embarazada", "warfarin"),
    *("anticoagul", "haemophil", "hemophil", "pacemaker", "asthma", "thinner", "gluten", "dairi"),
    *("peanut", "shellfish", "lactos", "sesam", "penicillin", "ibuprofen", "aspirin"),
    *("fruktoseintoler", "histaminintoler", "histaminunverträglich", "fruktoseunverträglich"),
)
"""How words of HARMS begin, as stems: "intoler" finds "intolerance", "intoleran" does not.

Words for what is eaten every day ("eggs", "nuts") are left out: too many memories have them."""
HARMS = Phrases(
    r"\b(?:allerg\w*|alérgic\w+|anaphyla\w+|epi-?pens?|co?eliac\w*|zöliakie|diabeti[ckq]\w*"
    r"|diabetes|epilep\w+|\w*intoleran\w+|\w*unverträglich\w*|pregnan\w+|schwanger\w*|enceinte|embarazada"
    r"|warfarin|blood thinners?|anticoagul\w+|h(?:a)?emophil\w+|pacemaker|asthma\w*"
    r"|can(?:no|['\u2019])?t (?:eat|have|tolerate|take) (?:any )?(?:gluten|dairy|nuts?|peanuts?"
    r"|lactose|wheat|eggs?|shellfish|soya?|sesame|penicillin|ibuprofen|aspirin))\b"
)
_CLAUSE = re.compile(r"[,;:.!?]+\s+|\s+(?:so|but|and|because|cos|since|-{1,2}|[\u2013\u2014])\s+")
_CHARS_MAX = 400
_WORD = r"[\w\u2019'-]{1,30}"
# Somebody is, has or takes something; "the diabetes table has 768 rows" tells of no one.
_TELLS = Phrases(
    r"\W*(?:(?:oh|and|btw|also|ok(?:ay)?|well|remember|yes|no|yeah|actually|we have)\W+){0,3}"
    rf"(?P<who>(?:my|our|his|her|their|one of) {_WORD}(?: {_WORD})?"
    rf"|(?!(?:the|this|that|these|those|it|there|what|data|is|are|do|does|if)\b){_WORD})"
    r"(?:['\u2019](?:s|m|re|ve)|(?<=\bi)m|(?<=\bhe)s|(?<=\bshe)s| am| is| are| was| has| have| had"
    r"| got| takes?| can(?:no|['\u2019])?t| bin| ist| habe| hat| suis| est| soy| es)\b"
)
_ASKS = Phrases(
    r"\W*(?:(?:and|but|so|or|hi|hey|hm+|ok(?:ay)?)\W+)?(?:is|are|was|do|does|did|can|could|would"
    r"|should|will|what|which|who|how|why|where|when|if|whether|any|unless|suppose|imagine)\b(?!['\u2019]t)"
)


def tells_harm(sentence: str) -> bool:
    """Return whether *sentence* tells of somebody what harms them, also beside a question.

    >>> tells_harm("Leila's got a nut allergy, what can I bake?"), tells_harm("Is it an allergy?")
    (True, False)
    """
    sentence = sentence[:_CHARS_MAX]
    clauses = _CLAUSE.split(sentence) if HARMS.search(sentence) else ()
    return any(map(_tells, clauses))


def _tells(clause: str) -> bool:
    subject = None if _ASKS.match(clause) else _TELLS.match(clause)
    return subject is not None and HARMS.search(clause, subject.end("who")) is not None
