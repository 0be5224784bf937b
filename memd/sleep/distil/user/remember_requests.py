"""Find what the user asks to remember, and strip the words that ask for it.

"Dont forget: the bins go out on monday" and "the rent is 950 pounds, pls remember" ask to remember
a statement. A task ("don't forget to run the tests") and a remark about something at hand ("note
that this line is wrong") are not statements. Patterns match text without accents (``fold``). Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from memd.guard.privacy import NOT, REMEMBER, THIS, WRITES, fold
from memd.text.alternations import Phrases

# Words in front of a request: "ok, please ", "by the way, ".
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
# "Write down", "save" in other languages: a request only before a colon or "that".
_WRITES_OTHERS = (
    r"(?:notiere?|speichere?|schreib auf|notez|note bien|enregistre|apunta|anota|guarda|annota"
    r"|segna(?:ti)?|salva"
    r"|noteer|bewaar|schrijf op)"
)
# "For later", "for the record", "note to self".
_LATER = (
    r"(?:(?:just )?(?:for (?:later|next time|(?:future |later )?reference|the record)|note to"
    r" (?:self|you|memory)|to remember)|fur (?:spater|das nachste mal)|furs protokoll"
    r"|pour (?:plus tard"
    r"|memoire)|para (?:luego|mas tarde|depois|que conste|mais tarde)|per (?:dopo|la cronaca)"
    r"|voor later)"
)
# Only mentions the statement: "fyi", "so you know". It need not be remembered.
_MENTION = (
    r"(?:just )?(?:fyi|so you (?:all )?know|for your info(?:rmation)?|(?:nur )?zur info(?:rmation)?"
    r"|nur damit du es weisst|pour info|para que sepas|ter info)"
)
# "Note:", "reminder:", "important:", which also only mention.
_NOTES = (
    r"(?:n\.?b\.?|note|(?:small )?reminder|heads[- ]up|important|remarque|nota|wichtig|importante?"
    r"|belangrijk)"
)
_THAT = r"(?:,? (?:that|dass|das|que|che|dat)\b|,? qu')"
_MARK = r"(?:\s*[:\u2013\u2014]+|\s+-|,)"
_POINTED = rf"(?: (?:{THIS}|das|dies|ca|cela|esto|eso|isto|isso|questo|dit))?"
_DOWN = r"(?: down)?(?: for (?:later|me|next time))?"
# A request in front of the statement: "dont forget: ", "remember that ", "for later: ".
_FRONT = Phrases(
    rf"\W*{_LEAD}(?:{_KEEPS}(?:{_THAT}|{_POINTED}{_DOWN}{_MARK})|{WRITES}{_POINTED}{_DOWN}\s*:"
    rf"|{_WRITES_OTHERS}{_POINTED}(?:\s*:|{_THAT})|{_LATER}{_MARK})\s*(?=\S)",
    0,
)
# "fyi, ", "so you know, ", "note: ": only a mention.
_FRONT_MENTION = Phrases(
    rf"\W*{_LEAD}(?:(?:{_MENTION}|note){_MARK}|(?:note|(?:just )?so you know){_THAT}"
    rf"|(?:just )?fyi(?= )"
    rf"|{_NOTES}\s*:)\s*(?=\S)",
    0,
)
# "Remember the bins go out on monday": a request only if a clause with a verb follows.
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
# Starts only where a run of blanks or marks starts: otherwise a long run takes quadratic time.
_BEFORE_BACK = (
    r"(?:(?<!\s)\s+[,;:(.\u2013\u2014]+|(?<![\s,;:(.\u2013\u2014])[,;:(.\u2013\u2014]+"
    r"|(?<!\s)\s+-+)\s*"
)
# A request after the statement: "..., dont forget!", "... (for later)".
_BACK = Phrases(rf"{_BEFORE_BACK}{_POLITE}{_ASKS_BACK}{_BACK_TAIL}[\s.!)]*$", 0)
_BACK_MENTION = Phrases(rf"{_BEFORE_BACK}{_POLITE}{_MENTION}[\s.!)]*$", 0)
# The same without a comma: "the rent is 950 please remember".
_PLEASE_BACK = Phrases(
    rf"\s(?:please|pls|plz) (?:{REMEMBER}|{NOT} forget){_BACK_THIS}?[\s.!)]*$",
    0,
)
# A request within the statement: "the rent, dont forget, is 950".
_BETWEEN = Phrases(
    rf",\s*{_POLITE}(?:{NOT} (?:let (?:me|us) )?for?ge?t{_BACK_THIS}?|(?:please|pls|plz)"
    rf" {REMEMBER}{_BACK_THIS}?)\s*(?=,)",
    0,
)
_POLITE_QUESTION = Phrases(rf"\W*{_LEAD}(?:can|could|will|would) (?:you|u)\b", 0)
# A whole sentence that only asks: "Please write that down.", "remember this for later"
_ONLY = Phrases(
    rf"\W*{_LEAD}(?:(?:can|could|will|would) (?:you|u) )?{_POLITE}{_ASKS_BACK}{_BACK_TAIL}"
    r"[\s.!:?)]*$",
    0,
)
# Not a statement: a question, an order ("to run ..."), or about something at hand ("this line").
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
# "I told you about it": what was said is not stated again.
_SPOKE = r"(?:(?<=\bi )|(?<=\bwe ))(?:told|said|asked|mentioned|talked|discussed)\b"
# A clause with subject and verb: "the bins go out", but not "the tests are ...".
_STATES = Phrases(
    rf"\W*(?!(?:(?:the|my|our) )?(?:\w+ )?(?:files?|tests?|step|bug|line|part|thing|one|code)\b)"
    rf"(?:(?:i|we) (?!(?:told|said|asked|mentioned|talked|had|did|was|were|\w+ed)\b)\w+ \w"
    rf"|(?:[\w'-]+ ){{1,6}}?(?<!you )(?<!which )(?<!what )(?!{_SPOKE}){_VERB} \w)",
    0,
)
_WORDS_MIN = 2  # in a statement


class RememberRequest(NamedTuple):
    """A sentence without the words that ask to remember it; "" for one that only asks.

    *is_kept* says that the user asks to remember it. *is_firm* is False for "fyi" and the like.
    """

    text: str
    is_kept: bool = False
    is_firm: bool = True


def find_remember_requests(
    texts: Sequence[str], can_store: Callable[[str], bool] = bool
) -> list[RememberRequest]:
    """Return the sentences *texts* of one message, marking those that the user asks to remember.

    A sentence that only asks ("Remember that.") refers to the sentence before it. As the first
    sentence it refers to the next one, and to all that follow if it ends with a colon.
    *can_store* says which sentences make sense as a memory.

    >>> requests = find_remember_requests(["I had soup.", "The rent is 950, dont forget!"])
    >>> [request.text for request in requests]
    ['I had soup.', 'The rent is 950']
    >>> requests = find_remember_requests(["It rains.", "The rent is 950.", "Remember that."])
    >>> [request.is_kept for request in requests]
    [False, True, False]
    """
    asked: list[RememberRequest] = []
    pending = 0  # how many of the next statements an earlier sentence asks to remember
    for text in texts:
        request = statement_of(text)
        last = asked[-1].text if asked else ""
        if request is None:
            is_kept = pending > 0 and is_statement(text) and can_store(text)
            asked.append(RememberRequest(text, is_kept))
            pending -= pending > 0
        elif request.text:
            asked.append(request if can_store(request.text) else RememberRequest(text))
        elif last and is_statement(last) and can_store(last):
            asked[-1:] = [RememberRequest(last, is_kept=True), RememberRequest("")]
        else:
            asked.append(RememberRequest(text))
            pending = len(texts) if text.rstrip().endswith(":") else int(not last)
    return asked


def statement_of(sentence: str) -> RememberRequest | None:
    """Return the statement that *sentence* asks to remember.

    None if it asks nothing; with text "" if it asks without a statement.

    >>> statement_of("dont forget: the bins go out on monday").text
    'the bins go out on monday'
    >>> statement_of("don't forget to run the tests"), statement_of("note that this line is wrong")
    (None, None)
    """
    folded = fold(sentence)
    if _ONLY.match(folded):
        return RememberRequest("")
    start, is_firm = _front(folded)
    end = len(sentence)
    body = folded[start:]
    if back := _BACK.search(body) or _PLEASE_BACK.search(body):
        end, is_firm = start + back.start(), True
    elif back := _BACK_MENTION.search(body):
        end, is_firm = start + back.start(), start > 0 and is_firm
    statement = sentence[start:end]
    if end == len(sentence) and (between := _BETWEEN.search(fold(statement))):
        statement = statement[: between.start()] + statement[between.end() :]
    if statement == sentence:
        return None
    # A polite question ends with a mark that is not part of the statement.
    ends = " ,;-\u2013\u2014(" + "?" * (_POLITE_QUESTION.match(folded) is not None)
    statement = statement.strip(ends)
    return RememberRequest(statement, True, is_firm) if is_statement(statement) else None


def _front(folded: str) -> tuple[int, bool]:
    """Return where the statement begins, 0 without a request before it, and whether it is firm."""
    if front := _FRONT.match(folded):
        return front.end(), True
    if front := _FRONT_MENTION.match(folded):
        return front.end(), False
    front = _BARE.match(folded)
    return (front.end() if front and _STATES.match(folded, front.end()) else 0), True


def is_statement(text: str) -> bool:
    """Return whether *text* is a statement that can be understood without its context."""
    return len(text.split()) >= _WORDS_MIN and _NO_STATEMENT.match(fold(text)) is None
