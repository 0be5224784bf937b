"""Enumerations, most of them string enums (SPEC 7.1).

``schema.sql`` repeats the stored ones as CHECK constraints; a test compares them.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum


class MemoryCategory(StrEnum):
    """The category of a memory. S1 calls it memory type."""

    WORKING = "working"
    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"
    SOCIAL = "social"


MemoryType = MemoryCategory


class MemoryLevel(StrEnum):
    """How long memories are kept (SPEC 7.13, D2)."""

    PERSISTENT = "persistent"
    PROJECT = "project"
    SESSION = "session"
    NONE = "none"


class MemoryState(StrEnum):
    """The state of a memory.

    Visible: active, and pending, which is searched by words until it has its vector.
    Hidden, searched with ``include_compressed`` only: compressed, archived.
    Never searched: quarantined, trashed. The schema allows stale as well; no memory has it.
    """

    ACTIVE = "active"
    PENDING = "pending"
    COMPRESSED = "compressed"
    ARCHIVED = "archived"
    QUARANTINED = "quarantined"
    STALE = "stale"
    TRASHED = "trashed"


VISIBLE = frozenset({MemoryState.ACTIVE, MemoryState.PENDING})
HIDDEN = frozenset({MemoryState.COMPRESSED, MemoryState.ARCHIVED})


class Origin(StrEnum):
    """The origin of a text; stamped by the daemon, never taken from the text."""

    PERSON = "person"
    ASSISTANT = "assistant"
    TOOL = "tool"
    WEB = "web"
    IMPORT = "import"


class Trust(IntEnum):
    """The trust in a memory; a summary has the least trust of its sources."""

    UNTRUSTED = 0
    ASSISTED = 1
    OWNER = 2


class ArchiveReason(StrEnum):
    """Why a memory was archived."""

    LOW_IMPORTANCE = "low_importance"
    CONSOLIDATED = "consolidated"
    COMPRESSED = "compressed"
    CAP = "cap"
    SUPERSEDED = "superseded"
    MANUAL = "manual"
    """By a call, such as ``memd archive add``."""


class TrashReason(StrEnum):
    """Why a memory is in the trash (SPEC D21)."""

    DELETED = "deleted"
    EXPIRED = "expired"
    RETENTION = "retention"
    SESSION_END = "session_end"


class Passing(StrEnum):
    """The kinds of turns in passing, which state nothing worth injecting."""

    QUESTION = "question"
    REQUEST = "request"
    ACKNOWLEDGEMENT = "acknowledgement"
    REMARK = "remark"


class SearchMode(StrEnum):
    """How recall searches (SPEC D6)."""

    HYBRID = "hybrid"
    DENSE = "dense"
    WORDS = "words"


class ConsolidationInterval(StrEnum):
    """How often a night runs."""

    HOURLY = "hourly"
    DAILY = "daily"
    WEEKLY = "weekly"
    NEVER = "never"


class InjectionStrategy(StrEnum):
    """How memories reach a prompt."""

    CONTEXT = "context"
    TOOL_BASED = "tool_based"
    SELF_EDITING = "self_editing"


class InjectionPoint(StrEnum):
    """Which role an injected message has."""

    SYSTEM = "system"
    USER = "user"


class FusionStrategy(StrEnum):
    """How lists of candidates are merged (SPEC 8)."""

    LINEAR = "linear"
    RRF = "rrf"


class RunKind(StrEnum):
    """The kind of a run. No run has undo, which the schema allows: an undone run keeps its kind."""

    NAP = "nap"
    NIGHT = "night"
    COMPRESS = "compress"
    UNDO = "undo"


class RunState(StrEnum):
    """The state of a run. An interrupted one stays running and continues at the next start."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    UNDOING = "undoing"
    UNDONE = "undone"


class OrgFactCategory(StrEnum):
    """The category of an organisational fact (SPEC 15.1)."""

    CORE_POLICY = "core_policy"
    ADR = "adr"
    PROCEDURE = "procedure"
    CONVENTION = "convention"
    ENTITY_DEFINITION = "entity_definition"


class SeniorityLevel(StrEnum):
    """How senior an agent is, ascending; compared by position (SPEC 15.1)."""

    JUNIOR = "junior"
    MID = "mid"
    SENIOR = "senior"
    LEAD = "lead"
    PRINCIPAL = "principal"
    DIRECTOR = "director"
    VP = "vp"
    C_SUITE = "c_suite"

    @property
    def rank(self) -> int:
        """Return the position, 0 for the lowest.

        >>> SeniorityLevel.SENIOR.rank > SeniorityLevel.MID.rank
        True
        """
        return tuple(SeniorityLevel).index(self)


class AutonomyLevel(StrEnum):
    """How freely an agent acts, most restricted first; stored with what it writes."""

    LOCKED = "locked"
    SUPERVISED = "supervised"
    SEMI = "semi"
    FULL = "full"


class OperationType(StrEnum):
    """What an operation does to a fact (SPEC 15.2)."""

    PUBLISH = "PUBLISH"
    RETRACT = "RETRACT"


class ProposalState(StrEnum):
    """The state of a proposed fact."""

    OPEN = "open"
    APPROVED = "approved"
    REJECTED = "rejected"


class Outcome(StrEnum):
    """How an audited attempt ended."""

    DONE = "done"
    DENIED = "denied"


class LearningOutcome(StrEnum):
    """How a task went (SPEC 5a.1)."""

    SUCCESS = "success"
    FAILURE = "failure"
    PARTIAL = "partial"


class FileCommandName(StrEnum):
    """The commands of the file view, the tool ``memory`` of some assistants."""

    VIEW = "view"
    CREATE = "create"
    STR_REPLACE = "str_replace"
    INSERT = "insert"
    DELETE = "delete"
    RENAME = "rename"
