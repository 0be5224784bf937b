"""Learn statements from each operation, in its own transaction, and resolve contradictions.

A fact's text is parsed into statements. A statement that contradicts an older one ends it; after
a retraction or a new version it no longer does. Both are one procedure: for each group of
statements that could contradict each other, the beliefs that follow from all current texts are
computed anew (:func:`resolve_claims`), other rows are closed and new ones opened, known since
the operation. Nothing is erased, so every earlier belief can be queried.

The result depends only on the log of operations and the log of access rules, never on the time
of learning: learning everything again gives the same rows with the same ids.

Of contradicting texts the later one wins from when it holds: "Litestar is the standard" ends
"Flask is the standard" but does not undo it. Beliefs are a fold over the claims: each takes its
own period from older ones, unless its author may not write the category of the older one (an
agent's convention does not end a human's policy).

Which claims contradict each other:

| | |
|---|---|
| one for a subject and purpose | standardises_on, is, part_of, located_in, reports_to |
| one for an object and purpose | owns, leads |
| every relation | the same with "not" |
| every relation, the same again | "until March" and "since March" where no time was |

Claims of one text do not contradict each other: the author meant all of them.
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

RELEARN_OPERATIONS = 50  # a step, so that another write waits some 50 ms at most
UNLEARN_ROWS = 500
_LEARNER = Caller(client="memd", method="relearn")


async def note_rules(db: Database, clock: Clock, config: OrgMemoryConfig) -> None:
    """Log the access rules if they have changed; call it before any write."""
    rules_now = OrgRules(write=config.write_access, read=config.read_access)
    text = json.dumps(rules_now.model_dump(mode="json"), sort_keys=True)
    try:
        if not db.read_only and await db.read(org.current_rules) != text:
            now_us = clock.now_us()
            await db.write(_LEARNER, lambda conn: org.record_rules(conn, text, now_us))
    except MemdError as error:
        log.warning("the rules in force are not noted", kind=error.kind)


async def catch_up(db: Database) -> None:
    """Learn the whole log again if that is due, in small steps between other writes."""
    try:
        if not db.read_only and await db.read(is_stale):
            while await db.write(_LEARNER, relearn):
                pass
    except MemdError as error:
        log.warning("the log of facts is not learnt from", kind=error.kind)


def learn(conn: Writing, operation: Operation) -> None:
    """Learn from *operation*, which is in the log already, in its own transaction.

    While everything is being learnt again, :func:`relearn` does it in its turn.
    """
    progress = extraction.get_progress(conn)
    if progress is None and not org.has_operations(conn, before=operation.operation_key):
        progress = ExtractionProgress(STATEMENTS_VERSION, None)
        extraction.set_progress(conn, progress)
    if progress != ExtractionProgress(STATEMENTS_VERSION, None):
        return
    _learn(conn, operation, _may_end(conn))


def _learn(conn: Writing, operation: Operation, may_end: MayEnd) -> None:
    new = _claims(conn, operation)
    before = org.previous_operation(conn, operation.fact_id, operation.version)
    old = [] if before is None else store.claims_of(conn, before)
    groups = dict.fromkeys(map(group_of, (*old, *new)))
    opened: list[store.BelievedClaim] = []
    for group in groups:
        mine = [claim for claim in new if group_of(claim) == group]
        beliefs = resolve_claims(
            [*store.list_claims(conn, group, operation.operation_key), *mine], may_end
        )
        opened += _update_rows(conn, group, beliefs, operation.at_us)
    store.believe(conn, opened, operation.operation_id, operation.at_us)


def _update_rows(
    conn: Writing, group: StatementGroup, beliefs: Sequence[store.BelievedClaim], at_us: int
) -> list[store.BelievedClaim]:
    """Close the rows of a group that are not among *beliefs*; return those without a row."""
    missing = dict.fromkeys(beliefs)
    closing: list[int] = []
    for row in store.list_open(conn, group):
        if row.believed in missing:
            del missing[row.believed]
        else:
            closing.append(row.statement_key)
    store.close(conn, closing, at_us)
    return list(missing)


def _claims(conn: Writing, operation: Operation) -> list[Claim]:
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
    """Return the valid time that the text states, else the one given for the whole fact."""
    start, stop = statement.valid_from_us, statement.valid_to_us
    if start is None and stop is None:
        return operation.valid_from_us, operation.valid_to_us
    if start is not None and stop is not None and start >= stop:
        return None, None
    return start, stop


def _may_end(conn: Reading) -> MayEnd:
    """Return the rule whether a claim's author could write the category of an older claim, then.

    Only humans end a human's claims, as only humans change a human's fact.
    """
    logged = [(at_us, OrgRules.model_validate_json(text)) for at_us, text in org.list_rules(conn)]
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


def is_stale(conn: Reading) -> bool:
    """Return whether statements come from an older extractor, or not from the whole log."""
    progress = extraction.get_progress(conn)
    if progress is None:
        return org.has_operations(conn)
    return progress.version != STATEMENTS_VERSION or progress.upto is not None


def relearn(conn: Writing) -> bool:
    """Do one step of learning the whole log again; False when it is done.

    First all statements are erased, then the log is read from its first operation on. After a
    kill it continues where it was. Until it is done, facts are treated as having no statements.
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
    steps = org.list_operations(conn, progress.upto, RELEARN_OPERATIONS)
    for operation in steps:
        _learn(conn, operation, may_end)
    upto = steps[-1].operation_key if steps else None
    extraction.set_progress(conn, ExtractionProgress(STATEMENTS_VERSION, upto))
    return bool(steps)


ONE_A_SUBJECT = frozenset(("standardises_on", "is", "part_of", "located_in", "reports_to"))
ONE_AN_OBJECT = frozenset(("owns", "leads"))

_EVER, _NEVER = -(1 << 62), 1 << 62

MayEnd = Callable[[Claim, Claim], bool]
"""Whether the author of the first claim may end the second claim."""


class _Period(NamedTuple):
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
    """Return when each of *claims*, the oldest first, holds; one may hold twice or never.

    A claim without a beginning holds since ever, or since the end of an older one that it
    contradicts.
    """
    periods: list[list[_Period]] = []
    for place, newer in enumerate(claims):
        start = _EVER if newer.claimed_from_us is None else newer.claimed_from_us
        stop = _NEVER if newer.claimed_to_us is None else newer.claimed_to_us
        for older, remaining in zip(claims[:place], periods, strict=True):
            overridden = _overridden(newer, older)
            if overridden is None or not may_end(newer, older):
                continue
            remaining[:] = _subtract(remaining, overridden)
            if newer.claimed_from_us is None and _differ(newer, older):
                ends = (period.stop for period in remaining if period.stop <= overridden.start)
                start = max([start, *ends])
        periods.append([_Period(start, stop)] if start < stop else [])
    return [
        BelievedClaim(claim, _bound(period.start), _bound(period.stop), period.ended_by)
        for claim, remaining in zip(claims, periods, strict=True)
        for period in remaining
    ]


def _overridden(newer: Claim, older: Claim) -> _Period | None:
    """Return the period that *newer* takes from *older*, None when they agree."""
    if newer.operation_key == older.operation_key or not _comparable(newer, older):
        return None
    start, stop = newer.claimed_from_us, newer.claimed_to_us
    if _differ(newer, older):
        since = start
        if since is None:
            past = stop is not None and stop <= newer.at_us
            since = _EVER if past else newer.at_us
        return _Period(since, _NEVER if stop is None else stop, newer.operation_key)
    if start is None and stop is not None:
        return _Period(stop, _NEVER, newer.operation_key)
    if start is not None and stop is None and older.claimed_from_us is None:
        return _Period(_EVER, start, newer.operation_key)
    return None


def _comparable(claim: Claim, other: Claim) -> bool:
    """Return whether two claims are about the same, for the same purpose."""
    if fold_name(claim.qualifier or "") != fold_name(other.qualifier or ""):
        return False
    same = (claim.subject_key, claim.object_key) == (other.subject_key, other.object_key)
    # "Not Flask" says nothing about Litestar.
    return same or not (claim.negated or other.negated)


def _differ(claim: Claim, other: Claim) -> bool:
    """Return whether comparable claims contradict each other."""
    same = (claim.subject_key, claim.object_key) == (other.subject_key, other.object_key)
    return not same or claim.negated != other.negated


def _subtract(periods: Iterable[_Period], overridden: _Period) -> list[_Period]:
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
