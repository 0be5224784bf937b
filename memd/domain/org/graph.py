"""What texts say about things: statements, and the paths that they make (SPEC D13).

A statement has a subject, a relation and an object, the text it was read from, and
two times: when it holds (*valid*) and since when memd knows it (*known*).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self

from pydantic import Field, model_validator

from memd.domain.enums import Trust
from memd.domain.values import Name, Share, Time, Value

STATEMENTS_VERSION: Final = 1
"""Goes up whenever the same text may say something else than before (``encode.statements``);
what was learnt under an older one is then learnt again from the texts."""


@dataclass(frozen=True, slots=True)
class ExtractedStatement:
    """What one part of a text says, before it is stored; *start* and *end* are characters.

    ``valid_*_us`` are microseconds, None where the text names no time.
    """

    subject: str
    relation: str
    object: str
    start: int
    end: int
    negated: bool = False
    qualifier: str | None = None
    valid_from_us: int | None = None
    valid_to_us: int | None = None


@dataclass(frozen=True, slots=True)
class Moment:
    """When something must hold, and when memd must have known it; None is now."""

    valid: datetime | None = None
    known: datetime | None = None


NOW = Moment()


class Evidence(Value):
    """Where a statement stands: in a version of a fact, or in a memory."""

    fact_id: Name | None = None
    version: int | None = Field(default=None, ge=1)
    memory_id: Name | None = None
    quote: str
    """The part of the text that says it."""
    trust: Trust = Trust.ASSISTED
    """How far the text is trusted: what a tool or a web page said is not."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.fact_id is None) is (self.memory_id is None):
            raise ValueError("evidence is either a fact or a memory")
        return self


class Statement(Value):
    """One edge of the graph."""

    id: Name
    subject: Name
    relation: Name
    object: Name
    negated: bool = False
    qualifier: Name | None = None
    valid_from: Time | None = None
    valid_to: Time | None = None
    known_from: Time
    known_to: Time | None = None
    evidence: Evidence


class GraphPath(Value):
    """Statements that lead from one thing to another, each with its evidence.

    *things* are what lies on the way, one more than there are steps: a step whose
    subject is not the thing before it is walked against its direction. *trust* is
    the least of its evidence.
    """

    steps: tuple[Statement, ...]
    things: tuple[Name, ...] = ()
    trust: Trust = Trust.ASSISTED


class Neighbours(Value):
    """What is said about one thing, most trusted and newest first; *truncated*: there is more."""

    name: Name
    items: tuple[Statement, ...]
    truncated: bool = False


class GraphPaths(Value):
    """The shortest ways between two things, none when there is none within the hops asked for."""

    items: tuple[GraphPath, ...]
    truncated: bool = False
    """The walk came to its bound before it had looked everywhere."""


class GraphAnswer(Value):
    """One thing that answers a question, and the way to it.

    *follows* says that the way takes exactly the relations that the question asks
    for; otherwise it is only near. *score* orders the answers.
    """

    name: Name
    path: GraphPath
    follows: bool
    score: Share


class GraphAnswers(Value):
    """What a question's things lead to, best first."""

    about: tuple[Name, ...]
    """The things that the question names, as they are known."""
    relations: tuple[Name, ...] = ()
    """The relations that it asks for, in its own order."""
    items: tuple[GraphAnswer, ...] = ()
    truncated: bool = False


class Added(Value):
    """A triple as it was stored: the memory that is its evidence, and the statement."""

    memory_id: Name
    statement_id: Name


_QUOTES = "`\"'\u201c\u201d\u2018\u2019[]() "
_ARTICLE = re.compile(r"(?:the|a|an|our)\s+(?=\S)")


def folded(name: str) -> str:
    """Return the form of *name* under which two mentions of one thing meet.

    >>> folded("The  Data Team") == folded("data team")
    True
    """
    text = " ".join(name.casefold().split()).strip(_QUOTES).rstrip(".,;:!? ")
    return _ARTICLE.sub("", text, count=1) if _ARTICLE.match(text) else text
