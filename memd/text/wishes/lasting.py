"""Recognise an order to the assistant that says by itself that it lasts. Pure.

"Please always answer short" is a wish wherever it is said: by hand or in the middle of a chat. So
it needs a word that lasts ("always", "never", "from now on", "every time") and a verb of what
assistants do. "Never seen that", "always nice" and "always run the tests" are no such wishes.
English and German.
"""

from __future__ import annotations

import re

from memd.text.alternations import Phrases
from memd.text.directives import without_reason
from memd.text.quotation import is_disclaimed, is_played, is_reported_speech, list_remarks

_CHARS_MAX = 240  # of a sentence
_TEXT_CHARS_MAX = 600  # of a text that may contain one
_EN = (
    r"(?:answer|reply|respond|write(?: to)? me|speak|talk|explain|call me|address me|give me"
    r"|tell me|ask me|show me|suggest|recommend|mention|translate|apologi[sz]e|offer|propose"
    r"|use (?:emojis?|bullet points|exclamation marks|markdown|tables)"
    r"|(?:put|add|include) [\w ]{2,30} in (?:your|my) (?:answers?|repl(?:y|ies)|letters?|mails?))\b"
)
_LEAD_EN = r"\W*(?:(?:please|pls|and|also|so|ok(?:ay)?|hey|btw|but),? )*"
_FROM_NOW = r"(?:from now on|from here on|in (?:the )?future|going forward)"
_NOT_EN = r"(?:don't|dont|do not)"
_IMPERATIVE = (
    r"(?:antworte|schreibe?|sprich|rede|erkläre?|sage?|nenne?|gib|zeige?|frage?|erwähne?|empfiehl"
    r"|schlage?|duze?|sieze?|übersetze?|benutze?|verwende?|fasse? dich|halte? dich)"
)
_INFINITIVE = (
    r"(?:antworten|schreiben|sprechen|reden|erklären|sagen|nennen|zeigen|fragen|erwähnen|empfehlen"
    r"|vorschlagen|duzen|siezen|übersetzen|benutzen|verwenden|verzichten|kurz fassen)"
)
_LASTS_DE = r"(?:immer|nie|niemals|stets|ab jetzt|ab sofort|von nun an|künftig|in zukunft)"
_LEAD_DE = r"\W*(?:(?:bitte|und|also|ok(?:ay)?|ach|hey),? )*"
_BETWEEN = r"[^.?!;:\n]{0,100}?"
# Without a clause of its own, which the lasting word may belong to.
_SIMPLE = (
    r"(?:(?! (?:why|how|that|what|which|who|where|when|if|to|warum|wie|was|wer|wo|wann|ob|dass)\b)"
    r"[^,.?!;:\n]){0,80}?"
)
_WISHES = Phrases(
    rf"{_LEAD_EN}(?:{_FROM_NOW},? )?(?:please )?(?:always|never|{_NOT_EN} ever) {_EN}"
    rf"|{_LEAD_EN}{_FROM_NOW},? (?:please )?(?:{_NOT_EN} )?{_EN}"
    rf"|{_LEAD_EN}(?:{_NOT_EN} )?{_EN}{_SIMPLE} (?:always|{_FROM_NOW}|every time|ever again)"
    r"(?=\W*$|,)"
    rf"|{_LEAD_EN}{_NOT_EN} {_EN} (?:every time|always|ever again)\b"
    rf"|{_LEAD_DE}{_IMPERATIVE}(?: (?:mir|mich|uns|bitte|das|es))* {_LASTS_DE}\b"
    rf"|{_LEAD_DE}{_IMPERATIVE}{_SIMPLE} {_LASTS_DE}(?=\W*$|,)"
    rf"|{_LEAD_DE}(?:in [^.?!;:,\n]{{3,60}} )?(?:bitte )?{_LASTS_DE},? (?:bitte )?{_BETWEEN}"
    rf"\b{_INFINITIVE}(?=\W*$|,)"
    rf"|{_LEAD_DE}ich (?:möchte|will|hätte gerne?) (?:bitte )?{_LASTS_DE} {_BETWEEN}"
    r"\b(?:antwort\w*|bekommen)\b"
)
# What makes it hold only sometimes; beside a reason: "even if I write Russian".
_RESTRICTS = re.compile(
    r"\b(?:but|except|unless|only|when|if|aber|außer|nur|sondern|wenn)\b"
    r"|, (?:i|ich) (?:want|prefer|will|möchte)\b",
    re.IGNORECASE,
)
_OF_OTHERS = re.compile(r"\b(?:ich|wir|er|man|i|we|he|she|they) (?:immer|nie|always|never)\b", re.I)


def has_wish(text: str) -> bool:
    """Return whether a sentence of a short *text* is an order to the assistant that lasts.

    >>> has_wish("please always answer short, i read on my phone"), has_wish("answer short")
    (True, False)
    >>> has_wish("In Briefen an Ämter bitte nie Ausrufezeichen benutzen")
    True
    >>> has_wish("never seen that before"), has_wish("always run the tests")
    (False, False)
    """
    if len(text) > _TEXT_CHARS_MAX:
        return False
    return any(map(_is_wish, (each for line in text.split("\n") for each in list_remarks(line))))


def _is_wish(sentence: str) -> bool:
    if len(sentence) > _CHARS_MAX or sentence.endswith("?") or _WISHES.match(sentence) is None:
        return False
    return not (
        _RESTRICTS.search(without_reason(sentence))
        or is_played(sentence)
        or is_reported_speech(sentence)
        or is_disclaimed(sentence)
        or _OF_OTHERS.search(sentence)
    )
