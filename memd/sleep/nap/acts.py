"""What a sentence of the user does, and how much it is worth a week later.

A person who instructs an agent decides, corrects, prefers, requires and tells where
things are; they also ask, thank, and want things done now. Only the first five are
remembered. The rules are few and plain: which words lift a sentence, which lower it.
Pure.
"""

from __future__ import annotations

import re
from enum import StrEnum
from operator import mul
from typing import NamedTuple

from memd.sleep.nap.candidates import Kind
from memd.sleep.nap.languages import ALWAYS_OR_NEVER, REFUSES, WELL, YES
from memd.sleep.nap.words import sentences

WORTH = 0.5
"""What scores less is not stored."""
STANDING = 0.9
BARE_CHARS = 40
"""A message of no more says yes, no or which, and little else."""
_FLOOR_WORDS = 3
_SHORT_WORDS = 9


class Act(StrEnum):
    """What the user does with a sentence; the first five may become memories.

    A plain statement that does none of the others acknowledges.
    """

    DECISION = "decision"
    CORRECTION = "correction"
    PREFERENCE = "preference"
    CONSTRAINT = "constraint"
    ENVIRONMENT = "environment"
    APPROVAL = "approval"
    REQUEST = "request"
    QUESTION = "question"
    ACKNOWLEDGEMENT = "acknowledgement"


class Judged(NamedTuple):
    """An act and its *score*, 0 to 1."""

    act: Act
    score: float


def _words(*alternatives: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(alternatives)})\b", re.IGNORECASE)


# A wish that outlives the day: how this person wants work done.
_STANDS = _words(
    r"from now on",
    r"(?:please |always )?remember (?:to|that|this|not)",
    r"keep in mind",
    r"in (?:the )?future",
    r"going forward",
    r"next time",
    r"every time (?:you|we|i)",
    r"whenever (?:you|we|i)",
    r"as a (?:general )?rule",
    r"by default,? (?:we|i|you)",
    r"(?:i|we) (?:always|never|usually|generally|strongly|really|much)? ?(?:prefer|hate|dislike)",
    r"(?:i|we) (?:always|never)",
    r"(?:you|please|do) (?:should )?(?:always|never)",
    r"i(?:'ll| will| can| am going to|'m going to) [^.;,]*\bmyself",
    r"just (?:tell|show|give) me",
    r"(?:stop|quit) \w+ing",
    r"^\W*(?:please )?(?:don't|do not|never) (?:ever|again|touch|commit|push|mention"
    r"|add comments|apologi[sz]e)",
    r"i (?:do not|don't) (?:want|like) you",
    r"i(?:'d| would) (?:rather|prefer)",
    r"i reverted",
    r"we (?:also |only |mostly )?(?:focus|favou?r|avoid|value|follow)",
    r"better (?:to )?(?:not )?(?:to )?\w+ .* than",
    r"(?:this|it) is (?:just |only )?(?:a |an )?(?:prototyp\w+|experiment|proof of concept)",
    r"we(?:'re| are) (?:just |only )?prototyping",
    r"my (?:preference|convention|rule)",
    r"no need (?:to|for)",
    r"i care (?:more )?about",
)
_LOOK = r" to (?:look|check|see|figure|discuss|plan|decide|think|talk|know|understand)\b"
_NOT_NOW = rf"(?!{_LOOK})"
_WANTS = _words(
    r"(?:we|i)(?: do| really| just| also| only| still|'ll)* ?(?:want|wanted|need|require|expect)"
    rf"{_NOT_NOW}",
    r"^\W*(?:need|want)",
    r"(?:we|i)(?: are|'re| am|'m)(?: already| not| only)? going to",
    r"(?:we|i)(?: do| really| just| also| still)*"
    r" (?:don't|do not|won't|will not|can't|cannot|shouldn't|aren't)",
    r"\w+(?:'ll)? should(?:n't| not| only| always| just| be)?",
    r"(?:we|it|they)(?:'ll| will)(?: also)?"
    r" (?:use|keep|have|fetch|need|go|do|be|support|want|store)",
    r"let(?:'?s| us)",
    rf"needs?{_NOT_NOW} (?:to|a|an)",
    r"ought to",
    r"make sure",
    r"(?:i am|i'm|we're) (?:fine|ok|okay|good|happy) with",
    r"(?:go|stick|stay) with",
    r"(?:i|we) (?:decided|chose|picked|agreed|said)",
    r"(?:the|our) (?:fix|answer|solution|idea|goal|plan|point|rule|reason) (?:\w+ )?(?:is|was)",
    r"(?:is|are|was) (?:fine|good enough|the right|better|enough|preferred|cleaner|only)",
    r"limit(?:ed)? \w+ to",
    r"i like",
    r"for (?:now|clarity)",
)
_RULES = _words(
    r"always", r"never", r"only", r"must(?:n't)?", r"instead", r"don'?t", r"do not", r"no longer",
    r"rather than", r"except", r"at (?:most|least)", r"exactly", r"without", r"ha(?:s|ve) to",
    r"required?", r"forbidden", r"not allowed", r"may not", r"just (?:as|like)", r"same as",
    r"by default", r"supposed to", r"no need", r"not the", r"won't", r"unless", r"until",
    r"(?:in)?compatible", r"breaks?", r"nothing but", r"no \w+(?=[.!]|$)",
)  # fmt: skip
# An order with one of these holds longer than the day; "only" and "just" are in many orders.
_FIRM = _words(
    r"always", r"never", r"must(?:n't)?", r"instead", r"don'?t", r"do not", r"no longer",
    r"rather than", r"except", r"without", r"unless", r"not the", r"only (?:if|when|after|for|the)",
)  # fmt: skip
_REQUIRES = _words(
    r"must(?:n't)?", r"never", r"always", r"ha(?:s|ve) to", r"required?", r"forbidden", r"cannot",
    r"not allowed", r"may not", r"at (?:most|least)", r"(?:in)?compatib\w+", r"breaking changes?",
    r"deadline", r"no more than", r"up to \d+",
)  # fmt: skip
# The agent is set right.
_CORRECTS = _words(
    r"(?:is|are|was|were)(?:n't| not)? (?:wrong|incorrect|false|imprecise|correct|right|outdated)",
    r"(?:that|this|it)(?:'s| is) not (?:what|how|it|the|a|my|right|true|correct)",
    r"not what (?:i|we)",
    r"i (?:said|meant|told you|already (?:said|told)|asked (?:you )?(?:for|to)|never said)",
    r"you(?:'re| are)? (?:still|missing|wrong|just|keep|forgot|missed|misunderst\w+|broke|deleted)",
    r"i thought (?:we|you|it|the|that)",
    r"turns out",
    r"(?:doesn't|does not|did not|didn't|still (?:doesn't|does not|not)) (?:make sense|work|help)",
    r"did nothing",
    r"makes no sense",
    r"(?:why|how come) (?:did|are|do|would) you",
    r"missing",
    r"contradicts?",
    r"actually",
    r"no,? (?:man|dude|wait)",
    r"not (?:\w+ ){0,3}but",
)
_REFUSAL = re.compile(
    r"\W*(?:(?:no|nope|nah|wrong|wait|incorrect|stop|dude|hold on|uh+|hmm+|wth|wtf|not)\b)",
    re.IGNORECASE,
)
_CAUSE = _words(
    r"because", r"'?cause", r"since", r"so that", r"due to", r"otherwise", r"the reason",
    r"that's (?:what|why)", r"which (?:is why|means)", r"cuz", r"reason being", r"that means",
)  # fmt: skip
_MEANT = _words(r"i (?:thought|said|meant|told you)")
_NOTES = re.compile(r"\W*(?:of important )?(?:note|important|fyi|reminder|nb|btw)\b", re.IGNORECASE)
_TENTATIVE = _words(
    r"maybe", r"perhaps", r"i guess", r"i wonder", r"not sure", r"might",
    r"could be", r"let'?s (?:try|see|talk|discuss)", r"what do you (?:think|suggest)",
    r"(?:1|one) sec", r"brb",
)  # fmt: skip
_NAMES = re.compile(
    r"`[^`]+`|\b\w+://\S+|(?<!\w)[~.@]?/?[\w.@-]+(?:/[\w.@-]+)+|(?<!\w)--[a-z][\w-]+"
    r"|\b\w+(?:_\w+)+\b|\b[a-z]+[A-Z]\w*|\b[A-Z][a-z]+[A-Z]\w*|\b\w{2,}\.(?!\s)[a-z]{1,4}\b"
    r"|\b[A-Z]{2,}\d+\b|\b\d{2,}\b"
)
_PLACES = re.compile(
    r"\b\w+://\S+|\blocalhost\b|(?<!\w)(?:~|\.{1,2}|@[\w.-]+)?/[\w.@-]+(?:/[\w.@-]+)*"
    r"|\b[\w-]+(?:/[\w-]+)*/[\w-]+\.\w{1,5}\b|\bport \d+|:\d{4,5}\b"
    r"|\bversion \d|\bv?\d+\.\d+(?:\.\d+)?\b|(?<!\w)--[a-z][\w-]+|\b[A-Z]+_[A-Z_]+\b",
)
_SETS = _words(
    r"is", r"are", r"lives?", r"runs?", r"running", r"listens?", r"uses?", r"using", r"installed",
    r"stored", r"located", r"see", r"ran", r"at", r"called", r"named", r"set (?:to|up)", r"under",
)  # fmt: skip
_TAG = re.compile(
    r"[,.…]*\s*\(?\b(?:no|yes|yeah|yea|right|correct|ok|okay|agreed?)\)?\s*\?+$", re.IGNORECASE
)
_FIRST = (
    r"\W*(?:(?:so|ok(?:ay)?|now|then|and|also|please|next|first|finally|go ahead and|can you"
    r"|could you|pls|just|y|yes|yeah|sure|great|cool)\W+)*"
)
# What is to be done now: "run it", "let's start", "we need to look into it".
_ASKS = re.compile(
    rf"{_FIRST}(?:what (?:happens|if|about)|how (?:do|does|can|about)|is there|are there)\b",
    re.IGNORECASE,
)
_IMPERATIVE = re.compile(
    rf"{_FIRST}(?:(?:let'?s|we need to|i need you to|i want you to|now we need to|then let'?s)"
    r" (?:start|begin|proceed|continue|finish|review|check|look|see|record|write|address|fix|do it"
    r"|plan|decide|discuss|talk|test|run|go|get|first|move on|commit|push|verify|read|debug|figure)"
    r"|run|rerun|re-?\w+|fix|add|do|make|create|update|write|show|check|look|read|open|commit|push"
    r"|build|test|try|implement|continue|proceed|go|address|review|explain|tell|give|find|search"
    r"|move|delete|remove|rename|revert|change|start|stop|finish|take|consider|generate|analy[sz]e"
    r"|evaluate|investigate|figure|debug|clean|merge|pull|install|deploy|list|print|compare|draft"
    r"|plan|record|document|stub|leave|put|set|research|audit|summari[sz]e|convert|refactor|help"
    r"|execute|verify|format|bump|release|ship|publish|copy|paste|replace|extract|include|log|get"
    r"|wait|see|double|decide|work|think|use|yank|drop|undo|redo|restart|export|import)\b",
    re.IGNORECASE,
)
_NEEDS_NOW = re.compile(rf"\b(?:we|i) need{_LOOK}", re.IGNORECASE)
_MEANWHILE = re.compile(
    r"\W*(?:(?:ok(?:ay)?|while|then)\b[^,]*\W+)?"
    r"(?:let me|i'?ll|i will|i'm going to|give me|hang on)\b",
    re.IGNORECASE,
)
POINTS = re.compile(r"\b(?:this|that|it|them|these|those|they|there|one)\b", re.IGNORECASE)
"""Words that say something only beside what they point at."""
_ACKNOWLEDGES = re.compile(
    r"\W*(?:(?:ok(?:ay)?|k|great|thanks?(?: you)?|cool|nice|perfect|good|awesome|got it|i see|sure"
    r"|works?|done|yes|yeah|yep|y|fine|excellent|looks good|lgtm|very|job|so much|a lot|that|it|is"
    r"|now|hi|hello|hey|bye|wow|sweet|i did|danke|merci|gracias|grazie|obrigado|bedankt)\b\W*)+$",
    re.IGNORECASE,
)
_COUNT = re.compile(r"\w+")

_KINDS = {
    Act.DECISION: Kind.DECISION,
    Act.CORRECTION: Kind.CORRECTION,
    Act.PREFERENCE: Kind.PREFERENCE,
    Act.CONSTRAINT: Kind.CONSTRAINT,
    Act.ENVIRONMENT: Kind.ENVIRONMENT,
}


def act(text: str, *, stopped: bool = False) -> Judged:
    """Return what *text* does: the act of its best sentence.

    *stopped* says that the user had just interrupted the agent: what they write then
    sets it right more often than not.
    """
    each = [sentence_act(one, stopped=stopped) for one in sentences(text)]
    best = max(each, key=lambda judged: judged.score, default=Judged(Act.ACKNOWLEDGEMENT, 0.0))
    if best.act is Act.ENVIRONMENT and any(judged.act is Act.QUESTION for judged in each):
        return Judged(Act.QUESTION, _ASKED)  # the places are those of a case that is asked about
    return best


def kind_of(judged: Judged) -> Kind | None:
    """Return what a memory of *judged* is, None for what is none by itself."""
    return _KINDS.get(judged.act)


def approves(text: str) -> bool:
    """Return whether *text* begins by agreeing.

    >>> approves("yup!"), approves("Yes, but keep the old one"), approves("yesterday it ran")
    (True, True, False)
    >>> approves("ok"), approves("ok, now look at the log of the server and tell me what it says")
    (True, False)
    """
    return YES.match(text) is not None or (len(text) <= BARE_CHARS and WELL.match(text) is not None)


class _Signs(NamedTuple):
    """What of a sentence counts, and with the same names how much."""

    wants: float
    rules: float
    requires: float
    corrects: float
    refuses: float
    places: float
    names: float
    causes: float
    notes: float
    stopped: float
    tentative: float
    vague: float
    short: float
    hollow: float


_BASE = 0.2
_WEIGHTS = _Signs(
    wants=0.3,
    rules=0.2,
    requires=0.15,
    corrects=0.25,
    refuses=0.1,
    places=0.25,
    names=0.05,
    causes=0.1,
    notes=0.15,
    stopped=0.2,
    tentative=-0.3,
    vague=-0.15,
    short=-0.2,
    hollow=-0.2,
)
_MOST = 0.85
_MOMENT = 0.3
_MEANS = 0.55
_ASKED = 0.15
_NAMES_MAX = 3


def sentence_act(text: str, *, stopped: bool = False) -> Judged:
    """Return what one sentence does."""
    count = len(_COUNT.findall(text))
    if not count or _ACKNOWLEDGES.fullmatch(text):
        return Judged(Act.APPROVAL if approves(text) else Act.ACKNOWLEDGEMENT, 0.0)
    if _asks(text):
        return _question(text)
    if count >= _FLOOR_WORDS and (_STANDS.search(text) or ALWAYS_OR_NEVER.search(text)):
        return Judged(Act.PREFERENCE, STANDING)
    signs = _signs(text, count, stopped=stopped)
    score = _BASE + sum(map(mul, signs, _WEIGHTS))
    if _MEANWHILE.match(text):
        return Judged(Act.ACKNOWLEDGEMENT, min(score, _MOMENT))
    is_now = _NEEDS_NOW.search(text) and not (signs.wants or signs.corrects)
    if is_now or (_IMPERATIVE.match(text) and not (signs.corrects or _FIRM.search(text))):
        return Judged(Act.REQUEST, min(score, _MOMENT))
    return Judged(_what(signs), max(0.0, min(score, _MOST)))


def _signs(text: str, count: int, *, stopped: bool) -> _Signs:
    wants, rules = bool(_WANTS.search(text)), bool(_RULES.search(text))
    refuses = bool(_REFUSAL.match(text) or REFUSES.match(text))
    corrects = refuses or bool(_CORRECTS.search(text))
    requires, causes = bool(_REQUIRES.search(text)), bool(_CAUSE.search(text))
    names = len(_NAMES.findall(text))
    says = wants or rules or requires or causes or names
    return _Signs(
        wants=wants,
        rules=rules,
        requires=requires,
        corrects=corrects,
        refuses=refuses and count > _FLOOR_WORDS,
        places=not wants and bool(_PLACES.search(text) and _SETS.search(text)),
        names=min(names, _NAMES_MAX),
        causes=causes,
        notes=bool(_NOTES.match(text)),
        stopped=stopped and (wants or rules or corrects),
        tentative=bool(_TENTATIVE.search(text)),
        vague=not names and count <= _SHORT_WORDS and bool(POINTS.search(text)),
        short=count <= _FLOOR_WORDS,
        hollow=corrects and not says and count <= _SHORT_WORDS,
    )


def _what(signs: _Signs) -> Act:
    if signs.corrects or signs.stopped:
        return Act.CORRECTION
    if signs.requires:
        return Act.CONSTRAINT
    if signs.wants or signs.rules:
        return Act.DECISION
    return Act.ENVIRONMENT if signs.places else Act.ACKNOWLEDGEMENT


def _asks(text: str) -> bool:
    """Return whether *text* is a question; "we keep it, right?" is none."""
    is_asked = text.rstrip("\"')* ").endswith("?") and not _TAG.search(text)
    return is_asked or _ASKS.match(text) is not None


def _question(text: str) -> Judged:
    """Return a question, unless it says what was meant ("I thought we would read it once?")."""
    return Judged(Act.CORRECTION, _MEANS) if _MEANT.search(text) else Judged(Act.QUESTION, _ASKED)
