"""The graph: statements about entities, and paths of statements (SPEC D13).

A statement has a subject, a relation, an object, and a text as its evidence. It has two
periods: when it was true (*valid*) and when memd knew it (*known*).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self

from pydantic import Field, model_validator

from memd.domain.enums import Trust
from memd.domain.values import Name, Share, Time, Value

STATEMENTS_VERSION: Final = 5
"""The version of the extraction (``extract.statements``). Statements of an older version are
extracted again."""


@dataclass(frozen=True, slots=True)
class ExtractedStatement:
    """A statement extracted from a text; *start* and *end* are character positions.

    ``valid_*_us`` are microseconds, None if the text names no time.
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
    """The valid time and known time of a query; None is now."""

    valid: datetime | None = None
    known: datetime | None = None


NOW = Moment()


class Evidence(Value):
    """The text of a statement: a version of a fact, or a memory."""

    fact_id: Name | None = None
    version: int | None = Field(default=None, ge=1)
    memory_id: Name | None = None
    quote: str
    """The part of the text with the statement."""
    trust: Trust = Trust.ASSISTED
    """The trust in the text."""

    @model_validator(mode="after")
    def _check_source(self) -> Self:
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
    """A path of statements from one entity to another, each with its evidence.

    *things* are the entities on the path, one more than there are steps. A step whose subject
    is not the entity before it is followed backwards. *trust* is the least of the evidence.
    """

    steps: tuple[Statement, ...]
    things: tuple[Name, ...] = ()
    trust: Trust = Trust.ASSISTED


class Neighbours(Value):
    """Statements about one entity, most trusted and newest first; *truncated* if there are more."""

    name: Name
    items: tuple[Statement, ...]
    truncated: bool = False


class GraphPaths(Value):
    """The shortest paths between two entities within the requested hops, if any."""

    items: tuple[GraphPath, ...]
    truncated: bool = False
    """Whether the walk reached its limit before its end."""


class GraphAnswer(Value):
    """One entity that answers a question, and the path to it.

    *follows* is True if the path has exactly the relations of the question, False if the entity
    is merely near. *score* orders the answers.
    """

    name: Name
    path: GraphPath
    follows: bool
    score: Share


class GraphAnswers(Value):
    """The answers of a question to the graph, best first."""

    about: tuple[Name, ...]
    """The known entities named in the question."""
    relations: tuple[Name, ...] = ()
    """The relations in the question, in its order."""
    items: tuple[GraphAnswer, ...] = ()
    truncated: bool = False


class StoredTriple(Value):
    """The ids of a stored triple: the memory that is its evidence, and the statement."""

    memory_id: Name
    statement_id: Name


_QUOTES = "`\"'\u201c\u201d\u2018\u2019[]() "
_ARTICLE = re.compile(r"(?:the|a|an|our)\s+(?=\S)")


def fold_name(name: str) -> str:
    """Return *name* normalized, so that different spellings of one entity are equal.

    Ignored are case, repeated spaces, surrounding quotes, final punctuation and a first article.

    >>> fold_name("The  Data Team") == fold_name("data team")
    True
    """
    text = " ".join(name.casefold().split()).strip(_QUOTES).rstrip(".,;:!? ")
    return _ARTICLE.sub("", text, count=1) if _ARTICLE.match(text) else text


_KINDS = tuple(
    "project team company firm client customer supplier vendor service product department".split()  # noqa: SIM905
)
_KIND = re.compile(rf"(?:{'|'.join(_KINDS)})\s+(?=\S)")


def name_variants(name: str) -> tuple[str, ...]:
    """Return the folded names by which the thing called *name* may be known, the likeliest first.

    They differ in the word for its kind, such as "project".

    >>> name_variants("the project Asilo")[:3]
    ('project asilo', 'asilo', 'team asilo')
    """
    folded = fold_name(name)
    base = _KIND.sub("", folded, count=1) if _KIND.match(folded) else folded
    return tuple(dict.fromkeys((folded, base, *(f"{kind} {base}" for kind in _KINDS))))
