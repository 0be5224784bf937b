"""What a sentence of the user does, and how much it is worth a week later.

A person who instructs an agent decides, corrects, prefers, requires and tells where
things are; they also ask, thank, and want things done now. Only the first five are
remembered. The rules are few and plain: which words lift a sentence, which lower it.
Pure.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from memd.extract.acknowledgements import acknowledges
from memd.sleep.distil.environment.given_up import find_undone
from memd.sleep.distil.exchanges import NapKind
from memd.sleep.distil.language.lasting import (
    befalls,
    gives_up_plan,
    is_of_the_moment,
    states_decision,
    tells_now,
)
from memd.sleep.distil.language.moment import (
    NAMED,
    reports,
    shows_error,
    spoken_form,
)
from memd.sleep.distil.language.prose import READ_MAX
from memd.sleep.distil.language.signs import (
    FIRM_ORDER,
    FIRST,
    FLOOR_WORDS,
    LOOK,
    Signs,
    is_passing,
    only_asks_for,
    signs_of,
    words,
    worth,
)
from memd.sleep.distil.language.standing import is_reminder, is_standing_wish, reproaches
from memd.sleep.distil.user.foreign import foreign_act, is_foreign_wish
from memd.text.alternations import Phrases
from memd.text.languages import ASKS_UNMARKED, WELL, YES, is_foreign, with_umlauts
from memd.text.words import sentences

WORTH = 0.5
"""What scores less is not stored."""
STANDING = 0.9
"""What is said in so many words: a wish for good, or that something was decided."""
FOREIGN = 0.65
"""What a sign of another language than English says."""
ASKED = 1.0
"""The score of what somebody asks to remember: before anything else there is room for it."""
ONE_SIGN = 0.55
"""What no more than one sign speaks for."""
BARE_CHARS = 40
"""A message of no more says yes, no or which, and little else."""


class Act(StrEnum):
    """What the user does with a sentence; the first six may become memories.

    A task is wanted of the work at hand, and becomes one where nothing tells what came of
    it. A plain statement that does none of the others acknowledges.
    """

    DECISION = "decision"
    CORRECTION = "correction"
    PREFERENCE = "preference"
    CONSTRAINT = "constraint"
    ENVIRONMENT = "environment"
    TASK = "task"
    APPROVAL = "approval"
    REQUEST = "request"
    QUESTION = "question"
    ACKNOWLEDGEMENT = "acknowledgement"


class Judgement(NamedTuple):
    """An act and its *score*, 0 to 1; *by_model* where a model says so, and the rules do not."""

    act: Act
    score: float
    by_model: bool = False


_MEANT = words(
    r"i (?:thought (?:we|you|that (?:we|you)|it(?:'s| is| was)(?! going))|said|meant|told you)"
)
_TAG = Phrases(
    r"[,.…]*\s*\(?\b(?:no|yes|yeah|yea|right|correct|ok|okay|agreed?)\)?\s*\?+$"
    r"|[,.…]\s*\(?(?:al ?right|all right|please|pls|deal|understood|got it|clear|cool"
    r"|(?:can|could|will|would) (?:you|ya|u)(?: please)?|in ordnung|verstanden|d'accord|compris"
    r"|vale|de acuerdo|te parece(?: bien)?|entendido|tudo bem|combinado|certo|va bene|capito"
    r"|oké|begrepen|хорошо|ладно|договорились|won't you|shall we|ja|tá|beleza|¿vale)\)?\s*\?+$"
)
_ASKS = Phrases(
    rf"{FIRST}(?:(?:would|could|is|might) it be possible|is it possible|any chance"
    r"|what (?:happens|if|about)|how (?:do|does|can|about)|is there|are there)\b"
)
# What stands before it is thought aloud: "we could read it twice. What do you think?"
_ASKS_OPINION = Phrases(
    r"\b(?:what do you (?:think|suggest|recommend)|(?:any )?thoughts|does (?:this|that|it) make"
    r" sense|what (?:might|could) be|what am i missing)\b[^.!?]{0,40}\?\W*$"
)
# A question by the order of its words, also without its mark: "should both see each other".
_HM = r"^\W*(?:(?:uh+m*|hm+|so|but|and|wait|well)\W+)*"
_INVERTED = Phrases(
    rf"{FIRST}(?!do (?:it|this|that)[,;] )(?:(?:is|are|was|were|do|does|did|should|has)"
    rf" (?:we|i|you|it|they|this|that|these|those|there|the|my|our|your|{NAMED})"
    r"|(?:can|could|will|would) (?:we|i|it|they|this|that|these|those|the|my|our|your))\b"
    r"(?! (?:be|never|not|always|only)\b)"
    rf"|{_HM}(?:what (?:are|were|does|do|did)|how (?:close|many|much|far|long|big|often)"
    r"|who (?:is|are|was|were|do|does|did|has|have|will|can|paid|owes)(?:n't)?"
    r"|(?:what|how|where|why|which \w+) (?:should|would|could) (?:i|we|you)"
    r"|why (?:is|are|do|does|did)|which \w+ (?:is|are|do|does))\b"
    r"(?! (?:times|often) (?:do|must|have|should|did) (?:i|we)\b)"
    # "Don't both appear there", "if it has to be the page, will you be able to"
    rf"|{_HM}(?:don't|doesn't|didn't|isn't|aren't|wasn't|weren't|shouldn't|won't|hasn't|haven't)"
    r" (?:we|i|it|they|these|those|both|there|the)\b"
    r"|^\W*(?:\d{1,2}[.)]\s+)?(?:if|when|since|given) [^,?]{3,120}, (?:will|would|can|could|is|are"
    r"|do|does|did|should|has) (?:you|we|i|it|they|this|that|there)\b"
    r"(?! (?:please|always|never)\b)"
)
# What is to be done now: "run it", "let's start", "we need to look into it".
_IMPERATIVE = Phrases(
    rf"{FIRST}(?:(?:let'?s|we need to|i need you to|i want you to|now we need to|then let'?s"
    r"|(?:we're|we are|i'm) (?:now )?going to)"
    r" (?:now |then |also |first |just )?(?:do the (?:next|same|other)|take (?:a|the next)|pick up"
    r"|(?:do|build|tackle) (?:phase|step|task|part|stage)|roll back|keep work\w*"
    r"|switch|try|cover|delete|merge|pull|rerun|dig|walk"
    r"|start|begin|proceed|continue|finish|review|check|look|see|investigate|explore|research"
    r"|understand|comprehend|find|search|analy[sz]e|brainstorm|inspect|compare|list|open|show"
    r"|record|document|write|address|fix|do it|plan|decide|discuss|talk|test|run|go|get|first"
    r"|move on|commit|push|verify|read|debug|figure|update|clean|work on|apply|focus|set ?up"
    r"|correct|implement|adapt|deploy"
    r"|improve|(?:make|create) (?:a|an|the|our|some)(?: \w+){0,2} (?:plan|changes|file|task)s?"
    r"|(?:make|create|write|prepare|generate|draft)(?: \w+){0,3}"
    r" (?:changelogs?|docs?|documentation|readme|reports?|summary|plans?|tests?|tasks?|pr))"
    r"|run|re-?\w+|fix|add|do|make|create|update|write|show|check|look|open|push"
    r"|commit(?! messages?\b)|build|test|try|implement|explore|continue|proceed|go(?! with)|address"
    r"|explain|tell|give|find|search|move|delete|change|start|stop|finish|take|consider|generate"
    r"|analy[sz]e|evaluate|investigate|figure|debug|clean|merge|pull|install|deploy|list|print"
    r"|compare|draft|plan|document|stub|leave|put|set|audit|summari[sz]e|convert|help|execute|verify"
    r"|format|bump|ship|publish|copy|paste|extract|include|log|get|wait|see|double|decide|work|think"
    r"|yank|drop|undo|export|import|mark|enter|attempt|switch|apply|cover|attach|launch|close|kill"
    r"|download|upload|grab|fetch|squash|stash|describe|identify|clarify|confirm)\b"
)
# Which rule there is, is asked: "explain why it must not be empty".
_ASKS_TO_KNOW = Phrases(
    rf"{FIRST}(?:explain|tell me|show me|describe|find out|figure out) "
    r"(?:(?!if you|when you)[\w' ]){0,30}"
    r"\b(?:how|why|whether|what|which)\b"
)
# What is to be written down about the work, whatever it says there.
_WRITES_DOWN = Phrases(
    rf"{FIRST}(?:create|make|add|write|open|file|start)(?: \w+){{0,3}}"
    r" (?:task|issue|ticket|rule|note|plan|spec|readme|changelog|todo)s?\b"
)
# A choice between two is one, though it is put as an order.
_CHOICE = Phrases(
    rf"^(?!{FIRST}(?:try|check|look|go|continue|investigate|see|wait|think)\b)"
    r".*\b(?:instead|rather than)\b",
    re.IGNORECASE | re.DOTALL,
)
_NEEDS_NOW = Phrases(
    rf"\b(?:we|i) need{LOOK}"
    r"|\bi(?:'d| would|'ll)?(?: also| now| just| really| only| still)* (?:want|like|need) to\b"
    r"|\b(?:want|need|like) you to(?! (?:always|never|ask|stop|only|use|keep|not)\b)"
    r"|^\W*(?:\w+\W+)?now,? let'?s (?!(?:not|keep|use|always|never)\b)"
    r"|(?:^\W*|\b(?:we|i|you) )need to (?:fix|resolve|debug|solve|find out)\b"
    r"|\blet'?s (?:add|write) (?:an? |some |more |the )?(?:unit )?"
    r"(?:tests?|logs?|logging|comments?)\b"
)
_MEANWHILE = Phrases(
    r"\W*(?:(?:ok(?:ay)?|while|then)\b[^,]*\W+)?"
    r"(?:let me|i'?ll|i will|i(?:'m| am) going (?:to|for)|give me (?:an?|some|one|two|\d+)"
    r"|hang on)\b"
)
_CASES = frozenset({Act.DECISION, Act.CONSTRAINT, Act.TASK})
_SETTLES = _CASES | {Act.ENVIRONMENT}
_OF_THE_MOMENT = frozenset({Act.REQUEST, Act.QUESTION})
_STATES_NOTHING = _OF_THE_MOMENT | {Act.TASK, Act.APPROVAL}
_COUNT = re.compile(r"\w+")
# Two signs are a word, about, where words stand without spaces.
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]{2}")

_KINDS = {
    Act.DECISION: NapKind.DECISION,
    Act.CORRECTION: NapKind.CORRECTION,
    Act.PREFERENCE: NapKind.PREFERENCE,
    Act.CONSTRAINT: NapKind.CONSTRAINT,
    Act.ENVIRONMENT: NapKind.ENVIRONMENT,
    Act.TASK: NapKind.DECISION,
}


def judge(text: str, *, stopped: bool = False) -> Judgement:
    """Return what *text* does: the act of its best sentence.

    *stopped* says that the user had just interrupted the agent: what they write then
    sets it right more often than not.
    """
    each = [judge_sentence(one, stopped=stopped) for one in sentences(text)]
    best = max(each, key=lambda judged: judged.score, default=Judgement(Act.ACKNOWLEDGEMENT, 0.0))
    is_asked = any(judged.act is Act.QUESTION for judged in each)
    if is_asked and _is_case(best, text):
        return Judgement(Act.QUESTION, _QUESTION)  # what is told is the case that is asked about
    orders = sum(judged.act in _OF_THE_MOMENT for judged in each)
    if best.act in _SETTLES and best.score <= ONE_SIGN and 2 * orders >= len(each) > 1:
        return Judgement(Act.REQUEST, _MOMENT)  # among orders and reports one sign is too little
    return best


def _is_case(best: Judgement, text: str) -> bool:
    """Return whether what is told beside a question is what it is about, and settles nothing."""
    if best.act in _CASES:
        return _ASKS_OPINION.search(text) is not None
    return best.act is Act.ENVIRONMENT


def kind_of(judged: Judgement) -> NapKind | None:
    """Return what a memory of *judged* is, None for what is none by itself."""
    return _KINDS.get(judged.act)


def states(judged: Judgement) -> bool:
    """Return whether a sentence states something, however little it is worth by itself."""
    return judged.score > 0 and judged.act not in _STATES_NOTHING


def approves(text: str) -> bool:
    """Return whether *text* begins by agreeing.

    >>> approves("yup!"), approves("Yes, but keep the old one"), approves("yesterday it ran")
    (True, True, False)
    >>> approves("ok"), approves("ok, now look at the log of the server and tell me what it says")
    (True, False)
    """
    return YES.match(text) is not None or (len(text) <= BARE_CHARS and WELL.match(text) is not None)


# What stands before a sentence and is no part of it: a list's mark, files that are handed over.
_MARKED = re.compile(r"^\s*(?:(?:[-*+•]|\(?\d{1,3}[.)])\s+)?(?:@[\w./\\:-]+\s+)*(?=\w)")
# Files and selections that an editor hands over in front of the words.
_HANDED = re.compile(r"^\s*(?:[@#]\w[\w./\\:-]*\s+)+(?=\w)")
# A command of the assistant's own, "/implement step 3"; "/data is full" tells of a folder.
_SLASH_COMMAND = Phrases(
    r"\s*/[a-z][\w:-]*(?:$|\s+(?!(?:is|are|was|has|have|had|must|should|can|will|does|needs|holds"
    r"|contains|comes|lives|and|or|on|in|of|for)\b))",
    0,
)
_LONG_WORD = re.compile(r"(\S{80})\S+")
_MOST = 0.85
_MOMENT = 0.3
_MEANS = 0.55
_UNDONE = 0.75
_QUESTION = 0.15


@lru_cache(maxsize=READ_MAX)
def judge_sentence(text: str, *, stopped: bool = False) -> Judgement:
    """Return what one sentence does. Of a word that no person types only the beginning counts."""
    text = _LONG_WORD.sub(r"\1", text)
    count = len(_COUNT.findall(text)) + len(_UNSPACED.findall(text))
    if not count or _only_acknowledges(text):
        return Judgement(Act.APPROVAL if approves(text) else Act.ACKNOWLEDGEMENT, 0.0)
    plain = spoken_form(_HANDED.sub("", text, count=1))
    is_asked = _is_question(plain)
    wish = spoken_form(_MARKED.sub("", text, count=1))
    foreign = is_foreign(wish)
    if foreign:
        plain, wish = with_umlauts(plain), with_umlauts(wish)
    is_told = (count >= FLOOR_WORDS or gives_up_plan(plain)) and not (
        shows_error(plain) or befalls(plain)
    )
    if is_told and _is_wish(wish, is_asked=is_asked, foreign=foreign):
        return Judgement(Act.PREFERENCE, STANDING)
    if is_told and not is_asked and (stated := _judge_stated(text, plain, foreign=foreign)):
        return stated
    if _SLASH_COMMAND.match(text):
        return Judgement(Act.REQUEST, 0.0)
    if reproaches(plain) and not is_passing(plain):
        return Judgement(Act.CORRECTION, _MEANS)
    return (
        _judge_question(plain)
        if is_asked
        else _judge_statement(text, plain, count, stopped=stopped)
    )


def _only_acknowledges(text: str) -> bool:
    """Return whether a sentence thanks, agrees or takes leave, and neither asks nor orders."""
    is_other = text.endswith("?") or _IMPERATIVE.match(text) is not None
    return not is_other and acknowledges(text)


def _is_wish(spoken: str, *, is_asked: bool, foreign: bool) -> bool:
    if is_asked:
        return is_reminder(spoken)
    if is_standing_wish(spoken):
        return True
    return foreign and not is_of_the_moment(spoken) and is_foreign_wish(spoken)


def _judge_stated(text: str, plain: str, *, foreign: bool) -> Judgement | None:
    """Return what a sentence says it does: in so many words, or in another language."""
    if tells_now(plain):
        return Judgement(Act.ENVIRONMENT, STANDING)
    if (states_decision(plain) or gives_up_plan(plain)) and not _TAG.search(plain):
        return Judgement(Act.DECISION, STANDING)
    if undone := find_undone(text):
        return Judgement(Act.DECISION, STANDING if undone.is_firm else _UNDONE)
    if _TAG.search(plain):
        return None
    act = foreign_act(plain) if foreign else None
    return None if act is None else Judgement(Act(act), FOREIGN)


def _judge_statement(text: str, plain: str, count: int, *, stopped: bool) -> Judgement:
    signs = signs_of(text, plain, count, stopped=stopped)
    score = worth(signs)
    if _MEANWHILE.match(plain):
        return Judgement(Act.ACKNOWLEDGEMENT, min(score, _MOMENT))
    is_order = _NEEDS_NOW.search(plain) or _IMPERATIVE.match(plain)
    is_choice = _CHOICE.search(plain) and not _WRITES_DOWN.match(plain)
    if any(one(plain) for one in (is_of_the_moment, reports, befalls, _ASKS_TO_KNOW.match)):
        return Judgement(Act.REQUEST, min(score, _MOMENT))
    if is_order and not (signs.corrects or is_choice or FIRM_ORDER.search(plain)):
        return Judgement(Act.REQUEST, min(score, _MOMENT))
    what = Act.TASK if only_asks_for(signs, plain) else _act_of(signs)
    return Judgement(what, max(0.0, min(score, _MOST)))


def _act_of(signs: Signs) -> Act:
    if signs.corrects or signs.stopped:
        return Act.CORRECTION
    if signs.requires:
        return Act.CONSTRAINT
    if signs.wants or signs.rules:
        return Act.DECISION
    return Act.ENVIRONMENT if signs.places else Act.ACKNOWLEDGEMENT


def _is_question(text: str) -> bool:
    """Return whether *text* is a question; "we keep it, right?" is none."""
    is_asked = text.rstrip("\"')* ").endswith("?") and not _TAG.search(text)
    return is_asked or any(
        one(text) for one in (_ASKS.match, _INVERTED.match, ASKS_UNMARKED.search)
    )


def _judge_question(text: str) -> Judgement:
    """Return a question, unless it says what was meant ("I thought we would read it once?")."""
    return (
        Judgement(Act.CORRECTION, _MEANS)
        if _MEANT.search(text)
        else Judgement(Act.QUESTION, _QUESTION)
    )
