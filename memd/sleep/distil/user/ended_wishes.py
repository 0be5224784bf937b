"""Find earlier wishes that a sentence ends: "stop the analogies" ends "use analogies". Pure.

The ending sentence must name the wished thing, and use no other content words than the wish:
"no more long tables" does not end "use tables". A wish that forbids something is never ended this
way; what is disliked is wished again as the ingest reads it (``ingest/withdrawals.py``): "I like
coriander now". Nor is a memory ended that contains, besides the wish, another sentence worth
keeping.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from memd.ingest.withdrawals import may_withdraw, withdraws
from memd.sleep.distil.user.speech_acts import WORTH, judge_sentence
from memd.text.alternations import Phrases
from memd.text.quotation import name_last
from memd.text.words import WORD, sentences

_CHARS_MAX = 300  # of the wish and of the ending; longer texts are about several things
_CLAUSE_END = re.compile(
    r"[,.:;!?]+(?:\s+|$)|\s+(?:but|and|because|so|aber|und|mais|pero|ma)\s+", re.I
)
_FROM_HERE = (
    r"(?:from now on|ab jetzt|ab sofort|désormais|à partir de maintenant"
    r"|a partir de (?:ahora|agora)|d'ora in poi|vanaf nu)"
)
_LEAD = (
    r"\W*(?:(?:ok(?:ay)?|and|so|also|but|please|pls|just|now|no|well|actually|bitte"
    rf"|{_FROM_HERE})\W+)*"
)
_WANTS = r"(?:want|need|like|use|give|add|make|write|show|send|put|do|include)"
_ANY_MORE = r"(?:any ?more|any longer|from now on|in (?:the )?future)"
# How a clause ends a wish; the last group that matched is the ended thing.
_ENDS = (
    r"(?:stop|quit|enough|forget(?: about)?|no more|no longer|no need (?:to|for)"
    rf"|(?:i|we) no longer {_WANTS}|(?:you )?(?:don't|do not) (?:have|need) to|you needn't)"
    r"\s+(?P<what>.+)",
    rf"(?:(?:i|we|you) )?(?:don't|do not) {_WANTS} (?P<what>.+?) {_ANY_MORE}",
    rf"(?:no|not|without) (?P<what>.+?) {_ANY_MORE}",
    rf"(?:(?:answer|write|explain|do it) )?(?P<now>{_ANY_MORE} )without (?P<what>.+)",
    r"(?:ich (?:will|möchte|brauche) )?(?:kein\w*|nicht|ohne) (?P<what>.+?) mehr",
    r"hör auf,? (?:mit )?(?P<what>.+)|(?:plus d['e]|arrête[sz]? (?:de |d'|avec )?)\s*(?P<fr>.+)",
    r"(?:no más|basta de|ya no (?:quiero|uses)|chega de|sem mais|niente più|basta con)"
    r"\s+(?P<es>.+)",
    r"geen (?P<what>.+?) meer",
)
_ENDED = tuple(Phrases(rf"{_LEAD}(?:{end})(?:\W+(?:please|pls|bitte))?\W*") for end in _ENDS)
_FROM_NOW = Phrases(rf"\b{_FROM_HERE}\b")
_WITHOUT = re.compile(r"\b(?:without|ohne|sans|sin|sem|senza|zonder) (?P<what>.+)", re.IGNORECASE)
# A clause that wishes for something: "use analogies", "I want a summary", "antworte mit ...".
_WISH = Phrases(
    rf"{_LEAD}(?P<what>(?:always|with|use|using|include|add|give|make|write|show|explain|answer|reply"
    r"|respond|remind|ask|tell|quiz|put|end|begin|start|call|send|keep|sum|translate|(?:i|we)"
    r"(?:'d| would)? (?:want|like|prefer|need|love)|mit|immer|benutze?|schreibe?|antworte?|gib"
    r"|avec|toujours|utilise|con|siempre|sempre|usa|use|met|altijd|gebruik)\b.*)",
    re.IGNORECASE | re.DOTALL,
)
_IS_ENOUGH = re.compile(r"(?P<what>.+?) (?:is|are) (?:enough|plenty)\W*", re.IGNORECASE)
# "I want to ", which is no part of the thing.
_WANT_TO = re.compile(r"(?:i|we)\b.{0,8}? (?:want|like|prefer|need|love) to\s", re.IGNORECASE)
# A wish that forbids: "no tables", "ohne Emojis".
_FORBIDS = Phrases(
    r"\b(?:not?|never|without|stop|cannot|(?:ca|do|does|did|is|are|must|should|wo|would)n['\u2019]?t|nicht|kein\w*|nie|ohne|pas|jamais|sans"
    r"|nunca|sin|sem|non|mai|senza|niet|geen|nooit|zonder)\b"
)
# Before a thing within a wish: "explain it with analogies".
_INSIDE = re.compile(r"\s(?=(?:with|in an?|mit|avec|con|com|met)\s)", re.IGNORECASE)
# Before the circumstances of a wish: "a summary at the end", "tables when it helps".
_CIRCUMSTANCE = Phrases(
    r"\s(?:for|in|at|on|of|to|when|if|each|every|before|after|from|with|about|bei|für|am|pour|para|per|voor)\s"
)
_SAYS_LITTLE = frozenset(
    """
    a an the any all your my our these those this that some more me us you i we it them is be to for
    in at on of with by from so too each every always never only please pls again now also just
    want need like prefer love would use using give giving add adding make making do doing include
    including put putting show showing have having about what said told thing rule wish preference
    mit immer bitte ein eine einen der die das den ich will möchte mir benutze benutz gib
    avec des de du la le les un une s'il te vous plaît s plaît il toujours utilise moi
    con siempre por favor el los las una unos me usa sempre il lo gli un di com o os as met altijd
    alsjeblieft het een gebruik
    """.split()  # noqa: SIM905
)
# Endings of plurals and verb forms.
_ENDING = re.compile(r"(?:ing|ed|ies|en|es|s|y|e|n)$")
_POINTS = re.compile(r"\b(?:it|them|that|this)\b", re.IGNORECASE)


class _Wish(NamedTuple):
    """The stems of one reading of a wish.

    *thing* is what is wanted and *head* its last word. *whole* includes where and when, *around*
    the rest of the text. *is_named* is False if the thing is a pronoun ("use it").
    """

    head: frozenset[str]
    thing: frozenset[str]
    whole: frozenset[str]
    around: frozenset[str]
    is_named: bool


class WishEnd(NamedTuple):
    """*ended_stems* of each thing that a text ends, and *all_stems* of the text.

    *withdrawal* is the text if it may take back a preference, else "".

    >>> end = WishEnd.of("stop the analogies please, i mix them up")
    >>> end.ends("use analogies pls"), end.ends("use music analogies"), end.ends("no analogies")
    (True, True, False)
    """

    ended_stems: tuple[frozenset[str], ...]
    all_stems: frozenset[str]
    withdrawal: str = ""

    @classmethod
    def of(cls, text: str) -> WishEnd:
        """Return what *text* ends, for most texts nothing."""
        named = tuple(_list_ended(text))
        withdrawal = text if may_withdraw(text) else ""
        return cls(named, _words(text) if named else frozenset(), withdrawal)

    @property
    def may_end(self) -> bool:
        """Return whether the text ends any wish."""
        return bool(self.ended_stems or self.withdrawal)

    def ends(self, earlier: str) -> bool:
        """Return whether *earlier* is a wish for one of these things, and nothing else of worth."""
        if not self.may_end or len(earlier) > _CHARS_MAX:
            return False
        if self.withdrawal and withdraws(self.withdrawal, earlier):
            return True
        parts = sentences(earlier)
        ended = [part for part in parts if any(map(self._ends, _list_wishes(part, earlier)))]
        others = (part for part in parts if part not in ended)
        return bool(ended) and all(judge_sentence(part).score < WORTH for part in others)

    def _ends(self, wish: _Wish) -> bool:
        """Return whether one of the ended things is what *wish* wants."""
        return any(
            wish.head <= ended
            and (ended <= wish.thing or ended == wish.whole)
            and (wish.is_named or bool(wish.around & self.all_stems - ended))
            for ended in self.ended_stems
        )


def _list_ended(text: str) -> Iterator[frozenset[str]]:
    """Yield the stems of each thing that *text* ends."""
    for clause in _CLAUSE_END.split(name_last(text)) if len(text) <= _CHARS_MAX else ():
        for pattern in _ENDED:
            if match := pattern.fullmatch(clause):
                yield from filter(None, [_words(next(filter(None, reversed(match.groups()))))])
        if _FROM_NOW.search(clause) and (match := _WITHOUT.search(_FROM_NOW.sub("", clause))):
            yield from filter(None, [_words(match["what"])])


def _list_wishes(sentence: str, text: str) -> Iterator[_Wish]:
    """Yield each reading of the clauses of *sentence*, a sentence of *text*, as a wish."""
    for clause in _CLAUSE_END.split(sentence):
        wish = (
            None
            if _FORBIDS.search(clause)
            else (_WISH.fullmatch(clause) or _IS_ENOUGH.fullmatch(clause))
        )
        if wish is None:
            continue
        whole = _WANT_TO.sub("", wish["what"])
        for part in (whole, *_INSIDE.split(whole)[1:]):
            thing = _CIRCUMSTANCE.split(f"{part} ")[0] if part is whole else part
            if words := _stems(thing):
                is_named = not _POINTS.search(thing)
                yield _Wish(
                    frozenset(words[-1:]), frozenset(words), _words(whole), _words(text), is_named
                )


def _words(text: str) -> frozenset[str]:
    return frozenset(_stems(text))


def _stems(text: str) -> list[str]:
    """Return the rough stems of the content words of *text*, in order."""
    words = (word for word in map(str.casefold, WORD.findall(text)) if word not in _SAYS_LITTLE)
    return [_undouble(_ENDING.sub("", word)) for word in words]


def _undouble(stem: str) -> str:
    """Return *stem* without a doubled last letter: "plan" of "planning"."""
    return stem[:-1] if stem[-2:-1] == stem[-1:] else stem
