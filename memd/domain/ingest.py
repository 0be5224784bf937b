"""What arrives, and the receipt for it (SPEC 1, D4).

Then sessions: an assistant's conversation, and its messages that naps kept (SPEC 1.8, D2).
"""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import AliasChoices, Field, StringConstraints, model_validator

from memd.base.limits import HEADING_CHARS_MAX, INGEST_ITEMS_MAX, RECALL_TOP_K_MAX, SOURCE_IDS_MAX
from memd.domain.enums import MemoryCategory, MemoryLevel, Origin, Passing
from memd.domain.memory import Tags
from memd.domain.trust import Flag
from memd.domain.values import (
    DEFAULT_NAMESPACE,
    Name,
    NotBlankStr,
    ProjectId,
    Share,
    Text,
    Time,
    Value,
)

Heading = Annotated[NotBlankStr, StringConstraints(max_length=HEADING_CHARS_MAX)]
"""The headings that a text stands under, outermost first, in one line."""


class IngestRequest(Value):
    """A text that is to become memories: cleaned, chunked, scored and routed.

    *speaker* and *order* (its place in the session) and *occurred_at* come from
    the caller; *source* is a reference such as a path or a turn id, under which
    the same text again is recognised. *category* wins over routing. *heading* is
    what the text stands under: each of its chunks begins with it.

    The gate of importance judges streams only: texts whose origin is assistant, tool
    or web. What a person says, what is imported, and whatever is said to be
    *deliberate* (handed over on purpose) is never turned away.

    Of what a person or an assistant says, a question, a request of the moment, an
    acknowledgement and a remark in passing are kept apart: searched on request, never
    injected. What is *deliberate* or imported never is.
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
    """What the source *source* (a file, say) says now.

    A source too large for one request comes in several: each but the last says that
    there is *more*, and the last names what the ones before it answered with, *kept*.
    Nothing is superseded before that last one.
    """

    source: Name
    items: tuple[IngestRequest, ...] = Field(default=(), max_length=INGEST_ITEMS_MAX)
    kept: tuple[Name, ...] = Field(default=(), max_length=SOURCE_IDS_MAX)
    more: bool = False
    dry_run: bool = False


class Replaced(Value):
    """What became of a source: chunks that are *new*, the same as before, and superseded.

    *ids* are the memories of the request's items; a dry run has none for what is new.
    What is superseded is in the archive, from where it can be brought back.
    """

    ids: tuple[Name, ...] = ()
    new: int = Field(default=0, ge=0)
    unchanged: int = Field(default=0, ge=0)
    superseded: int = Field(default=0, ge=0)
    quarantined: int = Field(default=0, ge=0)
    """Of the new ones, those that look like an attack and are out of sight."""
    redacted: tuple[str, ...] = ()
    """Kinds of secrets that were replaced before storing."""


class ReceiptItem(Value):
    """One chunk's fate. *importance* is None while the chunk is still to be judged."""

    id: Name
    category: MemoryCategory
    importance: Share | None = None
    token_count: int = Field(ge=1)
    reason: str | None = None
    flags: tuple[Flag, ...] = ()
    """What it looks like, if that is suspicious."""
    passing: Passing | None = None
    """What it does, if it states nothing: it is kept apart, and found on request only."""


class Receipt(Value):
    """What became of a text. Given only after COMMIT.

    *stored* is final; *pending* is stored and findable by words, its vector is to
    come. Without an importance a pending chunk is still to be judged: if it is turned
    away then, ``event.turned_away`` names it. *merged* was there already and had its
    ``updated_at`` moved; *turned_away* is below the threshold of importance and was
    archived: ``archive.turned_away`` lists it, ``archive.restore_turned_away`` brings
    it back. Only streams are judged (:class:`IngestRequest`).
    *quarantined* looks like an attack: it is stored, and nothing finds it until its owner
    releases it. *preferences* are the keys that were set.
    """

    stored: tuple[ReceiptItem, ...] = ()
    pending: tuple[ReceiptItem, ...] = ()
    merged: tuple[ReceiptItem, ...] = ()
    turned_away: tuple[ReceiptItem, ...] = ()
    quarantined: tuple[ReceiptItem, ...] = ()
    preferences: tuple[str, ...] = ()
    redacted: tuple[str, ...] = ()
    """Kinds of secrets that were replaced before storing."""


class Receipts(Value):
    """The receipts of a bulk ingest, one for each item, in order."""

    items: tuple[Receipt, ...]


Count = Annotated[int, Field(ge=0)]


class Session(Value):
    """One conversation of one agent. *ended_at* None: it goes on, or nobody has said otherwise."""

    session_id: Name
    agent_id: Name
    project_id: ProjectId | None = None
    started_at: Time
    last_activity_at: Time
    ended_at: Time | None = None
    memories: Count
    tokens: Count
    messages: Count
    """How many of its messages are kept."""
    compressed: bool = False


class SessionMessage(Value):
    """One message as a nap read it, with secrets replaced; *ordinal* is its place."""

    ordinal: Count
    role: str
    text: str
    kept_at: Time


class SessionQuery(Value):
    """Words that were said in sessions; *since* is inclusive and *until* exclusive."""

    query: Text
    session_id: Name | None = None
    project_id: ProjectId | None = None
    since: Time | None = None
    until: Time | None = None
    limit: int = Field(default=10, ge=1, le=RECALL_TOP_K_MAX)

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise ValueError("since must be before until")
        return self


class SessionHit(Value):
    """One kept message that holds the words, at the last place where it was said."""

    session_id: Name
    project_id: ProjectId | None = None
    ordinal: Count
    role: str
    at: Time
    """When it was said; where its transcript does not tell, when a nap kept it."""
    snippet: str
    """The words around those that match, without secrets; who said it may be anybody."""
