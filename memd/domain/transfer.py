"""The records of an exported profile: each is one line of the file (docs/move.md).

Records refer to each other by public ids. The meaning of a released version of the format
never changes.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal, Self

from pydantic import Field, TypeAdapter, model_validator

from memd.domain.caller import Scope
from memd.domain.enums import (
    ArchiveReason,
    AutonomyLevel,
    LearningOutcome,
    MemoryCategory,
    MemoryLevel,
    MemoryState,
    OperationType,
    OrgFactCategory,
    Origin,
    Passing,
    ProposalState,
    SeniorityLevel,
    TrashReason,
    Trust,
)
from memd.domain.settings.org import OrgRules
from memd.domain.trust import Flag
from memd.domain.values import Count, Name, PlainText, ProjectId, Share, Text, Time, Value

Positive = Annotated[int, Field(ge=1)]
Bit = Annotated[int, Field(ge=0, le=1)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Hex = Annotated[str, Field(pattern=r"^(?:[0-9a-f]{2})+$")]
Tags = tuple[Name, ...]


class AgentRecord(Value):
    """An agent and its settings."""

    kind: Literal["agent"]
    agent_id: Name
    level: MemoryLevel | None = None
    retention_days: Positive | None = None
    retention_overrides: dict[MemoryCategory, Positive] = Field(default_factory=dict)
    created_at: Time


class ClientRecord(Value):
    """A client that has or had a key, without the key."""

    kind: Literal["client"]
    name: Name
    agent_id: Name | None = None
    seniority: SeniorityLevel | None = None
    autonomy_level: AutonomyLevel | None = None
    scopes: tuple[Scope, ...] = ()
    created_at: Time
    revoked_at: Time | None = None


class SessionRecord(Value):
    """A conversation; its counters are recomputed on import."""

    kind: Literal["session"]
    agent_id: Name
    session_id: Name
    project_id: ProjectId | None = None
    client: Name | None = None
    started_at: Time
    last_activity_at: Time
    ended_at: Time | None = None
    compressed: Bit = 0
    heard: Count = 0


class TextRecord(Value):
    """An ingested text, from which memories or messages were made."""

    kind: Literal["text"]
    agent_id: Name
    session_id: Name | None = None
    sha256: Sha256
    text: PlainText
    created_at: Time


class MessageRecord(Value):
    """A message of a session as a nap stored it."""

    kind: Literal["message"]
    agent_id: Name
    session_id: Name
    ordinal: Count
    role: Name
    nth: Count
    sha256: Sha256
    said_at: Time | None = None


class _Row(Value):
    """The immutable columns of a memory, and its tags."""

    id: Name
    client: Name | None = None
    session_id: Name | None = None
    project_id: ProjectId | None = None
    namespace: Name
    category: MemoryCategory
    level: MemoryLevel
    origin: Origin
    trust: Trust
    speaker: Name | None = None
    content: Text
    caption: PlainText | None = None
    reference: Name | None = None
    ordinal: int | None = None
    part: int = 0
    batch: Name | None = None
    token_count: Positive
    importance: Share | None = None
    confidence: Share
    tags: Tags = ()
    created_at: Time
    occurred_at: Time | None = None
    is_summary: Bit = 0
    as_is: Bit = 0


class MemoryRecord(_Row):
    """A memory in any state, with the fields of its state."""

    kind: Literal["memory"]
    agent_id: Name
    sha256: Sha256 | None = None
    state: MemoryState
    updated_at: Time | None = None
    expires_at: Time | None = None
    access_count: Count | None = None
    last_access_at: Time | None = None
    archival_id: Name | None = None
    archive_reason: ArchiveReason | None = None
    archive_state_before: MemoryState | None = None
    archive_run: Name | None = None
    archived_at: Time | None = None
    trash_reason: TrashReason | None = None
    trash_state_before: MemoryState | None = None
    deleted_at: Time | None = None
    erase_after_at: Time | None = None
    flags: tuple[Flag, ...] | None = None
    flagged_state_before: MemoryState | None = None
    flagged_at: Time | None = None
    released_at: Time | None = None
    publisher: Name | None = None
    passing: Passing | None = None

    @model_validator(mode="after")
    def _check_fields(self) -> Self:
        archive_fields = (self.archival_id, self.archive_reason, self.archive_state_before,
                    self.archived_at)  # fmt: skip
        trash_fields = (self.trash_reason, self.trash_state_before, self.deleted_at,
                    self.erase_after_at)  # fmt: skip
        flag_fields = (self.flags, self.flagged_at)
        groups = {"archive": archive_fields, "trash": trash_fields, "flags": flag_fields}
        for name, group in groups.items():
            if any(value is None for value in group) and any(value is not None for value in group):
                raise ValueError(f"the fields of its {name} are incomplete")
        required = {
            MemoryState.ARCHIVED: archive_fields,
            MemoryState.COMPRESSED: archive_fields,
            MemoryState.TRASHED: trash_fields,
            MemoryState.QUARANTINED: flag_fields,
        }.get(self.state, ())
        if any(value is None for value in required):
            raise ValueError(f"it is {self.state} without the fields of that state")
        return self


class VersionRecord(_Row):
    """An earlier version of an updated memory."""

    kind: Literal["version"]
    version: Positive
    replaced_at: Time


class DerivedRecord(Value):
    """A link from a summary to one of its sources."""

    kind: Literal["derived"]
    summary: Name
    source: Name


class TurnRecord(Value):
    """A message that a nap's memory was made from; without *sha256* it is no longer stored."""

    kind: Literal["turn"]
    memory_id: Name
    ordinal: Count
    sha256: Sha256 | None = None


class SlotRecord(Value):
    """The slot of a nap's memory in its session; a digest without *memory_id* was forgotten."""

    kind: Literal["slot"]
    agent_id: Name
    session_id: Name
    slot: Name
    memory_id: Name | None = None
    as_written: Bit
    """Whether it is unchanged since the nap. Later naps do not replace a changed one."""


class PreferenceRecord(Value):
    """A preference; *memory_id* is the memory that it came from.

    *confirmed_at* is when the owner stated or confirmed it; exports of earlier versions lack
    it, so their preferences are unconfirmed.
    """

    kind: Literal["preference"]
    agent_id: Name
    name: Name
    value: Text
    confidence: Share
    token_count: Positive
    memory_id: Name | None = None
    created_at: Time
    updated_at: Time
    origin: Origin = Origin.ASSISTANT
    client: Name | None = None
    confirmed_at: Time | None = None


class FileRecord(Value):
    """A file of the file view: its memory, or its blank text."""

    kind: Literal["file"]
    agent_id: Name
    path: PlainText
    memory_id: Name | None = None
    blank: PlainText | None = None

    @model_validator(mode="after")
    def _check_content(self) -> Self:
        if (self.memory_id is None) == (self.blank is None):
            raise ValueError("a file has a memory or is blank")
        return self


class LearningRecord(Value):
    """The outcome of a task."""

    kind: Literal["learning"]
    id: Name
    agent_id: Name
    task_type: PlainText
    approach: tuple[PlainText, ...]
    outcome: LearningOutcome
    lesson: PlainText
    at: Time


class PatternRecord(Value):
    """A pattern that worked, and how often."""

    kind: Literal["pattern"]
    id: Name
    agent_id: Name
    task_type: PlainText
    description: PlainText
    tool_sequence: tuple[PlainText, ...]
    prompt_template: PlainText = ""
    success_count: Positive
    promoted: Bit = 0
    created_at: Time
    updated_at: Time


class RulesRecord(Value):
    """The access rules of facts from *at* on."""

    kind: Literal["rules"]
    rules: dict[str, Any]
    at: Time

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        OrgRules.model_validate(self.rules)
        return self


class OwnerKeyRecord(Value):
    """A public key of the owner."""

    kind: Literal["owner_key"]
    public_key: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    created_at: Time
    revoked_at: Time | None = None


class OperationRecord(Value):
    """One row of the log of facts."""

    kind: Literal["operation"]
    id: Name
    fact_id: Name
    version: Positive
    operation: OperationType
    category: OrgFactCategory
    content: Text | None = None
    tags: Tags = ()
    is_human: Bit
    author_id: Name | None = None
    seniority: SeniorityLevel | None = None
    autonomy_level: AutonomyLevel | None = None
    client: Name
    signature: Hex | None = None
    at: Time
    valid_from_at: Time | None = None
    valid_to_at: Time | None = None

    @model_validator(mode="after")
    def _check_fields(self) -> Self:
        if (self.operation is OperationType.PUBLISH) != (self.content is not None):
            raise ValueError("a PUBLISH has a content and a RETRACT has none")
        return self


class ProposalRecord(Value):
    """A proposed fact and its decision."""

    kind: Literal["proposal"]
    id: Name
    fact_id: Name | None = None
    operation: OperationType
    category: OrgFactCategory
    content: Text | None = None
    tags: Tags = ()
    valid_from_at: Time | None = None
    valid_to_at: Time | None = None
    author_id: Name
    client: Name
    at: Time
    state: ProposalState
    decided_at: Time | None = None
    operation_id: Name | None = None


class ForgottenRecord(Value):
    """The id of a forgotten memory."""

    kind: Literal["forgotten"]
    id: Name
    forgotten_at: Time


class EntityRecord(Value):
    """An operational record; the declaration of its entity has its fields (SPEC 19)."""

    kind: Literal["record"]
    entity: Name
    record: dict[str, Any]


Record = (
    AgentRecord
    | ClientRecord
    | SessionRecord
    | TextRecord
    | MessageRecord
    | MemoryRecord
    | VersionRecord
    | DerivedRecord
    | TurnRecord
    | SlotRecord
    | PreferenceRecord
    | FileRecord
    | LearningRecord
    | PatternRecord
    | RulesRecord
    | OwnerKeyRecord
    | OperationRecord
    | ProposalRecord
    | ForgottenRecord
)

AnyRecord = Record | EntityRecord


@cache
def record_type() -> TypeAdapter[AnyRecord]:
    """Return the validator of one record, built at the first use."""
    return TypeAdapter(Annotated[AnyRecord, Field(discriminator="kind")])
