"""Detect requests not to remember a message: "keep this between us", "dont write that anywhere".

Instructions for a program ("don't save this to disk") do not match. The patterns cover seven
languages and ignore accents. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from memd.text.words import sentences

NOT = r"(?:do(?:n[';]?t| not|nt)|never)"
REMEMBER = r"(?:remember|rember|remeber|rememeber|remenber|remembr|memori[sz]e)"
THIS = r"(?:this|that|it)"
WRITES = r"(?:save|store|write(?: down)?|jot(?: down)?|note down|put down|record)"
"""Parts of requests to remember or not to remember something, with common misspellings."""
_NOWHERE = (
    r"(?:(?:down )?anywhere|(?:in|to|into) (?:(?:any|your) (?:memory|memories|files?|notes?)|files)"
    r"(?: anywhere)?|for later|about me)"
)
_AMONG = r"(?:between (?:us|you and (?:me|i))|off the record)"
_HIDDEN = rf"(?:private|confidential|secret|personal|{_AMONG})"
_ENDS = r"(?=\W*$|[,;.]| (?:please|pls|plz|ok|anywhere|about|for)\b)"
_SAVES = rf"(?:{WRITES}|keep|{REMEMBER})"
_OWN = r"(?:i|i'm|im|i've|ive|my|our|we|we're)\b"
_ASKS_NOT = (
    rf"{NOT} (?:please )?(?:"
    # In front of what the user says of himself: "don't keep this, but I'm thinking of quitting".
    rf"{_SAVES} (?:any of )?{THIS}(?: down)?(?:,? (?:please|ok))?"
    rf"(?=\W{{1,4}}but {_OWN}|\s?[:\u2013\u2014]\s?{_OWN})"
    rf"|{REMEMBER} (?:any of )?{THIS}{_ENDS}"
    rf"|(?:{WRITES}|keep|log|put) (?:any of )?(?:this|that|it|these|those)(?: down)? {_NOWHERE}"
    rf"|(?:{WRITES}|keep|log|share|repeat|tell) (?:any of )?{THIS}"
    rf"\b[^.?!]{{0,40}}\b{_HIDDEN}{_ENDS}"
    rf"|(?:tell|share {THIS} with|mention {THIS} to) (?:anyone|anybody|any one){_ENDS})",
    r"i (?:really )?(?:don'?t|do not) want (?:any(?:one|body)|him|her|them|(?:my|our) \w+)"
    rf" to (?:know|find out|hear)(?: about)?(?: {THIS})?{_ENDS}",
    rf"(?:keep|leave) {THIS} (?:(?:just|strictly|only) )?(?:to yourself|(?:a )?{_HIDDEN}){_ENDS}",
    rf"{THIS}(?:'?s| is| stays)? (?:(?:all|just|strictly|only|very|super) )*(?:{_AMONG}"
    rf"|confidential)"
    rf"{_ENDS}",
    rf"(?:(?:just|strictly) )?{_AMONG}(?=\W*$|[,;:.])",
    rf"forget (?:that )?i (?:ever )?(?:said|told you|mentioned)(?: {THIS}| anything)?(?=\W*$)",
    # German
    r"(?:merke? dir|speichere?|notiere?|schreib)(?: dir)? (?:das|es|dies|nichts davon)"
    r"(?: bitte| ja)? (?:nicht|nirgend(?:s|wo)|niemals)\b(?! (?:in|auf|als|unter|im|ins|am)\b)",
    r"das (?:(?:musst|brauchst|sollst|solltest) du (?:dir )?)?(?:bitte )?nicht (?:zu )?"
    r"(?:merken|behalten|speichern|notieren)(?=\W*$|[:,])"
    r"|nicht (?:merken(?: bitte)?(?=\W*$|[:,])"
    r"|(?:speichern|notieren|behalten)(?: bitte)?(?=[:,] (?:ich|mein|meine|wir|unser)\b))",
    r"(?:das |es )?bleibt? (?:das )?(?:bitte )?unter uns|behalte? (?:das|es) (?:bitte )?fur dich"
    r"|erzahle? (?:das|es) (?:bitte )?(?:niemandem|keinem)",
    # French
    r"(?:ca |cela |que ca )?reste entre nous|garde (?:ca|cela|le) pour toi"
    r"|(?:ne |n')?(?:note|enregistre|retiens|garde|ecris)s? (?:pas|jamais) (?:ca|cela)"
    r"|(?:ne |n')(?:le |l')?(?:note|enregistre|retiens|ecris)s? (?:pas|nulle part)(?=\W*$|,)"
    r"|n'(?:ecris|enregistre) (?:ca|cela) nulle part",
    # Spanish, Portuguese, Italian
    r"(?:que )?(?:esto |eso )?quede? entre (?:nosotros|tu y yo)"
    r"|no (?:lo )?(?:guardes|anotes|apuntes|escribas|recuerdes)"
    r"(?: (?:esto|eso)| en ningun\w*)(?=\W*$|,| )",
    r"(?:isto |isso )?fica (?:so )?entre nos"
    r"|nao (?:guardes?|guarde|anotes?|anote|escrevas?|escreva|lembres?|registes?|registe) (?:isto"
    r"|isso)\b",
    r"(?:che )?resti? (?:tra|fra) (?:di )?noi"
    r"|non (?:salvare|ricordare|annotare|memorizzare|segnare|scrivere) (?:questo|da nessuna parte)",
    # Dutch
    r"(?:dit |dat )?blijft? (?:dit |dat )?(?:onder|tussen) ons|onthoud (?:dit|dat) niet"
    r"|schrijf (?:dit|dat) nergens op|bewaar (?:dit|dat) niet",
)
_ANY = "|".join(_ASKS_NOT)
_PRIVATE = re.compile(
    r"(?=[a-z])\b(?<!\bi )(?<!\bwe )(?<!\byou )(?<!\bthey )(?<!\bto )"
    rf"(?:{_ANY})"
)
# Such words alone may be of a program. They ask for privacy beside what the user says of himself.
_VAGUE = re.compile(
    rf"\W*(?:(?:please|pls|but|and) )*{NOT} (?:please )?{WRITES} (?:this|that)(?: down)?"
    r"(?:,? (?:please|pls|ok))?\W*"
)
_SPEAKS_OF_SELF = re.compile(rf"\b{_OWN}")
_MAY_ASK = re.compile(rf"(?=[a-z])\b(?:{_ANY})".replace(r"\W*$", ""))
"""Finds what _PRIVATE finds in any sentence of a line, and more: so few lines are split."""
_STOP = re.compile(r"[.!?]")
# What else a message says, besides that it is private.
_OTHER_WORD = re.compile(
    r"\b(?!(?:it'?s|is|it|that|this|please|pls|private|confidential|secret|personal|very|so|ok"
    r"|but|and)"
    r"\b)[\w']+"
)
_OTHERS_MIN = 3
_VAGUE_CHARS_MAX = 600


class Privacy(NamedTuple):
    """Whether a message asks not to be remembered, and whether that is all that it says."""

    is_asked: bool
    is_all: bool


NOT_PRIVATE = Privacy(is_asked=False, is_all=False)


def asks_for_privacy(message: str) -> Privacy:
    """Return whether *message* asks not to remember what it says, or what was said before.

    >>> asks_for_privacy("The gp raised my dose. dont write that anywhere, its private")
    Privacy(is_asked=True, is_all=False)
    >>> asks_for_privacy("please keep this between us"), asks_for_privacy("don't save this to disk")
    (Privacy(is_asked=True, is_all=True), Privacy(is_asked=False, is_all=False))
    """
    lines = message.split("\n")
    folded = fold(message).split("\n")
    asking = [line for line, low in zip(lines, folded, strict=True) if _MAY_ASK.search(low)]
    if not any(_without_wish(part) != part for line in asking for part in _parts(line)):
        return Privacy(_is_vaguely_asked(message), False)
    others = 0
    telling = (line for line, low in zip(lines, folded, strict=True) if _OTHER_WORD.search(low))
    for part in (part for line in telling for part in _parts(line)):
        others += len(_OTHER_WORD.findall(_without_wish(part)))
        if others >= _OTHERS_MIN:
            return Privacy(True, False)
    return Privacy(True, True)


def _is_vaguely_asked(message: str) -> bool:
    """Return whether the first or last sentence of a short *message* may ask for privacy.

    The others must be about the user.
    """
    parts = list(_parts(message)) if len(message) <= _VAGUE_CHARS_MAX else []
    others = [part for part in parts if not _VAGUE.fullmatch(part)]
    is_at_end = parts[:1] != others[:1] or parts[-1:] != others[-1:]
    return is_at_end and any(map(_SPEAKS_OF_SELF.search, others))


def _parts(line: str) -> Iterator[str]:
    return map(fold, sentences(line))


def _without_wish(part: str) -> str:
    """Return *part* without what asks for privacy; a question does not ask for it.

    The next stop is found once for all that lies before it, so that a long part takes no longer
    than its length.
    """
    stop = -1

    def replace(match: re.Match[str]) -> str:
        nonlocal stop
        if stop < match.end():
            mark = _STOP.search(part, match.end())
            stop = mark.start() if mark else len(part)
        return match.group() if part[stop : stop + 1] == "?" else " "

    return _PRIVATE.sub(replace, part)


def fold(text: str) -> str:
    """Return *text* in lower case without accents, of the same length.

    >>> fold("Não esqueças: o café")
    'nao esquecas: o cafe'
    """
    return text.translate({ord(letter): _fold_letter(letter) for letter in set(text)})


@lru_cache(maxsize=1_024)
def _fold_letter(letter: str) -> str:
    if letter in "\u2019\u00b4`":
        return "'"
    low = unicodedata.normalize("NFD", letter)[0].lower()
    return low if len(low) == 1 else letter
