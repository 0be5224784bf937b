"""What is left of what texts say when they contradict each other. Pure.

Later texts win, from when they hold: "Litestar is the standard" ends "Flask is the
standard", it does not undo it. So believing is folding: each claim takes from
older ones the time that it claims for itself, unless who said it may not write what
the older one stands in (an agent's convention ends no human's policy).

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

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from memd.domain.graph import folded
from memd.store.org.statements import Claim, Held, StatementGroup

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
