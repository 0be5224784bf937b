"""What a sentence of the user does, and how much it is worth a week later. Pure."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from memd.sleep.nap.candidates import Kind
from memd.sleep.nap.words import sentences


class Act(StrEnum):
    """What the user does with a sentence; the first five may become memories."""

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


_STANDING = re.compile(
    r"\b(?:from now on|remember (?:to|that)|in (?:the )?future|always|never|as a rule|i prefer"
    r"|i(?:'ll| will) \w+ .*myself|just tell me|every time|whenever)\b",
    re.IGNORECASE,
)
_MUST = re.compile(r"\b(?:must(?:n't)?|has to|only|cannot|may not|not allowed)\b", re.IGNORECASE)
_WANT = re.compile(
    r"\b(?:we (?:want|need|should|don't|won't)|let's|i want|i said|i meant|instead|should)\b",
    re.IGNORECASE,
)
_REFUSE = re.compile(r"\s*(?:no|nope|nah|wrong|don't|stop)\b", re.IGNORECASE)
_KINDS = {
    Act.DECISION: Kind.DECISION,
    Act.CORRECTION: Kind.CORRECTION,
    Act.PREFERENCE: Kind.PREFERENCE,
    Act.CONSTRAINT: Kind.CONSTRAINT,
    Act.ENVIRONMENT: Kind.ENVIRONMENT,
}


def act(text: str, *, after_interruption: bool = False) -> Judged:
    """Return what *text* does: the act of its best sentence."""
    each = [_sentence(one, after_interruption=after_interruption) for one in sentences(text)]
    return max(each, key=lambda judged: judged.score, default=Judged(Act.ACKNOWLEDGEMENT, 0.0))


def kind_of(judged: Judged) -> Kind | None:
    """Return what a memory of *judged* is, None where nothing of it is worth keeping."""
    return _KINDS.get(judged.act)


def _sentence(text: str, *, after_interruption: bool) -> Judged:
    if text.endswith("?"):
        return Judged(Act.QUESTION, 0.2)
    if _STANDING.search(text):
        return Judged(Act.PREFERENCE, 0.9)
    if _REFUSE.match(text) or (after_interruption and _WANT.search(text)):
        return Judged(Act.CORRECTION, 0.8)
    if _MUST.search(text):
        return Judged(Act.CONSTRAINT, 0.7)
    return Judged(Act.DECISION, 0.6) if _WANT.search(text) else Judged(Act.REQUEST, 0.3)
