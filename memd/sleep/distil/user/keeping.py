"""Asking that something be remembered: in what words, and what it is about.

"Dont forget: the bins go out on monday", "the rent is 950 pounds, pls remember", "merk dir, dass
..." say of a statement that it is to be kept; it is kept without these words. What is to be done
("don't forget to run the tests") or is at hand ("note that this line is wrong") is no statement.
Letters count without their accents. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from memd.guard.privacy import NOT, REMEMBER, THIS, WRITES, fold
from memd.text.alternations import Phrases

_LEAD = (
    r"(?:(?:please|pls|plz|ok(?:ay)?|oh|ah|also|and|so|but|btw|by the way|hey|hi|yes|no|just"
    r"|one more"
    r" thing|bitte|und|noch|ach|por favor|y|e|et|s'il (?:te|vous) plait|stp|per favore|en"
    r"|alsjeblieft)"
    r"\b\W+)*"
)
_ENGLISH = (
    rf"(?:(?:can|could|will|would) (?:you|u) )?(?:please |pls )?(?:always )?(?:{REMEMBER}"
    rf"|(?:keep|bear|have) (?:{THIS} )?in mind|{NOT} (?:let (?:me|us) |you )?for?ge?tt?"
    r"|(?:make|take) (?:a )?note(?: of)?)"
)
_OTHERS = (
    # German
    r"merke? dir(?: bitte| mal)?|merk dirs|vergiss (?:bitte )?nicht|(?:bitte )?nicht vergessen"
    r"|bitte merken|denke? (?:bitte )?(?:daran|dran)|notiere? dir|lass mich nicht vergessen"
    r"|behalte? im (?:kopf|hinterkopf)|schreib dir auf",
    # French
    r"n'?oublie[sz]? pas|retiens(?: bien)?|retenez|souviens[- ]toi|rappelle[- ]toi"
    r"|gardez? (?:en tete|a l'esprit|en memoire)|a retenir|prends note",
    # Spanish and Portuguese
    r"recuerda|acuerdate(?: de)?|no (?:te |se te |se )?olvid(?:es|e|ar)(?: de)?|ten en cuenta"
    r"|toma nota"
    r"|lembra(?:-te)?(?: de)?|lembre(?:-se)?(?: de)?"
    r"|nao (?:te |se )?(?:esquecas|esqueca|esquece|esquecer)(?: de)?|te[mn](?:ha)? em (?:conta"
    r"|mente)",
    # Italian and Dutch
    r"ricorda(?:ti)?|non (?:ti )?(?:dimenticare|dimenticarti|scordare|scordarti)|tieni a mente"
    r"|da ricordare|prendi nota|onthoud|vergeet niet|niet vergeten|denk eraan|houd in gedachten",
)
_KEEPS = rf"(?:{_ENGLISH}|{'|'.join(_OTHERS)})"
_WRITES_OTHERS = (
    r"(?:notiere?|speichere?|schreib auf|notez|note bien|enregistre|apunta|anota|guarda|annota"
    r"|segna(?:ti)?|salva"
    r"|noteer|bewaar|schrijf op)"
)
_LATER = (
    r"(?:(?:just )?(?:for (?:later|next time|(?:future |later )?reference|the record)|note to"
    r" (?:self|you|memory)|to remember)|fur (?:spater|das nachste mal)|furs protokoll"
    r"|pour (?:plus tard"
    r"|memoire)|para (?:luego|mas tarde|depois|que conste|mais tarde)|per (?:dopo|la cronaca)"
    r"|voor later)"
)
# What is told beside, and need not last.
_BESIDE = (
    r"(?:just )?(?:fyi|so you (?:all )?know|for your info(?:rmation)?|(?:nur )?zur info(?:rmation)?"
    r"|nur damit du es weisst|pour info|para que sepas|ter info)"
)
_NOTES = (
    r"(?:n\.?b\.?|note|(?:small )?reminder|heads[- ]up|important|remarque|nota|wichtig|importante?"
    r"|belangrijk)"
)
_THAT = r"(?:,? (?:that|dass|das|que|che|dat)\b|,? qu')"
_MARK = r"(?:\s*[:\u2013\u2014]+|\s+-|,)"
_POINTED = rf"(?: (?:{THIS}|das|dies|ca|cela|esto|eso|isto|isso|questo|dit))?"
_DOWN = r"(?: down)?(?: for (?:later|me|next time))?"
# What stands in front of the statement.
_FRONT = Phrases(
    rf"\W*{_LEAD}(?:{_KEEPS}(?:{_THAT}|{_POINTED}{_DOWN}{_MARK})|{WRITES}{_POINTED}{_DOWN}\s*:"
    rf"|{_WRITES_OTHERS}{_POINTED}(?:\s*:|{_THAT})|{_LATER}{_MARK})\s*(?=\S)",
    0,
)
_FRONT_BESIDE = Phrases(
    rf"\W*{_LEAD}(?:(?:{_BESIDE}|note){_MARK}|(?:note|(?:just )?so you know){_THAT}"
    rf"|(?:just )?fyi(?= )"
    rf"|{_NOTES}\s*:)\s*(?=\S)",
    0,
)
# "Remember the bins go out on monday": a statement follows if it has a verb of its own.
_BARE = Phrases(rf"\W*{_LEAD}(?:{_KEEPS}|{WRITES} that)\s+(?!to\b)(?=\S)", 0)
_POLITE = r"(?:(?:please|pls|plz|ok|and|so|but|also|bitte|por favor|stp)\W+)*"
_BACK_THIS = (
    r"(?: (?:about )?(?:this|that|it|das|es|dies|ca|cela|esto|eso|isto|isso|questo|dit|dat))"
)
_ASKS_BACK = (
    rf"(?:{_KEEPS}{_BACK_THIS}?|{WRITES}(?: (?:this|that)(?: down)?| it down)|{_LATER}"
    r"|merke? (?:es )?dir(?: das)?|vergiss das nicht|schreib (?:dir )?das auf|ne l'oublie pas"
    r"|retiens[- ]le|souviens[- ]t'en|no lo olvides|recuerdalo|(?:apunta|anota|guarda)(?:lo)?"
    r"(?: esto| eso| isso| isto)?|lembra disso|ricordalo|annota(?:lo)?|segnalo|onthoud dit"
    r"|vergeet (?:dit|dat) niet|note[sz]?[- ]le)"
)
_BACK_TAIL = (
    r"(?:,? (?:please|pls|plz|ok(?:ay)?|for (?:me|later|next time|the future)|somewhere|bitte))*"
)
_BEHIND = r"(?:\s*[,;:(.\u2013\u2014]+|\s+-+)\s*"
_BACK = Phrases(rf"{_BEHIND}{_POLITE}{_ASKS_BACK}{_BACK_TAIL}[\s.!)]*$", 0)
_BACK_BESIDE = Phrases(rf"{_BEHIND}{_POLITE}{_BESIDE}[\s.!)]*$", 0)
_PLEASE_BACK = Phrases(
    rf"\s(?:please|pls|plz) (?:{REMEMBER}|{NOT} forget){_BACK_THIS}?[\s.!)]*$",
    0,
)
_BETWEEN = Phrases(
    rf",\s*{_POLITE}(?:{NOT} (?:let (?:me|us) )?for?ge?t{_BACK_THIS}?|(?:please|pls|plz)"
    rf" {REMEMBER}{_BACK_THIS}?)\s*(?=,)",
    0,
)
_POLITE_QUESTION = Phrases(rf"\W*{_LEAD}(?:can|could|will|would) (?:you|u)\b", 0)
_ONLY = Phrases(
    rf"\W*{_LEAD}(?:(?:can|could|will|would) (?:you|u) )?{_POLITE}{_ASKS_BACK}{_BACK_TAIL}"
    r"[\s.!:?)]*$",
    0,
)
# What is no statement: it asks, orders, or points at what is at hand.
_NO_STATEMENT = Phrases(
    r"\W*(?:to|when|how|what|why|where|whether|if|who|which|about|wie|was|wann|wo|ob|como"
    r"|cuando)"
    r"\b|\W*(?:here|there|those|these|it|them|you)\b(?! (?:must|should|shall|can|may|need|never"
    r"|always"
    r"|have to)\b)|\W*(?:this|that)\b(?! (?:repo\w*|project|app|folder|family|house|flat|team"
    r"|company"
    r"|(?:lap|desk)top|computer|machine|phone|codebase)\b)|[^?]*\?\W*$",
    0,
)
_VERB = (
    r"(?:is|are|was|were|isn't|aren't|isnt|arent|has|have|had|can|can't|cannot|must|will|won't"
    r"|don't|dont"
    r"|doesn't|doesnt|never|always|needs?|likes?|hates?|costs?|lives?|works?|go(?:es)?|takes?"
    r"|starts?"
    r"|ends?|opens?|closes?|leaves?|meets?|teach(?:es)?|runs?|prefers?|uses?|eats?|drinks?|comes?"
    r"|pays?"
    r"|(?!need|indeed|speed|feed)\w{2,}ed|got|gave|took|made|paid|bought|sold|went|left|came|told"
    r"|said|broke"
    r"|ist|sind|hat|haben|est|sont|es|son|e|sono|heeft|zijn)"
)
_STATES = Phrases(
    rf"\W*(?!(?:(?:the|my|our) )?(?:\w+ )?(?:files?|tests?|step|bug|line|part|thing|one|code)\b)"
    rf"(?:(?:i|we) (?!(?:told|said|asked|mentioned|talked|had|did|was|were|\w+ed)\b)\w+ \w"
    rf"|(?:[\w'-]+ ){{1,6}}?(?<!you )(?<!which )(?<!what ){_VERB} \w)",
    0,
)
_WORDS_MIN = 2


class AskedSentence(NamedTuple):
    """A sentence without the words that ask for it, "" for one that only asks.

    *is_kept* says that somebody asks to remember it, *is_firm* that they do not only mention it
    ("fyi").
    """

    text: str
    is_kept: bool = False
    is_firm: bool = True


def find_asked(texts: Sequence[str], is_told: Callable[[str], bool] = bool) -> list[AskedSentence]:
    """Return the sentences *texts* of one message, each with whether it is to be remembered.

    What only asks is about the sentence before it; where it stands first, about the one behind it,
    or with a colon about all behind it. *is_told* says what of them can be told later.

    >>> [each.text for each in find_asked(["I had soup.", "The rent is 950, dont forget!"])]
    ['I had soup.', 'The rent is 950']
    >>> [each.is_kept for each in find_asked(["It rains.", "The rent is 950.", "Remember that."])]
    [False, True, False]
    """
    asked: list[AskedSentence] = []
    awaited = 0
    for text in texts:
        own = statement_of(text)
        last = asked[-1].text if asked else ""
        if own is None:
            is_kept = awaited > 0 and is_statement(text) and is_told(text)
            asked.append(AskedSentence(text, is_kept))
            awaited -= awaited > 0
        elif own.text:
            asked.append(own if is_told(own.text) else AskedSentence(text))
        elif last and is_statement(last) and is_told(last):
            asked[-1:] = [AskedSentence(last, is_kept=True), AskedSentence("")]
        else:
            asked.append(AskedSentence(text))
            awaited = len(texts) if text.rstrip().endswith(":") else int(not last)
    return asked


def only_asks(sentence: str) -> bool:
    """Return whether *sentence* says no more than that something be remembered.

    >>> only_asks("Please write that down."), only_asks("Please write that down in the readme.")
    (True, False)
    """
    return _ONLY.match(fold(sentence)) is not None


def statement_of(sentence: str) -> AskedSentence | None:
    """Return what *sentence* asks to remember, "" where it only asks, None where it asks nothing.

    >>> statement_of("dont forget: the bins go out on monday").text
    'the bins go out on monday'
    >>> statement_of("don't forget to run the tests"), statement_of("note that this line is wrong")
    (None, None)
    """
    folded = fold(sentence)
    if _ONLY.match(folded):
        return AskedSentence("")
    start, is_firm = _front(folded)
    end = len(sentence)
    if back := _BACK.search(folded, start) or _PLEASE_BACK.search(folded, start):
        end, is_firm = back.start(), True
    elif back := _BACK_BESIDE.search(folded, start):
        end, is_firm = back.start(), start > 0 and is_firm
    statement = sentence[start:end]
    if end == len(sentence) and (between := _BETWEEN.search(fold(statement))):
        statement = statement[: between.start()] + statement[between.end() :]
    if statement == sentence:
        return None
    ends = " ,;-\u2013\u2014(" + "?" * (_POLITE_QUESTION.match(folded) is not None)
    statement = statement.strip(ends)
    return AskedSentence(statement, True, is_firm) if is_statement(statement) else None


def _front(folded: str) -> tuple[int, bool]:
    """Return where the statement begins, 0 where nothing asks in front of it, and if firmly."""
    if front := _FRONT.match(folded):
        return front.end(), True
    if front := _FRONT_BESIDE.match(folded):
        return front.end(), False
    front = _BARE.match(folded)
    return (front.end() if front and _STATES.match(folded, front.end()) else 0), True


def is_statement(text: str) -> bool:
    """Return whether *text* can be told without what stands around it, and asks for nothing."""
    return len(text.split()) >= _WORDS_MIN and _NO_STATEMENT.match(fold(text)) is None
