"""An independent account of what is believed: the log replayed in plain Python, and logs to replay.

It knows nothing of rows that are opened and closed. For every moment it starts from
nothing: which facts stood then, what their latest texts claim, and, claim by
claim, what the later ones leave.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

DAY = 86_400_000_000
ONE_A_SUBJECT = {"standardises_on", "is", "part_of", "located_in", "reports_to"}
ONE_AN_OBJECT = {"owns", "leads"}


@dataclass(frozen=True)
class Triple:
    """What a text claims, as the writer of a test means it."""

    subject: str
    relation: str
    object: str
    negated: bool = False
    start: int | None = None
    stop: int | None = None


@dataclass(frozen=True)
class Entry:
    """One operation: None as claims is a retract. An agent ends nothing that a human said."""

    fact: str
    at: int
    claims: tuple[Triple, ...] | None
    category: str = "convention"
    is_human: bool = False


def believed_at(log: list[Entry], valid: int, known: int) -> set[tuple[str, str, str, bool, str]]:
    """Return what holds at *valid* as known at *known*: (subject, relation, object, not, fact)."""
    latest: dict[str, tuple[int, Entry]] = {}
    for place, entry in enumerate(log):
        if entry.at <= known:
            latest[entry.fact] = (place, entry)
    standing = [
        (place, entry, claim)
        for place, entry in sorted(latest.values(), key=lambda one: one[0])
        for claim in entry.claims or ()
    ]
    return {
        (claim.subject, claim.relation, claim.object, claim.negated, entry.fact)
        for place, entry, claim in standing
        if _holds(place, entry, claim, standing, valid)
    }


def _holds(
    place: int, entry: Entry, claim: Triple, standing: list[tuple[int, Entry, Triple]], valid: int
) -> bool:
    """Ask one claim about one moment: named times, older ones' ends, and later ones' words."""
    if not _named(claim, valid):
        return False
    for other_place, other, statement in standing:
        if other_place == place or not _fights(claim, statement):
            continue
        same = _what(claim) == _what(statement)
        if other_place > place:
            if _may(other, entry) and _taken(claim, statement, other.at, valid, same=same):
                return False
        elif not same and claim.start is None and _may(entry, other):
            # Without a named beginning, not before what it follows was over.
            since = _since(claim, entry.at)
            if (
                since is not None
                and valid < since
                and _later_end((other_place, other, statement), standing, place, valid, since)
            ):
                return False
    return True


def _what(claim: Triple) -> tuple[str, str, bool]:
    return claim.subject, claim.object, claim.negated


def _named(claim: Triple, valid: int) -> bool:
    """Return whether the times that the claim names leave room for *valid*."""
    started = claim.start is None or valid >= claim.start
    return started and (claim.stop is None or valid < claim.stop)


def _later_end(
    older: tuple[int, Entry, Triple],
    standing: list[tuple[int, Entry, Triple]],
    newer: int,
    valid: int,
    since: int,
) -> bool:
    """Return whether *older* held, by what was said up to *newer*, somewhere in [valid, since)."""
    place, entry, claim = older
    edges = {valid, since - 1}
    for _, other, statement in standing:
        for edge in (statement.start, statement.stop, other.at):
            if edge is not None:
                edges |= {edge - 1, edge}
    earlier = [one for one in standing if one[0] <= newer]
    return any(
        _holds(place, entry, claim, earlier, moment) for moment in edges if valid <= moment < since
    )


def _since(claim: Triple, at: int) -> int | None:
    if claim.start is not None:
        return claim.start
    return None if claim.stop is not None and claim.stop <= at else at


def _taken(claim: Triple, later: Triple, at: int, valid: int, *, same: bool) -> bool:
    if not same:
        since = _since(later, at)
        return (since is None or valid >= since) and (later.stop is None or valid < later.stop)
    if later.start is None and later.stop is not None:
        return valid >= later.stop
    if later.start is None or later.stop is not None or claim.start is not None:
        return False
    return valid < later.start


def _fights(one: Triple, other: Triple) -> bool:
    if one.relation != other.relation:
        return False
    if (one.subject, one.object) == (other.subject, other.object):
        return True
    if one.negated or other.negated:
        return False
    if one.relation in ONE_A_SUBJECT:
        return one.subject == other.subject
    return one.relation in ONE_AN_OBJECT and one.object == other.object


def _may(newer: Entry, older: Entry) -> bool:
    return newer.is_human or not older.is_human


def a_log(chance: random.Random, length: int, *, steps: tuple[int, ...]) -> list[Entry]:
    """Return *length* operations on a few facts about a few things; *steps* between their times."""
    log: list[Entry] = []
    at = 20_000 * DAY
    for _ in range(length):
        at += chance.choice(steps)
        fact = f"fact{chance.randrange(6)}"
        stands = (
            any(one.fact == fact for one in log)
            and [one for one in log if one.fact == fact][-1].claims is not None
        )
        human = chance.random() < 0.4
        category = "core_policy" if human and chance.random() < 0.4 else "convention"
        if stands and chance.random() < 0.2:
            before = [one for one in log if one.fact == fact][-1]
            log.append(Entry(fact, at, None, before.category, is_human=True))
            continue
        claims = tuple(dict.fromkeys(_claim(chance) for _ in range(chance.choice((1, 1, 2)))))
        log.append(Entry(fact, at, claims, category, is_human=human))
    return log


def _claim(chance: random.Random) -> Triple:
    relation = chance.choice(("uses", "standardises_on", "owns", "located_in"))
    one, other = (
        (chance.choice(("Ann", "Bob", "Carol")), chance.choice(("Billing", "Ledger")))
        if relation == "owns"
        else (chance.choice(("Billing", "Ledger")), chance.choice(("Oslo", "Rome", "Kiel")))
    )
    days = sorted(chance.sample(range(19_900, 20_100), 2))
    start = days[0] * DAY if chance.random() < 0.3 else None
    stop = days[1] * DAY if chance.random() < 0.3 else None
    negated = relation == "uses" and chance.random() < 0.3
    return Triple(one, relation, other, negated, start, stop)


def sentence(claim: Triple) -> str:
    """Return a sentence that says *claim*."""
    from memd.base.clock import from_us

    verb = {
        "uses": "does not use" if claim.negated else "uses",
        "standardises_on": "standardises on",
        "owns": "owns",
        "located_in": "is located in",
    }[claim.relation]
    words = [claim.subject, verb, claim.object]
    if claim.start is not None and claim.stop is not None:
        words += [
            "from",
            f"{from_us(claim.start):%Y-%m-%d}",
            "to",
            f"{from_us(claim.stop):%Y-%m-%d}",
        ]
    elif claim.start is not None:
        words += ["since", f"{from_us(claim.start):%Y-%m-%d}"]
    elif claim.stop is not None:
        words += ["until", f"{from_us(claim.stop):%Y-%m-%d}"]
    return " ".join(words) + "."
