"""What follows from edges: other names and kindred relations, each in the directions it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from memd.domain.enums import Trust
from memd.org.graph_question import Hop, Mention, QuestionReading
from memd.org.graph_search import follow_readings
from memd.store.org.graph import Edge

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
    _, found = follow_readings(along, [reading], {"ann": ANN})
    return [one.key for one in found]


@pytest.mark.parametrize("name", [(ANN, "is", CTO), (CTO, "is", ANN)])
def test_what_holds_of_another_name_holds(name: tuple[int, str, int]) -> None:
    assert led_to(Hop("leads", forward=True), name, (CTO, "leads", TEAM)) == [TEAM]
    assert led_to(Hop("leads", forward=False), name, (TEAM, "leads", CTO)) == [TEAM]


@pytest.mark.parametrize(
    ("asked", "said"),
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
    asked: str, said: str
) -> None:
    assert led_to(Hop(asked, forward=True), (ANN, said, TEAM)) == [TEAM]
    assert led_to(Hop(asked, forward=True), (ANN, said, TEAM), (ANN, asked, CTO)) == [CTO]


@pytest.mark.parametrize(("asked", "said"), [("prefers", "uses"), ("leads", "member_of")])
def test_what_is_not_kindred_answers_nothing(asked: str, said: str) -> None:
    assert led_to(Hop(asked, forward=True), (ANN, said, TEAM)) == []
