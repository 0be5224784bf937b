"""How the user answers the agent: with leave to go on, a pick, a denial. Pure.

"Would you like me to commit these?" - "yes" decides nothing that somebody wants to know a
week later, nor does "delete them". What came of it is told by itself.

Most that begins with "no" says something else: it declines, goes on, orders, praises. Only a
statement of how it is denies, and a complaint that what was done did not help.
"""

from __future__ import annotations

import re

from memd.sleep.distil.language.moment import NAMED, spoken_form
from memd.text.alternations import Phrases
from memd.text.languages import FUNCTION_WORDS, LEAVE, YES
from memd.text.words import sentences

_ASKS_LEAVE = (
    r"\b(?:(?:would you|do you|you'd|if you'd) (?:like|want|prefer)(?: me| us)? to"
    r"|want (?:me )?to|(?:shall|should|can|may) (?:i|we)|(?:are you )?ready (?:for me )?to"
    r"|are you sure you want to)"
    r"(?: (?:also|now|first|just|then|immediately|attempt to|try to|help(?: you)?(?: to)?))*"
)
# Steps of any piece of work, whatever they are taken with.
_STEP = (
    r"(?:commit|push|merge|rebase|run|re-?run|try|test|re-?test|build|rebuild|check|double-?check"
    r"|verify|look|inspect|investigate|locate|identify|diagnose|troubleshoot|debug|review|read|show|see|open|restart|save|stage|proceed"
    r"|continue|go (?:ahead|on)|keep going|move on|start|begin|work on|launch|install|clear|clean"
    r"|re-?apply|delete|(?:create|generate|prepare|make|write|draft|submit)(?: up)?"
    r" (?:a |an |the |this |these )?(?:\w+ ){0,2}(?:pr|pull request|commit|branch|summary"
    r"|description|documentation|docs?|report|task|ticket|issue)s?)\b"
)
_LEAVE = Phrases(rf"{_ASKS_LEAVE} {_STEP}")
# What the user is to do for the agent: a yes to it decides nothing either.
_ASKS_HELP = Phrases(
    r"\b(?:can|could|would) you (?:please |now |also |manually )*(?:confirm|try|test|check|verify"
    r"|paste|run|send|share|restart|refresh|reload|provide|tell me|let me know)\b"
)
# What is next is left to the user.
_ASKS_NEXT = Phrases(
    r"\bwhat (?:would you like|do you want|should (?:i|we)|shall (?:i|we)|else)\b[^?]{0,20}"
    r"\b(?:focus|work|do|tackle|start|try|look|next)\b|\banything else\b"
    r"|\bor (?:focus|work|move) on (?:to )?something else\b"
)
# With one of these or a name, what is begun is told, too.
_SAYS_HOW = re.compile(
    rf"\b(?:by|so that|using|instead|rather|without|with (?:a|an) \w+|{NAMED})\b|\b\w+ing the\b"
)
_BEFORE = re.compile(r"\b(?:before|after|once|while)\b", re.IGNORECASE)
_GOES_ON = re.compile(r"\b(?:proceed|continue|start|begin|go ahead|work on|delete|clear)\b", re.I)
_CHOICE = Phrases(
    r"\b(?:which|or|prefer|either|welche[rsn]?|oder|quel(?:le)?s?|cuál(?:es)?|prefieres|qual|quale"
    r"|preferisci|welke|или)\b|哪|还是"
)
# A bare order that answers nothing but "may I?".
_BARE_STEP = Phrases(
    r"\W*(?:(?:ok(?:ay)?|yes|yeah|please|just|then|now|and|go ahead(?: and)?|let'?s)\W+)*"
    r"(?:do|commit|push|run|start|begin|go|continue|proceed|show|open|delete|remove|clear|send"
    r"|merge|try|check|test|fix|build|deploy|install|write|finish|apply|save|move|mark)\b"
)
_NUMBERED_STEP = Phrases(
    r"\W*(?:(?:ok(?:ay)?|yes|please|now|then|go ahead and|let'?s)\W+)*"
    r"(?:(?:start|begin|continue|resume|keep)(?: to)? work\w*|(?:start|begin|continue|go on) with"
    r"|(?:do|implement|execute|start|begin|continue|proceed|go|move)(?: on)?(?: with| to)?"
    r" (?:the )?(?:next )?\*?(?:phase|step|task|part|stage|milestone|sprint|iteration)s?"
    r"|mark|create|open|close|enter)"
    r"\b(?!.*\b(?:with an?|only|not|but)\b)"
)
_POLITE = re.compile(r"\W*(?:please|pls|thanks|thank you|thx)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{2,}")
_ENDS_IN_NUMBER = re.compile(r"[\w'(] ?\(?\d{1,2}\.$")
_DENIES = Phrases(
    r"\W*(?:(?:actually|well|oh|h?m+|sorry|nah)\W+)?(?:no(?:\W+no)?|nope|nah|nein|non|nej|nee|não|нет"
    r"|(?:wait|hold on)\W+(?:it|that|this|they|these)(?:'s|'re| is| are) not (?:on |at |in )?"
    r"\S*\d\S*(?: \w+)?(?=[,;])"
    r"|wrong|incorrect|falsch|stimmt nicht|not (?:quite|right|true|any ?more)"
    r"|that(?:'s| is) (?:wrong|incorrect|not (?:right|true)))\b[\s,.:;!\u2013\u2014-]+(?=\w)"
)
_NO_NAME = (
    r"this|that|it|i|you|he|she|we|they|what|which|who|where|how|why|when|if|there|here|all|both"
    r"|one|everything|everyone|nothing|none|something|no|nope|so|and|but|then|worries|problem|need"
)
_NO_PRAISE = (
    r"(?! (?:all )?"
    r"(?:great|good|fine|ok(?:ay)?|right|perfect|correct|set|done|about|true|works?)\b)"
)
# What stands behind a "no" that says how it is: a statement, no order, no thanks, no question.
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
    r"\b(?:still (?:not?|fails?|broken|the same|gets?|there|stuck|wrong|happen\w*|see\w*)"
    r"|did nothing|nothing happen\w*|not working|(?:did|does|do)(?:n'?t| not) (?:work|help|show)"
    r"|(?:same|another) (?:error|problem|issue|result))\b"
)
"""Says that what was done did not help, and nothing of how it is."""
NO_MORE = (
    r"instead|no longer|not any ?more|changed (?:my|our) minds?|scrap|never ?mind"
    r"|forget (?:it|that|about)|revert|undo|go back to|after all|doch (?:nicht|kein\w*|lieber)"
    r"|nicht mehr|stattdessen|verworfen|finalement|ya no|al final"
)
"""What says so anywhere, and in a sentence of its own to another session."""
TAKES_BACK = Phrases(
    rf"\b(?:{NO_MORE}|on second thought|turns out|actually|rather than|yank|statt|sondern|au lieu"
    r"|plutôt|à la place|ne plus|en vez|en lugar)\b|^\W*no\b"
)
"""Says that what was said before is no more."""


def asks_leave(proposed: str) -> bool:
    """Return whether the agent asks no more than whether to take its next step.

    >>> asks_leave("All is staged. Would you like me to commit these changes?")
    True
    >>> asks_leave("Want me to proceed by moving the lock into `store.py`?")
    False
    """
    asked = next((spoken_form(s) for s in reversed(split_asked(proposed)) if "?" in s), "")
    match = _LEAVE.search(asked)
    if match is None:
        return any(one.search(asked) for one in (LEAVE, _ASKS_HELP, _ASKS_NEXT))
    how = _BEFORE.split(asked[match.end() :], 1)[0]
    return not (_GOES_ON.search(match[0]) and _SAYS_HOW.search(how))


def split_asked(text: str) -> list[str]:
    """Return the sentences of *text*; the number of a point ends none.

    >>> split_asked("All is set. Shall I go on with point 2. The colours?")
    ['All is set.', 'Shall I go on with point 2. The colours?']
    """
    parts: list[str] = []
    for one in sentences(text):
        if parts and _ENDS_IN_NUMBER.search(parts[-1]):
            parts[-1] += f" {one}"
        else:
            parts.append(one)
    return parts


def before_leave(proposed: str) -> str | None:
    """Return what the agent said before it asked for leave; None where it asked for none.

    >>> before_leave("The lock is gone. Shall I run the tests?"), before_leave("Shall it stay?")
    ('The lock is gone.', None)
    """
    if not asks_leave(proposed):
        return None
    return " ".join(each for each in sentences(proposed) if "?" not in each)


def chooses(proposed: str) -> bool:
    """Return whether the agent asks which of several things it should be."""
    asked = next((s for s in reversed(sentences(proposed)) if "?" in s), "")
    return _CHOICE.search(asked) is not None


def speaks_of(text: str, asked: str) -> bool:
    """Return whether *text* has a word in common with what was *asked* that is in few others.

    >>> speaks_of("the left page", "Left or right?"), speaks_of("good night", "Anything else?")
    (True, False)
    """
    return bool(_content(text) & _content(asked))


def _content(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)} - FUNCTION_WORDS


def is_bare_step(text: str) -> bool:
    """Return whether *text* orders a step that says nothing beside what it points at.

    >>> is_bare_step("Delete them."), is_bare_step("revert it")
    (True, False)
    """
    return _BARE_STEP.match(text) is not None


def takes_up(text: str) -> bool:
    """Return whether *text* says which thing is worked on next, and not what becomes of it.

    >>> takes_up("go ahead and start working on #004"), takes_up("address 21 with a helper")
    (True, False)
    """
    return _NUMBERED_STEP.match(text) is not None


def beyond_yes(text: str) -> str:
    """Return what *text* says after it agreed, "" for one that does no more.

    >>> beyond_yes("yes please, go for it!"), beyond_yes("yes, with a lock")
    ('', 'with a lock')
    """
    while agreed := YES.match(text) or _POLITE.match(text):
        text = text[agreed.end() :].strip(" ,.!-\u2013:")
    return text


def is_denial(user: str) -> bool:
    """Return whether *user* begins by saying that it is otherwise, or that it did not help.

    >>> is_denial("No, we moved to canary releases."), is_denial("No, stop, show me the test.")
    (True, False)
    >>> is_denial("wait, it's not 5 percent, since July it is 8"), is_denial("wait, it's not for 5")
    (True, False)
    >>> is_denial("No, staging is stage2"), is_denial("no data is shown")
    (True, False)
    """
    begins = _DENIES.match(user)
    if begins is None:
        return False
    says_how = _OTHERWISE.match(user, begins.end())
    return says_how is not None or COMPLAINS.search(user) is not None
