"""What holds when: statements learnt from each operation, in the operation's own transaction.

A fact's text is read into statements. What contradicts an older text ends it; what
is retracted or said anew takes nothing from others any more. Both are one thing: for
each group of statements that could contradict each other, what the standing texts
leave is worked out anew (``claims.py``), rows that say otherwise are closed and new
ones opened, known since the operation. Nothing is erased, so every earlier belief can
be asked for.

What is learnt depends on the log and the rules logged beside it only, never on when
the learning happens: learning it all again gives the same rows, ids and all.

When texts contradict each other the later ones win, from when they hold: "Litestar is the
standard" ends "Flask is the standard", it does not undo it. So believing is folding: each
claim takes from older ones the time that it claims for itself, unless who said it may not
write what the older one stands in (an agent's convention ends no human's policy).

Which claims contradict each other:

| | |
|---|---|
| one for a subject and purpose | standardises_on, is, part_of, located_in, reports_to |
| one for an object and purpose | owns, leads |
| every relation | the same with "not" |
| every relation, the same again | "until March" and "since March" where no time was |

Claims of one text do not contradict each other: whoever wrote it meant all of it.
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
from memd.domain.org.graph import STATEMENTS_VERSION, ExtractedStatement, folded
from memd.domain.org.org import OrgFactAuthor
from memd.domain.settings.org import OrgMemoryConfig, OrgRules
from memd.org.access import check_write_access
from memd.store.file.connect import Reading, Writing
from memd.store.file.database import Database
from memd.store.org import learnt, rules
from memd.store.org import statements as store
from memd.store.org.org import Operation
from memd.store.org.statements import Claim, Held, StatementGroup

RELEARN_OPERATIONS = 50  # of one step: a write waits some 50 ms at most
UNLEARN_ROWS = 500
_LEARNER = Caller(client="memd", method="relearn")


async def note_rules(db: Database, clock: Clock, config: OrgMemoryConfig) -> None:
    """Log the rules in force when they are other ones than before; before anybody writes."""
    rules_now = OrgRules(write=config.write_access, read=config.read_access)
    text = json.dumps(rules_now.model_dump(mode="json"), sort_keys=True)
    try:
        if not db.read_only and await db.read(rules.latest) != text:
            now_us = clock.now_us()
            await db.write(_LEARNER, lambda conn: rules.log(conn, text, now_us))
    except MemdError as error:
        log.warning("the rules in force are not noted", kind=error.kind)


async def catch_up(db: Database) -> None:
    """Learn the log again where that is due, once, in small steps beside everything else."""
    try:
        if not db.read_only and await db.read(stale):
            while await db.write(_LEARNER, relearn):
                pass
    except MemdError as error:
        log.warning("the log of facts is not learnt from", kind=error.kind)


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
        beliefs = believed([*store.claims(conn, one, operation.operation_key), *mine], may_end)
        opened += _settle(conn, one, beliefs, operation.at_us)
    store.believe(conn, opened, operation.operation_id, operation.at_us)


def _settle(
    conn: Writing, one: StatementGroup, beliefs: Sequence[store.Held], at_us: int
) -> list[store.Held]:
    """Close the rows of a group that are not among *beliefs*; returns what has no row yet."""
    missing = dict.fromkeys(beliefs)
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

    claims: dict[Claim, None] = {}
    for one in statements(operation.content, operation.at_us):
        start, stop = _when(one, operation)
        claims[
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
    return sorted(claims, key=lambda one: (one.span_from, one.span_to, one[1], one[3]))


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


ONE_A_SUBJECT = frozenset(("standardises_on", "is", "part_of", "located_in", "reports_to"))
ONE_AN_OBJECT = frozenset(("owns", "leads"))

_EVER, _NEVER = -(1 << 62), 1 << 62

MayEnd = Callable[[Claim, Claim], bool]
"""Whether who said the first claim may end what the second says."""


class _Piece(NamedTuple):
    start: int
    stop: int
    ended_by: int | None = None


def group(claim: Claim) -> StatementGroup:
    """Return the statements among which those are that *claim* could contradict."""
    if claim.relation in ONE_A_SUBJECT:
        return StatementGroup(claim.relation, claim.subject_key, None)
    if claim.relation in ONE_AN_OBJECT:
        return StatementGroup(claim.relation, None, claim.object_key)
    return StatementGroup(claim.relation, claim.subject_key, claim.object_key)


def believed(claims: Sequence[Claim], may_end: MayEnd) -> list[Held]:
    """Return what holds of *claims*, the oldest first, and when; a claim may hold twice or never.

    A claim without a beginning holds for as long as anybody can ask, but not
    while an older one that it contradicts held: then from where that ends.
    """
    pieces: list[list[_Piece]] = []
    for place, newer in enumerate(claims):
        start = _EVER if newer.claimed_from_us is None else newer.claimed_from_us
        stop = _NEVER if newer.claimed_to_us is None else newer.claimed_to_us
        for older, left in zip(claims[:place], pieces, strict=True):
            taken = _taken(newer, older)
            if taken is None or not may_end(newer, older):
                continue
            left[:] = _without(left, taken)
            if newer.claimed_from_us is None and _differ(newer, older):
                start = max([start, *(one.stop for one in left if one.stop <= taken.start)])
        pieces.append([_Piece(start, stop)] if start < stop else [])
    return [
        Held(claim, _open(one.start), _open(one.stop), one.ended_by)
        for claim, left in zip(claims, pieces, strict=True)
        for one in left
    ]


def _taken(newer: Claim, older: Claim) -> _Piece | None:
    """Return the time that *newer* takes from *older*, None when they agree."""
    if newer.operation_key == older.operation_key or not _comparable(newer, older):
        return None
    start, stop = newer.claimed_from_us, newer.claimed_to_us
    if _differ(newer, older):
        since = start
        if since is None:
            past = stop is not None and stop <= newer.at_us
            since = _EVER if past else newer.at_us
        return _Piece(since, _NEVER if stop is None else stop, newer.operation_key)
    if start is None and stop is not None:
        return _Piece(stop, _NEVER, newer.operation_key)
    if start is not None and stop is None and older.claimed_from_us is None:
        return _Piece(_EVER, start, newer.operation_key)
    return None


def _comparable(one: Claim, other: Claim) -> bool:
    """Return whether the two speak of the same, for the same purpose."""
    if folded(one.qualifier or "") != folded(other.qualifier or ""):
        return False
    same = (one.subject_key, one.object_key) == (other.subject_key, other.object_key)
    # "Not Flask" says nothing about Litestar.
    return same or not (one.negated or other.negated)


def _differ(one: Claim, other: Claim) -> bool:
    """Return whether comparable claims contradict each other rather than say the same."""
    same = (one.subject_key, one.object_key) == (other.subject_key, other.object_key)
    return not same or one.negated != other.negated


def _without(pieces: Iterable[_Piece], taken: _Piece) -> list[_Piece]:
    left: list[_Piece] = []
    for one in pieces:
        if one.stop <= taken.start or taken.stop <= one.start:
            left.append(one)
            continue
        if one.start < taken.start:
            left.append(_Piece(one.start, taken.start, taken.ended_by))
        if taken.stop < one.stop:
            left.append(_Piece(taken.stop, one.stop, one.ended_by))
    return left


def _open(moment: int) -> int | None:
    return None if moment in {_EVER, _NEVER} else moment
