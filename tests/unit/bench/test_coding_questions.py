"""The beds of coding sessions and of a household: what is stored, asked, and taken for evidence."""

import json
import random
from pathlib import Path

from bench import coding_questions, household, team_sessions
from bench.coding_questions import Passage, shape, swapped

LONG = "The retry of the upload waits four seconds because the gateway throttles bursts of requests"


def passages(*texts: str, session: str = "one", who: str = "assistant") -> list[Passage]:
    return [
        Passage(f"{session}#{at}", session, 0, at, who, text, "") for at, text in enumerate(texts)
    ]


def known(*texts: str) -> coding_questions.Known:
    """Return a store of *texts* among forty that speak of other things."""
    index = coding_questions.Known()
    for passage in passages(*texts, session="earlier"):
        index.add(passage)
    for at in range(40):
        index.add(passages(f"Another remark {at} about painting fences green or blue.")[0])
    return index


def test_a_later_line_asks_for_the_earlier_one_that_says_more_of_the_same_thing() -> None:
    store = known(f"{LONG}, see `upload_retry`.", "A passage that says nothing of it at all.")
    [question] = coding_questions.asked(
        store,
        passages("Why does `upload_retry` pause so long while the gateway throttles a customer?"),
    )
    assert question.gold == ("earlier#0",)
    assert question.name == "thing kept"


def test_what_many_passages_name_is_no_question() -> None:
    texts = [f"{LONG} in case {at}, see `upload_retry`." for at in range(9)]
    line = "Why does `upload_retry` pause so long while the gateway throttles a customer?"
    assert coding_questions.asked(known(*texts), passages(line)) == []


def test_a_line_said_again_is_no_question() -> None:
    text = f"{LONG}, see `upload_retry`."
    assert coding_questions.asked(known(text), passages(text)) == []


def test_every_second_pair_is_asked_without_the_thing_too() -> None:
    store = known(
        f"{LONG}, see `upload_retry`.",
        "The exporter writes decimals with a comma on German machines, so `price_export` breaks.",
    )
    asked = coding_questions.asked(
        store,
        passages(
            "Why does `upload_retry` pause so long while the gateway throttles a customer?",
            "Did we tell anybody that `price_export` writes decimals wrongly on German machines?",
        ),
    )
    names = [question.name for question in asked]
    assert names == ["thing kept", "thing kept", "thing out"]
    assert ["price_export" in question.text for question in asked] == [False, True, False]


def test_a_part_is_asked_before_it_is_stored() -> None:
    filling = [f"A remark numbered {at} about painting garden fences green." for at in range(40)]
    parts = [
        passages(f"{LONG}, see `upload_retry`.", *filling, session="earlier"),
        passages(
            "Why does `upload_retry` pause so long while the gateway throttles a customer?",
            "Somebody asked why `upload_retry` pauses while the gateway throttles our customers.",
            session="later",
        ),
    ]
    asked = [
        question for _, questions in coding_questions.replayed(parts) for question in questions
    ]
    assert {place for question in asked for place in question.gold} == {"earlier#0"}


def test_code_and_what_tools_print_are_no_passages() -> None:
    text = (
        "We keep the importer as it is, because the supplier asked us to.\n\n"
        "```python\nprint('a line of code that nobody needs to remember, long as it is')\n```\n\n"
        "| a table | of two columns | that is output |\n|---|---|---|\n"
    )
    assert list(coding_questions.blocks(text)) == [
        "We keep the importer as it is, because the supplier asked us to."
    ]


def test_what_an_assistant_does_next_is_not_stored() -> None:
    [next_step, fact] = passages("Now let me run the linter on it.", "The linter wants tabs.")
    assert [coding_questions.stored(next_step), coding_questions.stored(fact)] == [False, True]
    assert coding_questions.stored(passages("Let me decide that tomorrow.", who="user")[0])


def test_foreign_things_take_the_place_of_things_of_the_same_shape() -> None:
    others = ["other_name", "lib/other.rb", "OtherError"]
    text = swapped("Does parse_line of src/app.py work?", others, random.Random(1))
    assert text == "Does other_name of lib/other.rb work?"
    assert shape("src/app.py") != shape("parse_line")


def test_a_household_has_an_answer_for_every_honest_question_and_none_for_the_rest() -> None:
    households = household.households()
    assert len(households) == 6
    sayings = [saying for its, _ in households for saying in its]
    questions = [question for _, its in households for question in its]
    keys = [saying.key for saying in sayings]
    assert len(keys) == len(set(keys)) >= 420
    assert all(set(question.gold) <= set(keys) for question in questions)
    assert {q.kind for q in questions if not q.gold} == {"B", "U", "O"}
    topics = {saying.key: saying.topic for saying in sayings}
    for question in questions:
        assert {topics[key] for key in question.gold} <= {question.topic}, question.text


def test_a_question_written_by_hand_has_none_of_the_words_that_its_answer_is_known_by() -> None:
    rows = [json.loads(line) for line in team_sessions.QUESTIONS.read_text("utf-8").splitlines()]
    assert {row["repo"].partition("/")[2] for row in rows} == set(team_sessions.SOURCES)
    assert len({row["asked"] for row in rows}) == len(rows) >= 60
    for row in rows:
        keys = [key.casefold() for group in row["keys"] for key in group]
        assert not any(key in row["asked"].casefold() for key in keys), row["asked"]
        assert row["lines"], row["asked"]


def test_of_a_team_s_checkout_only_its_recorded_sessions_are_read(tmp_path: Path) -> None:
    checkout = tmp_path / "focuslab"
    for place in ("2025-06-21-a-session.md", "docs/000-a-plan.md"):
        path = checkout / (team_sessions.HISTORY if place[0] == "2" else "") / place
        path.parent.mkdir(parents=True)
        path.write_text(f"_**User**_\n\n{LONG} ({place}).\n", "utf-8")
    [[passage]] = team_sessions.parts_of(checkout)
    assert "2025-06-21" in passage.text
