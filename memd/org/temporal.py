"""What holds when: statements learnt from each operation, in the operation's own transaction.

A fact's text is read into statements. What contradicts an older text ends it; what
is retracted or said anew takes nothing from others any more. Both are one thing: for
each group of statements that could contradict each other, what the standing texts
leave is worked out anew (``claims.py``), rows that say otherwise are closed and new
ones opened, known since the operation. Nothing is erased, so every earlier belief can
be asked for.

What is learnt depends on the log and the rules logged beside it only, never on when
the learning happens: learning it all again gives the same rows, ids and all.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from memd.domain.enums import OperationType, OrgFactCategory, SeniorityLevel
from memd.domain.graph import STATEMENTS_VERSION, ExtractedStatement
from memd.domain.org import OrgFactAuthor
from memd.domain.settings_org import OrgRules
from memd.org.access import check_write_access
from memd.org.claims import MayEnd, believed, group
from memd.store.file.connect import Reading, Writing
from memd.store.org import learnt, rules
from memd.store.org import statements as store
from memd.store.org.org import Operation
from memd.store.org.statements import Claim, StatementGroup

RELEARN_OPERATIONS = 50  # of one step: a write waits some 50 ms at most
UNLEARN_ROWS = 500


def learn(conn: Writing, operation: Operation) -> None:
    """Learn from *operation*, which stands in the log already; the hook of ``Org.learn``.

    While everything is being learnt again (:func:`relearn`), its turn comes there.
    """
    progress = learnt.progress(conn)
    if progress is None and not learnt.is_any(conn, before=operation.operation_key):
        progress = learnt.ExtractionProgress(STATEMENTS_VERSION, None)
        learnt.note(conn, progress)
    if progress != learnt.ExtractionProgress(STATEMENTS_VERSION, None):
        return
    _learn(conn, operation, _may_end(conn))


def _learn(conn: Writing, operation: Operation, may_end: MayEnd) -> None:
    new = _claims(conn, operation)
    before = learnt.previous(conn, operation.fact_id, operation.version)
    old = [] if before is None else store.said_by(conn, before)
    groups = dict.fromkeys(map(group, (*old, *new)))
    opened: list[store.Held] = []
    for one in groups:
        mine = [claim for claim in new if group(claim) == one]
        wanted = believed([*store.claims(conn, one, operation.operation_key), *mine], may_end)
        opened += _settle(conn, one, wanted, operation.at_us)
    store.believe(conn, opened, operation.operation_id, operation.at_us)


def _settle(
    conn: Writing, one: StatementGroup, wanted: Sequence[store.Held], at_us: int
) -> list[store.Held]:
    """Close the rows of a group that are not *wanted*; returns what has no row yet."""
    missing = dict.fromkeys(wanted)
    closing: list[int] = []
    for row in store.open_rows(conn, one):
        if row.held in missing:
            del missing[row.held]
        else:
            closing.append(row.statement_key)
    store.close(conn, closing, at_us)
    return list(missing)


def _claims(conn: Writing, operation: Operation) -> list[Claim]:
    if operation.kind is not OperationType.PUBLISH or operation.content is None:
        return []
    from memd.extract.statements import statements

    found: dict[Claim, None] = {}
    for one in statements(operation.content, operation.at_us):
        start, stop = _when(one, operation)
        found[
            Claim(
                operation_key=operation.operation_key,
                subject_key=store.thing(conn, one.subject),
                relation=one.relation,
                object_key=store.thing(conn, one.object),
                negated=int(one.negated),
                qualifier=one.qualifier,
                claimed_from_us=start,
                claimed_to_us=stop,
                span_from=one.start,
                span_to=one.end,
                category=operation.category.value,
                is_human=int(operation.author.is_human),
                seniority=operation.author.seniority,
                at_us=operation.at_us,
            )
        ] = None
    return sorted(found, key=lambda one: (one.span_from, one.span_to, one[1], one[3]))


def _when(one: ExtractedStatement, operation: Operation) -> tuple[int | None, int | None]:
    """Return the times of the text itself, else those that the writer gave for all of it."""
    start, stop = one.valid_from_us, one.valid_to_us
    if start is None and stop is None:
        return operation.valid_from_us, operation.valid_to_us
    if start is not None and stop is not None and start >= stop:
        return None, None
    return start, stop


def _may_end(conn: Reading) -> MayEnd:
    """Return whether who said one claim could write, then, what another stands in.

    What a human said is ended by humans only, as a human's fact is changed by humans only.
    """
    logged = [(at_us, OrgRules.model_validate_json(text)) for at_us, text in rules.logged(conn)]
    times = [at_us for at_us, _ in logged]

    def may_end(newer: Claim, older: Claim) -> bool:
        if older.is_human and not newer.is_human:
            return False
        place = bisect_right(times, newer.at_us)
        in_force = logged[place - 1][1] if place else OrgRules()
        author = OrgFactAuthor.model_construct(
            is_human=bool(newer.is_human),
            seniority=SeniorityLevel(newer.seniority) if newer.seniority else None,
        )
        return check_write_access(in_force.write, OrgFactCategory(older.category), author)

    return may_end


# Learning everything again.


def stale(conn: Reading) -> bool:
    """Return whether what is learnt came from an older way of reading, or not from all."""
    progress = learnt.progress(conn)
    if progress is None:
        return learnt.is_any(conn)
    return progress.version != STATEMENTS_VERSION or progress.upto is not None


def relearn(conn: Writing) -> bool:
    """Do one step of learning the whole log again; False when there is nothing more to do.

    First what was learnt before is erased, then the log is read from its first
    operation on. Killed between two steps, it goes on where it was. Until it is done,
    facts are found as facts without statements are.
    """
    progress = learnt.progress(conn)
    if progress is None or progress.version != STATEMENTS_VERSION or progress.upto is None:
        if not stale(conn):
            return False
        learnt.note(conn, learnt.ExtractionProgress(STATEMENTS_VERSION, -1))
        return True
    if progress.upto < 0:
        if not store.unlearn(conn, UNLEARN_ROWS):
            learnt.note(conn, learnt.ExtractionProgress(STATEMENTS_VERSION, 0))
        return True
    may_end = _may_end(conn)
    steps = learnt.operations(conn, progress.upto, RELEARN_OPERATIONS)
    for operation in steps:
        _learn(conn, operation, may_end)
    upto = steps[-1].operation_key if steps else None
    learnt.note(conn, learnt.ExtractionProgress(STATEMENTS_VERSION, upto))
    return bool(steps)
