"""Questions about where the work stopped: "where did we leave off?", "what is still to do?".

They have hardly a word of what answers them, and one memory does: the digest of the last session,
which tells how it ended and what it left open. What else answers by its words comes after it, for
"where were we?" may be asked of a holiday. In a project that is its own last session; outside
of any the last ones of all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from memd.recall.ranking.rankings import Ranked
from memd.recall.scope import SearchScope
from memd.store.file.connect import Reading
from memd.store.session import slots

SESSIONS_MAX = 3
"""So many digests answer where nobody says of which project."""
_RELEVANCE = 0.9
_CHARS_MAX = 120  # a longer text asks for more than that

_WE = r"(?:we|i|you|you and i)"
_ASKS = re.compile(
    r"\W*(?:(?:so|ok(?:ay)?|hi|hello|hey|again|now|and|please|(?:can|could) you (?:tell|remind) me"
    r"|remind me|tell me|do you (?:know|remember))\W+)*"
    r"(?:"
    rf"where (?:did {_WE} (?:leave (?:it |things )?off|stop)|(?:are|were) we(?: at)?"
    rf"|{_WE} (?:left (?:it |things )?off|stopped)|we were)"
    r"|what(?:'s| is| are)? (?:(?:still |the things )?(?:left|pending|outstanding|unfinished|to do"
    r"|remaining)|still (?:open|left |(?:left |open )?to (?:do|be done))|remains)"
    r"(?: open)?(?: to (?:do|be done))?"
    r"|what(?:'s| is) next"
    rf"|what (?:did|have) {_WE} (?:do|done|work(?:ed)? on)(?: in)?"
    r" (?:last(?: time)?|(?:the |our )?last session)"
    rf"|what (?:was|were|have|had) {_WE} (?:been )?(?:doing|working on)(?: last(?: time)?)?"
    rf"|(?:continue|(?:let's |let us )?(?:go on|continue|pick up|resume))(?: from)? where {_WE}"
    r" (?:left off|stopped|were)"
    r"|wo (?:waren|(?:sind|haben)(?= wir \w)) wir"
    r"(?: (?:zuletzt|gerade|stehen ?geblieben|aufgehört))*"
    r"|was (?:ist|steht|bleibt|gibt es) (?:jetzt |denn )?noch (?:alles )?(?:offen|zu tun|übrig|an)"
    r"|was haben wir (?:zuletzt|(?:das )?letzte(?:s)? mal) gemacht"
    r"|où en (?:étions|sommes)[- ]nous|que(?:'est-ce qu'il)? reste[- ](?:t-il )?à faire"
    r"|qu'est-ce qu'il reste à faire"
    r"|d[óo]nde (?:lo )?(?:nos quedamos|dejamos)|qu[ée] queda(?: pendiente)?(?: por hacer)?"
    r"|dove (?:eravamo|siamo) (?:rimasti|arrivati)|cosa (?:resta|rimane) da fare"
    r"|onde (?:é que )?(?:paramos|ficamos)|o que falta(?: fazer)?"
    r"|waar (?:waren|zijn) we (?:gebleven)?|wat (?:is|moet) er nog (?:te doen|gebeuren)"
    r")"
    r"(?:\W+(?:here|in this (?:project|repo(?:sitory)?)|on this|with (?:this|it)|last time"
    r"|again|now|then|please|hier|bitte))*\W*",
    re.IGNORECASE,
)


def asks_for_last_session(text: str) -> bool:
    """Return whether *text* asks for nothing but where the work stopped.

    >>> asks_for_last_session("Where did we leave off?"), asks_for_last_session("What is left?")
    (True, True)
    >>> asks_for_last_session("What is left of the budget?")
    False
    """
    return len(text) <= _CHARS_MAX and _ASKS.fullmatch(text) is not None


def find_last_digests(conn: Reading, scope: SearchScope, text: str) -> tuple[int, ...]:
    """Return the digests that answer *text*, newest first; none where it asks for other things."""
    if not asks_for_last_session(text):
        return ()
    shown = scope.shown
    if shown.active_project_id is not None:
        own = slots.list_digests(conn, shown, 1, project_id=shown.active_project_id)
        if own:
            return tuple(own)
    return tuple(slots.list_digests(conn, shown, SESSIONS_MAX))


def put_digests_first(items: Sequence[Ranked], digests: Sequence[int]) -> list[Ranked]:
    """Return *items* with the *digests* first, in their order: they answer in any case."""
    by_key = {item.measured.candidate.memory_key: item for item in items}
    answers = [by_key[key] for key in digests if key in by_key]
    others = [item for item in items if item.measured.candidate.memory_key not in digests]
    return [replace(item, relevance=_RELEVANCE, passes=True, bar=0.0) for item in answers] + [
        replace(item, relevance=min(item.relevance, _RELEVANCE)) for item in others
    ]
