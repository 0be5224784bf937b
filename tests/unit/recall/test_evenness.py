"""What holds one part of a question and another part not has to be surer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.ranked_candidates import an_entry, selected

from memd.domain.enums import Origin
from memd.domain.sleep.consolidation import DIGEST_TAG
from memd.recall.ranking.features import TokenMatch
from memd.recall.ranking.rankings import RankedCandidate
from memd.recall.select import UNEVEN, weigh_evenness

BIRTHDAY = "when is Jannik's birthday?"
BAR = 0.05


def an_item(relevance: float, mean: float, spread: float, **fields: Any) -> RankedCandidate:
    entry = an_entry(relevance, "Jannik works on Fridays", **fields)
    measured = replace(entry.measured, match=TokenMatch(mean, spread))
    return replace(entry, measured=measured, bar=BAR)


def bars(*items: RankedCandidate, query: str = BIRTHDAY) -> list[float]:
    return [item.bar for item in weigh_evenness(items, query)]


def test_the_nearest_needs_less_where_it_is_matched_evenly_and_more_where_it_is_not() -> None:
    even, uneven = bars(an_item(0.9, 0.8, UNEVEN))[0], bars(an_item(0.9, 0.8, UNEVEN + 0.1))[0]

    assert even < BAR < uneven


def test_an_answer_is_without_what_is_matched_unevenly() -> None:
    even, uneven = an_item(0.9, 0.8, 0.1), an_item(0.1, 0.7, 0.4)

    selection = selected([even, uneven])

    assert [item.measured for item in selection.items[: selection.count_max]] == [even.measured]


def test_what_is_farther_than_the_nearest_needs_more() -> None:
    nearest, other, far = bars(*(an_item(0.9, mean, 0.1) for mean in (0.8, 0.5, 0.4)))

    assert nearest < BAR < other < far


def test_what_is_not_worth_its_place_makes_no_other_one_far() -> None:
    unlikely, item = an_item(0.01, 0.9, 0.1), an_item(0.9, 0.5, 0.1)

    assert bars(unlikely, item)[1] == bars(item)[0]


def test_what_is_likely_is_told_however_it_is_matched() -> None:
    item = weigh_evenness([an_item(0.35, 0.8, 0.6)], BIRTHDAY)[0]

    assert BAR < item.bar < item.relevance


@pytest.mark.parametrize(
    "fields",
    [{"speaker": "Tom"}, {"kind": DIGEST_TAG}, {"origin": Origin.ASSISTANT}],
    ids=["a turn", "composed", "an assistant's"],
)
def test_what_is_read_with_others_keeps_its_bar(fields: dict[str, Any]) -> None:
    assert bars(an_item(0.9, 0.8, 0.4, **fields)) == [BAR]


@pytest.mark.parametrize(
    ("query", "bar"),
    [
        ("wann hat Jannik Geburtstag?", 0.45),
        ("ヤニックの誕生日はいつ?", 0.45),
        ("When did we meet before?", BAR),
    ],
    ids=["German", "Japanese", "what was before"],
)
def test_of_other_languages_and_of_what_was_before_all_have_one_bar(query: str, bar: float) -> None:
    assert bars(an_item(0.9, 0.8, 0.4), an_item(0.9, 0.3, 0.1), query=query) == [bar, bar]


def test_without_tokens_all_keep_their_bars() -> None:
    assert bars(an_item(0.9, 0.0, 0.0)) == [BAR]


def test_of_a_question_that_the_model_does_not_read_the_likeliest_are_told() -> None:
    items = [an_item(0.8, 0.8, 0.1), an_item(0.5, 0.8, 0.1), an_item(0.3, 0.8, 0.1)]
    assert bars(*items, query="Wann hat Jannik Geburtstag?") == [0.4, 0.4, 0.4]


def test_a_model_without_token_vectors_reads_other_languages() -> None:
    items = [an_item(0.8, 0.0, 0.0), an_item(0.1, 0.0, 0.0)]
    assert bars(*items, query="Wann hat Jannik Geburtstag?") == [BAR, BAR]
