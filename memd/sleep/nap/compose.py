"""An exchange becomes memories: the user's words, with what they answer and how it ended. Pure."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

from memd.model.enums import Origin
from memd.sleep.nap.acts import act, kind_of
from memd.sleep.nap.candidates import Candidate, Distilled
from memd.sleep.nap.exchanges import Exchange
from memd.sleep.nap.words import is_interruption, words

CHARS_MAX = 700
SCORE_MIN = 0.5


def composed(exchanges: Sequence[Exchange]) -> list[Candidate]:
    """Return what of *exchanges* may be remembered, in their order."""
    found: list[Candidate] = []
    count: Counter[str] = Counter()
    stopped = False
    for exchange in exchanges:
        count[exchange.user] += 1
        if is_interruption(exchange.user):
            stopped = True
            continue
        own = words(exchange.user)
        text = "\n".join(own.paragraphs)[:CHARS_MAX]
        judged = act(text, after_interruption=stopped)
        kind = kind_of(judged)
        if own.paragraphs:
            stopped = False
        if kind is not None and judged.score >= SCORE_MIN:
            slot = slot_of(exchange.user, count[exchange.user])
            memory = Distilled(text, kind, (exchange.place,), slot, Origin.PERSON)
            found.append(Candidate(memory, judged.score))
    return found


def slot_of(text: str, number: int) -> str:
    """Return the name of the *number*-th message that says *text*, whatever its place is."""
    return hashlib.sha256(f"{number}:{text}".encode(errors="replace")).hexdigest()[:12]
