"""Ingest requests and receipts (SPEC 1, D4); sessions and their stored messages (SPEC 1.8, D2)."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import AliasChoices, Field, StringConstraints, model_validator

from memd.base.limits import HEADING_CHARS_MAX, INGEST_ITEMS_MAX, RECALL_TOP_K_MAX, SOURCE_IDS_MAX
from memd.domain.enums import MemoryCategory, MemoryLevel, Origin, Passing
from memd.domain.memory import Tags
from memd.domain.trust import Flag
from memd.domain.values import (
    DEFAULT_NAMESPACE,
    Count,
    Name,
    NotBlankStr,
    ProjectId,
    Query,
    Share,
    Text,
    Time,
    Value,
)

Heading = Annotated[NotBlankStr, StringConstraints(max_length=HEADING_CHARS_MAX)]
"""The headings above a text, outermost first, in one line."""


class IngestRequest(Value):
    """A text to clean, chunk, score, route and store as memories.

    *speaker*, *order* (its place in the session) and *occurred_at* come from the caller;
    *source* is a reference such as a path or a turn id, by which a repeated text is
    recognized. *category* overrides routing. Each chunk begins with *heading*.

    The importance gate applies to streams only: texts whose origin is assistant, tool or
    web. A person's, an imported or a *deliberate* text is never below the threshold.

    Turns in passing (questions, requests of the moment, acknowledgements and remarks of a
    person or an assistant) are searched on request only and never injected. A *deliberate* or
    imported text never counts as one.
    """

    text: Text
    category: MemoryCategory | None = Field(
        default=None, validation_alias=AliasChoices("category", "memory_type_hint", "memory_type")
    )
    namespace: Name = DEFAULT_NAMESPACE
    session_id: Name | None = None
    project_id: ProjectId | None = None
    speaker: Name | None = None
    order: int | None = Field(default=None, ge=0, le=2**53)
    occurred_at: Time | None = None
    source: Name | None = None
    caption: Text | None = None
    heading: Heading | None = None
    tags: Tags = ()
    level: MemoryLevel | None = None
    confidence: Share = 1.0
    expires_at: Time | None = None
    origin: Origin | None = None
    deliberate: bool = False


class IngestManyRequest(Value):
    """Several texts in one call; each gets its own receipt, in order."""

    items: tuple[IngestRequest, ...] = Field(min_length=1, max_length=INGEST_ITEMS_MAX)


class ReplaceSourceRequest(Value):
    """The current texts of a *source*, such as a file.

    A source too large for one request is sent in several: all but the last set *more*, and
    the last one names in *kept* the ids of the earlier answers. Only the last one supersedes.
    """

    source: Name
    items: tuple[IngestRequest, ...] = Field(default=(), max_length=INGEST_ITEMS_MAX)
    kept: tuple[Name, ...] = Field(default=(), max_length=SOURCE_IDS_MAX)
    more: bool = False
    dry_run: bool = False


class ReplaceResult(Value):
    """Counts of a source's chunks that are *new*, unchanged, *moved*, and superseded.

    *moved* ones are unchanged but for the project that the request names, or the home in which the
    source was. *ids* are the memories of the request's items; a dry run has none for new ones.
    Superseded memories are archived and can be restored.
    """

    ids: tuple[Name, ...] = ()
    new: int = Field(default=0, ge=0)
    unchanged: int = Field(default=0, ge=0)
    moved: int = Field(default=0, ge=0)
    superseded: int = Field(default=0, ge=0)
    quarantined: int = Field(default=0, ge=0)
    """How many of the new ones are quarantined because they look like an attack."""
    redacted: tuple[str, ...] = ()
    """Kinds of secrets that were replaced before storing."""


class ReceiptItem(Value):
    """The outcome of one chunk. *importance* is None until it has been scored."""

    id: Name
    category: MemoryCategory
    importance: Share | None = None
    token_count: int = Field(ge=1)
    reason: str | None = None
    flags: tuple[Flag, ...] = ()
    """Signs of an attack."""
    passing: Passing | None = None
    """The kind of turn in passing, if it is one; it is searched on request only."""


class Receipt(Value):
    """The outcome of an ingested text, returned only after COMMIT.

    *stored* chunks are final. *pending* ones are stored and searched by words; their vectors
    follow. A pending chunk without an importance is scored later; if it is below the threshold
    then, ``event.turned_away`` names it. *merged* ones existed already and got a new
    ``updated_at``. *turned_away* ones are below the importance threshold, which applies to
    streams only (:class:`IngestRequest`), and were archived: ``archive.turned_away`` lists
    them, ``archive.restore_turned_away`` restores them. *quarantined* ones look like an attack:
    they are stored, but not searched until the owner releases them. *preferences* are the keys
    that were set. A turn that the owner asks not to remember ("keep this between us"), or to
    forget something, is in none of them, nor is the answer to it: nothing of them is stored.
    """

    stored: tuple[ReceiptItem, ...] = ()
    pending: tuple[ReceiptItem, ...] = ()
    merged: tuple[ReceiptItem, ...] = ()
    turned_away: tuple[ReceiptItem, ...] = ()
    quarantined: tuple[ReceiptItem, ...] = ()
    preferences: tuple[str, ...] = ()
    redacted: tuple[str, ...] = ()
    """Kinds of secrets that were replaced before storing."""

    @property
    def new_ids(self) -> list[str]:
        """The ids of the memories that were stored and not turned away."""
        return [item.id for item in (*self.stored, *self.pending, *self.quarantined)]


class Receipts(Value):
    """The receipts of a bulk ingest, one for each item, in order."""

    items: tuple[Receipt, ...]


class Session(Value):
    """One conversation of one agent. *ended_at* is None until its end is reported."""

    session_id: Name
    agent_id: Name
    project_id: ProjectId | None = None
    started_at: Time
    last_activity_at: Time
    ended_at: Time | None = None
    memories: Count
    tokens: Count
    messages: Count
    """The number of its stored messages."""
    compressed: bool = False


class MovedProject(Value):
    """How many sessions and memories were moved to another project."""

    sessions: Count
    memories: Count


class SessionMessage(Value):
    """One message as a nap stored it, with secrets replaced; *ordinal* is its position."""

    ordinal: Count
    role: str
    text: str
    damaged: bool = False
    """Whether the stored text is damaged; *text* is empty then."""
    said_at: Time | None = None
    """Its time in the transcript, if it has one."""
    kept_at: Time
    """When its text was first stored, but not before its session began."""


class SessionQuery(Value):
    """A search of stored messages by words; *since* is inclusive and *until* exclusive.

    If several sessions contain the same text, only the newest message is returned. *session_id*
    and *project_id* limit the search.
    """

    query: Query
    session_id: Name | None = None
    project_id: ProjectId | None = None
    since: Time | None = None
    until: Time | None = None
    limit: int = Field(default=10, ge=1, le=RECALL_TOP_K_MAX)

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise ValueError("since must be before until")
        return self


class SessionHit(Value):
    """One stored message that matches, at its last position in the session."""

    session_id: Name
    project_id: ProjectId | None = None
    ordinal: Count
    role: str
    at: Time
    """Its time in the transcript or, without one, when a nap stored it."""
    snippet: str
    """The text around the match, without secrets; it is untrusted."""
