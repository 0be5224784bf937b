"""Extract statements from each operation on a fact, and resolve contradictions between them.

The text of a fact is parsed into *claims*: statements with the valid time that the text gives. The
*beliefs* are the periods in which each claim holds, given all others. They are computed anew for
each group of claims that could contradict each other (:func:`resolve_claims`), after a publication,
a new version or a retraction. Rows of beliefs that no longer hold are closed and new ones are
opened, known since the operation and in its transaction. No row is erased, so every earlier belief
can be queried.

The result depends only on the log of operations and the log of access rules. Learning the whole log
again gives the same rows with the same ids.

Of two contradicting claims, the later one wins for its own valid time: "Litestar is the standard"
ends "Flask is the standard" but does not undo it. It wins only if its author may write the category
of the older claim: an agent's convention does not end a human's policy.

These claims contradict each other, if they have the same purpose:

| claims | relations |
|---|---|
| two objects of one subject | standardises_on, is, part_of, located_in, reports_to |
| two subjects of one object | owns, leads |
| a statement and its negation | all |
| a statement, and again with "until March" or "since March" | all |

Claims of one text never contradict each other.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from memd.base import log
from memd.base.clock import Clock
from memd.base.errors import MemdError
from memd.domain.caller import Caller
from memd.domain.enums import OperationType, OrgFactCategory, SeniorityLevel
from memd.domain.org.graph import STATEMENTS_VERSION, ExtractedStatement, fold_name
from memd.domain.org.org import OrgFactAuthor
from memd.domain.settings.org import OrgMemoryConfig, OrgRules
from memd.org.access import check_write_access
from memd.store.file.connect import Reading, Writing
from memd.store.file.database import Database
from memd.store.org import extraction, org
from memd.store.org import statements as store
from memd.store.org.extraction import ExtractionProgress
from memd.store.org.org import Operation
from memd.store.org.statements import BelievedClaim, Claim, StatementGroup

RELEARN_OPERATIONS = 50
"""Operations of a step of learning the log again, so that other writes wait about 50 ms at most."""
UNLEARN_ROWS = 500
"""Rows that a step erases before the log is learnt again."""
_LEARNER = Caller(client="memd", method="relearn")


async def note_rules(db: Database, clock: Clock, config: OrgMemoryConfig) -> None:
    """Log the access rules if they have changed. To be called before any write.

    A failure is only logged as a warning.
    """
    rules_now = OrgRules(write=config.write_access, read=config.read_access)
    text = json.dumps(rules_now.model_dump(mode="json"), sort_keys=True)
    try:
        if not db.read_only and await db.read(org.current_rules) != text:
            now_us = clock.now_us()
            await db.write(_LEARNER, lambda conn: org.record_rules(conn, text, now_us))
    except MemdError as error:
        log.warning("the rules in force are not noted", kind=error.kind)


async def catch_up(db: Database) -> None:
    """Learn the whole log again if that is due, in small steps that let other writes through.

    A failure is only logged as a warning.
    """
    try:
        if not db.read_only and await db.read(is_stale):
            while await db.write(_LEARNER, relearn):
                pass
    except MemdError as error:
        log.warning("the log of facts is not learnt from", kind=error.kind)


def learn(conn: Writing, operation: Operation) -> None:
    """Update the statements for *operation*, which this transaction has added to the log.

    Does nothing while the log is being learnt again: :func:`relearn` will reach the operation.
    """
    complete = ExtractionProgress(STATEMENTS_VERSION, None)
    progress = extraction.get_progress(conn)
    if progress is None and not org.has_operations(conn, before=operation.operation_key):
        progress = complete  # the first operation of the log
        extraction.set_progress(conn, progress)
    if progress != complete:
        return
    _learn(conn, operation, _may_end(conn))


def _learn(conn: Writing, operation: Operation, may_end: MayEnd) -> None:
    """Compute the beliefs of all groups that the operation's old or new claims belong to."""
    new_claims = _extract_claims(conn, operation)
    previous = org.previous_operation(conn, operation.fact_id, operation.version)
    old_claims = [] if previous is None else store.claims_of(conn, previous)
    groups = dict.fromkeys(map(group_of, (*old_claims, *new_claims)))
    new_beliefs: list[store.BelievedClaim] = []
    for group in groups:
        claims = store.list_claims(conn, group, operation.operation_key)
        claims += [claim for claim in new_claims if group_of(claim) == group]
        beliefs = resolve_claims(claims, may_end)
        new_beliefs += _close_outdated(conn, group, beliefs, operation.at_us)
    store.believe(conn, new_beliefs, operation.operation_id, operation.at_us)


def _close_outdated(
    conn: Writing, group: StatementGroup, beliefs: Sequence[store.BelievedClaim], at_us: int
) -> list[store.BelievedClaim]:
    """Close the open rows of a group that are not among *beliefs*; return beliefs without a row."""
    missing = dict.fromkeys(beliefs)
    closing: list[int] = []
    for row in store.list_open(conn, group):
        if row.believed in missing:
            del missing[row.believed]
        else:
            closing.append(row.statement_key)
    store.close(conn, closing, at_us)
    return list(missing)


def _extract_claims(conn: Writing, operation: Operation) -> list[Claim]:
    """Return the claims of the text that *operation* publishes, in order; [] for a retraction."""
    if operation.kind is not OperationType.PUBLISH or operation.content is None:
        return []
    from memd.extract.statements import extract_statements

    claims: dict[Claim, None] = {}
    for statement in extract_statements(operation.content, operation.at_us):
        start, stop = _validity(statement, operation)
        claims[
            Claim(
                operation_key=operation.operation_key,
                subject_key=store.ensure_thing(conn, statement.subject),
                relation=statement.relation,
                object_key=store.ensure_thing(conn, statement.object),
                negated=int(statement.negated),
                qualifier=statement.qualifier,
                claimed_from_us=start,
                claimed_to_us=stop,
                span_from=statement.start,
                span_to=statement.end,
                category=operation.category.value,
                is_human=int(operation.author.is_human),
                seniority=operation.author.seniority,
                at_us=operation.at_us,
            )
        ] = None
    return sorted(claims, key=lambda claim: (claim.span_from, claim.span_to, claim[1], claim[3]))


def _validity(statement: ExtractedStatement, operation: Operation) -> tuple[int | None, int | None]:
    """Return the valid time that the text states, or else that of the whole fact.

    A time that ends before it begins is ignored.
    """
    start, stop = statement.valid_from_us, statement.valid_to_us
    if start is None and stop is None:
        return operation.valid_from_us, operation.valid_to_us
    if start is not None and stop is not None and start >= stop:
        return None, None
    return start, stop


def _may_end(conn: Reading) -> MayEnd:
    """Return a function that decides whether the author of one claim may end another.

    The author must have had write access to the older claim's category at the time of the newer
    claim. Only humans end a human's claims, as only humans change a human's fact.
    """
    logged = [(at_us, OrgRules.model_validate_json(text)) for at_us, text in org.list_rules(conn)]
    times = [at_us for at_us, _ in logged]

    def may_end(newer: Claim, older: Claim) -> bool:
        if older.is_human and not newer.is_human:
            return False
        count = bisect_right(times, newer.at_us)
        in_force = logged[count - 1][1] if count else OrgRules()
        author = OrgFactAuthor.model_construct(
            is_human=bool(newer.is_human),
            seniority=SeniorityLevel(newer.seniority) if newer.seniority else None,
        )
        return check_write_access(in_force.write, OrgFactCategory(older.category), author)

    return may_end


# Learning everything again.


def is_stale(conn: Reading) -> bool:
    """Return whether statements are of another extractor version, or not of the whole log."""
    progress = extraction.get_progress(conn)
    if progress is None:
        return org.has_operations(conn)
    return progress.version != STATEMENTS_VERSION or progress.upto is not None


def relearn(conn: Writing) -> bool:
    """Do one step of learning the whole log again; return False when it is done.

    First all statements are erased, then the log is read from its first operation on. After a
    kill it continues after the last step. Until it is done, facts have no statements.
    """
    progress = extraction.get_progress(conn)
    if progress is None or progress.version != STATEMENTS_VERSION or progress.upto is None:
        if not is_stale(conn):
            return False
        extraction.set_progress(conn, ExtractionProgress(STATEMENTS_VERSION, -1))
        return True
    if progress.upto < 0:
        if not store.unlearn(conn, UNLEARN_ROWS):
            extraction.set_progress(conn, ExtractionProgress(STATEMENTS_VERSION, 0))
        return True
    may_end = _may_end(conn)
    operations = org.list_operations(conn, progress.upto, RELEARN_OPERATIONS)
    for operation in operations:
        _learn(conn, operation, may_end)
    upto = operations[-1].operation_key if operations else None
    extraction.set_progress(conn, ExtractionProgress(STATEMENTS_VERSION, upto))
    return bool(operations)


ONE_A_SUBJECT = frozenset(("standardises_on", "is", "part_of", "located_in", "reports_to"))
"""Relations of which a subject has one object at a time."""
ONE_AN_OBJECT = frozenset(("owns", "leads"))
"""Relations of which an object has one subject at a time."""

_EVER, _NEVER = -(1 << 62), 1 << 62  # beginning and end of a period without bounds

MayEnd = Callable[[Claim, Claim], bool]
"""Returns whether the author of the first claim may end the second claim."""


class _Period(NamedTuple):
    """A valid time, to *stop* exclusive, and the key of the operation that ended it."""

    start: int
    stop: int
    ended_by: int | None = None


def group_of(claim: Claim) -> StatementGroup:
    """Return the group of statements that *claim* could contradict."""
    if claim.relation in ONE_A_SUBJECT:
        return StatementGroup(claim.relation, claim.subject_key, None)
    if claim.relation in ONE_AN_OBJECT:
        return StatementGroup(claim.relation, None, claim.object_key)
    return StatementGroup(claim.relation, claim.subject_key, claim.object_key)


def resolve_claims(claims: Sequence[Claim], may_end: MayEnd) -> list[BelievedClaim]:
    """Return the periods in which *claims*, the oldest first, hold.

    A claim may hold in several periods or in none. Without a stated beginning it holds since ever,
    or since the end of an older claim that it contradicts.
    """
    periods: list[list[_Period]] = []  # of each claim, as far as later claims leave them
    for index, newer in enumerate(claims):
        start = _EVER if newer.claimed_from_us is None else newer.claimed_from_us
        stop = _NEVER if newer.claimed_to_us is None else newer.claimed_to_us
        for older, remaining in zip(claims[:index], periods, strict=True):
            overridden = _overridden(newer, older)
            if overridden is None or not may_end(newer, older):
                continue
            remaining[:] = _subtract(remaining, overridden)
            if newer.claimed_from_us is None and _contradict(newer, older):
                ends = (period.stop for period in remaining if period.stop <= overridden.start)
                start = max([start, *ends])
        periods.append([_Period(start, stop)] if start < stop else [])
    return [
        BelievedClaim(claim, _bound(period.start), _bound(period.stop), period.ended_by)
        for claim, remaining in zip(claims, periods, strict=True)
        for period in remaining
    ]


def _overridden(newer: Claim, older: Claim) -> _Period | None:
    """Return the period in which *older* does not hold because of *newer*; None if they agree."""
    if newer.operation_key == older.operation_key or not _comparable(newer, older):
        return None
    start, stop = newer.claimed_from_us, newer.claimed_to_us
    if _contradict(newer, older):
        since = start
        if since is None:
            is_past = stop is not None and stop <= newer.at_us
            since = _EVER if is_past else newer.at_us
        return _Period(since, _NEVER if stop is None else stop, newer.operation_key)
    # The same statement again: "until March" ends it then, "since March" bounds an open beginning.
    if start is None and stop is not None:
        return _Period(stop, _NEVER, newer.operation_key)
    if start is not None and stop is None and older.claimed_from_us is None:
        return _Period(_EVER, start, newer.operation_key)
    return None


def _comparable(claim: Claim, other: Claim) -> bool:
    """Return whether two claims of a group have the same purpose and may contradict each other."""
    if fold_name(claim.qualifier or "") != fold_name(other.qualifier or ""):
        return False
    same = (claim.subject_key, claim.object_key) == (other.subject_key, other.object_key)
    # "Flask is not the standard" neither confirms nor contradicts "Litestar is the standard".
    return same or not (claim.negated or other.negated)


def _contradict(claim: Claim, other: Claim) -> bool:
    """Return whether two comparable claims contradict each other, and are not the same."""
    same = (claim.subject_key, claim.object_key) == (other.subject_key, other.object_key)
    return not same or claim.negated != other.negated


def _subtract(periods: Iterable[_Period], overridden: _Period) -> list[_Period]:
    """Return what remains of *periods* outside of *overridden*, in order."""
    remaining: list[_Period] = []
    for period in periods:
        if period.stop <= overridden.start or overridden.stop <= period.start:
            remaining.append(period)
            continue
        if period.start < overridden.start:
            remaining.append(_Period(period.start, overridden.start, overridden.ended_by))
        if overridden.stop < period.stop:
            remaining.append(_Period(overridden.stop, period.stop, period.ended_by))
    return remaining


def _bound(moment: int) -> int | None:
    return None if moment in {_EVER, _NEVER} else moment
