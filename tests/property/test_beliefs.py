"""What resolve_claims returns is what its definition says, claim by claim."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from support.gate import seeds

from memd.domain.org.graph import fold_name
from memd.org.temporal import MayEnd, Successions, resolve_claims
from memd.store.org.statements import BelievedClaim, Claim

EVER, NEVER = -1_000, 1_000
Period = tuple[int, int, int | None]
"""Beginning, end (exclusive), and the operation that ended it."""


def beliefs_of(
    claims: Sequence[Claim], may_end: MayEnd, successions: Successions
) -> list[BelievedClaim]:
    """Compare each claim with each older one, which takes n * n steps."""
    periods: list[list[Period]] = []
    for index, newer in enumerate(claims):
        start = EVER if newer.claimed_from_us is None else newer.claimed_from_us
        last, by = successions.get(newer.operation_key, (NEVER, None))
        stop = NEVER if newer.claimed_to_us is None else newer.claimed_to_us
        for older, remaining in zip(claims[:index], periods, strict=True):
            overridden = overridden_by(newer, older, last)
            if overridden is None or overridden[1] <= overridden[0] or not may_end(newer, older):
                continue
            remaining[:] = without(remaining, overridden, newer.operation_key)
            if newer.claimed_from_us is None and contradict(newer, older):
                start = max([start, *(end for _, end, _ in remaining if end <= overridden[0])])
        period = (start, stop, None) if stop <= last else (start, last, by)
        periods.append([period] if start < period[1] else [])
    return [
        BelievedClaim(
            claim, None if start == EVER else start, None if stop == NEVER else stop, ended_by
        )
        for claim, remaining in zip(claims, periods, strict=True)
        for start, stop, ended_by in remaining
    ]


def overridden_by(newer: Claim, older: Claim, last: int) -> tuple[int, int] | None:
    """Return the period that *newer*, which says nothing from *last* on, takes from *older*."""
    if newer.operation_key == older.operation_key or not comparable(newer, older):
        return None
    start, stop = newer.claimed_from_us, newer.claimed_to_us
    if contradict(newer, older):
        until = last if stop is None else min(last, stop)
        since = start if start is not None else EVER if until <= newer.at_us else newer.at_us
        return since, until
    if start is None and stop is not None:
        return stop, last
    if start is not None and stop is None and older.claimed_from_us is None:
        return EVER, start
    return None


def same(claim: Claim, other: Claim) -> bool:
    return (claim.subject_key, claim.object_key) == (other.subject_key, other.object_key)


def comparable(claim: Claim, other: Claim) -> bool:
    if fold_name(claim.qualifier or "") != fold_name(other.qualifier or ""):
        return False
    return same(claim, other) or not (claim.negated or other.negated)


def contradict(claim: Claim, other: Claim) -> bool:
    return not same(claim, other) or claim.negated != other.negated


def without(periods: list[Period], overridden: tuple[int, int], by: int) -> list[Period]:
    remaining: list[Period] = []
    for start, stop, ended_by in periods:
        if stop <= overridden[0] or overridden[1] <= start:
            remaining.append((start, stop, ended_by))
            continue
        if start < overridden[0]:
            remaining.append((start, overridden[0], by))
        if overridden[1] < stop:
            remaining.append((overridden[1], stop, ended_by))
    return remaining


def drawn_claims(chance: random.Random) -> list[Claim]:
    """Return some claims of a group, as ``statements.list_claims`` orders them."""
    claims: list[Claim] = []
    plain = chance.random()
    for operation in range(1, chance.randint(2, 14)):
        human, category = chance.randint(0, 1), chance.choice(("adr", "core_policy"))
        for place in range(chance.choice((1, 1, 1, 2, 3))):
            since, until = sorted(chance.sample(range(1, 40), 2))
            claims.append(
                Claim(
                    operation_key=operation,
                    subject_key=1,
                    relation="is",
                    object_key=chance.randint(2, 4),
                    negated=int(chance.random() < 0.2),
                    qualifier=chance.choice((None, None, None, "admin", "the Admin")),
                    claimed_from_us=None if chance.random() < plain else since,
                    claimed_to_us=None if chance.random() < plain else until,
                    span_from=place,
                    span_to=place + 1,
                    category=category,
                    is_human=human,
                    seniority=None,
                    at_us=chance.choice((2, 3)) * operation,
                )
            )
    return claims


def may_end(newer: Claim, older: Claim) -> bool:
    """A rule of the same form as the settings': by category, author and time."""
    if older.is_human and not newer.is_human:
        return False
    return older.category == "adr" or newer.at_us % 2 == 0


@pytest.mark.parametrize("seed", seeds(gate=2, long=40))
def test_the_periods_of_claims_are_those_of_their_definition(seed: int) -> None:
    chance = random.Random(seed)
    ended = 0
    for _ in range(500):
        claims = drawn_claims(chance)
        successions = {
            claim.operation_key: (chance.randrange(1, 40), claim.operation_key + 1)
            for claim in claims
            if chance.random() < 0.2
        }
        beliefs = beliefs_of(claims, may_end, successions)
        assert resolve_claims(claims, may_end, successions) == beliefs
        ended += sum(belief.ended_by is not None for belief in beliefs)
    assert ended > 500


def test_a_claim_is_not_compared_with_each_older_one() -> None:
    claim = drawn_claims(random.Random(1))[0]
    claims = [claim._replace(operation_key=n, object_key=n, at_us=n) for n in range(1, 1_001)]
    rights: list[tuple[Claim, Claim]] = []

    def count(newer: Claim, older: Claim) -> bool:
        rights.append((newer, older))
        return may_end(newer, older)

    assert len(resolve_claims(claims, count, {})) >= len(claims)
    assert len(rights) < 5 * len(claims)
