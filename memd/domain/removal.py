"""What removal answers: what was erased, what waits in the trash, what was put away (SPEC D21)."""

from __future__ import annotations

from pydantic import Field

from memd.domain.enums import ArchiveReason, MemoryCategory, TrashReason
from memd.domain.memory import MemoryEntry
from memd.domain.sleep.consolidation import ArchivalMode
from memd.domain.values import Name, Text, Time, Value


class Forgotten(Value):
    """What was erased everywhere, or with a dry run would be.

    *proof* is the SHA-256, in hex, of what was looked for and is no longer found;
    empty for a dry run. *ids* are the first FORGOTTEN_IDS_MAX, in order of arrival;
    *count* and *proof* are of all. *texts* are the first FORGOTTEN_TEXTS_MAX of a dry run, each
    a line. *backups* are the files that may still hold it
    until they are removed.
    """

    count: int = Field(ge=0)
    messages: int = Field(default=0, ge=0)
    """Of a session that was meant as a whole: its messages that naps kept."""
    ids: tuple[Name, ...] = ()
    texts: tuple[Text, ...] = ()
    proof: str = ""
    backups: tuple[str, ...] = ()
    dry_run: bool = False


class Trashed(Value):
    """A memory in the trash, and until when it can be brought back."""

    id: Name
    agent_id: Name
    category: MemoryCategory
    content: Text
    reason: TrashReason
    trashed_at: Time
    erase_at: Time


class Archived(Value):
    """A memory in the archive: why and when it was put away, and how it was shortened before.

    *archival_id* is its name in the archive; *entry* is the memory as it was stored.
    """

    archival_id: Name
    reason: ArchiveReason
    archived_at: Time
    mode: ArchivalMode = ArchivalMode.EXTRACTIVE
    entry: MemoryEntry
