"""Recognise statements about a person's health that are dangerous to forget. Pure.

They are about allergies, intolerances, chronic illnesses and pregnancy. Somebody who cooks, books
or packs for that person must know them. A joke about an allergy counts, too.
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
"""Beginnings of the words in HARMS, for a search in the stemmed full-text index.

The index has "intoler" for "intolerance", so "intoleran" would not match. Everyday foods ("eggs",
"nuts") are left out: too many memories name them.
"""
HARMS = Phrases(
    r"\b(?:allerg\w*|alérgic\w+|anaphyla\w+|epi-?pens?|co?eliac\w*|zöliakie|diabeti[ckq]\w*"
    r"|diabetes|epilep\w+|\w*intoleran\w+|\w*unverträglich\w*|pregnan\w+|schwanger\w*|enceinte|embarazada"
    r"|warfarin|blood thinners?|anticoagul\w+|h(?:a)?emophil\w+|pacemaker|asthma\w*"
    r"|can(?:no|['\u2019])?t (?:eat|have|tolerate|take) (?:any )?(?:gluten|dairy|nuts?|peanuts?"
    r"|lactose|wheat|eggs?|shellfish|soya?|sesame|penicillin|ibuprofen|aspirin))\b"
)
_CLAUSE = re.compile(r"[,;:.!?]+\s+|\s+(?:so|but|and|because|cos|since|-{1,2}|[\u2013\u2014])\s+")
_CHARS_MAX = 400
"""Characters of a sentence that are read; more is a pasted text."""
_WORD = r"[\w\u2019'-]{1,30}"
# A person and a verb: "Leila's got", "my son can't". Not "the diabetes table has 768 rows".
_PERSON_HAS = Phrases(
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


def states_health_risk(sentence: str) -> bool:
    """Return whether a clause of *sentence* says that a person has a condition in HARMS.

    The sentence may also contain a question.

    >>> states_health_risk("Leila's got a nut allergy, what can I bake?")
    True
    >>> states_health_risk("Is it an allergy?")
    False
    """
    sentence = sentence[:_CHARS_MAX]
    clauses = _CLAUSE.split(sentence) if HARMS.search(sentence) else ()
    return any(map(_states_harm, clauses))


def _states_harm(clause: str) -> bool:
    subject = None if _ASKS.match(clause) else _PERSON_HAS.match(clause)
    return subject is not None and HARMS.search(clause, subject.end("who")) is not None
