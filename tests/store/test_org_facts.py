"""SPEC 15.5 on a real file: the log, the facts that result from it, and queries of both."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest
from support.clocks import HeldClock
from support.org import CALLER, HUMAN, JUNIOR, SENIOR, a_request, contents, wrote
from support.store import a_house, bytes_of, tampering

from memd.backends.rooms import Rooms
from memd.base.clock import from_us, to_us
from memd.base.errors import (
    OrgMemoryAccessDeniedError,
    OrgMemoryQueryError,
    OrgMemoryWriteError,
    SecretRefusedError,
)
from memd.base.limits import TEXT_CHARS_MAX
from memd.domain.enums import OperationType, OrgFactCategory
from memd.domain.org.org import OrgMemoryQuery
from memd.domain.settings.org import OrgMemoryConfig, org_memory_config
from memd.domain.settings.settings import DaemonSettings, Settings
from memd.org import temporal
from memd.store.file import scrub
from memd.store.file.connect import Writing
from memd.store.org import org_facts
from memd.store.org.org import Operation

MANY = OrgMemoryConfig.model_validate({"extended_store": {"max_retrieved_per_query": 50}})


@pytest.fixture
async def house(tmp_path: Path, clock: HeldClock) -> AsyncIterator[Rooms]:
    async with a_house(tmp_path / "memd.db", clock, settings=Settings(org_memory=MANY)) as house:
        yield house


# Writing.


async def test_publishing_again_replaces_everything_but_when_it_was_first(
    house: Rooms, clock: HeldClock
) -> None:
    """SPEC 15.5.2."""
    first = clock.now
    (fact_id,) = await wrote(house, "Use Flask", tags=("web",), author=SENIOR)
    clock.advance(days=1)
    again = a_request("Use Litestar", "adr", tags=("api",), fact_id=fact_id)
    assert await house.org.write(CALLER, again, author=SENIOR) == fact_id
    fact = await house.org.get(CALLER, fact_id)
    assert fact is not None
    assert (fact.content, fact.category, fact.tags, fact.version) == (
        "Use Litestar",
        OrgFactCategory.ADR,
        ("api",),
        2,
    )
    assert fact.author == SENIOR
    assert fact.created_at == first


async def test_retracting_nothing_writes_nothing(house: Rooms) -> None:
    """SPEC 15.5.3."""
    (fact_id,) = await wrote(house, "Use Flask")
    assert await house.org.retract(CALLER, fact_id, author=HUMAN)
    links = await house.db.read(lambda conn: conn.execute("SELECT count(*) FROM change").get)
    assert not await house.org.retract(CALLER, fact_id, author=HUMAN)
    assert not await house.org.retract(CALLER, "no such fact", author=HUMAN)
    assert len(await house.org.history(CALLER, fact_id)) == 2
    assert links == await house.db.read(
        lambda conn: conn.execute("SELECT count(*) FROM change").get
    )


async def test_a_retraction_copies_category_and_tags_and_keeps_the_last_text(house: Rooms) -> None:
    """SPEC 15.5.3."""
    (fact_id,) = await wrote(house, "Use Flask", tags=("b", "a"), author=SENIOR)
    await house.org.retract(CALLER, fact_id, author=SENIOR)
    last = (await house.org.history(CALLER, fact_id))[-1]
    assert (last.operation_type, last.content, last.version) == (OperationType.RETRACT, None, 2)
    assert (last.category, last.tags, last.author) == (
        OrgFactCategory.CONVENTION,
        ("a", "b"),
        SENIOR,
    )
    (stood,) = await house.org.snapshot_at(CALLER, last.timestamp)
    assert (stood.content, stood.retracted_at) == ("Use Flask", last.timestamp)


async def test_tags_are_stored_in_order(house: Rooms) -> None:
    """SPEC 15.2.5."""
    (fact_id,) = await wrote(house, "Use Flask", tags=("web", "api", "web"))
    fact = await house.org.get(CALLER, fact_id)
    assert fact is not None
    assert fact.tags == ("api", "web", "web")


async def test_what_is_retracted_is_seen_by_no_question(house: Rooms) -> None:
    """SPEC 15.5.4."""
    (fact_id, other) = await wrote(house, "Use Flask", "Use Redis", category="core_policy")
    await house.org.retract(CALLER, fact_id, author=HUMAN)
    assert await house.org.get(CALLER, fact_id) is None
    assert await contents(house) == ["Use Redis"]
    assert await contents(house, "Flask") == []
    assert await contents(house, "use") == ["Use Redis"]
    assert [fact.id for fact in await house.org.list_policies(CALLER)] == [other]
    assert await house.org.count_policies(CALLER) == 1


async def test_a_policy_is_listed_while_it_holds_and_with_every_one_always(house: Rooms) -> None:
    """SPEC 15.4.1, D13: what is over, or is still to come, goes into no prompt."""
    now = from_us(house.clock.now_us())
    day = timedelta(days=1)
    spans: dict[str, dict[str, Any]] = {
        "over": {"valid_to": now},
        "now on": {"valid_from": now},
        "until": {"valid_to": now + day},
        "to come": {"valid_from": now + day},
    }
    over, now_on, until, to_come = [
        (await wrote(house, name, category="core_policy", **times))[0]
        for name, times in spans.items()
    ]
    assert [fact.id for fact in await house.org.list_policies(CALLER)] == [until, now_on]
    assert await house.org.count_policies(CALLER) == 2
    assert [fact.id for fact in await house.org.list_policies(CALLER, 1, 1)] == [now_on]
    every = await house.org.list_policies(CALLER, every=True)
    assert [fact.id for fact in every] == [to_come, until, now_on, over]


async def test_a_clock_set_back_puts_no_version_before_the_one_it_replaces(
    house: Rooms, clock: HeldClock
) -> None:
    """SPEC 15.5.8, 15.5.10."""
    (fact_id,) = await wrote(house, "Use Flask")
    clock.advance(days=-365)
    await house.org.write(CALLER, a_request("Use Litestar", fact_id=fact_id), author=HUMAN)
    await house.org.retract(CALLER, fact_id, author=HUMAN)
    times = [entry.timestamp for entry in await house.org.history(CALLER, fact_id)]
    assert times == sorted(set(times))
    stood = [(await house.org.snapshot_at(CALLER, at))[0].version for at in times]
    assert stood == [1, 2, 3]


async def test_the_last_writer_wins_and_everything_stays_in_the_log(house: Rooms) -> None:
    """SPEC 15.5.12."""
    (fact_id,) = await wrote(house, "one", author=SENIOR)
    for content, author in (("two", SENIOR), ("three", HUMAN)):
        await house.org.write(CALLER, a_request(content, fact_id=fact_id), author=author)
    assert await contents(house) == ["three"]
    history = await house.org.history(CALLER, fact_id)
    assert [(entry.version, entry.content) for entry in history] == [
        (1, "one"),
        (2, "two"),
        (3, "three"),
    ]
    assert [entry.author for entry in history] == [SENIOR, SENIOR, HUMAN]


async def test_retracting_needs_the_right_to_write(house: Rooms) -> None:
    """SPEC 15.3.6, D14."""
    (policy,) = await wrote(house, "No commits to main", category="core_policy")
    (convention,) = await wrote(house, "Use Litestar", author=SENIOR)
    for fact_id, author in ((policy, SENIOR), (convention, JUNIOR)):
        with pytest.raises(OrgMemoryAccessDeniedError):
            await house.org.retract(CALLER, fact_id, author=author)
    assert await house.org.retract(CALLER, convention, author=SENIOR)
    with pytest.raises(OrgMemoryAccessDeniedError):  # also of what is retracted
        await house.org.retract(CALLER, convention, author=JUNIOR)


async def test_a_fact_cannot_be_moved_out_of_a_category_that_is_not_ones_own(house: Rooms) -> None:
    (policy,) = await wrote(house, "No commits to main", category="core_policy")
    with pytest.raises(OrgMemoryAccessDeniedError, match="core_policy"):
        await house.org.write(
            CALLER, a_request("Commit anywhere", "adr", fact_id=policy), author=SENIOR
        )
    assert [fact.content for fact in await house.org.list_policies(CALLER)] == [
        "No commits to main"
    ]


async def test_what_fails_to_be_learnt_is_not_written(
    house: Rooms, monkeypatch: pytest.MonkeyPatch
) -> None:
    learnt: list[Operation] = []

    def learn(conn: Writing, operation: Operation) -> None:
        assert conn.in_transaction
        learnt.append(operation)
        if operation.content == "bad":
            raise OrgMemoryWriteError("no")

    monkeypatch.setattr(temporal, "learn", learn)
    org = house.org.with_config(OrgMemoryConfig())
    fact_id = await org.write(CALLER, a_request("good"), author=HUMAN)
    with pytest.raises(OrgMemoryWriteError):
        await org.write(CALLER, a_request("bad"), author=HUMAN)
    await org.retract(CALLER, fact_id, author=HUMAN)
    assert [(one.fact_id, one.version, one.kind) for one in learnt if one.content != "bad"] == [
        (fact_id, 1, OperationType.PUBLISH),
        (fact_id, 2, OperationType.RETRACT),
    ]
    assert await house.db.read(org_facts.count) == 0


async def test_no_secret_reaches_the_file(house: Rooms, tmp_path: Path) -> None:
    key = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
    (fact_id,) = await wrote(house, f"CI uses {key}", tags=(key,))
    fact = await house.org.get(CALLER, fact_id)
    assert fact is not None
    assert fact.content == "CI uses [secret:github-token#1]"
    await scrub.erase_residue(house.db)
    assert key.encode() not in bytes_of(tmp_path)


async def test_a_secret_is_refused_where_the_settings_say_so(tmp_path: Path) -> None:
    settings = Settings(daemon=DaemonSettings(secrets="refuse"))
    async with a_house(tmp_path / "memd.db", settings=settings) as house:
        with pytest.raises(SecretRefusedError, match="github-token"):
            await wrote(house, "CI uses ghp_0123456789abcdefghijABCDEFGHIJ012345")


# Asking.


async def test_a_text_is_found_as_it_stands_in_the_documented_order(
    house: Rooms, clock: HeldClock
) -> None:
    """SPEC 15.5.5: where it stands, then the shorter, then the newer; in capitals or not."""
    for content in ("We like litestar", "LITESTAR is used", "Litestar is it", "Litestar is in"):
        clock.advance(seconds=1)
        await wrote(house, content)
    assert await contents(house, "litestar") == [
        "Litestar is in",
        "Litestar is it",
        "LITESTAR is used",
        "We like litestar",
    ]


@pytest.mark.parametrize("text", ["100%", "a_b", "back\\slash", "lite", "it's", "(", '"x"', "NOT"])
async def test_a_text_is_taken_literally(house: Rooms, text: str) -> None:
    """SPEC 15.5.5, PROMISES H26: neither LIKE nor FTS5 reads anything into it."""
    await wrote(house, f"zz {text}star zz", "something else")
    assert (await contents(house, text))[0] == f"zz {text}star zz"
    assert await contents(house, f"{text}qqq {text}") != ["something else"]


async def test_a_question_finds_what_shares_its_words(house: Rooms) -> None:
    """SPEC 15.5.5: beside the literal text, which no question is."""
    await wrote(
        house,
        "Deployments to production happen on Tuesdays.",
        "Every pull request needs two approvals.",
        "The coffee machine is cleaned on Fridays.",
    )
    texts = await contents(house, "How do we deploy to production, and when?")
    assert texts == ["Deployments to production happen on Tuesdays."]
    assert (await contents(house, "approval of pull requests"))[0].startswith("Every pull")
    assert await contents(house, "what about this and that?") == []


async def test_without_a_text_the_newest_come_first(house: Rooms, clock: HeldClock) -> None:
    """SPEC 15.5.5."""
    for content in ("one", "two", "three"):
        clock.advance(seconds=1)
        await wrote(house, content)
    assert await contents(house) == ["three", "two", "one"]
    assert await contents(house, limit=2) == ["three", "two"]


async def test_a_query_may_name_categories(house: Rooms) -> None:
    """SPEC 15.5.5."""
    await wrote(house, "Use Litestar as an ADR says", category="adr")
    await wrote(house, "Use Litestar")
    for context in (None, "litestar", "which litestar do we use"):
        assert await contents(house, context, categories=["adr"]) == ["Use Litestar as an ADR says"]
    assert len(await contents(house, "litestar", categories=[])) == 2


async def test_the_longest_text_can_be_written_and_asked_for(house: Rooms) -> None:
    text = "litestar " * (TEXT_CHARS_MAX // 9)
    (fact_id,) = await wrote(house, text)
    facts = await house.org.query(CALLER, OrgMemoryQuery(context=text))
    assert [fact.id for fact in facts] == [fact_id]


# The past.


async def test_a_snapshot_shows_all_facts_as_they_stood(house: Rooms, clock: HeldClock) -> None:
    """SPEC 15.5.7: retracted ones included, by fact id, with the last text published."""
    before = clock.now - timedelta(seconds=1)
    ids = await wrote(house, "one", "two")
    start = clock.now
    clock.advance(hours=1)
    await house.org.write(CALLER, a_request("one, newly", "adr", fact_id=ids[0]), author=HUMAN)
    await house.org.retract(CALLER, ids[1], author=HUMAN)
    later = clock.now
    assert await house.org.snapshot_at(CALLER, before) == ()
    then = await house.org.snapshot_at(CALLER, start)
    assert [(s.fact_id, s.content, s.version, s.retracted_at) for s in then] == [
        (ids[0], "one", 1, None),
        (ids[1], "two", 1, None),
    ]
    now = await house.org.snapshot_at(CALLER, later)
    assert [(s.content, s.category, s.version, s.retracted_at, s.created_at) for s in now] == [
        ("one, newly", OrgFactCategory.ADR, 2, None, start),
        ("two", OrgFactCategory.CONVENTION, 2, later, start),
    ]
    pages = [
        *await house.org.snapshot_at(CALLER, later, None, 1),
        *await house.org.snapshot_at(CALLER, later, ids[0], 1),
    ]
    assert tuple(pages) == now


async def test_a_time_without_a_zone_is_utc_in_process(house: Rooms, clock: HeldClock) -> None:
    """SPEC 15.5.7."""
    await wrote(house, "one")
    naive = clock.now.astimezone(UTC).replace(tzinfo=None)
    assert await house.org.snapshot_at(CALLER, naive) == await house.org.snapshot_at(
        CALLER, clock.now
    )


async def test_a_fact_and_its_snapshot_have_one_time(house: Rooms, clock: HeldClock) -> None:
    """SPEC 15.5.8."""
    (fact_id,) = await wrote(house, "one")
    fact = await house.org.get(CALLER, fact_id)
    (stood,) = await house.org.snapshot_at(CALLER, clock.now)
    (entry,) = await house.org.history(CALLER, fact_id)
    assert fact is not None
    assert fact.created_at == stood.created_at == entry.timestamp == clock.now


async def test_the_log_of_an_unknown_fact_is_empty(house: Rooms) -> None:
    """SPEC 15.5.9."""
    assert await house.org.history(CALLER, "no such fact") == ()


async def test_times_keep_their_microseconds(house: Rooms, clock: HeldClock) -> None:
    """SPEC 15.5.10."""
    clock.now = datetime(2026, 3, 17, 12, 0, 0, 500_000, tzinfo=UTC)
    (first,) = await wrote(house, "half past")
    clock.now = datetime(2026, 3, 17, 12, 0, 1, tzinfo=UTC)
    await wrote(house, "one")
    stood = await house.org.snapshot_at(CALLER, clock.now - timedelta(microseconds=1))
    assert [s.fact_id for s in stood] == [first]
    stored = await house.db.read(
        lambda conn: conn.execute("SELECT min(at_us) FROM org_operation").get
    )
    assert stored == to_us(datetime(2026, 3, 17, 12, 0, 0, 500_000, tzinfo=UTC))


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE org_fact SET tags = '{\"a\": 1}'",
        "UPDATE org_operation SET autonomy_level = 'full', is_human = 1, author_id = NULL,"
        " seniority = NULL",
    ],
)
async def test_a_row_that_is_none_of_memds_is_an_error_of_the_query(
    path: Path, damage: str
) -> None:
    """SPEC 15.5.11."""
    async with a_house(path) as house:
        (fact_id,) = await wrote(house, "Use Litestar")
    with tampering(path) as conn:
        conn.execute(damage)
    async with a_house(path) as house:
        with pytest.raises(OrgMemoryQueryError, match=f"fact {fact_id} cannot be read"):
            await house.org.get(CALLER, fact_id)
        report = await house.upkeep.check(CALLER)
        assert any(fact_id in problem for problem in report.problems), report


# What is told of the past.


async def test_a_damaged_fact_is_withheld_from_queries_and_timelines(path: Path) -> None:
    temporal_kg = Settings(org_memory=org_memory_config({"backend": "temporal_kg"}))
    async with a_house(path, settings=temporal_kg) as house:
        await wrote(house, "Billing uses Redis.", "Billing uses Kafka.")
    with tampering(path) as conn:
        conn.execute(
            "UPDATE org_operation SET content = 'Billing uses Rabbit.' WHERE version = 1"
            " AND content = 'Billing uses Redis.'"
        )
        assert conn.changes() == 1
    async with a_house(path, settings=temporal_kg) as house:
        facts = await house.org.query(CALLER, OrgMemoryQuery())
        assert [fact.content for fact in facts] == ["Billing uses Kafka."]
        life = await house.org.past.timeline(CALLER, "Billing")
        assert [one.statement.evidence.quote for one in life.stretches] == ["Billing uses Kafka"]


async def test_a_damaged_fact_on_a_path_stops_no_query(path: Path) -> None:
    graph_rag = Settings(org_memory=org_memory_config({"backend": "graph_rag"}))
    async with a_house(path, settings=graph_rag) as house:
        texts = ("Billing uses Redis.", "Redis is part of Storage.", "Redis uses Linux.")
        ids = await wrote(house, *texts)
        asked = OrgMemoryQuery(context="Billing")
        assert {fact.id for fact in await house.org.query(CALLER, asked)} == set(ids)
    with tampering(path) as conn:
        conn.execute("UPDATE org_fact SET tags = '[\"a\"]' WHERE fact_id = ?", (ids[1],))
    async with a_house(path, settings=graph_rag) as house:
        assert {fact.id for fact in await house.org.query(CALLER, asked)} == {ids[0], ids[2]}


async def test_what_was_superseded_long_ago_is_not_told_and_not_erased(path: Path) -> None:
    """docs/decisions/0048."""
    clock = HeldClock()
    start = clock.now
    days = org_memory_config({"backend": "temporal_kg", "temporal": {"history_retention_days": 30}})
    async with a_house(path, clock, settings=Settings(org_memory=days)) as house:
        (fact_id,) = await wrote(house, "one")
        for content in ("two", "three"):
            clock.advance(days=10)
            await house.org.write(CALLER, a_request(content, fact_id=fact_id), author=HUMAN)
        clock.advance(days=25)  # "one" was superseded 35 days ago, "two" 25
        history = await house.org.history(CALLER, fact_id)
        assert [entry.content for entry in history] == ["two", "three"]
        with pytest.raises(OrgMemoryQueryError, match="is hidden"):
            await house.org.snapshot_at(CALLER, start)
        (stood,) = await house.org.snapshot_at(CALLER, clock.now - timedelta(days=30))
        assert stood.content == "two"
        assert (await house.upkeep.check(CALLER)).ok
    async with a_house(path, clock) as house:
        assert len(await house.org.history(CALLER, fact_id)) == 3
        assert (await house.org.snapshot_at(CALLER, start))[0].content == "one"


async def test_without_tracking_changes_only_the_present_is_told(tmp_path: Path) -> None:
    """docs/decisions/0048."""
    clock = HeldClock()
    now_only = org_memory_config({"temporal": {"track_changes": False}})
    settings = Settings(org_memory=now_only)
    async with a_house(tmp_path / "memd.db", clock, settings=settings) as house:
        (fact_id,) = await wrote(house, "one")
        clock.advance(days=1)
        await house.org.write(CALLER, a_request("two", fact_id=fact_id), author=HUMAN)
        clock.advance(days=1)
        history = await house.org.history(CALLER, fact_id)
        assert [entry.content for entry in history] == ["two"]
        with pytest.raises(OrgMemoryQueryError):
            await house.org.snapshot_at(CALLER, clock.now - timedelta(days=1))
        assert len(await house.org.snapshot_at(CALLER, clock.now)) == 1


async def test_words_that_every_fact_holds_decide_only_where_no_rarer_one_does(
    house: Rooms,
) -> None:
    await wrote(house, "Use Litestar for services", "Use Litestar for billing", "Use Litestar")
    asked = "must we use litestar in this unheard-of case?"
    assert len(await contents(house, asked)) == 3
    assert await contents(house, "litestar and billing") == ["Use Litestar for billing"]


async def test_the_log_and_the_facts_are_two_tables_with_one_row_a_version_and_one_a_fact(
    house: Rooms,
) -> None:
    """SPEC 15.5.1: a version of a fact is there once, whoever tries to write it."""
    (fact_id,) = await wrote(house, "one")
    await house.org.write(CALLER, a_request("two", fact_id=fact_id), author=HUMAN)

    counted = "SELECT (SELECT count(*) FROM org_operation), (SELECT count(*) FROM org_fact)"
    assert await house.db.read(lambda conn: conn.execute(counted).fetchone()) == (2, 1)
    with pytest.raises(apsw.ConstraintError):
        await house.db.write(CALLER, lambda conn: conn.execute(_A_VERSION_AGAIN).get)


_A_VERSION_AGAIN = """
INSERT INTO org_operation (operation_id, fact_id, version, kind, category, content, is_human,
                           client, at_us, row_hash, salt)
SELECT 'another', fact_id, version, kind, category, content, is_human, client, at_us, row_hash, salt
  FROM org_operation
"""
