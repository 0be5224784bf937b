"""Detect that a sentence of the owner takes back an earlier preference (0325, 0392). Pure.

Who takes a preference back names its object, and says that it is otherwise now: "I like coriander
now", "coriander is fine after all", "forget that I hate coriander". So both texts are read as a
stance: whether a thing is wanted or not, and the words of the thing. They must be the same thing,
without a condition, and each text must have one stance alone; other clauses may only point back to
it ("never put that in anything"). In doubt the preference is kept: users notice one that no longer
holds, but not one that is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from memd.text.alternations import Phrases
from memd.text.directives import without_reason
from memd.text.preference import POINTING, is_of_project, strip_articles
from memd.text.quotation import disclaimed_part, name_last
from memd.text.wishes.habits import ends_habit, left_thing, may_end_habit
from memd.text.wishes.manners import Manner, manner_of

# All patterns match a whole clause in lower case.
_CHARS_MAX = 160
_CLAUSE_END = re.compile(r"[,.:;!]+(?:\s+|$)|\s+[-\u2013\u2014]+\s+|\s+(?:and|but|so|und|et|y)\s+")
_FILLER = (
    r"(?:well|so|and|also|no|yes|ok(?:ay)?|btw|by the way|sorry|please|pls|thanks|actually|hey|oh"
    r"|fyi|update|good news|turns out(?: that)?|you know what|really|tbh|honestly|at all|anyway"
    r"|bitte|übrigens|also|doch|au fait|finalement|por cierto|por favor)"
)
_BEFORE = rf"(?:{_FILLER},? )*"
_AFTER = rf"(?:,? {_FILLER})*"
_FILLERS = re.compile(rf"{_FILLER}(?:,? {_FILLER})*")
_WHAT = r"(?P<what>[\w+#./'-]+(?: [\w+#./'-]+){0,7}?)"  # the thing
_I = r"(?:i(?:'ve| have)? (?:(?:really|just|always|quite|kind of|even|actually) )*)"
_WANTS = r"(?:prefer|want|need|use|like|love|enjoy|drink|eat)"
_HATES = r"(?:hate|dislike|detest|loathe|can't stand|mind)"
_USES = r"(?:use|add|put|include|give me|suggest|recommend|mention|write|make)"
_SPEAKS = r"(?:answer|reply|respond|write|speak|talk)"
_NOT = r"(?:do not|don't|dont)"
_NO_MORE = r" (?:any ?more|any longer)"
_NOW = r" (?:now|again|after all|these days|from now on|any ?more)"
_IN_ALL = (
    r"(?: in(?:to)? (?:my |the )?(?:things|anything|everything|it|food|dishes|meals|answers))?"
)
_NO_SINGLE = "(?!the |this |that |my |our )"
_FINE = "(?:fine|ok|okay|good|great|all ?right|allowed|welcome|acceptable)"
_JETZT = r"(?:jetzt|wieder|doch|inzwischen|mittlerweile)"
# With eating and drinking, "jetzt" alone may be of the moment: "ich trinke jetzt einen Kaffee".
_WIEDER = r"(?:jetzt |nun )?(?:wieder|doch|inzwischen|mittlerweile)"
_SOMETIMES = re.compile(
    r"\b(?:(?:every )?now and then|once in a while|ab und zu|hin und wieder|manchmal"
    r"|gelegentlich)\b"
)
# How a preference is stated, by whether it wants the thing.
_STATED = {
    True: (
        rf"{_I}{_WANTS} <X>",
        r"(?:(?:always|from now on),? )*(?:use|give me|add|include"
        rf"|{_SPEAKS}(?: me| to me)? in) <X>",
        rf"{_SPEAKS}(?: me| to me)? always in <X>",
        r"my favou?rite [\w -]{2,40}? (?:is|are) <X>",
        r"<X> (?:is|are) (?:enough|plenty)",
        r"ich (?:mag|liebe|bevorzuge|will|möchte|nutze|benutze|trinke|esse)(?: immer)? <X>",
        r"(?:(?:immer|ab jetzt) )*(?:antworte|schreibe?|sprich)(?: mir)?(?: immer)? auf <X>",
        r"(?:j'(?:aime|adore|utilise)|je (?:préfère|veux|bois|mange)) <X>",
        r"(?:me gustan?|prefiero|quiero|uso(?: siempre)?) <X>",
    ),
    False: (
        rf"{_I}(?:{_HATES}|{_NOT} (?:like|want|eat|drink)|never (?:use|eat|drink|want)) <X>",
        rf"(?:never|{_NOT}(?: ever)?) {_USES} <X>",
        r"(?:no|avoid) <X>",
        r"ich (?:hasse|verabscheue|(?:mag|esse|trinke|will|möchte) keine?n?) <X>"
        r"|ich (?P<de>[\w -]{2,60}?) hasse",
        r"ich mag <X> nicht",
        r"(?:nie|niemals|keine?n?) <X>(?: (?:benutzen|verwenden|nehmen))?",
        r"je (?:déteste|hais) <X>|je n'aime pas (?P<fr>[\w' -]{2,60}?)",
        r"(?:odio|detesto) <X>|no me gustan? (?P<es>[\w -]{2,60}?)",
    ),
}
# How a stance is ended, by whether the thing was wanted.
_ENDED = {
    True: (
        rf"{_I}{_NOT} {_WANTS} <X>{_NO_MORE}",
        rf"{_I}no longer {_WANTS} <X>",
        rf"{_I}(?:stopped|quit) (?:using|eating|drinking|liking|wanting) <X>",
        rf"{_I}{_HATES} <X> now",
        rf"i (?:now|actually) {_HATES} <X>",
        rf"you (?:no longer|{_NOT}) (?:have|need) to (?:{_USES}|{_SPEAKS}(?: me)? in) <X>"
        rf"(?:{_NO_MORE})?",
        r"(?:you can )?(?:stop|quit) (?:using|adding|giving me"
        r"|(?:answering|replying|writing|speaking|talking)(?: me| to me)? in) <X>(?: now)?",
        r"no more <X>",
        rf"{_I}(?:switched|moved) from <X> to [\w+#./' -]{{2,60}}",
        r"<X> (?:is|are) (?:no longer|not) my favou?rite [\w -]{2,40}",
        r"ich (?:mag|will|nutze|benutze|trinke|esse) <X> nicht mehr",
        r"ich (?:mag|will|möchte) keine?n? <X> mehr",
        r"(?:hör auf,? |du musst nicht mehr )auf <X> (?:zu )?antworten",
        r"je ne? (?:veux|bois|mange|préfère) plus (?:de |d')?<X>|je n'aime plus (?P<fr>[\w' -]+)",
        r"arrête de (?:répondre|parler) en <X>",
        r"ya no (?:quiero|uso|prefiero|me gustan?) <X>|deja de responder en (?P<es>[\w -]+)",
    ),
    False: (
        rf"{_I}{_NOT} {_HATES} <X>{_NOW}",
        rf"{_I}(?:no longer|stopped) (?:hate|hating|mind) <X>",
        rf"{_I}(?:(?:can )?(?:eat|drink|use)|like|love|enjoy|(?:started|begun) (?:eating|liking"
        rf"|using|enjoying)) <X>{_NOW}",
        rf"i (?:now|actually) (?:like|love|enjoy|eat) <X>(?:{_NOW})?",
        rf"{_I}(?:come|came) (?:a?round) to (?:like |liking )?<X>",
        rf"{_I}(?:(?:learn(?:ed|t)|come|came|started|grown) to (?:like|love|enjoy|eat)"
        r"|(?:got|gotten|grown) used to) <X>",
        rf"{_NO_SINGLE}<X>(?:'s| is| are) {_FINE}(?: (?:with|by|for) me)?{_NOW}",
        rf"actually,? {_NO_SINGLE}<X> (?:is|are) {_FINE}",
        rf"i(?:'m| am) {_FINE} with <X>{_NOW}",
        rf"(?:you (?:can|may)|feel free to) {_USES} <X>{_IN_ALL}{_NOW}{_IN_ALL}",
        r"ich hasse <X> nicht mehr",
        rf"ich mag <X> {_JETZT}(?: (?:ganz )?gerne?)?"
        rf"|ich mag {_JETZT}(?: {_JETZT})? (?P<de>[\w -]{{2,60}}?)",
        rf"ich (?:esse?|trinke?) {_WIEDER} (?!ein)<X>",
        rf"<X> (?:mag|finde?) ich {_JETZT}(?: {_JETZT})?(?: (?:ganz )?(?:gerne?|gut|ok|okay))?",
        rf"<X> (?:esse?|trinke?|vertrage?) ich {_WIEDER}",
        rf"<X> (?:darfst|kannst) du {_JETZT} (?:benutzen|verwenden|nehmen|vorschlagen)",
        rf"<X> (?:ist|sind) {_JETZT}(?: {_JETZT})? (?:ganz )?(?:lecker|gut)",
        rf"sometimes (?:an? |eine? )?<X> (?:is|are|ist|sind|geht) (?:{_FINE}|in ordnung|erlaubt)",
        rf"<X> (?:schmeckt|schmecken) mir {_JETZT}(?: {_JETZT})?",
        rf"<X> (?:geht|gehen) {_JETZT}",
        rf"(?:an? |eine? )?<X> sometimes (?:is|are|ist|sind|wäre)(?: {_JETZT})?"
        rf" (?:{_FINE}|in ordnung|erlaubt|gut)",
        rf"<X> (?:ist|sind) {_JETZT} (?:ok|okay|in ordnung|erlaubt|gut)",
        rf"du (?:kannst|darfst) {_JETZT} <X> (?:benutzen|verwenden|nehmen|vorschlagen)",
        rf"du (?:kannst|darfst) <X> {_JETZT} (?:benutzen|verwenden|nehmen|vorschlagen)",
        r"je ne (?:déteste|hais) plus <X>",
        r"finalement,? j'aime (?:bien )?<X>",
        r"j'aime (?:bien )?<X> (?:maintenant|finalement)",
        r"ya no (?:odio|detesto) <X>|ahora (?:sí )?me gustan? (?P<es>[\w -]+)",
    ),
}
# Ends whatever was said of the thing: "forget what I said about fish".
_ENDS_ALL = (
    r"(?:you can )?(?:forget|ignore|scrap|drop|delete|remove) (?:about )?"
    r"(?:what i (?:said|told you|wrote) about|(?:the|my) (?:rule|preference|wish|dislike|thing)"
    r" (?:about|for|of|on|with)) <X>",
    r"(?:you can )?(?:forget|ignore|scrap|drop|delete|remove) (?:about )?(?:the|my) <X>"
    r" (?:thing|rule|preference|wish)",
    r"i take back what i said about <X>",
    rf"{_I}changed my mind (?:about|on) {_NO_SINGLE}<X>",
    r"vergiss,? (?:bitte )?(?:das|die sache|den wunsch) mit (?:(?:dem|den|der) )?<X>",
    r"vergiss,? (?:was ich (?:über|zu)|die regel (?:zu|über|mit)) <X>(?: gesagt habe)?",
    r"oublie ce que j'ai dit (?:sur|de) <X>|olvida lo que dije (?:sobre|de) (?P<es>[\w -]+)",
)


def _compile(templates: tuple[str, ...]) -> tuple[Phrases, ...]:
    return tuple(
        Phrases(rf"{_BEFORE}(?:{template.replace('<X>', _WHAT)}){_AFTER}") for template in templates
    )


_STATING = {is_wanted: _compile(templates) for is_wanted, templates in _STATED.items()}
_ENDING = {is_wanted: _compile(templates) for is_wanted, templates in _ENDED.items()}
_ENDING_ALL = _compile(_ENDS_ALL)
# "i now prefer imperial units instead of metric".
(_INSTEAD,) = _compile(
    (
        rf"{_I}(?:now |actually )?prefer (?P<one>[\w+#./' -]{{2,60}}?)"
        r" (?:over|rather than|instead of) <X>(?: now)?",
    )
)
# "i prefer full sentences now, no bullet points any more" also withdraws "short bullet points".
(_NO_MORE_OF,) = _compile(
    (
        rf"{_I}(?:now |actually )?prefer (?P<one>[\w+#./' -]{{2,60}}?)(?: now)?,? (?:(?:and|so) )?"
        rf"(?:no <X>{_NO_MORE}|no (?:more|longer) (?P<more>[\w+#./' -]{{2,60}}?))",
    )
)
# Words of a condition, a negation or a comparison, with which a thing is not plain.
_QUALIFIED = re.compile(
    r"\b(?:no|not|never|without|before|after|for|when|if|in|on|at|during|with|while|because|since"
    r"|over|than|instead|here|except|only|now|again|more|longer|nicht|kein\w*|wenn|bei|beim|plus"
    r"|pas|si|quand|cuando|just|about|ever)\b"
)
# What restricts a stance in another clause, or makes it one of the moment.
_RESTRICTS = re.compile(
    r"\b(?:except|unless|only|if|when|while|for|but|not|then|today|tonight|moment|yet|said|says"
    r"|(?:in|(?<!now )on|at|with|during)(?! (?:it|anything|everything|things|all|my food)\b)"
    r"|außer|nur|wenn)\b"
)
_LASTS = re.compile(
    r"\b(?:again|now|from now on|always|you can|you may|fine|ok|okay|wieder|jetzt|ab jetzt|immer"
    r"|künftig|inzwischen|du kannst|du darfst)\b"
)
_LIST_END = re.compile(r"[,;]\s+")
_BARE = re.compile(r"[\w'-]+(?: [\w'-]+){0,2}")  # the words of a thing
_PLURAL = re.compile(r"(?<=\w\w[^\Ws])s$")
_POINTS_BACK = re.compile(r"\b(?:it|that|them|those|this|das|sie|ihn|ça|eso)\b")


class _Stance(NamedTuple):
    """A thing, as words without articles and plural endings, and whether it is wanted.

    *is_wanted* is None in a text that ends either stance.
    """

    is_wanted: bool | None
    words: tuple[str, ...]


def may_withdraw(text: str) -> bool:
    """Return whether *text* may take back a preference of its owner."""
    plain = _plain(text)
    return bool(plain) and bool(
        _list_ended(plain) or _unwanted_words(plain) or _new_manner(plain) or may_end_habit(plain)
    )


def withdraws(text: str, value: str) -> bool:
    """Return whether *text* takes back the preference *value*.

    >>> withdraws("I now prefer imperial units instead of metric.", "I prefer metric units")
    True
    >>> withdraws("I like coriander now, you can use it", "I hate coriander, never add that")
    True
    >>> withdraws("I don't want short answers any more", "I prefer short answers to mails")
    False
    """
    stance, plain = _stance_of_value(value), _plain(text)
    if _ends_manner(plain, value) or ends_habit(plain, _plain(value)):
        return True
    if stance is None:
        return False
    return any(
        ended.is_wanted in {None, stance.is_wanted} and ended.words == stance.words
        for ended in _list_ended(plain)
    ) or (stance.is_wanted is True and _is_kind_of(stance.words, _unwanted_words(plain)))


def without_withdrawn(text: str, value: str) -> str:
    """Return the preference *value* without what *text* takes back, "" for all of it.

    Of a list of wishes, the others are left.

    >>> without_withdrawn("forget the rule about emojis", "Tabs, no emojis")
    'Tabs'
    """
    wishes = _LIST_END.split(value)
    if withdraws(text, value):
        return ""
    if not all(map(_stance_of_value, wishes)):
        return value
    return ", ".join(wish for wish in wishes if not withdraws(text, wish))


def _ends_manner(plain: str, value: str) -> bool:
    """Return whether *plain* asks for the opposite of the manner *value*, or ends it by name."""
    manner = manner_of(_head(_plain(value)))
    if manner is None:
        return False
    new = _new_manner(plain)
    if new is not None:
        return new.kind == manner.kind and new != manner
    return any(manner_of(" ".join(each.words)) == manner for each in _list_ended(plain))


def _new_manner(plain: str) -> Manner | None:
    """Return the manner in which *plain* asks to be answered from now on."""
    manner = manner_of(plain)
    lasts = manner is not None and (manner.kind == "address" or _LASTS.search(plain))
    return manner if lasts else None


def _is_kind_of(words: tuple[str, ...], unwanted: tuple[str, ...]) -> bool:
    """Return whether *words* end with *unwanted*, as "short bullet points" with "bullet points"."""
    return bool(unwanted) and words[-len(unwanted) :] == unwanted


def _unwanted_words(plain: str) -> tuple[str, ...]:
    """Return the words of the thing of which a text wants no kind any more; () for none."""
    match = _NO_MORE_OF.fullmatch(plain.rstrip(".! "))
    if match is None or _words(match["one"]) is None:
        return ()
    return _words(match["what"] or match["more"]) or ()


def _stance_of(plain: str) -> _Stance | None:
    """Return the stance that *plain* states, None if it states none or more than one."""
    clause = _head(plain)
    stances = [
        _Stance(is_wanted, words)
        for is_wanted, patterns in _STATING.items()
        for words in _list_things(patterns, clause)
    ]
    return stances[-1] if stances else None


def _stance_of_value(value: str) -> _Stance | None:
    """Return the stance of a preference; a bare thing is wanted: "two sentences"."""
    plain = _plain(value)
    if stance := _stance_of(plain):
        return stance
    words = _words(plain) if _BARE.fullmatch(plain) else None
    return _Stance(True, words) if words else None


def _list_ended(plain: str) -> list[_Stance]:
    """Return the stances that *plain* ends."""
    if match := _INSTEAD.fullmatch(plain.rstrip(".! ")):
        new, old = _words(match["one"]), _words(match["what"])
        if new is None or old is None:
            return []
        # In "imperial units instead of metric", the old thing is "metric" or "metric units".
        return [_Stance(True, old), _Stance(True, (*old, new[-1]))]
    if stance := _stance_of(disclaimed_part(plain)):
        return [stance]
    if (thing := left_thing(plain)) and (old := _words(thing)):
        return [_Stance(True, old)]
    clause = _head(plain, may_explain=True)
    ended = [
        _Stance(is_wanted, words)
        for is_wanted, patterns in _ENDING.items()
        for words in _list_things(patterns, clause)
    ]
    return [*ended, *(_Stance(None, words) for words in _list_things(_ENDING_ALL, clause))]


def _list_things(patterns: tuple[Phrases, ...], clause: str) -> Iterator[tuple[str, ...]]:
    """Yield the words of the plain thing that each of *patterns* finds in *clause*."""
    for pattern in patterns:
        match = pattern.fullmatch(clause)
        words = _words(next(filter(None, match.groups()))) if match else None
        if words:
            yield words


def _head(plain: str, *, may_explain: bool = False) -> str:
    """Return the first clause of *plain*, "" if another one restricts it or says more.

    A clause that points back ("you can use it") says no more. With *may_explain*, none does.
    """
    clauses = [clause for clause in _CLAUSE_END.split(without_reason(plain)) if clause]
    clauses = [clause for clause in clauses if not _FILLERS.fullmatch(clause)]
    others = clauses[1:]
    is_one = may_explain or all(map(_POINTS_BACK.search, others))
    return clauses[0] if clauses and is_one and not any(map(_RESTRICTS.search, others)) else ""


def _plain(text: str) -> str:
    """Return *text* in lower case if it is short, asks nothing and is of no project, else ""."""
    if len(text) > _CHARS_MAX or "?" in text or "\n" in text.strip() or is_of_project(text):
        return ""
    plain = " ".join(text.lower().replace("\u2019", "'").split())
    return _SOMETIMES.sub("sometimes", name_last(plain))


def _words(what: str) -> tuple[str, ...] | None:
    """Return the words of *what*, without articles; None if it has a condition or a pronoun."""
    plain = strip_articles(what)
    if _QUALIFIED.search(what) or POINTING.search(plain):
        return None
    return tuple(map(_singular, plain.split())) or None


def _singular(word: str) -> str:
    return _PLURAL.sub("", word)
