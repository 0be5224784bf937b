"""Recognise statements about a person's health that are dangerous to forget. Pure.

They are about allergies, intolerances, chronic illnesses and pregnancy, and about what makes
somebody ill. Somebody who cooks, books or packs for that person must know them. A joke about an
allergy counts, too.
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
    *("verträgt", "reagier", "reagi", "reaccion", "toler", "toller", "soport", "verdraagt", "rash"),
    *("hive", "swollen", "nesselsucht", "ausschlag", "hautausschlag", "quaddel", "atemnot"),
    *("urticari", "urticair", "orticari", "netelroo", "galbult", "bienen", "wespen", "wasp"),
    *("sting", "amoxicil", "antibiot", "paracetamol", "diclofena", "naproxen", "cortison"),
    *("kortison", "codein", "morphin", "ibuprof"),
)
"""Beginnings of the words in HARMS, for a search in the stemmed full-text index.

The index has "intoler" for "intolerance", so "intoleran" would not match. Everyday foods ("eggs",
"nuts") are left out: too many memories name them. So are "reacts" and "supporte".
"""
_DRUG = (
    r"(?:(?:p[eé]ni[cz]il|amoxicil|antibioti|ibuprof|aspirin|paracetamol|diclofena[ck]|naproxen"
    r"|metamizol|novalgin|[ck]ortison|[ck]odein|morphin|nurofen|voltaren|statin|opioid)\w*)"
)
_AGENT = (
    rf"(?:{_DRUG}|gluten|dairy|milk|milch\w*|lait|leche|leite|melk|la[ck]tos[ae]|lattosio|latticini|nuts?|(?:erd|hasel"
    r"|wal)?n[uü]ss\w*|noix|nueces|noci|noten|(?:pea|wal|hazel)nuts?|almonds?|mandeln?|eggs?"
    r"|eier\w*|ei|œufs?|huevos?|uova|ovos?|wheat|weizen\w*|soya?|soja\w*|sesame?|shellfish"
    r"|meeresfrüchte\w*|garnelen|prawns?|shrimps?|fisch|honey|honig|miel|strawberr\w+"
    r"|erdbeer\w*|fraises?|fresas?|fragole|tomat\w+|chocolate|schokolade|grapefruit|alcohol"
    r"|alkohol|caffeine|koffein|(?:bee|wasp|insect)s?|stings?|(?:bienen|wespen|insekten)\w*"
    r"|guêpes?|abeilles?|abejas?|avispas?|vespe|abelhas?|vespas?|bijen|wespensteken|pollen"
    r"|pólen|polen|katzen\w*|cat hair|dust|hausstaub)(?!\.\w)"
)
_REACTION = (
    r"(?:rash(?:es)?|hives|nesselsucht|(?:haut)?ausschlag|quaddeln|atemnot|urticaire|urticaria"
    r"|orticaria|urticária|netelroos|galbulten|swells? up|swollen)"
)
# What a body does with a drug, a food or an insect, which each of these phrases names.
_REACTIONS = (
    rf"\b(?:verträg\w*|vertrag(?:e|en)?) (?:\w+ )?keine?[nrms]? (?:\w+ )?{_AGENT}\b"
    rf"|\b(?:verträg\w*|vertrag(?:e|en)?) (?:\w+ )?{_AGENT} (?:\w+ )?nicht\b"
    rf"|\b{_AGENT} (?:verträg\w*|vertrag(?:e|en)?) (?:\w+ )?nicht\b"
    r"|\b(?:tolère|tolere|supporte|digère)s? (?:pas|mal) (?:(?:les?|la|du|de) |l['\u2019])?"
    rf"{_AGENT}\b"
    r"|\b(?:no|não|non) (?:toler[aoe]|tollera|soport[ao]|sopporta|digier[eo]|digerisce)s?"
    rf" (?:\w+ )?{_AGENT}\b"
    rf"|\bverdraa(?:gt|g) (?:geen|slecht) {_AGENT}\b|\bkan (?:niet|slecht) tegen {_AGENT}\b"
    r"|\b(?:reagier\w+|react(?:s|ed)?|réagi(?:s|t)?|reaccion\w+|reagisc[eo]|reagiu|reage|reageert)"
    r" (?:\w+ ){0,2}(?:auf|to|à|aux?|a|al|alla|alle|ai|ao|às|op)"
    rf" (?:(?:\w+ ){{1,2}}|l['\u2019])?{_AGENT}\b"
    rf"|\b{_AGENT} (?:\w+ )?(?:makes?|made) (?:\w+ ){{1,3}}"
    r"(?:sick|ill|unwell|vomit|throw up|dizzy|itch|swell)\b(?! (?:of|and tired)\b)"
    rf"|\b{_AGENT} (?:\w+ ){{1,4}}{_REACTION}\b"
    rf"|\b{_REACTION} (?:\w+ ){{0,2}}(?:from|of|von|vom|nach|after|por|par|da|van|door)"
    rf" (?:\w+ )?{_AGENT}\b"
    rf"|\b{_AGENT} (?:wird|werde|wurde) (?:\w+ )?(?:schlecht|übel|schwindlig)\b"
    rf"|\b{_AGENT} (?:me|le|lui|mi|gli) (?:rend|hace|fa|faz|sienta) (?:\w+ )?(?:malade|mal|daño)\b"
    rf"|\b{_DRUG}(?: \d{{2,4}}(?: ?mg)?)? (?:nur|only|seulement|uniquement|sólo|solo|soltanto|só"
    r"|apenas|alleen) (?:mit|with|nach|after|avec|après|con|com|met|na)\b"
)
_CONDITIONS = (
    r"\b(?:allerg\w*|alérgic\w+|anaphyla\w+|epi-?pens?|co?eliac\w*|zöliakie|diabeti[ckq]\w*"
    r"|diabetes|epilep\w+|\w*intoleran\w+|\w*unverträglich\w*|pregnan\w+|schwanger\w*|enceinte|embarazada"
    r"|warfarin|blood thinners?|anticoagul\w+|h(?:a)?emophil\w+|pacemaker|asthma\w*"
    r"|can(?:no|['\u2019])?t (?:eat|have|tolerate|take) (?:any )?(?:gluten|dairy|nuts?|peanuts?"
    r"|lactose|wheat|eggs?|shellfish|soya?|sesame|penicillin|ibuprofen|aspirin))\b"
)
HARMS = Phrases(f"{_CONDITIONS}|{_REACTIONS}")
_REACTS = Phrases(_REACTIONS)
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
    """Return whether a clause of *sentence* says that something in HARMS is so of a person.

    The sentence may also contain a question.

    >>> states_health_risk("Leila's got a nut allergy, what can I bake?")
    True
    >>> states_health_risk("Frida reagiert auf Bienenstiche")
    True
    >>> states_health_risk("Is it an allergy?")
    False
    """
    sentence = sentence[:_CHARS_MAX]
    clauses = _CLAUSE.split(sentence) if HARMS.search(sentence) else ()
    return any(map(_states_harm, clauses))


def _states_harm(clause: str) -> bool:
    if _ASKS.match(clause):
        return False
    if _REACTS.search(clause):
        return not clause.rstrip().endswith("?")
    subject = _PERSON_HAS.match(clause)
    return subject is not None and HARMS.search(clause, subject.end("who")) is not None
