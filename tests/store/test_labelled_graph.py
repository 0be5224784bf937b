"""Questions of two and three hops about a company described in ordinary sentences are answered."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.labelled import a_company, questions
from support.store import ADA, a_house, stored

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
    told = "\n".join(company.sentences)
    wrong: list[str] = []
    async with a_house(tmp_path / "memd.db") as house:
        await stored(house, *company.sentences)
        await house.learning.drain()
        for question in asked:
            found = await house.graph.query(ADA, question.text, limit=100)
            given = {item.name.casefold() for item in found.items if item.follows}
            expected = {answer.casefold() for answer in question.answers}
            if given != expected:
                wrong.append(f"{question.text} {sorted(expected)} {sorted(given)}")
            steps = [step for item in found.items for step in item.path.steps]
            assert all(step.evidence.quote in told for step in steps)
    assert not wrong, f"{len(wrong)} of {len(asked)}: " + "\n".join(wrong[:20])
