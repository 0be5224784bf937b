"""X16: what held when, and who said so, over the socket of a running daemon."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.clocks import HeldClock
from support.daemon import running

from memd.base.clock import Clock
from memd.base.errors import (
    DeniedError,
    InvalidError,
    NotFoundError,
    OrgMemoryAccessDeniedError,
    OrgMemoryQueryError,
)
from memd.base.paths import Paths
from memd.base.settings import load
from memd.client import AsyncClient
from memd.domain.settings.settings import Settings
from memd.serve.rooms import DaemonRooms
from memd.serve.rooms import rooms as _rooms

BLOCK = """
org_memory:
  backend: "temporal_kg"
  temporal:
    track_changes: true
    history_retention_days: null
"""
SAID = "The team used Flask until March 2026, then switched to Litestar"


@dataclass
class House:
    """A running daemon, its clock, and clients of different seniority."""

    clock: HeldClock
    paths: Paths
    senior: AsyncClient
    lead: AsyncClient
    local: AsyncClient

    async def write(self, text: str, client: AsyncClient | None = None, **more: Any) -> str:
        params = {"content": text, "category": "convention", **more}
        fact_id = await (client or self.senior).call("org.write", params)
        assert isinstance(fact_id, str)
        return fact_id

    async def as_of(self, client: AsyncClient | None = None, **asked: Any) -> Any:
        return await (client or self.senior).call("org.as_of", asked)

    async def held(self, **asked: Any) -> list[str]:
        """Return what the answer says is used, as things."""
        facts = await self.as_of(**asked)
        return [
            statement["object"]
            for item in facts["items"]
            for statement in item["statements"]
            if statement["relation"] in {"uses", "standardises_on"} and not statement["negated"]
        ]


def _settings(tmp_path: Path, text: str = BLOCK) -> Settings:
    path = tmp_path / "memd.yaml"
    path.write_text(text, encoding="utf-8")
    return load(Settings, path, {})


@asynccontextmanager
async def serving(
    home: Path, settings: Settings, clock: HeldClock | None = None
) -> AsyncIterator[House]:
    clock = clock or HeldClock()

    async def built(settings: Settings, paths: Paths, _: Clock, *rest: Any) -> DaemonRooms:
        return await _rooms(settings, paths, clock, *rest)

    async with running(home, partial(built), settings) as paths:
        async with AsyncClient(socket=paths.socket, key=paths.operator_key) as owner:
            keys = {}
            for name, seniority in (("sam", "senior"), ("lea", "lead")):
                params = {"name": name, "agent_id": name, "seniority": seniority}
                keys[name] = Path((await owner.call("client.add", params))["key_file"])
        async with (
            AsyncClient(socket=paths.socket, key=keys["sam"]) as senior,
            AsyncClient(socket=paths.socket, key=keys["lea"]) as lead,
            AsyncClient(socket=paths.socket) as local,
        ):
            yield House(clock, paths, senior, lead, local)


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with serving(tmp_path, _settings(tmp_path)) as opened:
        yield opened


async def test_x16_as_of_february_it_is_flask_and_now_it_is_litestar(house: House) -> None:
    await house.write(SAID)
    assert await house.held(valid="2026-02-01T00:00:00Z") == ["Flask"]
    assert await house.held() == ["Litestar"]
    assert await house.held(valid="2026-03-01T00:00:00Z") == ["Litestar"]
    assert await house.held(valid="2026-02-28T23:59:59.999999Z") == ["Flask"]


async def test_x16_history_shows_both_with_who_and_when(house: House) -> None:
    fact = await house.write(SAID)
    life = await house.senior.call("org.timeline", {"name": "the team"})
    versions = [
        (
            one["statement"]["object"],
            one["statement"]["valid_from"],
            one["statement"]["valid_to"],
            one["said_by"]["agent_id"],
            one["said_at"],
        )
        for one in life["stretches"]
    ]
    written = "2026-03-17T12:00:00Z"
    assert versions == [
        ("Flask", None, "2026-03-01T00:00:00Z", "sam", written),
        ("Litestar", "2026-03-01T00:00:00Z", None, "sam", written),
    ]
    assert {one["statement"]["evidence"]["fact_id"] for one in life["stretches"]} == {fact}
    quotes = [one["statement"]["evidence"]["quote"] for one in life["stretches"]]
    assert quotes == ["The team used Flask until March 2026", "switched to Litestar"]
    of_fact = await house.senior.call("org.timeline", {"name": fact})
    assert len(of_fact["stretches"]) == 3  # and that the one replaces the other


async def test_until_when_did_we_use_it_and_who_said_so_is_answered(house: House) -> None:
    first = await house.write("Flask is the standard for services.")
    house.clock.advance(days=10)
    await house.write("Litestar is the standard for services.", house.lead)
    (flask,) = [
        one
        for one in (await house.senior.call("org.timeline", {"name": "flask"}))["stretches"]
        if one["statement"]["known_to"] is None
    ]
    assert flask["statement"]["valid_to"] == "2026-03-27T12:00:00Z"
    assert flask["said_by"]["agent_id"] == "sam"
    assert flask["said_at"] == "2026-03-17T12:00:00Z"
    assert flask["ended_by"]["agent_id"] == "lea"
    assert flask["ended_at"] == "2026-03-27T12:00:00Z"
    assert flask["statement"]["evidence"]["fact_id"] == first


async def test_a_query_leaves_out_what_no_longer_holds_and_history_keeps_it(house: House) -> None:
    await house.write("Flask is the standard for services.")
    house.clock.advance(days=1)
    second = await house.write("Litestar is the standard for services.")
    house.clock.advance(days=1)
    facts = await house.senior.call("org.query", {"context": "standard for services"})
    assert [fact["id"] for fact in facts] == [second]
    assert await house.held() == ["Litestar"]
    assert await house.held(known="2026-03-18T00:00:00Z") == ["Flask"]
    assert await house.held(valid="2026-03-18T00:00:00Z") == ["Flask"]
    await house.senior.call("org.retract", {"fact_id": second})
    assert await house.held() == ["Flask"]
    assert await house.held(known="2026-03-18T12:00:00Z") == ["Litestar"]


async def test_what_says_more_than_statements_is_never_left_out(house: House) -> None:
    kept = await house.write("Flask is the standard. Ask Zoe about the broken hinges.")
    house.clock.advance(days=1)
    await house.write("Litestar is the standard.")
    facts = await house.senior.call("org.query", {"context": "hinges"})
    assert [fact["id"] for fact in facts] == [kept]


async def test_a_claimed_time_never_takes_the_place_of_the_daemons_own(house: House) -> None:
    """H57: backdated and future claims are kept apart from when memd knew."""
    await house.write("Flask is the standard.", valid_from="2020-01-01T00:00:00Z")
    await house.write("The office is located in Rome.", valid_from="2030-01-01T00:00:00Z")
    assert await house.held(known="2025-01-01T00:00:00Z", valid="2021-01-01T00:00:00Z") == []
    assert await house.held(valid="2021-01-01T00:00:00Z") == ["Flask"]
    assert await house.held(valid="2019-01-01T00:00:00Z") == []
    (item,) = (await house.as_of(valid="2021-01-01T00:00:00Z"))["items"]
    assert item["written_at"] == "2026-03-17T12:00:00Z"
    assert item["statements"][0]["known_from"] == "2026-03-17T12:00:00Z"
    assert (await house.as_of(subject="the office"))["items"] == []
    later = await house.as_of(subject="the office", valid="2030-06-01T00:00:00Z")
    assert len(later["items"]) == 1


async def test_times_of_the_request_hold_for_what_names_none_of_its_own(house: House) -> None:
    await house.write(
        "Billing uses Redis. Billing uses MySQL until 2025.",
        valid_from="2024-01-01T00:00:00Z",
        valid_to="2026-01-01T00:00:00Z",
    )
    assert await house.held(valid="2023-01-01T00:00:00Z") == ["MySQL"]
    assert await house.held(valid="2024-06-01T00:00:00Z") == ["Redis", "MySQL"]
    assert await house.held(valid="2025-06-01T00:00:00Z") == ["Redis"]
    assert await house.held() == []


async def test_an_agents_words_end_no_humans_statement(house: House) -> None:
    async with AsyncClient(socket=house.paths.socket, key=house.paths.operator_key) as owner:
        with pytest.raises(OrgMemoryAccessDeniedError):
            await house.write("Flask is the standard.", owner, category="core_policy")
    await house.write("Flask is the standard.", house.lead, category="adr")
    house.clock.advance(days=1)
    await house.write("Litestar is the standard.", house.senior, category="convention")
    assert await house.held() == ["Litestar"]  # both may write an adr: the later one holds


async def test_pages_follow_each_other_and_hold_everything_once(house: House) -> None:
    for number in range(25):
        await house.write(f"Service{number} uses Redis.")
    seen: list[str] = []
    after = None
    while True:
        asked: dict[str, Any] = {"limit": 4, **({"after": after} if after else {})}
        page = await house.as_of(**asked)
        seen += [item["fact"]["content"] for item in page["items"]]
        after = page["next"]
        if after is None:
            break
    assert seen == [f"Service{number} uses Redis." for number in reversed(range(25))]
    about = await house.as_of(subject="redis", limit=10)
    assert len(about["items"]) == 10
    assert about["next"] is not None
    literal = await house.as_of(text="service7 USES")
    assert [item["fact"]["content"] for item in literal["items"]] == ["Service7 uses Redis."]
    assert (await house.as_of(text="%"))["items"] == []


@pytest.mark.parametrize(
    ("method", "params", "error"),
    [
        ("org.as_of", {"valid": "2026-02-01T00:00:00"}, InvalidError),
        ("org.as_of", {"known": "yesterday"}, InvalidError),
        ("org.as_of", {"known": "2026-02-01"}, InvalidError),
        ("org.as_of", {"subject": "Nobody"}, NotFoundError),
        ("org.as_of", {"subject": " "}, InvalidError),
        ("org.as_of", {"after": "x"}, InvalidError),
        ("org.as_of", {"limit": 0}, InvalidError),
        ("org.as_of", {"limit": 10_000}, InvalidError),
        ("org.as_of", {"categories": ["secret"]}, InvalidError),
        ("org.as_of", {"author": {"is_human": True}}, DeniedError),
        ("org.timeline", {"name": "Nobody"}, NotFoundError),
        ("org.timeline", {"name": "x" * 257}, InvalidError),
        ("org.timeline", {}, InvalidError),
        (
            "org.write",
            {
                "content": "Flask is the standard.",
                "category": "adr",
                "valid_from": "2026-02-01T00:00:00Z",
                "valid_to": "2026-02-01T00:00:00Z",
            },
            InvalidError,
        ),
        (
            "org.write",
            {"content": "x", "category": "adr", "valid_from": "2026-02-01T00:00:00"},
            InvalidError,
        ),
    ],
)
async def test_bad_times_and_unknown_names_are_typed_errors(
    house: House, method: str, params: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        await house.senior.call(method, params)


RESTRICTED = BLOCK + "  read_access:\n    adr: lead\n"


async def test_the_rules_of_that_time_and_of_today_apply_whichever_is_stricter(
    tmp_path: Path,
) -> None:
    clock = HeldClock()
    async with serving(tmp_path, _settings(tmp_path), clock) as house:
        await house.write("Flask is the standard.", category="adr")
        assert await house.held() == ["Flask"]
        clock.advance(days=1)
    async with serving_again(tmp_path, _settings(tmp_path, RESTRICTED), clock) as (senior, lead):
        then = {"known": "2026-03-17T12:00:00Z"}
        for asked in ({}, then):  # open then, closed today
            answer = await senior.call("org.as_of", asked)
            assert (answer["items"], answer["withheld"]) == ([], ["adr"])
            assert len((await lead.call("org.as_of", asked))["items"]) == 1
        with pytest.raises(NotFoundError):
            await senior.call("org.timeline", {"name": "Flask"})
        with pytest.raises(NotFoundError):  # said as of what nobody ever spoke of
            await senior.call("org.as_of", {"subject": "Flask"})
        assert (await senior.call("org.query", {"context": "Flask"})) == []
        clock.advance(days=1)
    async with serving_again(tmp_path, _settings(tmp_path), clock) as (senior, lead):
        assert len((await senior.call("org.as_of", {}))["items"]) == 1
        closed = {"known": "2026-03-18T18:00:00Z"}  # closed then, open today
        assert (await senior.call("org.as_of", closed))["withheld"] == ["adr"]
        assert len((await lead.call("org.as_of", closed))["items"]) == 1


@asynccontextmanager
async def serving_again(
    home: Path, settings: Settings, clock: HeldClock
) -> AsyncIterator[tuple[AsyncClient, AsyncClient]]:
    async def built(settings: Settings, paths: Paths, _: Clock, *rest: Any) -> DaemonRooms:
        return await _rooms(settings, paths, clock, *rest)

    async with running(home, partial(built), settings) as paths:
        keys = paths.keys_dir
        async with (
            AsyncClient(socket=paths.socket, key=keys / "sam.key") as senior,
            AsyncClient(socket=paths.socket, key=keys / "lea.key") as lead,
        ):
            yield senior, lead


async def test_older_history_is_hidden_not_erased(tmp_path: Path) -> None:
    clock = HeldClock()
    async with serving(tmp_path, _settings(tmp_path), clock) as house:
        await house.write("Flask is the standard.")
        clock.advance(days=1)
        await house.write("Litestar is the standard.")
        clock.advance(days=60)
    short = BLOCK.replace("history_retention_days: null", "history_retention_days: 30")
    async with serving_again(tmp_path, _settings(tmp_path, short), clock) as (senior, _):
        with pytest.raises(OrgMemoryQueryError):
            await senior.call("org.as_of", {"known": "2026-03-17T18:00:00Z"})
        life = await senior.call("org.timeline", {"name": "the team"})
        assert [one["statement"]["object"] for one in life["stretches"]] == ["Litestar"]
    none = BLOCK.replace("track_changes: true", "track_changes: false")
    async with serving_again(tmp_path, _settings(tmp_path, none), clock) as (senior, _):
        with pytest.raises(OrgMemoryQueryError):
            await senior.call("org.as_of", {"valid": "2026-05-17T06:00:00Z"})
        assert len((await senior.call("org.as_of", {}))["items"]) == 1
        life = await senior.call("org.timeline", {"name": "the team"})
        assert [one["statement"]["object"] for one in life["stretches"]] == ["Litestar"]
    async with serving_again(tmp_path, _settings(tmp_path), clock) as (senior, _):
        then = await senior.call("org.as_of", {"known": "2026-03-17T18:00:00Z"})
        assert [item["fact"]["content"] for item in then["items"]] == ["Flask is the standard."]
