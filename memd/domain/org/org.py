"""Organisational facts, their authors and log, and the documented backend protocol (SPEC 15).

A fact is one text in one category. Nothing is ever overwritten: each write is an operation
with a version, and replaying the operations gives the current state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Protocol, Self, runtime_checkable

from pydantic import Field, model_validator

from memd.base.limits import TAGS_MAX
from memd.domain.enums import AutonomyLevel, OperationType, OrgFactCategory, SeniorityLevel
from memd.domain.values import Name, NotBlankStr, Query, Text, Time, Value

OrgTags = Annotated[tuple[Name, ...], Field(max_length=TAGS_MAX)]
"""Tags; the store sorts them (SPEC 15.2.5)."""


class OrgFactAuthor(Value):
    """The author: a human, or an agent with its seniority (SPEC 15.2.1)."""

    agent_id: Name | None = None
    seniority: SeniorityLevel | None = None
    autonomy_level: AutonomyLevel | None = None
    is_human: bool = False

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        if self.is_human:
            if (self.agent_id, self.seniority, self.autonomy_level) != (None, None, None):
                raise ValueError("a human has no agent_id, seniority or autonomy_level")
        elif self.agent_id is None or self.seniority is None:
            raise ValueError("an agent needs agent_id and seniority")
        return self


HUMAN = OrgFactAuthor(is_human=True)
"""The author of what the owner writes or signs."""


class OrgFact(Value):
    """The current version of a fact. *valid_from* and *valid_to* are its valid time."""

    id: Name
    content: Text
    category: OrgFactCategory
    tags: OrgTags = ()
    author: OrgFactAuthor
    created_at: Time
    version: int = Field(default=1, ge=1)
    valid_from: Time | None = None
    valid_to: Time | None = None


class OrgFactWriteRequest(Value):
    """A fact to write, or with *fact_id* the next version of that fact.

    A version replaces the previous one entirely, including its tags and times (SPEC 15.5.2).
    *valid_from* is inclusive and *valid_to* exclusive; by default they are taken from the text
    ("until March 2026").
    """

    content: Text
    category: OrgFactCategory
    tags: OrgTags = ()
    fact_id: Name | None = None
    valid_from: Time | None = None
    valid_to: Time | None = None

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.valid_from and self.valid_to and self.valid_from >= self.valid_to:
            raise ValueError("valid_from must be before valid_to")
        return self


class OrgMemoryQuery(Value):
    """A search of facts; without *context* it returns the newest ones."""

    context: Query | None = None
    categories: frozenset[OrgFactCategory] | None = None
    limit: int = Field(default=5, ge=1, le=100)


class OperationLogEntry(Value):
    """One operation of the log (SPEC 15.2.3).

    *proposed_by* is the agent whose proposal a human approved with it.
    """

    operation_id: Name
    fact_id: Name
    operation_type: OperationType
    content: Text | None = None
    category: OrgFactCategory | None = None
    tags: OrgTags = ()
    author_agent_id: Name | None = None
    author_seniority: SeniorityLevel | None = None
    author_is_human: bool = False
    author_autonomy_level: AutonomyLevel | None = None
    timestamp: Time
    version: int = Field(ge=1)
    valid_from: Time | None = None
    valid_to: Time | None = None
    proposed_by: Name | None = None

    @model_validator(mode="before")
    @classmethod
    def _split_author(cls, data: Any) -> Any:
        """Accept an *author* in place of the fields ``author_*``, which JSON has."""
        if not isinstance(data, Mapping) or "author" not in data:
            return data
        author = OrgFactAuthor.model_validate(data["author"])
        parts = {f"author_{name}": value for name, value in author}
        return {**{name: data[name] for name in data.keys() - {"author"}}, **parts}

    @model_validator(mode="after")
    def _check_content(self) -> Self:
        if (self.content is None) is (self.operation_type is OperationType.PUBLISH):
            raise ValueError("a PUBLISH has a content, a RETRACT has none")
        return self

    @model_validator(mode="after")
    def _check_author(self) -> Self:
        _ = self.author  # raises ValueError for invalid parts
        return self

    @property
    def author(self) -> OrgFactAuthor:
        """Return the author."""
        return OrgFactAuthor(
            agent_id=self.author_agent_id,
            seniority=self.author_seniority,
            is_human=self.author_is_human,
            autonomy_level=self.author_autonomy_level,
        )


class OperationLogSnapshot(Value):
    """A fact at a past time, retracted ones included (SPEC 15.5.7)."""

    fact_id: Name
    content: Text
    category: OrgFactCategory
    tags: OrgTags = ()
    created_at: Time
    retracted_at: Time | None = None
    version: int = Field(ge=1)

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.retracted_at is not None and self.retracted_at < self.created_at:
            raise ValueError("retracted_at must not be before created_at")
        return self


@runtime_checkable
class OrgMemoryBackend(Protocol):
    """The documented backend of organisational memory (SPEC 15.4)."""

    async def connect(self) -> None: ...
    async def disconnect(self) -> None: ...
    async def health_check(self) -> bool: ...
    @property
    def is_connected(self) -> bool: ...
    @property
    def backend_name(self) -> NotBlankStr: ...

    async def query(self, query: OrgMemoryQuery) -> tuple[OrgFact, ...]:
        """Return matching stored facts, never static policies. Raises OrgMemoryQueryError."""
        ...

    async def write(self, request: OrgFactWriteRequest, *, author: OrgFactAuthor) -> NotBlankStr:
        """Write a fact and return its id, after COMMIT.

        Raises OrgMemoryConnectionError before OrgMemoryAccessDeniedError before
        OrgMemoryWriteError.
        """
        ...

    async def list_policies(
        self, *, limit: int | None = None, offset: int = 0
    ) -> tuple[OrgFact, ...]:
        """Return core policies: the configured ones first, then stored ones, newest first."""
        ...

    async def count_policies(self) -> int: ...
