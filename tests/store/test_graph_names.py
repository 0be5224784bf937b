"""An alias of a thing leads to the statements under its other names."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.store import ADA, a_house, stored


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("Ann leads the Falcon team.", "What does the CTO lead?"),
        ("The CTO leads the Falcon team.", "What does Ann lead?"),
    ],
)
async def test_a_name_is_followed_from_either_side(
    tmp_path: Path, said: str, question: str
) -> None:
    async with a_house(tmp_path / "memd.db") as house:
        await stored(house, "The CTO is Ann.", said)
        await house.learning.drain()

        found = await house.graph.query(ADA, question)

        assert [(item.name, item.follows) for item in found.items] == [("the Falcon team", True)]
        [team] = found.items
        assert [step.relation for step in team.path.steps] == ["is", "leads"]
