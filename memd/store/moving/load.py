"""Records of another store become rows of this one, exactly, and none twice.

What is here already under its id stays as it is, so that an import can be run again
and into a store that is in use. Of two preferences or patterns of one name the newer
one stands. What was erased here on purpose does not come back.
"""

from __future__ import annotations

from collections.abc import Callable

import apsw

from memd.base.errors import InvalidError
from memd.domain import moving as records
from memd.domain.moving import Record
from memd.store.file.connect import Writing
from memd.store.memory import memories
from memd.store.moving import kept, org
from memd.store.moving import memories as arrived
from memd.store.moving.desk import Desk, Fate
from memd.store.org.org import Operation

Learn = Callable[[Writing, Operation], None]


def take(desk: Desk, record: Record, learn: Learn) -> Fate:
    """Store one record, in the order of an export, or nothing of it.

    Raises a CallerError when it cannot be.
    """
    if not isinstance(record, records.MemoryRecord):
        settle(desk)
    try:
        with desk.conn:  # a savepoint
            fate = _take(desk, record, learn)
    except apsw.ConstraintError as error:
        raise InvalidError("the store does not take it: it contradicts itself") from error
    return fate


def _take(desk: Desk, record: Record, learn: Learn) -> Fate:  # noqa: C901, PLR0911, PLR0912  # a table
    match record:
        case records.AgentRecord():
            return kept.agent(desk, record)
        case records.SessionRecord():
            return kept.session(desk, record)
        case records.TextRecord():
            return kept.text(desk, record)
        case records.MessageRecord():
            return kept.message(desk, record)
        case records.MemoryRecord():
            return arrived.memory(desk, record)
        case records.VersionRecord():
            return arrived.version(desk, record)
        case records.DerivedRecord():
            return arrived.derived(desk, record)
        case records.TurnRecord():
            return arrived.turn(desk, record)
        case records.SlotRecord():
            return arrived.slot(desk, record)
        case records.PreferenceRecord():
            return kept.preference(desk, record)
        case records.FileRecord():
            return arrived.file(desk, record)
        case records.LearningRecord():
            return kept.learning(desk, record)
        case records.PatternRecord():
            return kept.pattern(desk, record)
        case records.RulesRecord():
            return org.rule(desk, record)
        case records.OwnerKeyRecord():
            return org.owner_key(desk, record)
        case records.OperationRecord():
            written = org.operation(desk, record)
            if written is not None:
                learn(desk.conn, written)
            return "known" if written is None else "stored"
        case records.ProposalRecord():
            return org.proposal(desk, record)
        case records.ForgottenRecord():
            return arrived.forgotten(desk, record)


def settle(desk: Desk) -> None:
    """Give new memories their place among their neighbours and in the caches."""
    keys, desk.fresh = desk.fresh, []
    memories.index_new(desk.conn, keys)
