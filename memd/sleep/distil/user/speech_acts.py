"""Classify the user's sentences by speech act, and score how useful each is a week later.

Decisions, corrections, preferences, constraints and facts about the environment may become
memories. Questions, thanks and requests of the moment do not. The score is a weighted sum of
the patterns in ``language/signs.py``. Pure.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from memd.extract.acknowledgements import acknowledges
from memd.extract.passing import asks_tersely
from memd.sleep.distil.environment.replacements import find_refused, find_replacement
from memd.sleep.distil.exchanges import NapKind
from memd.sleep.distil.language.current_moment import (
    NAMED,
    reports,
    shows_error,
    spoken_form,
)
from memd.sleep.distil.language.prose import READ_MAX
from memd.sleep.distil.language.scoped_wishes import (
    abandons_plan,
    is_of_the_moment,
    reports_repeated_event,
    states_decision,
    states_new_habit,
)
from memd.sleep.distil.language.signs import (
    FIRM_ORDER,
    FIRST,
    FLOOR_WORDS,
    LOOK,
    Signs,
    is_passing,
    only_asks_for,
    signs_of,
    worth,
)
from memd.sleep.distil.language.standing_wishes import is_reminder, is_standing_wish, reproaches
from memd.sleep.distil.user.foreign_languages import foreign_act, is_foreign_wish
from memd.sleep.distil.user.settled_values import settles_value
from memd.text.alternations import Phrases
from memd.text.languages import ASKS_UNMARKED, WELL, YES, is_foreign, with_umlauts
from memd.text.words import sentences

WORTH = 0.5
"""Lowest score of a sentence that is stored."""
STANDING = 0.9
"""Score of an explicit statement: a standing wish, or "we decided ..."."""
FOREIGN = 0.65
"""Score of a sentence that a pattern of another language than English matched."""
ASKED = 1.0
"""Score of what the user asks to remember. It is the maximum, so it is kept first."""
ONE_SIGN = 0.55
"""Highest score that a single sign gives."""
BARE_CHARS = 40
"""Length of a message up to which it is at most a short answer: yes, no, or a choice."""


class Act(StrEnum):
    """Speech act of a sentence; the first six may become memories.

    A task is a request about the current work. It becomes a memory if its outcome is unknown.
    ACKNOWLEDGEMENT is also the default for a statement that matches nothing else.
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
    """An act and its *score*, 0 to 1; *by_model* says that a model decided, not the rules."""

    act: Act
    score: float
    by_model: bool = False


# A tag question that only seeks agreement: "we keep it, right?", "use tabs, please?"
_TAG = Phrases(
    r"[,.…]*\s*\(?\b(?:no|yes|yeah|yea|right|correct|ok|okay|agreed?)\)?\s*\?+$"
    r"|[,.…]\s*\(?(?:al ?right|all right|please|pls|deal|understood|got it|clear|cool"
    r"|(?:can|could|will|would) (?:you|ya|u)(?: please)?|in ordnung|verstanden|d'accord|compris"
    r"|vale|de acuerdo|te parece(?: bien)?|entendido|tudo bem|combinado|certo|va bene|capito"
    r"|oké|begrepen|хорошо|ладно|договорились|won't you|shall we|ja|tá|beleza|¿vale)\)?\s*\?+$"
)
# "Is it possible to ...", "any chance", "what about ...", with or without a question mark.
_ASKS = Phrases(
    rf"{FIRST}(?:(?:would|could|is|might) it be possible|is it possible|any chance"
    r"|what (?:happens|if|about)|how (?:do|does|can|about)|is there|are there)\b"
)
# Asks for an opinion on the sentence before it: "We could read it twice. What do you think?"
_ASKS_OPINION = Phrases(
    r"\b(?:what do you (?:think|suggest|recommend)|(?:any )?thoughts|does (?:this|that|it) make"
    r" sense|what (?:might|could) be|what am i missing)\b[^.!?]{0,40}\?\W*$"
)
# A question by word order, also without a question mark: "should we cache it".
_FILLERS = r"^\W*(?:(?:uh+m*|hm+|so|but|and|wait|well)\W+)*"
_INVERTED = Phrases(
    rf"{FIRST}(?!do (?:it|this|that)[,;] )(?:(?:is|are|was|were|do|does|did|should|has)"
    rf" (?:we|i|you|it|they|this|that|these|those|there|the|my|our|your|{NAMED})"
    r"|(?:can|could|will|would) (?:we|i|it|they|this|that|these|those|the|my|our|your))\b"
    r"(?! (?:be|never|not|always|only)\b)"
    rf"|{_FILLERS}(?:what (?:are|were|does|do|did)|how (?:close|many|much|far|long|big|often)"
    r"|who (?:is|are|was|were|do|does|did|has|have|will|can|paid|owes)(?:n't)?"
    r"|(?:what|how|where|why|which \w+) (?:should|would|could) (?:i|we|you)"
    r"|why (?:is|are|do|does|did)|which \w+ (?:is|are|do|does))\b"
    r"(?! (?:times|often) (?:do|must|have|should|did) (?:i|we)\b)"
    # "Don't both appear there", "if it has to be the page, will you be able to"
    rf"|{_FILLERS}(?:don't|doesn't|didn't|isn't|aren't|wasn't|weren't|shouldn't|won't|hasn't|haven't)"
    r" (?:we|i|it|they|these|those|both|there|the)\b"
    r"|^\W*(?:\d{1,2}[.)]\s+)?(?:if|when|since|given) [^,?]{3,120}, (?:will|would|can|could|is|are"
    r"|do|does|did|should|has) (?:you|we|i|it|they|this|that|there)\b"
    r"(?! (?:please|always|never)\b)"
)
# A step to take now: "run it", "let's start", "we need to look into it".
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
# An order that is also a choice: "use tabs instead of spaces". "Try X instead" is none.
_CHOICE = Phrases(
    rf"^(?!{FIRST}(?:try|check|look|go|continue|investigate|see|wait|think)\b)"
    r".*\b(?:instead|rather than)\b",
    re.IGNORECASE | re.DOTALL,
)
# Needs something for the current work: "I want to see the log", "let's add some tests".
_NEEDS_NOW = Phrases(
    rf"\b(?:we|i) need{LOOK}"
    r"|\bi(?:'d| would|'ll)?(?: also| now| just| really| only| still)* (?:want|like|need) to\b"
    r"|\b(?:want|need|like) you to(?! (?:always|never|ask|stop|only|use|keep|not)\b)"
    r"|^\W*(?:\w+\W+)?now,? let'?s (?!(?:not|keep|use|always|never)\b)"
    r"|(?:^\W*|\b(?:we|i|you) )need to (?:fix|resolve|debug|solve|find out)\b"
    r"|\blet'?s (?:add|write) (?:an? |some |more |the )?(?:unit )?"
    r"(?:tests?|logs?|logging|comments?)\b"
)
# The user's own next step, or a request to wait: "ok, let me check", "give me a minute".
_MEANWHILE = Phrases(
    r"\W*(?:(?:ok(?:ay)?|while|then)\b[^,]*\W+)?"
    r"(?:let me|i'?ll|i will|i(?:'m| am) going (?:to|for)|give me (?:an?|some|one|two|\d+)"
    r"|hang on)\b"
)
# Acts that may be the subject of a question in the same message.
_CASES = frozenset({Act.DECISION, Act.CONSTRAINT, Act.TASK})
_SETTLES = _CASES | {Act.ENVIRONMENT}
_OF_THE_MOMENT = frozenset({Act.REQUEST, Act.QUESTION})
_STATES_NOTHING = _OF_THE_MOMENT | {Act.TASK, Act.APPROVAL}
_TOKEN = re.compile(r"\w+")
# Japanese and Chinese have no spaces; two characters count as a word.
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
    """Return the judgement of the sentence of *text* with the highest score.

    *stopped* says that the user had just interrupted the agent. What they write then is usually
    a correction.
    """
    judgements = [judge_sentence(sentence, stopped=stopped) for sentence in sentences(text)]
    best = max(
        judgements, key=lambda judged: judged.score, default=Judgement(Act.ACKNOWLEDGEMENT, 0.0)
    )
    has_question = any(judged.act is Act.QUESTION for judged in judgements)
    if has_question and _is_question_subject(best, text):
        return Judgement(Act.QUESTION, _QUESTION)
    orders = sum(judged.act in _OF_THE_MOMENT for judged in judgements)
    is_weak = best.act in _SETTLES and best.score <= ONE_SIGN
    if is_weak and 2 * orders >= len(judgements) > 1:
        return Judgement(Act.REQUEST, _MOMENT)  # one sign among orders is too little evidence
    return best


def _is_question_subject(best: Judgement, text: str) -> bool:
    """Return whether *best* only describes the case that a question in *text* is about."""
    if best.act in _CASES:
        return _ASKS_OPINION.search(text) is not None
    return best.act is Act.ENVIRONMENT


def kind_of(judged: Judgement) -> NapKind | None:
    """Return the kind of memory that *judged* makes, None if it makes none by itself."""
    return _KINDS.get(judged.act)


def states(judged: Judgement) -> bool:
    """Return whether the sentence states something, whatever its score."""
    return judged.score > 0 and judged.act not in _STATES_NOTHING


def approves(text: str) -> bool:
    """Return whether *text* begins with agreement: "yes", or a short message like "ok".

    >>> approves("yup!"), approves("Yes, but keep the old one"), approves("yesterday it ran")
    (True, True, False)
    >>> approves("ok"), approves("ok, now look at the log of the server and tell me what it says")
    (True, False)
    """
    return YES.match(text) is not None or (len(text) <= BARE_CHARS and WELL.match(text) is not None)


# A list mark and file references in front of a sentence: "- ", "2) ", "@src/app.py ".
_MARKED = re.compile(r"^\s*(?:(?:[-*+•]|\(?\d{1,3}[.)])\s+)?(?:@[\w./\\:-]+\s+)*(?=\w)")
# File references and selections that an editor puts in front: "@src/app.py #selection ".
_HANDED = re.compile(r"^\s*(?:[@#]\w[\w./\\:-]*\s+)+(?=\w)")
# A slash command of the assistant, "/implement step 3"; "/data is full" is about a folder.
_SLASH_COMMAND = Phrases(
    r"\s*/[a-z][\w:-]*(?:$|\s+(?!(?:is|are|was|has|have|had|must|should|can|will|does|needs|holds"
    r"|contains|comes|lives|and|or|on|in|of|for)\b))",
    0,
)
_LONG_WORD = re.compile(r"(\S{80})\S+")
_SCORE_MAX = 0.85  # of a statement by its signs; explicit ones score STANDING
_MOMENT = 0.3  # highest score of a request
_REPROACH = 0.55
_UNDONE = 0.75  # a plan that was given up, with less than firm words
_QUESTION = 0.15


@lru_cache(maxsize=READ_MAX)
def judge_sentence(text: str, *, stopped: bool = False) -> Judgement:
    """Return the act and the score of one sentence.

    Of a word over 80 characters, which nobody types, only the beginning is read.
    """
    text = _LONG_WORD.sub(r"\1", text)
    count = len(_TOKEN.findall(text)) + len(_UNSPACED.findall(text))
    if not count or _only_acknowledges(text):
        return Judgement(Act.APPROVAL if approves(text) else Act.ACKNOWLEDGEMENT, 0.0)
    plain = spoken_form(_HANDED.sub("", text, count=1))
    is_question = _is_question(plain)
    wish = spoken_form(_MARKED.sub("", text, count=1))
    foreign = is_foreign(wish)
    if foreign:
        plain, wish = with_umlauts(plain), with_umlauts(wish)
    is_report = shows_error(plain) or reports_repeated_event(plain)
    is_stated = (count >= FLOOR_WORDS or abandons_plan(plain)) and not is_report
    if is_stated and _is_wish(wish, is_question=is_question, foreign=foreign):
        return Judgement(Act.PREFERENCE, STANDING)
    if (
        is_stated
        and not is_question
        and (judgement := _judge_explicit(text, plain, foreign=foreign))
    ):
        return judgement
    if _SLASH_COMMAND.match(text):
        return Judgement(Act.REQUEST, 0.0)
    if reproaches(plain) and not is_passing(plain):
        return Judgement(Act.CORRECTION, _REPROACH)
    return (
        Judgement(Act.QUESTION, _QUESTION)
        if is_question
        else _judge_statement(text, plain, count, stopped=stopped)
    )


def _only_acknowledges(text: str) -> bool:
    """Return whether a sentence only thanks, agrees or says goodbye."""
    asks_or_orders = text.endswith("?") or _IMPERATIVE.match(text) is not None
    return not asks_or_orders and acknowledges(text)


def _is_wish(spoken: str, *, is_question: bool, foreign: bool) -> bool:
    """Return whether a sentence is a standing wish; a question is one if it repeats a wish."""
    if is_question:
        return is_reminder(spoken)
    if is_standing_wish(spoken):
        return True
    return foreign and not is_of_the_moment(spoken) and is_foreign_wish(spoken)


def _judge_explicit(text: str, plain: str, *, foreign: bool) -> Judgement | None:
    """Return the judgement of an explicit or foreign statement, None if no pattern matches."""
    if states_new_habit(plain):
        return Judgement(Act.ENVIRONMENT, STANDING)
    is_decided = states_decision(plain) or settles_value(plain) or abandons_plan(plain)
    if is_decided and not _TAG.search(plain):
        return Judgement(Act.DECISION, STANDING)
    if undone := find_replacement(text):
        return Judgement(Act.DECISION, STANDING if undone.is_firm else _UNDONE)
    if find_refused(text):
        return Judgement(Act.DECISION, _UNDONE)
    if _TAG.search(plain):
        return None
    act = foreign_act(plain) if foreign else None
    return None if act is None else Judgement(Act(act), FOREIGN)


def _judge_statement(text: str, plain: str, count: int, *, stopped: bool) -> Judgement:
    """Return the judgement of a sentence of *count* words by its signs."""
    signs = signs_of(text, plain, count, stopped=stopped)
    score = worth(signs)
    if _MEANWHILE.match(plain):
        return Judgement(Act.ACKNOWLEDGEMENT, min(score, _MOMENT))
    is_order = _NEEDS_NOW.search(plain) or _IMPERATIVE.match(plain)
    is_choice = _CHOICE.search(plain)
    is_momentary = is_of_the_moment(plain) or reports(plain) or reports_repeated_event(plain)
    if is_momentary:
        return Judgement(Act.REQUEST, min(score, _MOMENT))
    if is_order and not (signs.corrects or is_choice or FIRM_ORDER.search(plain)):
        return Judgement(Act.REQUEST, min(score, _MOMENT))
    act = Act.TASK if only_asks_for(signs, plain) else _act_of(signs)
    return Judgement(act, max(0.0, min(score, _SCORE_MAX)))


def _act_of(signs: Signs) -> Act:
    if signs.corrects or signs.stopped:
        return Act.CORRECTION
    if signs.requires:
        return Act.CONSTRAINT
    if signs.wants or signs.rules:
        return Act.DECISION
    return Act.ENVIRONMENT if signs.places else Act.ACKNOWLEDGEMENT


def _is_question(text: str) -> bool:
    """Return whether *text* is a question; a tag question ("we keep it, right?") is none."""
    is_marked = text.rstrip("\"')* ").endswith("?") and not _TAG.search(text)
    return is_marked or any(
        test(text) for test in (_ASKS.match, _INVERTED.match, ASKS_UNMARKED.search, asks_tersely)
    )
