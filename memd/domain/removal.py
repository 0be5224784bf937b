"""Results of forgetting, and the entries of trash and archive (SPEC D21)."""

from __future__ import annotations

from pydantic import Field

from memd.domain.enums import ArchiveReason, MemoryCategory, TrashReason
from memd.domain.memory import MemoryEntry
from memd.domain.sleep.consolidation import ArchivalMode
from memd.domain.values import Name, Text, Time, Value


class ForgetResult(Value):
    """What was erased everywhere, or with a dry run would be.

    *proof* is the SHA-256, in hex, of the erased data that was searched for in the file and is
    no longer there; empty for a dry run. *ids* are the first FORGOTTEN_IDS_MAX, in order of
    arrival; *count* and *proof* cover all. *texts* are the first FORGOTTEN_TEXTS_MAX of a dry
    run, one line each. *backups* are files that may still contain the data until they are
    deleted.
    """

    count: int = Field(ge=0)
    messages: int = Field(default=0, ge=0)
    """The number of erased messages, if a session or a period was forgotten as a whole."""
    ids: tuple[Name, ...] = ()
    texts: tuple[Text, ...] = ()
    proof: str = ""
    backups: tuple[str, ...] = ()
    dry_run: bool = False


class TrashedMemory(Value):
    """A memory in the trash, and until when it can be restored."""

    id: Name
    agent_id: Name
    category: MemoryCategory
    content: Text
    reason: TrashReason
    trashed_at: Time
    erase_at: Time


class ArchivedMemory(Value):
    """A memory in the archive: why and when it was archived, and how it was shortened.

    *archival_id* is its id in the archive; *entry* is the memory as stored.
    """

    archival_id: Name
    reason: ArchiveReason
    archived_at: Time
    mode: ArchivalMode = ArchivalMode.EXTRACTIVE
    entry: MemoryEntry
