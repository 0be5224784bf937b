"""Texts become statements: what is understood, and what says nothing on purpose."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.base.clock import from_us, to_us
from memd.extract.statements import STATEMENTS_MAX, covers, extract_statements
from memd.extract.verbs import RELATIONS

NOW_US = to_us(datetime(2026, 11, 21, 12, tzinfo=UTC))


def statements_in(text: str) -> list[str]:
    """Return what *text* says, in a short form: subject relation object [for what] [times]."""
    lines = []
    for one in extract_statements(text, NOW_US, speaker="Ann"):
        line = f"{one.subject} {'not ' * one.negated}{one.relation} {one.object}"
        line += f" for {one.qualifier}" if one.qualifier else ""
        line += f" from {day(one.valid_from_us)}" if one.valid_from_us is not None else ""
        line += f" to {day(one.valid_to_us)}" if one.valid_to_us is not None else ""
        lines.append(line)
    return lines


def day(moment_us: int) -> str:
    return f"{from_us(moment_us):%Y-%m-%d}"


UNDERSTOOD = {
    "Litestar is the standard": ["the team standardises_on Litestar"],
    "PostgreSQL is our standard for relational storage.": [
        "the team standardises_on PostgreSQL for relational storage"
    ],
    "The standard web framework is Litestar.": [
        "the team standardises_on Litestar for web framework"
    ],
    "The data team's default is Django.": ["The data team standardises_on Django"],
    "don't use Flask": ["the team not uses Flask"],
    "Use Litestar, not Flask": ["the team uses Litestar", "the team not uses Flask"],
    "The team always uses Litestar, not Flask": [
        "the team uses Litestar",
        "the team not uses Flask",
    ],
    "exception: the data team uses Django for admin": [
        "the data team except_for the team",
        "the data team uses Django for admin",
    ],
    "Litestar is the standard. Don't use Flask. Exception: the data team uses Django for admin.": [
        "the team standardises_on Litestar",
        "the team not uses Flask",
        "the data team except_for Flask",
        "the data team uses Django for admin",
    ],
    "Don't use Flask, except the data team, which uses Django for admin": [
        "the team not uses Flask",
        "the data team except_for Flask",
        "the data team uses Django for admin",
    ],
    "The data team may use Django.": ["the data team uses Django"],
    "The team used Flask until March 2026, then switched to Litestar": [
        "the team uses Flask to 2026-03-01",
        "the team uses Litestar from 2026-03-01",
        "Litestar replaces Flask from 2026-03-01",
    ],
    "Our bank is BPER until June 2026, then Intesa Sanpaolo.": [
        "the bank is BPER to 2026-06-01",
        "the bank is Intesa Sanpaolo from 2026-06-01",
    ],
    "Our provider was Planetel until May 2026, now Fastweb.": [
        "the provider is Planetel to 2026-05-01",
        "the provider is Fastweb from 2026-05-01",
    ],
    "We used Planetel until May 2026 and Fastweb since June 2026.": [
        "the team uses Planetel to 2026-05-01",
        "the team uses Fastweb from 2026-06-01",
    ],
    "Our insurer is Reale Mutua until June 2027, Unipol afterwards.": [
        "the insurer is Reale Mutua to 2027-06-01",
        "the insurer is Unipol from 2027-06-01",
    ],
    "Billing is owned by Ann until 2025, then Bob until 2026, then Carol.": [
        "Ann owns Billing to 2025-01-01",
        "Bob owns Billing from 2025-01-01 to 2026-01-01",
        "Carol owns Billing from 2026-01-01",
    ],
    "Our standard for APIs is Flask until 2026, and from then on Litestar.": [
        "the team standardises_on Flask for APIs to 2026-01-01",
        "the team standardises_on Litestar for APIs from 2026-01-01",
    ],
    "Ann owns Billing until 2025, then Bob.": ["Ann owns Billing to 2025-01-01"],
    "Our structural engineer is Ing. Valsecchi.": ["the structural engineer is Ing. Valsecchi"],
    "Our lawyer is Avv. Dr. Pezzotta. Our client is Sig. Locati.": [
        "the lawyer is Avv. Dr. Pezzotta",
        "the client is Sig. Locati",
    ],
    "The deputy is geom. Carrara.": ["the deputy is geom. Carrara"],
    "We use Fatture in Cloud, not Danea.": [
        "the team uses Fatture in Cloud",
        "the team not uses Danea",
    ],
    "Ann uses Zoom and Fatture in Cloud for invoices.": [
        "Ann uses Zoom for invoices",
        "Ann uses Fatture in Cloud for invoices",
    ],
    "We use Flask in May.": ["the team uses Flask for May"],
    "We use Flask in the API.": ["the team uses Flask for the API"],
    "Our bank is BPER, then Intesa Sanpaolo.": ["the bank is BPER"],
    "We switched from Flask to Litestar in March 2026.": [
        "the team uses Flask to 2026-03-01",
        "the team uses Litestar from 2026-03-01",
        "Litestar replaces Flask from 2026-03-01",
    ],
    "We migrated to Postgres from MySQL on 2026-03-05.": [
        "the team uses MySQL to 2026-03-05",
        "the team uses Postgres from 2026-03-05",
        "Postgres replaces MySQL from 2026-03-05",
    ],
    "We replaced Flask with Litestar last month.": [
        "the team uses Flask to 2026-10-01",
        "the team uses Litestar from 2026-10-01",
        "Litestar replaces Flask from 2026-10-01",
    ],
    "Litestar replaced Flask in Q2 2026": ["Litestar replaces Flask from 2026-04-01"],
    "Flask was replaced by Litestar.": ["Litestar replaces Flask"],
    "We no longer use Jenkins since 2025-06.": ["the team not uses Jenkins from 2025-06-01"],
    "The data team stopped using Airflow in May 2026 and adopted Dagster.": [
        "the data team not uses Airflow from 2026-05-01",
        "the data team uses Dagster",
    ],
    "The team used Subversion.": ["the team uses Subversion to 2026-11-21"],
    "The API uses FastAPI, Redis and Celery for background jobs.": [
        "the API uses FastAPI for background jobs",
        "the API uses Redis for background jobs",
        "the API uses Celery for background jobs",
    ],
    "Billing depends on [[Postgres]] and `redis`.": [
        "Billing depends_on Postgres",
        "Billing depends_on redis",
    ],
    "All PRs require 2 approvals": ["all PRs requires 2 approvals"],
    "I prefer Vim over Emacs.": ["Ann prefers Vim", "Ann not prefers Emacs"],
    "Ann owns the billing service since 2025-03.": ["Ann owns the billing service from 2025-03-01"],
    "Billing is owned by Bob.": ["Bob owns Billing"],
    "The owner of billing-api is Ann.": ["Ann owns billing-api"],
    "billing-api's owner is Ann.": ["Ann owns billing-api"],
    "Ann is the QA lead.": ["the QA lead is Ann"],
    "The QA lead is Ann.": ["The QA lead is Ann"],
    "The QA lead was Bob until 2025.": ["the QA lead is Bob to 2025-01-01"],
    "Ann reports to Carol.": ["Ann reports_to Carol"],
    "Ann joined the data team in 2024.": ["Ann member_of the data team from 2024-01-01"],
    "Ann moved from Berlin to Munich in 2025.": [
        "Ann located_in Berlin to 2025-01-01",
        "Ann located_in Munich from 2025-01-01",
    ],
    "The staging database is hosted on db1.example.com.": [
        "the staging database located_in db1.example.com"
    ],
    "Litestar is a web framework.": ["Litestar is_a web framework"],
    "Ledger is part of Billing.": ["Ledger part_of Billing"],
    "# Billing\nOwner: Ann\nDepends on: Postgres, Redis\nSee [[Payments]].": [
        "Ann owns Billing",
        "Billing depends_on Postgres",
        "Billing depends_on Redis",
        "Billing links_to Payments",
    ],
    "Service: Ledger\n- **Owner:** Bob": ["Bob owns Ledger"],
    "Billing -> depends_on -> Postgres": ["Billing depends_on Postgres"],
    "Billing | owned by | Ann": [],
    "Billing | is owned by | Ann": ["Ann owns Billing"],
    "Foo \u2192 likes \u2192 Bar": ["Foo related_to Bar for likes"],
    "Ask [[Ann]] about [[Billing]].": ["Ann links_to Billing"],
}


@pytest.mark.parametrize("text", UNDERSTOOD)
def test_what_a_text_says_is_understood(text: str) -> None:
    expected = [line.replace("The ", "the ", 1) for line in UNDERSTOOD[text]]
    assert [line.replace("The ", "the ", 1) for line in statements_in(text)] == expected


TIMES = {
    "from 1 March 2026 to 5 April 2026": ("2026-03-01", "2026-04-05"),
    "from January to March 2026": ("2026-01-01", "2026-03-01"),
    "from January through March 2026": ("2026-01-01", "2026-04-01"),
    "between 2025 and 2026": ("2025-01-01", "2026-01-01"),
    "since 2025-03": ("2025-03-01", None),
    "as of Q2 2026": ("2026-04-01", None),
    "starting March 5th, 2024": ("2024-03-05", None),
    "until the end of 2025": (None, "2026-01-01"),
    "through March 2026": (None, "2026-04-01"),
    "in Q2 2026": ("2026-04-01", "2026-07-01"),
    "in 2026 Q4": ("2026-10-01", "2027-01-01"),
    "on 2026-03-05": ("2026-03-05", "2026-03-06"),
    "yesterday": ("2026-11-20", "2026-11-21"),
    "since last week": ("2026-11-09", None),
    "since last quarter": ("2026-07-01", None),
    "since 3 days ago": ("2026-11-18", None),
    "since 2 years ago": ("2024-11-01", None),
    "since 30 February 2026": (None, None),
    "since 2026-13-01": (None, None),
    "from May 2026 to April 2026": (None, None),
}


@pytest.mark.parametrize("words", TIMES)
def test_times_resolve_to_utc_days_and_impossible_ones_say_nothing(words: str) -> None:
    (one,) = extract_statements(f"Billing uses Redis {words}.", NOW_US)
    start, stop = one.valid_from_us, one.valid_to_us
    assert one.object == "Redis"
    assert (start and day(start), stop and day(stop)) == TIMES[words]


def test_without_a_now_relative_words_say_nothing() -> None:
    (one,) = extract_statements("Billing uses Redis since last week.")
    assert one.valid_from_us is None
    assert extract_statements("The team used Subversion.") == ()


CHAT = (
    "Hey, how was your weekend?",
    "It was great, we went hiking with the kids.",
    "I'm so tired today, work is killing me.",
    "Coffee is life!",
    "That's awesome, thanks for sharing.",
    "Caroline is a great friend.",
    "I used to play the piano when I was young.",
    "We moved to a new place last month.",
    "The weather is nice in Berlin.",
    "He left early because of the rain.",
    "She said she joined a gym.",
    "My sister works at a hospital.",
    "The movie was fun.",
    "Dinner was at Luigi's, it was amazing.",
    "I need to buy milk and eggs.",
    "Can you send me the file?",
    "Sure, I'll do it tomorrow.",
    "The meeting is at 3pm on Tuesday.",
    "Everyone needs a break sometimes.",
    "People use their phones too much.",
    "We use every chance we get to travel.",
    "I left my keys on the table.",
    "The dog owns the couch now, lol.",
    "Maybe we should use Rust for this.",
    "If we use Kafka it might be overkill.",
    "Melanie is on vacation.",
    "Tom and I joined the party late.",
    "The kids need new shoes.",
    "Life is a journey.",
    "Nothing is certain.",
    "The food is on the table.",
    "Mom is in the kitchen.",
    "We dropped the kids off at school.",
    "I changed my mind to be honest.",
    "The doctor requires an appointment.",
    "It depends on the weather.",
    "You replaced the lamp, right?",
    "We are on the way.",
    "John is the best!",
    "The bus was late until noon.",
    "I prefer tea.",
    "Use your head, man.",
    "Prefer not to say.",
    "They own a boat.",
    "The cat lives in the garden.",
    "Our trip to Rome was wonderful.",
    "Sarah moved to the window.",
    "We switched to plan B in the end.",
    "The team won 3-2 against Bremen.",
    "Don't use that tone with me.",
    "Never use it again!",
    "We have to use up the leftovers.",
    "The party is part of the fun.",
    "Owner: see below",
    "Note: remember the milk",
    "Today is the day.",
    "Ann is in charge.",
    "The kid is on fire today.",
    "My favourite book is Dune.",
    "He is responsible for everything.",
    "The concert was great, the band used smoke and lights.",
    "Anna and Bob need help with the move.",
    "Lisa left the party at ten.",
    "Everybody uses it.",
    "Bob works for free.",
    "Alex is a bit late.",
    "Paul used the blue car yesterday.",
    "The trip requires patience.",
    "Mike dropped the ball again.",
    "Joe is on it.",
)
# Said in chat, and true as far as it goes: these five may make an edge.
EDGES_MAX = 5


def test_ordinary_chat_makes_almost_no_edges() -> None:
    assert len(CHAT) >= 60
    edges = {line: statements_in(line) for line in CHAT}
    assert sum(map(len, edges.values())) <= EDGES_MAX, [one for one in edges.items() if one[1]]


@pytest.mark.parametrize(
    "text",
    [
        "Should we use Kafka?",
        "Maybe Billing uses Kafka.",
        "If Billing uses Kafka, it will be slow.",
        "Bob said Billing uses Kafka.",
        "We would use Kafka.",
        "We use it.",
        "Billing uses Kafka when the moon is full.",
        "```\nBilling uses Kafka.\n```",
        "",
        "   \n ",
    ],
)
def test_what_is_asked_doubted_reported_or_conditional_says_nothing(text: str) -> None:
    assert statements_in(text) == []


@given(
    st.text(max_size=300) | st.lists(st.sampled_from(list(UNDERSTOOD)), max_size=4).map(" ".join)
)
def test_any_text_gives_statements_inside_it_each_once_and_the_same_again(text: str) -> None:
    statements = extract_statements(text, NOW_US)
    assert statements == extract_statements(text, NOW_US)
    assert len(statements) <= STATEMENTS_MAX
    for one in statements:
        assert 0 <= one.start < one.end <= len(text)
        assert one.relation in RELATIONS
        assert one.subject.strip()
        assert one.object.strip()
        if one.valid_from_us is not None and one.valid_to_us is not None:
            assert one.valid_from_us < one.valid_to_us


def test_a_text_is_covered_when_each_sentence_was_read() -> None:
    text = "Flask is the standard. Billing uses Redis."
    assert covers(text, [(one.start, one.end) for one in extract_statements(text)])
    longer = f"{text} Ask Zoe about hinges."
    assert not covers(longer, [(one.start, one.end) for one in extract_statements(longer)])


@pytest.mark.parametrize(
    "text",
    [
        "Our bank is BPER until June 2026, then we pay at the post office.",
        "Our bank is BPER until June 2026, but the loan stays there.",
        "Our bank is BPER until June 2026 and the loan is at the post office.",
        "Ann owns Billing until 2025, then Bob.",
    ],
)
def test_a_part_that_ends_does_not_cover_what_else_a_sentence_says(text: str) -> None:
    assert not covers(text, [(one.start, one.end) for one in extract_statements(text)])


def test_an_aside_is_no_part_of_its_own() -> None:
    text = "Flask is the standard, which is plain \u2014 like most of it."
    assert covers(text, [(one.start, one.end) for one in extract_statements(text)])
