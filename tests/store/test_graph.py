"""The graph of what is told: its names, its hops, and learning that gives way to other work."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from support.daemon import WAIT_S, until
from support.store import ADA, a_house, stored, tampering

from memd.backends.rooms import Rooms
from memd.base.limits import LEARN_ROWS
from memd.domain.memory import MemoryUpdate
from memd.domain.org.graph import ExtractedStatement
from memd.org import relation_extraction
from memd.store.file.connect import Writing
from memd.store.memory import flagged, memories

PEOPLE = (
    "Anna Berg", "Bruno Costa", "Carla Diaz", "David Engel", "Elif Demir", "Farid Haddad",
    "Greta Holm", "Hugo Laurent", "Ines Moreau", "Jonas Keller", "Kavya Rao", "Luca Ferri",
    "Mara Novak", "Nils Olsen", "Olga Petrova", "Pedro Ramos", "Quinn Sawyer", "Rosa Silva",
    "Sven Thorsen", "Tara Walsh", "Umar Zaman", "Vera Lind", "Willem Bakker", "Yuki Tanaka",
    "Annabel Berger", "Bruna Costas",
)  # fmt: skip
TEAMS = tuple(
    f"the {name} team"
    for name in ("Search", "Search Quality", "Billing", "Payments", "Mobile", "Platform")
)
PRODUCTS = ("Atlas", "Beacon", "Comet", "Drift", "Ember", "Falcon", "Glacier", "Harbor")
TOOLS = ("Kafka", "RabbitMQ", "Airflow", "Grafana", "Terraform", "Celery", "Sentry", "Bazel")
STORES = ("PostgreSQL", "MongoDB", "Cassandra", "Redis", "ClickHouse")
OLD = ("Nagios", "Jenkins", "Subversion", "Fabric", "Splunk")
CITIES = ("Oslo", "Lisbon", "Dublin", "Vienna", "Porto", "Turin", "Ghent")

SENTENCES: dict[str, tuple[str, ...]] = {
    "member_of": ("{a} works for {b}.", "{a} is a member of {b}.", "{a} joined {b}."),
    "leads": ("{a} leads {b}.", "{b} is led by {a}.", "{a} is the head of {b}."),
    "uses": ("{A} uses {b}.", "{A} relies on {b}.", "{A} works with {b}."),
    "not uses": ("{A} does not use {b}.", "{A} must not use {b}."),
    "owns": ("{A} owns {b}.", "{A} is responsible for {b}.", "{b} is owned by {a}."),
    "depends_on": ("{a} depends on {b}.", "{a} is built on {b}."),
    "located_in": ("{A} is based in {b}.", "{A} is located in {b}."),
    "hosted": ("{a} is hosted in {b}.", "{a} runs in {b}."),
    "lives": ("{a} lives in {b}.", "{a} is based in {b}."),
    "reports_to": ("{a} reports to {b}.",),
    "replaces": ("{a} replaced {b}.", "{b} was replaced by {a}."),
}  # fmt: skip

DISTRACTORS = (
    "Maybe {team} uses {tool}?",
    "{person} asked whether {team} should use {tool}.",
    "Does {person} lead {team}?",
    "I heard that {person} reports to {other}.",
    "If {team} used {tool}, it would be faster.",
    "{person} and {other} had lunch in {city}.",
    "{tool} came up in the meeting with {person}.",
    "{person} wants {team} to own {product}.",
    "Somebody said that {product} depends on {store}.",
    "They moved it from {city}.",
)


@dataclass
class Company:
    """A small company in sentences. Its *labels*, pairs by relation, are the truth.

    Among the sentences are some that must not become edges: refusals, doubts, questions, hearsay.
    """

    labels: dict[str, set[tuple[str, str]]] = field(default_factory=dict)
    sentences: list[str] = field(default_factory=list)

    def ahead(self, relation: str, things: set[str]) -> set[str]:
        """Return the objects of *things*."""
        return {b for a, b in self.labels[relation] if a in things}

    def back(self, relation: str, things: set[str]) -> set[str]:
        """Return the subjects of *things*."""
        return {a for a, b in self.labels[relation] if b in things}


@dataclass(frozen=True)
class Question:
    """A question, how many hops it takes, and everything that answers it."""

    text: str
    hops: int
    answers: frozenset[str]


def a_company(seed: int) -> Company:
    """Return a company that is another one for each *seed*."""
    chance = random.Random(seed)
    company = Company()
    for relation, a, b, shape in _drawn(chance):
        company.labels.setdefault(relation, set()).add((a, b))
        text = chance.choice(SENTENCES[shape]).format(a=a, b=b, A=a[0].upper() + a[1:])
        company.sentences.append(text[0].upper() + text[1:])
    company.sentences.extend(_distracting(chance) for _ in range(40))
    chance.shuffle(company.sentences)
    return company


def _drawn(chance: random.Random) -> Iterator[tuple[str, str, str, str]]:
    """Yield relation, subject and object of each label, and which sentences say it."""
    *leads, boss = chance.sample(PEOPLE, len(TEAMS) + 1)
    for team, lead in zip(TEAMS, leads, strict=True):
        yield "leads", lead, team, "leads"
        yield "reports_to", lead, boss, "reports_to"
        yield "located_in", team, chance.choice(CITIES), "located_in"
        used = chance.sample(TOOLS, 3)
        yield from (("uses", team, tool, "uses") for tool in used[:2])
        yield "not uses", team, used[2], "not uses"
    for person in PEOPLE:
        if person not in {*leads, boss}:
            yield "member_of", person, chance.choice(TEAMS), "member_of"
        yield "lives_in", person, chance.choice(CITIES), "lives"
    for thing in PRODUCTS:
        yield "owns", chance.choice(TEAMS), thing, "owns"
        for store in chance.sample(STORES, chance.choice((1, 2))):
            yield "depends_on", thing, store, "depends_on"
    for thing in (*TOOLS, *STORES):
        yield "hosted_in", thing, chance.choice(CITIES), "hosted"
    for new, old in zip(chance.sample(TOOLS, len(OLD)), OLD, strict=True):
        yield "replaces", new, old, "replaces"


def _distracting(chance: random.Random) -> str:
    person, other = chance.sample(PEOPLE, 2)
    return chance.choice(DISTRACTORS).format(
        person=person,
        other=other,
        team=chance.choice(TEAMS),
        tool=chance.choice(TOOLS),
        product=chance.choice(PRODUCTS),
        store=chance.choice(STORES),
        city=chance.choice(CITIES),
    )


def questions(company: Company) -> Iterator[Question]:
    """Yield questions of two and three hops in several wordings; some have no answer."""
    for made in (_of_people, _of_teams, _of_products, _of_tools, _of_places):
        for texts, hops, answers in made(company):
            for text in texts:
                yield Question(text, hops, frozenset(answers))


_Made = tuple[tuple[str, ...], int, set[str]]


def _of_people(c: Company) -> Iterator[_Made]:
    for person in PEOPLE:
        works_for = c.ahead("member_of", {person})
        led = c.ahead("leads", {person})
        team = works_for or led  # "Ann's team"
        lead = c.back("leads", works_for)  # who leads it is not asked after the lead's own lead
        used = c.ahead("uses", team)
        yield (
            (f"Who leads the team that {person} works for?", f"Who leads {person}'s team?"),
            2,
            lead,
        )
        yield (
            (f"Which tools does {person}'s team use?", f"What does the team of {person} use?"),
            2,
            used,
        )
        yield (f"What must {person}'s team not use?",), 2, c.ahead("not uses", team)
        yield (f"Where is {person}'s team based?",), 2, c.ahead("located_in", team)
        yield (f"What is {person}'s team responsible for?",), 2, c.ahead("owns", team)
        yield (
            (
                f"In which city is the tool hosted that {person}'s team uses?",
                f"Where are the tools hosted that the team of {person} works with?",
            ),
            3,
            c.ahead("hosted_in", used),
        )
        yield (
            (f"Who does the lead of {person}'s team report to?",),
            3,
            c.ahead("reports_to", lead),
        )
        yield (
            (f"To whom does the leader of the team that {person} works for report?",),
            3,
            c.ahead("reports_to", c.back("leads", works_for)),
        )
        yield (
            (f"What does the product that {person}'s team owns depend on?",),
            3,
            c.ahead("depends_on", c.ahead("owns", team)),
        )
        yield ((f"What does the team led by {person} use?",), 2, c.ahead("uses", led))
        yield (f"Where is the team located that {person} leads?",), 2, c.ahead("located_in", led)
        yield (
            (f"Which database does the product owned by the team that {person} leads depend on?",),
            3,
            c.ahead("depends_on", c.ahead("owns", led)),
        )


def _of_teams(c: Company) -> Iterator[_Made]:
    for team in TEAMS:
        lead = c.back("leads", {team})
        yield (
            (f"Who does the lead of {team} report to?", f"Who does {team}'s lead report to?"),
            2,
            c.ahead("reports_to", lead),
        )
        yield (
            (
                f"Where does the person live who leads {team}?",
                f"Where does the lead of {team} live?",
            ),
            2,
            c.ahead("lives_in", lead),
        )
        yield (
            (f"Where are the tools hosted that {team} uses?",),
            2,
            c.ahead("hosted_in", c.ahead("uses", {team})),
        )
        yield (
            (f"What do the products that {team} owns depend on?",),
            2,
            c.ahead("depends_on", c.ahead("owns", {team})),
        )


def _of_products(c: Company) -> Iterator[_Made]:
    for thing in PRODUCTS:
        team = c.back("owns", {thing})
        lead = c.back("leads", team)
        yield (
            (f"Who leads the team that owns {thing}?", f"Who leads the owner of {thing}?"),
            2,
            lead,
        )
        yield (f"Who works for the team that owns {thing}?",), 2, c.back("member_of", team)
        yield (
            (f"Where is the team based that is responsible for {thing}?",),
            2,
            c.ahead("located_in", team),
        )
        yield (
            (f"Where does the person live who leads the team that owns {thing}?",),
            3,
            c.ahead("lives_in", lead),
        )
        yield (
            (f"Who does the person report to that leads the team that owns {thing}?",),
            3,
            c.ahead("reports_to", lead),
        )


def _of_tools(c: Company) -> Iterator[_Made]:
    for thing in TOOLS:
        teams = c.back("uses", {thing})
        yield (f"Who leads a team that uses {thing}?",), 2, c.back("leads", teams)
        yield ((f"Where are the teams located that use {thing}?",), 2, c.ahead("located_in", teams))
        yield (f"What does the team own that uses {thing}?",), 2, c.ahead("owns", teams)
    for thing in STORES:
        teams = c.back("owns", c.back("depends_on", {thing}))
        yield (f"Which team owns a product that depends on {thing}?",), 2, teams
        yield (
            (f"Who leads the team that owns the product that depends on {thing}?",),
            3,
            c.back("leads", teams),
        )
    for thing in OLD:
        teams = c.back("uses", c.back("replaces", {thing}))
        yield (f"Which teams use what replaced {thing}?",), 2, teams
        yield (f"Which teams use the replacement for {thing}?",), 2, teams
        yield (f"Who leads a team that uses the successor of {thing}?",), 3, c.back("leads", teams)


def _of_places(c: Company) -> Iterator[_Made]:
    for city in CITIES:
        there = c.back("located_in", {city})
        yield (f"Who leads a team that is based in {city}?",), 2, c.back("leads", there)
        tools = c.back("hosted_in", {city}) & set(TOOLS)
        users = c.back("uses", tools)
        yield (f"Which teams use a tool that is hosted in {city}?",), 2, users
        yield (
            (f"Who works for a team that uses a tool hosted in {city}?",),
            3,
            c.back("member_of", users),
        )


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
    house: Rooms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relation_extraction, "LEARN_QUIET_MS", 10)
    monkeypatch.setattr(relation_extraction, "WAITS_MAX", 1_000_000)
    await stored(house, *(f"Team T{n} uses Tool{n}." for n in range(2 * LEARN_ROWS)))
    looks = 0

    def quiet_s() -> float:
        nonlocal looks
        looks += 1
        return 0.0

    house.relation_extractor.quiet_s = quiet_s
    reading = asyncio.create_task(house.relation_extractor.drain(gently=True))
    await until(lambda: looks > 2, "it waits for quiet")
    assert await learnt(house) == LEARN_ROWS
    house.relation_extractor.quiet_s = lambda: 60.0
    assert await asyncio.wait_for(reading, WAIT_S) == 2 * LEARN_ROWS
    assert await learnt(house) == 2 * LEARN_ROWS


async def learnt_texts(house: Rooms) -> list[str]:
    rows = await house.db.read(
        lambda conn: conn.execute(
            """
            SELECT a.name || ' ' || s.relation || ' ' || b.name
              FROM statement AS s
                   JOIN entity AS a ON a.entity_key = s.subject_key
                   JOIN entity AS b ON b.entity_key = s.object_key
             ORDER BY 1
            """
        ).fetchall()
    )
    return [str(text) for (text,) in rows]


@dataclass
class Meanwhile:
    """Reads nothing, and does something the first time it is called."""

    change: Callable[[], Awaitable[object]] | None

    async def read(self, texts: Mapping[int, str]) -> Mapping[int, tuple[ExtractedStatement, ...]]:
        assert texts
        change, self.change = self.change, None
        if change is not None:
            await change()
        return {}


@pytest.mark.parametrize("is_queued", [False, True])
async def test_what_is_rewritten_while_it_is_read_is_read_again(
    house: Rooms, *, is_queued: bool
) -> None:
    (memory_id,) = await stored(house, "Billing uses Redis.")
    if is_queued:
        await house.relation_extractor.drain()
        await house.ingest.update(ADA, memory_id, MemoryUpdate(content="Billing uses Postgres."))
    last = MemoryUpdate(content="Billing uses Kafka.")
    house.relation_extractor.reader = Meanwhile(lambda: house.ingest.update(ADA, memory_id, last))
    await house.relation_extractor.drain()
    assert await learnt_texts(house) == ["Billing uses Kafka"]


@pytest.mark.parametrize("is_queued", [False, True])
async def test_what_is_quarantined_while_it_is_read_has_no_statements(
    house: Rooms, *, is_queued: bool
) -> None:
    (memory_id,) = await stored(house, "Billing uses Redis.")
    if is_queued:
        await house.relation_extractor.drain()
        await house.ingest.update(ADA, memory_id, MemoryUpdate(content="Billing uses Postgres."))

    def quarantine(conn: Writing) -> None:
        key = memories.find_key(conn, memory_id)
        assert key is not None
        flagged.quarantine(conn, key, (), 1)

    house.relation_extractor.reader = Meanwhile(lambda: house.db.write(ADA, quarantine))
    await house.relation_extractor.drain()
    assert await learnt_texts(house) == []


async def test_no_answer_rests_on_what_cannot_be_read_and_others_go_on(path: Path) -> None:
    async with a_house(path) as house:
        ids = await stored(house, "Billing uses Redis.", "Billing uses Kafka.")
        await house.relation_extractor.drain()
    with tampering(path) as conn:
        conn.execute("UPDATE memory SET content = CAST(x'ef' AS TEXT) WHERE memory_id = ?", ids[:1])
    async with a_house(path) as house:
        answer = await house.graph.query(ADA, "What does Billing use?")
        assert [item.name for item in answer.items] == ["Kafka"]


async def test_a_damaged_memory_keeps_no_other_from_being_read(path: Path) -> None:
    async with a_house(path) as house:
        ids = await stored(house, "Billing uses Redis.", "Ann leads Billing.", "Shop uses Kafka.")
        await house.relation_extractor.drain()
        await house.ingest.update(ADA, ids[1], MemoryUpdate(content="Bob leads Billing."))
    with tampering(path) as conn:
        conn.execute("DELETE FROM meta WHERE key = 'statements of memories'")
        conn.execute("DELETE FROM statement")
        conn.execute(
            "UPDATE memory SET content = CAST(x'ef' AS TEXT) WHERE memory_id = ?", ids[1:2]
        )
    async with a_house(path) as house:
        await house.relation_extractor.drain()
        assert await learnt_texts(house) == ["Billing uses Redis", "Shop uses Kafka"]
        assert await house.relation_extractor.drain() == 0
