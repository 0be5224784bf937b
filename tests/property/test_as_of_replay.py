"""What as_of answers is what replaying the log to that moment gives, written independently."""

from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path

import pytest
from support.beliefs import DAY, Entry, a_log, believed_at, sentence
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
    log = allowed(a_log(chance, 120, steps=(0, 1, DAY)))
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
