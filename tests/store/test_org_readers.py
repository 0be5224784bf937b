"""No answer about facts, past or present, contains what the caller may not read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.clocks import HeldClock
from support.org import CALLER, HUMAN, a_request, wrote
from support.store import a_house

from memd.domain.caller import OPERATOR, Caller
from memd.domain.enums import SeniorityLevel
from memd.domain.org.org import OrgMemoryQuery
from memd.domain.settings.org import org_memory_config
from memd.domain.settings.settings import Settings
from memd.org.owner import Owner
from memd.org.review import Review

SETTINGS = Settings(
    org_memory=org_memory_config(
        {"core_policies": ["Be kind"], "read_access": {"adr": "senior", "core_policy": "lead"}}
    )
)
JUNIOR = replace(CALLER, seniority=SeniorityLevel.JUNIOR)
SENIOR = replace(CALLER, seniority=SeniorityLevel.SENIOR)
OWNER = replace(CALLER, client=OPERATOR)
LEAD = replace(CALLER, seniority=SeniorityLevel.LEAD)


@pytest.mark.parametrize(
    ("caller", "seen", "policies"),
    [
        (CALLER, {"convention"}, ["Be kind"]),
        (JUNIOR, {"convention"}, ["Be kind"]),
        (SENIOR, {"convention", "adr"}, ["Be kind"]),
        (LEAD, {"convention", "adr", "core_policy"}, ["Be kind", "Keep it secret"]),
        (OWNER, {"convention", "adr", "core_policy"}, ["Be kind", "Keep it secret"]),
    ],
)
async def test_each_sees_what_he_may(
    tmp_path: Path, caller: Caller, seen: set[str], policies: list[str]
) -> None:
    clock = HeldClock()
    async with a_house(tmp_path / "memd.db", clock, settings=SETTINGS) as house:
        ids = {}
        for category in ("core_policy", "adr", "convention"):
            (ids[category],) = await wrote(house, "Keep it secret", category=category)
        facts = await house.org.query(caller, OrgMemoryQuery(limit=50))
        assert {fact.category for fact in facts} == seen
        facts = await house.org.query(caller, OrgMemoryQuery(context="secret", limit=50))
        assert {fact.category for fact in facts} == seen
        for category, fact_id in ids.items():
            assert (await house.org.get(caller, fact_id) is not None) is (category in seen)
            assert bool(await house.org.history(caller, fact_id)) is (category in seen)
        stood = await house.org.snapshot_at(caller, clock.now)
        assert {one.category for one in stood} == seen
        page = await house.org.snapshot_at(caller, clock.now, None, 1)
        assert [one.fact_id for one in page] == [stood[0].fact_id]
        listed = await house.org.list_policies(caller)
        assert [fact.content for fact in listed] == policies
        assert await house.org.count_policies(caller) == len(policies)


async def test_a_version_of_a_hidden_category_stays_hidden_when_the_fact_has_moved(
    tmp_path: Path,
) -> None:
    async with a_house(tmp_path / "memd.db", settings=SETTINGS) as house:
        (fact_id,) = await wrote(house, "hidden", category="adr")
        shown = a_request("shown", "convention", fact_id=fact_id)
        await house.org.write(CALLER, shown, author=HUMAN)
        history = await house.org.history(JUNIOR, fact_id)
        assert [entry.content for entry in history] == ["shown"]
        assert len(await house.org.history(SENIOR, fact_id)) == 2


async def test_a_page_is_full_however_much_of_it_is_hidden(tmp_path: Path) -> None:
    clock = HeldClock()
    async with a_house(tmp_path / "memd.db", clock, settings=SETTINGS) as house:
        for number in range(120):
            kind = "convention" if number in {5, 118, 119} else "adr"
            await wrote(house, str(number), category=kind)
        page = await house.org.snapshot_at(JUNIOR, clock.now, None, 2)
        assert [one.content for one in page] == ["5", "118"]
        rest = await house.org.snapshot_at(JUNIOR, clock.now, page[-1].fact_id, 2)
        assert [one.content for one in rest] == ["119"]


async def test_a_proposal_is_shown_to_whom_its_category_is_and_to_who_made_it(
    tmp_path: Path,
) -> None:
    async with a_house(tmp_path / "memd.db", settings=SETTINGS) as house:
        review = Review(house.org, Owner(house.db, house.clock))
        asker = replace(JUNIOR, client="asker")
        asked = [
            await review.propose(asker, a_request(f"Text {number}", category))
            for number, category in enumerate(("adr", "convention", "adr"))
        ]
        for caller in (OWNER, LEAD, SENIOR, asker):
            items, after = await review.list(caller, None, 5)
            assert ([one.id for one in items], after) == (asked, None)
        other = replace(JUNIOR, client="other")
        items, after = await review.list(other, None, 1)
        assert (items, after) == ((), asked[0])
        items, after = await review.list(other, after, 5)
        assert ([one.id for one in items], after) == ([asked[1]], None)
