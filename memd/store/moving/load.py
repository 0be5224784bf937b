"""Import of another store's records as rows of this one, exactly, and none twice.

A record whose id exists here is skipped, so that an import can be run again and into a store that
is in use. Of two preferences or patterns of one name the newer one wins. What was erased here does
not come back.
"""

from __future__ import annotations

from collections.abc import Callable

import apsw

from memd.base.errors import InvalidError
from memd.domain import moving as records
from memd.domain.moving import Record
from memd.store.file.connect import Writing
from memd.store.memory import memories
from memd.store.moving import memories as arrived
from memd.store.moving import org, profile
from memd.store.moving.target import ImportOutcome, ImportTarget
from memd.store.org.org import Operation

Learn = Callable[[Writing, Operation], None]


def load_record(desk: ImportTarget, record: Record, learn: Learn) -> ImportOutcome:
    """Store one record, in the order of an export, or nothing of it.

    Raises a CallerError when it cannot be stored.
    """
    if not isinstance(record, records.MemoryRecord):
        index_new(desk)
    try:
        with desk.conn:  # a savepoint
            outcome = _load(desk, record, learn)
    except apsw.ConstraintError as error:
        raise InvalidError("the store does not take it: it contradicts itself") from error
    return outcome


def _load(desk: ImportTarget, record: Record, learn: Learn) -> ImportOutcome:  # noqa: C901, PLR0911, PLR0912  # a table
    match record:
        case records.AgentRecord():
            return profile.store_agent(desk, record)
        case records.SessionRecord():
            return profile.store_session(desk, record)
        case records.TextRecord():
            return profile.store_text(desk, record)
        case records.MessageRecord():
            return profile.store_message(desk, record)
        case records.MemoryRecord():
            return arrived.store_memory(desk, record)
        case records.VersionRecord():
            return arrived.store_version(desk, record)
        case records.DerivedRecord():
            return arrived.store_derived(desk, record)
        case records.TurnRecord():
            return arrived.store_turn(desk, record)
        case records.SlotRecord():
            return arrived.store_slot(desk, record)
        case records.PreferenceRecord():
            return profile.store_preference(desk, record)
        case records.FileRecord():
            return arrived.store_file(desk, record)
        case records.LearningRecord():
            return profile.store_learning(desk, record)
        case records.PatternRecord():
            return profile.store_pattern(desk, record)
        case records.RulesRecord():
            return org.store_rules(desk, record)
        case records.OwnerKeyRecord():
            return org.store_owner_key(desk, record)
        case records.OperationRecord():
            written = org.append_operation(desk, record)
            if written is not None:
                learn(desk.conn, written)
            return "known" if written is None else "stored"
        case records.ProposalRecord():
            return org.store_proposal(desk, record)
        case records.ForgottenRecord():
            return arrived.store_forgotten(desk, record)


def index_new(desk: ImportTarget) -> None:
    """Write the contexts of new memories and index them."""
    keys, desk.unindexed = desk.unindexed, []
    memories.index_new(desk.conn, keys)
