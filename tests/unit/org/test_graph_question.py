"""A question to the graph: how it is read, and what follows from the edges that it walks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from support.work_units import effort

from memd.domain.enums import Trust
from memd.org import graph_question
from memd.org.graph_question import READINGS_MAX, Hop, Mention, QuestionReading
from memd.org.graph_search import follow_readings
from memd.store.org.graph import Edge

KNOWN = {"ann", "kafka", "data team", "team", "litestar", "atlas", "search team", "search"}


def likeliest(question: str) -> QuestionReading | None:
    words = graph_question.split_words(question)
    places = graph_question.name_candidates(words)
    named = graph_question.find_mentions(words, places, KNOWN & places.keys())
    return next(
        iter(graph_question.find_readings(words, named, graph_question.find_cues(words, named))),
        None,
    )


def walked(question: str) -> tuple[str, list[str]] | None:
    """Return where a question begins and its hops; "<" is walked from object to subject."""
    reading = likeliest(question)
    if reading is None:
        return None
    no = {True: "not ", False: ""}
    return reading.mention.name, [
        f"{no[hop.negated]}{hop.relation}{'' if hop.forward else ' <'}" for hop in reading.hops
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
    words = graph_question.split_words("Who leads the Search team, and who Search?")
    places = graph_question.name_candidates(words)
    named = graph_question.find_mentions(words, places, KNOWN & places.keys())
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
def test_a_question_made_to_be_read_in_too_many_ways_is_read_in_bounded_time(question: str) -> None:
    with effort() as spent:
        words = graph_question.split_words(question)
        places = graph_question.name_candidates(words)
        named = graph_question.find_mentions(words, places, KNOWN & places.keys())
        readings = graph_question.find_readings(
            words, named, graph_question.find_cues(words, named)
        )
    assert len(readings) <= READINGS_MAX
    assert spent.units < 100


ANN, CTO, TEAM = 1, 2, 3


def led_to(asked: Hop, *edges: tuple[int, str, int]) -> list[int]:
    """Return what ANN leads to when *asked* is walked over *edges*."""
    drawn = [
        Edge(at, subject, relation, object_, 0, None, int(Trust.OWNER))
        for at, (subject, relation, object_) in enumerate(edges)
    ]

    def along(keys: Sequence[int], hop: Hop) -> Mapping[int, Sequence[Edge]]:
        return {
            key: [
                edge
                for edge in drawn
                if edge.relation == hop.relation
                and key == (edge.subject_key if hop.forward else edge.object_key)
            ]
            for key in keys
        }

    reading = QuestionReading(0.0, Mention("ann", 0, 1), (asked,))
    _, rows = follow_readings(along, [reading], {"ann": ANN})
    return [one.key for one in rows]


@pytest.mark.parametrize("name", [(ANN, "is", CTO), (CTO, "is", ANN)])
def test_what_holds_of_another_name_holds(name: tuple[int, str, int]) -> None:
    assert led_to(Hop("leads", forward=True), name, (CTO, "leads", TEAM)) == [TEAM]
    assert led_to(Hop("leads", forward=False), name, (TEAM, "leads", CTO)) == [TEAM]


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("uses", "standardises_on"),
        ("standardises_on", "uses"),
        ("uses", "prefers"),
        ("requires", "depends_on"),
        ("depends_on", "requires"),
        ("member_of", "part_of"),
        ("part_of", "member_of"),
        ("is_a", "is"),
    ],
)
def test_a_kindred_relation_answers_where_nothing_is_said_in_the_words_asked(
    asked: str, stored: str
) -> None:
    assert led_to(Hop(asked, forward=True), (ANN, stored, TEAM)) == [TEAM]
    assert led_to(Hop(asked, forward=True), (ANN, stored, TEAM), (ANN, asked, CTO)) == [CTO]


@pytest.mark.parametrize(("asked", "stored"), [("prefers", "uses"), ("leads", "member_of")])
def test_what_is_not_kindred_answers_nothing(asked: str, stored: str) -> None:
    assert led_to(Hop(asked, forward=True), (ANN, stored, TEAM)) == []


def test_the_last_word_is_not_taken_for_one_before_the_first() -> None:
    first_cues = [
        graph_question.find_cues(graph_question.split_words(question), ())[0]
        for question in ("lead of search", "lead of search, the")
    ]
    assert [cue.noun for cue in first_cues] == [False, False]
