"""Whether a turn states something, or asks, orders, acknowledges, remarks in passing. Pure.

Lopsided on purpose: a question that is taken for a statement costs an entry in some
prompt; a statement that is taken for a question is never told again. So a text is kept
apart only when each of its clauses is known to state nothing. Whoever asks and tells in
one breath ("I moved to Berlin, do you know a dentist?") tells, and an order that outlives
the day ("always run the tests") is a rule. Takes time in proportion to the text, and no
text longer than TEXT_CHARS_MAX is read.

A text of nothing but acknowledgements (yes, no, thanks, which one) states nothing, in nine
languages and by the marks of two more.
"""

from __future__ import annotations

import itertools
import re
from typing import Final

from memd.domain.enums import Passing
from memd.extract.alternations import longest_first
from memd.extract.passing_words import (
    ASKS,
    ASKS_PLAINLY,
    CONDITIONS,
    FINITE,
    HANGS,
    INTRODUCES,
    LEADS,
    NEAR_ASIA,
    NEAR_ASIA_ASKS,
    OWN,
    REMARKS,
    SAYS_SO,
    SUBORDINATES,
    TOLD,
    TOLD_ABOUT,
)
from memd.extract.requests import (
    NEAR_ASIA_ORDERS,
    NEAR_ASIA_STANDING,
    ORDERS_ELSEWHERE,
    ORDERS_NOW,
    STANDING,
)
from memd.text.sentences import sentences

TEXT_CHARS_MAX: Final = 2_000
_SENTENCE_CHARS_MAX: Final = 400
_CALLED_WORDS_MAX: Final = 2
"""A first clause of no more is a name that is called, or a sigh."""

_CALLED_CHARS_MAX: Final = 4
_NAMED_WORDS_MAX: Final = 3
"""A later clause of more words that hangs on nothing says something."""

_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_CLAUSE = re.compile(
    r"[,;:()\u3001\uff0c\uff1b\uff1a\u2026]+\s*|\.{3,}\s*|\s[-\u2013\u2014]+\s|\s(?=\u00bf)"
)
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_AROUND = "\"'\u201c\u201d\u201e\u00ab\u00bb\u300c\u300d*_~ \t-\u2022>"
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u02bc": "'", "`": "'"})
# What is typed to the program and not to the assistant: "/review 150", and marks of programs.
_TYPED = re.compile(
    r"\s*+(?:/[a-z][\w:-]*(?:\s+[\w#./@-]+){0,4}\s*\Z|<(?:local-)?command-|\[Request interr)"
)
# "Address: 12 Main Street" names what follows, and "Fix this: ..." may quote it.
_NAMED = re.compile(r"[:\uff1a]\s+\S")
_MARKS = "?\uff1f"
_OF_TODAY = frozenset({Passing.REQUEST, Passing.REMARK})
_RANK = (Passing.QUESTION, Passing.REQUEST, Passing.REMARK, Passing.ACKNOWLEDGEMENT)


def passing(text: str, *, by_assistant: bool = False) -> Passing | None:
    """Return what *text* does if it states nothing; None for what is to be remembered.

    >>> passing("Which port does it use?").value, passing("Rename foo to bar.").value
    ('question', 'request')
    >>> passing("Can you use tabs? I always use tabs."), passing("use pnpm, not npm")
    (None, None)
    """
    if len(text) > TEXT_CHARS_MAX:
        return None
    if _TYPED.match(text):
        return Passing.REQUEST
    kinds: set[Passing] = set()
    for sentence in sentences(_FENCED.sub("\n", text).translate(_APOSTROPHES)):
        act = _act(sentence, by_assistant=by_assistant)
        if act is None:
            return None
        kinds.add(act)
    return _first(kinds)


def _act(sentence: str, *, by_assistant: bool) -> Passing | None:
    """Return what one sentence does, None for one that states something."""
    bare = sentence.strip(_AROUND)
    if not _WORD.search(bare):
        return Passing.ACKNOWLEDGEMENT
    if len(bare) > _SENTENCE_CHARS_MAX or SAYS_SO.search(bare) or INTRODUCES.search(bare):
        return None
    if NEAR_ASIA.search(bare):
        return _near_asia(bare)
    rest = _without_lead(bare)
    is_asked = _is_asked(sentence)
    if not is_asked and (not rest or ACKNOWLEDGES.fullmatch(bare)):
        return Passing.ACKNOWLEDGEMENT
    if by_assistant and REMARKS.match(rest):
        act = None if FINITE.search(rest) else Passing.REMARK
    else:
        act = _of_clauses(rest, is_asked=is_asked)
        if by_assistant and act is Passing.REQUEST:  # "Now fix the import": to itself
            act = Passing.REMARK
    return None if act in _OF_TODAY and STANDING.search(bare) else act


def _is_asked(sentence: str) -> bool:
    """Return whether there is a question mark behind the last word."""
    behind = itertools.takewhile(lambda letter: not letter.isalnum(), reversed(sentence))
    return any(letter in _MARKS for letter in behind)


def _of_clauses(text: str, *, is_asked: bool) -> Passing | None:
    """Return what the clauses of a sentence do together, None as soon as one states something."""
    if not is_asked and _NAMED.search(text):
        return None
    clauses = [clause for part in _CLAUSE.split(text) if (clause := _without_lead(part.strip()))]
    kinds: set[Passing] = set()
    names = 0
    for place, clause in enumerate(clauses):
        does = _does(clause, is_asked=is_asked)
        begun = bool(kinds - {Passing.ACKNOWLEDGEMENT})
        if does is not None:
            kinds.add(does)
        elif _states(clause, begun=begun) or not (begun or is_asked or CONDITIONS.match(clause)):
            is_name = place == 0 and len(_WORD.findall(clause)) <= _CALLED_WORDS_MAX
            is_asking = is_asked and not begun and place == len(clauses) - 1
            if OWN.match(clause) or not (is_name or is_asking):
                return None
            names += 1
    if is_asked:
        return _first(kinds - {Passing.ACKNOWLEDGEMENT}) or Passing.QUESTION
    if names and kinds == {Passing.ACKNOWLEDGEMENT}:
        return None  # "Berlin, thanks!" answers
    return _first(kinds)


def _first(kinds: set[Passing]) -> Passing | None:
    return next((act for act in _RANK if act in kinds), None)


def _does(clause: str, *, is_asked: bool) -> Passing | None:
    """Return what a clause does by its first words, None for one that only goes with others."""
    if ACKNOWLEDGES.fullmatch(clause):
        return Passing.ACKNOWLEDGEMENT
    if order := ORDERS_NOW.match(clause) or ORDERS_ELSEWHERE.match(clause):
        verb = FINITE.search(clause, order.end())
        is_told = verb and not SUBORDINATES.search(clause, order.start(), verb.start())
        return None if is_told else Passing.REQUEST
    is_question = is_asked and not OWN.match(clause) and ASKS.match(clause)
    return Passing.QUESTION if is_question or ASKS_PLAINLY.match(clause) else None


def _states(clause: str, *, begun: bool) -> bool:
    """Return whether a clause says something; one that goes with a question *begun* may not."""
    if OWN.match(clause):
        return True
    if HANGS.match(clause):
        return False
    if not begun or len(_WORD.findall(clause)) > _NAMED_WORDS_MAX:
        return True
    return bool(TOLD_ABOUT.match(clause) or TOLD.search(clause))


def _without_lead(text: str) -> str:
    lead = LEADS.match(text)
    return text[lead.end() :] if lead else text


def _near_asia(text: str) -> Passing | None:
    """Return what a sentence of Chinese or Japanese does, told by its marks."""
    if NEAR_ASIA_ACKNOWLEDGES.fullmatch(text):
        return Passing.ACKNOWLEDGEMENT
    *before, last = [part for part in _CLAUSE.split(text) if part.strip()] or [""]
    if any(
        len(part) > _CALLED_CHARS_MAX and not NEAR_ASIA_ACKNOWLEDGES.fullmatch(part)
        for part in before
    ):
        return None
    if NEAR_ASIA_ORDERS.match(last):
        return None if NEAR_ASIA_STANDING.search(text) else Passing.REQUEST
    return Passing.QUESTION if NEAR_ASIA_ASKS.search(last) else None


# Cyrillic letters and wide marks are what is looked for.
# ruff: noqa: RUF001

_PRAISE = (
    "great|awesome|amazing|nice|cool|good|fine|perfect|lovely|wonderful|fantastic|incredible|sweet|"
    "beautiful|inspiring|right|correct|true|it|all|fun|funny|interesting|helpful|impressive"
    "|excellent|"
    "brilliant|better|enough|ok|okay"
)
_ACKNOWLEDGEMENTS = rf"""
    ok(?:ay|ie)?, k+, y, n, yes, yeah, yea, yep, yup, ya, no, nope, nah, sure(?: thing)?, thx,
    ty, tysm,
    (?:many )?thanks?(?: you)?(?: so much| a lot| again| very much| a million| man| mate)?, cheers,
    (?:{_PRAISE})(?: (?:job|work|idea|point|one|call|catch|stuff|luck|morning|night|evening))?,
    wow, (?:ha)+h?, lol, got it, gotcha, i see, understood, i understand, makes sense, will do,
    (?:that )?sounds? (?:so |really |very )?(?:{_PRAISE}),
    (?:that |it )?looks? (?:so )?(?:{_PRAISE}), lgtm,
    (?:that's|that is|it's|this is|that was|all|how) (?:so |really |very |just |all )?(?:{_PRAISE}),
    you're welcome, you are welcome, no problem, np, no worries, my pleasure, anytime, well done,
    congrat(?:s|ulations), agreed, i agree, exactly, absolutely, definitely, of course, indeed,
    done,
    (?:it |that )?works?(?: for me| now| fine)?, hi(?: there)?, hello(?: there)?,
    hey(?: there)?, bye,
    goodbye, see you(?: soon| later| tomorrow| then| around)?, take care,
    talk (?:to you )?(?:soon|later),
    have a (?:good|great|nice|lovely) (?:day|one|time|evening|weekend|night), never ?mind, go ahead,
    go for it, do it, do that, proceed, continue, go on, keep going, carry on, next, again,
    yes please,
    please, please do, approved?, either, both, all of them, none, neither, same, ditto, stop, wait,
    cancel, undo, retry, try again, more, skip,
    the (?:first|second|third|last|former|latter)(?: one)?,
    (?:option |number |choice |no\. ?)?(?:[a-e]|\#?\d{{1,2}}), love it, i love it, so do i,
    me too, same here,
    ja, jo, nein, genau, klar, gerne?, danke(?: schön| sehr)?, vielen dank, super, prima, toll,
    passt,
    alles klar, verstanden, in ordnung, stimmt, richtig, gut, sehr gut, mach (?:das|weiter|es),
    weiter,
    hallo, guten (?:morgen|tag|abend), tschüss, bitte,
    oui, non, d'accord, merci(?: beaucoup)?, parfait, super, très bien, bien,
    c'est (?:bon|parfait|ça),
    compris, entendu, vas-y, continue, bonjour, salut, au revoir, bonne (?:journée|soirée), exact,
    sí, si, no, vale, gracias, muchas gracias, perfecto, genial, bien, muy bien, de acuerdo,
    entendido,
    claro, exacto, adelante, sigue, continúa, hola, buenos días, adiós, está bien, listo,
    sì, va bene, grazie(?: mille)?, perfetto, ottimo, bene, molto bene, d'accordo, capito,
    certo, esatto,
    vai, continua, avanti, ciao, buongiorno, arrivederci,
    sim, não, tá(?: bom)?, está bem, obrigad[oa], muito obrigad[oa], perfeito, ótimo, bom,
    muito bem,
    entendi, entendido, certo, isso, exato, pode ser, continue, olá, oi, bom dia, tchau, beleza,
    ja, nee, oké, bedankt, dank je(?: wel)?, dankjewel, dank u, prima, goed, top, perfect, begrepen,
    akkoord, klopt, precies, ga (?:door|verder|je gang), hallo, hoi, doei, goedemorgen,
    tak, nie, dobra, dobrze, okej, dzięki, dziękuję(?: bardzo)?, super, świetnie, rozumiem, jasne,
    zgoda, dokładnie, kontynuuj, dalej, cześć, dzień dobry, pa,
    да, нет, ок, окей, хорошо, ладно, спасибо(?: большое)?, отлично, супер, понял[а]?, понятно,
    ясно,
    согласен, согласна, точно, верно, продолжай, дальше, давай, привет, пока, здравствуйте,
    не за что,
    угу, ага
"""
# Somebody is called after these: after "yes" a name is the answer.
_CALLED = "|".join(
    f"(?<={word})"
    for word in (
        *(
            "thanks",
            r"thank\syou",
            "welcome",
            "problem",
            "hi",
            "hey",
            "hello",
            "bye",
            "job",
            "work",
        ),
        *("great", "awesome", "nice"),
    )
)
# Atomic, and the longest first: what was taken is not tried again, however long the text.
ACKNOWLEDGES = re.compile(
    rf"(?>\W*+(?:{longest_first(_ACKNOWLEDGEMENTS)})(?![\w']))++"
    rf"(?:(?:{_CALLED}),\s+[^\W\d_]+)?\W*",
    re.IGNORECASE,
)
NEAR_ASIA_ACKNOWLEDGES = re.compile(
    r"(?>\W*+(?:OKです|好的?|嗯+|行|可以|谢谢你?|謝謝|多谢|明白了?|知道了|收到|对的?|對|是的?|没问题|沒問題|不用|不客气|继续|繼續|你好"
    r"|はい|うん|ええ|いいえ|ありがとう(?:ございます|ございました)?|どうも|了解(?:です|しました)?|わかった|わかりました|分かりました"
    r"|なるほど|いいね|いいです(?:ね)?|大丈夫(?:です)?|お願いします|よろしく(?:お願いします)?|続けて|こんにちは|ok)[了啊吧呀ね]?)++\W*",
    re.IGNORECASE,
)
