"""What texts say about things: statements, and the paths that they make (SPEC D13).

A statement has a subject, a relation and an object, the text it was read from, and
two times: when it holds (*valid*) and since when memd knows it (*known*).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from pydantic import Field, model_validator

from memd.model.values import Name, Time, Value


@dataclass(frozen=True, slots=True)
class Said:
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


class Evidence(Value):
    """Where a statement stands: in a version of a fact, or in a memory."""

    fact_id: Name | None = None
    version: int | None = Field(default=None, ge=1)
    memory_id: Name | None = None
    quote: str
    """The part of the text that says it."""

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
    """Statements that lead from one thing to another, each with its evidence."""

    steps: tuple[Statement, ...]
