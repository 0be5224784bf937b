"""What says that it is otherwise: "no, we moved to canary releases".

Most that begins with "no" says something else: it declines, goes on, orders, praises. Only a
statement of how it is counts, and a complaint that what was done did not help. Pure.
"""

from __future__ import annotations

import re

_DENIES = re.compile(
    r"\W*(?:(?:actually|well|oh|h?m+|sorry|nah)\W+)?(?:no(?:\W+no)?|nope|nah|nein|non|nej|nee|não|нет"
    r"|wrong|incorrect|falsch|stimmt nicht|not (?:quite|right|true|any ?more)"
    r"|that(?:'s| is) (?:wrong|incorrect|not (?:right|true)))\b[\s,.:;!\u2013\u2014-]+(?=\w)",
    re.IGNORECASE,
)
# What stands behind a "no" that says how it is: a statement, no order, no thanks, no question.
_OTHERWISE = re.compile(
    r"(?:(?:it|they|there)(?:'s|'re| is| are| was| were| has| have| runs?| lives?| listens?| uses?"
    r"| moved| changed| goes| belongs?)(?! (?:all )?(?:great|good|fine|ok(?:ay)?|right|perfect"
    r"|correct|set|done|about|true|works?)\b)"
    r"|(?:that|this)(?:'s| is| was) (?:wrong|incorrect|not|outdated|old|last)"
    r"|we(?! (?:need|should|can|could|want|have to|must|will|would|may|might|know)\b)"
    r"(?!(?:'re| are) (?:all )?(?:good|fine|done|set|ok(?:ay)?)\b)(?:'re|'ve| \w+)"
    r"|(?:the|our|its|their|my|your|both|all) (?:[\w.-]+ ){0,3}(?:is|are|was|were|has|have|moved"
    r"|runs?|lives?|uses?|goes|listens?|changed|became|stays?|belongs?)\b"
    r"|(?:not|since|as of|per|in|on|at|by|from|with|only) [\w.-]+|\d"
    r"|(?:es|das|sie|er) (?:ist|war|sind|läuft|liegt|hört|heißt)\b(?! (?:schon|gut|richtig|ok)\b)"
    r"|wir \w+|seit \w+|(?:der|die|das) [\w-]+ (?:ist|war|sind|läuft|liegt|hört|heißt)\b)",
    re.IGNORECASE,
)
COMPLAINS = re.compile(
    r"\b(?:still (?:not?|fails?|broken|the same|gets?|there|stuck|wrong|happen\w*|see\w*)"
    r"|did nothing|nothing happen\w*|not working|(?:did|does|do)(?:n'?t| not) (?:work|help|show)"
    r"|(?:same|another) (?:error|problem|issue|result))\b",
    re.IGNORECASE,
)
"""Says that what was done did not help, and nothing of how it is."""
TAKES_BACK = re.compile(
    r"\b(?:instead|no longer|not any ?more|changed (?:my|our) minds?|on second thought|scrap"
    r"|never ?mind|forget (?:it|that|about)|revert|undo|go back to|after all|turns out|actually"
    r"|rather than|yank|doch (?:nicht|kein\w*|lieber)|statt(?:dessen)?|nicht mehr|sondern|verworfen"
    r"|finalement|au lieu|plutôt|à la place|ne plus|en vez|en lugar|ya no|al final)\b"
    r"|^\W*no\b",
    re.IGNORECASE,
)
"""Says that what was said before is no more."""


def is_denial(user: str) -> bool:
    """Return whether *user* begins by saying that it is otherwise, or that it did not help.

    >>> is_denial("No, we moved to canary releases."), is_denial("No, stop, show me the test.")
    (True, False)
    """
    begins = _DENIES.match(user)
    if begins is None:
        return False
    says_how = _OTHERWISE.match(user, begins.end())
    return says_how is not None or COMPLAINS.search(user) is not None
