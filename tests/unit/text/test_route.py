import json
from pathlib import Path

import pytest
from support.work_units import effort

from memd.domain.enums import MemoryCategory
from memd.text.route import fold_lines, route

WORKING, EPISODIC = MemoryCategory.WORKING, MemoryCategory.EPISODIC
SEMANTIC, PROCEDURAL = MemoryCategory.SEMANTIC, MemoryCategory.PROCEDURAL

LOCOMO = Path(__file__).parents[4] / "shared/data/locomo-dev/locomo-dev.json"


@pytest.mark.parametrize("hint", list(MemoryCategory))
def test_a_hint_wins_always(hint: MemoryCategory) -> None:
    assert route("I prefer tea. Acme is a company. In this session we test.", hint) is hint


@pytest.mark.parametrize(
    "text",
    [
        "I prefer PostgreSQL in 2026 at Acme because async APIs are reliable.",
        "Acme is big, and i always walk.",
        "My favourite editor is Vim.",
    ],
)
def test_a_preference_of_the_owner_is_procedural(text: str) -> None:
    assert route(text) is PROCEDURAL


def test_a_preference_of_somebody_else_is_routed_as_any_other_text() -> None:
    assert route("I prefer tea.", by_owner=False) is EPISODIC
    assert route("I always win. The house is red.", by_owner=False) is SEMANTIC


@pytest.mark.parametrize(
    "text",
    [
        "Right now in this session we fix the parser.",
        "In the current session the database is down.",
        "Currently implementing the chunker",
        "I'm currently debugging the socket; Acme is waiting.",
    ],
)
def test_what_is_about_this_very_session_is_working(text: str) -> None:
    assert route(text) is WORKING


@pytest.mark.parametrize(
    "text",
    [
        "The weather today was fine",
        "I went there right now",
        "Now we know",
        "We are currently happy with it",
        "What a therapy session!",
    ],
)
def test_now_and_today_alone_are_not(text: str) -> None:
    assert route(text) is EPISODIC


@pytest.mark.parametrize(
    "text",
    [
        "I am a nurse.",
        "I work at Acme",
        "I'm a nurse",
        "The user is a backend engineer.",
        "User is a backend engineer specializing in Python.",
        "Postgres runs on port 5432",
        "Anna Maria has two cats",
        "Our API uses JWT",
        "the staging server is in Frankfurt",
        "Yes. The build script requires Python 3.12.",
        "- Acme is in Berlin",
    ],
)
def test_a_subject_with_a_verb_of_state_is_semantic(text: str) -> None:
    assert route(text) is SEMANTIC


@pytest.mark.parametrize(
    "text",
    [
        "It is late",
        "There are many",
        "That is nice!",
        "This has no subject",
        "i think so",
        "We went home",
        "I am going home",
        "I have been there",
        "I am so glad",
        "Bob was here",
        "Is Bob a cat? What is it",
        "Bob is a cat?",
        "They say what is is",
        "well it uses that",
    ],
)
def test_what_only_looks_like_a_subject_is_episodic(text: str) -> None:
    assert route(text) is EPISODIC


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("I'm implementing the auth endpoint", WORKING),
        ("Last sprint the team chose JWT over sessions", EPISODIC),
        ("This project uses Litestar with aiosqlite", SEMANTIC),
        ("Code reviews require 2 approvals here", PROCEDURAL),
        ("The QA lead prefers detailed test plans", MemoryCategory.SOCIAL),
    ],
)
@pytest.mark.parametrize("end", ["", "."])
@pytest.mark.parametrize("by_owner", [True, False])
def test_the_sentences_of_the_document_s_table_are_filed_as_printed(
    text: str, category: MemoryCategory, end: str, by_owner: bool
) -> None:
    assert route(text + end, by_owner=by_owner) is category


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("Alice created the repo.", SEMANTIC),
        ("PostgreSQL supports JSON.", SEMANTIC),
        ("The build script requires Python 3.12.", SEMANTIC),
        ("The user prefers dark mode.", SEMANTIC),
        ("User prefers dark mode.", SEMANTIC),
        ("Every pull request must have a test.", PROCEDURAL),
        ("Do all releases need an approval?", EPISODIC),
        ("Bob reports to Alice.", MemoryCategory.SOCIAL),
        ("Who prefers tea?", EPISODIC),
        ("We created the repo.", EPISODIC),
    ],
)
def test_facts_rules_and_people_are_told_apart(text: str, category: MemoryCategory) -> None:
    assert route(text) is category


@pytest.mark.parametrize("unit", ["I ", " \n", "A. ", "The a ", ".", "right now ", "my favorite "])
def test_a_long_text_of_one_kind_is_routed_in_bounded_time(unit: str) -> None:
    with effort() as spent:
        route(unit * (900_000 // len(unit)))
    assert spent.units < 300


@pytest.mark.skipif(not LOCOMO.exists(), reason="the evaluation data are not here")
def test_turns_that_answer_questions_are_never_working() -> None:
    samples = json.loads(LOCOMO.read_text())
    turns: list[str] = []
    for sample in samples:
        evidence = {turn for question in sample["qa"] for turn in question.get("evidence", ())}
        sessions = [value for value in sample["conversation"].values() if isinstance(value, list)]
        turns += [
            turn["text"] for session in sessions for turn in session if turn["dia_id"] in evidence
        ]
    assert len(turns) > 500
    assert sum(route(turn) is WORKING for turn in turns) == 0


def test_folding_leaves_single_spaces_and_no_empty_line() -> None:
    assert fold_lines(" a\t b \n\n \n c\u2028d") == "a b\nc\nd"
