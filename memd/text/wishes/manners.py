"""Recognise how somebody wants to be answered: short or in detail, "du" or "Sie". Pure.

A sentence is read word by word, and must say nothing else. So "answer longer" and "kurze
Antworten" are opposites, whatever their language and form.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_CHARS_MAX = 120
_CHOICES = {
    "length": {
        "short": """short shorter brief briefly briefer concise concisely terse kurz kurze kurzen
            kürzer kürzere kürzeren knapp knappe knappen knapper bref brève brèves breve breves""",
        "long": """long longer detailed detail lengthy lang lange langen länger längere längeren
            ausführlich ausführliche ausführlichen ausführlicher détaillé détaillées""",
    },
    "address": {
        "du": "duz duze duzen",
        "sie": "siez sieze siezen",
    },
}
_BY_WORD = {
    word: (kind, choice)
    for kind, choices in _CHOICES.items()
    for choice, words in choices.items()
    for word in words.split()
}
_ANSWERING = frozenset(
    """answer answers answering reply replies replying respond responses antworte antworten antwort
    antwortest dich fass fasse réponds répondez réponses responde respuestas rispondi risposte
    responda respostas""".split()  # noqa: SIM905
)
_FILLERS = frozenset(
    """please pls plz thanks thx ok okay always from now on again now just a bit little more in with
    give me keep your the all be to i you can may should could want like prefer need would it's fine
    if is are by default anymore
    bitte immer ab jetzt sofort wieder inzwischen doch lieber gern gerne ruhig mir mich uns du
    kannst darfst sollst ich will möchte hätte mag halte deine die alle sind ist ja nun etwas
    künftig in zukunft mal auch
    toujours s'il te plaît désormais siempre por favor sempre per favore""".split()  # noqa: SIM905
)
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")


class Manner(NamedTuple):
    """A *kind* of manner, "length" or "address", and which one is wanted."""

    kind: str
    choice: str


def manner_of(sentence: str) -> Manner | None:
    """Return the manner that *sentence* names, None if it says anything else.

    >>> manner_of("please always answer short"), manner_of("du kannst wieder länger antworten")
    (Manner(kind='length', choice='short'), Manner(kind='length', choice='long'))
    >>> manner_of("Bitte sieze mich lieber"), manner_of("answer the short question")
    (Manner(kind='address', choice='sie'), None)
    """
    if len(sentence) > _CHARS_MAX or "?" in sentence:
        return None
    words = _WORD.findall(sentence.casefold().replace("\u2019", "'"))
    named = {_BY_WORD[word] for word in words if word in _BY_WORD}
    others = {word for word in words if word not in _BY_WORD}
    if len(named) != 1 or not others <= _ANSWERING | _FILLERS:
        return None
    manner = Manner(*named.pop())
    return manner if manner.kind == "address" or others & _ANSWERING else None
