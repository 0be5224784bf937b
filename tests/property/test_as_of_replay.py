"""What as_of answers is what replaying the log to that moment gives, written independently."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest
from support.clocks import HeldClock
from support.gate import seeds
from support.store import a_house, a_writer

from memd.backends.rooms import Rooms
from memd.base.clock import from_us
from memd.domain.caller import Caller
from memd.domain.enums import OrgFactCategory, SeniorityLevel
from memd.domain.org.graph import STATEMENTS_VERSION as VERSION
from memd.domain.org.history import AsOfQuery
from memd.domain.org.org import OrgFactAuthor, OrgFactWriteRequest
from memd.org import temporal
from memd.store.org import extraction
from memd.store.org.extraction import ExtractionProgress

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
    begin: int | None = None
    """When the version begins; :func:`believed_at` knows of none."""


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


ANN = Caller(agent_id="ann")
HUMAN = OrgFactAuthor(is_human=True)
SENIOR = OrgFactAuthor(agent_id="ann", seniority=SeniorityLevel.SENIOR)
PAIRS_MAX = 1_000

Believed = set[tuple[str, str, str, bool, str]]


async def written(house: Rooms, clock: HeldClock, log: list[Entry]) -> dict[str, str]:
    """Write the operations of *log* at their times; returns the facts' ids by their names."""
    ids: dict[str, str] = {}
    for entry in log:
        clock.now = from_us(entry.at)
        author = HUMAN if entry.is_human else SENIOR
        if entry.claims is None:
            assert await house.org.retract(ANN, ids[entry.fact], author=author)
            continue
        request = OrgFactWriteRequest(
            content=" ".join(map(sentence, entry.claims)),
            category=OrgFactCategory(entry.category),
            fact_id=ids.get(entry.fact),
            valid_from=from_us(entry.begin),
        )
        ids[entry.fact] = await house.org.write(ANN, request, author=author)
    return ids


async def answered(house: Rooms, ids: dict[str, str], valid: int, known: int) -> Believed:
    names = {fact_id: name for name, fact_id in ids.items()}
    asked = AsOfQuery(valid=from_us(valid), known=from_us(known), limit=100)
    answer = await house.org.past.as_of(ANN, asked)
    return {
        (one.subject, one.relation, one.object, one.negated, names[item.fact.id])
        for item in answer.items
        for one in item.statements
    }


def allowed(log: list[Entry]) -> list[Entry]:
    """Leave out what an agent may not do to a human's fact: it is refused at the door."""
    last: dict[str, Entry] = {}
    kept: list[Entry] = []
    for entry in log:
        before = last.get(entry.fact)
        if before is not None and before.is_human and not entry.is_human:
            continue
        if entry.claims is None and (before is None or before.claims is None):
            continue
        last[entry.fact] = entry
        kept.append(entry)
    return kept


@pytest.mark.parametrize("seed", seeds(gate=2, long=10))
async def test_as_of_agrees_with_replaying_the_log_for_every_pair_of_times(
    tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    log = allowed(a_log(chance, 40, steps=(0, 1, DAY // 2, DAY, 3 * DAY)))
    clock = HeldClock()
    async with a_house(tmp_path / "memd.db", clock) as house:
        ids = await written(house, clock, log)
        moments = sorted({entry.at + shift for entry in log for shift in (-1, 0, 1)})
        for _ in range(PAIRS_MAX):
            valid = chance.randrange(19_890 * DAY, 20_110 * DAY)
            if chance.random() < 0.5:
                valid = chance.choice(moments)
            known = chance.choice(moments)
            assert await answered(house, ids, valid, known) == believed_at(log, valid, known), (
                f"seed {seed}, valid {from_us(valid)}, known {from_us(known)}"
            )


ROWS = """
SELECT s.statement_id, a.folded, s.relation, b.folded, s.negated, s.qualifier, s.valid_from_us,
       s.valid_to_us, s.known_from_us, s.known_to_us, s.operation_key, s.span_from, s.span_to,
       s.claimed_from_us, s.claimed_to_us, s.ended_by
  FROM statement AS s
       JOIN entity AS a ON a.entity_key = s.subject_key
       JOIN entity AS b ON b.entity_key = s.object_key
 ORDER BY s.statement_id
"""


@pytest.mark.parametrize("seed", range(3))
async def test_learning_the_whole_log_again_gives_the_same_rows(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "memd.db"
    chance = random.Random(seed)
    log = [
        replace(entry, begin=entry.at + chance.randrange(-5, 20) * DAY)
        if entry.claims is not None and chance.random() < 0.3
        else entry
        for entry in allowed(a_log(chance, 120, steps=(0, 1, DAY)))
    ]
    clock = HeldClock()
    async with a_house(path, clock) as house:
        await written(house, clock, log)
    with a_writer(path) as conn:
        before = conn.execute(ROWS).fetchall()
        assert before
        extraction.set_progress(conn, ExtractionProgress(VERSION - 1, None))
        steps = 0
        while temporal.relearn(conn):
            steps += 1
        assert steps > 3
        assert conn.execute(ROWS).fetchall() == before
        assert not temporal.is_stale(conn)


async def test_what_is_written_while_the_log_is_learnt_again_is_learnt_in_its_turn(
    tmp_path: Path,
) -> None:
    path = tmp_path / "memd.db"
    chance = random.Random(7)
    log = allowed(a_log(chance, 40, steps=(DAY,)))
    clock = HeldClock()
    async with a_house(path, clock) as house:
        ids = await written(house, clock, log[:30])
        await house.db.write(
            ANN, lambda conn: extraction.set_progress(conn, ExtractionProgress(VERSION - 1, None))
        )
        assert await house.db.write(ANN, temporal.relearn)
        for entry in log[30:]:
            if entry.fact not in ids and entry.claims is None:
                continue
            clock.now = from_us(entry.at)
            request = OrgFactWriteRequest(
                content=" ".join(map(sentence, entry.claims or ())) or "Nothing.",
                category=OrgFactCategory(entry.category),
                fact_id=ids.get(entry.fact),
            )
            ids[entry.fact] = await house.org.write(ANN, request, author=HUMAN)
        await temporal.catch_up(house.db)
    with a_writer(path) as conn:
        before = conn.execute(ROWS).fetchall()
        extraction.set_progress(conn, ExtractionProgress(VERSION - 1, None))
        while temporal.relearn(conn):
            pass
        assert conn.execute(ROWS).fetchall() == before


async def test_a_clock_that_goes_back_puts_no_belief_before_the_one_it_ends(tmp_path: Path) -> None:
    clock = HeldClock()
    start = 20_000 * DAY
    async with a_house(tmp_path / "memd.db", clock) as house:
        for shift, place in ((0, "Oslo"), (-DAY, "Rome"), (-2 * DAY, "Oslo"), (-DAY, "Kiel")):
            clock.now = from_us(start + shift)
            request = OrgFactWriteRequest(
                content=f"Billing is located in {place}.", category=OrgFactCategory.ADR
            )
            await house.org.write(ANN, request, author=HUMAN)
        answer = await house.org.past.as_of(ANN, AsOfQuery(subject="billing"))
        assert [one.object for item in answer.items for one in item.statements] == ["Kiel"]
        life = await house.org.past.timeline(ANN, "Billing")
        assert all(
            one.statement.known_to is None or one.statement.known_to > one.statement.known_from
            for one in life.stretches
        )
        later = from_us(start) + timedelta(days=1)
        assert (await house.org.past.as_of(ANN, AsOfQuery(valid=later, known=later))).items
