"""Memories, requests to store them, filters and queries (SPEC 7.2-7.5)."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Self

from pydantic import AliasChoices, Field, ValidationInfo, field_validator, model_validator

from memd.base.limits import PAGE_ITEMS_MAX, TAGS_MAX
from memd.domain.enums import MemoryCategory, MemoryLevel, MemoryState, Origin, Passing, Trust
from memd.domain.values import DEFAULT_NAMESPACE, Name, ProjectId, Query, Share, Text, Time, Value


def distinct(tags: tuple[str, ...]) -> tuple[str, ...]:
    """Return *tags* without repetitions, first occurrences kept.

    >>> distinct(("b", "a", "b"))
    ('b', 'a')
    """
    return tuple(dict.fromkeys(tags))


Tags = Annotated[tuple[Name, ...], Field(max_length=TAGS_MAX)]


class MemoryMetadata(Value):
    """The metadata of a memory."""

    source: Name | None = None
    confidence: Share = 1.0
    tags: Tags = ()

    _distinct = field_validator("tags")(distinct)


class MemoryStoreRequest(Value):
    """A text to store unchanged, as one memory: never gated, never merged.

    The fields from ``level`` on go beyond the documents and may be left out; *origin* says
    who wrote the text, if that is not the speaker.
    """

    category: MemoryCategory = Field(
        validation_alias=AliasChoices("category", "memory_type", "memory_type_hint")
    )
    namespace: Name = DEFAULT_NAMESPACE
    content: Text
    metadata: MemoryMetadata = MemoryMetadata()
    expires_at: Time | None = None
    level: MemoryLevel | None = None
    session_id: Name | None = None
    project_id: ProjectId | None = None
    speaker: Name | None = None
    occurred_at: Time | None = None
    origin: Origin | None = None


class MemoryEntry(Value):
    """One memory as it is read.

    ``relevance_score`` is set only by a search with a text: the calibrated
    probability that this memory answers it (SPEC D6). The fields from
    ``session_id`` on go beyond the documents.
    """

    id: Name
    agent_id: Name
    namespace: Name = DEFAULT_NAMESPACE
    category: MemoryCategory
    content: Text
    metadata: MemoryMetadata = MemoryMetadata()
    created_at: Time
    updated_at: Time | None = None
    expires_at: Time | None = None
    relevance_score: Share | None = None
    session_id: Name | None = None
    project_id: ProjectId | None = None
    speaker: Name | None = None
    occurred_at: Time | None = None
    importance: Share | None = None
    token_count: int = Field(default=1, ge=0)
    level: MemoryLevel = MemoryLevel.PERSISTENT
    state: MemoryState = MemoryState.ACTIVE
    origin: Origin = Origin.ASSISTANT
    trust: Trust = Trust.ASSISTED
    passing: Passing | None = None
    """The kind of turn in passing, if it is one; it is searched on request only."""

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.updated_at is not None and self.updated_at < self.created_at:
            raise ValueError("updated_at must not be before created_at")
        if self.expires_at is not None and self.expires_at < self.created_at:
            raise ValueError("expires_at must not be before created_at")
        return self


class MemoryFilter(Value):
    """Conditions on memories, all of which must hold.

    An empty set of namespaces or categories is no condition (SPEC 7.5); all tags must be
    present; *since* is inclusive and *until* exclusive, both over ``created_at``;
    *occurred_since* and *occurred_until* are the same over ``occurred_at``, or
    ``created_at`` for a memory without one (SPEC D22).
    """

    namespaces: frozenset[Name] | None = None
    categories: frozenset[MemoryCategory] | None = None
    tags: Tags = ()
    since: Time | None = None
    until: Time | None = None
    occurred_since: Time | None = None
    occurred_until: Time | None = None
    levels: frozenset[MemoryLevel] | None = None
    session_id: Name | None = None
    project_id: ProjectId | None = None

    _distinct = field_validator("tags")(distinct)

    @field_validator("until", "occurred_until")
    @classmethod
    def _check_order(cls, until: datetime | None, info: ValidationInfo) -> datetime | None:
        begin = str(info.field_name).replace("until", "since")
        since = info.data.get(begin)
        if since is not None and until is not None and since >= until:
            raise ValueError(f"{begin} must be before {info.field_name}")
        return until


class MemoryQuery(MemoryFilter):
    """A search, or with *text* None a listing, newest first (SPEC 7.5, 7.8).

    *include_shared* adds what agents published, under their name, but no copy of a memory that the
    agent itself published and has. A search finds turns in passing (questions, requests,
    acknowledgements, remarks) only with *include_passing*; a listing always has them.
    """

    text: Query | None = None
    min_relevance: Share = 0.0
    limit: int = Field(default=10, ge=1, le=PAGE_ITEMS_MAX)
    include_compressed: bool = False
    include_shared: bool = False
    include_passing: bool = False


class MemoryUpdate(Value):
    """Changes to a memory; None leaves a field unchanged, and so does one left out of *metadata*.

    *origin* is that of a new *content*, which limits the trust in the memory.
    """

    content: Text | None = None
    metadata: MemoryMetadata | None = None
    expires_at: Time | None = None
    origin: Origin | None = None

    @model_validator(mode="after")
    def _require_change(self) -> Self:
        if self.content is None and self.metadata is None and self.expires_at is None:
            raise ValueError("name at least one of content, metadata, expires_at")
        return self


class Preference(Value):
    """A key-value pair of an agent that comes first in every recall (SPEC D5).

    *confirmed* is True if the owner stated or confirmed it; otherwise prompts fence it. *client*
    is the client that set it, None if unknown. With a *project_id* it applies to that project
    only. *updated_at* is when it was stated or set.
    """

    name: Name
    value: Text
    confidence: Share = 1.0
    memory_id: Name | None = None
    updated_at: Time
    origin: Origin = Origin.ASSISTANT
    client: Name | None = None
    confirmed: bool = False
    project_id: Name | None = None
