"""How a question is read: its things, its relations, and in which order they are walked."""

from __future__ import annotations

import pytest
from support.effort import effort

from memd.org import graph_question
from memd.org.graph_question import READINGS_MAX, QuestionReading

KNOWN = {"ann", "kafka", "data team", "team", "litestar", "atlas", "search team", "search"}


def likeliest(question: str) -> QuestionReading | None:
    said = graph_question.split_words(question)
    places = graph_question.name_candidates(said)
    named = graph_question.find_mentions(said, places, KNOWN & places.keys())
    return next(
        iter(graph_question.find_readings(said, named, graph_question.find_cues(said, named))), None
    )


def walked(question: str) -> tuple[str, list[str]] | None:
    """Return where a question begins and its hops; "<" is walked from object to subject."""
    found = likeliest(question)
    if found is None:
        return None
    no = {True: "not ", False: ""}
    return found.mention.name, [
        f"{no[hop.negated]}{hop.relation}{'' if hop.forward else ' <'}" for hop in found.hops
    ]


@pytest.mark.parametrize(
    ("question", "start", "hops"),
    [
        ("What does the data team use?", "data team", ["uses"]),
        ("Who uses Kafka?", "kafka", ["uses <"]),
        ("What is used by the data team?", "data team", ["uses"]),
        ("Who is Atlas owned by?", "atlas", ["owns <"]),
        ("Who leads the team that uses Kafka?", "kafka", ["uses <", "leads <"]),
        ("Who leads Ann's team?", "ann", ["member_of", "leads <"]),
        ("What does the team of Ann not use?", "ann", ["member_of", "not uses"]),
        ("What must the data team not use?", "data team", ["not uses"]),
        ("Where is Kafka hosted?", "kafka", ["located_in"]),
        ("Where is Kafka?", "kafka", ["located_in"]),
        (
            "In which city is the tool hosted that Ann's team uses?",
            "ann",
            ["member_of", "uses", "located_in"],
        ),
        ("What does the team led by Ann use?", "ann", ["leads", "uses"]),
        ("Who does the owner of Atlas report to?", "atlas", ["owns <", "reports_to"]),
        ("What replaced Kafka?", "kafka", ["replaces <"]),
        ("What did Kafka replace?", "kafka", ["replaces"]),
        ("What depends on Kafka?", "kafka", ["depends_on <"]),
        ("Who mentors Ann?", "ann", ["related_to <"]),
        ("Who works in the Search team?", "search team", ["member_of <"]),
    ],
)
def test_a_question_is_walked_from_its_thing_outwards(
    question: str, start: str, hops: list[str]
) -> None:
    assert walked(question) == (start, hops)


def test_the_longest_name_is_meant_and_no_name_within_it() -> None:
    said = graph_question.split_words("Who leads the Search team, and who Search?")
    places = graph_question.name_candidates(said)
    named = graph_question.find_mentions(said, places, KNOWN & places.keys())
    assert [one.name for one in named] == ["search team", "search"]


def test_a_word_that_only_says_what_kind_of_thing_is_asked_for_is_no_start() -> None:
    assert walked("Which team uses Kafka?") == ("kafka", ["uses <"])
    assert walked("What does the team use?") == ("team", ["uses"])
    assert walked("What do we use?") == ("team", ["uses"])


@pytest.mark.parametrize("question", ["", "?", "Who?", "the the the", "use use use", "\u2019s's"])
def test_a_question_that_names_nothing_is_read_in_no_way(question: str) -> None:
    assert likeliest(question) is None


@pytest.mark.parametrize(
    "question",
    [
        "Who leads and uses and owns and hosts and replaces Kafka in Ann's team's owner's lead?",
        " ".join(["Ann uses in on runs works Kafka"] * 1_000),
        "use " * 2_000 + "Kafka",
        "Kafka's " * 1_000,
        "a'" * 4_000,
    ],
)
def test_a_question_made_to_be_read_in_too_many_ways_is_read_in_bounded_time(
    question: str,
) -> None:
    with effort() as spent:
        said = graph_question.split_words(question)
        places = graph_question.name_candidates(said)
        named = graph_question.find_mentions(said, places, KNOWN & places.keys())
        found = graph_question.find_readings(said, named, graph_question.find_cues(said, named))
    assert len(found) <= READINGS_MAX
    assert spent.units < 100
