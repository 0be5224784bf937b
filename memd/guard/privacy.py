"""Messages that ask not to be remembered: "keep this between us", "dont write that anywhere".

What a program must not store ("don't save this to disk") is none of them. Letters count without
their accents, in seven languages. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from memd.text.words import sentences

NOT = r"(?:do(?:n[';]?t| not|nt)|never)"
REMEMBER = r"(?:remember|rember|remeber|rememeber|remenber|remembr|memori[sz]e)"
THIS = r"(?:this|that|it)"
WRITES = r"(?:save|store|write(?: down)?|jot(?: down)?|note down|put down|record)"
"""Verbs and pronouns of whoever asks to remember, and not to."""
_NOWHERE = (
    r"(?:(?:down )?anywhere|(?:in|to|into) (?:(?:any|your) (?:memory|memories|files?|notes?)|files)"
    r"(?: anywhere)?|for later|about me)"
)
_AMONG = r"(?:between (?:us|you and (?:me|i))|off the record)"
_HIDDEN = rf"(?:private|confidential|secret|personal|{_AMONG})"
_ENDS = r"(?=\W*$|[,;.]| (?:please|pls|plz|ok|anywhere|about|for)\b)"
_ASKS_NOT = (
    rf"{NOT} (?:please )?{REMEMBER} (?:any of )?{THIS}{_ENDS}",
    rf"{NOT} (?:please )?(?:{WRITES}|keep|log|put) (?:any of )?(?:this|that|it|these|those)"
    rf"(?: down)? {_NOWHERE}",
    rf"{NOT} (?:please )?(?:{WRITES}|keep|log|share|repeat|tell) (?:any of )?{THIS}"
    rf"\b[^.?!]{{0,40}}\b{_HIDDEN}{_ENDS}",
    rf"{NOT} (?:please )?(?:tell|share {THIS} with|mention {THIS} to)"
    rf" (?:anyone|anybody|any one){_ENDS}",
    rf"(?:keep|leave) {THIS} (?:(?:just|strictly|only) )?(?:to yourself|(?:a )?{_HIDDEN}){_ENDS}",
    rf"{THIS}(?:'?s| is| stays)? (?:(?:all|just|strictly|only|very|super) )*(?:{_AMONG}"
    rf"|confidential)"
    rf"{_ENDS}",
    rf"(?:(?:just|strictly) )?{_AMONG}(?=\W*$|[,;:.])",
    rf"forget (?:that )?i (?:ever )?(?:said|told you|mentioned)(?: {THIS}| anything)?(?=\W*$)",
    # German
    r"(?:merke? dir|speichere?|notiere?|schreib)(?: dir)? (?:das|es|dies|nichts davon)"
    r"(?: bitte| ja)? (?:nicht|nirgend(?:s|wo)|niemals)\b",
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
_PRIVATE = re.compile(
    rf"(?<!\bi )(?<!\bwe )(?<!\byou )(?<!\bthey )(?<!\bto )\b(?:{'|'.join(_ASKS_NOT)})(?![^.!]*\?)"
)
# What else a message says, besides that it is private.
_OTHER_WORD = re.compile(
    r"\b(?!(?:it'?s|is|it|that|this|please|pls|private|confidential|secret|personal|very|so|ok"
    r"|but|and)"
    r"\b)[\w']+"
)
_OTHERS_MIN = 3


class Privacy(NamedTuple):
    """Whether a message asks not to be remembered, and whether that is all that it says."""

    is_asked: bool
    is_all: bool


def asks_for_privacy(message: str) -> Privacy:
    """Return whether *message* asks not to remember what it says, or what was said before.

    >>> asks_for_privacy("The gp raised my dose. dont write that anywhere, its private")
    Privacy(is_asked=True, is_all=False)
    >>> asks_for_privacy("please keep this between us"), asks_for_privacy("don't save this to disk")
    (Privacy(is_asked=True, is_all=True), Privacy(is_asked=False, is_all=False))
    """
    is_asked, others = False, 0
    for line in message.split("\n"):
        for part in map(fold, sentences(line)):
            rest = _PRIVATE.sub(" ", part)
            is_asked = is_asked or rest != part
            others += len(_OTHER_WORD.findall(rest))
    return Privacy(is_asked, is_asked and others < _OTHERS_MIN)


def fold(text: str) -> str:
    """Return *text* in small letters without their accents, of the same length.

    >>> fold("Não esqueças: o café")
    'nao esquecas: o cafe'
    """
    plain = text.replace("\u2019", "'").replace("\u00b4", "'").replace("`", "'")
    small = (unicodedata.normalize("NFD", each)[0].lower() for each in plain)
    return "".join(low if len(low) == 1 else each for low, each in zip(small, plain, strict=True))
