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

from bisect import bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, product
from operator import attrgetter
from typing import NamedTuple

from memd.base import log
from memd.base.errors import MemdError
from memd.domain.caller import Caller
from memd.domain.enums import OperationType, OrgFactCategory, SeniorityLevel
from memd.domain.org.graph import STATEMENTS_VERSION, ExtractedStatement, fold_name
from memd.domain.org.org import OrgFactAuthor
from memd.domain.settings.org import OrgRules
from memd.org.access import check_write_access
from memd.store.file.connect import Reading, Writing
from memd.store.file.database import Database
from memd.store.org import extraction, org
from memd.store.org import statements as store
from memd.store.org.extraction import ExtractionProgress
from memd.store.org.org import Operation
from memd.store.org.statements import BelievedClaim, Claim, StatementGroup

RELEARN_OPERATIONS, RELEARN_CLAIMS = 50, 1_000
"""After one of these a step of learning the log again ends: other writes wait about 50 ms."""
UNLEARN_ROWS = 500
"""Rows that a step erases before the log is learnt again."""
_LEARNER = Caller(client="memd", method="relearn")


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


def _learn(conn: Writing, operation: Operation, may_end: MayEnd) -> int:
    """Compute the beliefs of all groups that the operation's old or new claims belong to.

    Returns the number of claims in these groups.
    """
    new_claims = _extract_claims(conn, operation)
    old_keys = org.standing_operations(conn, operation.fact_id, operation.version)
    old_claims = [claim for key in old_keys for claim in store.claims_of(conn, key)]
    groups = dict.fromkeys(map(group_of, (*old_claims, *new_claims)))
    new_beliefs: list[store.BelievedClaim] = []
    count = 0
    for group in groups:
        claims = store.list_claims(conn, group, operation.operation_key)
        claims += [claim for claim in new_claims if group_of(claim) == group]
        keys = sorted({claim.operation_key for claim in claims})
        successions = org.list_successions(conn, keys, operation.operation_key)
        beliefs = resolve_claims(claims, may_end, successions)
        new_beliefs += _close_outdated(conn, group, beliefs, operation.at_us)
        count += len(claims)
    store.believe(conn, new_beliefs, operation.operation_id, operation.at_us)
    return count


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
    default_rules = OrgRules()

    def may_end(newer: Claim, older: Claim) -> bool:
        if older.is_human and not newer.is_human:
            return False
        count = bisect_right(times, newer.at_us)
        in_force = logged[count - 1][1] if count else default_rules
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
    upto, count = None, 0
    for operation in org.list_operations(conn, progress.upto, RELEARN_OPERATIONS):
        count += _learn(conn, operation, may_end)
        upto = operation.operation_key
        if count >= RELEARN_CLAIMS:
            break
    extraction.set_progress(conn, ExtractionProgress(STATEMENTS_VERSION, upto))
    return upto is not None


ONE_A_SUBJECT = frozenset(("standardises_on", "is", "part_of", "located_in", "reports_to"))
"""Relations of which a subject has one object at a time."""
ONE_AN_OBJECT = frozenset(("owns", "leads"))
"""Relations of which an object has one subject at a time."""

_EVER, _NEVER = -(1 << 62), 1 << 62  # beginning and end of a period without bounds

Successions = Mapping[int, tuple[int, int]]
"""When the next version of its fact begins, and its key, by the key of an operation."""
MayEnd = Callable[[Claim, Claim], bool]
"""Returns whether the author of the first claim may end the second, judged by its _Author."""


def group_of(claim: Claim) -> StatementGroup:
    """Return the group of statements that *claim* could contradict."""
    if claim.relation in ONE_A_SUBJECT:
        return StatementGroup(claim.relation, claim.subject_key, None)
    if claim.relation in ONE_AN_OBJECT:
        return StatementGroup(claim.relation, None, claim.object_key)
    return StatementGroup(claim.relation, claim.subject_key, claim.object_key)


def resolve_claims(
    claims: Sequence[Claim], may_end: MayEnd, successions: Successions
) -> list[BelievedClaim]:
    """Return the periods in which *claims* of one group, the oldest first, hold.

    A claim may hold in several periods or in none. Without a stated beginning it holds since ever,
    or since the end of an older claim that it contradicts. It neither holds nor ends others from
    the time on when the next version of its fact begins.

    n claims without stated times take n log n steps. Others take more if many hold at a time.
    """
    pools: dict[_PoolKey, _Pool] = {}
    authors: dict[_Author, Claim] = {}  # with a claim of each
    for _, claims_of_text in groupby(enumerate(claims), lambda item: item[1].operation_key):
        new: list[tuple[int, Claim, int]] = []  # added last: they do not contradict each other
        for index, claim in claims_of_text:
            ended = [author for author, older in authors.items() if may_end(claim, older)]
            stop, _ = successions.get(claim.operation_key, (_NEVER, None))
            new.append((index, claim, _override(claim, pools, ended, stop)))
        for index, claim, start in new:
            author = (claim.category, claim.is_human)
            authors.setdefault(author, claim)
            stop, by = successions.get(claim.operation_key, (_NEVER, None))
            if claim.claimed_to_us is not None and claim.claimed_to_us <= stop:
                stop, by = claim.claimed_to_us, None
            if start < stop:
                since_ever = claim.claimed_from_us is None
                key = _PoolKey.of(claim, author, negated=claim.negated, since_ever=since_ever)
                pools.setdefault(key, _Pool()).add(_Span(start, stop, _ends(claim), by), [index])
    items = [item for pool in pools.values() for item in pool.list_claims()]
    return [
        BelievedClaim(claims[index], _bound(span.start), _bound(span.stop), span.ended_by)
        for index, span in sorted(items, key=lambda item: (item[0], item[1].start))
    ]


def _override(
    newer: Claim, pools: Mapping[_PoolKey, _Pool], ended: Iterable[_Author], last: int
) -> int:
    """End what *newer*, until *last*, contradicts or bounds of the authors *ended*.

    Returns when it begins.
    """
    start, stop, ends = newer.claimed_from_us, newer.claimed_to_us, _ends(newer)
    until = last if stop is None else min(stop, last)
    since = start if start is not None else _EVER if until <= newer.at_us else newer.at_us
    begin = _EVER if start is None else start
    for author, negated, since_ever in product(ended, (0, 1), (False, True)):
        pool = pools.get(_PoolKey.of(newer, author, negated=negated, since_ever=since_ever))
        if pool is None:
            continue
        if not (newer.negated and negated):
            # "Flask is not the standard" does not contradict "Litestar is the standard".
            of_others = not (newer.negated or negated)
            pool.end(ends, since, until, newer.operation_key, of_others=of_others)
            if start is None:
                begin = max(begin, pool.last_stop(ends, since, of_others=of_others))
        if newer.negated == negated:
            # The same again: "until March" ends it then, "since March" bounds an open beginning.
            if start is None and stop is not None:
                pool.end(ends, stop, last, newer.operation_key)
            elif start is not None and stop is None and since_ever:
                pool.end(ends, _EVER, start, newer.operation_key)
    return begin


_Author = tuple[str, int]
"""The category of a fact, and whether its author is human; they decide who may end a claim."""
_Ends = tuple[int, int]
"""The keys of a statement's subject and object."""


class _PoolKey(NamedTuple):
    """What the claims of a pool have in common; *ends* only if they are negated."""

    purpose: str
    author: _Author
    ends: _Ends | None
    since_ever: bool  # no beginning is stated

    @classmethod
    def of(cls, claim: Claim, author: _Author, *, negated: int, since_ever: bool) -> _PoolKey:
        ends = _ends(claim) if negated else None
        return cls(fold_name(claim.qualifier or ""), author, ends, since_ever)


class _Span(NamedTuple):
    """A period in which a statement holds, to *stop* exclusive, and the operation that ended it."""

    start: int
    stop: int
    ends: _Ends
    ended_by: int | None = None


class _Pool:
    """The periods in which claims of a group hold. Claims with the same period share a span."""

    def __init__(self) -> None:
        self._spans: list[_Span] = []  # by stop
        self._claims: dict[_Span, list[int]] = {}

    def add(self, span: _Span, claims: list[int]) -> None:
        if span in self._claims:
            self._claims[span] += claims
        else:
            self._claims[span] = claims
            insort(self._spans, span, key=_stop_of)

    def list_claims(self) -> Iterator[tuple[int, _Span]]:
        """Yield each claim with each of its spans."""
        return ((claim, span) for span in self._spans for claim in self._claims[span])

    def end(self, ends: _Ends, start: int, stop: int, by: int, *, of_others: bool = False) -> None:
        """Let the statement about *ends*, or all others, not hold from *start* to *stop*."""
        if stop <= start:
            return
        first = bisect_right(self._spans, start, key=_stop_of)
        later = self._spans[first:]
        cut = [s for s in later if s.start < stop and (s.ends != ends) is of_others]
        if not cut:
            return
        cut_spans = frozenset(cut)
        self._spans[first:] = [span for span in later if span not in cut_spans]
        for span in cut:
            claims = self._claims.pop(span)
            if span.start < start:
                self.add(span._replace(stop=start, ended_by=by), claims)
            if stop < span.stop:
                self.add(span._replace(start=stop), list(claims))

    def last_stop(self, ends: _Ends, moment: int, *, of_others: bool) -> int:
        """Return when the statement about *ends*, or any other, held last before *moment*."""
        count = bisect_right(self._spans, moment, key=_stop_of)
        spans = (self._spans[index] for index in range(count - 1, -1, -1))
        return next((s.stop for s in spans if (s.ends != ends) is of_others), _EVER)


_stop_of = attrgetter("stop")


def _ends(claim: Claim) -> _Ends:
    return claim.subject_key, claim.object_key


def _bound(moment: int) -> int | None:
    return None if moment in {_EVER, _NEVER} else moment
