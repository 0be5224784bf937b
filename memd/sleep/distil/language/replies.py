"""Classify the user's replies to the agent: permissions, choices, denials. Pure.

A permission ("Would you like me to commit these?" - "yes") decides nothing worth a memory; the
outcome of the step is recorded elsewhere.

Most replies that begin with "no" decline, order or go on. A *denial* also says how things are ("No,
we moved to canary releases"), or complains that a change did not help.
"""

from __future__ import annotations

import re

from memd.sleep.distil.language.current_moment import NAMED, spoken_form
from memd.sleep.distil.language.words import content_words
from memd.text.alternations import Phrases
from memd.text.languages import LEAVE, YES
from memd.text.words import sentences

# "Would you like me to", "shall I", "are you sure you want to".
_MAY_I = (
    r"\b(?:(?:would you|do you|you'd|if you'd) (?:like|want|prefer)(?: me| us)? to"
    r"|want (?:me )?to|(?:shall|should|can|may) (?:i|we)|(?:are you )?ready (?:for me )?to"
    r"|are you sure you want to)"
    r"(?: (?:also|now|first|just|then|immediately|attempt to|try to|help(?: you)?(?: to)?))*"
)
# Routine steps of any work: "commit", "run the tests", "create a PR".
_STEP = (
    r"(?:commit|push|merge|rebase|run|re-?run|try|test|re-?test|build|rebuild|check|double-?check"
    r"|verify|look|inspect|investigate|locate|identify|diagnose|troubleshoot|debug|review|read|show|see|open|restart|save|stage|proceed"
    r"|continue|go (?:ahead|on)|keep going|move on|start|begin|work on|launch|install|clear|clean"
    r"|re-?apply|delete|(?:create|generate|prepare|make|write|draft|submit)(?: up)?"
    r" (?:a |an |the |this |these )?(?:\w+ ){0,2}(?:pr|pull request|commit|branch|summary"
    r"|description|documentation|docs?|report|task|ticket|issue)s?)\b"
)
_ASKS_LEAVE = Phrases(rf"{_MAY_I} {_STEP}")
# Asks the user to do a step: "could you restart it?" A yes to it decides nothing either.
_ASKS_HELP = Phrases(
    r"\b(?:can|could|would) you (?:please |now |also |manually )*(?:confirm|try|test|check|verify"
    r"|paste|run|send|share|restart|refresh|reload|provide|tell me|let me know)\b"
)
# Asks what to do next: "what should I work on?", "anything else?"
_ASKS_NEXT = Phrases(
    r"\bwhat (?:would you like|do you want|should (?:i|we)|shall (?:i|we)|else)\b[^?]{0,20}"
    r"\b(?:focus|work|do|tackle|start|try|look|next)\b|\banything else\b"
    r"|\bor (?:focus|work|move) on (?:to )?something else\b"
)
# The question says how the step is done, so a yes decides that: "shall I start by moving X?"
_SAYS_HOW = re.compile(
    rf"\b(?:by|so that|using|instead|rather|without|with (?:a|an) \w+|{NAMED})\b|\b\w+ing the\b"
)
# What follows it says when, not how: "proceed with it before closing the list".
_BEFORE = re.compile(r"\b(?:before|after|once|while)\b", re.IGNORECASE)
# A step that says little without the "how".
_GOES_ON = re.compile(r"\b(?:proceed|continue|start|begin|go ahead|work on|delete|clear)\b", re.I)
# Offers alternatives: "which one, A or B?"
_CHOICE = Phrases(
    r"\b(?:which|or|prefer|either|welche[rsn]?|oder|quel(?:le)?s?|cuál(?:es)?|prefieres|qual|quale"
    r"|preferisci|welke|или)\b|哪|还是"
)
# An order of a routine step: "ok, run them".
_BARE_STEP = Phrases(
    r"\W*(?:(?:ok(?:ay)?|yes|yeah|please|just|then|now|and|go ahead(?: and)?|let'?s)\W+)*"
    r"(?:do|commit|push|run|start|begin|go|continue|proceed|show|open|delete|remove|clear|send"
    r"|merge|try|check|test|fix|build|deploy|install|write|finish|apply|save|move|mark)\b"
)
# Starts or closes a step of a plan: "do phase 2", "start working on #004", "mark it as done".
_NUMBERED_STEP = Phrases(
    r"\W*(?:(?:ok(?:ay)?|yes|please|now|then|go ahead and|let'?s)\W+)*"
    r"(?:(?:start|begin|continue|resume|keep)(?: to)? work\w*|(?:start|begin|continue|go on) with"
    r"|(?:do|implement|execute|start|begin|continue|proceed|go|move)(?: on)?(?: with| to)?"
    r" (?:the )?(?:next )?\*?(?:phase|step|task|part|stage|milestone|sprint|iteration)s?"
    r"|mark|create|open|close|enter)"
    r"\b(?!.*\b(?:with an?|only|not|but)\b)"
)
_POLITE = re.compile(r"\W*(?:please|pls|thanks|thank you|thx)\b", re.IGNORECASE)
# "Shall I go on with point 2." was split after the number.
_ENDS_IN_NUMBER = re.compile(r"[\w'(] ?\(?\d{1,2}\.$")
# Begins with a "no" in any form: "nope: ...", "wait, it's not 5 percent, ...", "that's wrong. ..."
_DENIES = Phrases(
    r"\W*(?:(?:actually|well|oh|h?m+|sorry|nah)\W+)?(?:no(?:\W+no)?|nope|nah|nein|non|nej|nee|não|нет"
    r"|(?:wait|hold on)\W+(?:it|that|this|they|these)(?:'s|'re| is| are) not (?:on |at |in )?"
    r"\S*\d\S*(?: \w+)?(?=[,;])"
    r"|wrong|incorrect|falsch|stimmt nicht|not (?:quite|right|true|any ?more)"
    r"|that(?:'s| is) (?:wrong|incorrect|not (?:right|true)))\b[\s,.:;!\u2013\u2014-]+(?=\w)"
)
# Words that are not the subject of "NAME is ..." after a "no".
_NO_NAME = (
    r"this|that|it|i|you|he|she|we|they|what|which|who|where|how|why|when|if|there|here|all|both"
    r"|one|everything|everyone|nothing|none|something|no|nope|so|and|but|then|worries|problem|need"
)
# After "it is", which would agree: "no, it's fine".
_NO_PRAISE = (
    r"(?! (?:all )?"
    r"(?:great|good|fine|ok(?:ay)?|right|perfect|correct|set|done|about|true|works?)\b)"
)
# A statement of facts after the "no": "it's on port 80", "we moved", "staging is stage2", "since
# May". Orders, thanks and questions do not match.
_OTHERWISE = Phrases(
    r"(?:(?:it|they|there)(?:'s|'re| is| are| was| were| has| have| runs?| lives?| listens?| uses?"
    r"| moved| changed| goes| belongs?)"
    rf"{_NO_PRAISE}"
    r"|(?:that|this)(?:'s| is| was) (?:wrong|incorrect|not|outdated|old|last)"
    r"|we(?! (?:need|should|can|could|want|have to|must|will|would|may|might|know)\b)"
    r"(?!(?:'re| are) (?:all )?(?:good|fine|done|set|ok(?:ay)?)\b)(?:'re|'ve| \w+)"
    r"|(?:the|our|its|their|my|your|both|all) (?:[\w.-]+ ){0,3}(?:is|are|was|were|has|have|moved"
    r"|runs?|lives?|uses?|goes|listens?|changed|became|stays?|belongs?)\b"
    rf"|(?<=[,.:;!\u2013\u2014-] )(?!(?:{_NO_NAME})\b)[\w.-]+"
    rf" (?:is|are|runs?|lives?|uses?|goes|listens?|moved)\b(?! not\b){_NO_PRAISE}"
    r"|(?:not|since|as of|per|in|on|at|by|from|with|only) [\w.-]+|\d"
    r"|(?:es|das|sie|er) (?:ist|war|sind|läuft|liegt|hört|heißt)\b(?! (?:schon|gut|richtig|ok)\b)"
    r"|wir \w+|seit \w+|(?:der|die|das) [\w-]+ (?:ist|war|sind|läuft|liegt|hört|heißt)\b)"
)
COMPLAINS = Phrases(
    r"\b(?:still (?:not?|(?:is|are|do|does|did|ca)n'?t|fail\w*|broken|the same|gets?|there|stuck"
    r"|wrong|off|blank|happen\w*|see\w*|show\w*|says?|ha(?:s|ve|ving))"
    r"|did nothing|nothing (?:happen|change|work)\w*|not working"
    r"|(?:did|does|do)(?:n'?t| not) (?:work|help|fix|show)"
    r"|(?:same|another) (?:error|problem|issue|result))\b"
)
"""A complaint that a change did not help: "still broken", "nothing happened"."""
NO_MORE = (
    r"instead|no longer|not any ?more|changed (?:my|our) minds?|scrap|never ?mind"
    r"|forget (?:it|that|about)|revert|undo|go back to|after all|doch (?:nicht|kein\w*|lieber)"
    r"|nicht mehr|stattdessen|verworfen|finalement|ya no|al final"
)
"""Phrases that withdraw something, also in a later session: "no longer", "never mind"."""
RETRACTS = Phrases(
    rf"\b(?:{NO_MORE}|on second thought|turns out|actually|rather than|yank|statt|sondern|au lieu"
    r"|plutôt|à la place|ne plus|en vez|en lugar)\b|^\W*no\b"
)
"""A sentence that withdraws an earlier one of the same session."""


def asks_permission(proposed: str) -> bool:
    """Return whether the agent's text *proposed* only asks for permission to go on.

    >>> asks_permission("All is staged. Would you like me to commit these changes?")
    True
    >>> asks_permission("Want me to proceed by moving the lock into `store.py`?")
    False
    """
    questions = (spoken_form(s) for s in reversed(split_asked(proposed)) if "?" in s)
    question = next(questions, "")
    match = _ASKS_LEAVE.search(question)
    if match is None:
        return any(pattern.search(question) for pattern in (LEAVE, _ASKS_HELP, _ASKS_NEXT))
    how = _BEFORE.split(question[match.end() :], 1)[0]
    return not (_GOES_ON.search(match[0]) and _SAYS_HOW.search(how))


def split_asked(text: str) -> list[str]:
    """Return the sentences of *text*; "point 2." within a question does not end one.

    >>> split_asked("All is set. Shall I go on with point 2. The colours?")
    ['All is set.', 'Shall I go on with point 2. The colours?']
    """
    parts: list[str] = []
    for sentence in sentences(text):
        if parts and _ENDS_IN_NUMBER.search(parts[-1]):
            parts[-1] += f" {sentence}"
        else:
            parts.append(sentence)
    return parts


def without_permission_question(proposed: str) -> str | None:
    """Return what the agent said besides asking for permission, None if it did not ask.

    >>> without_permission_question("The lock is gone. Shall I run the tests?")
    'The lock is gone.'
    >>> without_permission_question("Shall it stay?") is None
    True
    """
    if not asks_permission(proposed):
        return None
    return " ".join(sentence for sentence in sentences(proposed) if "?" not in sentence)


def chooses(proposed: str) -> bool:
    """Return whether the last question in *proposed* offers alternatives."""
    question = next((s for s in reversed(sentences(proposed)) if "?" in s), "")
    return _CHOICE.search(question) is not None


def speaks_of(text: str, question: str) -> bool:
    """Return whether *text* shares a content word with *question*.

    >>> speaks_of("the left page", "Left or right?"), speaks_of("good night", "Anything else?")
    (True, False)
    """
    return bool(content_words(text) & content_words(question))


def is_bare_step(text: str) -> bool:
    """Return whether *text* orders a routine step, which means nothing out of context.

    >>> is_bare_step("Delete them."), is_bare_step("revert it")
    (True, False)
    """
    return _BARE_STEP.match(text) is not None


def takes_up(text: str) -> bool:
    """Return whether *text* says what to work on next, but not how.

    >>> takes_up("go ahead and start working on #004"), takes_up("address 21 with a helper")
    (True, False)
    """
    return _NUMBERED_STEP.match(text) is not None


def text_after_agreement(text: str) -> str:
    """Return what *text* says after words of agreement, "" if nothing.

    >>> text_after_agreement("yes please, go for it!"), text_after_agreement("yes, with a lock")
    ('', 'with a lock')
    """
    while agreed := YES.match(text) or _POLITE.match(text):
        text = text[agreed.end() :].strip(" ,.!-\u2013:")
    return text


def is_denial(user: str) -> bool:
    """Return whether the message *user* begins with a denial, see the module's docstring.

    >>> is_denial("No, we moved to canary releases."), is_denial("No, stop, show me the test.")
    (True, False)
    >>> is_denial("wait, it's not 5 percent, since July it is 8"), is_denial("wait, it's not for 5")
    (True, False)
    >>> is_denial("No, staging is stage2"), is_denial("no data is shown")
    (True, False)
    """
    denial = _DENIES.match(user)
    if denial is None:
        return False
    statement = _OTHERWISE.match(user, denial.end())
    return statement is not None or COMPLAINS.search(user) is not None
