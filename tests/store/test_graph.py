"""The graph of what is told: its names, its hops, and learning that gives way to other work."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from support.daemon import WAIT_S
from support.labelled import a_company, questions
from support.store import ADA, a_house, stored

from memd.backends.rooms import Rooms
from memd.base.limits import LEARN_ROWS

QUESTIONS_MIN = 200
LONG = pytest.mark.long


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=LONG), pytest.param(7, marks=LONG)])
async def test_every_question_of_two_or_three_hops_is_answered_exactly(
    tmp_path: Path, seed: int
) -> None:
    company = a_company(seed)
    asked = list(questions(company))
    assert sum(bool(question.answers) for question in asked) >= QUESTIONS_MIN
    assert {question.hops for question in asked} == {2, 3}
    text = "\n".join(company.sentences)
    wrong: list[str] = []
    async with a_house(tmp_path / "memd.db") as house:
        await stored(house, *company.sentences)
        await house.relation_extractor.drain()
        for question in asked:
            result = await house.graph.query(ADA, question.text, limit=100)
            given = {item.name.casefold() for item in result.items if item.follows}
            expected = {answer.casefold() for answer in question.answers}
            if given != expected:
                wrong.append(f"{question.text} {sorted(expected)} {sorted(given)}")
            steps = [step for item in result.items for step in item.path.steps]
            assert all(step.evidence.quote in text for step in steps)
    assert not wrong, f"{len(wrong)} of {len(asked)}: " + "\n".join(wrong[:20])


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        ("Ann leads the Falcon team.", "What does the CTO lead?"),
        ("The CTO leads the Falcon team.", "What does Ann lead?"),
    ],
)
async def test_a_name_is_followed_from_either_side(
    house: Rooms, sentence: str, question: str
) -> None:
    await stored(house, "The CTO is Ann.", sentence)
    await house.relation_extractor.drain()

    answer = await house.graph.query(ADA, question)

    assert [(item.name, item.follows) for item in answer.items] == [("the Falcon team", True)]
    [team] = answer.items
    assert [step.relation for step in team.path.steps] == ["is", "leads"]


async def learnt(house: Rooms) -> int:
    count = await house.db.read(
        lambda conn: conn.execute("SELECT count(DISTINCT memory_key) FROM statement").get
    )
    assert isinstance(count, int)
    return count


async def test_while_memd_is_in_use_one_step_is_made_and_the_rest_when_it_is_quiet(
    house: Rooms,
) -> None:
    await stored(house, *(f"Team T{n} uses Tool{n}." for n in range(2 * LEARN_ROWS)))
    house.relation_extractor.quiet_s = lambda: 0.0
    reading = asyncio.create_task(house.relation_extractor.drain(gently=True))
    async with asyncio.timeout(WAIT_S):
        while await learnt(house) < LEARN_ROWS:  # noqa: ASYNC110  # a step tells nobody
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.3)  # a step takes milliseconds, and it waits two seconds after each
    assert await learnt(house) == LEARN_ROWS
    house.relation_extractor.quiet_s = lambda: 60.0
    assert await asyncio.wait_for(reading, WAIT_S) == 2 * LEARN_ROWS
    assert await learnt(house) == 2 * LEARN_ROWS
