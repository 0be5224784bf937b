"""Contradictions on a real file: which statements they end, and who may make them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.clocks import HeldClock
from support.org import CALLER, HUMAN, SENIOR, a_request, wrote
from support.store import a_house, a_writer, locked

from memd.backends.rooms import Rooms
from memd.base.errors import BusyError, NotFoundError
from memd.domain.org.graph import STATEMENTS_VERSION as VERSION
from memd.domain.org.history import AsOfQuery
from memd.domain.org.org import OrgFactAuthor
from memd.domain.settings.settings import Settings
from memd.org import fact_reader, temporal
from memd.store.org import extraction, org
from memd.store.org import statements as store
from memd.store.org.extraction import ExtractionProgress


async def held(house: Rooms, subject: str | None = None) -> list[str]:
    """Return what holds now, in the order of the log."""
    past = await house.org.past.as_of(CALLER, AsOfQuery(subject=subject, limit=100))
    return [
        f"{one.subject} {'not ' * one.negated}{one.relation} {one.object}"
        for item in reversed(past.items)
        for one in item.statements
    ]


@pytest.mark.parametrize(
    ("texts", "left"),
    [
        (
            ["Flask is the standard.", "Litestar is the standard."],
            ["the team standardises_on Litestar"],
        ),
        (
            ["Flask is the standard for admin.", "Litestar is the standard for services."],
            ["the team standardises_on Flask", "the team standardises_on Litestar"],
        ),
        (["Ann uses Redis.", "Ann uses Kafka."], ["Ann uses Redis", "Ann uses Kafka"]),
        (["Billing uses Redis.", "Billing does not use Redis."], ["Billing not uses Redis"]),
        (["Billing does not use Redis.", "Billing uses Redis."], ["Billing uses Redis"]),
        (["Billing uses Redis.", "Billing uses Redis until 2026-01."], []),
        (["Ann owns Billing.", "Bob owns Billing."], ["Bob owns Billing"]),
        (["Ann owns Billing.", "Ann owns Ledger."], ["Ann owns Billing", "Ann owns Ledger"]),
        (["Ann is the QA lead.", "Bob is the QA lead."], ["the QA lead is Bob"]),
        (["Don't use Flask.", "Exception: the data team uses Flask."], [
            "the team not uses Flask", "the data team except_for the team",
            "the data team uses Flask",
        ]),
    ],
)  # fmt: skip
async def test_a_later_text_ends_what_it_contradicts_and_nothing_else(
    house: Rooms, clock: HeldClock, texts: list[str], left: list[str]
) -> None:
    for text in texts:
        await wrote(house, text)
        clock.advance(days=1)
    assert await held(house) == left


async def test_a_step_of_learning_again_ends_early_where_many_claims_can_contradict(
    tmp_path: Path, clock: HeldClock
) -> None:
    path = tmp_path / "memd.db"
    async with a_house(path, clock) as house:
        count = temporal.RELEARN_OPERATIONS
        await wrote(house, *(f"A{number} is the standard." for number in range(count)))
    with a_writer(path) as conn:
        store.unlearn(conn, temporal.UNLEARN_ROWS)
        extraction.set_progress(conn, ExtractionProgress(VERSION, 0))
        assert temporal.relearn(conn)
        progress = extraction.get_progress(conn)
        assert progress is not None
        assert progress.upto is not None
        assert 20 < progress.upto < count


async def test_contradictions_in_a_circle_leave_the_last_word(
    house: Rooms, clock: HeldClock
) -> None:
    ids = await wrote(house, "A1 is the standard.", "B1 is the standard.", "C1 is the standard.")
    for _ in range(3):
        for fact_id, name in zip(ids, ("A1", "B1", "C1"), strict=True):
            clock.advance(hours=1)
            request = a_request(f"{name} is the standard.", fact_id=fact_id)
            await house.org.write(CALLER, request, author=HUMAN)
            assert await held(house) == [f"the team standardises_on {name}"]
    life = await house.org.past.timeline(CALLER, "the team")
    current = [one for one in life.stretches if one.statement.known_to is None]
    assert len([one for one in current if one.statement.valid_to is None]) == 1


async def test_all_at_the_same_moment_the_last_one_holds(house: Rooms) -> None:
    await wrote(house, "Flask is the standard.", "Litestar is the standard.", "X1 is the standard.")
    assert await held(house) == ["the team standardises_on X1"]


async def test_what_a_retracted_text_had_ended_holds_again(house: Rooms, clock: HeldClock) -> None:
    await wrote(house, "Flask is the standard.")
    clock.advance(days=1)
    (wrong,) = await wrote(house, "Litestar is the standard.")
    clock.advance(days=1)
    await house.org.retract(CALLER, wrong, author=HUMAN)
    assert await held(house) == ["the team standardises_on Flask"]


async def test_an_agent_ends_nothing_that_a_human_said(house: Rooms, clock: HeldClock) -> None:
    await wrote(house, "Flask is the standard.", category="core_policy")
    clock.advance(days=1)
    await wrote(house, "Litestar is the standard.", author=SENIOR)
    assert await held(house) == [
        "the team standardises_on Flask",
        "the team standardises_on Litestar",
    ]
    clock.advance(days=1)
    await wrote(house, "X1 is the standard.")
    assert await held(house) == ["the team standardises_on X1"]


async def test_nobody_ends_what_stands_in_a_category_that_he_may_not_write(tmp_path: Path) -> None:
    tree = {"org_memory": {"write_access": {"adrs": ["human", "lead"], "conventions": ["junior"]}}}
    settings = Settings.model_validate(tree)
    lead = OrgFactAuthor.model_validate({"agent_id": "lea", "seniority": "lead"})
    junior = OrgFactAuthor.model_validate({"agent_id": "jim", "seniority": "junior"})
    clock = HeldClock()
    async with a_house(tmp_path / "memd.db", clock, settings=settings) as house:
        await fact_reader.note_rules(house.db, house.clock, house.org.config)
        clock.advance(days=1)
        await wrote(house, "Flask is the standard.", author=lead, category="adr")
        await wrote(house, "Litestar is the standard.", author=junior, category="convention")
        assert len(await held(house)) == 2
        await wrote(house, "X1 is the standard.", author=lead, category="convention")
        assert await held(house) == ["the team standardises_on X1"]


async def test_rules_are_logged_once_and_when_they_change(path: Path) -> None:
    clock = HeldClock()
    for tree in ({}, {}, {"read_access": {"adr": "lead"}}, {"read_access": {"adr": "lead"}}, {}):
        settings = Settings.model_validate({"org_memory": tree})
        async with a_house(path, clock, settings=settings) as house:
            await fact_reader.note_rules(house.db, house.clock, house.org.config)
        clock.advance(hours=-1)
    with a_writer(path) as conn:
        times = [at_us for at_us, _ in org.list_rules(conn)]
        assert len(times) == 3
        assert times == sorted(set(times))  # though the clock went back


async def test_a_log_from_before_statements_is_learnt_in_the_background(path: Path) -> None:
    async with a_house(path, HeldClock()) as house:
        await wrote(house, "Flask is the standard.", "Litestar is the standard.")
    with a_writer(path) as conn:
        conn.execute("DELETE FROM statement")
        conn.execute("DELETE FROM meta WHERE key = 'statements'")
    async with a_house(path, HeldClock()) as house:
        with pytest.raises(NotFoundError):
            await held(house, "Litestar")
        assert len((await house.org.past.as_of(CALLER, AsOfQuery())).items) == 2
        await wrote(house, "Billing uses Redis.")
        await temporal.catch_up(house.db)
        assert await held(house) == ["the team standardises_on Litestar", "Billing uses Redis"]
    with a_writer(path) as conn:
        assert not temporal.is_stale(conn)
        assert extraction.get_progress(conn) == ExtractionProgress(VERSION, None)


@pytest.mark.usefixtures("impatient")
async def test_a_locked_file_is_busy_and_what_was_not_written_is_not_learnt(house: Rooms) -> None:
    await wrote(house, "Flask is the standard.")
    with locked(house.db.path):
        with pytest.raises(BusyError):
            await wrote(house, "Litestar is the standard.")
        # Both say so in the log, and go on.
        await fact_reader.note_rules(house.db, house.clock, house.org.config)
        await temporal.catch_up(house.db)
        assert await held(house) == ["the team standardises_on Flask"]
    await wrote(house, "Litestar is the standard.")
    assert await held(house) == ["the team standardises_on Litestar"]


DAY = timedelta(days=1)
US = timedelta(microseconds=1)


async def versions_at(house: Rooms, valid: datetime) -> list[str]:
    """Return the texts of the facts valid then, as known now, in the order of the log."""
    past = await house.org.past.as_of(CALLER, AsOfQuery(valid=valid, limit=100))
    return [item.fact.content for item in reversed(past.items)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Billing uses Redis.", "Billing uses Kafka."),  # all of it is statements
        ("Ask Zoe before a release.", "Ask Yan before a release."),  # none of it is
    ],
)
async def test_a_version_holds_until_the_next_one_begins(
    house: Rooms, clock: HeldClock, old: str, new: str
) -> None:
    (fact_id,) = await wrote(house, old)
    (policy_id,) = await wrote(house, old, category="core_policy")
    begin = clock.now + 7 * DAY
    clock.advance(days=1)
    await wrote(house, new, fact_id=fact_id, valid_from=begin)
    await wrote(house, new, fact_id=policy_id, valid_from=begin, category="core_policy")
    for valid, text in ((begin - DAY, old), (begin - US, old), (begin, new)):
        assert await versions_at(house, valid) == [text, text]
    for text in (old, new):
        assert [fact.content for fact in await house.org.list_policies(CALLER)] == [text]
        assert await house.org.count_policies(CALLER) == 1
        candidates = await house.org.find_candidates(CALLER, new)
        assert [fact.content for fact in candidates.by_words] == [text]
        clock.advance(days=7)
    await house.org.retract(CALLER, fact_id, author=HUMAN)
    await house.org.retract(CALLER, policy_id, author=HUMAN)
    assert await versions_at(house, begin - DAY) == []
    assert await house.org.list_policies(CALLER) == ()


async def test_a_fact_is_current_while_a_part_of_it_holds(house: Rooms, clock: HeldClock) -> None:
    text = f"Our bank is BPER until {clock.now + 30 * DAY:%Y-%m-%d}, then Intesa Sanpaolo."
    await wrote(house, text)
    assert await held(house) == ["the bank is BPER"]
    clock.advance(days=60)
    assert await held(house) == ["the bank is Intesa Sanpaolo"]
    candidates = await house.org.find_candidates(CALLER, "which bank?")
    assert [fact.content for fact in candidates.by_words] == [text]


async def test_a_timeline_of_a_fact_has_its_versions(house: Rooms, clock: HeldClock) -> None:
    (fact_id,) = await wrote(house, "Ask Zoe before a release.")
    first, begin = clock.now, clock.now + 7 * DAY
    clock.advance(days=1)
    await wrote(house, "Ask Yan.", fact_id=fact_id, valid_from=begin, valid_to=begin + 9 * DAY)
    life = await house.org.past.timeline(CALLER, fact_id)
    assert life.stretches == ()
    spans = [(one.quote, one.valid_from, one.valid_to, one.said_at) for one in life.versions]
    assert spans == [
        ("Ask Zoe before a release.", None, begin, first),
        ("Ask Yan.", begin, begin + 9 * DAY, first + DAY),
    ]
    assert {(one.said_by, one.known_to) for one in life.versions} == {(HUMAN, None)}
    clock.advance(days=1)
    await wrote(house, "Ask nobody.", fact_id=fact_id)
    clock.advance(days=1)
    await house.org.retract(CALLER, fact_id, author=HUMAN)
    life = await house.org.past.timeline(CALLER, fact_id)
    replaced = [(one.version, one.known_to) for one in life.versions]
    assert replaced == [(1, first + 2 * DAY), (2, first + 2 * DAY), (3, first + 3 * DAY)]
    with pytest.raises(NotFoundError):
        await house.org.past.timeline(CALLER, fact_id[:-1] + "x")


async def test_a_version_that_names_no_beginning_replaces_all_before_it(
    house: Rooms, clock: HeldClock
) -> None:
    (fact_id,) = await wrote(house, "Billing uses Redis. Ask Zoe.")
    begin = clock.now + 7 * DAY
    for text, start in (("Billing uses Kafka.", begin), ("Billing uses NATS. Ask Yan.", None)):
        clock.advance(days=1)
        await wrote(house, text, fact_id=fact_id, valid_from=start)
    for valid in (begin - 30 * DAY, begin, begin + DAY):
        assert await versions_at(house, valid) == ["Billing uses NATS. Ask Yan."]


async def test_what_a_version_had_ended_holds_again_when_the_next_one_begins(
    house: Rooms, clock: HeldClock
) -> None:
    await wrote(house, "Flask is the standard.")
    clock.advance(days=1)
    (fact_id,) = await wrote(house, "Litestar is the standard.")
    clock.advance(days=1)
    begin = clock.now + 7 * DAY
    await wrote(house, "We have no opinion.", fact_id=fact_id, valid_from=begin)
    assert await held(house) == ["the team standardises_on Litestar"]
    (ended,) = [
        one
        for one in (await house.org.past.timeline(CALLER, fact_id)).stretches
        if one.statement.known_to is None
    ]
    assert (ended.statement.valid_to, ended.ended_by) == (begin, HUMAN)
    near = await house.graph.neighbours(CALLER, "Litestar")
    assert [one.relation for one in near.items] == ["standardises_on"]
    clock.advance(days=8)
    assert await held(house) == ["the team standardises_on Flask"]


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        ("what is the rent?", ["900"]),
        ("what is the rent in february 2027?", ["900", "1,000"]),
        ("what was the rent in march?", ["900", "800"]),
        ("what was the rent in march 2025?", ["900"]),
    ],
)
async def test_a_question_about_a_time_also_finds_what_held_then(
    house: Rooms, clock: HeldClock, question: str, texts: list[str]
) -> None:
    first = datetime(2026, 1, 1, tzinfo=UTC)
    (fact_id,) = await wrote(house, "The rent is 800 euro.", valid_from=first)
    for begin, euro in ((first.replace(month=7), "900"), (first.replace(year=2027), "1,000")):
        await wrote(house, f"The rent is {euro} euro.", fact_id=fact_id, valid_from=begin)
    clock.now = datetime(2026, 12, 1, 12, tzinfo=UTC)
    candidates = await house.org.find_candidates(CALLER, question)
    assert [fact.content.split()[3] for fact in candidates.by_words] == texts
    now = candidates.by_words[0]
    assert (now.valid_from, now.valid_to) == (
        datetime(2026, 7, 1, tzinfo=UTC),
        datetime(2027, 1, 1, tzinfo=UTC),
    )


async def test_a_fact_holds_since_it_ended_another(house: Rooms, clock: HeldClock) -> None:
    await wrote(house, "Flask is the standard.")
    clock.advance(days=1)
    await wrote(house, "Litestar is the standard.")
    (fact,) = (await house.org.find_candidates(CALLER, "which standard?")).by_words
    assert (fact.content, fact.valid_from) == ("Litestar is the standard.", clock.now)
