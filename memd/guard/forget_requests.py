"""Detect messages that only ask to forget what was said: "forget what I told you about my knee".

They are no memories themselves. Who drops an idea of the work ("forget Redis, we use SQLite") says
more, and such a message does not match. The patterns cover seven languages and ignore accents.
Pure.
"""

from __future__ import annotations

import re

from memd.guard.privacy import fold
from memd.text.alternations import Phrases

_CHARS_MAX = 300  # of a message; a longer one says more
_LEAD = (
    r"(?:(?:please|pls|plz|ok(?:ay)?|and|so|also|oh|actually|hey|sorry|(?:can|could|would|will) you"
    r"|you can|bitte|und|ach|ja|also|(?:kannst|konntest) du|s'il te plait|et|por favor|y|e"
    r"|per favore|en|alsjeblieft)\b\W+)*"
)
_ABOUT = r"[^,.;:!?\u2013\u2014]{2,120}"
_SPOKE_EN = r"(?:said|told|mentioned|shared)\b"
_MILD = r"(?:,? (?:bitte|mal|doch|einfach|wieder|alles|das))*,?"
_SPOKE_DE = r"(?:gesagt|erzahlt|geschrieben|erwahnt)"
_DATA_EN = (
    r"(?:[\w-]+ ){0,2}(?:number|address|birthday|salary|diagnosis|debts?|iban|password|pin|code)\b"
)
_DATA_DE = (
    r"(?:[\w-]+ ){0,2}\w*(?:nummer|adresse|geburtstag|geburtsdatum|gehalt|diagnose|schulden|iban"
    r"|passwort|pin|code)\b"
)
_WHOSE = rf"(?: (?:of|from|for|von|vom|der|des|zu) {_ABOUT})?(?=\W*$|[,.;:!?]| please\b| bitte\b)"
_FORGETS = Phrases(
    rf"\W*{_LEAD}(?:"
    r"(?:forget|erase|delete)(?: about)?"
    r" (?:what(?:ever)?|everything|anything|all(?: of)?(?: that| what)?"
    r"|the (?:things?|parts?|bits?|stuff|fact))(?: that)?"
    rf" i(?:'ve| have)?(?: (?:just|ever|once|already))? {_SPOKE_EN}{_ABOUT}"
    rf"|forget(?: about)?(?: that)? i(?: (?:ever|just))? {_SPOKE_EN}{_ABOUT}"
    r"|(?:forget|erase|delete)(?: about)? (?:everything|all|what) you (?:know|remember)"
    rf" (?:about|of|on){_ABOUT}"
    rf"|forget(?: about)? (?:the|my|our|his|her|their|[\w-]+'s) {_DATA_EN}{_WHOSE}"
    # German; "vergiss das mit dem Zahnarzt nicht" asks for the opposite
    rf"|(?:vergiss|losche?){_MILD} (?:was|dass) ich (?:{_ABOUT} )?{_SPOKE_DE} (?:habe?|hatte)"
    r"|(?![^,.;:!?]*\bnicht\b)vergiss"
    rf"(?:{_MILD} (?:die sache|die geschichte)? ?(?:mit|uber|von) {_ABOUT}"
    rf"|{_MILD} (?:die|den|das|meine?n?|unsere?n?|seine?n?|ihre?n?) {_DATA_DE}{_WHOSE})"
    # French, Spanish, Portuguese, Italian, Dutch
    r"|(?:oublie[sz]?|efface[sz]?)(?: s'il te plait)?(?: tout)? ce que"
    rf" (?:je (?:t'ai|vous ai)|j'ai) (?:dit|raconte|ecrit)\b{_ABOUT}"
    r"|(?:olvida(?:te)?|borra)(?: de)?(?: por favor)?(?: todo)? lo"
    rf" (?:que (?:te )?(?:dije|conte|he (?:dicho|contado))\b|del?\b){_ABOUT}"
    r"|(?:esquec[ea]|apaga)(?:-te)?(?: por favor)?(?: tudo)? o que (?:eu )?(?:te |lhe )?"
    rf"(?:disse|contei|falei)\b{_ABOUT}"
    r"|(?:dimentica(?:ti)?|cancella)(?: per favore)?(?: tutto)? (?:quello|cio) che ti ho"
    rf" (?:detto|raccontato)\b{_ABOUT}"
    r"|(?:vergeet|wis)(?: alsjeblieft)?(?: alles)? wat ik"
    rf"{_ABOUT}\b(?:zei|vertelde|gezegd|verteld)\b"
    r")",
    0,
)
_CLAUSE_END = re.compile(r"[,.;:!?\u2013\u2014-]+(?:\s+|$)|\s+(?:and|but|und|aber|et|y)\s+")
# What gives a reason, or is only polite.
_REASON = Phrases(
    r"(?:please|pls|plz|thanks?|thank you|ok(?:ay)?|sorry|bitte|danke|merci|gracias"
    r"|(?:because|'?cause|cos|since|weil|denn|car|parce que|porque|perche|omdat)\b"
    r"|(?:that|it|this)(?:'?s| is| was)|(?:they|those)(?:'?re| are)|he|she"
    r"|i (?:do not|don'?t|won'?t|am not|didn'?t|no longer|should not|shouldn'?t|mean)|i'?m not"
    r"|die|der|das|es|sie|er|ich (?:mache?|will|brauche?|habe?|hatte|mochte)|c'est|je ne|ya no|no)"
    r"\b",
    0,
)
_SAYS_MORE = Phrases(
    r"\b(?:always|never|instead|rather|from now on|use|prefer|now|remember|immer|nie|lieber"
    r"|stattdessen|ab jetzt|jetzt|sondern|toujours|jamais|plutot|siempre|nunca|ahora|sempre|mai"
    r"|adesso|agora|altijd|nooit|liever|nu)\b",
    0,
)


def is_forget_request(message: str) -> bool:
    """Return whether *message* only asks to forget what was said of something.

    >>> is_forget_request("please forget what I told you about my knee, I don't want mum to know")
    True
    >>> is_forget_request("forget what I said about tabs, use spaces")
    False
    >>> is_forget_request("vergiss das mit dem Zahnarzt nicht")
    False
    """
    if len(message) > _CHARS_MAX:
        return False
    folded = " ".join(fold(message).split())
    request = _FORGETS.match(folded)
    if request is None:
        return False
    others = _CLAUSE_END.split(folded[request.end() :])
    return all(
        _REASON.match(clause) and not _SAYS_MORE.search(clause)
        for clause in map(str.strip, others)
        if clause
    )
