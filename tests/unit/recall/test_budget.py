"""SPEC 2.9-2.13: an answer is cut to a budget, and holds a few of each foreign source."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.measured_candidates import a_candidate, asked, measured
from support.work_units import effort

from memd.base.limits import (
    RECALL_BURST_ITEMS_MAX,
    RECALL_CLIENT_ITEMS_MAX,
    RECALL_SOURCE_ITEMS_MAX,
    RECALL_TWINS_ITEMS_MAX,
)
from memd.domain.enums import Origin, Trust
from memd.recall.answer import pack
from memd.recall.foreign_cap import spread
from memd.recall.ranking.rankings import rank
from memd.recall.ranking.weights import HYBRID

costs = st.lists(st.integers(1, 300), max_size=30)


def test_it_stops_at_the_most() -> None:
    assert pack((1, 1, 1), 100, 2).places == [0, 1]


def test_nothing_of_nothing() -> None:
    packed = pack((), 100, 5)

    assert packed == ([], 0, None)


@given(costs=costs, budget=st.integers(0, 2000), most=st.integers(1, 10))
def test_the_best_that_fit_are_taken_in_order(costs: list[int], budget: int, most: int) -> None:
    packed = pack(costs, budget, most)

    assert packed.places == sorted(packed.places)
    assert packed.tokens == sum(costs[place] for place in packed.places) <= budget
    assert len(packed.places) <= most
    assert packed.minimum == min(costs, default=None)
    for place, cost in enumerate(costs):
        before = [taken for taken in packed.places if taken < place]
        room = budget - sum(costs[taken] for taken in before)
        assert (place in packed.places) == (cost <= room and len(before) < most)


ABOUT = asked("Where is the red kite?")
FOREIGN: dict[str, Any] = {"origin": Origin.TOOL, "trust": Trust.UNTRUSTED, "client_key": 1}
OWN: dict[str, Any] = {"origin": Origin.PERSON, "trust": Trust.OWNER, "client_key": 1}
DIFFERENT = (
    "the kite is red", "a hive of bees", "seven ships sail", "old clocks tick",
    "rain falls north", "lamps burn late",
)  # fmt: skip


def kept(texts: tuple[str, ...], *fields: dict[str, Any]) -> int:
    """Return how many stay of memories with *texts* and *fields*, the last for the rest."""
    candidates = [
        a_candidate(key, text, **fields[min(key, len(fields)) - 1])
        for key, text in enumerate(texts, 1)
    ]
    return len(spread(rank(measured(ABOUT, candidates), HYBRID)))


@pytest.mark.parametrize(
    "group",
    [{"session_key": 7}, {"reference": "page#1", "session_key": None}, {"session_key": None}],
)
def test_as_many_of_one_foreign_source_as_the_limit_says(group: dict[str, Any]) -> None:
    assert kept(DIFFERENT, FOREIGN | group) == RECALL_SOURCE_ITEMS_MAX
    assert kept(DIFFERENT, OWN | group) == len(DIFFERENT)


def test_sessions_that_a_client_names_do_not_count() -> None:
    apart = [FOREIGN | {"session_key": key} for key in range(len(DIFFERENT))]
    assert kept(DIFFERENT, *apart) == RECALL_SOURCE_ITEMS_MAX


def test_however_many_sources_a_client_names_a_few_are_all() -> None:
    texts = (*DIFFERENT, "cold tea stands", "wide roads bend", "green doors shut")
    apart = [FOREIGN | {"reference": f"page{key}"} for key in range(len(texts))]
    assert kept(texts, *apart) == RECALL_CLIENT_ITEMS_MAX
    other = [each | {"client_key": key % 2} for key, each in enumerate(apart)]
    assert kept(texts, *other) == len(texts)


def test_of_an_imported_file_which_is_cut_into_statements_as_many_as_of_a_client() -> None:
    texts = (*DIFFERENT, "cold tea stands", "wide roads bend", "green doors shut")
    file = FOREIGN | {"origin": Origin.IMPORT, "reference": "/home/ada/rules.md"}
    assert kept(texts, file) == RECALL_CLIENT_ITEMS_MAX
    other = [file | {"reference": f"/home/ada/{key % 2}.md"} for key in range(len(texts))]
    assert kept(texts, *other) == len(texts)


def test_as_many_that_say_the_same_as_the_limit_says_whoever_said_it() -> None:
    same = ("the red kite flies",) * 5
    apart = [FOREIGN | {"session_key": key} for key in range(5)]
    assert kept(same, *apart) == RECALL_TWINS_ITEMS_MAX
    assert kept(same, OWN) == 5


def test_of_a_burst_one() -> None:
    apart = FOREIGN | {"session_key": 7, "is_burst": 1}
    assert kept(DIFFERENT, apart) == RECALL_BURST_ITEMS_MAX


def test_half_of_the_word_pairs_is_the_same_said_again() -> None:
    alike = ("red kite flies", "red kite flies far", "red kite flies high")
    apart = [FOREIGN | {"session_key": key} for key in range(3)]
    assert kept(alike, *apart) == RECALL_TWINS_ITEMS_MAX


def test_sessions_of_ones_own_import_all_count() -> None:
    brought = FOREIGN | {"origin": Origin.IMPORT, "session_key": 7}
    assert kept(DIFFERENT, brought) == len(DIFFERENT)


def test_each_text_is_read_once_however_many_there_are() -> None:
    texts = [" ".join(f"note{n}word{k}" for k in range(150)) for n in range(150)]
    brought = FOREIGN | {"origin": Origin.IMPORT}
    candidates = [a_candidate(key, text, **brought) for key, text in enumerate(texts, 1)]
    items = rank(measured(ABOUT, candidates), HYBRID)

    spent = []
    for _ in range(3):  # a thread that an earlier test left may count in one of them
        with effort() as one:
            assert len(spread(items)) == len(texts)
        spent.append(one.units)

    assert min(spent) < 5  # comparing each with each by its words took 30 and more
